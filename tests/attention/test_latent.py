"""Latent attention with and without its keys, and grouped heads as a case of it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import causal_mask, grouped_query_attention, latent_attention


def drawn(*shape, seed):
    return jax.random.normal(jax.random.key(seed), shape)


def test_absorbed_or_not_the_numbers_are_the_same():
    """Sums of at most a dozen products of numbers of a few units."""
    q, c, a, b = (drawn(*shape, seed=i) for i, shape in enumerate([(2, 5, 4), (5, 3), (2, 4, 3), (2, 2, 3)]))
    plain, absorbed = (
        latent_attention(q, c, a, b, causal_mask(5), scale=0.5, absorbed=absorbed) for absorbed in (False, True)
    )
    np.testing.assert_allclose(plain, absorbed, atol=400 * np.finfo(q.dtype).eps)


def test_grouped_heads_are_latent_attention_with_a_row_of_their_keys_and_values():
    """Four heads over two groups: a row has 2 g d numbers, and each head's matrices pick its group's part."""
    q, k, v = drawn(4, 6, 2, seed=0), drawn(2, 6, 2, seed=1), drawn(2, 6, 2, seed=2)
    row = jnp.concatenate([*k, *v], axis=1)
    parts = jnp.eye(8).reshape(4, 2, 8)
    groups = jnp.array([0, 0, 1, 1])
    found = latent_attention(q, row, parts[groups], parts[2 + groups], scale=1.0)
    np.testing.assert_allclose(found, grouped_query_attention(q, k, v, scale=1.0), atol=1e-6)


@pytest.mark.parametrize(
    ("shapes", "line"),
    [
        ([(2, 5, 4), (5, 3), (2, 4, 2), (2, 2, 3)], "latent coordinates"),
        ([(2, 5, 4), (5, 3), (3, 4, 3), (2, 2, 3)], "heads"),
        ([(2, 5, 4), (5, 3), (2, 3, 3), (2, 2, 3)], "coordinates of a key"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes, line, unchecked_shapes):
    with pytest.raises(ValueError, match=line):
        latent_attention(*map(jnp.ones, shapes), scale=1.0)
