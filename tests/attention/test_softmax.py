"""Softmax attention: against numpy's float64, masks that hide exactly, gradients, and what it refuses.

What holds for every input of every operator (shift, permutation, hull, causality) is an identity:
tests/identities.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.attention import (
    alibi_attention,
    attention,
    attention_scores,
    attention_weights,
    blocked_attention,
    causal_mask,
    synthesizer_attention,
    synthesizer_weights,
)
from tests.strategies import arrays, masks, scales
from tests.tolerances import attention_atol, attention_slope_atol, weights_rtol

FLOAT = jax.dtypes.canonicalize_dtype(float)
TINY = float(np.finfo(np.float32).tiny)
T, S, D, V = 3, 5, 4, 2
PEAK = 2.0
SCALE = 0.5
Q = jnp.linspace(-1, 1, T * D, dtype=FLOAT).reshape(T, D)
K = jnp.cos(jnp.arange(S * D, dtype=FLOAT)).reshape(S, D)
VALUES = jnp.sin(jnp.arange(S * V, dtype=FLOAT)).reshape(S, V)
MASK = jnp.array([[1, 0, 0, 1, 1], [0, 1, 0, 0, 0], [1, 1, 1, 1, 1]], bool)

looks = (arrays(T, D, peak=PEAK), arrays(S, D, peak=PEAK), masks(T, S), scales)
problems = (arrays(T, D, peak=PEAK), arrays(S, D, peak=PEAK), arrays(S, V, peak=PEAK), masks(T, S), scales)


def peak_score(scale: float) -> float:
    return scale * D * PEAK**2


def weights_in_double(q, k, mask, scale) -> np.ndarray:
    """The definition, in numpy's float64, over the visible keys only."""
    q, k, mask = np.asarray(q, np.float64), np.asarray(k, np.float64), np.asarray(mask)
    weights = np.zeros(mask.shape)
    for row in range(len(q)):
        seen = np.flatnonzero(mask[row])
        scores = [scale * sum(a * b for a, b in zip(q[row], k[key], strict=True)) for key in seen]
        powers = np.exp(np.array(scores) - max(scores))
        weights[row, seen] = powers / powers.sum()
    return weights


@given(*looks)
def test_weights_are_those_of_the_definition(q, k, mask, scale):
    expected = weights_in_double(q, k, mask, scale)
    error = np.abs(np.asarray(attention_weights(q, k, mask, scale=scale), np.float64) - expected)
    # XLA flushes what is below the smallest normal number.
    assert (error <= weights_rtol(D, S, peak_score(scale), FLOAT) * expected + TINY).all()


@given(*looks)
def test_rows_sum_to_one_and_hidden_weights_are_zero(q, k, mask, scale):
    weights = np.asarray(attention_weights(q, k, mask, scale=scale), np.float64)
    assert (weights >= 0).all()
    # Each of S weights is rounded, and so is the normaliser they were divided by.
    assert np.abs(weights.sum(axis=1) - 1).max() <= 2 * S * float(np.finfo(FLOAT).eps)
    assert (weights[~np.asarray(mask)] == 0).all()


@given(*problems)
def test_output_is_the_weighted_mean(q, k, v, mask, scale):
    expected = weights_in_double(q, k, mask, scale) @ np.asarray(v, np.float64)
    error = np.abs(np.asarray(attention(q, k, v, mask, scale=scale), np.float64) - expected)
    assert error.max() <= attention_atol(D, S, peak_score(scale), PEAK, FLOAT)


@given(*problems, st.sampled_from([1.0, -1e4, 1e9, 1e30]))
def test_mask_hides_positions_exactly(q, k, v, mask, scale, replaced):
    """What a query may not see is replaced by something large: not one bit of its output moves."""
    before = np.asarray(attention(q, k, v, mask, scale=scale))
    for row in range(T):
        hidden = ~mask[row][:, None]
        k_new, v_new = jnp.where(hidden, replaced, k), jnp.where(hidden, replaced, v)
        after = np.asarray(attention(q, k_new.astype(FLOAT), v_new.astype(FLOAT), mask, scale=scale))
        assert after[row].tobytes() == before[row].tobytes()


