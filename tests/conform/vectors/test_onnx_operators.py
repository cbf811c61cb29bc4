"""ONNX's vectors of rotations and recurrences: who is asked them, who holds, and which bugs they show."""

import collections
import functools

import numpy as np
import pytest

from attnlab_theory.conform import door
from attnlab_theory.conform.callers import Direct

pytest.importorskip("onnx", reason="onnx is not installed: its vectors were asked of nobody")

from attnlab_theory.conform.vectors import recurrences, turning
from attnlab_theory.conform.vectors.judging import Compared
from attnlab_theory.conform.vectors.reading import vectors
from attnlab_theory.conform.vectors.suite import OnnxSuite


def of(operator):
    return [vector for vector in vectors() if vector.operator == operator]


def rows(target, **declared):
    return {row.name: row for row in OnnxSuite(Direct(target), "onnx", declared).rows()}


def counted(found):
    return collections.Counter(row.verdict for row in found.values())


def turned(x, cos, sin, interleaved=False, bug=""):
    n, y = cos.shape[-1], x.copy()
    first, second = (slice(0, 2 * n, 2), slice(1, 2 * n, 2)) if interleaved else (slice(0, n), slice(n, 2 * n))
    if bug == "pairs over the whole width" and not interleaved:
        first, second = slice(0, n), slice(x.shape[-1] // 2, x.shape[-1] // 2 + n)
    cos, sin = cos[:, None], sin[:, None]
    if bug == "half-precision tables":
        cos, sin = (table.astype(np.float16).astype(x.dtype) for table in (cos, sin))
    a, b = x[..., first], x[..., second]
    y[..., first], y[..., second] = a * cos - b * sin, a * sin + b * cos
    if bug == "a sign":
        y[..., second] = a * sin - b * cos
    if bug == "cosine of the square root" and not interleaved:
        y[..., first] = a * np.sqrt(np.maximum(1 - sin**2, 0)) * np.sign(cos) - b * sin
    return y


def interleaved_only(x, cos, sin):
    return turned(x, cos, sin, True)


def one_head(x, cos_cache, sin_cache):
    assert x.ndim == 2
    return turned(x[None, None], cos_cache[None], sin_cache[None])[0, 0]


def queries_and_keys(q, k, cos, sin):
    """As in transformers: a column for each channel."""
    halves = [np.concatenate([-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]], -1) for x in (q, k)]
    return tuple(x * cos[:, None] + half * sin[:, None] for x, half in zip((q, k), halves, strict=True))


def backwards(x, cos, sin):
    """[b t h d]; the other way round, with tables that have an axis of heads."""
    assert cos.ndim == 4
    cos, sin = cos[:, :, 0], sin[:, :, 0]
    return np.swapaxes(turned(np.swapaxes(x, 1, 2), cos, -sin), 1, 2)


def half_of_them(x, cos, sin):
    """Fewer channels than the table has columns for."""
    return np.concatenate([turned(x[..., :4], cos[..., :2], sin[..., :2]), x[..., 4:]], -1)


def by_positions(x, positions):
    angles = (positions[:, None] * 1e4 ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])).astype(x.dtype)
    return turned(x, np.cos(angles)[None], np.sin(angles)[None])


