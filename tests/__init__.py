"""The tests, in rooms by what they need; each room says what in its first line. Helpers are in `helpers`."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]  # of the project
