"""What must pretraining contain for a fact to be recalled? Persons grouped by what the corpus says of them."""

from collections.abc import Mapping

import numpy as np

from attnlab_theory.claims import Findings
from attnlab_theory.labs.estimates import Estimate, Estimates, judged, share
from attnlab_theory.labs.knowledge.answered import UNTRAINED, Answers
from attnlab_theory.labs.knowledge.corpora.biographies import Person
from attnlab_theory.stats import Interval, proportion

Truth = Mapping[tuple[int, str], Person]
"""Generated persons by seed and name."""

RESOLUTION = 0.05
"""The resolution of a difference between two shares: a difference that may be 0 must be known this well."""


def by_exposure(answers: Answers, truth: Truth, error_rate: float) -> Estimates:
    """`accuracy by exposure` of each pretrained variant: held-out persons, by how many wordings the corpus has for
    them and in how many statements; all seeds together. Nothing where everybody has the same.
    """
    groups: dict[tuple[str, int, int], list[bool]] = {}
    for answer in answers:
        person = truth.get((answer.seed, answer.name))
        if person is not None and answer.group == "held-out" and answer.variant != UNTRAINED:
            exposure = (answer.variant, len(person.wordings), person.statements)
            groups.setdefault(exposure, []).append(answer.is_right)
    if len({exposure[1:] for exposure in groups}) < 2:
        return Estimates()
    settings = [dict(zip(("variant", "wordings", "statements"), exposure, strict=True)) for exposure in groups]
    order = sorted(zip(settings, groups.values(), strict=True), key=lambda pair: tuple(pair[0].values()))
    return Estimates(
        share("accuracy by exposure", np.array(right), error_rate, **setting) for setting, right in order
    )


def verdicts(measured: Estimates) -> Findings:
    """That more wordings are recalled better where statements are as many: the most against the fewest."""
    worlds: dict[tuple[str, int], list[Estimate]] = {}
    for estimate in measured:
        if estimate.quantity == "accuracy by exposure":
            setting = estimate.setting
            worlds.setdefault((setting["variant"], setting["statements"]), []).append(estimate)
    return Findings(
        judged(
            _gained(by_wordings[0], by_wordings[-1]),
            experiment="knowledge",
            claim="more-wordings-are-recalled-better",
            statement="Persons of whom the corpus speaks in more ways, not more often, are recalled more often.",
            source="Allen-Zhu and Li 2023",
            predicted=Interval.at_least(0.0),
            resolution=RESOLUTION,
        )
        for by_wordings in worlds.values()
        if len(by_wordings) > 1
    )


def _gained(fewest: Estimate, most: Estimate) -> Estimate:
    """The difference of two shares of different persons; each interval takes half of the error rate."""
    one, other = (_surer(e) for e in (fewest, most))
    return Estimate(
        quantity="accuracy gained by wordings",
        setting={**most.setting, "fewest_wordings": fewest.setting["wordings"]},
        value=most.value - fewest.value,
        interval=Interval(other.low - one.high, other.high - one.low),
        draws=fewest.draws + most.draws,
        bound="difference of two shares: draws are 0 or 1 (Clopper-Pearson for either)",
        error_rate=fewest.error_rate,
    )


def _surer(estimate: Estimate) -> Interval:
    """The interval of a share that errs half as often."""
    right = np.arange(estimate.draws) < round(estimate.value * estimate.draws)
    return proportion().interval(right, estimate.error_rate / 2)
