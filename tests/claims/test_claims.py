"""Every claim comes out as expected, its rival falls, and its prediction moved past the resolution is refuted."""

import math
from typing import Any

import pytest

from attnlab_theory.claims import CLAIMS, Claim, Finding, Verdict, check, check_rivals, judge
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval

# Two measurements of each setting: one for the claim, one for its moved copies.
ERROR_RATE = 1e-6 / sum(2 * len(claim.settings) for claim in CLAIMS)
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
    assert [f for f in findings if f.rival is not None and f.rival.verdict != Verdict.REFUTED] == []
    wrong = [moved(finding) for finding in findings]
    assert all(wrong), "a claim that predicts every number says nothing"
    (exact,) = {claim.bound_at(setting).is_exact for setting in claim.settings}
    if exact:
        # One number, which another measurement would only compute again.
        verdicts = [judge(p, f.measured, f.resolution) for f, ps in zip(findings, wrong, strict=True) for p in ps]
    else:
        verdicts = [f.verdict for f in on_other_keys(claim, dict(zip(claim.settings, wrong, strict=True)))]
    assert set(verdicts) == {Verdict.REFUTED}


def on_other_keys(claim: Claim, wrong: dict[Any, list[Interval]]) -> list[Finding]:
    """Findings of both wrong predictions of every setting.

    On the same keys, support for the claim would imply them. Both directions are judged on the same draws, and far
    predictions fall early: this costs less than a check.
    """
    rivals = [lambda setting: wrong[setting][0], lambda setting: wrong[setting][-1]]
    key = key_for(2, claim.stream_name)
    again = check_rivals(claim, rivals, key=key, error_rate=ERROR_RATE, max_draws=MAX_DRAWS)
    return [finding for findings in again for finding in findings]


def test_claim_names_are_unique():
    names = [claim.name for claim in CLAIMS]
    assert len(names) == len(set(names))
