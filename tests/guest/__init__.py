"""Runs in the private kernel."""
