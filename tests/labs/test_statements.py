"""What a lab states falls when a number moves, and some committed run judges each statement."""

import dataclasses
import functools
import importlib
from pathlib import Path

import pytest

from attnlab_theory import inputs
from attnlab_theory.claims import Verdict
from attnlab_theory.labs.estimates import ANYTHING, Estimate, Estimates
from attnlab_theory.labs.heads import families
from attnlab_theory.report import record
from attnlab_theory.stats import Interval

FIGURES = Path(__file__).parents[2] / "figures"
LABS = ("heads", "mixers", "recurrent")
FINDINGS = {
    "heads": [*(FIGURES / "heads").rglob("*.findings.json")],
    **{lab: [*(FIGURES / lab).rglob(f"{lab}.json")] for lab in LABS if lab != "heads"},
}
"""The committed findings of each lab. A part of the lab of heads has files of its own."""
RUNS = [(lab, path) for lab in LABS for path in sorted(FINDINGS[lab])]
each_run = pytest.mark.parametrize(("lab", "path"), RUNS, ids=[str(p.relative_to(FIGURES)) for _, p in RUNS])


def part_of(lab, name):
    return importlib.import_module(f"attnlab_theory.labs.{lab}.{name}")


@functools.cache
def numbers_of(lab, path):
    """What a committed run measured."""
    if lab != "heads":
        return part_of(lab, "measure").again(path.parent).estimates
    rows = inputs.parsed(path.with_name(path.name.replace("findings", "estimates")), list, remedy="restore it")
    return Estimates(map(Estimate.from_json, rows))


def judged(lab, numbers):
    numbers = Estimates(numbers)
    return families.verdicts(numbers) if lab == "heads" else part_of(lab, "measure").verdicts(numbers).findings


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


@each_run
def test_what_a_committed_run_supports_falls_when_its_number_moves(lab, path):
    statements, numbers = part_of(lab, "claims").STATEMENTS, numbers_of(lab, path)
    supported = [finding for finding in judged(lab, numbers) if finding.verdict == Verdict.SUPPORTED]
    assert supported
    for claim in dict.fromkeys(f.claim for f in supported):
        asking, stands = [s for s in statements if s.name == claim], [f for f in supported if f.claim == claim]
        places = {
            str(numbers[n].setting): n
            for n in range(len(numbers))
            for s in asking
            if s.asks(numbers[n]) and s.predicts(numbers[n], numbers)
        }
        others = list(numbers)
        for finding in stands:
            place = places[str(finding.setting)]
            others[place] = moved(numbers[place], finding.predicted, finding.measured)
        again = {(f.claim, str(f.setting)): f.verdict for f in judged(lab, others)}
        assert {again[claim, str(f.setting)] for f in stands} == {Verdict.REFUTED}, claim


@pytest.mark.parametrize("lab", LABS)
def test_some_committed_run_judges_every_statement(lab):
    found = {finding.claim for path in FINDINGS[lab] for finding in record.read_findings(path)}
    assert found == {stated.name for stated in part_of(lab, "claims").STATEMENTS}


@pytest.mark.parametrize("path", FINDINGS["heads"], ids=lambda p: str(p.relative_to(FIGURES)))
def test_committed_findings_on_heads_are_those_of_judging_again(path):
    rows = [record.as_json(finding) for finding in judged("heads", numbers_of("heads", path))]
    assert record.to_text(rows) == path.read_text("utf-8")
