"""What a mask of keys hides, what a row gives that sees nothing, and a log-sum-exp of what is seen."""

import numpy as np
import pytest

from attnlab_theory.conform.callers import Direct
from tests.conform.attention.wrong_together import PADDED, SUMS, attend, back, padded, with_sum
from tests.conform.judging import suite as suite_of


def row_of(target, kind, name):
    (row,) = suite_of(Direct(target), kind).rows([name])
    return row


@pytest.mark.parametrize(("bug", "identity"), PADDED.items())
def test_padding_at_the_start_that_escapes_a_mask_of_keys_is_found(bug, identity):
    assert row_of(padded(bug), "causal", identity).verdict == "fails"


@pytest.mark.parametrize("identity", ["blind rows", "padding by element", "hidden keys", "hidden numbers"])
def test_a_mask_of_keys_alone_is_judged_as_one_of_queries_and_keys(identity):
    row = row_of(padded(""), "causal", identity)
    assert (row.verdict, row.line.split(";")[0]) != ("fails", "")
    assert row.verdict == ("convention" if identity == "blind rows" else "holds")


def test_hidden_keys_behind_a_mask_of_keys_alone_are_seen_through_a_small_fill():
    def target(q, k, v, key_padding_mask=None):
        bias = (
            None if key_padding_mask is None else np.where(key_padding_mask[:, None, None], q.dtype.type(-100), 0)
        )
        return attend(q, k, v, bias=bias)

    assert row_of(target, "softmax", "hidden keys").verdict == "fails"


def test_a_number_behind_a_mask_of_keys_that_is_multiplied_by_zero_is_told():
    row = row_of(padded(""), "causal", "hidden NaN")
    assert (row.verdict, "nan in a value" in row.line) == ("convention", True)


def sees_itself(q, k, v, mask=None):
    own = back(q, k) == 0
    keep = np.broadcast_to(back(q, k) >= 0, (*q.shape[:3], k.shape[-2]))
    keep = keep if mask is None else keep & mask
    return attend(q, k, v, keep | (own & ~keep.any(-1, keepdims=True)))


def test_a_row_that_sees_itself_when_it_sees_nothing_else_is_a_convention():
    row = row_of(sees_itself, "causal", "blind rows")
    assert (row.verdict, row.line) == ("convention", "its own value")


def test_a_row_that_sees_the_key_after_it_when_it_sees_nothing_else_fails():
    def target(q, k, v, mask=None):
        after = back(q, k) == -1
        keep = np.broadcast_to(back(q, k) >= 0, (*q.shape[:3], k.shape[-2]))
        keep = keep if mask is None else keep & mask
        return attend(q, k, v, keep | (after & ~keep.any(-1, keepdims=True)))

    assert row_of(target, "causal", "blind rows").verdict == "fails"


@pytest.mark.parametrize("bug", SUMS)
def test_a_sum_that_counts_hidden_keys_is_found(bug):
    row = row_of(with_sum(bug), "causal", "second output")
    assert (row.verdict, "counts hidden keys" in row.line) == ("fails", True)


def test_the_sum_of_what_is_seen_holds_under_every_mask():
    row = row_of(with_sum(""), "causal", "second output")
    assert (row.verdict, row.line) == ("holds", "the logarithm of the sum of exponentials")
    assert row.tried > 5


@pytest.mark.parametrize(("counts", "verdict"), [(True, "holds"), (False, "holds"), ("half", "fails")])
def test_a_sink_may_be_a_part_of_the_sum_or_not(counts, verdict):
    def target(q, k, v, sinks=None):
        scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
        raised = np.exp(scores)
        total = raised.sum(-1, keepdims=True)
        more = 0 if sinks is None else np.exp(sinks)[:, None, None]
        part = {True: 1, False: 0, "half": 0.5}[counts]
        return (raised / (total + more) @ v).astype(q.dtype), np.log(total + part * more)[..., 0].astype(q.dtype)

    assert row_of(target, "multi-head", "second output").verdict == verdict
