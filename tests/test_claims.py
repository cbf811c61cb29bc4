"""Every claim comes out as expected, and its prediction moved past the resolution is refuted."""

import math

import pytest

from attnlab_theory.claims import CLAIMS, Claim, Finding, Verdict, check, check_rivals
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
    name = claim.stream or claim.name
    findings = check(claim, key=key_for(1, name), error_rate=ERROR_RATE, max_draws=MAX_DRAWS)
    assert [f for f in findings if not f.as_expected] == []
    if claim.expect != Verdict.SUPPORTED:
        return
    # On other keys: on the same ones, support for the claim would already imply what is tested here. Both
    # directions are judged on the same draws, and far predictions fall early: this costs less than the above.
    wrong = {setting: moved(finding) for setting, finding in zip(claim.settings, findings, strict=True)}
    assert all(wrong.values()), "a claim that predicts every number says nothing"
    rivals = [lambda setting: wrong[setting][0], lambda setting: wrong[setting][-1]]
    # What an exact claim computes may depend on its key: another key would be another number.
    seed = 1 if claim.bound(claim.settings[0]).is_exact else 2
    again = check_rivals(claim, rivals, key=key_for(seed, name), error_rate=ERROR_RATE, max_draws=MAX_DRAWS)
    assert [f for one in again for f in one if f.verdict != Verdict.REFUTED] == []


def test_claim_names_are_unique():
    names = [claim.name for claim in CLAIMS]
    assert len(names) == len(set(names))
