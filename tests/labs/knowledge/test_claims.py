"""What is claimed of the knowledge lab falls when a number moves, and is about arms that exist."""

import dataclasses
import functools
import math
from pathlib import Path

import pytest

from attnlab_theory.claims import Verdict
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.knowledge import measure
from attnlab_theory.labs.knowledge.arms import PRETRAINED
from attnlab_theory.labs.knowledge.claims import COMMONEST, MARK, STATEMENTS
from attnlab_theory.labs.knowledge.variants import VARIANTS
from attnlab_theory.report import record

FOLDER = Path(__file__).parents[3] / "figures" / "knowledge"
SUPPORTED = [f for f in record.read_findings(FOLDER / "knowledge.json") if f.verdict == Verdict.SUPPORTED]
QUANTITIES = {statement.name: statement.quantity for statement in STATEMENTS}
ELSEWHERE = {
    "four-of-five-are-recalled": "a conjecture that five seeds leave open: test_measure.py",
    "more-wordings-are-recalled-better": "nobody in the committed run has other wordings: test_exposure.py",
}
"""Statements that no committed finding supports, and where they fall."""
BEYOND = 0.01


@functools.cache
def committed():
    return measure.again(FOLDER).estimates


def with_moved(quantity, setting, by):
    """The committed numbers, one of them moved with all of its seeds."""
    return Estimates(
        dataclasses.replace(each, value=each.value + by, values=tuple(value + by for value in each.values))
        if (each.quantity, each.setting) == (quantity, setting)
        else each
        for each in committed()
    )


def verdict(claim, setting, measured):
    (found,) = [f for f in measure.verdicts(measured).findings if (f.claim, f.setting) == (claim, setting)]
    return found.verdict


@pytest.mark.parametrize("finding", SUPPORTED, ids=lambda f: f"{f.claim} {[*f.setting.values()]}")
def test_a_finding_falls_when_its_number_moves_beyond_the_prediction(finding):
    (before,) = [e for e in committed() if (e.quantity, e.setting) == (QUANTITIES[finding.claim], finding.setting)]
    low, high = finding.predicted.low, finding.predicted.high
    wanted = high + BEYOND if high < math.inf else low - BEYOND
    moved = with_moved(before.quantity, before.setting, wanted - before.value)
    assert verdict(finding.claim, finding.setting, committed()) == Verdict.SUPPORTED
    assert verdict(finding.claim, finding.setting, moved) != Verdict.SUPPORTED


def test_every_statement_has_such_a_finding_or_falls_elsewhere():
    assert {f.claim for f in SUPPORTED} | ELSEWHERE.keys() == QUANTITIES.keys()


def test_who_is_never_seen_may_be_guessed_as_often_as_the_commonest_place_is_right():
    setting = {"variant": "rope", "group": "never-seen"}
    claim = "nobody-knows-the-never-seen"
    (accuracy,) = committed().of("mean accuracy", **setting)
    (commonest,) = committed().of(COMMONEST, **setting)
    assert (commonest.value, commonest.error_rate) == (0.03, 0.0)
    assert commonest.value < MARK
    many = with_moved("mean accuracy", setting, 0.3 - accuracy.value)
    assert verdict(claim, setting, many) == Verdict.REFUTED
    guessed = Estimates(
        dataclasses.replace(e, value=0.5) if (e.quantity, e.setting) == (COMMONEST, setting) else e for e in many
    )
    assert verdict(claim, setting, guessed) == Verdict.SUPPORTED


def test_arms_are_called_as_their_models_are():
    assert tuple(VARIANTS) == PRETRAINED
