"""Conventions are told, and nobody fails for them; what contradicts itself does."""

import ml_dtypes
import numpy as np
import pytest

from attnlab_theory.conform.callers import Direct
from tests.conform.judging import suite as suite_of
from tests.conform.right import plain
from tests.conform.wrong import whole


def scaled(q, power):
    return q * q.dtype.type(q.shape[-1] ** (power + 0.5))


def start_aligned(q, k, v):
    return plain(q, k, v, np.tri(q.shape[-2], k.shape[-2], dtype=bool))


def square_only(q, k, v):
    if q.shape[-2] != k.shape[-2]:
        raise ValueError("lengths differ")
    return start_aligned(q, k, v)


def by_flag(q, k, v, is_causal=False):
    return whole(q, k, v, causal=is_causal)


def true_drops(q, k, v, attn_mask=None):
    return plain(q, k, v, None if attn_mask is None else ~attn_mask)


def added(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    scores = scores if mask is None else scores + mask
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True) @ v


def tokens_first(q, k, v):
    return plain(*(np.swapaxes(x, 1, 2) for x in (q, k, v))).swapaxes(1, 2)


def batch_alone(q, k, v):
    assert q.ndim == 3
    return plain(q, k, v)


def unscaled(q, k, v):
    return plain(scaled(q, 0), k, v)


def by_width(q, k, v):
    return plain(scaled(q, -1), k, v)


def in_float32(q, k, v):
    return plain(*(x.astype(np.float32) for x in (q, k, v))).astype(q.dtype)


def fill_of_1e9(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    scores = scores if mask is None else np.where(mask, scores, q.dtype.type(-6e4 if q.dtype == "f2" else -1e9))
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True) @ v


def interleaved(q, k, v):
    times = q.shape[1] // k.shape[1]
    return plain(q, np.concatenate([k] * times, 1), np.concatenate([v] * times, 1))


