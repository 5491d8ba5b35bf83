"""Scenarios and the networks they describe, before anything runs."""
