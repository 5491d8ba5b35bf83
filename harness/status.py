"""How a command ends: the exit statuses, as numbers and as `tutti --help` explains them."""

PASS, VIOLATED, UNKNOWN, USAGE, LACKS = 0, 1, 2, 64, 69
INTERRUPTED = 130  # 128 + SIGINT, as shells say it

EXPLAINED = """exit status:
  0 pass   1 a property is violated   2 unknown (evidence incomplete, or the run could not be carried out)
  64 bad usage or scenario            69 the machine lacks something
"""
