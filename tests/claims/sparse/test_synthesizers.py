"""A dense synthesizer is made of independent numbers."""

import jax
import jax.numpy as jnp

from attnlab_theory.claims.sparse.synthesizers import _layers


def test_the_layers_of_a_dense_synthesizer_share_no_row_of_draws():
    # Their logits would not be the sum of independent parts that their spread is computed from.
    w_1, b_1, w_2, b_2 = _layers(jax.random.key(0), 5, 7)
    for weights, bias in ((w_1, b_1), (w_2, b_2)):
        assert (jnp.std(weights / bias[None], axis=1) > 1e-3).all()
