"""Captions by every model with every decoding, and their scores against real ones."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from rich.table import Table

from attnlab_theory import refuse
from attnlab_theory.labs import tables
from attnlab_theory.labs.captions.arms import BASE, DECODINGS, DecodingName
from attnlab_theory.labs.captions.generate import Tokens, as_lines, captions, side
from attnlab_theory.labs.captions.lab import Model
from attnlab_theory.labs.captions.scores import Scores, openings, scores
from attnlab_theory.labs.estimates import Estimate, Estimates, known, over_generations, over_seeds
from attnlab_theory.labs.verdicts import ERROR_RATE
from attnlab_theory.language.decode import Sampling
from attnlab_theory.language.text.bleu import References
from attnlab_theory.language.text.vocabulary import OfSentences
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval

SHARES = ("forward", "backward", "harmonic", "commonest_opening", "distinct", "repeating")
"""Scores that lie between 0 and 1."""

SHOWN = 8
"""The number of captions of each kind that are shown side by side."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """The scores of one set of captions."""

    arm: str
    seed: int
    """The seed of the training."""
    decoding: str
    generation: int
    """The number of the generation. Each generation of a model is independent of the others."""
    scores: Scores

    def as_json(self) -> dict[str, Any]:
        """All numbers in one level."""
        own = {"arm": self.arm, "seed": self.seed, "decoding": self.decoding, "generation": self.generation}
        return {**own, **vars(self.scores), "harmonic": self.scores.harmonic}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Row":
        """What `as_json` wrote."""
        own = {name: value[name] for name in ("arm", "seed", "decoding", "generation")}
        return cls(**own, scores=Scores(**{field.name: value[field.name] for field in dataclasses.fields(Scores)}))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Generated:
    """One set of captions and its scores."""

    row: Row
    captions: Sequence[Tokens]
    text: OfSentences
    """The vocabulary of their tokens."""

    @property
    def name(self) -> str:
        """Arm and decoding."""
        return f"{self.row.arm}.{self.row.decoding}"

    @property
    def lines(self) -> str:
        """All captions, one on each line."""
        return "".join(f"{line}\n" for line in as_lines(self.captions, self.text))

    @property
    def sample(self) -> str:
        """Some of the captions, to be read beside others."""
        return side(self.name, self.captions[:SHOWN], self.text)


def sampling(name: str) -> Sampling:
    """The law of a decoding, by its name.

    Raises:
        ValueError: if there is none.
    """
    if name not in DECODINGS:
        raise ValueError(f"a decoding is one of {', '.join(DECODINGS)}, not {name!r}")
    return Sampling(**DECODINGS[name])  # pyright: ignore[reportArgumentType]


def sweep(
    models: Sequence[Model], real: Sequence[str], names: Sequence[DecodingName], *, count: int, generations: int
) -> Iterator[Generated]:
    """Generate captions with every model and decoding, and score them.

    Args:
        models: the models that write.
        real: sentences for comparison.
        names: of decodings.
        count: captions of one set.
        generations: independent sets for each model and decoding.

    Raises:
        ValueError: if a decoding is unknown, or a number is not a positive whole number.
    """
    refuse.not_a_size(count=count, generations=generations)
    laws = {name: sampling(name) for name in names}
    texts: dict[str, tuple[list[Tokens], References]] = {}
    for model in models:
        text = model.saved.text
        kind = str(text.as_json())
        if kind not in texts:
            tokens = [tuple(text.encode_text(sentence).tolist()) for sentence in real]
            texts[kind] = tokens, References(tokens)
        tokens, references = texts[kind]
        for name, law in laws.items():
            for number in range(generations):
                key = key_for(model.seed, "captions", name, str(number))
                drawn = captions(key, model.saved.model, text, count, choosing=law)
                found = scores(drawn, tokens, references)
                row = Row(arm=model.arm, seed=model.seed, decoding=name, generation=number, scores=found)
                yield Generated(row=row, captions=drawn, text=text)


def compare(rows: Sequence[Row]) -> Estimates:
    """The scores of every arm and decoding of a sweep, and the effects of temperature and cuts."""
    found: list[Estimate] = []
    for arm, decoding in dict.fromkeys((row.arm, row.decoding) for row in rows):
        chosen = [row for row in rows if (row.arm, row.decoding) == (arm, decoding)]
        told = {"arm": arm, "decoding": decoding}
        for score in (*SHARES, "openings"):
            within = Interval(0.0, 1.0 if score in SHARES else math.inf)
            found.append(_over(_by_run(chosen, score), score, within, told))
        plain = [row for row in rows if (row.arm, row.decoding) == (arm, "random")]
        if plain and decoding != "random":
            for score in ("forward", "backward", "harmonic", "commonest_opening"):
                found.append(_gain(score, chosen, plain, **told, against="random"))
        seeds = {row.seed for row in chosen}
        base = [row for row in rows if (row.arm, row.decoding) == (BASE, decoding) and row.seed in seeds]
        if base and arm != BASE:
            for score in ("forward", "backward", "harmonic"):
                found.append(_gain(score, chosen, base, **told, against=BASE))
    return Estimates(found)


def about_real(sentences: Sequence[Tokens]) -> Estimates:
    """The openings of real sentences."""
    begun, count = openings(sentences), len(sentences)
    numbers = {
        "commonest opening of real sentences": max(begun.values()) / count,
        "openings of real sentences": float(len(begun)),
    }
    told = "counted: these very sentences are meant"
    return Estimates(known(name, number, count, told) for name, number in numbers.items())


def table(estimates: Estimates) -> Table:
    """BLEU by arm and decoding, and the shares of distinct captions and of the commonest opening."""
    shown = tables.table(["model", "decoding"], ["forward", "backward", "harmonic", "distinct", "opening"])
    for each in estimates.of("forward"):
        scored = ("forward", "backward", "harmonic", "distinct", "commonest_opening")
        numbers = (estimates.of(score, **each.setting)[0].value for score in scored)
        shown.add_row(each.setting["arm"], each.setting["decoding"], *(f"{number:.3f}" for number in numbers))
    return shown


def _by_run(rows: Sequence[Row], score: str) -> dict[tuple[int, int], float]:
    """A score by the seed of training and the number of the generation."""
    return {(row.seed, row.generation): float(getattr(row.scores, score)) for row in rows}


def _gain(score: str, rows: Sequence[Row], others: Sequence[Row], **told: Any) -> Estimate:
    after, before = _by_run(rows, score), _by_run(others, score)
    gained = {at: after[at] - before[at] for at in after.keys() & before.keys()}
    return _over(gained, f"{score} gained", Interval(-1.0, 1.0), told)


def _over(
    values: Mapping[tuple[int, int], float], quantity: str, within: Interval, told: Mapping[str, Any]
) -> Estimate:
    """An estimate over seeds of training. With one seed it is over generations, and says nothing of other seeds."""
    seeds = sorted({seed for seed, _ in values})
    by_seed = [[values[at] for at in sorted(values) if at[0] == seed] for seed in seeds]
    if len(seeds) == 1:
        return over_generations(quantity, by_seed[0], ERROR_RATE, within=within, **told)
    means = [float(np.mean(each)) for each in by_seed]
    return over_seeds(quantity, means, within=within, **told)
