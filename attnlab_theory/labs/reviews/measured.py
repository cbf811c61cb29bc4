"""From what the models said to numbers with intervals."""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from attnlab_theory.labs.estimates import Estimate, Estimates, mean, over_seeds, share
from attnlab_theory.labs.perplexity import FLOOR_ERROR_RATE
from attnlab_theory.labs.reviews import slices
from attnlab_theory.labs.reviews.answered import log_odds
from attnlab_theory.labs.reviews.asked import Asked, Bayes
from attnlab_theory.labs.reviews.explanations import scored
from attnlab_theory.labs.reviews.faithful import LEAST_TOKENS, agreement, blank_of, faithfulness
from attnlab_theory.labs.reviews.lab import Lab
from attnlab_theory.labs.reviews.material import Material, encoded
from attnlab_theory.labs.reviews.modes import memory_of_gradients, moved_by_mode_alone, moved_by_padding
from attnlab_theory.labs.reviews.variants import Variant
from attnlab_theory.labs.verdicts import ERROR_RATE
from attnlab_theory.language.corpora.reviews import Reviews
from attnlab_theory.stats import Interval, bounded, paired

EXPLAINED = 200
"""Test reviews whose tokens are scored."""

SIGNED, SHARES = Interval(-1.0, 1.0), Interval(0.0, 1.0)

Role = tuple[str, Variant]
"""What a variant is compared as, and the variant: one model may play several parts."""


def roles(lab: Lab) -> tuple[Role, ...]:
    """The parts of variants: `base`, `X at the shared rate`, `X at its best rate`, `order X`, `never zeroed`.

    Raises:
        ValueError: as `Lab.variants`.
    """
    found: list[Role] = [("base", lab.base)]
    for name in lab.optimizers:
        found.append((f"{name} at the shared rate", lab.shared(name)))
        if (best := lab.best(name)) is not None:
            found.append((f"{name} at its best rate", best))
    found += [(f"order {each.order}", each) for each in lab.variants() if each.order != lab.base.order]
    return (*found, *(("never zeroed", each) for each in lab.variants() if not each.zeroed))


def measure(found: Sequence[Asked], parts: Sequence[Role]) -> Estimates:
    """Accuracies of every part, and what it gains over others, seed by seed.

    Args:
        found: of every variant and seed.
        parts: from `roles`.
    """
    estimates = [
        share("test accuracy", each.hits.astype(float), ERROR_RATE, variant=each.variant.name, seed=each.seed)
        for each in found
    ]
    by_part = {name: [each for each in found if each.variant == variant] for name, variant in parts}
    numbers: dict[str, tuple[Callable[[Asked], float], Interval]] = {
        "accuracy over seeds": (_accuracy, SHARES),
        "training less validation accuracy": (_gap, SIGNED),
        "best epoch of validation less of training": (_earlier, Interval(-math.inf, math.inf)),
        "accuracy lost to dropout": (lambda each: each.lost_to_dropout, SIGNED),
        "moved by dropout": (lambda each: each.moved_by_dropout, SHARES),
    }
    for part, models in by_part.items():
        for quantity, (number, within) in numbers.items():
            values = [number(each) for each in models]
            told = {"part": part, "variant": models[0].variant.name}
            estimates.append(over_seeds(quantity, values, ERROR_RATE, within=within, **told))
    estimates += _gains(by_part)
    return Estimates(estimates)


def _gains(by_part: dict[str, list[Asked]]) -> Iterator[Estimate]:
    """What a part gains over another with the same seeds; nothing where both are one model."""
    for part, models in by_part.items():
        name = part.partition(" ")[0]
        for against in ("base", "adamw at its best rate", f"{name} at the shared rate"):
            others = by_part.get(against)
            if part in ("base", against) or others is None or models[0].variant == others[0].variant:
                continue
            if against != "base" and "at its best rate" not in part:
                continue
            values = [_accuracy(one) - _accuracy(other) for one, other in zip(models, others, strict=True)]
            told = {"part": part, "against": against}
            yield over_seeds("accuracy gained", values, ERROR_RATE, within=SIGNED, **told)


def against_bayes(found: Sequence[Asked], rules: Sequence[Bayes], base: Variant) -> Estimates:
    """Of the base model of every seed, beside Bayes's rule on the same reviews; the rule's own accuracy."""
    estimates = []
    for rule in rules:
        (model,) = (each for each in found if (each.variant, each.seed) == (base, rule.seed))
        told: dict[str, Any] = {"seed": rule.seed}
        estimates.append(share("accuracy of Bayes's rule", rule.hits.astype(float), FLOOR_ERROR_RATE, **told))
        gained = model.hits.astype(float) - rule.hits
        estimates.append(mean("accuracy above Bayes's rule", gained, paired(), FLOOR_ERROR_RATE, **told))
        estimates.append(share("accuracy where order counts", model.hits.astype(float), FLOOR_ERROR_RATE, **told))
        off = np.abs(model.test - rule.posterior)
        estimates.append(mean("distance from the posterior", off, bounded(0.0, 1.0), ERROR_RATE, **told))
    return Estimates(estimates)


