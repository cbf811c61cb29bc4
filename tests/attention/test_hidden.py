"""What a mask hides: rows that see nothing, values and keys that nobody may read, softcap and bias on the way."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.attention import (
    additive_attention,
    alibi_attention,
    attention,
    attention_scores,
    attention_weights,
    blocked_attention,
    feature_attention,
    grouped_query_attention,
    linear_attention,
    multi_head_attention,
    synthesizer_attention,
)
from tests.strategies import arrays, masks, scales
from tests.tolerances import attention_atol, attention_slope_atol

FLOAT = jax.dtypes.canonicalize_dtype(float)
T, S, D, V = 3, 5, 4, 2
PEAK = 2.0
NAN, INF = float("nan"), float("inf")
Q = jnp.linspace(-1, 1, T * D, dtype=FLOAT).reshape(T, D)
K = jnp.cos(jnp.arange(S * D, dtype=FLOAT)).reshape(S, D)
VALUES = jnp.sin(jnp.arange(S * V, dtype=FLOAT)).reshape(S, V)
MASK = jnp.array([[1, 0, 0, 1, 0], [0, 1, 0, 0, 0], [1, 1, 0, 1, 0]], bool)
BLIND = MASK.at[1].set(False)

problems = (arrays(T, D, peak=PEAK), arrays(S, D, peak=PEAK), arrays(S, V, peak=PEAK), masks(T, S), scales)


def atol(scale=1.0, peak=PEAK, keys=S):
    return attention_atol(D, keys, float(scale) * D * PEAK**2 + 8, peak, FLOAT)


@given(*problems, st.integers(0, T - 1))
def test_other_rows_do_not_hear_of_one_that_sees_nothing(q, k, v, mask, scale, row):
    """Hypothesis tries many cases, each with all three outcomes of a row that sees nothing."""
    blind = mask.at[row].set(False)
    seeing = np.arange(T) != row
    expected = np.asarray(attention(q, k, v, mask, scale=scale))[seeing]
    for outcome in ("zeros", "mean", "nan"):
        found = np.asarray(attention(q, k, v, blind, scale=scale, blind=outcome))
        assert np.abs(found[seeing] - expected).max() <= 2 * atol(scale)
        wanted = {"zeros": np.zeros(V), "mean": np.asarray(v, np.float64).mean(axis=0), "nan": np.full(V, NAN)}
        assert np.allclose(found[row], wanted[outcome], rtol=0, atol=atol(scale), equal_nan=True)


@pytest.mark.parametrize("half", [FLOAT, jnp.float16])
def test_weights_of_a_row_that_sees_nothing(half):
    weigh = functools.partial(attention_weights, Q.astype(half), K.astype(half), BLIND, scale=1.0)
    assert np.array_equal(weigh(blind="zeros")[1], np.zeros(S))
    assert np.abs(np.asarray(weigh(blind="mean")[1], np.float64) - 1 / S).max() <= float(jnp.finfo(half).eps)
    assert np.isnan(weigh(blind="nan")[1]).all()
    for outcome in ("zeros", "mean", "nan"):
        assert np.isfinite(weigh(blind=outcome)[0]).all()
        assert weigh(blind=outcome).dtype == half
    assert np.isneginf(attention_scores(Q, K, BLIND, scale=1.0, blind="zeros")[1]).all()


def test_a_row_that_sees_nothing_is_refused_unless_told_otherwise():
    with pytest.raises(ValueError, match="mask hides every key from query 1"):
        attention(Q, K, VALUES, BLIND, scale=1.0)
    with pytest.raises(ValueError, match="mask hides every key from query 1"):
        attention(Q, K, VALUES, MASK, scale=1.0, bias=jnp.where(BLIND, 0.0, -INF))
    assert np.isnan(jax.jit(lambda m: attention(Q, K, VALUES, m, scale=1.0))(BLIND)[1]).all()


@pytest.mark.usefixtures("unchecked_shapes")
def test_unknown_outcomes_are_refused():
    with pytest.raises(ValueError, match="blind must be one of refuse, zeros, mean, nan, not 'zero'"):
        attention(Q, K, VALUES, BLIND, scale=1.0, blind="zero")


@pytest.mark.parametrize("outcome", ["zeros", "mean", "nan"])
def test_rows_that_see_nothing_have_gradients(outcome):
    """None by queries and keys; the loss leaves the blind row out."""

    def loss(q, k, v):
        return jnp.sum(attention(q, k, v, BLIND, scale=1.0, blind=outcome)[jnp.array([0, 2])] ** 2)

    for compiled in (jax.grad(loss, (0, 1, 2)), jax.jit(jax.grad(loss, (0, 1, 2)))):
        gradients = compiled(Q, K, VALUES)
        assert all(np.isfinite(g).all() for g in gradients)
        assert np.array_equal(gradients[0][1], np.zeros(D))


POISONED_K, POISONED_V = K.at[2, 1].set(INF).at[4].set(NAN), VALUES.at[2].set(-INF).at[4, 0].set(NAN)


def additive(q, k, v, mask, *, scale):
    return additive_attention(q, K, v, jnp.eye(D, dtype=FLOAT), jnp.eye(D, dtype=FLOAT), Q[0], mask)


def synthesizer(q, k, v, mask, *, scale):
    return synthesizer_attention(q @ K.T, v, mask)


def heads(q, k, v, mask, *, scale):
    return multi_head_attention(jnp.stack([q, q]), jnp.stack([k, k]), jnp.stack([v, v]), mask, scale=scale)[1]


def groups(q, k, v, mask, *, scale):
    return grouped_query_attention(jnp.stack([q, -q]), k[None], v[None], mask, scale=scale)[0]


def by_bias(q, k, v, mask, *, scale):
    return attention(q, k, v, scale=scale, bias=jnp.where(mask, 0, -INF).astype(q.dtype))


ALL = [attention, functools.partial(alibi_attention, slope=0.5), additive, synthesizer, heads, groups, by_bias]


@pytest.mark.slow("two of 14 members stay inside", but=2)
@pytest.mark.parametrize("mix", ALL)
@pytest.mark.parametrize("compile_", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_what_is_hidden_from_all_may_be_anything(mix, compile_):
    """Keys 2 and 4 are seen by no query."""
    run = compile_(functools.partial(mix, scale=0.5))
    assert np.array_equal(run(Q, POISONED_K, POISONED_V, MASK), run(Q, K, VALUES, MASK))


@pytest.mark.parametrize("mix", ALL)
def test_gradients_do_not_hear_of_what_is_hidden(mix):
    def loss(q, k, v):
        return jnp.sum(mix(q, k, v, MASK, scale=0.5) ** 2)

    slopes = jax.jit(jax.grad(loss, (0, 1, 2)))
    for found, expected in zip(slopes(Q, POISONED_K, POISONED_V), slopes(Q, K, VALUES), strict=True):
        assert np.isfinite(found).all()
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("mix", ALL)
def test_a_value_that_is_seen_is_refused_and_under_jit_gives_nan_where_it_is_seen(mix):
    wrong = VALUES.at[3, 0].set(NAN)
    with pytest.raises(ValueError, match=r"v must be finite, but holds nan at index \((0, )?3, 0\)"):
        mix(Q, K, wrong, MASK, scale=0.5)
    found = jax.jit(functools.partial(mix, scale=0.5))(Q, K, wrong, MASK)
    assert np.array_equal(np.isnan(found), np.asarray(MASK)[:, 3:4] * np.ones(V, bool))


def test_a_mean_of_hidden_values_reads_them():
    with pytest.raises(ValueError, match="v must be finite"):
        attention(Q, K, VALUES.at[4].set(NAN), BLIND, scale=1.0, blind="mean")
    found = jax.jit(lambda v: attention(Q, K, v, BLIND, scale=1.0, blind="mean"))(VALUES.at[4].set(NAN))
    assert np.array_equal(np.isnan(found[:, 0]), [False, True, False])
    zeros = attention(Q, K, VALUES.at[4].set(NAN), BLIND, scale=1.0, blind="zeros")
    assert np.isfinite(zeros).all()


def test_a_mask_by_head_hides_by_head():
    """Compiles attention of several heads, and of one head alone."""
    q, k, v = (jnp.stack([x, x]) for x in (Q, K, VALUES))
    by_head = jnp.stack([MASK, ~MASK | MASK[:, ::-1]])
    bias = jnp.stack([jnp.zeros((T, S), FLOAT), jnp.linspace(0, 1, T * S, dtype=FLOAT).reshape(T, S)])
    found = multi_head_attention(q, k, v, by_head, scale=0.5, bias=bias)
    for head in range(2):
        alone = attention(Q, K, VALUES, by_head[head], scale=0.5, bias=bias[head])
        assert np.abs(found[head] - alone).max() <= atol()
    with pytest.raises(ValueError, match="mask hides every key from query 1"):
        multi_head_attention(q, k, v, jnp.stack([MASK, BLIND]), scale=0.5)
    with pytest.raises(ValueError, match=r"v must be finite, but holds nan at index \(1, 4, 0\)"):
        multi_head_attention(q, k, v.at[:, 4, 0].set(NAN), by_head, scale=0.5)


@given(*problems, st.sampled_from([0.5, 2.0, 50.0]), arrays(T, S))
def test_softcap_then_bias_then_mask_are_those_of_the_definition(q, k, v, mask, scale, cap, bias):
    q_, k_, v_, bias_ = (np.asarray(x, np.float64) for x in (q, k, v, bias))
    scores = np.where(mask, cap * np.tanh(scale * q_ @ k_.T / cap) + bias_, -INF)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True) @ v_
    found = attention(q, k, v, mask, scale=scale, softcap=cap, bias=bias)
    # A tanh and a quotient more than the tolerance knows, of scores of at most 50.
    assert np.abs(found - expected).max() <= atol(scale) + 4 * PEAK * cap * 4 * float(np.finfo(FLOAT).eps)
    assert np.all(np.abs(attention_scores(q, k, scale=scale, softcap=cap)) <= cap)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"softcap": 0.0}, "softcap must be positive, not 0.0"),
        ({"softcap": INF}, "softcap must be finite, but holds inf"),
        ({"bias": jnp.zeros((T, T))}, r"bias must have shape \(3, 5\) \(queries, keys\), not \(3, 3\)"),
        ({"bias": jnp.zeros((T, S), int)}, "bias must hold floating-point numbers, not int"),
        (
            {"bias": jnp.zeros((T, S)).at[1, 2].set(NAN)},
            r"bias must be finite, or -inf where it hides, but holds nan",
        ),
        ({"bias": jnp.zeros((T, S)).at[1, 2].set(INF)}, r"but holds inf at index \(1, 2\)"),
    ],
)
def test_bad_caps_and_biases_are_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        attention(Q, K, VALUES, MASK, scale=0.5, **changed)


def test_traced_bad_caps_and_biases_give_nan():
    capped = jax.jit(lambda c: attention(Q, K, VALUES, MASK, scale=0.5, softcap=c))
    assert np.isnan(capped(jnp.asarray(-1.0))).all()
    biased = jax.jit(lambda b: attention(Q, K, VALUES, MASK, scale=0.5, bias=b))
    found = biased(jnp.zeros((T, S), FLOAT).at[0, 3].set(NAN))
    assert np.array_equal(np.isnan(found[:, 0]), [True, False, False])


@pytest.mark.parametrize("by", ["softcap", "bias"])
def test_the_gradient_by_cap_and_bias_is_the_slope(by):
    """Along a direction in float64, against central differences."""
    with jax.enable_x64(True):
        rng = np.random.default_rng(0)
        q, k, v = (jnp.asarray(rng.uniform(-1, 1, shape)) for shape in [(T, D), (S, D), (S, V)])
        direction = jnp.asarray(rng.uniform(-1, 1, (T, S)) if by == "bias" else 1.0)
        start = {"softcap": jnp.asarray(0.5), "bias": jnp.asarray(rng.uniform(-1, 1, (T, S)))}

        def along(step):
            return attention(q, k, v, MASK, scale=1.0, **(start | {by: start[by] + step * direction}))

        step = float(np.finfo(np.float64).eps) ** (1 / 3)
        slope = (along(jnp.asarray(step)) - along(jnp.asarray(-step))) / (2 * step)
        tangent = jax.jvp(along, (jnp.asarray(0.0),), (jnp.asarray(1.0),))[1]
        assert np.abs(tangent).max() > 0.01
        assert np.abs(tangent - slope).max() <= attention_slope_atol(D, S, D, 1.0, step)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"order": "striped"}, "order must be one of consecutive, strided, not 'striped'"),
        ({"q": jnp.ones((3, T, D))}, "3 heads of queries cannot share 2 heads of keys equally"),
        ({"v": jnp.ones((1, S, V))}, "groups must agree: k has 2, v has 1"),
        ({"mask": jnp.ones((2, T, S), bool)}, "heads must agree: q has 4, mask has 2"),
        ({"v": jnp.full((2, S, V), NAN)}, r"v must be finite, but holds nan at index \(0, 0, 0\)"),
    ],
)
def test_bad_groups_are_refused(changed, message):
    given_ = {"q": jnp.ones((4, T, D)), "k": jnp.ones((2, S, D)), "v": jnp.ones((2, S, V)), "scale": 1.0} | changed
    with pytest.raises(ValueError, match=message):
        grouped_query_attention(**given_)


CAUSAL = {
    "blocked": lambda q, k, v: blocked_attention(q, k, v, scale=1.0, block=4, causal=True),
    "linear": lambda q, k, v: linear_attention(jnp.abs(q), jnp.abs(k), v, causal=True),
    "features": lambda q, k, v: feature_attention(q, k, v, jnp.eye(D, dtype=FLOAT), scale=1.0, causal=True),
}
LONG = 70  # two chunks of linear attention, and a ragged block


@pytest.mark.slow("one of six members stays inside", but=1)
@pytest.mark.parametrize("place", [1, 66])
@pytest.mark.parametrize("name", CAUSAL)
def test_what_a_causal_operator_hides_is_harmless_under_jit(name, place):
    """Compiles each operator and its gradient at each place."""
    q, k, v = (jax.random.normal(jax.random.key(i), (LONG, D), FLOAT) for i in range(3))

    @jax.jit
    def run(q, k, v):
        def before(*arrays):
            return jnp.sum(CAUSAL[name](*arrays)[:place] ** 2)

        return CAUSAL[name](q, k, v), jax.grad(before, (0, 1, 2))(q, k, v)

    clean, slopes = run(q, k, v)
    for garbage in (NAN, INF, -INF):
        for spoilt in ((k.at[place, 0].set(garbage), v), (k, v.at[place, 1].set(garbage))):
            output, found = run(q, *spoilt)
            assert np.array_equal(output[:place], clean[:place])
            assert np.isnan(output[place:]).all()
            for ours, theirs in zip(found, slopes, strict=True):
                assert np.array_equal(ours[:place], theirs[:place])


@pytest.mark.parametrize("name", CAUSAL)
def test_a_row_that_sees_nan_has_no_gradient_under_jit(name):
    q, k, v = (jax.random.normal(jax.random.key(i), (6, D), FLOAT) for i in range(3))
    slope = jax.jit(jax.grad(lambda q, k, v: jnp.sum(CAUSAL[name](q, k, v))))(q, k, v.at[2, 0].set(NAN))
    assert np.isfinite(slope[:2]).all()
    assert np.isnan(slope[2:]).any(axis=1).all()