@pytest.mark.slow("weighted means, and hidden weights of exactly zero, stay inside")
@given(arrays(T, D, peak=PEAK), arrays(S, D, peak=PEAK), arrays(S, V, peak=PEAK), scales)
def test_masked_row_is_attention_over_its_visible_keys(q, k, v, scale):
    """Hypothesis tries many cases, and each row of a case is attended to alone."""
    whole = attention(q, k, v, MASK, scale=scale)
    for row in range(T):
        seen = np.asarray(MASK[row])
        alone = attention(q[row : row + 1], k[seen], v[seen], scale=scale)
        assert np.abs(whole[row] - alone[0]).max() <= attention_atol(D, S, peak_score(scale), PEAK, FLOAT)


@given(*problems)
def test_jit_and_vmap_change_rounding_at_most(q, k, v, mask, scale):
    """Compiles attention in three ways, and Hypothesis tries many cases."""
    atol = attention_atol(D, S, peak_score(scale), PEAK, FLOAT)
    eager = attention(q, k, v, mask, scale=scale)
    assert np.abs(jax.jit(attention)(q, k, v, mask, scale=scale) - eager).max() <= atol
    one = jax.vmap(lambda q, mask: attention(q[None], k, v, mask[None], scale=scale)[0])
    assert np.abs(one(q, mask) - eager).max() <= atol


def test_scores_are_minus_infinity_where_hidden():
    scores = attention_scores(Q, K, MASK, scale=SCALE)
    assert np.array_equal(np.isneginf(scores), ~np.asarray(MASK))
    assert np.array_equal(np.isfinite(attention_scores(Q, K, scale=SCALE)), np.ones((T, S), bool))


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.float32])
def test_computes_in_the_type_it_is_given(dtype):
    out = attention(Q.astype(dtype), K.astype(dtype), VALUES.astype(dtype), MASK, scale=SCALE)
    assert out.dtype == dtype


def test_causal_mask_lets_each_position_see_itself_and_the_past():
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_queries_of_a_causal_mask_stand_at_the_end_of_the_keys():
    assert causal_mask(2, 5).tolist() == [[True] * 4 + [False], [True] * 5]
    assert np.array_equal(causal_mask(2, 5), causal_mask(5)[3:])
    assert np.array_equal(causal_mask(3, 3), causal_mask(3))


def test_the_second_chunk_of_a_prompt_is_the_rest_of_the_whole():
    x = jnp.asarray(np.random.default_rng(0).normal(size=(5, 4)), jnp.float32)
    whole = attention(x, x, x, causal_mask(5), scale=0.5)
    chunk = attention(x[3:], x, x, causal_mask(2, 5), scale=0.5)
    peak = float(jnp.max(jnp.abs(x)))
    atol = 2 * attention_atol(4, 5, 0.5 * 4 * peak**2, peak)
    np.testing.assert_allclose(chunk, whole[3:], rtol=0, atol=atol)


def test_causal_mask_refuses_no_positions():
    with pytest.raises(ValueError, match="at least one position, not 0"):
        causal_mask(0)
    with pytest.raises(ValueError, match="the 5 queries are the last of the keys, but there are only 2 keys"):
        causal_mask(5, 2)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize("t", [2.5, 2.0, True, jnp.asarray(2.0), np.True_], ids=repr)
def test_causal_mask_refuses_what_is_no_whole_number(t):
    with pytest.raises(ValueError, match="positions must be a whole number, not "):
        causal_mask(t)


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan"), float("inf")])
def test_traced_bad_scale_gives_nan(wrong):
    assert np.isnan(jax.jit(lambda scale: attention(Q, K, VALUES, scale=scale))(wrong)).all()


def test_traced_blind_row_gives_nan_in_that_row_alone():
    out = jax.jit(lambda mask: attention(Q, K, VALUES, mask, scale=SCALE))(MASK.at[1].set(False))
    assert np.isnan(out[1]).all()
    assert np.isfinite(out[np.array([0, 2])]).all()