def refuse_unexplainable(material: Material, block: int) -> None:
    """Refuse test reviews of which explanations could not be compared, before anything is trained.

    Raises:
        ValueError: if none of those that are explained has enough tokens.
    """
    few = encoded(_explained(material.test), material.text, block)
    marks = 2
    if int(np.max(few.lengths)) < LEAST_TOKENS + marks:
        raise ValueError(
            f"none of the first {len(few)} test reviews has {LEAST_TOKENS} tokens, and explanations are compared "
            "by ranking them: test with longer reviews"
        )


def _explained(reviews: Reviews) -> Reviews:
    return reviews.take(range(min(EXPLAINED, len(reviews))))


def look_into(lab: Lab, found: Sequence[Asked]) -> Estimates:
    """Of the base model of the first seed: padding, memory, slices, confidence, and what its answers hang on.

    What its answers hang on, and its confidence, are also told of the base models of all seeds, as means over them:
    `mean rank correlation`, `mean moved by hiding`, `mean held by keeping` and `mean confidence less accuracy`.

    Raises:
        ValueError: if a model is missing.
    """
    seed = lab.seeds[0]
    (model,) = (each for each in found if (each.variant, each.seed) == (lab.base, seed))
    saved, material = lab.saved(lab.base, seed), lab.material(seed)
    reviews, block = material.test, saved.model.config.encoder.block
    few = encoded(_explained(reviews), saved.text, block)
    first = [
        moved_by_padding(saved.model, few, block, seed=seed),
        memory_of_gradients(saved.model, few, seed=seed),
        moved_by_mode_alone(saved.model, few, seed),
        *slices.by_length(reviews, model.hits, ERROR_RATE),
        *slices.by_kind(reviews, model.hits, ERROR_RATE),
    ]
    of_base = [each for each in found if each.variant == lab.base]
    each_seed = [_of_answers(lab, each) for each in of_base]
    return Estimates((*first, *each_seed[of_base.index(model)], *over_models(each_seed)))


def _of_answers(lab: Lab, each: Asked) -> Estimates:
    """The confidence of one base model, and what its answers depend on."""
    saved, reviews = lab.saved(lab.base, each.seed), lab.material(each.seed).test
    few = encoded(_explained(reviews), saved.text, saved.model.config.encoder.block)
    estimates = [*slices.by_confidence(each.test, reviews.targets, ERROR_RATE)]
    ask = functools.partial(log_odds, saved.model)
    found_scores = scored(saved.model, few, pad=saved.text.pad)
    for (one, first), (other, second) in itertools.combinations(found_scores.items(), 2):
        estimates.append(agreement(first, second, ERROR_RATE, pair=f"{one}, {other}"))
    for name, scores in found_scores.items():
        estimates += faithfulness(ask, few, scores, blank_of(saved.text), ERROR_RATE, each.seed, explanation=name)
    return Estimates(estimates)


OF_ANSWERS = {
    "confidence less accuracy": (),
    "rank correlation": ("pair",),
    "moved by hiding": ("explanation", "share"),
    "held by keeping": ("explanation", "share"),
}
"""What is told of the answers of one model and of the mean over models, and what tells its settings apart."""


def over_models(each_seed: Sequence[Estimates]) -> Estimates:
    """The mean over models of every number in `OF_ANSWERS`; models differ in the seed.

    Args:
        each_seed: for every model the same numbers.
    """
    found = []
    for one in each_seed[0]:
        if one.quantity in OF_ANSWERS:
            told = {name: one.setting[name] for name in OF_ANSWERS[one.quantity]}
            same = [each.of(one.quantity, **told)[0].value for each in each_seed]
            found.append(over_seeds(f"mean {one.quantity}", same, ERROR_RATE, within=SIGNED, **told))
    return Estimates(found)


def _accuracy(each: Asked) -> float:
    return float(np.mean(each.hits))


def _gap(each: Asked) -> float:
    return each.curve[-1]["training accuracy"] - each.curve[-1]["validation accuracy"]


def _earlier(each: Asked) -> float:
    """Epochs by which the best one of validation comes before that of training, negative if before."""
    peaks = [
        max(range(len(each.curve)), key=lambda epoch: each.curve[epoch][f"{which} accuracy"])
        for which in ("validation", "training")
    ]
    return float(peaks[0] - peaks[1])
