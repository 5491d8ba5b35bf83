"""Equal inputs give equal bytes: from other directories, as another user, on a busy machine; other seeds do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.guests import digest, elsewhere, run
from tests.helpers.replayed import SCENARIOS


@pytest.mark.parametrize("name", SCENARIOS)
def test_equal_inputs_give_equal_bytes(name: str, tmp_path: Path) -> None:
    text = SCENARIOS[name]
    first, _ = run(text, tmp_path / "a")
    expected = digest(first.path)
    assert expected == elsewhere(text, tmp_path)
    other, _ = run(text, tmp_path / "other seed", seed=8)
    assert digest(other.path) != expected
