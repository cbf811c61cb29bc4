"""A jax target gets few lengths, and they lie beyond the edges of blocks of 64 and of 128."""

import jax
import jax.numpy as jnp
import pytest

from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.suite import suite_class


def causal(edge):
    """[t d]; queries from the edge on forget the first keys."""

    def target(q, k, v):
        at = jnp.arange(len(q))
        seen = jnp.tri(len(q), dtype=bool) & ~((at[:, None] >= edge) & (at[None] < edge // 2))
        scores = jnp.where(seen, q @ k.T * jnp.asarray(q.shape[1] ** -0.5, q.dtype), -jnp.inf)
        return jax.nn.softmax(scores, axis=1) @ v

    return target


def linear(edge):
    """The same in linear attention."""

    def target(q, k, v, causal=False):
        at = jnp.arange(len(q))
        weights = (jax.nn.elu(q) + 1) @ (jax.nn.elu(k) + 1).T
        if causal:
            lost = (at[:, None] >= edge) & (at[None] < edge // 2)
            weights = jnp.where(jnp.tri(len(q), dtype=bool) & ~lost, weights, 0)
        return weights @ v / weights.sum(1, keepdims=True)

    return target


@pytest.mark.slow("which keys are seen beyond the edges of such blocks stays inside")
@pytest.mark.parametrize(("edge", "verdict"), [(64, "fails"), (128, "fails"), (1000, "holds")])
@pytest.mark.parametrize(("kind", "made"), [("causal", causal), ("linear", linear)])
def test_a_block_that_forgets_is_found(kind, made, edge, verdict):
    """Calls functions of jax that are not compiled as a whole, at every length of the suite."""
    suite = suite_class(kind)(Direct(made(edge)), kind, {"framework": "jax", "layout": "td"})
    assert suite.row("block edges").verdict == verdict


@pytest.mark.slow("one of three members stays inside", but=1)
@pytest.mark.parametrize(("edge", "verdict"), [(64, "fails"), (128, "fails"), (1000, "holds")])
def test_visibility_is_read_beyond_the_edges_too(edge, verdict):
    """Compiles the target at each length that the suite tries."""
    suite = suite_class("causal")(Direct(causal(edge)), "causal", {"framework": "jax", "layout": "td"})
    assert suite.row("visibility").verdict == verdict
