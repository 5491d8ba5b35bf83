"""Explore: draw scenarios, run them in memory by the thousand, and keep the smallest that breaks a promise."""
