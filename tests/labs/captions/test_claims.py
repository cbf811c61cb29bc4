"""What is claimed of captions falls when a number moves."""

import dataclasses
from pathlib import Path

import pytest

from attnlab_theory.claims import Verdict
from attnlab_theory.labs.captions import measure
from attnlab_theory.labs.captions.claims import STATEMENTS
from attnlab_theory.labs.estimates import ANYTHING, Estimates
from attnlab_theory.report import record
from attnlab_theory.stats import Interval

RUNS = Path(__file__).parents[3] / "figures" / "captions"
FOLDERS = sorted(path.parent for path in RUNS.rglob("captions.run.json"))


def shifted(estimate, by):
    """The same number of runs, with the same spread, somewhere else."""
    return dataclasses.replace(
        estimate,
        value=estimate.value + by,
        interval=Interval(estimate.interval.low + by, estimate.interval.high + by),
        values=tuple(value + by for value in estimate.values),
        within=ANYTHING,
    )


def beyond(predicted, measured):
    """How far a measured interval must move to lie outside of the predicted one.

    With some room: where a moved loss decides whose perplexity is lower, there are more verdicts, each at a lower
    rate.
    """
    room = 1e-9 + measured.width / 4
    up, down = predicted.high - measured.low + room, measured.high - predicted.low + room
    return min((up, -down), key=abs)


def places(finding, numbers):
    """Where the number stands that a finding rests on."""
    (stated,) = [stated for stated in STATEMENTS if stated.name == finding.claim]
    return [n for n, e in enumerate(numbers) if stated.asks(e) and e.setting == finding.setting]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(RUNS.parent)))
def test_what_a_committed_run_supports_or_leaves_open_falls_when_its_numbers_move(folder):
    numbers = measure.again(folder).estimates
    found = measure.verdicts(numbers).findings
    for claim in dict.fromkeys(f.claim for f in found):
        stands = [f for f in found if f.claim == claim and f.verdict != Verdict.REFUTED]
        moved = list(numbers)
        for finding in stands:
            (place,) = places(finding, numbers)
            moved[place] = shifted(numbers[place], beyond(finding.predicted, finding.measured))
        again = measure.verdicts(Estimates(moved)).findings
        falls = {str(f.setting) for f in again if f.claim == claim and f.verdict == Verdict.REFUTED}
        assert {str(f.setting) for f in stands} <= falls, claim


def test_some_committed_run_judges_every_statement():
    judged = {f.claim for folder in FOLDERS for f in record.read_findings(folder / "captions.json")}
    assert judged == {stated.name for stated in STATEMENTS}
