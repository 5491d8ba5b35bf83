"""The private kernel in virtual time: each run is a fork of a template, or boots a guest where that cannot be had."""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from harness.engines.guest import boot
from harness.engines.kernel import PrivateKernel, private_kernel
from harness.engines.outcome import EngineOptions
from harness.engines.template import Template, new_template
from harness.engines.warm import borrow
from harness.engines.watch import Attended
from harness.exchange import Exchange
from harness.manifest import Kernel
from harness.shape import Shape

_Kind = tuple[Path, int]  # of templates: kernel and megabytes; the code is that of this process


@dataclass(slots=True)
class _Shaped:
    """The shape of the latest run, and a deep template of it as soon as another run has it too."""

    kind: _Kind
    shape: Shape
    template: Template | None = None

    def close(self) -> None:
        if self.template is not None:
            self.template.close()


class _Templates:
    """Those of this process. Processes that are forked from it use what there is then, and make none of their own that
    others could use."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._plain: dict[_Kind, Template] = {}
        self._shaped: _Shaped | None = None

    def plain(self, private: PrivateKernel, options: EngineOptions) -> Template:
        """One for any run."""
        kind = private.image, options.memory_mb
        known = self._plain.get(kind)
        if known is None or not known.is_alive:
            if known is not None:
                known.close()
            lent = borrow(private, options)
            known = self._plain[kind] = lent[0] if lent else new_template(private, options)
        return known

    def get_ready(self, private: PrivateKernel, options: EngineOptions, shape: Shape, many: bool) -> None:
        """A run of this shape comes next, or many."""
        if os.getpid() != self._owner:
            return
        kind = private.image, options.memory_mb
        again = self._shaped is not None and (self._shaped.kind, self._shaped.shape) == (kind, shape)
        if self._shaped is None or not again:
            lent = borrow(private, options, shape) if self._shaped is None and not many else []
            self._plain.update((kind, one) for one in lent[:1])
            if self._shaped is not None:
                self._shaped.close()
            self._shaped = _Shaped(kind, shape, lent[1] if len(lent) > 1 else None)
        plain = self.plain(private, options)
        if (again or many) and self._shaped.template is None:
            with contextlib.suppress(OSError):  # no room for one, which is not missed
                self._shaped.template = plain.deepen(shape)

    def best(self, private: PrivateKernel, options: EngineOptions, shape: Shape) -> Template:
        """The one that is nearest to a run of this shape. A deep one that has died is not missed."""
        shaped, kind = self._shaped, (private.image, options.memory_mb)
        fits = shaped is not None and (shaped.kind, shaped.shape) == (kind, shape)
        deep = shaped.template if shaped is not None and fits else None
        return deep if deep is not None and deep.is_alive else self.plain(private, options)

    def close(self) -> None:
        if os.getpid() == self._owner:
            if self._shaped is not None:
                self._shaped.close()
            for template in self._plain.values():
                template.close()


_templates = _Templates()
atexit.register(_templates.close)


class Virtual:
    """The engine of every run that does not ask for another."""

    def __init__(self) -> None:
        self._private = private_kernel()

    @property
    def kernel(self) -> Kernel:
        return self._private.identity

    @property
    def forks(self) -> bool:
        """Are runs forks of a template?"""
        return self._private.forks

    @contextlib.contextmanager
    def trunk(self, files: Exchange, options: EngineOptions) -> Iterator[Template]:
        """A run that becomes a template at its moment."""
        with (
            contextlib.closing(_templates.plain(self._private, options).deepen(files.shape)) as deep,
            contextlib.closing(deep.template(files)) as trunk,
        ):
            yield trunk

    def get_ready(self, options: EngineOptions, shape: Shape, many: bool = False) -> None:
        """Have a template, which processes that are forked from this one will use: from the second run of a shape on,
        one in which that stands."""
        if self.forks:
            _templates.get_ready(self._private, options, shape, many)

    def start(self, files: Exchange, options: EngineOptions) -> AbstractContextManager[Attended]:
        """In a guest of its own."""
        if self.forks:
            return _templates.best(self._private, options, files.shape).start(files, options)
        return boot(self._private, files, options)
