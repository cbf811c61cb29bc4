"""Flax: layers of self-attention that keep their keys and values, of width 8."""

import jax
import jax.numpy as jnp
from flax import linen, nnx


class NnxSteps:
    """The whole at once by `is_causal`, and token by token with a cache."""

    is_causal = False

    def __call__(self, x):
        """[b t 8]."""
        return self._layer()(x, is_causal=True)

    def init_cache(self, batch, capacity):
        """A layer whose cache is empty."""
        layer = self._layer()
        layer.init_cache((batch, capacity, 8))
        return layer

    def step(self, x, cache):
        """[b 1 8]."""
        return cache(x, decode=True, is_causal=self.is_causal), cache

    def _layer(self):
        return nnx.MultiHeadAttention(2, 8, rngs=nnx.Rngs(0), decode=False)


class NnxCausalSteps(NnxSteps):
    """With is_causal in every step, too."""

    is_causal = True


class LinenSteps:
    """The whole at once by a causal mask, and token by token with a cache."""

    def __call__(self, x):
        """[b t 8]."""
        mask = linen.make_causal_mask(jnp.ones(x.shape[:2]))
        return self._layer().apply({"params": self._parameters(x)}, x, mask=mask)

    def init_cache(self, batch, capacity):
        """The variables of a cache that is empty."""
        x = jnp.zeros((batch, capacity, 8))
        return self._layer(decode=True).init(jax.random.key(0), x)["cache"]

    def step(self, x, cache):
        """[b 1 8]."""
        variables = {"params": self._parameters(x), "cache": cache}
        out, new = self._layer(decode=True).apply(variables, x, mutable=["cache"])
        return out, new["cache"]

    def _layer(self, **more):
        return linen.MultiHeadDotProductAttention(2, **more)

    def _parameters(self, x):
        return self._layer().init(jax.random.key(0), x[:1, :1])["params"]
