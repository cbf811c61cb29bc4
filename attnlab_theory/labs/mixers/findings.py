"""All that the lab measures, and the verdicts on what the homework concludes."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from jaxtyping import Float

from attnlab_theory.labs.estimates import Estimate, Estimates, mean, over_seeds
from attnlab_theory.labs.mixers.honest import Beginnings, beginnings
from attnlab_theory.labs.mixers.lab import Lab
from attnlab_theory.labs.mixers.presets import CAUSAL, HONEST_SEEDS, LEAKING
from attnlab_theory.labs.mixers.routing import routed
from attnlab_theory.labs.perplexity import FLOOR_ERROR_RATE, OVER_SENTENCES, above_the_grammar, losses
from attnlab_theory.labs.sentences import encoded
from attnlab_theory.labs.verdicts import ERROR_RATE, Statement, Verdicts, judged
from attnlab_theory.language.models.gpt import parameter_count
from attnlab_theory.stats import Interval

MARGIN = 0.02
"""Losses that differ by less, in nats per token, are equivalent: 2 % of a perplexity. Stated before any run."""

ROUNDING = 1e-4
"""A causal model's losses with and without what comes later differ by no more: products in float32."""

EQUIVALENCES = ("sharing-stays-within-the-margin", "additive-stays-within-the-margin")
"""The claims that say so of a mixer."""

ANY = Interval(-math.inf, math.inf)

SCORED = 200
"""Sentences that are scored one prefix at a time."""

SEEDS_NEEDED = 10
"""Fewer seeds do not decide whether two mixers are equivalent: five resolve two standard deviations at best."""

ONE_SHARED = "shared-qk"

ROUTED = {
    "separate": (False, 1),
    ONE_SHARED: (True, 1),
    "shared-qk, two heads": (True, 2),
    "shared-qk, three heads": (True, 3),
}
"""Heads of the routing task: whether queries are keys, and how many there are."""


def measure(lab: Lab, tell: Callable[[str], None]) -> Estimates:
    """Losses, honest losses, distances from the grammar, routing.

    Args:
        lab: whose models are trained.
        tell: is told what is being done.

    Raises:
        ValueError: if a model is missing.
    """
    found: list[Estimate] = []
    lost: dict[tuple[str, int], float] = {}
    single: dict[tuple[str, int], Float[np.ndarray, " asked"]] = {}
    for seed in lab.seeds:
        tell(f"losses, seed {seed}")
        material = lab.material(seed)
        test = encoded(material.test, material.text, lab.preset.block, longer=lab.longer, source=material.source)
        few = encoded(material.test[:SCORED], material.text, lab.preset.block)
        asked = encoded(lab.asked, material.text, lab.preset.block) if lab.asked else None
        for arm in lab.arms_of(seed):
            model = lab.saved(arm, seed).model
            told = {"arm": arm, "seed": seed}
            here = losses(model, test)
            lost[arm, seed] = here.per_token
            if material.grammar is not None:
                above = above_the_grammar(here, material.test, material.grammar, lab.preset.block)
                found.append(mean("loss above the grammar", above, OVER_SENTENCES, FLOOR_ERROR_RATE, **told))
            if asked is not None:
                each = losses(model, asked)
                single[arm, seed] = each.total / each.targets
            if seed in lab.seeds[:HONEST_SEEDS]:
                begun = beginnings(model, few, bare=arm in LEAKING)
                for quantity, values in {
                    "teacher-forced loss": begun.forced,
                    "honest loss, filled up with PAD": begun.filled,
                    "honest loss": begun.bare,
                }.items():
                    if values is not None:
                        found.append(mean(quantity, values, OVER_SENTENCES, ERROR_RATE, **told))
                found.append(_gap(begun, **told))
    positive = Interval(0.0, math.inf)
    for arm in lab.arms:
        seeds = lab.seeds_of(arm)
        values = [lost[arm, seed] for seed in seeds]
        told = {"arm": arm, "parameters": parameter_count(lab.saved(arm, lab.seeds[0]).model)}
        found.append(over_seeds("test loss", values, ERROR_RATE, within=positive, **told))
        found.append(over_seeds("perplexity", [math.exp(v) for v in values], ERROR_RATE, within=positive, **told))
        if arm != "separate" and "separate" in lab.arms:
            less = [lost[arm, seed] - lost["separate", seed] for seed in seeds]
            found.append(over_seeds("test loss less that of separate", less, ERROR_RATE, within=ANY, arm=arm))
        for number, sentence in enumerate(lab.asked):
            told = {"arm": arm, "sentence": sentence}
            values = [float(single[arm, seed][number]) for seed in seeds]
            found.append(over_seeds("loss of a sentence", values, ERROR_RATE, within=positive, **told))
            values = [math.exp(value) for value in values]
            found.append(over_seeds("perplexity of a sentence", values, ERROR_RATE, within=positive, **told))
    tell("routing")
    for name, (shared, heads) in ROUTED.items():
        least = [routed(seed, shared=shared, heads=heads).least for seed in range(5)]
        found.append(over_seeds("least wanted weight", least, ERROR_RATE, within=Interval(-1.0, 2.0), head=name))
        if name == ONE_SHARED:
            found.append(_greatest(least))
    return Estimates((*found, *leaks_over_seeds(found)))


