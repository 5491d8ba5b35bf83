"""Sweeps: a scenario over parameters and seeds, what the runs say together, and figures beside the papers' formulas.

model, load     the sweep file and the points it spans
task            one run, from a scenario to a record
records, store  what was run before is found by all that determines it; where everything is kept
statistics, tables    records to tables, runs to points, with intervals
formulas, references    what the papers say, and simulations of their models where they say nothing
pictures, page  the figures and the page
compare         what moved since an earlier sweep
job             a sweep from beginning to end
outcome, told   what came of it
"""
