"""The command line, reports and sweeps, without a run."""
