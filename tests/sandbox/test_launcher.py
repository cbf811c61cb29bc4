"""What the supervisor of a submission lets it hold."""

import os
import signal
import sys
from types import SimpleNamespace

import pytest

from attnlab_theory.sandbox import launcher

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="no other system has a supervisor")


@pytest.mark.parametrize(
    ("processes", "held", "said"),
    [
        (7, 100, {"killed": signal.SIGTERM}),
        (7, 101, {"memory": 101}),
        (8, 100, {"processes": 8}),
        (8, 101, {"memory": 101}),
    ],
)
def test_a_submission_may_hold_all_that_it_is_given_and_no_byte_more(monkeypatch, processes, held, said):
    monkeypatch.setattr(launcher, "LOOK_EVERY", 0)
    monkeypatch.setattr(launcher, "_end", lambda plan, descendants, uid, status: status)
    monkeypatch.setattr(os, "wait4", lambda *_: (0, 0, None))
    monkeypatch.setattr(signal, "sigtimedwait", lambda *_: SimpleNamespace(si_signo=signal.SIGTERM))
    below, plan = SimpleNamespace(holdings=lambda: (processes, held)), {"memory": 100, "processes": 7}
    assert launcher._supervise(1, plan, None, below, polling=True) == said
