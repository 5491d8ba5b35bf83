"""The tests, in rooms by what they need; each room says what in its first line. Helpers are in `helpers`."""
