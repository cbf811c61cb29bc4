import torch
from ring_attention_pytorch.ring_attention import default_attention
from ring_attention_pytorch.ring_flash_attention import ring_flash_attn

torch.manual_seed(0)
q, k, v = torch.randn(1, 2, 1, 4), torch.randn(1, 7, 1, 4), torch.randn(1, 7, 1, 4)  # 2 queries, 7 keys
q.requires_grad_()
one = default_attention(q, k, v, causal=True)
other = ring_flash_attn(q, k, v, causal=True, bucket_size=16)
assert torch.allclose(one, other, atol=1e-5)  # the outputs agree
slopes = [torch.autograd.grad(out.square().sum(), q)[0] for out in (one, other)]
far = (slopes[0] - slopes[1]).abs().max().item()
assert far < 1e-4, f"the outputs of the library's two attentions agree, and their gradients are {far:.2f} apart"
