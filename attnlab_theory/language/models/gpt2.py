"""GPT-2's checkpoints as Hugging Face's transformers write them: one safetensors file and a config.json."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from attnlab_theory.language.models import huggingface
from attnlab_theory.language.models.huggingface import Tell

OF_THE_MODEL = {
    "wte.weight": ".tokens",
    "wpe.weight": ".positions",
    "ln_f.weight": ".ln_f.weight",
    "ln_f.bias": ".ln_f.bias",
}
HEAD = "lm_head.weight"
"""The output layer, stored (out, in). It is a copy of `wte.weight`, unless config.json says that it is not tied."""

OF_A_LAYER = {
    "ln_1.": ".ln_1.",
    "attn.c_attn.": ".mixing.inputs.",
    "attn.c_proj.": ".mixing.out.",
    "ln_2.": ".ln_2.",
    "mlp.c_fc.": ".into.",
    "mlp.c_proj.": ".back.",
}
"""GPT-2's names and ours. Both store linear layers (in, out), with queries, keys and values side by side."""

BUFFERS = (".attn.bias", ".attn.masked_bias")
"""Names of causal masks, which old files contain."""

ON_TOP = ("score.", "classifier.", "summary.", "multiple_choice_head.", "qa_outputs.")
"""Names of heads of tuned models. They are no part of GPT-2, so they are left out, and a line says so."""

SCALES = {"scale_attn_weights": (True, False), "scale_attn_by_inverse_layer_idx": (False, True)}
"""Fields of config.json that scale the scores. The factor of each layer goes into its queries."""

REQUIRED = {
    "model_type": ("gpt2",),
    **SCALES,
    "add_cross_attention": (False,),
    "tie_word_embeddings": (True, False),
}
"""Fields of config.json that change what is computed, and the values that are understood, the default first."""

DIGITS = 9
"""The most digits in the number of a layer."""

NUMBERS = ("n_head", "embd_pdrop", "resid_pdrop", "attn_pdrop", "layer_norm_epsilon")
"""Fields that are not compared with the arrays."""

GELUS = {"gelu_new": "tanh", "gelu_pytorch_tanh": "tanh", "gelu": "exact"}


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """The fields of a GPTConfig, and arrays by the paths of a GPT's leaves."""

    fields: dict[str, Any]
    weights: dict[str, np.ndarray]


def read(path: str | os.PathLike[str], *, heads: int | None = None, tell: Tell = huggingface.untold) -> Checkpoint:
    """The contents of a file and of the config.json beside it.

    Args:
        path: of the file, or of a folder that holds `model.safetensors`.
        heads: the number of attention heads. Needed if there is no `config.json`.
        tell: called with a line if the file has the head of a tuned model, which is left out.

    Raises:
        ValueError: if the file is missing, truncated or of another kind, or does not fit this model.
    """
    file = huggingface.weights_file(path)
    beside = _config(file.parent / "config.json")
    arrays = _arrays(file, tied=beside is None or beside.get("tie_word_embeddings", True), tell=tell)
    sizes = _sizes(file, arrays, beside)
    fields = _fields(file, beside, sizes, heads)
    _refuse_shapes(file, arrays, sizes)
    fields["tied"] = HEAD not in arrays
    arrays = _scaled(arrays, beside or {}, sizes["n_embd"], fields["heads"])
    weights = {leaf_of(name): array.T if name == HEAD else array for name, array in arrays.items()}
    return Checkpoint(fields, weights)


def _scaled(arrays: Mapping[str, np.ndarray], config: Mapping[str, Any], width: int, heads: int) -> dict[str, Any]:
    """The arrays, with the factors of the scores in the queries. A score is linear in its query.

    A score is q . k / sqrt(d). By these fields, transformers leaves out the root, or also divides by the number of
    the layer.
    """
    scaled = dict(arrays)
    for name, array in arrays.items():
        if ".attn.c_attn." in name:
            factor = 1.0 if config.get("scale_attn_weights", True) else (width / heads) ** 0.5
            if config.get("scale_attn_by_inverse_layer_idx", False):
                factor /= int(name.split(".")[1]) + 1
            if factor != 1.0:
                columns = np.where(np.arange(array.shape[-1]) < width, factor, 1.0)
                scaled[name] = (array.astype(np.float64) * columns).astype(np.float32)
    return scaled


def _arrays(file: Path, *, tied: bool, tell: Tell) -> dict[str, np.ndarray]:
    """Arrays by name, without `transformer.`, causal masks, a copy of the tied head and heads of other tasks."""
    arrays = huggingface.arrays_of(file, reader="load_gpt2", prefix="transformer.")
    arrays = {name: array for name, array in arrays.items() if not name.endswith(BUFFERS)}
    huggingface.tell_set_aside(file, sorted(name for name in arrays if name.startswith(ON_TOP)), tell)
    arrays = {name: array for name, array in arrays.items() if not name.startswith(ON_TOP)}
    head = arrays.pop(HEAD, None)
    strangers = [name for name in arrays if not _known(name)]
    if strangers:
        raise ValueError(
            f"{file} holds {huggingface.listed(map(repr, strangers))}, which GPT-2 does not have: "
            "is it another model's?"
        )
    missing = [name for name in OF_THE_MODEL if name not in arrays]
    if not tied and head is None:
        missing.append(HEAD)
    if missing:
        raise ValueError(f"{file} lacks {huggingface.listed(map(repr, missing))}: is it another model's?")
    if not tied and head is not None:
        arrays[HEAD] = head
    elif head is not None and not np.array_equal(head, arrays["wte.weight"]):
        raise ValueError(f"{file}: lm_head.weight differs from wte.weight, but GPT-2's head is tied to it")
    huggingface.refuse_no_numbers(file, arrays)
    return arrays


