"""How far a command has come: a bar on a terminal, lines where there is none."""

import io
import time

import pytest
from rich.console import Console

from attnlab_theory.report import progress
from attnlab_theory.report.progress import Progress, duration, said


def test_without_a_terminal_a_line_comes_at_once_and_then_now_and_then(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with Progress("judging", 4, "claims", every=10) as shown:
        assert capsys.readouterr().err == "judging: 4 claims\n"
        for seconds in (9, 20, 21, 40):
            now[0] = float(seconds)
            shown.advance()
    assert capsys.readouterr() == ("", "judging: 2 of 4 claims, about 20 s left\n")


def test_a_quiet_one_says_nothing(capsys):
    with Progress("judging", 1, "claims", every=0, quiet=True) as shown, said("loading", quiet=True):
        shown.begin("one")
        shown.advance()
    assert capsys.readouterr() == ("", "")


@pytest.fixture
def terminal(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda **options: Console(file=written, force_terminal=True, width=80))
    return written


def test_on_a_terminal_a_bar_names_the_part_and_says_that_it_shows_the_time_left(terminal):
    with Progress("judging", 4, "claims") as shown:
        shown.begin("one[red]")
        shown.advance()
        with shown.cleared():
            before = terminal.getvalue()
        assert terminal.getvalue() != before
    for text in ("judging", "1/4", "left"):
        assert text in terminal.getvalue()


def test_what_goes_on_is_said_on_a_terminal_alone(capsys, monkeypatch, terminal):
    with said("loading"):
        pass
    assert "loading …" in terminal.getvalue()
    monkeypatch.undo()
    with said("loading"):
        pass
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (119.0, "119 s"), (120.0, "2 min"), (4000.0, "67 min")]
)
def test_a_duration_is_written_for_people(seconds, text):
    assert duration(seconds) == text
