"""Numbers of heads, lengths, types, biases and orders of calls that are seldom tried."""

import numpy as np
import pytest

from attnlab_theory.conform.callers import Direct
from tests.conform.attention.wrong_calls import MADE, biased, early, filled, grouped
from tests.conform.judging import suite as suite_of
from tests.conform.right import log_sum_exp, plain

BUGS = [(make, bug, *found) for make, bugs in MADE.items() for bug, found in bugs.items()]


def row_of(target, kind, name):
    row = suite_of(Direct(target), kind).row(name)
    assert row is not None
    return row


@pytest.mark.parametrize(("make", "bug", "kind", "identity"), BUGS)
def test_a_bug_fails_at_the_identity_that_is_there_for_it(make, bug, kind, identity):
    assert row_of(make(bug), kind, identity).verdict == "fails"


@pytest.mark.slow("the committed record of right code stays inside")
@pytest.mark.parametrize(("make", "kind"), {(make, kind): 0 for make, _, kind, _ in BUGS})
def test_the_same_code_without_a_bug_holds(make, kind):
    rows = suite_of(Direct(make("")), kind).rows()
    assert [f"{row.name}: {row.line}" for row in rows if row.verdict == "fails"] == []


def test_a_target_of_one_number_of_heads_is_told_so():
    def only_four_on_two(q, k, v):
        if (q.shape[1], k.shape[1]) != (4, 2):
            raise ValueError(f"{q.shape[1]} heads")
        return grouped("")(q, k, v)

    row = row_of(only_four_on_two, "grouped-query", "groupings")
    assert (row.verdict, "is refused: ValueError: 6 heads" in row.line) == ("convention", True)


def early_rows_are(outcome):
    def target(q, k, v):
        t, s = q.shape[-2], k.shape[-2]
        if outcome == "refused" and t > s:
            raise ValueError("more queries than keys")
        if outcome == "the start":
            return plain(q, k, v, np.tri(t, s, max(s - t, 0), dtype=bool))
        rows = np.arange(t)[:, None] < t - s
        other = {"zeros": 0.0, "the mean": v.mean(-2, keepdims=True), "NaN": np.nan}.get(outcome, 0.0)
        return np.where(rows, q.dtype.type(other) if np.isscalar(other) else other, early("")(q, k, v))

    return target


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ("zeros", "gives zeros"),
        ("NaN", "gives NaN"),
        ("refused", "5 queries, 3 keys: refused: ValueError"),
        ("the start", "query 0 sees key 0"),
    ],
)
def test_what_a_query_before_the_first_key_gives_is_told(outcome, said):
    row = row_of(early_rows_are(outcome), "causal", "early queries")
    assert (row.verdict, said in row.line) == ("convention", True)


def test_a_query_before_the_first_key_that_is_the_mean_of_all_values_reads_its_future():
    row = row_of(early_rows_are("the mean"), "causal", "early queries")
    assert (row.verdict, "the mean of all values: it reads what comes after it" in row.line) == ("fails", True)


@pytest.mark.parametrize(
    ("fill", "verdict", "said"),
    [
        ("-3e4", "convention", "float16: finite: a score of 60000 shows a hidden key, 20000 does not"),
        ("added", "convention", "float16: finite: a score of 60000 shows a hidden key, 20000 does not"),
        ("lowest", "holds", "float16: scores down to -60000 below a hidden one were tried"),
    ],
)
def test_a_finite_fill_of_half_precision_is_told_with_the_score_that_shows_it(fill, verdict, said):
    row = row_of(filled(fill), "softmax", "hidden keys")
    assert (row.verdict, said in row.line) == (verdict, True)


def test_a_type_that_is_refused_and_scores_that_overflow_are_no_failure():
    def not_in_half(q, k, v, mask=None):
        if q.dtype == np.float16:
            raise TypeError("float16")
        return plain(q, k, v, mask)

    row = row_of(not_in_half, "softmax", "hidden keys")
    assert (row.verdict, "float16: refused: TypeError" in row.line) == ("holds", True)
    row = row_of(plain, "softmax", "hidden keys")
    assert (row.verdict, "float16: scores down to -20000" in row.line) == ("holds", True)


def test_weights_that_are_off_by_one_factor_show_no_hidden_key():
    """With a score of 1e10 the logarithm of the sum is rounded by 1e3."""
    row = row_of(log_sum_exp, "softmax", "hidden keys")
    assert (row.verdict, "finite" in row.line) == ("holds", False)


def test_a_bias_of_minus_infinity_that_gives_no_number_is_told():
    row = row_of(lambda q, k, v, bias: biased("")(q, k, v, bias) + 0 * bias.sum(), "bias", "large biases")
    assert (row.verdict, row.line) == ("convention", "minus infinity gives NaN")


@pytest.mark.parametrize("usual", [True, False])
def test_a_flag_that_is_ignored_where_it_is_false_fails_as_one_that_is_ignored_where_it_is_true(usual):
    always = eval(f"lambda q, k, v, causal={usual}: early('')(q, k, v)", {"early": early})
    row = row_of(always, "causal", "flag")
    assert (row.verdict, "causal=False" in row.line) == ("fails", True)
    never = eval(f"lambda q, k, v, causal={usual}: plain(q, k, v)", {"plain": plain})
    assert row_of(never, "causal", "visibility").verdict == "fails"


def sums(base):
    def target(q, k, v):
        scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
        top = scores.max(-1)
        total = np.exp(scores - top[..., None]).sum(-1)
        second = {"e": top + np.log(total), "2": (top + np.log(total)) / np.log(2), "mixed": top + np.log2(total)}
        return plain(q, k, v), second[base].astype(q.dtype)

    return target


@pytest.mark.parametrize(
    ("base", "verdict", "said"),
    [
        ("e", "holds", "the logarithm of the sum of exponentials"),
        ("2", "convention", "the logarithm of the sum of exponentials, in base 2"),
        ("mixed", "not judged", "[2, 2, 5] is neither weights nor a logarithm of the sum of exponentials"),
    ],
)
def test_what_comes_after_the_output_is_judged_or_said_not_to_be(base, verdict, said):
    row = row_of(sums(base), "softmax", "second output")
    assert (row.verdict, row.line) == (verdict, said)
