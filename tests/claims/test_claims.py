"""Every claim comes out as expected, its rival falls, and its prediction moved past the resolution is refuted.

Most of the time goes into compiling the draws: one program for each static part of the settings. So every claim is
judged at one setting here, and claims of one draw share a test and its program. Outside every other claim is judged
at its last setting, and the others at a corner (`test_corners.py`). `make explore` and `make lab` judge all.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any

import pytest

from attnlab_theory.claims import CLAIMS, Claim, Finding, Setting, Verdict, check, check_rivals, judge
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval
from tests.circles import EXPLORING
from tests.claims.findings import findings_of

# Two measurements of each setting, one for the claim and one for its moved copies, and two more of the one setting.
# All of them together miss a truth with this chance, whatever they share: programs, draws or keys.
ERROR_RATE = 1e-6 / sum(2 * (len(claim.settings) + 1) for claim in CLAIMS)
MAX_DRAWS = 2**17


def of_one_draw() -> list[list[Claim]]:
    """The claims, those together that have one draw: at one static part their programs are one."""
    groups: dict[Any, list[Claim]] = {}
    for claim in CLAIMS:
        groups.setdefault((claim.draw, claim.kind, claim.chunk), []).append(claim)
    return list(groups.values())


def work(claim: Claim, setting: Setting) -> float:
    """How long a setting takes, roughly: its shapes and steps, multiplied, times the draws that once decided it."""
    shapes = [value for _, value in setting.static() if isinstance(value, int | float)]
    draws = max((finding.draws for finding in findings_of(claim, setting)), default=1)
    return math.prod(max(1.0, abs(value)) for value in shapes) * draws


def one_setting_each(claims: Sequence[Claim]) -> list[tuple[Claim, Setting]]:
    """The cheapest setting of each of these claims: of as few static parts as will do, then that of least work."""
    chosen: list[tuple[Claim, Setting]] = []
    left = list(claims)
    while left:
        cheapest: dict[Any, dict[Claim, Setting]] = {}
        for claim in left:
            for setting in sorted(claim.settings, key=functools.partial(work, claim)):
                cheapest.setdefault(setting.static(), {}).setdefault(claim, setting)
        best = min(cheapest.values(), key=lambda at: (-len(at), sum(work(*pair) for pair in at.items())))
        chosen += best.items()
        left = [claim for claim in left if claim not in best]
    return chosen


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


def is_judged_well(claim: Claim, settings: Sequence[Any]) -> None:
    """Assert that the claim comes out as expected, that its rival falls, and that moved predictions do."""
    key = key_for(1, claim.stream_name)
    findings = check(claim, key=key, error_rate=ERROR_RATE, max_draws=MAX_DRAWS, settings=settings)
    assert [f for f in findings if not f.as_expected] == []
    if claim.expect != Verdict.SUPPORTED:
        return
    assert [f for f in findings if f.rival is not None and f.rival.verdict != Verdict.REFUTED] == []
    wrong = [moved(finding) for finding in findings]
    assert all(wrong), "a claim that predicts every number says nothing"
    (exact,) = {claim.bound_at(setting).is_exact for setting in settings}
    if exact:
        # One number, which another measurement would only compute again.
        verdicts = [judge(p, f.measured, f.resolution) for f, ps in zip(findings, wrong, strict=True) for p in ps]
    else:
        verdicts = [f.verdict for f in on_other_keys(claim, dict(zip(settings, wrong, strict=True)))]
    assert set(verdicts) == {Verdict.REFUTED}


def on_other_keys(claim: Claim, wrong: dict[Any, list[Interval]]) -> list[Finding]:
    """Findings of both wrong predictions of every setting.

    On the same keys, support for the claim would imply them. Both directions are judged on the same draws, and far
    predictions fall early: this costs less than a check.
    """
    rivals = [lambda setting: wrong[setting][0], lambda setting: wrong[setting][-1]]
    key = key_for(2, claim.stream_name)
    again = check_rivals(claim, rivals, key=key, error_rate=ERROR_RATE, max_draws=MAX_DRAWS, settings=list(wrong))
    return [finding for findings in again for finding in findings]


@pytest.mark.parametrize("claims", of_one_draw(), ids=lambda claims: claims[0].name)
def test_claims_of_one_draw_come_out_as_expected_at_one_setting(claims: list[Claim]):
    """Judges every claim, and compiles what it draws."""
    for claim, setting in one_setting_each(claims):
        is_judged_well(claim, [setting])


def test_every_claim_is_judged_at_one_setting():
    chosen = [claim.name for claims in of_one_draw() for claim, _ in one_setting_each(claims)]
    assert sorted(chosen) == sorted(claim.name for claim in CLAIMS)


@pytest.mark.slow("each claim is judged at its cheapest setting")
@pytest.mark.parametrize("claim", CLAIMS if EXPLORING else CLAIMS[1::3], ids=lambda c: c.name)
def test_claim_comes_out_as_expected_and_moved_predictions_fall(claim: Claim):
    """Judges every third claim at its last setting, and on other draws its prediction moved either way."""
    is_judged_well(claim, claim.settings if EXPLORING else claim.settings[-1:])


def test_a_sentence_names_some_of_its_settings_and_its_numbers_stand_there():
    """A sentence that names all of them has nothing to set apart."""
    for claim in CLAIMS:
        if claim.stated:
            named = [claim.beside(each)["stated"] for each in claim.settings]
            assert 0 < sum(named) < len(named), claim.name


def test_claim_names_are_unique():
    names = [claim.name for claim in CLAIMS]
    assert len(names) == len(set(names))
