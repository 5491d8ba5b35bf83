"""`python -m harness.agent RUN_DIRECTORY STATE_DIRECTORY`: carry out the run that is described there; what nodes keep
over their restarts lies in the other directory."""

import gc
import sys
import traceback
from pathlib import Path

from harness.agent.run import carry_out
from harness.exchange import Exchange
from harness.rundir import RunDir

if __name__ == "__main__":
    gc.disable()  # collections would strike the forked nodes at moments that depend on what was imported
    try:
        carry_out(Exchange(RunDir(Path(sys.argv[1]))), Path(sys.argv[2]))
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        sys.exit(1)
