"""Flax: layers of self-attention that keep their keys and values, of width 8."""

from flax import nnx


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
