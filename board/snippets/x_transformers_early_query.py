import torch
from x_transformers.attend import Attend

attend = Attend(causal=True).eval()
q, k = torch.zeros(1, 1, 3, 4), torch.zeros(1, 1, 2, 4)  # the last of 3 queries stands at the last of 2 keys
v = torch.tensor([[1.0], [2.0]])[None, None]
before = attend(q, k, v)[0][0, 0, 0, 0].item()
v[0, 0, 1] = 32.0  # the last value changes
after = attend(q, k, v)[0][0, 0, 0, 0].item()
assert before == after, f"query 0, before every key, reads the last value: {before:.1f} becomes {after:.1f}"
