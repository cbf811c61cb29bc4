"""Models from which training can start: one of this lab, or the first layers of GPT-2."""

import dataclasses
from pathlib import Path

import equinox as eqx
import jax

from attnlab_theory.labs.sentences import Material
from attnlab_theory.language.checkpoint import Saved, load_model
from attnlab_theory.language.models import huggingface
from attnlab_theory.language.models.gpt import GPT, load_gpt2
from attnlab_theory.language.text.bpe import BPE
from attnlab_theory.language.text.own_tokens import OwnTokens

HEADS = 12
"""The number of heads of the first published GPT-2, for a file without a `config.json`."""


def read_model(path: Path, **sizes: int) -> Saved:
    """A model of this lab with the given sizes.

    Raises:
        ValueError: if the file cannot be read, or the model has another size or reads no sentences.
    """
    saved = load_model(path)
    if not isinstance(saved.model, GPT) or saved.text.as_json()["kind"] == "characters":
        raise ValueError(f"{path} holds no model of sentences; name a file that captions train wrote")
    for name, size in sizes.items():
        theirs = getattr(saved.model.config, name)
        if theirs != size:
            raise ValueError(f"{path} holds a model with {name} {theirs}, not {size}; leave the option out")
    return saved


def refuse_other_grammar(path: Path, saved: Saved, drawn: Material) -> None:
    """Refuse to test a model on the embedded grammar if it has learned other words.

    Raises:
        ValueError: naming the file.
    """
    if saved.text.as_json() != drawn.text.as_json():
        raise ValueError(f"{path} was not trained on the embedded grammar: name sentences with --test")


def cut_gpt2(path: Path, *, layers: int, block: int, dropout: float) -> Saved:
    """The first layers of GPT-2, with an output layer of its own that starts as the token embedding.

    Args:
        path: of GPT-2's file, or of a folder that holds `model.safetensors`.
        layers: how many of the layers are kept.
        block: how many of the positions are kept.
        dropout: the rate of all dropouts.

    Raises:
        ValueError: if the file is refused, has fewer layers or positions or another vocabulary, or other tokens lie
            beside it.

    Source: Tsinghua University, Artificial Neural Networks, homework 3: three layers of twelve.
    """
    path = huggingface.folder_of(path) if path.is_dir() else path
    text, beside = BPE(), path.with_name("config.json")
    whole = load_gpt2(path, heads=None if beside.exists() or path.is_dir() else HEADS)
    config = whole.config
    for name, wanted in {"layers": layers, "block": block}.items():
        if getattr(config, name) < wanted:
            raise ValueError(f"{path} has {name} {getattr(config, name)}, fewer than the {wanted} that are wanted")
    if config.vocabulary != len(text):
        raise ValueError(f"{path} has {config.vocabulary} tokens, not GPT-2's {len(text)}")
    folder = path if path.is_dir() else path.parent
    own = OwnTokens.of_folder(folder)
    if own is not None:
        own.refuse_another_than_gpt2s(folder)
    rates = dict.fromkeys(("embedding_dropout", "residual_dropout", "attention_dropout"), dropout)
    smaller = dataclasses.replace(config, layers=layers, block=block, tied=False, **rates)
    model = GPT(smaller, key=jax.random.key(0))
    assert model.head is not None
    positions = None if whole.positions is None else whole.positions[:block]
    # Every layer knows the block and the rates, which are the smaller model's.
    kept = jax.tree.unflatten(jax.tree.structure(model.blocks), jax.tree.leaves(whole.blocks[:layers]))
    model = eqx.tree_at(
        lambda m: (m.tokens, m.positions, m.blocks, m.ln_f.weight, m.ln_f.bias, m.head.weight),
        model,
        (whole.tokens, positions, kept, whole.ln_f.weight, whole.ln_f.bias, whole.tokens.T),
    )
    return Saved(model, text, {"origin": {"gpt2": path.name, "layers": layers}})
