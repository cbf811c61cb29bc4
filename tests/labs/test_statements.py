"""What a lab states falls when a number moves, and some committed run judges each statement."""

import dataclasses
import importlib
from pathlib import Path

import pytest

from attnlab_theory.claims import Verdict
from attnlab_theory.labs.estimates import ANYTHING, Estimates
from attnlab_theory.report import record
from attnlab_theory.stats import Interval

FIGURES = Path(__file__).parents[2] / "figures"
LABS = ("mixers", "recurrent", "reviews")
RUNS = sorted((lab, path.parent) for lab in LABS for path in (FIGURES / lab).rglob(f"{lab}.run.json"))


def part_of(lab, name):
    return importlib.import_module(f"attnlab_theory.labs.{lab}.{name}")


def moved(estimate, predicted, measured):
    """As many numbers, as far apart, shifted until the measured interval just lies beyond the predicted one."""
    room = 1e-9 + measured.width / 100
    by = min(predicted.high - measured.low + room, predicted.low - measured.high - room, key=abs)
    return dataclasses.replace(
        estimate,
        value=estimate.value + by,
        interval=Interval(estimate.interval.low + by, estimate.interval.high + by),
        values=tuple(value + by for value in estimate.values),
        within=ANYTHING,
    )


@pytest.mark.parametrize(("lab", "folder"), RUNS, ids=[str(folder.relative_to(FIGURES)) for _, folder in RUNS])
def test_what_a_committed_run_supports_falls_when_its_number_moves(lab, folder):
    statements, measure = part_of(lab, "claims").STATEMENTS, part_of(lab, "measure")
    numbers = list(measure.again(folder).estimates)
    supported = [f for f in measure.verdicts(Estimates(numbers)).findings if f.verdict == Verdict.SUPPORTED]
    assert supported
    for claim in dict.fromkeys(f.claim for f in supported):
        asking, stands = [s for s in statements if s.name == claim], [f for f in supported if f.claim == claim]
        others = list(numbers)
        for finding in stands:
            alike = [n for n, each in enumerate(numbers) if each.setting == finding.setting]
            (place,) = {n for n in alike for s in asking if s.asks(numbers[n]) and s.predicts(numbers[n], numbers)}
            others[place] = moved(numbers[place], finding.predicted, finding.measured)
        again = {(f.claim, str(f.setting)): f.verdict for f in measure.verdicts(Estimates(others)).findings}
        assert {again[claim, str(f.setting)] for f in stands} == {Verdict.REFUTED}, claim


ELSEWHERE = {
    "alike-lengths-stay-within-the-margin": "tests/labs/reviews/test_claims.py: no committed run has that order",
    "tuned-models-reach-87": "figures/reviews/tested.json, and tests/labs/reviews/test_claims.py moves its number",
}
"""Statements that no committed run of a lab judges, and where they are judged."""


@pytest.mark.parametrize("lab", LABS)
def test_some_committed_run_judges_every_statement(lab):
    judged = {f.claim for one, folder in RUNS if one == lab for f in record.read_findings(folder / f"{lab}.json")}
    assert judged == {stated.name for stated in part_of(lab, "claims").STATEMENTS} - ELSEWHERE.keys()
