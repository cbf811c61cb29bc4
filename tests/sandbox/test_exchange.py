"""What goes through the pipes between the lab and a child: whole lines, by a clock, and no more than is kept."""

import os
import time

import pytest

from attnlab_theory.sandbox import exchange
from attnlab_theory.sandbox.exchange import LOOK_EVERY, Ended, Exchange, Flooded, Late, Pipes


@pytest.fixture
def pipes():
    """An exchange, and the child's ends: what it reads, its replies, its output."""
    (reads, requests), (replies, writes), (output, prints) = (os.pipe() for _ in range(3))
    ours = Exchange(Pipes(requests, replies, output))
    yield ours, reads, writes, prints
    ours.close()
    for descriptor in (reads, writes, prints):
        os.close(descriptor)


def test_replies_are_lines_in_their_order_however_they_arrive(pipes):
    ours, reads, writes, _ = pipes
    os.write(writes, b"first\nsecond\n\nfo")
    assert [ours.ask(b"asked\n", 5), ours.ask(b"", 5), ours.ask(b"", 5)] == [b"first", b"second", b""]
    assert os.read(reads, 99) == b"asked\n"
    os.write(writes, b"urth\n")
    assert ours.ask(b"", 5) == b"fourth"


def test_of_what_is_printed_the_beginning_is_kept_and_the_rest_counted(pipes, monkeypatch):
    ours, *_, prints = pipes
    monkeypatch.setattr(exchange, "MOST_OUTPUT", 10)
    for piece in (b"abcdef", b"ghijkl", b"mn"):
        os.write(prints, piece)
        ours.drain(0)
    assert (ours.printed, ours.dropped) == ("abcdefghij", 4)


def test_nobody_waits_longer_than_is_left_or_without_looking(pipes, monkeypatch):
    ours, *_ = pipes
    waits, select = [], ours._selector.select
    monkeypatch.setattr(ours._selector, "select", lambda seconds: waits.append(seconds) or select(seconds))
    begun = time.monotonic()
    with pytest.raises(Late):
        ours.ask(b"", 2.2 * LOOK_EVERY)
    assert time.monotonic() - begun >= 2.2 * LOOK_EVERY
    assert max(waits) <= LOOK_EVERY
    assert min(waits) <= 0.2 * LOOK_EVERY


def test_a_reply_that_will_not_come_is_not_waited_for(pipes):
    ours, *_ = pipes
    with pytest.raises(Ended):
        ours.ask(b"", 5 * LOOK_EVERY, lambda: True)


def test_a_reply_without_end_is_not_kept(pipes, monkeypatch):
    ours, _, writes, _ = pipes
    monkeypatch.setattr(exchange, "LONGEST_REPLY", 7)
    os.write(writes, b"1234567\n")
    with pytest.raises(Flooded):
        ours.ask(b"", 5)
    monkeypatch.undo()
    os.write(writes, b"next\n")
    assert ours.ask(b"", 5) == b"1234567"


@pytest.mark.parametrize("seconds", [0.0, 5.0])
def test_what_is_printed_later_is_waited_for_as_long_as_is_said_and_no_longer(pipes, monkeypatch, seconds):
    ours, *_, prints = pipes
    waits, select = [], exchange.select.select
    monkeypatch.setattr(
        exchange.select, "select", lambda *ends: waits.append(ends[3]) or select(*ends[:3], min(ends[3], 0.01))
    )
    os.write(prints, b"early")
    ours.drain(seconds)
    assert [max(seconds - 1, 0) <= wait <= seconds for wait in waits] == [True, True]
    assert ours.printed == "early"
