"""All numbers that the lab asks of its models and of what they write."""

import dataclasses
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.labs.captions import heads
from attnlab_theory.labs.captions.lab import Lab
from attnlab_theory.labs.captions.scores import openings
from attnlab_theory.labs.captions.sweep import Named, Row
from attnlab_theory.labs.estimates import Estimate, Estimates, mean, over_generations, over_seeds
from attnlab_theory.labs.options import Mean
from attnlab_theory.labs.perplexity import FLOOR_ERROR_RATE, OVER_SENTENCES, Losses, above_the_grammar, losses
from attnlab_theory.labs.sentences import Encoded, Material, encoded
from attnlab_theory.labs.training import best_epoch, by_epoch
from attnlab_theory.labs.verdicts import ERROR_RATE
from attnlab_theory.language.corpora.grammar import Grammar
from attnlab_theory.stats import Interval

LOOKED_AT = 200
"""Sentences on which single heads are looked at."""

DRAWN = 20_000
"""Captions that are drawn to compare them with what the grammar states."""

BASE = "scratch"
"""The arm that the others are compared with."""

SHARES = ("forward", "backward", "harmonic", "commonest_opening", "distinct", "repeating")
"""Scores that lie between 0 and 1."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Judged:
    """The losses of one trained model."""

    arm: str
    seed: int
    test: Losses
    learned: Losses
    """On sentences that it was trained on."""
    validated: tuple[float, ...]
    """The validation loss after every epoch."""
    trained: tuple[float, ...]
    """The training loss of every epoch, while the model changes and with dropout."""
    mean: Mean
    """What weighs the same in both."""
    above: np.ndarray | None
    """For every test sentence that was not cut: its loss less that under the grammar, in nats per token."""

    @property
    def gap(self) -> float:
        """The validation loss less the training loss, both of the finished model."""
        learned = self.learned.per_sentence if self.mean == "sentences" else self.learned.per_token
        return min(self.validated) - learned

    @property
    def trained_on(self) -> float:
        """The training loss of the last epoch less that of the best one, after which the validation loss rises."""
        return self.trained[-1] - self.trained[best_epoch(self.validated) - 1]

    @property
    def summary(self) -> "Summary":
        """What comparisons over seeds are made of."""
        numbers = {
            "perplexity of sentences": self.test.perplexity_of_sentences,
            "perplexity of tokens": self.test.perplexity_of_tokens,
            "test loss": self.test.per_token,
            "best epoch": float(best_epoch(self.validated)),
            "validation loss less training loss": self.gap,
            "training loss less that of the best epoch": self.trained_on,
        }
        return Summary(arm=self.arm, seed=self.seed, numbers=numbers)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Summary:
    """A trained model as one number for each quantity: all that is kept of it when runs are joined."""

    arm: str
    seed: int
    numbers: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """All numbers in one level."""
        return {"arm": self.arm, "seed": self.seed, **self.numbers}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Summary":
        """What `as_json` wrote."""
        numbers = {name: float(number) for name, number in value.items() if name not in ("arm", "seed")}
        return cls(arm=value["arm"], seed=value["seed"], numbers=numbers)


def ask(model: Named, material: Material, lab: Lab) -> Judged:
    """The losses of one model, on its test sentences and on as many of training."""
    test = _encoded(material.test, material, lab)
    learned = _encoded(material.train[: len(material.test)], material, lab)
    found = losses(model.saved.model, test)
    return Judged(
        arm=model.arm,
        seed=model.seed,
        test=found,
        learned=losses(model.saved.model, learned),
        validated=tuple(model.saved.about["validated"]),
        trained=by_epoch(model.saved.about["losses"], len(model.saved.about["validated"])),
        mean=lab.mean,
        above=None
        if material.grammar is None
        else above_the_grammar(found, material.test, material.grammar, lab.preset.block),
    )


def _encoded(sentences: Sequence[str], material: Material, lab: Lab) -> Encoded:
    return encoded(sentences, material.text, lab.preset.block, longer=lab.longer, source=material.source)


def measure(models: Sequence[Summary]) -> Estimates:
    """Perplexities, epochs and gaps by arm, and by how much they differ from those of `BASE`.

    A quantity that not all models of an arm have is left out.
    """
    found: list[Estimate] = []
    for name, of_arm in _by_arm(models):
        for quantity in of_arm[0].numbers:
            values = [model.numbers[quantity] for model in of_arm if quantity in model.numbers]
            if len(values) == len(of_arm):
                within = Interval(-math.inf if "less" in quantity else 0.0, math.inf)
                found.append(over_seeds(quantity, values, ERROR_RATE, within=within, arm=name))
    return Estimates((*found, *_against_base(models)))


def above_the_floor(models: Iterable[Judged]) -> Estimates:
    """How far each model lies above the grammar's own loss, where a grammar is known."""
    return Estimates(
        mean("loss above the grammar", m.above, OVER_SENTENCES, FLOOR_ERROR_RATE, arm=m.arm, seed=m.seed)
        for m in models
        if m.above is not None
    )


