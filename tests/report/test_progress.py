"""How far a command has come: a bar on a terminal, lines where there is none."""

import io
import time

import pytest
from rich.console import Console

from attnlab_theory.report import progress
from attnlab_theory.report.progress import Messages, Progress, counted, duration, said


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


def test_messages_follow_each_other_in_one_line_of_a_terminal_with_a_bar_where_they_count(terminal):
    with Messages() as messages:
        for done in range(50):
            messages.tell(f"{done} of 50 [red] sentences")
        messages._bar.refresh()
        messages.tell("intervals")
    shown = terminal.getvalue()
    assert "49 of 50 [red] sentences" in shown
    assert "49/50" in shown
    assert "left" in shown
    # Each picture of the bar is written over the one before it.
    assert shown.count("\n") <= 2


def test_without_a_terminal_messages_that_count_come_now_and_then(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with Messages() as messages:
        for seconds, text in ((0, "1 of 4"), (9, "2 of 4"), (9, "means"), (10, "3 of 4"), (11, "4 of 4")):
            now[0] = float(seconds)
            messages.tell(text)
    assert capsys.readouterr() == ("", "1 of 4\nmeans\n3 of 4\n")


def test_work_that_counts_itself_has_a_bar_on_a_terminal_alone(capsys, monkeypatch, terminal):
    with counted("asking [red]") as tell:
        tell(3, 7)
    for text in ("asking [red]", "3/7", "left"):
        assert text in terminal.getvalue()
    monkeypatch.undo()
    with counted("asking") as tell:
        tell(3, 7)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (119.0, "119 s"), (120.0, "2 min"), (4000.0, "67 min")]
)
def test_a_duration_is_written_for_people(seconds, text):
    assert duration(seconds) == text
