"""Synthesizers: whose logits know what."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import (
    causal_mask,
    dense_logits,
    factorised_logits,
    random_logits,
    synthesizer_attention,
    synthesizer_weights,
)

FLOAT = jnp.zeros(()).dtype
RNG = np.random.default_rng(0)
X, W_1, W_2, TABLE, LEFT, RIGHT = (
    jnp.asarray(RNG.uniform(-1, 1, shape), FLOAT) for shape in [(4, 3), (3, 5), (5, 6), (6, 6), (6, 2), (6, 2)]
)
B_1, B_2 = (jnp.asarray(RNG.uniform(-1, 1, shape), FLOAT) for shape in [(5,), (6,)])
DENSE = (W_1, B_1, W_2, B_2)


def test_random_logits_are_the_corner_of_the_table():
    for length in (1, 4, 6):
        assert np.array_equal(random_logits(TABLE, length), TABLE[:length, :length])


def test_factorised_logits_are_the_corner_of_a_product():
    assert np.abs(factorised_logits(LEFT, RIGHT, 4) - (LEFT @ RIGHT.T)[:4, :4]).max() <= 4 * jnp.finfo(FLOAT).eps


def test_dense_logits_of_a_token_do_not_depend_on_the_others():
    before = np.asarray(dense_logits(X, *DENSE))
    after = np.asarray(dense_logits(X.at[1].set(7.0), *DENSE))
    unmoved = [0, 2, 3]
    assert before.shape == (4, 4)
    assert np.array_equal(before[unmoved], after[unmoved])
    assert not np.array_equal(before[1], after[1])
    assert np.array_equal(before, dense_logits(X, W_1, B_1, W_2[:, :4], B_2[:4]))


def test_dense_logits_have_a_hidden_layer():
    dead = dense_logits(X, W_1, B_1 - 100, W_2, B_2)
    assert np.array_equal(dead, np.broadcast_to(B_2[:4], (4, 4)))


@pytest.mark.parametrize("mask", [None, causal_mask(4)], ids=["all", "causal"])
def test_weights_are_the_softmax_of_visible_logits(mask):
    logits = random_logits(TABLE, 4)
    powers = jnp.exp(logits if mask is None else jnp.where(mask, logits, -jnp.inf))
    expected = powers / powers.sum(axis=1, keepdims=True)
    weights = synthesizer_weights(logits, mask)
    assert np.abs(weights - expected).max() <= 16 * jnp.finfo(FLOAT).eps
    assert np.array_equal(synthesizer_attention(logits, X, mask), jnp.einsum("ts,sv->tv", weights, X))


def test_gradients_reach_the_table():
    def first(table):
        return synthesizer_attention(random_logits(table, 4), X)[0, 0]

    slope = np.asarray(jax.grad(first)(TABLE))
    assert np.all(slope[0, :4] != 0)
    assert not slope[1:].any()
    assert not slope[:, 4:].any()


@pytest.mark.parametrize("wrong", [np.inf, -np.inf])
def test_a_traced_infinity_gives_nan(wrong):
    """A logit of minus infinity would get no weight; a rectified unit of minus infinity would be zero."""
    assert np.isnan(jax.jit(synthesizer_weights)(TABLE.at[2, 0].set(wrong))[2]).all()
    dense = jax.jit(lambda x, *layers: synthesizer_weights(dense_logits(x, *layers)))
    assert np.isnan(dense(X.at[2, 0].set(wrong), *DENSE)[2]).all()
    assert np.isnan(dense(X, W_1, B_1.at[0].set(wrong), W_2, B_2)).all()


@pytest.mark.usefixtures("unchecked_shapes")
def test_bad_input_to_synthesizers_is_refused(subtests):
    for call, message in [
        (lambda: random_logits(TABLE, 7), "the sequence has 7 positions, but the table has 6"),
        (lambda: random_logits(TABLE[:, :3], 4), "but the table has 3"),
        (lambda: random_logits(TABLE, 2.0), "length must be a whole number, not 2.0"),
        (lambda: random_logits(TABLE, 0), "the sequence has 0 positions"),
        (lambda: factorised_logits(LEFT, RIGHT, 7), "but the factors has 6"),
        (lambda: factorised_logits(LEFT, RIGHT[:, :1], 4), "rank must agree: left has 2, right has 1"),
        (lambda: factorised_logits(LEFT, RIGHT[:5], 4), "positions must agree"),
        (lambda: dense_logits(X, W_1, B_1, W_2[:, :3], B_2[:3]), "4 positions, but the last layer has 3"),
        (lambda: dense_logits(X[:, :2], *DENSE), "token width must agree"),
        (lambda: dense_logits(X, W_1, B_1[:4], W_2, B_2), "hidden width must agree"),
        (lambda: dense_logits(X.at[1, 0].set(-jnp.inf), *DENSE), "x must be finite, but holds -inf"),
        (lambda: dense_logits(X, W_1, B_1.at[0].set(jnp.nan), W_2, B_2), "b_1 must be finite, but holds nan"),
        (lambda: dense_logits(X.astype(int), *DENSE), "x must hold floating-point numbers"),
        (lambda: factorised_logits(LEFT.at[5, 0].set(-jnp.inf), RIGHT, 4), "left must be finite, but holds -inf"),
        (lambda: factorised_logits(LEFT, RIGHT.astype(int), 4), "right must hold floating-point numbers"),
        (lambda: synthesizer_attention(TABLE, X), "source positions must agree: logits has 6, v has 4"),
        (lambda: synthesizer_weights(TABLE.at[0, 0].set(jnp.nan)), "logits must be finite"),
        (lambda: synthesizer_weights(TABLE, jnp.zeros((6, 6), bool)), "mask hides every key"),
    ]:
        with subtests.test(message), pytest.raises(ValueError, match=message):
            call()
