"""Every claim comes out as expected, and what would be believed instead, or a moved prediction, is refuted."""

import math

import pytest

from attnlab_theory.claims import CLAIMS, Claim, Finding, Verdict, check, judge
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval

ERROR_RATE = 1e-6 / sum(len(claim.settings) for claim in CLAIMS)
MAX_DRAWS = 2**17


def moved(finding: Finding) -> list[Interval]:
    """Wrong predictions: an equality moved by two resolutions, an end tightened to two beyond the measured."""
    predicted, measured, step = finding.predicted, finding.measured, 2 * finding.resolution
    if predicted.low == predicted.high:
        return [Interval.point(predicted.low - step), Interval.point(predicted.low + step)]
    wrong = []
    if math.isfinite(predicted.low):
        wrong.append(Interval.at_least(measured.high + step))
    if math.isfinite(predicted.high):
        wrong.append(Interval.at_most(measured.low - step))
    return wrong


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda c: c.name)
def test_claim_comes_out_as_expected_and_moved_predictions_fall(claim: Claim):
    findings = check(claim, key=key_for(1, claim.stream_name), error_rate=ERROR_RATE, max_draws=MAX_DRAWS)
    assert [f for f in findings if not f.as_expected] == []
    if claim.expect != Verdict.SUPPORTED:
        return
    # A claim with a rival is supported only where the rival falls on the same draws: no test has to ask again.
    assert [f for f in findings if f.rival is not None and f.rival.verdict != Verdict.REFUTED] == []
    wrong = [moved(finding) for finding in findings]
    assert all(wrong), "a claim that predicts every number says nothing"
    verdicts = [judge(p, f.measured, f.resolution) for f, ps in zip(findings, wrong, strict=True) for p in ps]
    assert set(verdicts) == {Verdict.REFUTED}


def test_claim_names_are_unique():
    names = [claim.name for claim in CLAIMS]
    assert len(names) == len(set(names))
