"""Chains of products whose length is known by hand."""

import functools

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from attnlab_theory.attention import attention
from attnlab_theory.attention.caching import cached_attention
from attnlab_theory.counting import longest_chain


def shape(*sizes):
    return jax.ShapeDtypeStruct(sizes, jnp.float32)


W, X = shape(5, 5), shape(5)


def handed_on(w, x):
    return lax.scan(lambda h, _: (w @ h, None), x, None, length=6)[0]


@pytest.mark.parametrize(
    ("work", "length"),
    [
        (lambda w, x: x + 1, 0),
        (lambda w, x: w @ x, 1),
        (lambda w, x: (w @ x) + (w.T @ x), 1),
        (lambda w, x: w @ jnp.tanh(w @ x), 2),
        (handed_on, 6),
        (lambda w, x: lax.map(lambda row: w @ row, w), 1),
        (lambda w, x: w @ lax.map(lambda row: w @ row, w)[0], 2),
        (lambda w, x: lax.cond(x[0] > 0, lambda: w @ x, lambda: w @ (w @ x)), 2),
        (lambda w, x: lax.cond((w @ x)[0] > 0, lambda: x, lambda: -x), 1),
        (lambda w, x: jax.jit(handed_on)(w, jax.checkpoint(jnp.dot)(w, x)), 7),
    ],
    ids=["none", "one", "side-by-side", "two", "carried", "mapped", "after-map", "branches", "choice", "wrapped"],
)
def test_only_what_waits_counts(work, length):
    assert longest_chain(work, W, X) == length


def test_attention_is_two_products_deep_at_any_length_also_token_by_token():
    for work in (attention, cached_attention):
        for t in (4, 32):
            assert longest_chain(functools.partial(work, scale=1.0), *[shape(t, 8)] * 3) == 2


def test_a_loop_of_unknown_length_is_refused():
    with pytest.raises(ValueError, match=r"while loop.*lax.scan"):
        longest_chain(lambda w, x, n: lax.fori_loop(0, n, lambda _, h: w @ h, x), W, X, 3)
