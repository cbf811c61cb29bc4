import torch
from x_transformers.attend import Attend

attend = Attend(causal=True).eval()
q = k = torch.zeros(1, 1, 3, 4)
v = torch.tensor([[1.0], [2.0], [3.0]])[None, None]
mask = torch.tensor([[[[False, True, True]]]])  # the first key is padding
before = attend(q, k, v, mask=mask)[0][0, 0, 0, 0].item()
v[0, 0, 2] = 33.0  # the last value changes
after = attend(q, k, v, mask=mask)[0][0, 0, 0, 0].item()
assert before == after, f"query 0 reads the last value: {before:.1f} becomes {after:.1f}"