def neighbours(q, k, v):
    return plain(q, *(np.repeat(x, q.shape[1] // k.shape[1], 1) for x in (k, v)))


def window_with_itself(q, k, v, window_size):
    return whole(q, k, v, window=window_size + 1)


def window_of_four(q, k, v):
    return whole(q, k, v, window=4)


def window_both_ways(q, k, v, window):
    t, s = q.shape[-2], k.shape[-2]
    return plain(q, k, v, abs(np.arange(t)[:, None] + s - t - np.arange(s)) <= window)


def capped_at_three(q, k, v):
    return whole(q, k, v, softcap=3.0)


@pytest.mark.slow("two of 18 members stay inside", but=2)
@pytest.mark.parametrize(
    ("target", "kind", "line", "text", "declared"),
    [
        (start_aligned, "causal", "more keys than queries", "start: query 0 sees key 0 only", {}),
        (square_only, "causal", "more keys than queries", "square: refused", {}),
        (by_flag, "causal", "hides the future", "by is_causal", {}),
        (true_drops, "softmax", "attn_mask", "True drops (guessed)", {}),
        (added, "softmax", "mask", "numbers are added (guessed)", {}),
        (tokens_first, "softmax", "layout", "b t h d (guessed)", {}),
        (tokens_first, "multi-head", "layout", "b t h d (declared)", {"layout": "bthd"}),
        (batch_alone, "softmax", "layout", "b t d (guessed)", {}),
        (unscaled, "softmax", "scale", "1", {}),
        (by_width, "softmax", "scale", "1/width", {}),
        (in_float32, "softmax", "framework", "numpy", {}),
        (fill_of_1e9, "softmax", "mask", "True keeps (guessed)", {}),
        (neighbours, "grouped-query", "head h reads the keys", "h // (heads / groups) (neighbours share)", {}),
        (interleaved, "grouped-query", "head h reads the keys", "h % groups (interleaved)", {}),
        (window_with_itself, "sliding-window", "a window of w = 3", "w keys back and itself", {}),
        (window_both_ways, "sliding-window", "a window of w = 3", "w keys to either side", {}),
        (
            window_of_four,
            "sliding-window",
            "a window of w = 4",
            "w keys back, itself included",
            {"fixed_window": 4},
        ),
        (capped_at_three, "softcap", "scale", "1/sqrt(width)", {"fixed_softcap": 3.0}),
    ],
)
def test_a_convention_is_a_line_of_the_profile_and_no_failure(target, kind, line, text, declared):
    suite = suite_of(Direct(target), kind, declared)
    assert dict(suite.profile)[line] == text
    assert [row.line for row in suite.rows() if row.verdict == "fails"] == []


def row_of(target, kind, name):
    return suite_of(Direct(target), kind).row(name)


def test_float64_that_is_float32_inside_is_told():
    assert row_of(in_float32, "softmax", "float64").verdict == "convention"


def test_a_fill_of_1e9_is_told_with_the_score_that_shows_it():
    row = row_of(fill_of_1e9, "softmax", "hidden keys")
    assert row.verdict == "convention"
    assert row.line.split("; ") == [
        "float32: finite: a score of 1e+10 shows a hidden key, 10000 does not",
        "float16: finite: a score of 60000 shows a hidden key, 20000 does not",
    ]


def test_what_promises_to_be_causal_and_is_not_fails_at_once():
    assert "gives key 1 the weight" in row_of(plain, "causal", "visibility").line


def test_what_hides_the_future_is_no_plain_softmax():
    assert "judge it --as causal" in row_of(start_aligned, "softmax", "visibility").line


def blind(outcome):
    def target(q, k, v, mask=None):
        out = np.nan_to_num(plain(q, k, v, mask), nan=0.0)
        sees = np.ones(q.shape[:-1], bool) if mask is None else np.broadcast_to(mask.any(-1), q.shape[:-1])
        with_all = {"zeros": 0 * out, "mean": 0 * out + v.mean(-2, keepdims=True), "softmax": plain(q, k, v)}
        other = with_all.get(outcome, np.full_like(out, np.nan if outcome == "nan" else 0.7))
        return np.where(sees[..., None], out, other)

    return target


@pytest.mark.parametrize(
    ("outcome", "verdict", "said"),
    [
        ("zeros", "convention", "zeros"),
        ("mean", "convention", "the mean of what is hidden"),
        ("nan", "convention", "NaN"),
        ("softmax", "convention", "the softmax of what is hidden"),
        ("a constant", "fails", "which is no outcome known"),
    ],
)
def test_four_outcomes_of_a_row_that_sees_nothing_are_told(outcome, verdict, said):
    row = row_of(blind(outcome), "softmax", "blind rows")
    assert (row.verdict, said in row.line) == (verdict, True)


def in_bfloat16(q, k, v, mask=None, is_causal=False):
    """Computes and answers in bfloat16, as kernels of accelerators do. A row that sees nothing gets the mean."""
    q, k, v = (x if x.dtype == np.float16 else x.astype(ml_dtypes.bfloat16).astype("float32") for x in (q, k, v))
    seen = np.tri(q.shape[-2], k.shape[-2], dtype=bool) if is_causal else np.ones((q.shape[-2], k.shape[-2]), bool)
    out = blind("mean")(q, k, v, seen if mask is None else seen & mask)
    return out if out.dtype == np.float16 else out.astype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("name", ["flag", "blind rows"])
def test_what_answers_in_half_precision_is_held_to_half_precision(name):
    """A mean that is rounded to bfloat16 is a mean, and no number that nobody knows."""
    row = row_of(in_bfloat16, "softmax", name)
    assert row.verdict == {"flag": "holds", "blind rows": "convention"}[name], row.line


def mean_of_everything(q, k, v, mask=None):
    """Causal; a row whose keys are all masked gets the mean, and with it the future."""
    seen = np.tri(q.shape[-2], k.shape[-2], k.shape[-2] - q.shape[-2], dtype=bool)
    return blind("mean")(q, k, v, seen if mask is None else seen & mask)


def filled(fill, causal=False):
    """Hidden scores are a number, which may be infinite in float16."""

    def target(q, k, v, mask=None):
        seen = np.ones((q.shape[-2], k.shape[-2]), bool)
        seen = np.tri(*seen.shape, seen.shape[1] - seen.shape[0], dtype=bool) if causal else seen
        seen = seen if mask is None else seen & mask
        with np.errstate(over="ignore", invalid="ignore"):
            scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
            scores = np.where(seen, scores, np.asarray(fill[q.dtype.name], q.dtype))
            raised = np.exp(scores - scores.max(-1, keepdims=True))
            return raised / raised.sum(-1, keepdims=True) @ v

    return target


LOW = {"float32": -1e30, "float64": -1e30, "float16": -1e30}
LOW_IN_HALF = {"float32": -np.inf, "float64": -np.inf, "float16": -6e4}


def test_a_row_that_sees_nothing_is_told_where_half_precision_answers_otherwise():
    row = row_of(filled(LOW), "softmax", "blind rows")
    assert (row.verdict, row.line) == ("convention", "the mean of what is hidden; in float16 NaN")
    row = row_of(filled(LOW_IN_HALF), "softmax", "blind rows")
    assert (row.verdict, row.line) == ("convention", "NaN; in float16 the mean of what is hidden")
    row = row_of(blind("mean"), "softmax", "blind rows")
    assert (row.verdict, row.line) == ("convention", "the mean of what is hidden")


def test_a_causal_row_that_reads_the_future_in_half_precision_alone_fails():
    row = row_of(filled(LOW_IN_HALF, causal=True), "causal", "blind rows")
    assert (row.verdict, row.line.startswith("in float16 a row whose own keys are all masked")) == ("fails", True)


def test_a_causal_row_that_is_masked_and_reads_the_future_fails():
    row = row_of(mean_of_everything, "causal", "blind rows")
    assert (row.verdict, "it reads what comes after it" in row.line) == ("fails", True)


def zeros_where_the_mask_hides_a_whole_row(q, k, v, mask=None):
    """Causal, with fills. It asks the mask alone which rows see nothing, and misses those under padding."""
    out = filled(LOW, causal=True)(q, k, v, mask)
    return out if mask is None else np.where(mask.any(-1)[..., None], out, 0)


def test_a_causal_row_whose_past_is_padding_and_that_reads_the_future_fails():
    row = row_of(zeros_where_the_mask_hides_a_whole_row, "causal", "blind rows")
    assert (row.verdict, "are all padding" in row.line) == ("fails", True)
    assert "it reads what comes after it" in row.line


def test_a_row_that_sees_nothing_leaves_the_others_alone():
    def silent(q, k, v, mask=None):
        """One such row, and its head gives zeros."""
        with np.errstate(invalid="ignore"):
            out = whole(q, k, v, mask)
        return np.where(np.isnan(out).any((-1, -2), keepdims=True), 0, out)

    row = suite_of(Direct(silent), "softmax").row("blind rows")
    assert row.verdict == "fails"
    assert row.line.startswith("beside a row that sees nothing: 0 where ")
