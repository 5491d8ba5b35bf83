"""TO with a dynamic cluster: total order among those who live (paper 001)."""

from __future__ import annotations

from nodes.to.join import Joining


class To(Joining):
    """One entity: data transfer and recovery rounds (nodes/st), views (control), stops (stop), joins (join)."""