def leaks_over_seeds(found: Iterable[Estimate]) -> Estimates:
    """`mean honest less teacher-forced loss` of each mask of zeros: over its models, which differ in the seed."""
    gaps: dict[str, list[float]] = {}
    for each in found:
        if each.quantity == "honest less teacher-forced loss" and each.setting["arm"] in LEAKING:
            gaps.setdefault(each.setting["arm"], []).append(each.value)
    return Estimates(
        over_seeds("mean honest less teacher-forced loss", values, ERROR_RATE, within=ANY, arm=arm)
        for arm, values in gaps.items()
    )


def _greatest(least: list[float]) -> Estimate:
    """The head that comes nearest to a bound, where no single head may pass it."""
    return Estimate(
        quantity="greatest of the least wanted weights",
        setting={"head": ONE_SHARED},
        value=max(least),
        interval=Interval.point(max(least)),
        draws=len(least),
        bound="counted: the greatest of these very heads",
        error_rate=0.0,
    )


def _gap(begun: Beginnings, *, arm: str, seed: int) -> Estimate:
    """What a look ahead is worth: on average, or for a causal model between the least and the greatest of it."""
    gap, quantity = begun.filled - begun.forced, "honest less teacher-forced loss"
    if arm not in CAUSAL:
        return mean(quantity, gap, OVER_SENTENCES, ERROR_RATE, arm=arm, seed=seed)
    return Estimate(
        quantity=quantity,
        setting={"arm": arm, "seed": seed},
        value=float(np.mean(gap)),
        interval=Interval(float(gap.min()), float(gap.max())),
        draws=len(gap),
        bound="counted: the least and the greatest of these very sentences",
        error_rate=0.0,
    )


def verdicts(measured: Estimates) -> Verdicts:
    """The claims about mixers, judged on what was measured."""
    nearest = {e.quantity: e for e in measured if e.setting.get("head") == ONE_SHARED}
    found = [stated for estimate in measured for stated in (_stated(estimate), _better(estimate))]
    # A run of an older version has the mean over heads, and not the head that comes nearest.
    found += [_cannot_route([*nearest.values()][-1])] if nearest else []
    return judged((stated for stated in found if stated), experiment="mixers")


def _better(estimate: Estimate) -> Statement | None:
    if estimate.quantity != "test loss less that of separate" or estimate.setting["arm"] != "additive":
        return None
    statement = f"Additive attention is the better one: it lowers the loss by at least {MARGIN:g} nats per token."
    return _of(estimate, "additive-is-better-by-the-margin", statement, Interval.at_most(-MARGIN))


def _stated(estimate: Estimate) -> Statement | None:
    told = estimate.setting
    arm = told.get("arm")
    match estimate.quantity:
        case "loss above the grammar" if arm in CAUSAL:
            statement = "No causal model's loss is below that of the grammar itself."
            more = Interval.at_least(0.0)
            return _of(estimate, "nobody-beats-the-grammar", statement, more, conjecture=False, of_training=False)
        case "loss above the grammar" if arm in LEAKING:
            statement = "This model looks ahead and is found out: its loss is below that of the grammar itself."
            less = Interval.at_most(0.0)
            return _of(estimate, "the-leak-passes-the-floor", statement, less, of_training=False)
        case "honest less teacher-forced loss" if arm in CAUSAL:
            statement = "A causal model's loss does not depend on what comes later, to rounding."
            same = Interval(-ROUNDING, ROUNDING)
            return _of(estimate, "causal-losses-are-honest", statement, same, conjecture=False, of_training=False)
        case "mean honest less teacher-forced loss":
            statement = "Models masked with zeros are worse when PAD stands where they looked ahead."
            more = Interval.at_least(0.0)
            return _of(
                estimate, "zero-masks-lose-without-the-future", statement, more, conjecture=arm == "zero-before"
            )
        case "test loss less that of separate" if arm in ("shared-qk", "shared-qkv"):
            statement = f"Sharing projections changes the loss by at most {MARGIN:g} nats per token (equivalence)."
            return _equivalent(estimate, "sharing-stays-within-the-margin", statement)
        case "test loss less that of separate" if arm == "additive":
            statement = f"Additive attention changes the loss by at most {MARGIN:g} nats per token (equivalence)."
            return _equivalent(estimate, "additive-stays-within-the-margin", statement)
        case "least wanted weight" if told["head"] == "separate":
            statement = "A head with queries of its own routes a cycle of three."
            more = Interval.at_least(0.9)
            return _of(estimate, "separate-queries-route", statement, more, source="uw/2.2.2", conjecture=False)
        case "least wanted weight" if told["head"] != ONE_SHARED:
            statement = "Several heads whose queries are their keys, with weights of either sign, route the cycle."
            return _of(estimate, "several-shared-heads-route", statement, Interval.at_least(0.9))
        case _:
            return None


def _cannot_route(estimate: Estimate) -> Statement:
    statement = "No head whose queries are its keys gives each of three wanted tokens more than half of its weight."
    told = {"conjecture": False, "of_training": estimate.error_rate > 0}
    return _of(estimate, "shared-queries-cannot-route", statement, Interval.at_most(0.5), **told)


def _equivalent(estimate: Estimate, claim: str, statement: str) -> Statement:
    """Two one-sided tests: SUPPORTED where the interval lies inside the margin."""
    return _of(estimate, claim, statement, Interval(-MARGIN, MARGIN), least=SEEDS_NEEDED)


def _of(estimate: Estimate, claim: str, statement: str, predicted: Interval, **more: Any) -> Statement:
    told: dict[str, Any] = {"source": "uw/2.2", "conjecture": True} | more
    return Statement(estimate=estimate, claim=claim, statement=statement, predicted=predicted, **told)
