"""The measurements of a run of the lab: accuracies, what answers depend on, and the worth of a search."""

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from attnlab_theory.labs.engine.record import Draw, Results, drawing, renewed, stored
from attnlab_theory.labs.estimates import Estimate, Estimates, apart, known, over_seeds
from attnlab_theory.labs.reviews import evaluation, slices
from attnlab_theory.labs.reviews.accuracies import SIGNED, Answers, against_bayes, answers, bayes, of_parts
from attnlab_theory.labs.reviews.answers import labels, log_odds
from attnlab_theory.labs.reviews.arms import BASE, Arm
from attnlab_theory.labs.reviews.claims import COMMONER, MOVED, STATEMENTS
from attnlab_theory.labs.reviews.divergence import noted
from attnlab_theory.labs.reviews.explanations import scored
from attnlab_theory.labs.reviews.faithfulness import LEAST_TOKENS, agreement, blank_of, faithfulness
from attnlab_theory.labs.reviews.lab import Curve, Reviews
from attnlab_theory.labs.reviews.material import Encoded, Material, encoded
from attnlab_theory.labs.reviews.modes import memory_of_gradients, moved_by_mode_alone, moved_by_padding
from attnlab_theory.labs.reviews.outcomes import outcomes, worth
from attnlab_theory.labs.tables import table
from attnlab_theory.labs.verdicts import ERROR_RATE, verdicts_on
from attnlab_theory.language.text.vocabulary import OfSentences

EXPLAINED = 200
"""How many test reviews have their tokens scored."""

OF_ANSWERS = {
    "confidence less accuracy": (),
    "rank correlation": ("pair",),
    "moved by hiding": ("explanation", "share"),
    "held by keeping": ("explanation", "share"),
}
"""The quantities about one model's answers that are also averaged over models, and the fields of their settings."""


COMMONER_OF_FILES = {1821: 912 / 1821}
"""The share of the commoner label in a test of files, by the number of its reviews: that of SST-2."""

COMMONER_OF_THE_GRAMMAR = 0.5
"""The embedded grammar draws both labels equally often."""


def results(lab: Reviews, tell: Callable[[str], None]) -> Results:
    """Let all models answer, measure the answers, and judge the claims.

    Args:
        lab: whose models are trained.
        tell: called with a line about what is being done.

    Raises:
        ValueError: if a model is missing, or every trial of the search diverged.
    """
    tried, lost = outcomes(lab), lab.diverged()
    found: list[Answers] = []
    arms = [arm for arm in lab.compared() if arm not in lost]
    for seed, arm in itertools.product(lab.seeds, arms):
        tell(f"{arm.name}, seed {seed}: test reviews")
        found.append(answers(lab, arm, seed))
    tell(f"{lab.base.name}, seed {lab.seeds[0]}: explanations")
    rules = [rule for seed in lab.seeds if (rule := bayes(lab.material(seed), seed))]
    parts = of_parts(found, [part for part in lab.parts() if part[1] not in lost])
    measured = Estimates(
        (
            *parts,
            *moved_in_these(parts),
            *against_bayes(found, rules, lab.base),
            *look_into(lab, [each for each in found if each.arm == lab.base]),
            *worth(tried, ERROR_RATE),
        )
    )
    curves = [row for each in found for row in _rows(each.arm, each.seed, each.curve)] + list(_swept(lab, arms))
    # Of reviews that lie in no file, the seed tells which they were.
    kind = "drawn" if rules else "test"
    return Results(
        estimates=measured,
        verdicts=verdicts(measured),
        tables={"curves": curves, "search": [outcome.as_json() for outcome in tried]},
        texts={f"{kind}.{each.seed}.predictions": labels(each.test) for each in found if each.arm == lab.base},
        figures=_figures(measured, curves, lab.base.name),
        about={"diverged": {arm.name: said for arm, said in lost.items()}},
        shown=(_table(measured), *(f"{arm.name} diverged and is left out: {said}" for arm, said in lost.items())),
    )


def again(folder: Path) -> Results:
    """Judge a finished run again, and `tested.json`, if the folder has it.

    Raises:
        ValueError: if a file is missing or damaged.
    """
    of_tests, old = evaluation.again(folder), stored(folder)
    measured = renewed(old, Estimates((*_above_the_commoner_label(old), *moved_in_these(old))))
    further = {} if of_tests is None else {"tested": of_tests}
    return Results(estimates=measured, verdicts=verdicts(measured), further=further)


def _above_the_commoner_label(old: Estimates) -> Estimates:
    """`accuracy above the commoner label` of each part, for runs of older versions.

    Nothing if the run has it, or nobody knows how common the commoner label was.
    """
    quantities = {each.quantity for each in old}
    if COMMONER in quantities:
        return Estimates()
    if "accuracy of Bayes's rule" in quantities:
        share = COMMONER_OF_THE_GRAMMAR
    else:
        reviews = {each.draws for each in old if each.quantity == "test accuracy"}
        share = COMMONER_OF_FILES.get(*reviews) if len(reviews) == 1 else None
    if share is None:
        return Estimates()
    return Estimates(apart(each, COMMONER, share) for each in old.of("accuracy over seeds"))


