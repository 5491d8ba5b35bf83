"""Which network exists: plain data, validated before anything is built, and what builds it."""
