import torch
from ring_attention_pytorch.ring_attention import default_attention
from ring_attention_pytorch.ring_flash_attention import ring_flash_attn

torch.manual_seed(0)
q, k, v = torch.randn(1, 2, 1, 4), torch.randn(1, 19, 1, 4), torch.randn(1, 19, 1, 4)  # 2 queries, 19 keys
one = default_attention(q, k, v, causal=True)
other = ring_flash_attn(q, k, v, causal=True, bucket_size=16)
far = (one - other).abs().max().item()
assert far < 1e-4, f"the library's two attentions, both causal, are {far:.2f} apart on the same arrays"
