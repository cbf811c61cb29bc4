"""attnlab reviews explain: which tokens of a line of your own speak for which label."""

import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from attnlab_theory.labs.reviews.commands.asking import Model, lines_for

if TYPE_CHECKING:
    from attnlab_theory.labs.reviews.explained import Explained


MANY = 200
"""Tokens from which on it is told that leaving each of them out takes a while."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Explain:
    """Score every token of every line: gradient times input, attention rollout, and what is lost without it.

    Positive gradients and losses speak for label 1. The largest scores, a fifth of the tokens, have a star. Below
    stands the probability of label 1 if they are covered, and the same for as many random tokens.
    """

    model: Model
    lines: Annotated[
        Path, tyro.conf.Positional, tyro.conf.arg(metavar="LINES", help="File with a text on each line.")
    ]
    seed: int = 0
    """Of the random tokens that are covered."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Ask and print."""
        from attnlab_theory import refuse
        from attnlab_theory.labs.reviews.explained import explain
        from attnlab_theory.labs.reviews.starts import read_model

        refuse.not_a_seed(self.seed)
        saved = read_model(self.model)
        texts, asked = lines_for(saved, self.lines)
        tokens = int((asked.lengths - 2).sum())
        if tokens >= MANY:
            print(f"{tokens} tokens are left out one by one: long lines take minutes", file=sys.stderr)
        found = explain(saved.model, saved.text, texts, asked, seed=self.seed)
        if self.json:
            print(json.dumps([_as_json(each) for each in found], indent=1, ensure_ascii=False))
        else:
            print("\n\n".join(map(_page, found)))
        return 0


def _as_json(found: "Explained") -> dict[str, Any]:
    tokens = [
        {"token": token, **{name: float(scores[place]) for name, scores in found.scores.items()}}
        for place, token in enumerate(found.tokens)
    ]
    told = {"text": found.text, "label": int(found.probability > 0.5), "probability": found.probability}
    return {**told, "tokens": tokens, "top": found.top, "probability_without": found.without}


def _page(found: "Explained") -> str:
    from attnlab_theory.language.corpora.reviews import NAMES

    name = NAMES[int(found.probability > 0.5)]
    width = max(16, *(len(token) for token in found.tokens))
    rows = [
        f"{token:{width}}" + "".join(_cell(found, name, place) for name in found.scores)
        for place, token in enumerate(found.tokens)
    ]
    covered = "".join(f" {found.without[name]:>13.3f} " for name in found.scores)
    return "\n".join(
        [
            f"{name}, probability of label 1: {found.probability:.3f}   {found.text}",
            f"{'':{width}}" + "".join(f" {name:>13} " for name in found.scores),
            *rows,
            f"{'without *':{width}}{covered}  without random ones: {found.without['random']:.3f}",
        ]
    )


def _cell(found: "Explained", name: str, place: int) -> str:
    return f" {found.scores[name][place]:>+13.3f}{'*' if place in found.top[name] else ' '}"
