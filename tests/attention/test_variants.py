"""Relatives of softmax attention, and mistakes that are submitted as it."""

import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import (
    attention,
    attention_weights,
    causal_mask,
    zero_after_softmax,
    zero_after_softmax_weights,
)

FLOAT = jnp.zeros(()).dtype
X = jnp.asarray(np.linspace(-1, 1, 12).reshape(4, 3), FLOAT)


def test_zero_after_softmax_keeps_the_normaliser_of_the_hidden_keys():
    weights = zero_after_softmax_weights(X, X, causal_mask(4), scale=2.0)
    assert np.array_equal(weights, jnp.tril(attention_weights(X, X, scale=2.0)))
    assert np.array_equal(zero_after_softmax(X, X, X, causal_mask(4), scale=2.0), weights @ X)


def test_zero_after_softmax_agrees_where_nothing_is_hidden():
    nothing = jnp.ones((4, 4), bool)
    assert np.array_equal(zero_after_softmax(X, X, X, nothing, scale=2.0), attention(X, X, X, scale=2.0))


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scale": 0.0}, "scale must be positive"),
        ({"mask": jnp.zeros((4, 4), bool)}, "hides every key"),
        ({"mask": jnp.ones((4, 3), bool)}, "mask must have shape"),
        ({"v": X[:3]}, "source positions must agree"),
        ({"v": X.at[0, 0].set(jnp.nan)}, "v must be finite"),
        ({"v": X.astype(int)}, "v must hold floating-point numbers, not int"),
        ({"v": X.astype(complex)}, "v must hold floating-point numbers, not complex"),
    ],
)
def test_zero_after_softmax_refuses_what_attention_refuses(change, message):
    given = {"q": X, "k": X, "v": X, "mask": causal_mask(4), "scale": 1.0} | change
    with pytest.raises(ValueError, match=message):
        zero_after_softmax(**given)
