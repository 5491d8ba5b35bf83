"""How the tree is written and who imports whom."""