def moved_in_these(found: Sequence[Estimate]) -> Estimates:
    """`moved by dropout in these models`: the mean over the base models, without others of their kind."""
    means = (e for e in found if e.quantity == "moved by dropout" and e.setting["part"] == BASE)
    return Estimates(known(MOVED, each.value, each.draws, "these very models are meant") for each in means)


verdicts = functools.partial(verdicts_on, STATEMENTS, experiment="reviews")
"""The claims about reviews, judged on what was measured."""


def refuse_unexplainable(material: Material, block: int) -> None:
    """Refuse test reviews for which explanations could not be compared. Call it before anything is trained.

    Raises:
        ValueError: if none of the reviews to be explained has enough tokens.
    """
    few = _explained(material, material.text, block)
    marks = 2
    if int(np.max(few.lengths)) < LEAST_TOKENS + marks:
        raise ValueError(
            f"none of the first {len(few)} test reviews has {LEAST_TOKENS} tokens, and explanations are compared "
            "by ranking them: test with longer reviews"
        )


def _explained(material: Material, text: OfSentences, block: int) -> Encoded:
    return encoded(material.test.take(range(min(EXPLAINED, len(material.test)))), text, block)


def look_into(lab: Reviews, of_base: Sequence[Answers]) -> Estimates:
    """Measure the base model of the first seed: padding, memory, slices, confidence, explanations.

    Four numbers are also averaged over the base models of all seeds: `mean rank correlation`, `mean moved by
    hiding`, `mean held by keeping` and `mean confidence less accuracy`.

    Args:
        lab: whose models are trained.
        of_base: the answers of the base models, in the order of the seeds.

    Raises:
        ValueError: if a model is missing.
    """
    seed, hits = lab.seeds[0], of_base[0].hits
    saved, material = lab.saved(lab.base, seed), lab.material(seed)
    block = saved.model.config.encoder.block
    few = _explained(material, saved.text, block)
    each_seed = [_of_answers(lab, each) for each in of_base]
    return Estimates(
        (
            moved_by_padding(saved.model, few, block, seed=seed),
            memory_of_gradients(saved.model, few, seed=seed),
            moved_by_mode_alone(saved.model, few, seed),
            *slices.by_length(material.test, hits, ERROR_RATE),
            *slices.by_kind(material.test, hits, ERROR_RATE),
            *each_seed[0],
            *over_models(each_seed),
        )
    )


def _of_answers(lab: Reviews, each: Answers) -> Estimates:
    """The confidence of one base model, and what its answers depend on."""
    saved, material = lab.saved(lab.base, each.seed), lab.material(each.seed)
    few = _explained(material, saved.text, saved.model.config.encoder.block)
    ask, scores = functools.partial(log_odds, saved.model), scored(saved.model, few, pad=saved.text.pad)
    estimates = [*slices.by_confidence(each.test, material.test.targets, ERROR_RATE)]
    for (one, first), (other, second) in itertools.combinations(scores.items(), 2):
        estimates.append(agreement(first, second, ERROR_RATE, pair=f"{one}, {other}"))
    for name, found in scores.items():
        estimates += faithfulness(ask, few, found, blank_of(saved.text), ERROR_RATE, each.seed, explanation=name)
    return Estimates(estimates)


def over_models(each_seed: Sequence[Estimates]) -> Estimates:
    """The mean over models of every number in `OF_ANSWERS`. Models differ in the seed.

    Args:
        each_seed: the same numbers for every model.
    """
    found = []
    for one in each_seed[0]:
        if one.quantity in OF_ANSWERS:
            told = {name: one.setting[name] for name in OF_ANSWERS[one.quantity]}
            same = [each.of(one.quantity, **told)[0].value for each in each_seed]
            found.append(over_seeds(f"mean {one.quantity}", same, within=SIGNED, **told))
    return Estimates(found)


def _swept(lab: Reviews, arms: Sequence[Arm]) -> Iterator[dict[str, Any]]:
    """The curves of rates that were trained for the first seed only, to choose between them."""
    first = lab.seeds[0]
    for arm in lab.swept():
        if arm not in arms and noted(lab.path(arm, first)) is None:
            yield from _rows(arm, first, lab.curve(arm, first))


def _rows(arm: Arm, seed: int, curve: Curve) -> list[dict[str, Any]]:
    told = {"variant": arm.name, "seed": seed}
    return [{**told, "epoch": epoch, **numbers} for epoch, numbers in enumerate(curve, start=1)]


def _figures(measured: Estimates, curves: Sequence[dict[str, Any]], base: str) -> dict[str, Draw | None]:
    from attnlab_theory.labs.reviews import figures

    searched = any(each.quantity == "optimism" for each in measured)
    return {
        **drawing(figures, ("curves",), curves, base),
        **drawing(figures, ("optimizers", "explanations", "errors", "confidence"), measured),
        "search": functools.partial(figures.searches, measured) if searched else None,
    }


def _table(measured: Estimates) -> Table:
    """The test accuracy of every part over seeds, as a table."""
    shown = table(["part", "variant"], ["accuracy", "interval over seeds"])
    for each in measured.of("accuracy over seeds"):
        low, high = each.interval.low, each.interval.high
        shown.add_row(
            each.setting["part"], each.setting["variant"], f"{each.value:.4f}", f"{low:.4f} to {high:.4f}"
        )
    return shown