def recurrence(q, k, v, g=None, beta=None, initial_state=None, scale=None, bug=""):
    """[b h t d]; log decays [b h t] or [b h t d]."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    state = initial_state
    if state is None or bug == "the state is left out":
        state = np.zeros((*q.shape[:2], q.shape[3], v.shape[3]), q.dtype)
    out = np.zeros_like(v)
    for i in range(q.shape[2]):
        before, w = state, v[:, :, i]
        if g is not None:
            kept = np.exp(g[:, :, i])
            kept = kept[..., None, None] if g.ndim == 3 else kept[..., None]
            if bug == "decay of head 0":
                kept = np.broadcast_to(kept[:, :1], kept.shape)
            state = state * kept
        if beta is not None:
            read = before if bug == "corrects before the decay" else state
            w = beta[:, :, i, None] * (w - np.einsum("bhde,bhd->bhe", read, k[:, :, i]))
        state = state + k[:, :, i, :, None] * w[:, :, None]
        if bug == "half-precision state":
            state = state.astype(np.float16).astype(q.dtype)
        out[:, :, i] = q.dtype.type(scale) * np.einsum("bhde,bhd->bhe", state, q[:, :, i])
    return out, -state if bug == "another state is returned" else state


def delta_of_one_head(q, k, v, beta, state):
    """[t d], and a state [e d]."""
    state, out = np.zeros((v.shape[1], q.shape[1]), q.dtype) if state is None else state, []
    for x, y, z, b in zip(q, k, v, beta, strict=True):
        state = state + np.outer(b * (z - state @ y), y)
        out.append(state @ x * q.dtype.type(q.shape[1] ** -0.5))
    return np.stack(out), state


def factors(q, k, v, decay):
    """[b t h d], and factors [b t h]."""
    swapped = (np.swapaxes(x, 1, 2) for x in (q, k, v, np.log(decay)))
    return np.swapaxes(recurrence(*swapped)[0], 1, 2)


def one_decay(q, k, v, g):
    """[t d], and log decays [t]."""
    state, out = np.zeros((q.shape[1], v.shape[1]), q.dtype), []
    for x, y, z, each in zip(q, k, v, g, strict=True):
        state = float(np.exp(each)) * state + np.outer(y, z)
        out.append(x @ state * q.dtype.type(q.shape[1] ** -0.5))
    return np.stack(out)


def gated_delta(q, k, v, g, beta):
    """A decay and a correction, always."""
    return recurrence(q, k, v, g, beta)[0]


def without_scale(q, k, v, g):
    return recurrence(q, k, v, g, scale=1.0)[0]


def normalised(q, k, v, gamma):
    """[t d], and one decay."""
    state, out = np.zeros((q.shape[1], v.shape[1] + 1), q.dtype), []
    for x, y, z in zip(q, k, v, strict=True):
        state = gamma * state + np.outer(y, [*z, 1])
        out.append(x @ state[:, :-1] / (x @ state[:, -1]))
    return np.stack(out)


def own_decay(q, k, v, g):
    """The decay of a token falls on what the token itself adds."""
    out = recurrence(q, k, v, g)[0]
    return out * np.exp(g)[..., None] if g.ndim == 3 else out


NO_FACTOR = "its decay is no factor of the state before a token is added"
ALWAYS_BETA = "it always takes a beta, and its rule then corrects"


def test_what_is_read_out_of_a_vector_gives_its_answer():
    """Whoever reads a table, a decay or a state wrongly disagrees here, before a stranger is accused."""
    for vector in of("RotaryEmbedding"):
        asked = turning.question(vector)
        assert np.abs(turning.exact(asked) - asked.output).max() < 3e-7, vector.name
    for vector in of("LinearAttention"):
        asked = recurrences.question(vector)
        right, kind = recurrences.exact(asked), str(asked.q.dtype)
        most = recurrences.tolerance(asked, right, kind)
        for mine, theirs, atol in (
            (right.output, asked.output, most.output),
            (right.state, asked.present, most.state),
        ):
            compared = Compared("", mine, theirs, atol, vector)
            assert (compared.ratio < 0.1, compared.loose) == (True, False), vector.name


@pytest.mark.parametrize(
    ("target", "what", "holds", "why"),
    [
        (turned, "rotary", 8, []),
        (interleaved_only, "rotary", 3, ["its channels turn in pairs that are interleaved"]),
        (one_head, "rotary", 5, ["its channels turn in pairs that are halves"]),
        (queries_and_keys, "rotary", 5, ["its channels turn in pairs that are halves"]),
        (backwards, "rotary", 5, ["its channels turn in pairs that are halves"]),
        (half_of_them, "rotary", 0, ["it turns 4 channels where a table has columns for 8"]),
        (by_positions, "rotary", 0, ["it makes its own cosines, and those of ONNX are random numbers"]),
        (recurrence, "recurrence", 14, []),
        (delta_of_one_head, "recurrence", 1, [ALWAYS_BETA, "it takes no decay"]),
        (factors, "recurrence", 4, ["it takes no beta"]),
        (one_decay, "recurrence", 3, ["it takes no beta", "its decay is one for all channels"]),
        (gated_delta, "recurrence", 6, [ALWAYS_BETA, "it takes no scale", "it takes no state"]),
        (without_scale, "recurrence", 0, ["it takes no beta", "it takes no scale"]),
        (normalised, "recurrence", 0, ["its output is no multiple of the query: ONNX normalises nothing"]),
        (own_decay, "recurrence", 2, ["it takes no beta", NO_FACTOR]),
    ],
)  # fmt: skip
def test_right_code_is_asked_what_it_has_arguments_for(target, what, holds, why):
    judge = OnnxSuite(Direct(target), "onnx")
    assert dict(judge.profile)["taken for"].startswith(f"{what} (guessed)")
    assert "Attention (93)" in judge.notes()[0]
    found = {row.name: row for row in judge.rows()}
    assert {*found} == {v.name for v in of({"rotary": "RotaryEmbedding"}.get(what, "LinearAttention"))}
    assert (counted(found)["holds"], counted(found)["not judged"]) == (holds, len(found) - holds)
    unsaid = {row.line.removeprefix("cannot be said: ") for row in found.values() if row.verdict == "not judged"}
    assert sorted(unsaid) == why


@pytest.mark.parametrize(
    ("target", "bug", "names"),
    [
        (turned, "pairs over the whole width", {"rotary_embedding_with_rotary_dim"}),
        (turned, "a sign", {vector.name for vector in of("RotaryEmbedding")}),
        (turned, "half-precision tables", {"rotary_embedding", "rotary_embedding_interleaved"}),
        # A rotation cannot show it; the tables of ONNX are none.
        (turned, "cosine of the square root", {"rotary_embedding"}),
        (recurrence, "the state is left out", {"linear_attention_decode_step"}),
        (recurrence, "decay of head 0", {"linear_attention_gated"}),
        (recurrence, "corrects before the decay", {"linear_attention_gated_delta"}),
        (recurrence, "half-precision state", {"linear_attention_linear", "linear_attention_delta"}),
        (recurrence, "another state is returned", {"linear_attention_linear"}),
    ],
)
def test_planted_bugs_fail_where_a_vector_shows_them(target, bug, names):
    found = rows(functools.partial(target, bug=bug))
    failing = {row.name for row in found.values() if row.verdict == "fails"}
    assert names <= failing


def test_a_target_of_half_precision_may_be_refused():
    def single(q, k, v, g=None, beta=None, state=None, scale=None):
        if q.dtype == np.float16:
            raise TypeError("no half precision")
        return recurrence(q, k, v, g, beta, state, scale)

    found = rows(single)
    assert found["linear_attention_fp16"].line.startswith("refused: TypeError: no half precision")
    assert counted(found) == {"holds": 13, "convention": 1}


def test_what_raises_fails_and_names_its_call():
    def long_only(q, k, v, g=None, beta=None, state=None, scale=None):
        if state is not None and q.shape[2] == 1 and q.shape[0] > 1:
            raise ValueError("longer, please")
        return recurrence(q, k, v, g, beta, state, scale)

    row = rows(long_only)["linear_attention_decode_step"]
    assert row.verdict == "fails"
    assert "longer, please" in row.line
    assert "q [2, 4, 1, 8], k [2, 4, 1, 8], v [2, 4, 1, 8], decay, beta, state, float32" in row.line


def test_a_user_may_say_what_the_target_is():
    def plain(q, k, v):
        return recurrence(q, k, v)[0]

    assert dict(OnnxSuite(Direct(plain), "onnx").profile)["taken for"].startswith("attention (guessed)")
    found = rows(plain, operator="recurrence")
    assert counted(found) == {"holds": 2, "not judged": 12}


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"operator": "convolution"}, "an operator is attention, rotary, recurrence, not 'convolution'"),
        ({"mask": "additive"}, "mask says nothing of turned, which is taken for rotary"),
    ],
)
def test_what_says_nothing_of_a_target_is_refused(declared, said):
    with pytest.raises(ValueError, match=said):
        OnnxSuite(Direct(turned), "onnx", declared)


def test_the_door_of_pytest_skips_the_vectors_of_other_operators():
    test = door.suite(turned, kind="onnx")
    test("rotary_embedding")
    with pytest.raises(pytest.skip.Exception, match="nothing to try"):
        test("attention_4d")
