"""A target that hangs or ends the process on some calls is judged on all others."""

import subprocess
import sys

import numpy as np
import pytest

from attnlab_theory.conform.callers import Fenced, place_of
from attnlab_theory.conform.costly import MOST, MOST_KNOWN, MOST_UNKNOWN, Costly
from attnlab_theory.conform.finding import Fault, Trouble
from tests.conform.judging import suite as suite_of

TARGETS = """
import os, time
import numpy as np


def right(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return (raised / raised.sum(-1, keepdims=True)) @ v


def ends(q, k, v):
    return os._exit(3) if q.shape[-2] == 65 else right(q, k, v)


def hangs(q, k, v):
    return time.sleep(100) if q.shape[-2] == 65 else right(q, k, v)


def ends_when_long(q, k, v):
    return os._exit(3) if q.shape[-2] > 64 else right(q, k, v)


def ends_in_half(q, k, v):
    return os._exit(3) if q.dtype == np.float16 else right(q, k, v)


def ends_the_tenth_time(q, k, v, count=[0]):
    count[0] += 1
    return os._exit(3) if count[0] > 10 else right(q, k, v)
"""


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    folder = tmp_path_factory.mktemp("costly")
    (folder / "costly.py").write_text(TARGETS)
    return folder / "costly.py"


def judged(at, name):
    with Fenced(f"{at}::{name}", seconds=0.3) as caller:
        suite = suite_of(caller, "softmax")
        rows = [*suite.rows()]
        return {row.name: row for row in rows}, suite.snippet(place_of(caller.name), rows)


@pytest.mark.slow("which calls are left out, and when all are, stays inside")
@pytest.mark.parametrize(
    ("name", "failing", "unjudged"),
    [
        ("ends", {"visibility", "block edges"}, set()),
        ("hangs", {"visibility", "block edges"}, set()),
        # Pairs of features need such calls, too: long ones and those in half precision.
        ("ends_when_long", {"visibility", "block edges"}, {"pairs"}),
        ("ends_in_half", {"float16"}, {"pairs"}),
    ],
)
def test_all_rows_are_judged_that_need_no_such_call(at, name, failing, unjudged):
    """Every call that hangs or ends the process costs another process."""
    rows, snippet = judged(at, name)
    assert {each for each, row in rows.items() if row.verdict == "fails"} == failing
    assert {each for each, row in rows.items() if row.verdict == "not judged"} == unjudged
    assert any("65" in line or "float16" in line for line in snippet)


@pytest.mark.slow("a snippet of numbers that are wrong stays inside")
def test_a_snippet_ends_the_process_as_the_target_does(at, tmp_path):
    """Every call that ends the process costs another process, and so does the snippet."""
    _, snippet = judged(at, "ends")
    (file := tmp_path / "snippet.py").write_text("\n".join(snippet))
    assert subprocess.run([sys.executable, file], capture_output=True, check=False).returncode == 3


@pytest.mark.slow("which calls are left out, and when all are, stays inside")
def test_calls_that_were_not_made_fail_no_row(at):
    """Every call that ends the process costs another process."""
    rows, snippet = judged(at, "ends_the_tenth_time")
    assert {row.verdict for row in rows.values()} >= {"fails", "not judged"}
    assert all("ended the process (exit status 3)" in r.line for r in rows.values() if r.verdict == "fails")
    assert snippet == []  # One call alone ends nothing.


def calls(*lengths):
    return [({"kind": "float32"}, [np.zeros((1, n, 4))] * 3) for n in lengths]


def test_calls_are_left_out_that_share_what_no_good_call_had():
    costly = Costly()
    for call in calls(2, 3, 130):
        costly.answered(*call)
    for call in calls(*[65] * MOST_KNOWN):
        assert costly.refusal(*call) is None
        costly.cost(*call)
    assert [bool(costly.refusal(*call)) for call in calls(3, 64, 65, 130)] == [False, False, True, False]


def test_larger_calls_are_left_out_where_only_the_size_tells():
    costly = Costly()
    costly.answered(*calls(64)[0])
    for call in calls(65, 127):
        costly.cost(*call)
    assert [bool(costly.refusal(*call)) for call in calls(64, 65, 129)] == [False, True, True]


@pytest.mark.parametrize(("lengths", "most"), [([5] * MOST, MOST_UNKNOWN + 1), (range(5, 5 + MOST), MOST)])
def test_in_the_end_nothing_is_called(lengths, most):
    costly = Costly()
    for call in calls(*lengths, 500):
        costly.answered(*call)
    for call in calls(*lengths)[:most]:
        costly.cost(*call)
    assert costly.refusal(*calls(2)[0]) == Trouble(fault=Fault.NOT_CALLED, count=most)
