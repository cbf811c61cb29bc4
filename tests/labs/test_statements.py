"""What a lab states falls when a number moves, and some committed run judges each statement."""

import dataclasses
import functools
import importlib
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from attnlab_theory.book.runs import BESIDE
from attnlab_theory.claims import Beyond, Verdict
from attnlab_theory.cli import library
from attnlab_theory.labs.estimates import ANYTHING, Estimate, Estimates
from attnlab_theory.labs.verdicts import verdicts_on
from attnlab_theory.report import record
from attnlab_theory.stats import Interval

FIGURES = Path(__file__).parents[2] / "figures"
LABS = {**library.labs(), "heads": library.heads()}
OF_HEADS = sorted((FIGURES / "heads").rglob("*.findings.json"))
"""Each part of the lab of heads has files of its own, and no run that trains."""
RUNS = sorted((lab, path.parent) for lab in LABS for path in (FIGURES / lab).rglob(f"{lab}.run.json"))
RUNS += [("heads", path) for path in OF_HEADS]
BY_RESOLUTION = {
    "bayes-accuracy-is-the-sum": "a point; the best rule that counts words lies further away than 0.1",
    "nobody-beats-bayes": "a theorem; its numbers check the measurement, and whoever sees the labels gains 0.077",
    "captions-have-the-stated-entropy": "a point; a language with one choice fewer lies further away than 0.5 nats",
}
"""Statements that a measured interval supports which is as narrow as their resolution, and why that is enough."""


NOT_COMMITTED = {
    "knowledge": {"more-wordings-are-recalled-better"},
    "reviews": {"alike-lengths-stay-within-the-margin"},
}
"""Statements about what no committed run has: persons with different numbers of wordings, the order alike."""


@functools.cache
def judged_again(lab, folder):
    if lab == "heads":
        rows = json.loads(Path(str(folder).replace(".findings.", ".estimates.")).read_text("utf-8"))
        estimates = Estimates(map(Estimate.from_json, rows))
        told = verdicts_on(LABS[lab].statements, estimates, experiment=lab)
        return SimpleNamespace(estimates=estimates, verdicts=told)
    return importlib.import_module(f"attnlab_theory.labs.{lab}.measure").again(folder)


def moved(estimate, predicted, measured, error_rate):
    """As many numbers, as far apart, shifted until the measured interval just lies beyond the predicted one."""
    if estimate.values:
        # Where no number can lie an interval is cut. The moved one is not.
        measured = dataclasses.replace(estimate, within=ANYTHING).at(error_rate)
    # Where other statements are judged besides, each has less of the error rate, and a wider interval.
    room = 1e-9 + measured.width / 4
    by = min(predicted.high - measured.low + room, predicted.low - measured.high - room, key=abs)
    return dataclasses.replace(
        estimate,
        value=estimate.value + by,
        interval=Interval(estimate.interval.low + by, estimate.interval.high + by),
        values=tuple(value + by for value in estimate.values),
        within=ANYTHING,
    )


@pytest.mark.slow("that another prediction of a claim is a fault stays inside")
def test_what_a_committed_run_supports_falls_when_its_number_moves(subtests):
    """Some seconds: every run is judged again for each of its claims."""
    for lab, folder in RUNS:
        with subtests.test(str(folder.relative_to(FIGURES))):
            statements, numbers = LABS[lab].statements, list(judged_again(lab, folder).estimates)
            supported = [f for f in judged_again(lab, folder).verdicts.findings if f.verdict == Verdict.SUPPORTED]
            for claim in dict.fromkeys(f.claim for f in supported):
                asking = [s for s in statements if s.name == claim]
                stands = [f for f in supported if f.claim == claim]
                others = list(numbers)
                for finding in stands:
                    alike = [n for n, each in enumerate(numbers) if each.setting == finding.setting]
                    (place,) = {
                        n for n in alike for s in asking if s.asks(numbers[n]) and s.predicts(numbers[n], numbers)
                    }
                    others[place] = moved(numbers[place], finding.predicted, finding.measured, finding.error_rate)
                again = {
                    (f.claim, str(f.setting)): f.verdict
                    for f in verdicts_on(statements, Estimates(others), experiment=lab).findings
                }
                assert {again[claim, str(f.setting)] for f in stands} == {Verdict.REFUTED}, claim


