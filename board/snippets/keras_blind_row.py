import numpy as np
from keras import ops  # KERAS_BACKEND is jax, numpy or torch

q = k = np.ones((1, 3, 1, 2), "float32")
v = np.arange(6, dtype="float32").reshape(1, 3, 1, 2)
padding = np.array([False, True, True])[None, None, None]  # key 0 is padding
moved = v.copy()
moved[:, 2] += 30
one, other = (
    ops.convert_to_numpy(
        ops.dot_product_attention(*map(ops.array, (q, k, x)), mask=ops.array(padding), is_causal=True)
    )
    for x in (v, moved)
)
far = abs(other - one)[0, 0].max()
assert far == 0, f"query 0 moves by {far:.1f} when value 2, in its future, does"
