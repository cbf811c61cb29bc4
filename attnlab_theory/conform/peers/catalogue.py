"""The entry points of the board."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry point.

    `documented`, `threads` and `snippets` have keys KIND/IDENTITY, or */IDENTITY for every kind.
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
    """Of the environment of the process."""
    documented: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Failures that are conventions, for the library says so; with the place where it does."""
    threads: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Where a failure is discussed in public."""
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
    return table.get(f"{kind}/{identity}", table.get(f"*/{identity}", ""))


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


TORCH: Mapping[str, Any] = {"framework": "torch", "layout": "bhtd"}
JAX: Mapping[str, Any] = {"framework": "jax", "layout": "bthd"}
NUMPY: Mapping[str, Any] = {"framework": "numpy", "layout": "bhtd"}


def _keras(backend: str, environment: str, framework: str, biased: str = "biased") -> Entry:
    return Entry(
        name=f"keras.{backend}",
        called=f"keras.ops.dot_product_attention on {backend}",
        library="keras",
        environment=environment,
        kinds={"softmax": "attend", "causal": "attend", "grouped-query": "attend", "bias": biased},
        declared={"framework": framework, "layout": "bthd"},
        variables={"KERAS_BACKEND": backend},
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
    ),
    Entry(
        name="torch.mha-fast",
        called="torch.nn.MultiheadAttention, self-attention, evaluation, no_grad",
        library="torch",
        environment="torch",
        kinds={"softmax": "mha_fast", "multi-head": "mha_fast"},
        declared=TORCH,
    ),
    Entry(
        name="torch.mha-weights",
        called="torch.nn.MultiheadAttention, evaluation, with weights",
        library="torch",
        environment="torch",
        kinds={"softmax": "mha_weights", "multi-head": "mha_weights"},
        declared=TORCH,
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
            "grouped-query": "attend",
            "sliding-window": "windowed",
            "bias": "attend",
        },
        declared=JAX,
    ),
    Entry(
        name="flax.linen",
        called="flax.linen.dot_product_attention",
        library="flax",
        environment="jax",
        kinds={"softmax": "of_linen", "causal": "of_linen_causal", "bias": "of_linen_bias"},
        declared=JAX,
    ),
    Entry(
        name="flax.nnx",
        called="flax.nnx.dot_product_attention",
        library="flax",
        environment="jax",
        kinds={"softmax": "of_nnx", "causal": "of_nnx", "bias": "of_nnx_bias"},
        declared=JAX,
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
        kinds={"softmax": "attend", "causal": "causal", "grouped-query": "attend", "bias": "biased"},
        declared=NUMPY,
    ),
    Entry(
        name="onnxruntime.attention",
        called="onnxruntime, Attention-23",
        library="onnxruntime",
        environment="runtimes",
        kinds={
            "softmax": "attend",
            "causal": "causal",
            "grouped-query": "attend",
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
        kinds={"softmax": "contrib"},
        declared=NUMPY,
    ),
    Entry(
        name="onnxruntime.contrib",
        called="onnxruntime, com.microsoft.MultiHeadAttention, mask_filter_value -3e38",
        library="onnxruntime",
        environment="runtimes",
        kinds={"softmax": "contrib_low", "causal": "contrib_causal", "bias": "contrib_biased"},
        declared=NUMPY,
    ),
    Entry(
        name="openvino.attention",
        called="openvino (told float32), ONNX's Attention-23 and -25",
        library="openvino",
        environment="runtimes",
        kinds={
            "softmax": "attend",
            "causal": "causal",
            "grouped-query": "attend",
            "sliding-window": "windowed",
            "softcap": "capped",
            "bias": "biased",
        },
        declared=NUMPY,
    ),
)
