"""Sweeps: a scenario over parameters and seeds, what the runs say together, and figures beside the papers' formulas.

model, load     the sweep file and the points it spans
task            one run, from a scenario's text to a record
pool, cluster   where runs are carried out: processes of this machine, or a Spark cluster
records         what was run before is found by all that determines it
statistics, tables    records to tables, runs to points, with intervals
formulas, figures, page    the pictures and the page
compare         what moved since an earlier sweep
job, command    a sweep from beginning to end
"""

from __future__ import annotations

import argparse


def sweep_command(arguments: argparse.Namespace) -> int:
    """`tutti sweep SWEEP`. What it needs is imported here: executors import this package without any of it."""
    from harness.sweep.command import sweep

    return sweep(arguments)
