"""Padding by batch element, repetition and what stays of a call: each attack finds a bug that no other finds."""

import numpy as np
import pytest

from attnlab_theory.conform.callers import Direct, Fenced
from tests.conform.attention.wrong_states import MADE, hides_keys
from tests.conform.judging import COVERED
from tests.conform.judging import suite as suite_of
from tests.conform.right import plain


def failing(target):
    return {row.name for row in suite_of(Direct(target), "softmax").rows() if row.verdict == "fails"}


@pytest.mark.slow("bugs of seldom calls, each at its identity, stay inside")
@pytest.mark.parametrize(
    ("make", "bug", "identity"), [(make, bug, name) for make, bugs in MADE.items() for bug, name in bugs.items()]
)
def test_a_bug_fails_at_the_identity_that_is_there_for_it(make, bug, identity):
    found = failing(make(bug))
    assert identity in found
    # A mask beside another feature is in the tables, too.
    assert found <= {identity, *COVERED, "padding by element"}


@pytest.mark.slow("the committed record of right code stays inside")
@pytest.mark.parametrize("make", MADE)
def test_the_same_code_without_a_bug_holds(make):
    assert failing(make("")) == set()


SLOW = """
import time
import numpy as np

def slow(q, k, v):
    time.sleep(0.01)
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return (raised / raised.sum(-1, keepdims=True)) @ v
"""


@pytest.mark.slow("which of many costly calls are left out stays inside")
def test_many_calls_of_what_is_slow_are_not_judged(tmp_path):
    """Starts a process, in which every call sleeps."""
    (tmp_path / "mine.py").write_text(SLOW)
    with Fenced(f"{tmp_path}/mine.py::slow", seconds=1.0) as caller:
        row = suite_of(caller, "softmax").row("repetitions")
    assert (row.verdict, "--call-seconds" in row.line) == ("not judged", True)


def test_what_a_mask_of_keys_means_is_told():
    def keeps(q, k, v, key_padding_mask=None):
        return plain(q, k, v, None if key_padding_mask is None else key_padding_mask[:, None, None])

    assert dict(suite_of(Direct(keeps), "softmax").profile)["key_padding_mask"] == "True keeps (guessed)"
    profile = dict(suite_of(Direct(hides_keys("")), "softmax").profile)
    assert (profile["key_padding_mask"], profile["lengths"]) == (
        "True hides (guessed)",
        "keys that count (guessed)",
    )


def test_an_argument_that_is_ignored_fails():
    row = suite_of(Direct(lambda q, k, v, lengths=None: plain(q, k, v)), "softmax").row("padding by element")
    assert (row.verdict, row.line) == ("fails", "lengths: weights do not follow it")


def test_no_queries_and_no_keys_are_told():
    row = suite_of(Direct(plain), "softmax").row("no tokens")
    assert row.verdict == "convention"
    assert row.line.startswith("no queries: an empty output; no keys: refused: ValueError")


def halves_in_sums(q, k, v):
    """Right, and adds up one number after the other in half precision."""
    if q.dtype != np.float16:
        return plain(q, k, v)
    scores = plain_scores(q, k)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    total, out = np.zeros_like(raised[..., :1]), np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype)
    for j in range(k.shape[-2]):
        total, out = total + raised[..., j : j + 1], out + raised[..., j : j + 1] * v[..., j : j + 1, :]
    return out / total


def plain_scores(q, k):
    return q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)


def test_the_rule_of_flash_attention_is_told_beside_the_tolerance():
    careful, careless = (suite_of(Direct(target), "softmax").row("float16") for target in (plain, halves_in_sums))
    assert (careful.verdict, careless.verdict) == ("holds", "holds")
    assert 0 < careful.rule < 1
    assert careless.rule > careful.rule
    assert f"{careful.rule:.2g} of what flash-attention's rule allows" in careful.line
    assert suite_of(Direct(plain), "softmax").row("plain").rule is None
