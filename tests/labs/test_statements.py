"""A statement of a lab falls when its number moves: shown of every committed finding that supports one."""

import dataclasses
import importlib
import math
from pathlib import Path

import pytest

from attnlab_theory.claims import Verdict
from attnlab_theory.labs.estimates import ANYTHING, Estimates
from attnlab_theory.labs.verdicts import verdicts_on
from attnlab_theory.stats import Interval

FIGURES = Path(__file__).parents[2] / "figures"
LABS = ("mixers", "reviews")
RUNS = [(lab, each.parent) for lab in LABS for each in sorted((FIGURES / lab).rglob(f"{lab}.run.json"))]


def shifted(estimate, by):
    low, high = estimate.interval.low + by, estimate.interval.high + by
    return dataclasses.replace(
        estimate,
        value=estimate.value + by,
        interval=Interval(low, high),
        values=tuple(value + by for value in estimate.values),
        within=ANYTHING,
    )


def beyond(finding):
    """How far the number of a finding must move until all of its interval lies outside of the prediction."""
    predicted, measured = finding.predicted, finding.measured
    further = max(measured.width, finding.resolution)
    if math.isfinite(predicted.high):
        return predicted.high - measured.low + further
    return predicted.low - measured.high - further


@pytest.mark.parametrize(("lab", "folder"), RUNS, ids=[str(folder.relative_to(FIGURES)) for _, folder in RUNS])
def test_a_finding_that_supports_falls_when_its_number_moves(lab, folder):
    statements = importlib.import_module(f"attnlab_theory.labs.{lab}.claims").STATEMENTS
    again = importlib.import_module(f"attnlab_theory.labs.{lab}.measure").again(folder)
    supported = [finding for finding in again.verdicts.findings if finding.verdict == Verdict.SUPPORTED]
    assert supported
    for finding in supported:
        place = next(
            place
            for place, each in enumerate(again.estimates)
            for stated in statements
            if (stated.name, each.setting) == (finding.claim, finding.setting)
            and stated.asks(each)
            and stated.predicts(each, again.estimates) is not None
        )
        every = list(again.estimates)
        every[place] = shifted(every[place], beyond(finding))
        (found,) = [
            each
            for each in verdicts_on(statements, Estimates(every), experiment=lab).findings
            if (each.claim, each.setting) == (finding.claim, finding.setting)
        ]
        assert found.verdict == Verdict.REFUTED, (finding.claim, finding.setting)
