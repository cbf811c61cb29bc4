import torch

module = torch.nn.MultiheadAttention(4, 1, batch_first=True).eval()
x = torch.ones(1, 3, 4)
hides = torch.tensor([[False] * 3, [True] * 3, [False] * 3])  # query 1 sees nothing
alone, _ = module(x, x, x, attn_mask=hides, need_weights=False)
beside, _ = module(x, x, x, attn_mask=hides, need_weights=True)
assert torch.allclose(alone, beside), (
    f"row 1 is {beside[0, 1].tolist()} with weights, {alone[0, 1].tolist()} without"
)