def test_traced_nan_gives_nan():
    out = jax.jit(lambda q, k, v: attention(q, k, v, scale=SCALE))(Q.at[0, 0].set(jnp.nan), K, VALUES)
    assert np.isnan(out[0]).all()
    out = jax.jit(lambda q, k, v: attention(q, k, v, scale=SCALE))(Q, K.at[4, 0].set(jnp.nan), VALUES)
    assert np.isnan(out).all()


@pytest.mark.parametrize("wrong", [float("inf"), float("-inf")])
def test_traced_infinite_key_gives_nan(wrong):
    """Also where its score is -inf for every query, which alone would mean weight 0."""
    q, k = jnp.abs(Q) + 1, K.at[4, 0].set(wrong)
    for run in (
        lambda q, k: attention(q, k, VALUES, scale=SCALE),
        lambda q, k: blocked_attention(q, k, VALUES, scale=SCALE, block=2),
    ):
        assert np.isnan(jax.jit(run)(q, k)).all()


def test_rows_that_overflow_are_nan():
    q, k, v = (jnp.asarray(x, jnp.float32) for x in (1e30 * jnp.abs(Q), 1e30 * jnp.abs(K), VALUES))
    assert np.isnan(attention_weights(q, k, scale=SCALE)).all()
    assert np.isnan(attention(q, k, v, scale=SCALE)).all()
    assert np.isnan(blocked_attention(q, k, v, scale=SCALE, block=2)).all()


def test_a_score_that_overflows_below_the_others_has_no_weight():
    far, near = jnp.asarray([[-3e38], [0.0]], jnp.float32), jnp.asarray([[1e30]], jnp.float32)
    assert np.array_equal(attention_weights(near, far, scale=1.0), [[0, 1]])
    assert np.isnan(attention_weights(near, far[:1], scale=1.0)).all()


def test_large_scores_that_do_not_overflow_are_weighed():
    weights = attention_weights(1e18 * Q, 1e18 * K, scale=SCALE)
    assert np.array_equal(np.sum(weights, axis=1), np.ones(T))


NAN, INF = float("nan"), float("inf")
REFUSED = [
    ({"scale": 0.0}, "scale must be positive, not 0.0"),
    ({"scale": -1.0}, "scale must be positive, not -1.0"),
    ({"scale": NAN}, "scale must be positive, not nan"),
    ({"scale": INF}, "scale must be finite, but holds inf"),
    ({"q": Q[:, :3]}, "key width must agree: q has 3, k has 4"),
    ({"q": Q[0]}, r"q must have 2 axes, but has shape \(4,\)"),
    ({"k": K[0]}, r"k must have 2 axes, but has shape \(4,\)"),
    ({"q": Q.at[1, 2].set(NAN)}, r"q must be finite, but holds nan at index \(1, 2\)"),
    ({"k": K.at[4, 0].set(-INF)}, r"k must be finite, but holds -inf at index \(4, 0\)"),
    ({"q": jnp.ones((T, D), int)}, "q must hold floating-point numbers, not int"),
    ({"k": jnp.ones((S, D), int)}, "k must hold floating-point numbers, not int"),
    ({"mask": MASK[:, :4]}, r"mask must have shape \(3, 5\) \(queries, keys\), not \(3, 4\)"),
    ({"mask": MASK.at[1].set(False)}, "mask hides every key from query 1"),
]
REFUSED_BY_OUTPUT = [
    *REFUSED,
    ({"k": K[:0], "v": VALUES[:0], "mask": None}, r"at least one key, but k has shape \(0, 4\)"),
    ({"v": VALUES[:4]}, "source positions must agree: k has 5, v has 4"),
    ({"v": VALUES[0]}, r"v must have 2 axes, but has shape \(2,\)"),
    ({"v": VALUES.at[0, 1].set(INF)}, r"v must be finite, but holds inf at index \(0, 1\)"),
    ({"v": jnp.ones((S, V), int)}, "v must hold floating-point numbers, not int"),
]


