"""Every planted bug is found, and right code is never accused."""

import pytest

from attnlab_theory.conform.callers import Direct
from tests.conform import right, wrong
from tests.conform.judging import suite as suite_of


def failures(suite):
    return (row for row in suite.rows() if row.verdict == "fails")


@pytest.mark.slow("one bug each with windows and with biases stays inside")
def test_a_planted_bug_fails(subtests):
    """Some seconds: every bug goes through every identity up to the first that falls."""
    for bug in wrong.BUGS:
        with subtests.test(bug):
            kind = wrong.BUGS[bug]
            wrong.calls.clear()
            assert next(failures(suite_of(Direct(wrong.MADE[kind](bug)), kind)), None) is not None


@pytest.mark.slow("one right function each with windows and with biases stays inside")
def test_the_same_code_without_a_bug_keeps_every_kind(subtests):
    """Judges seven functions, each by the whole suite of its kind."""
    for kind in wrong.MADE:
        with subtests.test(kind):
            assert [row.line for row in failures(suite_of(Direct(wrong.MADE[kind]("")), kind))] == []


@pytest.mark.slow("right code with its axes in another order stays inside")
def test_right_code_keeps_softmax_however_it_is_written(subtests):
    """Judges five functions by the whole suite."""
    for target in right.RIGHT:
        with subtests.test(target.__name__):
            assert [row.line for row in failures(suite_of(Direct(target), "softmax"))] == []
