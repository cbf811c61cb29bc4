"""From the name of a model to its heads before a text: the one place that knows which kinds of models there are."""

from collections.abc import Sequence
from pathlib import Path

from attnlab_theory.labs.heads import encoder, gpt
from attnlab_theory.labs.heads.encoder import EncoderReading
from attnlab_theory.labs.heads.gpt import GPTReading
from attnlab_theory.labs.heads.parts import OF_LABELS, PartName
from attnlab_theory.labs.heads.texts import Text
from attnlab_theory.language import pretrained
from attnlab_theory.language.checkpoint import load_model
from attnlab_theory.language.models.classifier import Classifier
from attnlab_theory.language.models.gpt import GPT, load_gpt2
from attnlab_theory.language.models.huggingface import json_object
from attnlab_theory.language.text.bpe import BPE
from attnlab_theory.language.text.vocabulary import OfSentences

AnyReading = EncoderReading | GPTReading

MINILM = "minilm"
"""The name of the encoder that a package carries. A file of this name is called ./minilm."""


def opened(model: Path, sentences: Sequence[str]) -> AnyReading:
    """A model with sentences before it.

    Args:
        model: `minilm` for the encoder that a package carries; a checkpoint of a GPT or of a classifier that a lab
            wrote; or a folder with the files of GPT-2, BERT or RoBERTa as transformers writes them.
        sentences: what it reads.

    Raises:
        ValueError: if there is no such model, it is of a kind whose heads nobody can read yet, or as its loader.
    """
    if str(model) == MINILM:
        return encoder.reading(*pretrained.minilm(), sentences)
    if model.is_dir():
        if json_object(model / "config.json").get("model_type") == "gpt2":
            return _gpt2(model, sentences)
        return encoder.reading(*pretrained.load_folder(model), sentences)
    saved = load_model(model)
    if isinstance(saved.model, GPT):
        return gpt.reading(saved.model, saved.text, sentences)
    if isinstance(saved.model, Classifier) and isinstance(saved.text, OfSentences):
        return encoder.reading(saved.model, saved.text, sentences)
    raise ValueError(
        f"{model} holds a {type(saved.model).__name__} that reads {saved.text.as_json()['kind']}: "
        "the lab reads the heads of GPTs, and of classifiers of sentences"
    )


def _gpt2(model: Path, sentences: Sequence[str]) -> GPTReading:
    """A folder of GPT-2's files, whose vocabulary is taken for GPT-2's own."""
    found, text = load_gpt2(model), BPE()
    if found.config.vocabulary < len(text):
        raise ValueError(
            f"{model} knows {found.config.vocabulary:,} tokens, and GPT-2's vocabulary has {len(text):,}: name a "
            "model that reads GPT-2's vocabulary"
        )
    return gpt.reading(found, text, sentences)


def refuse_without_labels(parts: Sequence[PartName], model: Path, reading: AnyReading, text: Text) -> None:
    """Refuse parts that ask how often labels are right, where the text has none or the model gives none.

    Raises:
        ValueError: naming the part and the remedy.
    """
    for part in (part for part in parts if part in OF_LABELS):
        asks = f"{part} ask how often labels are right"
        if text.labels is None:
            raise ValueError(
                f"{asks}, and {text.source} is read without any: write each line as LABEL text and say --labelled"
            )
        if not isinstance(reading, EncoderReading) or reading.classifier is None:
            raise ValueError(f"{asks}, and {model} gives none: name a classifier that reviews train wrote")
        if reading.classifier.config.classes != 2:
            raise ValueError(f"{asks}, 0 or 1, and {model} has {reading.classifier.config.classes} classes")
