import mlx.core as mx

attend = mx.fast.scaled_dot_product_attention
q, k = mx.zeros((1, 1, 3, 4)), mx.zeros((1, 1, 2, 4))  # the last of 3 queries stands at the last of 2 keys
v = mx.array([[1.0], [2.0]])[None, None]
before = attend(q, k, v, scale=1.0, mask="causal")[0, 0, 0, 0].item()
v = mx.array([[1.0], [32.0]])[None, None]  # the last value changes
after = attend(q, k, v, scale=1.0, mask="causal")[0, 0, 0, 0].item()
assert before == after, f"query 0, before every key, reads the last value: {before:.1f} becomes {after:.1f}"