@pytest.mark.slow("that no verdict is better than that on its control stays inside")
def test_what_a_committed_run_supports_falls_when_the_number_of_its_control_does(subtests):
    """Some seconds: every run is judged again for each claim with such a control."""
    for lab, folder in RUNS:
        with subtests.test(str(folder.relative_to(FIGURES))):
            statements, numbers = LABS[lab].statements, list(judged_again(lab, folder).estimates)
            supported = [f for f in judged_again(lab, folder).verdicts.findings if f.verdict == Verdict.SUPPORTED]
            for stated in [each for each in statements if isinstance(each.control, Beyond)]:
                asked = [each for each in numbers if stated.asks(each)]
                stands = {str(f.setting) for f in supported if f.claim == stated.name}
                if not stands:
                    continue  # A run of one seed, say, whose interval is the whole line.
                leads = {id(lead) for each in asked for lead in stated.beyond(each, numbers)}
                level = stated.control.above
                fallen = [
                    moved(each, Interval.at_least(level), each.at(1e-6) if each.over_runs else each.interval, 1e-6)
                    if id(each) in leads
                    else each
                    for each in numbers
                ]
                again = verdicts_on([stated], Estimates(fallen), experiment=lab).findings
                assert {f.verdict for f in again if str(f.setting) in stands} <= {Verdict.REFUTED}, stated.name


@pytest.mark.slow("that support puts the measured near the prediction stays inside")
def test_what_is_supported_refutes_its_negation(subtests):
    """Its rival is its negation: the measured interval lies inside the prediction, and nowhere else."""
    for lab, folder in RUNS:
        with subtests.test(str(folder.relative_to(FIGURES))):
            for finding in judged_again(lab, folder).verdicts.findings:
                if finding.verdict == Verdict.SUPPORTED and finding.claim not in BY_RESOLUTION:
                    assert finding.predicted.contains(finding.measured), (finding.claim, finding.setting)


def test_statements_that_rest_on_their_resolution_exist():
    assert BY_RESOLUTION.keys() <= {each.name for lab in LABS.values() for each in lab.statements}


@pytest.mark.slow("that some committed run judges every statement stays inside")
def test_a_lab_states_nothing_twice_of_one_number(subtests):
    for lab, folder in RUNS:
        with subtests.test(str(folder.relative_to(FIGURES))):
            numbers = judged_again(lab, folder).estimates
            for each in numbers:
                names = [s.name for s in LABS[lab].statements if s.asks(each) and s.predicts(each, numbers)]
                assert len(names) == len(set(names)), (each.quantity, each.setting)


def test_some_committed_run_judges_every_statement(subtests):
    for lab in LABS:
        with subtests.test(lab=lab):
            names = (lab, *BESIDE.get(lab, ()))
            files = [folder / f"{name}.json" for one, folder in RUNS if one == lab for name in names]
            files = OF_HEADS if lab == "heads" else files
            judged = {finding.claim for file in files if file.exists() for finding in record.read_findings(file)}
            assert {stated.name for stated in LABS[lab].statements} - judged == NOT_COMMITTED.get(lab, set())


@pytest.mark.slow("two labs of five, judged again, stay inside")
def test_committed_findings_on_heads_are_those_of_judging_again(subtests):
    for path in OF_HEADS:
        with subtests.test(str(path.relative_to(FIGURES))):
            rows = [record.as_json(finding) for finding in judged_again("heads", path).verdicts.findings]
            assert record.to_text(rows) == path.read_text("utf-8")
