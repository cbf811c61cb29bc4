"""GPT-2's checkpoints as Hugging Face's transformers write them: one safetensors file and a config.json."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from attnlab_theory import refuse
from attnlab_theory.language.models import huggingface

OF_THE_MODEL = {
    "wte.weight": ".tokens",
    "wpe.weight": ".positions",
    "ln_f.weight": ".ln_f.weight",
    "ln_f.bias": ".ln_f.bias",
}
OF_A_LAYER = {
    "ln_1.": ".ln_1.",
    "attn.c_attn.": ".mixing.inputs.",
    "attn.c_proj.": ".mixing.out.",
    "ln_2.": ".ln_2.",
    "mlp.c_fc.": ".into.",
    "mlp.c_proj.": ".back.",
}
"""Names there and here. GPT-2 stores linear layers (in, out), queries, keys and values side by side: so do we."""

BUFFERS = (".attn.bias", ".attn.masked_bias")
"""Causal masks that old files carry along."""

REQUIRED = {
    "model_type": ("gpt2",),
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "add_cross_attention": (False,),
    "tie_word_embeddings": (True,),
}
"""Fields of config.json that change what is computed, and the values that are understood; absent is the first."""

DIGITS = 9
"""Of the number of a layer, at most."""

NUMBERS = ("n_head", "embd_pdrop", "resid_pdrop", "attn_pdrop", "layer_norm_epsilon")
"""Fields that are not compared with the arrays."""

GELUS = {"gelu_new": "tanh", "gelu_pytorch_tanh": "tanh", "gelu": "exact"}


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """The fields of a GPTConfig, and arrays by the paths of a GPT's leaves."""

    fields: dict[str, Any]
    weights: dict[str, np.ndarray]


def read(path: str | os.PathLike[str], *, heads: int | None = None) -> Checkpoint:
    """What a file and the config.json beside it say; args, raises as `load_gpt2`."""
    file = huggingface.weights_file(path)
    arrays = _arrays(file)
    beside = _config(file.parent / "config.json")
    sizes = _sizes(file, arrays, beside)
    fields = _fields(file, beside, sizes, heads)
    _refuse_shapes(file, arrays, sizes)
    return Checkpoint(fields, {leaf_of(name): array for name, array in arrays.items()})


def _arrays(file: Path) -> dict[str, np.ndarray]:
    """Arrays by name, without `transformer.`, causal masks and a copy of the tied head."""
    arrays = huggingface.arrays_of(file, reader="load_gpt2", prefix="transformer.")
    arrays = {name: array for name, array in arrays.items() if not name.endswith(BUFFERS)}
    head = arrays.pop("lm_head.weight", None)
    for name in arrays:
        if not _known(name):
            raise ValueError(f"{file} holds {name!r}, which GPT-2 does not have: is it another model's?")
    for name in OF_THE_MODEL:
        if name not in arrays:
            raise ValueError(f"{file} lacks {name!r}: is it another model's?")
    if head is not None and not np.array_equal(head, arrays["wte.weight"]):
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
    """The path of the leaf of a GPT that an array of a checkpoint is."""
    name = name.removeprefix("transformer.")
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
    """Sizes by their names in config.json, read off the arrays and compared with it."""
    for name in ("wte.weight", "wpe.weight"):
        refuse.wrong_rank(2, **{name: arrays[name]})
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
    for field, size in sizes.items():
        said = None if config is None else config.get(field)
        if said is not None and said != size:
            raise ValueError(
                f"{field} is {said!r} in config.json, but {size} in {file}: they are of different models"
            )
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
        "tied": True,
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
    expected: dict[str, tuple[int, ...]] = {
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
