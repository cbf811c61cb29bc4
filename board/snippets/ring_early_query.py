import torch
from ring_attention_pytorch.ring_attention import default_attention

q, k = torch.zeros(1, 3, 1, 4), torch.zeros(1, 2, 1, 4)  # the last of 3 queries stands at the last of 2 keys
v = torch.tensor([1.0, 2.0]).reshape(1, 2, 1, 1)
before = default_attention(q, k, v, causal=True)[0, 0, 0, 0].item()
v[0, 1] = 32.0  # the last value changes
after = default_attention(q, k, v, causal=True)[0, 0, 0, 0].item()
assert before == after, f"query 0, before every key, reads the last value: {before:.1f} becomes {after:.1f}"
