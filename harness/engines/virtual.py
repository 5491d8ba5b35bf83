"""The private kernel in virtual time: each run is a fork of a template, or boots a guest where that cannot be had."""

from __future__ import annotations

import atexit
import os
from contextlib import AbstractContextManager
from pathlib import Path

from harness.engines.guest import boot
from harness.engines.kernel import private_kernel
from harness.engines.outcome import EngineOptions
from harness.engines.template import Template, new_template
from harness.engines.warm import borrow
from harness.engines.watch import Attended
from harness.exchange import Exchange
from harness.manifest import Kernel

_templates: dict[tuple[Path, int], Template] = {}  # by kernel and megabytes; the code is that of this process


def _end_templates(owner: int = os.getpid()) -> None:
    if os.getpid() == owner:
        while _templates:
            _templates.popitem()[1].close()


atexit.register(_end_templates)


class Virtual:
    """The engine of every run that does not ask for another."""

    def __init__(self) -> None:
        self._private = private_kernel()

    @property
    def kernel(self) -> Kernel:
        return self._private.identity

    def get_ready(self, options: EngineOptions) -> None:
        """Have a template, which processes that are forked from this one will use."""
        if self._private.forks:
            self._template(options)

    def start(self, files: Exchange, options: EngineOptions) -> AbstractContextManager[Attended]:
        """In a guest of its own."""
        if self._private.forks:
            return self._template(options).start(files, options)
        return boot(self._private, files, options)

    def _template(self, options: EngineOptions) -> Template:
        key = self._private.image, options.memory_mb
        known = _templates.get(key)
        if known is None or not known.is_alive:
            if known is not None:
                known.close()
            known = borrow(self._private, options) or new_template(self._private, options)
            _templates[key] = known
        return known
