import torch
from performer_pytorch import FastAttention

torch.manual_seed(0)
attention = FastAttention(8, nb_features=64, causal=True).eval()
q, k, v = torch.randn(3, 1, 1, 6, 8)
before = attention(q, k, v)
k[:, :, -1] *= 4
far = (attention(q, k, v) - before)[:, :, :-1].abs().max().item()
assert far < 1e-4, f"rows before the last move by {far:.2f} when the last key is four times as long"
