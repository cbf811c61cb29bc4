import torch

module = torch.nn.MultiheadAttention(4, 2, batch_first=True).eval()
x = torch.ones(1, 3, 4)
hides = torch.tensor([[False] * 3, [True] * 3, [False] * 3])  # query 1 sees nothing
slow, _ = module(x, x, x, attn_mask=hides, need_weights=False)
with torch.no_grad():
    fast, _ = module(x, x, x, attn_mask=hides, need_weights=False)
assert torch.allclose(slow, fast), (
    f"row 1 is {fast[0, 1].tolist()} without gradients, {slow[0, 1].tolist()} with them"
)
