"""BERT's, RoBERTa's and DistilBERT's checkpoints as Hugging Face's transformers writes them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from attnlab_theory.language.models import distilbert, huggingface, kinds
from attnlab_theory.language.models.config import Gelu
from attnlab_theory.language.models.encoder import Encoder
from attnlab_theory.language.models.encoder_config import EncoderConfig, Layout
from attnlab_theory.language.models.huggingface import Tell
from attnlab_theory.language.models.layers import Linear

OF_THE_MODEL = {
    "embeddings.word_embeddings.weight": ".tokens",
    "embeddings.position_embeddings.weight": ".positions",
    "embeddings.token_type_embeddings.weight": ".types",
    "embeddings.LayerNorm.weight": ".ln.weight",
    "embeddings.LayerNorm.bias": ".ln.bias",
}
OF_A_LAYER = {
    "attention.output.dense": "mixing.out",
    "attention.output.LayerNorm": "ln_1",
    "intermediate.dense": "into",
    "output.dense": "back",
    "output.LayerNorm": "ln_2",
}
"""BERT's names of layers and ours. Each layer has a weight and a bias."""
STACKED = tuple(f"attention.self.{part}" for part in ("query", "key", "value"))
"""Three layers of BERT, which `mixing.inputs` holds side by side."""
POOLER = "pooler.dense"

OLD_NAMES = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
"""Old names of arrays, in files that were converted from TensorFlow."""
BUFFERS = ("embeddings.position_ids", "embeddings.token_type_ids")
"""Arrays of the numbers 0, 1, 2, …, which old files contain."""
PRETRAINING = ("cls.", "lm_head.", "vocab_transform.", "vocab_layer_norm.", "vocab_projector.")
"""Names of the heads of pretraining. They are no part of the encoder, and are left out."""
OWN = ("embeddings.", "encoder.", "pooler.", "transformer.", *(f"{kind}." for kind in kinds.READ))
"""The beginnings of an encoder's names. Others belong to a head on top. It is left out, and a line says so."""

REQUIRED = {
    "position_embedding_type": ("absolute",),
    "is_decoder": (False,),
    "add_cross_attention": (False,),
    "pruned_heads": ({},),
}
"""Fields of config.json that change what is computed, and the values that are understood, the default first."""
NUMBERS = ("layer_norm_eps", "hidden_dropout_prob", "attention_probs_dropout_prob")
DEFAULTS = {"layer_norm_eps": 1e-12, "type_vocab_size": 2, "max_position_embeddings": 512}
"""The defaults of transformers for fields that an old config.json lacks."""
SIZES = {
    "vocab_size": "vocabulary",
    "type_vocab_size": "types",
    "num_hidden_layers": "layers",
    "num_attention_heads": "heads",
    "hidden_size": "width",
    "intermediate_size": "hidden",
}
GELUS: Mapping[str, Gelu] = {"gelu": "exact", "gelu_new": "tanh", "gelu_pytorch_tanh": "tanh"}


class Pretrained(NamedTuple):
    """What a checkpoint holds."""

    encoder: Encoder
    pooler: Linear | None
    """The dense layer for the first token, before a tanh. Not every file has one."""


def load_encoder(path: str | os.PathLike[str], *, tell: Tell = huggingface.untold) -> Pretrained:
    """An encoder from a local safetensors file with the names of Hugging Face's transformers, and its config.json.

    Args:
        path: of the file, or of a folder that holds `model.safetensors`, whole or in several files with an index.
            `config.json` lies beside the file.
        tell: called with a line if the file has the head of a tuned encoder, which is left out.

    Returns:
        The encoder in float32, with the file's dropout rates. It computes the same hidden states as transformers. A
        DistilBERT has one type of tokens, which adds zeros.

    Raises:
        ValueError: if a file is missing, truncated or of another kind, or an array is unknown, missing or of an
            unexpected shape. Also if the configuration asks for what this encoder does not have.

    Source: Devlin et al. 2019; Liu et al. 2019; Sanh et al. 2019; names as in transformers' `BertModel`,
    `RobertaModel` and `DistilBertModel`.
    """
    file = huggingface.weights_file(path)
    beside = file.parent / "config.json"
    kind = _kind(path, beside)
    arrays = _arrays(file, kind, tell)
    config = _config(beside, kind)
    _refuse_strangers(file, arrays, config, kind)
    leaves = leaves_of(arrays, config)
    empty = eqx.filter_eval_shape(lambda key: Encoder(config, key=key), jax.random.key(0))
    flat, structure = jax.tree.flatten_with_path(empty)
    weights = [jnp.asarray(leaves[jax.tree_util.keystr(at)], jnp.float32) for at, _ in flat]
    return Pretrained(jax.tree.unflatten(structure, weights), _pooler(arrays, config))


def _kind(path: str | os.PathLike[str], beside: Path) -> str:
    kind = kinds.model_type(Path(path))
    if kind == "gpt2":
        raise ValueError(f"{beside}: model_type is {kind!r}, which is not an encoder: load_gpt2 reads it")
    return kind


