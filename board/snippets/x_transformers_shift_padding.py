import torch
from x_transformers import Decoder, TransformerWrapper

torch.manual_seed(0)
layers = Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True, shift_tokens=1)
net = TransformerWrapper(num_tokens=48, max_seq_len=0, attn_layers=layers).eval()
tokens = torch.arange(4, 12)[None]
real = torch.arange(8)[None] >= 3  # the first three are padding
other = torch.where(real, tokens, 40)
with torch.no_grad():
    one, two = (net(x, mask=real, seq_start_pos=torch.tensor([3])) for x in (tokens, other))
far = (one - two)[real].abs().max().item()
assert far < 1e-4, f"logits of real tokens move by {far:.2f} when the ids of padding before them are others"
