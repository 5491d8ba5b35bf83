"""What holds for whole rooms: the marks of their tests, and random tests that can be repeated by one seed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from harness.bench.browser import missing
from harness.explore.chance import from_the_seed_alone
from tests.helpers.guests import needs_kernel
from tests.helpers.seeds import EverySeed

from_the_seed_alone()
# A script that starts us in the background has us ignore Ctrl-C, and so would the commands that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

_HERE = Path(__file__).parent
_ROOMS: dict[str, list[pytest.MarkDecorator]] = {
    "guest": [pytest.mark.guest, needs_kernel],
    "spark": [pytest.mark.spark],
    "browser": [pytest.mark.browser, pytest.mark.skipif(bool(missing()), reason=missing())],
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, metavar="N", help="random tests try this seed alone")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for mark in _ROOMS.get(item.path.relative_to(_HERE).parts[0], ()):
            item.add_marker(mark)


@pytest.fixture
def every_seed(request: pytest.FixtureRequest) -> EverySeed:
    """Tries seeds; see there."""
    return EverySeed(request.node.nodeid, request.config.getoption("--seed"))
