"""Judges, on histories in one line each."""
