"""Tasks run at once, one on each device; a reason to stop reaches all of them."""

import functools
import signal
import threading
import time

import jax
import pytest

from attnlab_theory.labs.side_by_side import on_each_device

TWICE = jax.local_devices()[:1] * 2
"""One device that does the work of two."""

DEFAULT = "jax_default_device"


def waits(interrupts, begun=None):
    """A training that looks whether it should stop; `begun` is passed by two of them together."""
    if begun is not None:
        begun.wait(20)
    deadline = time.monotonic() + 20
    while not interrupts and time.monotonic() < deadline:
        time.sleep(0.001)
    return list(interrupts)


def test_as_many_tasks_as_devices_run_at_once_and_results_keep_their_order():
    together = threading.Barrier(2)

    def task(number):
        def run(interrupts):
            together.wait(20)
            return number, getattr(jax.config, DEFAULT)

        return run

    found = on_each_device([task(number) for number in range(4)], TWICE, print)
    assert found == [(number, TWICE[0]) for number in range(4)]


def test_ctrl_c_reaches_every_task_and_no_further_one_begins():
    told, begun = [], threading.Barrier(2)

    def presses(interrupts):
        begun.wait(20)
        signal.raise_signal(signal.SIGINT)
        return waits(interrupts)

    found = on_each_device([presses, functools.partial(waits, begun=begun), waits], TWICE, told.append)
    assert found == [["SIGINT"], ["SIGINT"], None]
    assert told == ["stopping after the next step of every training"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_stops_the_others_and_is_raised():
    ended, begun = [], threading.Barrier(2)

    def fails(interrupts):
        begun.wait(20)
        raise ValueError("no such file")

    def ends(interrupts):
        ended.extend(waits(interrupts, begun))

    with pytest.raises(ValueError, match="no such file"):
        on_each_device([ends, fails, ends], TWICE, print)
    assert ended == ["an error"]
