"""Every claim comes out as expected, and its prediction moved past the resolution is refuted."""

import dataclasses
import math

import pytest

from attnlab_theory.claims import CLAIMS, Claim, Finding, Verdict, check
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval

ERROR_RATE = 1e-6 / sum(3 * len(claim.settings) for claim in CLAIMS)
MAX_DRAWS = 2**17


def judged(claim: Claim):
    return check(claim, key=key_for(1, claim.stream or claim.name), error_rate=ERROR_RATE, max_draws=MAX_DRAWS)


def moved(finding: Finding, direction: int) -> Interval | None:
    """A wrong prediction: an equality moved by two resolutions, an end tightened to two beyond the measured."""
    predicted, measured, step = finding.predicted, finding.measured, 2 * finding.resolution
    if predicted.low == predicted.high:
        return Interval.point(predicted.low + direction * step)
    if direction > 0 and math.isfinite(predicted.low):
        return Interval(measured.high + step, math.inf)
    if direction < 0 and math.isfinite(predicted.high):
        return Interval(-math.inf, measured.low - step)
    return None


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda c: c.name)
def test_claim_comes_out_as_expected_and_moved_predictions_fall(claim):
    findings = judged(claim)
    assert [f for f in findings if not f.as_expected] == []
    if claim.expect != Verdict.SUPPORTED:
        return
    # A half-line's resolution says how wide a measurement may be; a moved prediction needs one that narrow.
    for direction in (-1, 1):
        wrong = {i: moved(f, direction) for i, f in enumerate(findings)}
        chosen = [i for i, w in wrong.items() if w is not None]
        if not chosen:
            continue
        settings = [claim.settings[i] for i in chosen]
        predictions = {setting: wrong[i] for setting, i in zip(settings, chosen, strict=True)}
        shifted = dataclasses.replace(claim, predict=predictions.__getitem__)
        again = check(
            shifted,
            key=key_for(1, claim.stream or claim.name),
            error_rate=ERROR_RATE,
            max_draws=MAX_DRAWS,
            settings=settings,
        )
        assert [f for f in again if f.verdict != Verdict.REFUTED] == []


def test_claim_names_are_unique():
    names = [claim.name for claim in CLAIMS]
    assert len(names) == len(set(names))
