import jax.numpy as jnp
from flax import nnx

layer = nnx.MultiHeadAttention(2, 8, rngs=nnx.Rngs(0), decode=False)
layer.init_cache((1, 3, 8))  # for three tokens
x = jnp.sin(jnp.arange(32.0)).reshape(1, 4, 8)
whole = layer(x, is_causal=True)
steps = jnp.concatenate([layer(x[:, t : t + 1], decode=True) for t in range(4)], 1)
far = float(abs(whole - steps)[0, 3].max())
assert far < 1e-4, f"a cache of three takes a fourth token, without an error, and is {far:.2f} off"
