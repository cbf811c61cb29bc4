"""At a corner of its settings a claim is refused in one clear line or judged, and no true claim is refuted."""

import pytest

from attnlab_theory.claims import CLAIMS, Claim, Setting, Verdict, check
from attnlab_theory.seeds import key_for
from tests.circles import EXPLORING
from tests.claims.corners import corners, refused

ERROR_RATE = 1e-6 / (2 * len(CLAIMS))
"""All corners together refute a true claim with this chance, at one block of draws each."""


def is_unclear(claim: Claim, error: ValueError) -> bool:
    """Whether it is not one line about this claim, or says that the draw itself broke down."""
    line = str(error)
    return not line.startswith(claim.name) or "\n" in line or "drew" in line or "nan" in line


def wrong_at(claim: Claim, setting: Setting) -> str:
    """What is wrong at a corner, and nothing if it is refused or judged well."""
    draws = 8 * claim.chunk
    key = key_for(3, claim.stream_name)
    try:
        (finding,) = check(claim, key=key, error_rate=ERROR_RATE, max_draws=draws, settings=[setting])
    except ValueError as error:
        return f"{error} at {setting}" if is_unclear(claim, error) else ""
    except Exception as error:
        return f"{type(error).__name__}: {error} at {setting}"
    if finding.verdict is Verdict.REFUTED and claim.expect is Verdict.SUPPORTED:
        return f"{finding.measured} is not in {finding.predicted} at {setting}"
    return ""


@pytest.mark.slow("hypotheses on their edges, a little inside and beyond, stay inside")
def test_at_every_corner_hypotheses_hold_or_refuse_in_one_line(subtests):
    """Makes every corner of every claim, and asks the judge about those that a hypothesis excludes."""
    for claim in CLAIMS:
        with subtests.test(claim.name):
            assert [wrong for s in corners(claim) if refused(claim, s) and (wrong := wrong_at(claim, s))] == []


def judged_corners(claim: Claim) -> list[Setting]:
    """One corner that is not refused, because each costs a program. It is the first in a shape of its own, or else
    the first in a shape that the claim's own settings have. `make explore` judges both."""
    known = {setting.static() for setting in claim.settings}
    admitted = [setting for setting in corners(claim) if not refused(claim, setting)]
    chosen = [next((s for s in admitted if (s.static() in known) == old), None) for old in (False, True)]
    return [setting for setting in chosen if setting is not None][: 2 if EXPLORING else 1]


@pytest.mark.slow("hypotheses on their edges, a little inside and beyond, stay inside")
@pytest.mark.parametrize("claim", CLAIMS if EXPLORING else CLAIMS[::3], ids=lambda claim: claim.name)
def test_no_corner_refutes_a_true_claim_or_breaks_its_draw(claim: Claim):
    """Judges every third claim at a corner, and compiles a program for most of them."""
    assert [wrong for setting in judged_corners(claim) if (wrong := wrong_at(claim, setting))] == []
