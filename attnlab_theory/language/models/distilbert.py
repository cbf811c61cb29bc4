"""DistilBERT's checkpoints in BERT's terms: the same layers under other names, without types of tokens.

Source: Sanh et al. 2019; names as in transformers' `DistilBertModel`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

NAME = "distilbert"

FIELDS = {
    "vocab_size": "vocab_size",
    "max_position_embeddings": "max_position_embeddings",
    "pad_token_id": "pad_token_id",
    "dim": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "hidden_dim": "intermediate_size",
    "activation": "hidden_act",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
}
"""Fields of config.json there, and in BERT's."""

OF_A_LAYER = {
    "attention.q_lin.": "attention.self.query.",
    "attention.k_lin.": "attention.self.key.",
    "attention.v_lin.": "attention.self.value.",
    "attention.out_lin.": "attention.output.dense.",
    "sa_layer_norm.": "attention.output.LayerNorm.",
    "ffn.lin1.": "intermediate.dense.",
    "ffn.lin2.": "output.dense.",
    "output_layer_norm.": "output.LayerNorm.",
}
"""Names of arrays there, and in BERT's."""

TYPES = "embeddings.token_type_embeddings.weight"


def config_of_bert(config: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a config.json under BERT's names. All other fields stay."""
    named = {FIELDS.get(field, field): value for field, value in config.items()}
    return named | {"type_vocab_size": 1, "layer_norm_eps": 1e-12}


def name_of_bert(name: str) -> str:
    """The name of an array in BERT's files. Other names stay."""
    if not name.startswith("transformer.layer."):
        return name
    number, _, rest = name.removeprefix("transformer.layer.").partition(".")
    for theirs, berts in OF_A_LAYER.items():
        if rest.startswith(theirs):
            return f"encoder.layer.{number}.{berts}{rest.removeprefix(theirs)}"
    return name


def name_of_distilbert(name: str) -> str:
    """The name of an array in DistilBERT's files, for error messages: the inverse of `name_of_bert`."""
    if not name.startswith("encoder.layer."):
        return name
    number, _, rest = name.removeprefix("encoder.layer.").partition(".")
    for theirs, berts in OF_A_LAYER.items():
        if rest.startswith(berts):
            return f"transformer.layer.{number}.{theirs}{rest.removeprefix(berts)}"
    return name


def arrays_of_bert(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays under BERT's names, with one type of tokens that adds nothing."""
    named = {name_of_bert(name): array for name, array in arrays.items()}
    words = named.get("embeddings.word_embeddings.weight")
    if words is not None and words.ndim == 2:
        named.setdefault(TYPES, np.zeros((1, words.shape[1]), np.float32))
    return named
