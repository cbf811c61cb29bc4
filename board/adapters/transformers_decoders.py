"""Transformers: small decoders with random weights; NAME is with sdpa, NAME_eager with its eager attention."""

import torch
import transformers

SMALL = {
    "vocab_size": 48,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "initializer_range": 0.3,
}
SMALL |= {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
MODERN = SMALL | {"intermediate_size": 48, "num_key_value_heads": 2, "max_position_embeddings": 256}

SIZES = {
    "Llama": MODERN,
    "Mistral": MODERN | {"sliding_window": 4},
    "Qwen2": MODERN,
    "Gemma2": MODERN | {"head_dim": 8, "sliding_window": 4, "query_pre_attn_scalar": 8},
    "Cohere": MODERN,
    "Phi": MODERN | {"num_key_value_heads": 4},
    "GPTNeoX": SMALL | {"intermediate_size": 48, "max_position_embeddings": 256},
    "GPT2": SMALL | {"n_positions": 256},
    "OPT": SMALL | {"ffn_dim": 48, "max_position_embeddings": 256, "word_embed_proj_dim": 32},
    "Bloom": SMALL,
    "Falcon": SMALL | {"new_decoder_architecture": True, "num_kv_heads": 2},
}


def __getattr__(name):
    name, _, path = name.partition("_")
    if name not in SIZES:
        raise AttributeError(name)
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**SIZES[name])
    return transformers.AutoModelForCausalLM.from_config(config, attn_implementation=path or "sdpa").eval()
