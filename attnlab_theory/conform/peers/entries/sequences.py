"""Caches, positions, linear attention and random features."""

from typing import Any

from attnlab_theory.conform.peers.entry import TORCH, Entry


def _alibi(name: str, words: str, **more: Any) -> Entry:
    return Entry(
        name=f"transformers.alibi-{name.replace('_', '-')}",
        called=f"transformers, {words}",
        library="transformers",
        environment="torch",
        kinds={"alibi": name},
        declared={"framework": "torch"},
        file="transformers_alibi.py",
        **more,
    )


CLAMPED = {
    "decode/full cache": "jax.lax.dynamic_update_slice, which writes the cache: 'If the update slice is too large "
    "to fit in the array, the start index will be adjusted to make it fit'"
}

ENTRIES: tuple[Entry, ...] = (
    Entry(
        name="flax.nnx-decoding",
        called="flax.nnx.MultiHeadAttention, decoding",
        library="flax",
        environment="jax",
        kinds={"decode": "NnxSteps"},
        declared={"framework": "jax", "width": 8},
        file="flax_decoding.py",
        documented=CLAMPED,
    ),
    Entry(
        name="flax.nnx-decoding-causal",
        called="flax.nnx.MultiHeadAttention, decoding with is_causal",
        library="flax",
        environment="jax",
        kinds={"decode": "NnxCausalSteps"},
        declared={"framework": "jax", "width": 8},
        file="flax_decoding.py",
        snippets={"decode/*": "nnx_decoding_causal.py"},
        threads={"decode/*": "flax #5591 (open), #5592 (open), #4505 (open)"},
        remarks={
            "decode/*": "Leave is_causal away in decoding: a step with a cache is always causal. Then all hold but "
            "the full cache, whose last slot is overwritten without an error."
        },
    ),
    Entry(
        name="flax.linen-decoding",
        called="flax.linen.MultiHeadDotProductAttention, decoding",
        library="flax",
        environment="jax",
        kinds={"decode": "LinenSteps"},
        declared={"framework": "jax", "width": 8},
        file="flax_decoding.py",
        documented=CLAMPED,
    ),
    Entry(
        name="transformers.rotary",
        called="transformers, Llama's apply_rotary_pos_emb",
        library="transformers",
        environment="torch",
        kinds={"rotary": "llama"},
        declared={"framework": "torch"},
        file="transformers_rotary.py",
    ),
    Entry(
        name="torchtune.rotary",
        called="torchtune.modules.RotaryPositionalEmbeddings",
        library="torchtune",
        environment="litgpt",
        kinds={"rotary": "rotate"},
        declared={"framework": "torch"},
    ),
    Entry(
        name="litgpt.rotary",
        called="litgpt.model.apply_rope, build_rope_cache",
        library="litgpt",
        environment="litgpt",
        kinds={"rotary": "rotate"},
        declared={"framework": "torch"},
    ),
    Entry(
        name="rotary-embedding-torch.rotate",
        called="rotary_embedding_torch.RotaryEmbedding.rotate_queries_or_keys",
        library="rotary-embedding-torch",
        environment="torch",
        kinds={"rotary": "rotate"},
        declared={"framework": "torch"},
    ),
    Entry(
        name="torch.dropout",
        called="torch.nn.functional.scaled_dot_product_attention, dropout_p",
        library="torch",
        environment="torch",
        kinds={"dropout": "sdpa"},
        declared=TORCH,
        file="torch_dropout.py",
    ),
    Entry(
        name="linear-attention-transformer.whole",
        called="linear_attention_transformer, linear_attn",
        library="linear-attention-transformer",
        environment="torch",
        kinds={"linear": "whole"},
        declared=TORCH,
        notes={"linear": "it divides its output by the root of the width, which the adapter undoes"},
    ),
    Entry(
        name="performer.efficient",
        called="performer_pytorch.FastAttention(no_projection=True)",
        library="performer-pytorch",
        environment="torch",
        kinds={"linear": "efficient"},
        declared=TORCH,
    ),
    Entry(
        name="performer.features",
        called="performer_pytorch.FastAttention",
        library="performer-pytorch",
        environment="torch",
        kinds={"random-features": "features"},
        declared={"framework": "torch"},
        snippets={"random-features/*": "performer_signs.py"},
        threads={
            "random-features/*": "performer-pytorch #8 (closed): qr_uniform_q was added then, off by default, and "
            "this version has none; google-research #436 (closed): an author answers that it should not matter, "
            "for each row stays Gaussian; idiap/fast-transformers #87 (closed): the same"
        },
        remarks={
            "random-features/*": "Its orthogonal projections are the Q of a QR decomposition, as in Google's code. "
            "The decomposition fixes the signs of Q, so that a row points mostly to one side of an axis (Mezzadri "
            "2007). So the mean of draws is off, for some inputs upwards and for others downwards. More features "
            "do not help. With the signs of R's diagonal put in, this goes. The width is 4 here. At 64, which is "
            "usual, the error is smaller than the noise of one draw, and the epsilon of 1e-4 matters more where "
            "scores have unit size. No option of this version mends it."
        },
    ),
    Entry(
        name="performer.causal",
        called="performer_pytorch.FastAttention(causal=True)",
        library="performer-pytorch",
        environment="torch",
        kinds={"mixer": "causal"},
        declared={"framework": "torch", "hides_future": True},
        snippets={"mixer/*": "performer_future.py"},
        threads={
            "mixer/*": "performer-pytorch #82 (open); #45 (closed): the author took the maximum from Google's code"
        },
        remarks={
            "mixer/*": "The future comes in by the maximum that stabilizes the features, because of two "
            "epsilons: that of the features and that of the sum. It shows where the future changes that maximum. "
            "With generalized_attention=True or no_projection=True nothing leaks."
        },
    ),
    Entry(
        name="x-transformers.alibi",
        called="x_transformers.AlibiPositionalBias",
        library="x-transformers",
        environment="torch",
        kinds={"alibi": "alibi"},
        declared={"framework": "torch"},
    ),
    _alibi("bloom", "Bloom's build_alibi_tensor, float32"),
    _alibi(
        "bloom_bfloat16",
        "Bloom's build_alibi_tensor, bfloat16",
        documented={
            "alibi/*": "its caller chooses the type, by default torch.bfloat16: 'dtype of the output tensor' "
            "(modeling_bloom.py). Bloom was trained with such biases (Megatron-DeepSpeed #101)"
        },
    ),
    _alibi(
        "falcon",
        "Falcon's build_alibi_tensor, float32",
        documented={
            "alibi/*": "the source rounds on purpose: `slopes[..., None].bfloat16() * arange_tensor` "
            "(modeling_falcon.py). Others reproduce it, so that the same weights give the same text "
            "(TensorRT-Model-Connect #667)"
        },
    ),
    _alibi("mpt", "build_mpt_alibi_tensor"),
)
