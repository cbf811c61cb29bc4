"""Every planted bug is found, and right code is never accused."""

import pytest

from attnlab_theory.conform.attention.suite import AttentionSuite
from attnlab_theory.conform.callers import Direct
from tests.conform import right, wrong


def failures(suite):
    return (row for row in suite.rows() if row.verdict == "fails")


@pytest.mark.parametrize("bug", wrong.BUGS)
def test_a_planted_bug_fails(bug):
    kind = wrong.BUGS[bug]
    wrong.calls.clear()
    assert next(failures(AttentionSuite(Direct(wrong.MADE[kind](bug)), kind)), None) is not None


@pytest.mark.parametrize("kind", wrong.MADE)
def test_the_same_code_without_a_bug_keeps_every_kind(kind):
    assert [row.line for row in failures(AttentionSuite(Direct(wrong.MADE[kind]("")), kind))] == []


@pytest.mark.parametrize("target", right.RIGHT, ids=lambda each: each.__name__)
def test_right_code_keeps_softmax_however_it_is_written(target):
    assert [row.line for row in failures(AttentionSuite(Direct(target), "softmax"))] == []
