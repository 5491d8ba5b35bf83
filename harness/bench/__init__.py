"""Benchmarks of the parts, as `tutti bench` runs them."""
