"""Where training begins: first weights from a seed, or a pretrained encoder with a new head."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from attnlab_theory.labs.recipes import Size
from attnlab_theory.language.checkpoint import Saved, fingerprint_of_model, load_model
from attnlab_theory.language.models.classifier import Classifier, ClassifierConfig
from attnlab_theory.language.models.encoder_config import EncoderConfig
from attnlab_theory.language.models.model import refuse_too_large
from attnlab_theory.language.pretrained import minilm
from attnlab_theory.language.text.vocabulary import OfSentences
from attnlab_theory.seeds import key_for


@dataclasses.dataclass(frozen=True, kw_only=True)
class Start:
    """A model before its first step, for every seed."""

    config: ClassifierConfig
    first: Callable[[int], Classifier]
    """Makes the model, from the seed."""
    about: dict[str, Any] | None = None
    """What determines the first model besides the seed."""


def scratch(sizes: Size, text: OfSentences) -> Start:
    """First weights throughout.

    Raises:
        ValueError: if a size is out of range.
    """
    encoder = EncoderConfig(
        vocabulary=len(text),
        block=sizes.block,
        types=1,
        layers=sizes.layers,
        heads=sizes.heads,
        width=sizes.width,
        pad=text.pad,
        dropout=sizes.dropout,
        attention_dropout=sizes.dropout,
    )
    config = ClassifierConfig(encoder=encoder, dropout=sizes.dropout)
    refuse_too_large(config)
    return Start(config=config, first=lambda seed: Classifier(config, key=key_for(seed, "parameters")))


def pretrained() -> tuple[Start, OfSentences]:
    """A new head on the packaged MiniLM, and the vocabulary that it reads.

    Raises:
        ValueError: if the package is not installed, or its files are damaged.
    """
    encoder, text = minilm()

    def first(seed: int) -> Classifier:
        return Classifier.on(encoder, key=key_for(seed, "parameters"))

    config = ClassifierConfig(encoder=encoder.config)
    return Start(config=config, first=first, about={"pretrained": fingerprint_of_model(first(0))}), cast(
        OfSentences, text
    )


def read_model(path: Path) -> Saved:
    """A classifier of two labels that this lab trained.

    Raises:
        ValueError: if the file cannot be read, or holds another model.
    """
    saved = load_model(path)
    if not isinstance(saved.model, Classifier) or saved.model.config.classes != 2:
        raise ValueError(f"{path} holds no classifier of reviews; name a file that reviews train wrote")
    return saved
