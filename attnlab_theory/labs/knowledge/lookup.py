"""The head that looks up the name: it gives most weight to the name when the answer begins."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from attnlab_theory.labs.estimates import Estimate, Estimates, mean
from attnlab_theory.labs.knowledge.answers import Answers
from attnlab_theory.labs.knowledge.corpora.birthplaces import QUESTION
from attnlab_theory.language.models.attention_maps import attention_maps
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.text.characters import MASK, Characters
from attnlab_theory.stats import bounded

PERSONS = 100
"""The most persons. Their weights in all heads lie in memory at once."""

SHOWN = 2
"""The persons about whom the maps of all heads are kept."""


@dataclasses.dataclass(frozen=True)
class Map:
    """The weights of one head while the model answers one question."""

    variant: str
    seed: int
    layer: int
    head: int
    name: str
    characters: str
    """The question, its mark and the answer, cut at the model's block."""
    weights: Float[np.ndarray, "t t"]

    def as_json(self) -> dict[str, Any]:
        """The fields by name, weights to three digits. A row ends at its own character: later ones get nothing."""
        rows = [[round(float(weight), 3) for weight in row[: at + 1]] for at, row in enumerate(self.weights)]
        return {**dataclasses.asdict(self), "weights": rows}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Map":
        """The map that `as_json` wrote. Older versions wrote whole rows.

        Raises:
            TypeError: if a field is missing or unknown.
        """
        weights = np.zeros((len(value["weights"]),) * 2)
        for place, row in zip(weights, value["weights"], strict=True):
            place[: len(row)] = row
        return cls(**{**value, "weights": weights})


def on_the_name(model: GPT, characters: Characters, answers: Answers, error_rate: float) -> Estimates:
    """`weight on the name` of every head, averaged over persons. Heads are counted from 1.

    It is the weight that the mark after the question gives to the characters of the name. The first letter of the
    answer is predicted at that mark.

    Args:
        model: one that answered.
        characters: its vocabulary.
        answers: about the persons to average over. Only the first hundred count.
        error_rate: of each interval.

    Raises:
        ValueError: if the mixer has no weights, or the tokens do not fit into the block.
    """
    chosen = Answers(answers[:PERSONS])
    questions = [QUESTION.format(name=answer.name) for answer in chosen]
    weights = _weights(model, characters, [question + MASK for question in questions])
    found = np.zeros((len(chosen), *weights.shape[1:3]))
    for row, (answer, question) in enumerate(zip(chosen, questions, strict=True)):
        start = QUESTION.index("{name}")
        found[row] = weights[row, :, :, len(question), start : start + len(answer.name)].sum(axis=-1)
    draws, bound = np.clip(found, 0.0, 1.0), bounded(0.0, 1.0)
    return Estimates(
        mean("weight on the name", draws[:, layer, head], bound, error_rate, **_head(chosen, layer, head))
        for layer in range(draws.shape[1])
        for head in range(draws.shape[2])
    )


def lookup(model: GPT, characters: Characters, answers: Answers, heads: Estimates) -> list[Map]:
    """The maps of all heads for the first two persons with right answers, or else the first two.

    The first map is that of the head with the most weight on the name.

    Args:
        model: one that answered.
        characters: its vocabulary.
        answers: about the persons.
        heads: the estimates of `on_the_name`.
    """
    best: Estimate = max(heads, key=lambda estimate: estimate.value)
    order = [best, *(head for head in heads if head is not best)]
    persons = sorted(answers, key=lambda answer: not answer.is_right)[:SHOWN]
    texts = [f"{QUESTION.format(name=p.name)}{MASK}{p.predicted}"[: model.config.longest] for p in persons]
    maps = []
    for person, text in zip(persons, texts, strict=True):
        weights = _weights(model, characters, [text])[0]
        for head in order:
            place = (head.setting["layer"], head.setting["head"])
            shown = weights[place[0] - 1, place[1] - 1]
            maps.append(Map(person.variant, person.seed, *place, person.name, text, shown))
    return maps


def _head(answers: Answers, layer: int, head: int) -> dict[str, Any]:
    return {"variant": answers[0].variant, "seed": answers[0].seed, "layer": layer + 1, "head": head + 1}


def _weights(model: GPT, characters: Characters, texts: list[str]) -> Float[np.ndarray, "n layers h t t"]:
    """The weights of all heads for all texts. Short texts are filled up at the end, which no character sees."""
    tokens = np.zeros((len(texts), max(map(len, texts))), np.int32)
    for row, encoded in enumerate(characters.encode_lines(texts)):
        tokens[row, : len(encoded)] = encoded
    return np.asarray(attention_maps(model, jnp.asarray(tokens)))
