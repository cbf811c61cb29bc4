import jax.numpy as jnp
from jax.nn import dot_product_attention

q = k = jnp.ones((1, 3, 1, 2))
v = jnp.arange(6.0).reshape(1, 3, 1, 2)
padding = jnp.array([False, True, True])[None, None, None]  # key 0 is padding
one = dot_product_attention(q, k, v, mask=padding, local_window_size=(1, 0))
other = dot_product_attention(q, k, v.at[:, 2].add(30), mask=padding, local_window_size=(1, 0))
moved = float(abs(other - one)[0, 0].max())
assert moved == 0, f"query 0 moves by {moved:.1f} when value 2, outside of its window, does"