def about_the_language(language: Grammar, seed: int) -> Estimates:
    """What is said of the grammar, on captions of their own: their log-probabilities, and their derivations.

    Args:
        language: a grammar.
        seed: of what is drawn.
    """
    rng = random.Random(f"about the language {seed}")
    derived = [language.derive(rng) for _ in range(DRAWN)]
    parsed = np.array([language.log_probability(each.words) for each in derived])
    apart = float(np.max(np.abs(parsed - [each.log_probability for each in derived])))
    told = {"seed": seed, "entropy": language.entropy}
    logs = mean("log-probability of a caption", parsed, OVER_SENTENCES, FLOOR_ERROR_RATE, **told)
    return Estimates((logs, _known("log-probability by derivation less by parsing", apart, DRAWN)))


def _by_arm(models: Sequence[Summary]) -> Iterator[tuple[str, list[Summary]]]:
    for name in dict.fromkeys(model.arm for model in models):
        yield name, [model for model in models if model.arm == name]


def _against_base(models: Sequence[Summary]) -> Iterator[Estimate]:
    """Of each arm, by how much its numbers exceed those of `BASE`, over the seeds that both have."""
    base = {model.seed: model.numbers for model in models if model.arm == BASE}
    gained = {
        "test loss gained": "test loss",
        "epochs gained": "best epoch",
        "gap gained": "validation loss less training loss",
    }
    for name, of_arm in _by_arm(models):
        pairs = [(model.numbers, base[model.seed]) for model in of_arm if model.seed in base]
        if name == BASE or not pairs:
            continue
        for quantity, number in gained.items():
            if all(number in own and number in others for own, others in pairs):
                values = [own[number] - others[number] for own, others in pairs]
                within = Interval(-math.inf, math.inf)
                yield over_seeds(quantity, values, ERROR_RATE, within=within, arm=name, against=BASE)


def look_at_heads(model: Named, material: Material, lab: Lab) -> Estimates:
    """What each head of a model is worth, and how far it spreads its weight."""
    sentences = _encoded(material.test[:LOOKED_AT], material, lab)
    worth, spread = heads.worth(model.saved.model, sentences), heads.entropies(model.saved.model, sentences)
    found = []
    for layer, head in np.ndindex(spread.shape):
        told = {"arm": model.arm, "seed": model.seed, "layer": layer, "head": head}
        told["entropy"] = round(float(spread[layer, head]), 4)
        found.append(mean("worth of a head", worth[layer, head], OVER_SENTENCES, ERROR_RATE, **told))
    return Estimates(found)


def compare(rows: Sequence[Row]) -> Estimates:
    """The scores of every arm and decoding of a sweep, and what temperature and cut change."""
    found: list[Estimate] = []
    for name, decoding in dict.fromkeys((row.arm, row.decoding) for row in rows):
        chosen = [row for row in rows if (row.arm, row.decoding) == (name, decoding)]
        told = {"arm": name, "decoding": decoding}
        for score in SHARES:
            found.append(_mean_score(score, chosen, Interval(0.0, 1.0), **told))
        found.append(_mean_score("openings", chosen, Interval(0.0, math.inf), **told))
        plain = [row for row in rows if (row.arm, row.decoding) == (name, "random")]
        if plain and decoding != "random":
            for score in ("forward", "backward", "harmonic", "commonest_opening"):
                found.append(_gain(score, chosen, plain, **told, against="random"))
        seeds = {row.seed for row in chosen}
        base = [row for row in rows if (row.arm, row.decoding) == (BASE, decoding) and row.seed in seeds]
        if base and name != BASE:
            for score in ("forward", "backward", "harmonic"):
                found.append(_gain(score, chosen, base, **told, against=BASE))
    return Estimates(found)


def about_real(sentences: Sequence[Sequence[Any]]) -> Estimates:
    """How real sentences begin; each is a row of tokens."""
    begun, count = openings(sentences), len(sentences)
    common = _known("commonest opening of real sentences", max(begun.values()) / count, count)
    return Estimates((common, _known("openings of real sentences", float(len(begun)), count)))


def _known(quantity: str, value: float, draws: int) -> Estimate:
    told = "counted: these very sentences are meant"
    point = Interval.point(value)
    return Estimate(
        quantity=quantity, setting={}, value=value, interval=point, draws=draws, bound=told, error_rate=0.0
    )


def _mean_score(score: str, rows: Iterable[Row], within: Interval, **told: Any) -> Estimate:
    return _over({(row.seed, row.generation): _score(row, score) for row in rows}, score, within, told)


def _gain(score: str, rows: Iterable[Row], others: Iterable[Row], **told: Any) -> Estimate:
    before = {(row.seed, row.generation): _score(row, score) for row in others}
    after = {(row.seed, row.generation): _score(row, score) for row in rows}
    gained = {at: after[at] - before[at] for at in after.keys() & before.keys()}
    return _over(gained, f"{score} gained", Interval(-1.0, 1.0), told)


def _score(row: Row, score: str) -> float:
    return float(getattr(row.scores, score))


def _over(
    values: Mapping[tuple[int, int], float], quantity: str, within: Interval, told: Mapping[str, Any]
) -> Estimate:
    """Over seeds of training, one number for each; with one seed over generations, which tell of no other."""
    seeds = sorted({seed for seed, _ in values})
    by_seed = [[values[at] for at in sorted(values) if at[0] == seed] for seed in seeds]
    if len(seeds) == 1:
        return over_generations(quantity, by_seed[0], ERROR_RATE, within=within, **told)
    means = [float(np.mean(each)) for each in by_seed]
    return over_seeds(quantity, means, ERROR_RATE, within=within, **told)
