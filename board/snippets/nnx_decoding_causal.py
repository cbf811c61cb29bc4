import jax.numpy as jnp
from flax import nnx

layer = nnx.MultiHeadAttention(2, 8, rngs=nnx.Rngs(0), decode=False)
layer.init_cache((1, 4, 8))
x = jnp.sin(jnp.arange(32.0)).reshape(1, 4, 8)
whole = layer(x, is_causal=True)
steps = jnp.concatenate([layer(x[:, t : t + 1], decode=True, is_causal=True) for t in range(4)], 1)
far = float(abs(whole - steps).max())
assert far < 1e-4, f"token by token with is_causal is {far:.2f} apart from the whole with is_causal"
