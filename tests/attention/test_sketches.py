"""Linformer is attention over sketched keys and values."""

import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import attention, linformer_attention
from tests.tolerances import attention_atol

FLOAT = jnp.zeros(()).dtype
RNG = np.random.default_rng(0)
X, V = (jnp.asarray(RNG.uniform(-1, 1, (5, width)), FLOAT) for width in (3, 2))
E = jnp.asarray(RNG.uniform(-1, 1, (4, 5)), FLOAT)
F = jnp.asarray(RNG.uniform(-1, 1, (4, 5)), FLOAT)


def test_the_identity_as_projection_is_plain_attention():
    eye = jnp.eye(5, dtype=FLOAT)
    found = linformer_attention(X, X, V, eye, eye, scale=0.5)
    assert np.abs(found - attention(X, X, V, scale=0.5)).max() <= attention_atol(3, 5, 1.5, 1.0, FLOAT)


def test_keys_and_values_have_projections_of_their_own():
    found = linformer_attention(X, X, V, E, F, scale=0.5)
    assert np.array_equal(found, attention(X, E @ X, F @ V, scale=0.5))
    assert not np.array_equal(found, linformer_attention(X, X, V, F, E, scale=0.5))


def test_a_short_sequence_is_one_padded_with_zeros():
    padded = [jnp.zeros_like(x).at[:3].set(x[:3]) for x in (X, V)]
    long = linformer_attention(X[:3], *padded, E, F, scale=0.5)
    short = linformer_attention(X[:3], X[:3], V[:3], E, F, scale=0.5)
    # A sketched key is a sum of five terms of at most one; so is a value.
    assert np.abs(long - short).max() <= 2 * attention_atol(3, 4, 7.5, 5.0, FLOAT)


def test_a_scale_below_the_smallest_number_weighs_all_mixtures_alike():
    """As in `attention`: scores that round to zero are what they are."""
    found = linformer_attention(X, X, V, E, F, scale=1e-50)
    assert np.array_equal(found, attention(X, E @ X, F @ V, scale=1e-50))


@pytest.mark.usefixtures("unchecked_shapes")
def test_bad_input_to_linformer_is_refused(subtests):
    for change, message in [
        ({"k": jnp.ones((6, 3), FLOAT), "v": jnp.ones((6, 2), FLOAT)}, "6 positions, but e projects 5: cut"),
        ({"f": F[:, :4]}, "5 positions, but f projects 4"),
        ({"f": F[:3]}, "sketched positions must agree: e has 4, f has 3"),
        ({"e": E.at[1, 2].set(jnp.nan)}, "e must be finite"),
        ({"e": E[0]}, "e must have 2 axes"),
        ({"v": V[:4]}, "source positions must agree"),
        ({"k": X[:0], "v": V[:0]}, r"at least one key, but k has shape \(0, 3\)"),
        ({"k": jnp.ones((5, 3), int)}, "k must hold floating-point numbers"),
        ({"v": jnp.ones((5, 2), int)}, "v must hold floating-point numbers"),
        ({"scale": 0.0}, "scale must be positive"),
        ({"scale": True}, "scale must be one real number, not True"),
        ({"scale": "a"}, "scale must be one real number, not 'a'"),
        ({"scale": None}, "scale must be one real number, not None"),
        ({"scale": -1e-50}, "scale must be positive, not -1e-50"),
    ]:
        with subtests.test(message):
            given = {"q": X, "k": X, "v": V, "e": E, "f": F, "scale": 1.0} | change
            with pytest.raises(ValueError, match=message):
                linformer_attention(**given)
