"""A claim is told from its rival on its own draws; an assumed variance that the draws exceed decides nothing."""

import dataclasses

import jax
import jax.numpy as jnp
import pytest

from attnlab_theory.claims import Rival, Verdict, foil
from attnlab_theory.stats import Interval, VarianceState, exact, known_variance
from tests.toys import BLOCK, Coin, checked, coin_claim

MANY = 64 * BLOCK
SUPPORTED, REFUTED, INCONCLUSIVE = Verdict.SUPPORTED, Verdict.REFUTED, Verdict.INCONCLUSIVE


def rival(off: float) -> Rival:
    return Rival(
        statement="The coin is bent.", source="nobody", predict=lambda coin: Interval.point(coin.chance + off)
    )


def test_a_rival_is_refuted_on_the_same_draws():
    for finding in checked(coin_claim(rival=rival(0.3)), max_draws=MANY):
        assert finding.rival is not None
        assert (finding.verdict, finding.rival.verdict) == (SUPPORTED, REFUTED)
        assert finding.rival.predicted == Interval.point(finding.setting["chance"] + 0.3)
        assert (finding.rival.statement, finding.rival.source) == ("The coin is bent.", "nobody")


def test_findings_say_what_the_sentence_names_and_compares_with():
    at = {"chance": coin_claim().settings[0].chance}
    told = {"stated": at, "compared": ("a fair coin", lambda coin: coin.chance / 2)}
    for finding in checked(dataclasses.replace(coin_claim(rival=rival(0.3)), **told), max_draws=MANY):
        assert finding.stated == (finding.setting["chance"] == at["chance"])
        assert finding.compared == ("a fair coin", finding.setting["chance"] / 2)


def test_a_claim_that_cannot_be_told_from_its_rival_is_inconclusive():
    # Within the resolution: both have the draws' support.
    for finding in checked(coin_claim(rival=rival(0.01)), max_draws=MANY):
        assert finding.rival is not None
        assert (finding.verdict, finding.rival.verdict) == (INCONCLUSIVE, SUPPORTED)


def test_a_half_line_is_drawn_on_until_its_rival_falls():
    claim = coin_claim(predict=Interval.at_most(0.9), settings=(Coin(chance=0.5),), resolution=0.01)
    tight = Rival(statement="At most a third.", source="nobody", predict=Interval.at_most(0.45))
    (alone,), (finding,) = (checked(dataclasses.replace(claim, rival=r), max_draws=MANY) for r in (None, tight))
    assert finding.rival is not None
    assert (finding.verdict, finding.rival.verdict) == (SUPPORTED, REFUTED)
    assert finding.draws == alone.draws
    (hurried,) = checked(dataclasses.replace(claim, rival=tight), max_draws=BLOCK)
    assert hurried.rival is not None
    assert (hurried.verdict, hurried.rival.verdict) == (INCONCLUSIVE, INCONCLUSIVE)


def test_a_refuted_claim_stays_refuted_whatever_its_rival():
    wrong = coin_claim(predict=lambda coin: Interval.point(coin.chance + 0.3), rival=rival(0.0))
    for finding in checked(wrong, max_draws=MANY):
        assert finding.rival is not None
        assert (finding.verdict, finding.rival.verdict) == (REFUTED, SUPPORTED)


def test_an_exact_claim_has_a_rival_too():
    claim = coin_claim(draw=lambda key, coin: coin.chance, bound=exact(1e-9), resolution=4e-9, rival=rival(1e-6))
    assert [(f.verdict, f.rival and f.rival.verdict) for f in checked(claim)] == [(SUPPORTED, REFUTED)] * 2


@pytest.mark.parametrize(("value", "possible"), [(0.4, True), (99.0, False)])
def test_a_rival_beyond_all_that_the_bound_allows_is_marked(value, possible):
    for finding in checked(coin_claim(rival=rival(value))):
        assert finding.rival is not None
        assert finding.rival.is_possible == possible


def test_a_foil_has_no_rival_but_its_claim():
    claim = coin_claim(rival=rival(0.3))
    bent = foil(claim, name="bent", statement="", source="", predict=Interval.point(0.9))
    assert (bent.rival, bent.foil_of) == (None, claim)
    assert all(f.rival is None for f in checked(bent))


@pytest.mark.parametrize("field", ["rival", "foil_of", "expect"])
def test_what_makes_a_foil_a_foil_cannot_be_changed(field):
    with pytest.raises(ValueError, match=f"cannot change '{field}'"):
        foil(coin_claim(), name="bent", statement="", source="", predict=Interval.point(0.9), **{field: None})


def test_a_rival_that_is_no_interval_is_refused_by_name():
    bad = Rival(statement="", source="", predict=lambda coin: 0.5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"coin: predict must give an Interval, not 0.5"):
        checked(coin_claim(rival=bad))


def normal_claim(share: float, **changes):
    """The mean of normal draws, whose variance is said to be this share of what it is."""
    return coin_claim(
        predict=lambda coin: Interval.point(coin.chance),
        draw=lambda key, coin: jnp.asarray(coin.chance) + jax.random.normal(key),
        bound=known_variance(share),
        resolution=0.2,
        chunk=256,
        **changes,
    )


def test_a_variance_that_is_right_is_confirmed_beside_that_of_the_draws():
    for finding in checked(normal_claim(1.0), max_draws=2**13):
        assert finding.variance is not None
        assert (finding.verdict, finding.variance.state) == (SUPPORTED, VarianceState.CONFIRMED)
        assert finding.variance.assumed == 1.0
        assert 0.8 < finding.variance.sample < 1.2


@pytest.mark.parametrize("expect", [SUPPORTED, REFUTED])
def test_a_variance_that_is_halved_makes_every_verdict_inconclusive(expect):
    claim = normal_claim(0.5, expect=expect)
    if expect == REFUTED:
        claim = dataclasses.replace(claim, predict=Interval.point(9.0))
    for finding in checked(claim, max_draws=2**13):
        assert finding.variance is not None
        assert (finding.verdict, finding.variance.state) == (INCONCLUSIVE, VarianceState.STRAINED)


def test_a_bound_without_an_assumed_variance_checks_none():
    assert all(f.variance is None for f in checked(coin_claim()))