def _known(name: str) -> bool:
    parts = name.split(".", 2)
    if name in OF_THE_MODEL:
        return True
    number = parts[1] if len(parts) == 3 and parts[0] == "h" else ""
    if not number.isdecimal() or len(number) > DIGITS or number != str(int(number)):
        return False
    layer, _, kind = parts[2].rpartition(".")
    return f"{layer}." in OF_A_LAYER and kind in ("weight", "bias")


def leaf_of(name: str) -> str:
    """The path of the GPT's leaf for an array of a checkpoint."""
    name = name.removeprefix("transformer.")
    if name == HEAD:
        return ".head.weight"
    if name in OF_THE_MODEL:
        return OF_THE_MODEL[name]
    _, number, rest = name.split(".", 2)
    layer, _, kind = rest.rpartition(".")
    return f".blocks[{int(number)}]{OF_A_LAYER[layer + '.']}{kind}"


def _config(file: Path) -> Mapping[str, Any] | None:
    if not file.is_file():
        return None
    return huggingface.config_of(
        file, required=REQUIRED, numbers=NUMBERS, activation="activation_function", gelus=GELUS
    )


def _sizes(file: Path, arrays: Mapping[str, np.ndarray], config: Mapping[str, Any] | None) -> dict[str, int]:
    """The sizes by their names in config.json. They are read off the arrays, and compared with config.json."""
    for name in ("wte.weight", "wpe.weight"):
        if arrays[name].ndim != 2:
            raise ValueError(f"{file}: {name} must have 2 axes, but has shape {arrays[name].shape}")
    vocabulary, width = arrays["wte.weight"].shape
    layers = {int(name.split(".")[1]) for name in arrays if name.startswith("h.")}
    first = arrays.get("h.0.mlp.c_fc.weight")
    if first is None or first.ndim != 2:
        raise ValueError(f"{file} lacks 'h.0.mlp.c_fc.weight' with two axes: is it another model's?")
    # The names of a damaged file may jump to layer 10^8: what is missing between is not listed, but counted.
    absent = next(number for number in range(len(layers) + 1) if number not in layers)
    if absent < len(layers):
        raise ValueError(f"{file} has layer {max(layers)} but lacks layer {absent}: it is not whole")
    sizes = {
        "vocab_size": vocabulary,
        "n_positions": arrays["wpe.weight"].shape[0],
        "n_embd": width,
        "n_layer": len(layers),
        "n_inner": first.shape[1],
    }
    said = {} if config is None else config
    wrong = [
        f"{field} is {said[field]!r} in config.json, but {size}"
        for field, size in sizes.items()
        if said.get(field, size) != size
    ]
    if wrong:
        raise ValueError(f"{', and '.join(wrong)} in {file}: they are of different models")
    return sizes


def _fields(
    file: Path, config: Mapping[str, Any] | None, sizes: Mapping[str, int], heads: int | None
) -> dict[str, Any]:
    config = {} if config is None else config
    said = config.get("n_head", heads)
    if said is None:
        raise ValueError(f"{file} does not say how many heads: put its config.json beside it, or give heads=")
    if heads is not None and heads != said:
        raise ValueError(f"n_head is {said} in config.json, but heads={heads} was asked for")
    return {
        "vocabulary": sizes["vocab_size"],
        "block": sizes["n_positions"],
        "layers": sizes["n_layer"],
        "heads": said,
        "width": sizes["n_embd"],
        "hidden": sizes["n_inner"],
        "embedding_dropout": config.get("embd_pdrop", 0.1),
        "residual_dropout": config.get("resid_pdrop", 0.1),
        "attention_dropout": config.get("attn_pdrop", 0.1),
        "gelu": GELUS[config.get("activation_function", "gelu_new")],
        "epsilon": config.get("layer_norm_epsilon", 1e-5),
    }


def _refuse_shapes(file: Path, arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> None:
    """Refuse a file that lacks an array of some layer, or has one of another shape."""
    c, hidden = sizes["n_embd"], sizes["n_inner"]
    of_a_layer = {
        "attn.c_attn": (c, 3 * c),
        "attn.c_proj": (c, c),
        "mlp.c_fc": (c, hidden),
        "mlp.c_proj": (hidden, c),
    }
    expected: dict[str, tuple[int, ...]] = {HEAD: (sizes["vocab_size"], c)} if HEAD in arrays else {}
    expected |= {
        "wpe.weight": (sizes["n_positions"], c),
        "ln_f.weight": (c,),
        "ln_f.bias": (c,),
    }
    for number in range(sizes["n_layer"]):
        for layer in ("ln_1", "ln_2"):
            expected |= {f"h.{number}.{layer}.{kind}": (c,) for kind in ("weight", "bias")}
        for layer, shape in of_a_layer.items():
            expected |= {f"h.{number}.{layer}.weight": shape, f"h.{number}.{layer}.bias": shape[1:]}
    huggingface.refuse_shapes(file, arrays, expected)