def _config(file: Path, kind: str) -> EncoderConfig:
    layout = Layout.ROBERTA if kind == Layout.ROBERTA else Layout.BERT
    there = {berts: theirs for theirs, berts in distilbert.FIELDS.items()} if kind == distilbert.NAME else {}
    said = DEFAULTS | huggingface.config_of(
        file,
        required=REQUIRED,
        numbers=[there.get(field, field) for field in NUMBERS],
        activation=there.get("hidden_act", "hidden_act"),
        gelus=GELUS,
    )
    if kind == distilbert.NAME:
        said = distilbert.config_of_bert(said)
    missing = [there.get(field, field) for field in (*SIZES, "max_position_embeddings") if field not in said]
    if missing:
        raise ValueError(f"{file} does not say {', '.join(missing)}, which the arrays alone do not tell")
    whole = {"pad_token_id": 1 if layout is Layout.ROBERTA else 0} | said
    for field in (*SIZES, "max_position_embeddings", "pad_token_id"):
        if type(whole[field]) is not int:
            name = there.get(field, field)
            raise ValueError(f"{file}: {name} must be a whole number, not {whole[field]!r}")
    rows, pad = whole["max_position_embeddings"], whole["pad_token_id"]
    fields: dict[str, Any] = {here: said[there] for there, here in SIZES.items()}
    try:
        return EncoderConfig(
            **fields,
            block=rows - pad - 1 if layout is Layout.ROBERTA else rows,
            layout=layout,
            pad=pad,
            dropout=said.get("hidden_dropout_prob", 0.1),
            attention_dropout=said.get("attention_probs_dropout_prob", 0.1),
            gelu=GELUS[said.get("hidden_act", "gelu")],
            epsilon=said["layer_norm_eps"],
        )
    except ValueError as error:
        raise ValueError(f"{file} describes no encoder: {error}") from None


def _arrays(file: Path, kind: str, tell: Tell) -> dict[str, np.ndarray]:
    """Arrays by BERT's names, without the prefix, the arrays of positions, and heads on top."""
    stored = huggingface.arrays_of(file, reader="load_encoder", prefix=f"{kind}.")
    if kind == distilbert.NAME:
        stored = distilbert.arrays_of_bert(stored)
    arrays: dict[str, np.ndarray] = {}
    for old, array in stored.items():
        if old in BUFFERS or not old.startswith(OWN):
            continue
        name = old
        for ending, today in OLD_NAMES.items():
            if old.endswith(ending):
                name = old.removesuffix(ending) + today
        if arrays.setdefault(name, array) is not array:
            raise ValueError(f"{file} holds {name!r} twice, also as an old name: which one counts?")
    on_top = sorted(name for name in stored if not name.startswith((*OWN, *PRETRAINING)))
    huggingface.tell_set_aside(file, on_top, tell)
    return arrays


def _refuse_strangers(file: Path, arrays: Mapping[str, np.ndarray], config: EncoderConfig, kind: str) -> None:
    """Refuse a file with arrays that the encoder does not have, without some that it has, or with other shapes."""

    def named(name: str) -> str:
        return distilbert.name_of_distilbert(name) if kind == distilbert.NAME else name

    expected = _shapes(config)
    pooler = {f"{POOLER}.weight": (config.width, config.width), f"{POOLER}.bias": (config.width,)}
    if any(name in arrays for name in pooler):
        expected |= pooler
    strangers = [name for name in arrays if name not in expected]
    if strangers:
        raise ValueError(
            f"{file} holds {huggingface.listed(repr(named(name)) for name in strangers)}, which a {kind} encoder "
            f"of {config.layers} layers does not have: is it another model's?"
        )
    theirs = {named(name): array for name, array in arrays.items()}
    huggingface.refuse_shapes(file, theirs, {named(name): shape for name, shape in expected.items()})
    huggingface.refuse_no_numbers(file, theirs)


def _shapes(config: EncoderConfig) -> dict[str, tuple[int, ...]]:
    """The shapes of all arrays but the pooler's, by name."""
    c, hidden = config.width, config.hidden_width
    shapes: dict[str, tuple[int, ...]] = dict(
        zip(
            OF_THE_MODEL,
            ((config.vocabulary, c), (config.positions, c), (config.types, c), (c,), (c,)),
            strict=True,
        )
    )
    weights = {name: (c, c) for name in (*STACKED, "attention.output.dense")}
    weights |= {"intermediate.dense": (hidden, c), "output.dense": (c, hidden)}
    weights |= {"attention.output.LayerNorm": (c,), "output.LayerNorm": (c,)}
    for number in range(config.layers):
        for name, shape in weights.items():
            shapes[f"encoder.layer.{number}.{name}.weight"] = shape
            shapes[f"encoder.layer.{number}.{name}.bias"] = shape[:1]
    return shapes


def leaves_of(arrays: Mapping[str, np.ndarray], config: EncoderConfig) -> Mapping[str, np.ndarray]:
    """Arrays by the paths of an encoder's leaves. transformers has linear layers (out, in), we have (in, out)."""
    leaves = {ours: arrays[name] for name, ours in OF_THE_MODEL.items()}
    for number in range(config.layers):
        there, here = f"encoder.layer.{number}", f".blocks[{number}]"
        for kind in ("weight", "bias"):
            for name, ours in OF_A_LAYER.items():
                leaves[f"{here}.{ours}.{kind}"] = arrays[f"{there}.{name}.{kind}"].T
            stacked = np.concatenate([arrays[f"{there}.{name}.{kind}"] for name in STACKED])
            leaves[f"{here}.mixing.inputs.{kind}"] = stacked.T
    return leaves


def _pooler(arrays: Mapping[str, np.ndarray], config: EncoderConfig) -> Linear | None:
    if f"{POOLER}.weight" not in arrays:
        return None
    empty = eqx.filter_eval_shape(lambda key: Linear(key, config.width, config.width), jax.random.key(0))
    weight, bias = (jnp.asarray(arrays[f"{POOLER}.{kind}"].T, jnp.float32) for kind in ("weight", "bias"))
    return eqx.tree_at(lambda layer: (layer.weight, layer.bias), empty, (weight, bias))