@pytest.mark.usefixtures("unchecked_shapes")
def test_bad_queries_keys_scales_and_masks_are_refused(subtests):
    for operator in [attention_scores, attention_weights]:
        for changed, message in REFUSED:
            with subtests.test(message, operator=operator):
                given_ = {"q": Q, "k": K, "mask": MASK, "scale": SCALE} | changed
                with pytest.raises(ValueError, match=message):
                    operator(**given_)


@pytest.mark.usefixtures("unchecked_shapes")
def test_bad_input_is_refused(subtests):
    for changed, message in REFUSED_BY_OUTPUT:
        with subtests.test(message):
            given_ = {"q": Q, "k": K, "v": VALUES, "mask": MASK, "scale": SCALE} | changed
            with pytest.raises(ValueError, match=message):
                attention(**given_)


@pytest.mark.slow("two of six members stay inside", but=2)
@pytest.mark.parametrize("argument", [0, 1, 2])
@pytest.mark.parametrize("mask", [None, MASK], ids=["full", "masked"])
def test_gradient_is_the_slope(argument, mask):
    """Along random directions in float64, against central differences."""
    with jax.enable_x64(True):
        rng = np.random.default_rng(argument)
        inputs = [jnp.asarray(rng.uniform(-1, 1, shape)) for shape in [(T, D), (S, D), (S, V)]]
        direction = jnp.asarray(rng.uniform(-1, 1, inputs[argument].shape))

        def along(step):
            moved = [x + step * direction if i == argument else x for i, x in enumerate(inputs)]
            return attention(*moved, mask, scale=SCALE)

        step = float(np.finfo(np.float64).eps) ** (1 / 3)
        slope = (along(jnp.asarray(step)) - along(jnp.asarray(-step))) / (2 * step)
        _, tangent = jax.jvp(along, (jnp.asarray(0.0),), (jnp.asarray(1.0),))
        cotangent = jnp.asarray(rng.uniform(-1, 1, (T, V)))
        _, pull = jax.vjp(along, jnp.asarray(0.0))
        assert np.abs(tangent - slope).max() <= attention_slope_atol(D, S, SCALE * D, 1.0, step)
        backward, forward = float(pull(cotangent)[0]), float(jnp.sum(cotangent * slope))
        assert abs(backward - forward) <= T * V * attention_slope_atol(D, S, SCALE * D, 1.0, step)


@pytest.mark.parametrize("mask", [jnp.zeros((3, 3)), jnp.ones((3, 3), dtype=jnp.int32), jnp.full((3, 3), jnp.nan)])
def test_a_mask_that_is_not_boolean_is_refused(unchecked_shapes, mask):
    with pytest.raises(ValueError, match="mask must be boolean"):
        attention_weights(jnp.eye(3), jnp.eye(3), mask, scale=2.0)


@pytest.mark.parametrize("scale", [None, "a", 1j, np.ones(2), True])
def test_a_scale_that_is_no_single_real_number_is_refused(unchecked_shapes, scale):
    with pytest.raises(ValueError, match="scale must be one real number"):
        attention_weights(jnp.eye(3), jnp.eye(3), scale=scale)


MANY = 2**16 + 2**12
"""Keys whose powers add up to more than float16 holds."""


@pytest.mark.parametrize("half", [jnp.float16, jnp.bfloat16])
def test_half_precision_weighs_more_keys_than_it_can_count(half):
    q, k = jnp.ones((1, 2), half), jnp.zeros((MANY, 2), half)
    v = jnp.asarray(np.arange(MANY) % 2, half)[:, None]
    logits = jnp.zeros((1, MANY), half)
    eps = float(jnp.finfo(half).eps)
    for weights in (attention_weights(q, k, scale=1.0), synthesizer_weights(logits)):
        assert weights.dtype == half
        # A weight of 1.4e-5 is a subnormal number of float16: its digits end at 6e-8.
        rounding = max(eps / MANY, float(jnp.finfo(half).smallest_subnormal))
        assert np.abs(np.asarray(weights, np.float64) - 1 / MANY).max() <= rounding
    nearly_flat = alibi_attention(q, k, v, scale=1.0, slope=1e-9)
    for o in (attention(q, k, v, scale=1.0), synthesizer_attention(logits, v), nearly_flat):
        assert o.dtype == half
        assert abs(float(o[0, 0]) - 0.5) <= eps


