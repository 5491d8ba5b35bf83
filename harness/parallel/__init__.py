"""Many tasks at once: in processes of this machine (pool), or on a Spark cluster (cluster).

A task is whatever can be pickled, its work a function that any process can carry out. Both take tasks one by one, when
there is room, and give each result when it comes: so who asks for the next task may look at all that came before.
"""
