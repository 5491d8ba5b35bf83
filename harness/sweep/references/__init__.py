"""What to expect of a measurement where the papers have no formula: simulations of their models.

They import nothing of ours, least of all the machines that they stand beside: what both get wrong in the same way
would otherwise be confirmed. Each is a program (`./tutti python -m harness.sweep.references.NAME`) that writes its
table, which lies beside it.
"""
