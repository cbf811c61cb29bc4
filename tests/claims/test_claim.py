"""What makes a claim, an exact claim and a foil, and what is refused."""

import dataclasses

import pytest

from attnlab_theory.claims import Setting, Verdict, exact_claim, foil
from attnlab_theory.stats import Interval, proportion
from tests.toys import Coin, checked, coin_claim


class Die(Setting):
    sides: int


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ((), r"coin: settings must be a tuple of at least one setting, not \(\)"),
        ([Coin(chance=0.5)], "coin: settings must be a tuple of at least one setting"),
        (({"chance": 0.5},), "coin: a setting must be an instance of a Setting, not {'chance': 0.5}"),
        ((Coin(chance=0.5), Die(sides=6)), "coin: all settings of a claim are of one kind, not Coin and Die"),
    ],
)
def test_a_claim_without_proper_settings_is_refused_in_one_line(settings, said):
    with pytest.raises(ValueError, match=f"^{said}[^\n]*$"):
        coin_claim(settings=settings)


@pytest.mark.parametrize("stated", [{"chance": 0.75}, {"bias": 0.5}])
def test_a_claim_whose_sentence_names_none_of_its_settings_is_refused(stated):
    assert coin_claim(stated={"chance": 0.5}).beside(Coin(chance=0.5))["stated"]
    with pytest.raises(ValueError, match=r"^coin: stated=.* is none of its settings$"):
        coin_claim(stated=stated)


@pytest.mark.slow("bounds that are functions of the setting stay inside")
def test_plain_values_and_functions_of_the_setting_say_the_same():
    plain = coin_claim(predict=Interval(0.2, 0.6), bound=proportion(), resolution=0.1)
    functions = coin_claim(
        predict=lambda coin: Interval(0.2, 0.6), bound=lambda coin: proportion(), resolution=lambda coin: 0.1
    )
    assert checked(plain) == checked(functions)


def test_an_exact_claim_takes_bound_and_resolution_from_one_rounding():
    made = {
        "name": "half",
        "statement": "Half is a half.",
        "source": "arithmetic",
        "predict": Interval.point(0.5),
        "draw": lambda key, coin: coin.chance,
        "settings": (Coin(chance=0.5), Coin(chance=0.5 + 3e-3)),
    }
    fixed = exact_claim(**made, rounding=1e-3)
    (right, wrong) = checked(fixed)
    assert (right.measured, right.resolution, right.draws) == (Interval.around(0.5, 1e-3), 4e-3, 1)
    assert (right.verdict, wrong.verdict) == (Verdict.SUPPORTED, Verdict.REFUTED)
    assert checked(exact_claim(**made, rounding=lambda coin: 1e-3)) == checked(fixed)


FOIL = {"name": "wrong", "statement": "A coin's mean is 0.9.", "source": "nobody"}


def test_a_foil_keeps_what_is_not_changed_and_is_expected_to_fall():
    claim = coin_claim(stream="tosses")
    wrong = foil(claim, **FOIL, predict=Interval.point(0.9))
    assert (wrong.expect, wrong.draw, wrong.settings) == (Verdict.REFUTED, claim.draw, claim.settings)
    assert wrong.stream_name == "tosses"
    assert all(finding.as_expected and finding.verdict == Verdict.REFUTED for finding in checked(wrong))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "wrong: a foil of coin must differ from it in predict, draw or settings"),
        ({"resolution": 0.5}, "wrong: a foil of coin must differ from it in predict, draw or settings"),
        ({"predikt": Interval.point(0.9)}, "wrong: a foil cannot change 'predikt'"),
        ({"expect": Verdict.SUPPORTED, "predict": Interval.point(0.9)}, "wrong: a foil cannot change 'expect'"),
    ],
)
def test_a_foil_that_changes_nothing_or_the_wrong_thing_is_refused(changed, said):
    with pytest.raises(ValueError, match=said):
        foil(coin_claim(), **FOIL, **changed)


def test_streams_are_shared_by_naming_the_other_claim():
    first = coin_claim(name="first")
    second = coin_claim(name="second", stream=first)
    third = coin_claim(name="third", stream=second)
    named = coin_claim(name="fourth", stream="tosses")
    assert [claim.stream_name for claim in (first, second, third, named)] == ["first", "first", "first", "tosses"]
    assert coin_claim(stream=named).stream_name == "tosses"


def test_a_finding_in_another_unit_has_all_four_ends_multiplied():
    (finding,) = checked(coin_claim(predict=Interval(0.2, 0.6), settings=(Coin(chance=0.5),)))
    halves = finding.times(2.0)
    for new, old in ((halves.predicted, finding.predicted), (halves.measured, finding.measured)):
        assert (new.low, new.high) == (2 * old.low, 2 * old.high)
    assert halves.times(0.5) == finding
    assert dataclasses.replace(finding, compared=("one", 0.25)).times(2.0).compared == ("one", 0.5)
