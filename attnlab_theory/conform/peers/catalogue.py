"""The entry points of the board."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry point.

    Keys of `documented`, `threads`, `remarks` and `snippets` are KIND/IDENTITY, */IDENTITY for every kind, or
    KIND/*.
    """

    name: str
    """LIBRARY.WORD, and the name of its files."""
    called: str
    """What a user of the library writes."""
    library: str
    """The distribution, as the package index calls it."""
    environment: str
    """A file of `environments`."""
    kinds: Mapping[str, str]
    """What it is judged as, and by which function of the adapter."""
    declared: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """What need not be guessed."""
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What the environment of the process has beside that of this one."""
    documented: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Failures that are conventions, for the library says so; with the place where it does."""
    threads: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Where a failure is discussed in public."""
    remarks: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What a reader should know of a failure, in fairness: when it shows, whose it is, what avoids it."""
    notes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """By kind: what a reader should know of a cell that is not red, such as why it is empty."""
    snippets: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Files of `snippets` that show a failure, where the counterexample of the suite is not enough."""

    file: str = ""
    """The adapter; by default the file of `adapters` that is called as the library."""
    same_as: str = ""
    """Another entry point that is another path through the same object: the two must agree."""

    @property
    def adapter(self) -> Path:
        """The file whose functions are called."""
        return HERE / "adapters" / (self.file or f"{self.library.replace('-', '_')}.py")


def said(table: Mapping[str, str], kind: str, identity: str) -> str:
    """What a table with keys KIND/IDENTITY says of a row; empty if nothing."""
    keys = (f"{kind}/{identity}", f"*/{identity}", f"{kind}/*")
    return next((table[key] for key in keys if key in table), "")


def entries_of(name: str | None) -> tuple[Entry, ...]:
    """The entry points of a library, or that of a name; all if none is named.

    Raises:
        ValueError: if there is none.
    """
    found = tuple(e for e in ENTRIES if name in (None, e.name, e.library))
    if not found:
        libraries = ", ".join(dict.fromkeys(e.library for e in ENTRIES))
        raise ValueError(f"the board has no {name!r:.60}; it has {libraries}")
    return found


def _decoder(name: str) -> Entry:
    return Entry(
        name=f"transformers.{name.lower()}",
        called=f"transformers, {name} as a small random model",
        library="transformers",
        environment="torch",
        kinds={"model": name},
        declared={"framework": "torch"},
        file="transformers_decoders.py",
    )


TORCH: Mapping[str, Any] = {"framework": "torch", "layout": "bhtd"}
JAX: Mapping[str, Any] = {"framework": "jax", "layout": "bthd"}
NUMPY: Mapping[str, Any] = {"framework": "numpy", "layout": "bhtd"}

KERAS_BLIND = {
    "jax": "It calls jax.nn.dot_product_attention, whose fault this is.",
    "numpy": "It is a port of jax.nn.dot_product_attention, and has the same fault.",
    "torch": "The fault is that of jax.nn.dot_product_attention, in Keras's own code: what is hidden gets a large "
    "negative number, not minus infinity.",
}


def _keras(backend: str, environment: str, framework: str, biased: str = "biased") -> Entry:
    return Entry(
        name=f"keras.{backend}",
        called=f"keras.ops.dot_product_attention on {backend}",
        library="keras",
        environment=environment,
        kinds={
            "softmax": "attend",
            "multi-head": "attend",
            "causal": "attend",
            "grouped-query": "attend",
            "bias": biased,
        },
        declared={"framework": framework, "layout": "bthd"},
        variables={"KERAS_BACKEND": backend},
        snippets={"causal/blind rows": "keras_blind_row.py", "grouped-query/called": "keras_groups.py"},
        threads={"grouped-query/called": "keras #23081 (mended for torch and TensorFlow)"},
        remarks={
            "causal/blind rows": KERAS_BLIND[backend],
            "grouped-query/called": "It is right where all heads share one key head.",
        },
    )


ENTRIES: tuple[Entry, ...] = (
    Entry(
        name="torch.sdpa",
        called="torch.nn.functional.scaled_dot_product_attention",
        library="torch",
        environment="torch",
        kinds={
            "softmax": "sdpa",
            "causal": "sdpa_causal",
            "multi-head": "sdpa",
            "grouped-query": "sdpa_grouped",
            "bias": "sdpa_bias",
        },
        declared=TORCH,
    ),
    Entry(
        name="torch.mha-evaluation",
        called="torch.nn.MultiheadAttention, evaluation, no_grad",
        library="torch",
        environment="torch",
        kinds={"softmax": "mha_evaluated", "multi-head": "mha_evaluated"},
        declared=TORCH,
        same_as="torch.mha-training",
    ),
    Entry(
        name="torch.mha-fast",
        called="torch.nn.MultiheadAttention, self-attention, evaluation, no_grad",
        library="torch",
        environment="torch",
        kinds={"softmax": "mha_fast", "multi-head": "mha_fast"},
        declared=TORCH,
        same_as="torch.mha-training",
        snippets={"paths/blind rows": "torch_mha_fast.py"},
        threads={"paths/blind rows": "pytorch #190486 (open)"},
    ),
    Entry(
        name="torch.mha-weights",
        called="torch.nn.MultiheadAttention, need_weights=True (the default)",
        library="torch",
        environment="torch",
        kinds={"softmax": "mha_weights", "multi-head": "mha_weights"},
        declared=TORCH,
        same_as="torch.mha-training",
        snippets={"paths/blind rows": "torch_mha_weights.py"},
        threads={"paths/blind rows": "pytorch #160064"},
        remarks={"paths/blind rows": "It is NaN with gradients, too."},
    ),
    Entry(
        name="torch.mha-training",
        called="torch.nn.MultiheadAttention, training, with gradients",
        library="torch",
        environment="torch",
        kinds={"softmax": "mha_training", "multi-head": "mha_training"},
        declared=TORCH,
    ),
    Entry(
        name="torch.flex",
        called="torch.nn.attention.flex_attention, not compiled",
        library="torch",
        environment="torch",
        kinds={
            "softmax": "flex",
            "causal": "flex_causal",
            "multi-head": "flex",
            "grouped-query": "flex_grouped",
            "sliding-window": "flex_window",
            "softcap": "flex_softcap",
            "bias": "flex_bias",
        },
        declared=TORCH,
    ),
    Entry(
        name="jax.attention",
        called="jax.nn.dot_product_attention",
        library="jax",
        environment="jax",
        kinds={
            "softmax": "attend",
            "causal": "attend",
            "multi-head": "attend",
            "grouped-query": "attend",
            "sliding-window": "windowed",
            "bias": "attend",
        },
        declared=JAX,
        snippets={"causal/blind rows": "jax_blind_row.py", "sliding-window/blind rows": "jax_blind_row_window.py"},
        remarks={
            "causal/blind rows": "It shows for a query whose visible keys are all padding. What either mask hides "
            "gets the same large negative number. So where all keys are hidden, all of them weigh the same, the "
            "future too. flax.nnx and Keras inherit this. Such a query often is padding itself, and its output is "
            "thrown away.",
            "sliding-window/blind rows": "This is the finding above, by the same line of JAX.",
        },
    ),
    Entry(
        name="flax.linen",
        called="flax.linen.dot_product_attention",
        library="flax",
        environment="jax",
        kinds={
            "softmax": "of_linen",
            "multi-head": "of_linen",
            "bias": "of_linen_bias",
        },
        declared=JAX,
        notes={"causal": "its caller makes the mask, so the causal mask would be ours"},
    ),
    Entry(
        name="flax.nnx",
        called="flax.nnx.dot_product_attention",
        library="flax",
        environment="jax",
        kinds={"softmax": "of_nnx", "multi-head": "of_nnx", "causal": "of_nnx", "bias": "of_nnx_bias"},
        declared=JAX,
        snippets={"causal/blind rows": "nnx_blind_row.py"},
        remarks={"causal/blind rows": "It calls jax.nn.dot_product_attention, whose fault this is."},
    ),
    Entry(
        name="equinox.mha",
        called="equinox.nn.MultiheadAttention",
        library="equinox",
        environment="jax",
        kinds={"softmax": "attend", "multi-head": "attend"},
        declared={"framework": "jax", "layout": "htd"},
    ),
    Entry(
        name="haiku.mha",
        called="haiku.MultiHeadAttention",
        library="dm-haiku",
        environment="jax",
        kinds={"softmax": "attend", "multi-head": "attend"},
        declared=JAX,
    ),
    _keras("jax", "jax", "jax"),
    _keras("numpy", "jax", "numpy"),
    _keras("torch", "torch", "torch", "biased_alone"),
    Entry(
        name="mlx.fast",
        called="mlx.core.fast.scaled_dot_product_attention",
        library="mlx",
        environment="mlx",
        kinds={
            "softmax": "attend",
            "multi-head": "attend",
            "causal": "causal",
            "grouped-query": "attend",
            "bias": "biased",
        },
        declared=NUMPY,
    ),
    Entry(
        name="onnxruntime.attention",
        called="onnxruntime, Attention-23 (windows: Attention-25)",
        library="onnxruntime",
        environment="runtimes",
        kinds={
            "softmax": "attend",
            "causal": "causal",
            "multi-head": "attend",
            "grouped-query": "attend",
            "sliding-window": "windowed",
            "softcap": "capped",
            "bias": "biased",
        },
        declared=NUMPY,
    ),
    Entry(
        name="onnxruntime.contrib-default",
        called="onnxruntime, com.microsoft.MultiHeadAttention, as it comes",
        library="onnxruntime",
        environment="runtimes",
        kinds={"softmax": "contrib", "multi-head": "contrib"},
        declared=NUMPY,
        documented={
            f"*/{name}": "mask_filter_value: 'Default value is -10000.0f' (ContribOperators.md)"
            for name in ("hidden keys", "hidden numbers", "pairs")
        },
    ),
    Entry(
        name="onnxruntime.contrib",
        called="onnxruntime, com.microsoft.MultiHeadAttention, mask_filter_value -3e38",
        library="onnxruntime",
        environment="runtimes",
        kinds={
            "softmax": "contrib_low",
            "multi-head": "contrib_low",
            "causal": "contrib_causal",
            "bias": "contrib_biased",
        },
        declared=NUMPY,
        snippets={"causal/visibility": "onnxruntime_contrib_causal.py"},
        remarks={
            "causal/visibility": "With fewer queries than keys and no past, the last query sees all keys. It is "
            "right where both lengths agree."
        },
    ),
    Entry(
        name="openvino.attention",
        called="openvino (told float32), ONNX's Attention-23",
        library="openvino",
        environment="runtimes",
        kinds={
            "softmax": "attend",
            "causal": "causal",
            "multi-head": "attend",
            "grouped-query": "attend",
            "softcap": "capped",
            "bias": "biased",
        },
        declared=NUMPY,
        notes={
            "sliding-window": "it reads ONNX's Attention-23 and -24, which have no window. Opsets and attributes "
            "that it does not know are ignored without an error, and the windows of Attention-25 are among them. "
            "openvino #37207 mended the windows of GroupQueryAttention"
        },
    ),
    Entry(
        name="transformers.eager",
        called="transformers, eager_attention_forward (Llama, Gemma 2)",
        library="transformers",
        environment="torch",
        kinds={
            "softmax": "eager",
            "multi-head": "eager",
            "grouped-query": "eager",
            "softcap": "eager_capped",
            "bias": "eager_bias",
        },
        declared=TORCH,
        notes={"causal": "its caller makes the mask, so the causal mask would be ours"},
    ),
    Entry(
        name="transformers.sdpa",
        called="transformers, sdpa_attention_forward",
        library="transformers",
        environment="torch",
        kinds={
            "softmax": "sdpa",
            "causal": "sdpa_causal",
            "multi-head": "sdpa",
            "grouped-query": "sdpa",
            "bias": "sdpa_bias",
        },
        declared=TORCH,
        documented={
            f"causal/{name}": "'Not in decoding phase (otherwise we want full attention on the single query token)'"
            ", in a comment of the source (integrations/sdpa_attention.py)"
            for name in ("one token", "pairs")
        },
    ),
    Entry(
        name="x-transformers.plain",
        called="x_transformers.attend.Attend",
        library="x-transformers",
        environment="torch",
        kinds={
            "softmax": "plain",
            "causal": "causal",
            "multi-head": "plain",
            "grouped-query": "plain",
            "softcap": "capped",
            "bias": "biased",
        },
        declared=TORCH,
    ),
    Entry(
        name="x-transformers.flash",
        called="x_transformers.attend.Attend(flash=True)",
        library="x-transformers",
        environment="torch",
        kinds={
            "softmax": "flash",
            "causal": "flash_causal",
            "multi-head": "flash",
            "grouped-query": "flash",
            "bias": "flash_biased",
        },
        declared=TORCH,
    ),
    Entry(
        name="diffusers.plain",
        called="diffusers Attention, AttnProcessor",
        library="diffusers",
        environment="torch",
        kinds={
            "softmax": "plain",
            "multi-head": "plain",
        },
        declared={**TORCH, "mask": "additive"},
    ),
    Entry(
        name="diffusers.fused",
        called="diffusers Attention, AttnProcessor2_0",
        library="diffusers",
        environment="torch",
        kinds={
            "softmax": "fused",
            "multi-head": "fused",
        },
        declared={**TORCH, "mask": "additive"},
        same_as="diffusers.plain",
        documented={
            "paths/blind rows": "the caller chooses the processor, and -inf is ours: UNet2DConditionModel 'adds "
            "large negative values', -10000.0, and with these both agree (unet_2d_condition.py)"
        },
    ),
    Entry(
        name="diffusers.sliced",
        called="diffusers Attention, SlicedAttnProcessor",
        library="diffusers",
        environment="torch",
        kinds={
            "softmax": "sliced",
            "multi-head": "sliced",
        },
        declared={**TORCH, "mask": "additive"},
        same_as="diffusers.plain",
    ),
    Entry(
        name="local-attention.exact",
        called="local_attention.LocalAttention, exact_windowsize",
        library="local-attention",
        environment="torch",
        kinds={
            "sliding-window": "windowed",
        },
        declared=TORCH,
    ),
    Entry(
        name="ring-attention.default",
        called="ring_attention_pytorch, default_attention",
        library="ring-attention-pytorch",
        environment="torch",
        kinds={
            "softmax": "plain",
            "causal": "causal",
            "multi-head": "plain",
            "grouped-query": "plain",
            "softcap": "capped",
        },
        declared={"framework": "torch", "layout": "bthd"},
    ),
    Entry(
        name="ring-attention.flash",
        called="ring_attention_pytorch, ring_flash_attn on one device",
        library="ring-attention-pytorch",
        environment="torch",
        kinds={
            "softmax": "flash",
            "causal": "flash_causal",
            "multi-head": "flash",
            "grouped-query": "flash",
        },
        declared={"framework": "torch", "layout": "bthd"},
    ),
    Entry(
        name="litgpt.layer",
        called="litgpt.model.CausalSelfAttention.scaled_dot_product_attention",
        library="litgpt",
        environment="litgpt",
        kinds={
            "softmax": "masked",
            "causal": "causal",
            "multi-head": "masked",
            "softcap": "capped",
        },
        declared={**TORCH, "mask": "bool-keep"},
        snippets={"softcap/*": "litgpt_softcap.py"},
        threads={"softcap/*": "litgpt #1672, #2235"},
        remarks={"softcap/*": "All of these are one fault. Causal softcap without a cache and a mask is right."},
    ),
    Entry(
        name="torchtune.layer",
        called="torchtune.modules.MultiHeadAttention",
        library="torchtune",
        environment="litgpt",
        kinds={"softmax": "attend", "causal": "causal", "multi-head": "attend", "grouped-query": "attend"},
        declared=TORCH,
    ),
    Entry(
        name="flax.nnx-decoding",
        called="flax.nnx.MultiHeadAttention, decoding",
        library="flax",
        environment="jax",
        kinds={"decode": "NnxSteps"},
        declared={"framework": "jax", "width": 8},
        file="flax_decoding.py",
        documented={
            "decode/full cache": "jax.lax.dynamic_update_slice, which writes the cache: 'If the update slice is "
            "too large to fit in the array, the start index will be adjusted to make it fit'"
        },
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
        threads={"decode/*": "flax #5591 (open), #4505"},
        remarks={
            "decode/*": "All of these are one fault. Leave is_causal away in decoding: a step with a cache is "
            "always causal."
        },
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
    ),
    Entry(
        name="performer.causal",
        called="performer_pytorch.FastAttention(causal=True)",
        library="performer-pytorch",
        environment="torch",
        kinds={"mixer": "causal"},
        declared={"framework": "torch", "hides_future": True},
        snippets={"mixer/*": "performer_future.py"},
        threads={"mixer/*": "performer-pytorch #82"},
        remarks={
            "mixer/*": "The future comes in by the maximum that stabilizes the features, and by the epsilon beside "
            "it. It shows where the future changes that maximum. With generalized_attention=True nothing leaks."
        },
    ),
    *map(
        _decoder,
        (
            *("Llama", "Mistral", "Qwen2", "Gemma2", "Cohere", "Phi"),
            *("GPTNeoX", "GPT2", "OPT", "Bloom", "Falcon"),
        ),
    ),
)
