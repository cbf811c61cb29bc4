"""x-transformers: small decoders with random weights, which keep keys and values as its own `generate` does."""

import torch
from x_transformers import Decoder, TransformerWrapper

OPTIONS = {
    "rotary": {"rotary_pos_emb": True, "attn_kv_heads": 2},
    "rotary_flash": {"rotary_pos_emb": True, "attn_kv_heads": 2, "attn_flash": True},
    "alibi": {"alibi_pos_bias": True},
    "positions": {},
    "shift_tokens": {"rotary_pos_emb": True, "shift_tokens": 1},
    "data_dependent_alibi": {"attn_data_dependent_alibi": True},
}


class Model:
    """Token ids [b t] to logits, and a cache."""

    def __init__(self, **options):
        torch.manual_seed(0)
        layers = Decoder(dim=32, depth=2, heads=4, **options)
        # Without a length it has no absolute positions.
        net = TransformerWrapper(num_tokens=48, max_seq_len=0 if options else 256, attn_layers=layers)
        self.net = net.eval()
        with torch.no_grad():
            # A model with small weights hardly looks back.
            for each in self.net.parameters():
                each.mul_(3 if each.ndim > 1 else 1)

    def __call__(self, ids, attention_mask=None, cache=None):
        """The whole text is given in each step, with the mask of its tokens; the cache is of the past."""
        past, kept = cache or (ids[:, :0], None)
        whole, more = torch.cat([past, ids], 1), {}
        if attention_mask is not None:
            more = {"mask": attention_mask.bool(), "seq_start_pos": attention_mask.argmax(1)}
        if kept is not None:
            # More than one new token at once is what its speculative decoding does.
            more |= {"cache": kept, "cache_age": ids.shape[1]}
        logits, kept = self.net(whole, return_intermediates=True, **more)
        return logits, (whole, kept)


def __getattr__(name):
    if name not in OPTIONS:
        raise AttributeError(name)
    return Model(**OPTIONS[name])
