"""All that the lab asks of its models: the numbers, and the verdicts of ann-hw3."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.claims import Finding, Findings
from attnlab_theory.labs.captions import heads
from attnlab_theory.labs.captions.lab import Lab
from attnlab_theory.labs.captions.rules import HOMEWORK
from attnlab_theory.labs.captions.scores import openings
from attnlab_theory.labs.captions.sweep import Named, Row
from attnlab_theory.labs.estimates import Estimate, Estimates, judged, mean, over_seeds
from attnlab_theory.labs.perplexity import FLOOR_ERROR_RATE, OVER_SENTENCES, Losses, above_the_grammar, losses
from attnlab_theory.labs.sentences import Encoded, Material, encoded
from attnlab_theory.labs.training import best_epoch
from attnlab_theory.stats import Interval

ERROR_RATE = 0.05
"""The error rate of each interval and verdict, but that of the floor."""

SAME = 0.02
"""Losses that differ by less, in nats per token, are called the same: 2 % of a perplexity."""

LOOKED_AT = 200
"""Sentences on which single heads are looked at."""

FINE = 0.001
"""The resolution of a claim that one number is not the larger: support must show it, or be as narrow as this."""

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
    """After every epoch."""
    above: np.ndarray | None
    """For every test sentence that was not cut: its loss less that under the grammar, in nats per token."""


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
            "test loss less training loss": lambda m: m.test.per_token - m.learned.per_token,
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
        "gap gained": lambda m: m.test.per_token - m.learned.per_token,
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


def verdicts(measured: Estimates) -> Findings:
    """The claims about captions, judged on what was measured."""
    rules: dict[str, Callable[[Estimate], Finding | None]] = {
        "loss above the grammar": _floor,
        "forward gained": _sharper,
        "backward gained": _narrower,
        "commonest_opening gained": _same_beginnings,
        "harmonic gained": _by_perplexity(measured),
        "test loss gained": _arm,
        "epochs gained": _fewer_epochs,
        "gap gained": _wider_gap,
    }
    found = (rules[estimate.quantity](estimate) for estimate in measured if estimate.quantity in rules)
    return Findings(finding for finding in found if finding)


def _judged(estimate: Estimate, claim: str, statement: str, predicted: Interval, **more: Any) -> Finding:
    kept = {"source": "ann-hw3", "resolution": FINE} | more
    return judged(estimate, experiment="captions", claim=claim, statement=statement, predicted=predicted, **kept)


def _floor(estimate: Estimate) -> Finding:
    statement = "No model's loss is below that of the grammar itself: a model that passes it has looked ahead."
    positive = Interval.at_least(0.0)
    return _judged(estimate, "nobody-beats-the-grammar", statement, positive, source="Gibbs's inequality")


def _is_setting(estimate: Estimate) -> bool:
    """Whether it compares one of the homework's decodings with drawing at random."""
    return estimate.setting["against"] == "random" and estimate.setting["decoding"] in HOMEWORK


def _sharper(estimate: Estimate) -> Finding | None:
    if not _is_setting(estimate):
        return None
    statement = "A lower temperature and top-p raise forward BLEU: single sentences are better formed."
    return _judged(estimate, "sharper-is-better-formed", statement, Interval.at_least(0.0))


def _narrower(estimate: Estimate) -> Finding | None:
    if not _is_setting(estimate):
        return None
    statement = "A lower temperature and top-p lower backward BLEU: less of the language is covered."
    return _judged(estimate, "sharper-covers-less", statement, Interval.at_most(0.0))


def _same_beginnings(estimate: Estimate) -> Finding | None:
    if not _is_setting(estimate):
        return None
    statement = "With a lower temperature or top-p more sentences begin in the commonest way."
    return _judged(estimate, "openings-lose-diversity", statement, Interval.at_least(0.0))


def _by_perplexity(measured: Estimates) -> Callable[[Estimate], Finding | None]:
    """Whether the arm of lower perplexity has the higher harmonic BLEU."""
    losses_gained = {e.setting["arm"]: e for e in measured if e.quantity == "test loss gained"}

    def judge(estimate: Estimate) -> Finding | None:
        lost = losses_gained.get(estimate.setting["arm"])
        if estimate.setting["against"] != BASE or lost is None or lost.interval.contains(Interval.point(0.0)):
            return None
        statement = "Of two models, the one with the lower perplexity has the higher harmonic BLEU."
        better = Interval.at_least(0.0) if lost.value < 0 else Interval.at_most(0.0)
        return _judged(estimate, "perplexity-orders-bleu", statement, better, conjecture=True)

    return judge


def _arm(estimate: Estimate) -> Finding | None:
    name, same = estimate.setting["arm"], Interval(-SAME, SAME)
    if name == "permuted":
        statement = f"Features permuted before they are cut into heads change the loss by at most {SAME:g} nats."
        return _judged(estimate, "features-have-no-order", statement, same, resolution=SAME)
    if name == "dropped-heads":
        statement = "Dropping whole heads while training lowers the loss."
        return _judged(estimate, "dropping-heads-helps", statement, Interval.at_most(0.0), conjecture=True)
    if name.startswith("heads-"):
        statement = f"The number of heads changes the loss by at most {SAME:g} nats per token."
        return _judged(
            estimate, "number-of-heads-does-not-matter", statement, same, resolution=SAME, conjecture=True
        )
    if name == "pretrained":
        statement = "Pretraining lowers the loss."
        return _judged(estimate, "pretraining-helps", statement, Interval.at_most(0.0), conjecture=True)
    if name == "shuffled":
        statement = "Another order in every epoch lowers the loss."
        return _judged(estimate, "shuffling-helps", statement, Interval.at_most(0.0), conjecture=True)
    return None


def _fewer_epochs(estimate: Estimate) -> Finding | None:
    if estimate.setting["arm"] != "pretrained":
        return None
    statement = "A pretrained model is at its best after fewer epochs."
    resolution = {"resolution": 1.0, "conjecture": True}
    return _judged(estimate, "pretraining-saves-epochs", statement, Interval.at_most(0.0), **resolution)


def _wider_gap(estimate: Estimate) -> Finding | None:
    if estimate.setting["arm"] != "pretrained":
        return None
    statement = "A pretrained model's gap between test and training loss is the smaller."
    return _judged(estimate, "pretraining-narrows-the-gap", statement, Interval.at_most(0.0), conjecture=True)
