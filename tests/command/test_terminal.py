"""What a terminal shows and nothing else does: colours, and a line that goes away again."""

from __future__ import annotations

import io
import sys

import pytest

from harness.terminal import ProgressLine, painted


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def no_wishes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert painted("ok", "good", Screen()) == "\033[32mok\033[0m"
    assert painted("ok", "good", io.StringIO()) == "ok"
    monkeypatch.setenv("TERM", "dumb")
    assert painted("ok", "bad", Screen()) == "ok"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert painted("ok", "bad", Screen()) == "ok"
    monkeypatch.setenv("NO_COLOR", "")
    assert painted("ok", "unsure", Screen()) == "\033[33mok\033[0m"


def test_a_line_is_shown_after_a_second_cut_to_the_screen_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    now = [100.0]
    line = ProgressLine("a run with a long name " * 2, lambda: now[0])
    line("0.5 s")
    line.clear()
    assert screen.getvalue() == "", "what is over in a second needs no progress"
    now[0] = 102.5
    line("7.0 s")
    text = f"\r{('a run with a long name ' * 2 + ': at 7.0 s of its own time')[:59]}\033[K"
    assert screen.getvalue() == text
    line.clear()
    line.clear()
    assert screen.getvalue() == text + "\r\033[K"


def test_a_step_is_named_while_it_lasts_also_if_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    with pytest.raises(ValueError, match="no"), ProgressLine("run").during("judging"):
        assert screen.getvalue() == "\rrun: judging ...\033[K"
        raise ValueError("no")
    assert screen.getvalue() == "\rrun: judging ...\033[K\r\033[K"


def test_a_log_has_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    now = iter([0.0, 9.0])
    line = ProgressLine("run", lambda: next(now))
    line("1 s")
    with line.during("judging"):
        pass
    assert screen.getvalue() == ""
