"""The pages tell the truth."""
