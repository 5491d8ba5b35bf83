"""The commands, one per file: HELP, EXAMPLES, `arguments` that describes what it takes, `call` that does it.

A command parses, calls the library and prints; the library knows nothing of commands. At the top of these files stands
only what is cheap to import: `tutti --help` reads them all.
"""
