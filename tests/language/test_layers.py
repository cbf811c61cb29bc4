"""The layers that every model is made of, against their definitions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.language.models.layers import LayerNorm, gelu
from attnlab_theory.language.models.mixers import DroppedHeads


def test_gelu_is_x_times_the_normal_distribution_function():
    x = np.linspace(-6, 6, 241).astype(np.float32)
    np.testing.assert_allclose(gelu(jnp.asarray(x)), x * scipy.stats.norm.cdf(x.astype(float)), atol=1e-6)


@given(scale=st.sampled_from([1e-4, 1e-2, 1.0, 100.0]), epsilon=st.sampled_from([1e-5, 1e-3, 0.1]))
def test_tokens_are_centred_and_divided_by_the_root_of_variance_and_epsilon(scale, epsilon):
    x = scale * np.asarray(jax.random.normal(jax.random.key(0), (2, 3, 8)), np.float64)
    centred = x - x.mean(axis=2, keepdims=True)
    wanted = centred / np.sqrt((centred**2).mean(axis=2, keepdims=True) + epsilon)
    np.testing.assert_allclose(LayerNorm(8, epsilon=epsilon)(jnp.asarray(x, jnp.float32)), wanted, atol=1e-5)


@pytest.mark.parametrize("rate", [0.0, 1.0, 1.5, -0.5, float("nan")])
def test_a_rate_that_drops_no_head_or_all_is_refused(rate):
    with pytest.raises(ValueError, match="must lie between 0 and 1"):
        DroppedHeads(rate=rate)
