"""All numbers that the lab asks of its models and of what they write."""

import dataclasses
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.labs.captions import heads
from attnlab_theory.labs.captions.lab import Lab
from attnlab_theory.labs.captions.scores import openings
from attnlab_theory.labs.captions.sweep import Named, Row
from attnlab_theory.labs.estimates import Estimate, Estimates, mean, over_seeds
from attnlab_theory.labs.options import Mean
from attnlab_theory.labs.perplexity import FLOOR_ERROR_RATE, OVER_SENTENCES, Losses, above_the_grammar, losses
from attnlab_theory.labs.sentences import Encoded, Material, encoded
from attnlab_theory.labs.training import best_epoch, by_epoch
from attnlab_theory.language.corpora.grammar import Grammar
from attnlab_theory.stats import Interval

ERROR_RATE = 0.05
"""The error rate of each interval and verdict, but that of the floor."""

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


def measure(judged_models: Sequence[Judged]) -> Estimates:
    """Perplexities, epochs, gaps and distances from the grammar, by arm."""
    found: list[Estimate] = []
    for name, models in _by_arm(judged_models):
        numbers: dict[str, Callable[[Judged], float]] = {
            "perplexity of sentences": lambda m: m.test.perplexity_of_sentences,
            "perplexity of tokens": lambda m: m.test.perplexity_of_tokens,
            "test loss": lambda m: m.test.per_token,
            "best epoch": lambda m: float(best_epoch(m.validated)),
            "validation loss less training loss": lambda m: m.gap,
            "training loss less that of the best epoch": lambda m: m.trained_on,
        }
        for quantity, number in numbers.items():
            within = Interval(-math.inf if "less" in quantity else 0.0, math.inf)
            values = [number(model) for model in models]
            found.append(over_seeds(quantity, values, ERROR_RATE, within=within, arm=name))
        for model in models:
            if model.above is not None:
                told = {"arm": name, "seed": model.seed}
                found.append(mean("loss above the grammar", model.above, OVER_SENTENCES, FLOOR_ERROR_RATE, **told))
    found += _against_base(judged_models)
    return Estimates(found)


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


def _by_arm(judged_models: Sequence[Judged]) -> Iterator[tuple[str, list[Judged]]]:
    for name in dict.fromkeys(model.arm for model in judged_models):
        yield name, [model for model in judged_models if model.arm == name]


def _against_base(judged_models: Sequence[Judged]) -> Iterator[Estimate]:
    """Of each arm, by how much its numbers exceed those of `BASE`, seed by seed."""
    base = {model.seed: model for model in judged_models if model.arm == BASE}
    if not base:
        return
    numbers: dict[str, Callable[[Judged], float]] = {
        "test loss gained": lambda m: m.test.per_token,
        "epochs gained": lambda m: float(best_epoch(m.validated)),
        "gap gained": lambda m: m.gap,
    }
    for name, models in _by_arm(judged_models):
        if name != BASE:
            for quantity, number in numbers.items():
                values = [number(model) - number(base[model.seed]) for model in models]
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


def compare(rows: Sequence[Row], real: Sequence[Sequence[Any]]) -> Estimates:
    """The scores of every arm and decoding, and what temperature and cut change.

    Args:
        rows: of a sweep.
        real: the tokens of the test sentences.
    """
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
        base = [row for row in rows if (row.arm, row.decoding) == (BASE, decoding)]
        if base and name != BASE:
            for score in ("forward", "backward", "harmonic"):
                found.append(_gain(score, chosen, base, **told, against=BASE))
    begun = openings(real)
    common = max(begun.values()) / len(real)
    found.append(_known("commonest opening of real sentences", common, len(real)))
    found.append(_known("openings of real sentences", float(len(begun)), len(real)))
    return Estimates(found)


def _known(quantity: str, value: float, draws: int) -> Estimate:
    told = "counted: these very sentences are meant"
    point = Interval.point(value)
    return Estimate(
        quantity=quantity, setting={}, value=value, interval=point, draws=draws, bound=told, error_rate=0.0
    )


def _mean_score(score: str, rows: Iterable[Row], within: Interval, **told: Any) -> Estimate:
    values = _independent({(row.seed, row.generation): _score(row, score) for row in rows})
    return over_seeds(score, values, ERROR_RATE, within=within, **told)


def _gain(score: str, rows: Iterable[Row], others: Iterable[Row], **told: Any) -> Estimate:
    before = {(row.seed, row.generation): _score(row, score) for row in others}
    after = {(row.seed, row.generation): _score(row, score) for row in rows}
    values = _independent({at: after[at] - before[at] for at in after.keys() & before.keys()})
    return over_seeds(f"{score} gained", values, ERROR_RATE, within=Interval(-1.0, 1.0), **told)


def _score(row: Row, score: str) -> float:
    return float(getattr(row.scores, score))


def _independent(values: Mapping[tuple[int, int], float]) -> list[float]:
    """One number for each seed of training; where there is one seed only, one for each generation."""
    seeds = sorted({seed for seed, _ in values})
    by_seed = [[values[at] for at in sorted(values) if at[0] == seed] for seed in seeds]
    return by_seed[0] if len(seeds) == 1 else [float(np.mean(each)) for each in by_seed]
