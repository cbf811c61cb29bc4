"""From the name of a model to its heads before a text: the one place that knows which kinds of models there are."""

from collections.abc import Sequence
from pathlib import Path

from attnlab_theory.labs.heads import gpt
from attnlab_theory.labs.heads.traces import Reading
from attnlab_theory.language.checkpoint import load_model
from attnlab_theory.language.models.gpt import GPT, load_gpt2
from attnlab_theory.language.text.bpe import BPE


def opened(model: Path, sentences: Sequence[str]) -> Reading:
    """A model with sentences before it.

    Args:
        model: a checkpoint of a GPT that a lab wrote, or a folder with GPT-2's safetensors file and configuration.
        sentences: what it reads.

    Raises:
        ValueError: if there is no such model, it is of a kind whose heads nobody can read yet, or as its loader.
    """
    if model.is_dir():
        return gpt.reading(load_gpt2(model), BPE(), sentences)
    saved = load_model(model)
    if not isinstance(saved.model, GPT):
        raise ValueError(f"{model} holds a {type(saved.model).__name__}, and the lab reads the heads of a GPT only")
    return gpt.reading(saved.model, saved.text, sentences)
