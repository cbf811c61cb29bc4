"""Attention without a sum to divide by: sigmoids, sticks, sinks, differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from attnlab_theory.attention import (
    attention,
    attention_weights,
    causal_mask,
    differential_attention,
    differential_weights,
    normed,
    sigmoid_attention,
    sigmoid_weights,
    stick_breaking_attention,
    stick_breaking_weights,
)

FLOAT = jnp.zeros(()).dtype
X = jnp.asarray(np.linspace(-1, 1, 12).reshape(4, 3), FLOAT)
EPS = float(jnp.finfo(FLOAT).eps)
PRODUCTS = np.asarray(X, float) @ np.asarray(X, float).T


def test_sigmoid_weights_are_sigmoids_and_zero_where_nothing_is_seen():
    mask = causal_mask(4) & ~jnp.eye(4, dtype=bool)
    weights = sigmoid_weights(X, X, mask, scale=2.0, shift=-0.5)
    assert np.asarray(weights) == pytest.approx(np.tril(scipy.special.expit(2 * PRODUCTS - 0.5), -1), abs=32 * EPS)
    assert np.array_equal(weights[0], np.zeros(4))
    assert np.asarray(sigmoid_attention(X, X, X, mask, scale=2.0, shift=-0.5)) == pytest.approx(
        np.asarray(weights @ X), abs=32 * EPS
    )


def test_a_stick_breaks_from_the_nearest_token_on():
    taken = scipy.special.expit(2 * PRODUCTS[3])
    weights = stick_breaking_weights(X, X, scale=2.0)
    expected = [taken[0] * (1 - taken[1]) * (1 - taken[2]), taken[1] * (1 - taken[2]), taken[2], 0]
    assert np.asarray(weights[3]) == pytest.approx(expected, abs=32 * EPS)
    assert np.array_equal(weights, jnp.tril(weights, -1))
    assert np.asarray(stick_breaking_attention(X, X, X, scale=2.0)) == pytest.approx(
        np.asarray(weights @ X), abs=32 * EPS
    )


def test_a_stick_of_many_certain_tokens_has_no_nan_in_its_gradient():
    far = jnp.full((40, 1), 30.0, FLOAT)
    slope = jax.grad(lambda k: jnp.sum(stick_breaking_weights(far, k, scale=1.0)[-1, :3]))(far)
    assert np.isfinite(slope).all()


def test_a_sink_of_the_score_of_all_keys_takes_the_share_of_one():
    zeros = jnp.zeros((4, 3), FLOAT)
    assert np.asarray(attention_weights(zeros, X, scale=1.0, sink=0.0)) == pytest.approx(np.full((4, 4), 0.2))
    plain = attention(X, X, X, causal_mask(4), scale=2.0)
    assert np.asarray(attention(X, X, X, causal_mask(4), scale=2.0, sink=-80.0)) == pytest.approx(
        np.asarray(plain), abs=32 * EPS
    )


def test_beside_a_sink_a_row_that_sees_nothing_is_silent_and_hidden_values_are_harmless():
    mask = jnp.zeros((4, 4), bool).at[:, 1].set(True).at[2].set(False)
    values = X.at[0].set(jnp.nan)
    found = attention(X, X, values, mask, scale=1.0, sink=0.5)
    assert np.array_equal(found[2], np.zeros(3))
    assert np.isfinite(found).all()
    assert np.isfinite(sigmoid_attention(X, X, values, mask, scale=1.0, shift=0.0)).all()
    seen = jax.jit(lambda v: sigmoid_attention(X, X, v, causal_mask(4), scale=1.0, shift=0.0))(values)
    assert np.isnan(seen).all()


def test_a_difference_sums_to_one_minus_lambda():
    weights = differential_weights(X, -X, X, causal_mask(4), lam=0.3, scale=2.0)
    assert np.asarray(weights.sum(axis=1)) == pytest.approx(np.full(4, 0.7), abs=32 * EPS)
    parts = (attention_weights(q, X, causal_mask(4), scale=2.0) for q in (X, -X))
    first, second = map(np.asarray, parts)
    assert np.asarray(weights) == pytest.approx(first - 0.3 * second, abs=8 * EPS)
    found = differential_attention(X, -X, X, X, causal_mask(4), lam=0.3, scale=2.0)
    assert np.asarray(found) == pytest.approx(np.asarray(weights @ X), abs=32 * EPS)


def test_normed_rows_have_the_length_of_the_root_of_the_width_and_finite_slopes_at_zero():
    assert np.asarray(jnp.linalg.norm(normed(X), axis=1)) == pytest.approx(np.full(4, 3**0.5), rel=8 * EPS)
    assert np.array_equal(normed(jnp.zeros((2, 3))), np.zeros((2, 3)))


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("called", "message"),
    [
        (lambda: attention(X, X, X, scale=1.0, sink=float("nan")), "sink must be finite"),
        (lambda: attention(X, X, X, scale=1.0, sink=0.0, blind="often"), "blind must be one of"),  # pyright: ignore[reportArgumentType]
        (lambda: attention_weights(X, X, scale=1.0, sink=-np.inf), "sink must be finite"),
        (lambda: sigmoid_weights(X, X, scale=1.0, shift=-np.inf), "shift must be finite"),
        (lambda: sigmoid_weights(X, X, scale=0.0, shift=0.0), "scale must be positive"),
        (lambda: sigmoid_attention(X, X, X[:3], scale=1.0, shift=0.0), "source positions must agree"),
        (lambda: stick_breaking_weights(X[:2], X, scale=1.0), "tokens must agree"),
        (lambda: stick_breaking_attention(X, X, X[:3], scale=1.0), "source positions must agree"),
        (lambda: differential_weights(X, X[:2], X, lam=0.5, scale=1.0), "queries must agree"),
        (lambda: differential_weights(X, X, X, lam=-0.5, scale=1.0), "lam must not be negative"),
    ],
)
def test_what_is_no_attention_is_refused_in_one_line(called, message):
    with pytest.raises(ValueError, match=message):
        called()
