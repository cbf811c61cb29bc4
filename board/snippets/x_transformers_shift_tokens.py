import torch
from x_transformers import Decoder, TransformerWrapper

torch.manual_seed(0)
layers = Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True, shift_tokens=1)
net = TransformerWrapper(num_tokens=48, max_seq_len=0, attn_layers=layers).eval()
assert net.can_cache_kv
tokens = torch.arange(4, 48)[None]
with torch.no_grad():
    whole = net(tokens)
    _, cache = net(tokens[:, :-1], return_intermediates=True)
    cached = net(tokens, cache=cache)  # as its AutoregressiveWrapper takes a step
far = (whole[:, -1] - cached[:, -1]).abs().max().item()
assert far < 1e-4, f"the last logits are {far:.2f} apart with a cache and without one"
