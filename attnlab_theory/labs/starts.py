"""Where training begins: with first weights, or with a model that was trained before."""

from typing import Any

from attnlab_theory.language.checkpoint import Saved, fingerprint_of_model
from attnlab_theory.language.models.config import GPTConfig
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.models.model import untrained
from attnlab_theory.seeds import key_for

Start = GPTConfig | Saved
"""A configuration, for first weights from the recipe's seed, or a model to go on from."""


def config_of(start: Start) -> GPTConfig:
    """The configuration of the model."""
    return start.model.config if isinstance(start, Saved) else start


def first(start: Start, seed: int) -> GPT:
    """The model before the first step."""
    return start.model if isinstance(start, Saved) else untrained(GPT, start, key=key_for(seed, "parameters"))


def origin(start: Start) -> dict[str, Any] | None:
    """What the parameters follow from, besides the recipe; None for first weights."""
    if not isinstance(start, Saved):
        return None
    return {"parameters": fingerprint_of_model(start.model), "origin": start.about.get("origin")}
