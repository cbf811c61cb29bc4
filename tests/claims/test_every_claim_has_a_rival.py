"""A claim names what would be believed instead, and its resolution tells the two apart.

Predictions are read from the committed findings, to which test_committed_findings.py holds those of today. That the
rival falls on the draws that support the claim is judged in every run, and in test_claims.py.
"""

import pytest

from attnlab_theory.claims import CLAIMS, Claim, Verdict
from attnlab_theory.stats import Interval
from tests.claims.findings import findings_of
from tests.claims.without_a_rival import WITHOUT_A_RIVAL

TRUE = [claim for claim in CLAIMS if claim.expect == Verdict.SUPPORTED]
FOILS = [claim for claim in CLAIMS if claim.foil_of is not None]


def rivals(claim: Claim, setting) -> list[Interval]:
    """What is predicted instead: by the claim's own rival, and by foils that are judged on the same draws."""
    named = [found.rival.predicted for found in findings_of(claim, setting)[:1] if found.rival]
    same = (f for f in FOILS if f.foil_of is claim and f.draw is claim.draw and f.stream_name == claim.stream_name)
    return named + [found.predicted for foil in same for found in findings_of(foil, setting)[:1]]


def is_told_apart(predicted: Interval, rival: Interval, resolution: float) -> bool:
    """Whether support for the prediction rules the rival out, or the draws have to decide between the two."""
    if predicted.overlaps(rival):
        # A tighter bound, say: support of the claim does not refute it, and the run has to.
        return not rival.contains(predicted)
    return 2 * resolution < max(rival.low - predicted.high, predicted.low - rival.high)


def lacking(claim: Claim) -> list[str]:
    """The settings at which nothing that would be believed instead is told apart from the claim."""
    found = [(setting, findings_of(claim, setting)[0]) for setting in claim.settings]
    return [
        str(setting)
        for setting, finding in found
        if not any(is_told_apart(finding.predicted, rival, finding.resolution) for rival in rivals(claim, setting))
    ]


def test_a_claim_is_told_from_its_rival_at_every_setting():
    found = {claim.name: settings for claim in TRUE if (settings := lacking(claim))}
    wrong = [f"{name}: {settings}" for name, settings in found.items() if name not in WITHOUT_A_RIVAL]
    wrong += [f"{name} has a rival now: take it off the list" for name in WITHOUT_A_RIVAL if name not in found]
    assert not wrong, "\n".join(wrong)


def test_the_exceptions_are_claims_and_each_has_a_reason():
    assert set(WITHOUT_A_RIVAL) <= {claim.name for claim in TRUE}
    assert all(len(reason) > 20 for reason in WITHOUT_A_RIVAL.values())


@pytest.mark.parametrize(
    ("predicted", "rival", "apart"),
    [
        (Interval.point(1.0), Interval.point(1.5), True),
        (Interval.point(1.0), Interval.point(1.2), False),
        (Interval.at_most(1.0), Interval.at_least(1.3), True),
        (Interval.at_most(1.0), Interval.at_least(1.1), False),
        (Interval.at_most(1.0), Interval.at_most(0.5), True),
        (Interval.at_most(1.0), Interval.at_most(1.5), False),
        (Interval(0.9, 1.1), Interval.point(1.4), True),
    ],
)
def test_rivals_are_told_apart_by_more_than_two_resolutions(predicted, rival, apart):
    assert is_told_apart(predicted, rival, 0.12) == apart
