import torch
from diffusers.models.attention_processor import Attention, AttnProcessor, AttnProcessor2_0

layer = Attention(4, heads=1, dim_head=4).eval()
x = torch.ones(1, 3, 4)
mask = torch.zeros(1, 3, 3)
mask[:, 1] = -torch.inf  # query 1 sees nothing
found = []
for processor in (AttnProcessor(), AttnProcessor2_0()):
    layer.set_processor(processor)
    with torch.no_grad():
        found.append(layer(x, attention_mask=mask))
assert torch.allclose(*found), f"row 1: {found[0][0, 1].tolist()} and {found[1][0, 1].tolist()}"
