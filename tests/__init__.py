"""The tests, by cost: unit and in-memory ones here, then wire, spark, guest (boots the private kernel), browser."""
