"""What is drawn follows from the seed alone.

Hypothesis also draws numbers that it reads in the source of whatever modules are imported: the same seed would give
other cases in another process, and after a change of a line that has nothing to do with them.
"""

from __future__ import annotations

from hypothesis.internal.conjecture import providers


def _none_is_read(path: str) -> bool:
    return False


def from_the_seed_alone() -> None:
    """For all that is drawn in this process from here on."""
    providers.is_local_module_file = _none_is_read  # type: ignore[assignment,attr-defined]
