import torch
from litgpt import GPT, Config

torch.manual_seed(0)
sizes = {"block_size": 16, "vocab_size": 32, "padded_vocab_size": 32, "n_layer": 1, "n_head": 2, "n_embd": 16}
model = GPT(Config(**sizes, attention_logit_softcapping=50.0)).eval()
tokens = torch.arange(8)[None]
with torch.no_grad():
    whole = model(tokens)
    model.set_kv_cache(batch_size=1, dtype=torch.float32)
    cached = model(tokens, input_pos=torch.arange(8))
far = (whole - cached).abs().max().item()
assert far < 1e-4, f"the same tokens give logits {far:.2f} apart with a cache and without one"