def test_half_precision_hides_what_the_mask_hides_and_has_gradients():
    """Compiles the operator and its gradient in half precision and in single."""
    q, k, v = (jnp.asarray(x, jnp.float16) for x in (Q, K, VALUES))
    hidden = jnp.asarray(np.arange(S) > 0)[None] & jnp.ones((T, 1), bool)
    assert np.array_equal(attention_weights(q, k, hidden, scale=SCALE)[:, 0], np.zeros(T))
    narrow = jax.grad(lambda q: jnp.sum(attention(q, k, v, hidden, scale=SCALE).astype(jnp.float32)))(q)
    wide = jax.grad(lambda q: jnp.sum(attention(q, *(x.astype(jnp.float32) for x in (k, v)), hidden, scale=SCALE)))(
        q.astype(jnp.float32)
    )
    assert narrow.dtype == jnp.float16
    assert np.abs(np.asarray(narrow, np.float32) - wide).max() <= attention_atol(D, S, 4.0, 4.0, np.float16)


def test_float32_attention_is_the_program_that_it_was():
    """The guards are free: the same operations as a softmax written down, in float32, for a scale that is known."""

    def plain(q, k, v):
        scores = jnp.asarray(SCALE, q.dtype) * jnp.einsum("sd,td->st", jnp.where(jnp.isfinite(k), k, jnp.nan), q).T
        return jnp.einsum("ts,sv->tv", jax.nn.softmax(scores, axis=-1), v)

    ours, theirs = (
        [str(line.primitive) for line in jax.make_jaxpr(f)(Q, K, VALUES).eqns]
        for f in (lambda *x: attention(*x, scale=SCALE), plain)
    )
    assert ours == theirs


FAINT = jnp.asarray([[1e-20], [2e-20]], jnp.float32)


def test_a_scale_that_would_raise_products_from_the_dead_is_refused():
    """q . k = 1e-40 is 0 in float32 before a scale of 1e38 makes it 0.01."""
    for operator in (attention_weights, attention_scores):
        with pytest.raises(ValueError, match=r"scale must be at most 1.01e\+31 in float32, not 1e\+38: products"):
            operator(FAINT, FAINT, scale=1e38)
    with pytest.raises(ValueError, match="scale must be at most"):
        blocked_attention(FAINT, FAINT, FAINT, scale=1e38, block=2)
    for traced in (attention_weights, lambda q, k, scale: blocked_attention(q, k, k, scale=scale, block=2)):
        assert np.isnan(jax.jit(lambda s, traced=traced: traced(FAINT, FAINT, scale=s))(jnp.float32(1e38))).all()
    assert np.isfinite(attention_weights(FAINT, FAINT, scale=1e30)).all()


def test_entries_that_xla_takes_for_zero_are_refused_where_they_decide():
    faint, strong = jnp.asarray([[1e-40]], jnp.float32), jnp.asarray([[1e38], [3e38]], jnp.float32)
    with pytest.raises(
        ValueError, match=r"q holds .*e-41 at index \(0, 0\), which XLA takes for 0, beside entries of k"
    ):
        attention_weights(faint, strong, scale=100.0)
    with pytest.raises(ValueError, match=r"k holds .*e-41 at index"):
        attention_weights(strong, faint, scale=100.0)
    assert np.array_equal(attention_weights(faint, jnp.ones((2, 1), jnp.float32), scale=1.0), [[0.5, 0.5]])
    negative = jnp.asarray([[-1e-30]], jnp.float32)
    assert np.array_equal(attention_weights(negative, strong, scale=1e-6), [[1.0, 0.0]])
