"""Explore: scenarios in memory, what is drawn, how it is made smaller, and the command."""
