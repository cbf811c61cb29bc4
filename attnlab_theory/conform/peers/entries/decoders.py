"""Decoders as small models with random weights."""

from typing import Any

from attnlab_theory.conform.peers.entry import Entry


def _decoder(name: str, path: str = "sdpa") -> Entry:
    more = "" if path == "sdpa" else f"_{path}"
    return Entry(
        name=f"transformers.{name.lower()}{more.replace('_', '-')}",
        called=f"transformers, small random {name}, {path}",
        library="transformers",
        environment="torch",
        kinds={"model": f"{name}{more}"},
        declared={"framework": "torch"},
        file="transformers_decoders.py",
        against={"model": name} if more and name not in EAGER_ONLY else {},
    )


DECODERS = ("Llama", "Mistral", "Qwen2", "Gemma2", "Cohere", "Phi", "GPTNeoX", "GPT2", "OPT", "Bloom", "Falcon")
"""The decoders of transformers that are tried."""

EAGER_ONLY = ("Gemma2", "Bloom")
"""Those that have no path by torch's scaled_dot_product_attention."""


def _x_decoder(option: str, words: str, **more: Any) -> Entry:
    return Entry(
        name=f"x-transformers.decoder-{option.replace('_', '-')}",
        called=f"x_transformers.Decoder, {words}",
        library="x-transformers",
        environment="torch",
        kinds={"model": option},
        declared={"framework": "torch"},
        file="x_transformers_decoders.py",
        **more,
    )


ENTRIES: tuple[Entry, ...] = (
    _x_decoder("rotary", "rotary_pos_emb"),
    _x_decoder("rotary_flash", "rotary_pos_emb, attn_flash", against={"model": "rotary"}),
    _x_decoder("alibi", "alibi_pos_bias"),
    _x_decoder("positions", "absolute positions"),
    _x_decoder(
        "shift_tokens",
        "shift_tokens",
        snippets={
            "model/*": "x_transformers_shift_tokens.py",
            "model/padding left": "x_transformers_shift_padding.py",
        },
        threads={"model/padding left": "x-transformers #208 (open), which asks what the mask of a shift is for"},
        remarks={
            "model/*": "All of these are one fault. The cache holds keys and values alone. So a step has no token "
            "before it to shift, though `can_cache_kv` is True. Decoding without a cache is right.",
            "model/padding left": "Attention gets the mask, and hides padding before it shifts. Feedforward layers "
            "shift, too, and do not get it. Without shift_tokens, and with padding at the right, nothing moves.",
        },
    ),
    _x_decoder(
        "data_dependent_alibi",
        "attn_data_dependent_alibi",
        snippets={"model/*": "x_transformers_data_dependent_alibi.py"},
        remarks={
            "model/*": "All of these are one fault. A step of one token knows its own gate alone. So all past "
            "keys get the same bias, though `can_cache_kv` is True. Decoding without a cache is right."
        },
    ),
    *(_decoder(name, path) for name in DECODERS for path in ("sdpa", "eager")[name in EAGER_ONLY :]),
)
