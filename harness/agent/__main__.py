"""`python -m harness.agent RUN_DIRECTORY`: carry out the run that is described there."""

import gc
import sys
import traceback
from pathlib import Path

from harness.agent.run import carry_out

if __name__ == "__main__":
    gc.disable()  # collections would strike the forked nodes at moments that depend on what was imported
    try:
        carry_out(Path(sys.argv[1]))
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        sys.exit(1)
