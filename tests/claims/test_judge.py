"""What the judge says of two intervals, when it stops drawing, and what it refuses."""

import dataclasses
import math
import random
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import attnlab_theory
from attnlab_theory.claims import Findings, Setting, Traced, Verdict, judge
from attnlab_theory.stats import Interval, bounded, exact, known_variance, normal, paired, proportion, same_law
from tests.toys import BLOCK, Coin, checked, coin_claim, toss

SUPPORTED, REFUTED, INCONCLUSIVE = Verdict.SUPPORTED, Verdict.REFUTED, Verdict.INCONCLUSIVE


def test_verdict_follows_from_two_intervals(subtests):
    for predicted, measured, verdict in [
        (Interval.point(0.5), Interval(0.6, 0.7), REFUTED),
        (Interval.point(0.5), Interval(0.3, 0.4), REFUTED),
        (Interval.point(0.5), Interval(0.45, 0.55), SUPPORTED),
        (Interval.point(0.5), Interval(0.4, 0.7), INCONCLUSIVE),
        (Interval.point(0.5), Interval(0.5, 0.6), SUPPORTED),
        (Interval.point(0.5), Interval(-math.inf, math.inf), INCONCLUSIVE),
        (Interval.point(0.5), Interval.point(0.5), SUPPORTED),
        (Interval.at_most(1.0), Interval(-5.0, 0.9), SUPPORTED),
        (Interval.at_most(1.0), Interval(-5.0, 1.1), INCONCLUSIVE),
        (Interval.at_most(1.0), Interval(0.95, 1.04), SUPPORTED),
        (Interval.at_most(1.0), Interval(1.01, 1.02), REFUTED),
        (Interval.at_least(1.0), Interval(1.0, 90.0), SUPPORTED),
        (Interval.at_least(1.0), Interval(-9.0, 0.9), REFUTED),
        (Interval(0.0, 1.0), Interval(0.1, 0.9), SUPPORTED),
        (Interval(0.0, 1.0), Interval(-0.1, 0.9), INCONCLUSIVE),
        (Interval(0.0, 1.0), Interval(0.95, 1.05), SUPPORTED),
        (Interval(0.0, 1.0), Interval(1.1, 1.15), REFUTED),
    ]:
        with subtests.test(predicted=predicted, measured=measured, verdict=verdict):
            assert judge(predicted, measured, resolution=0.125) == verdict


def test_support_ends_at_the_resolution_to_the_last_digit():
    for resolution in (0.125, 0.1, 3.0):
        wider = Interval(0.0, math.nextafter(resolution, math.inf))
        assert judge(Interval.point(0.0), Interval(0.0, resolution), resolution) == SUPPORTED
        assert judge(Interval.point(0.0), wider, resolution) == INCONCLUSIVE


numbers = st.floats(-100, 100)
intervals = (
    st.tuples(numbers, numbers).map(lambda pair: Interval(min(pair), max(pair)))
    | numbers.map(Interval.at_most)
    | numbers.map(Interval.at_least)
)


@given(intervals, intervals, st.floats(2**-20, 100), st.floats(0, 1))
def test_support_puts_whatever_was_measured_within_a_resolution_of_the_prediction(
    predicted, measured, resolution, position
):
    truth = (1 - position) * max(measured.low, -1e6) + position * min(measured.high, 1e6)
    away = max(predicted.low - truth, truth - predicted.high, 0.0)
    verdict = judge(predicted, measured, resolution)
    # The interpolation above is rounded: numbers up to 1e6.
    assert verdict != SUPPORTED or away <= resolution + 4 * math.ulp(1e6)
    assert (verdict == REFUTED) == (not predicted.overlaps(measured))


def test_a_foil_is_as_expected_when_it_falls():
    foil = coin_claim(predict=lambda coin: Interval.point(0.9), expect=REFUTED)
    assert all(f.as_expected and f.verdict == REFUTED for f in checked(foil))
    stands = coin_claim(expect=REFUTED)
    assert not any(f.as_expected for f in checked(stands))


def test_a_finding_records_what_was_asked():
    finding = checked(coin_claim(settings=(Coin(chance=0.5, width=2),)), experiment="toys", error_rate=0.05)[0]
    assert (finding.experiment, finding.claim, finding.statement) == (
        "toys",
        "coin",
        "A coin's mean is its chance.",
    )
    assert (finding.error_rate, finding.resolution, finding.source) == (0.05, 0.1, "Bernoulli 1713")
    assert finding.predicted == Interval.point(0.5)
    assert finding.setting == {"chance": 0.5, "width": 2}
    assert finding.bound.startswith("proportion: ")


def exact_claim(value, rounding=0.0, **changes):
    return coin_claim(
        draw=lambda key, coin: value, bound=lambda coin: exact(rounding), resolution=lambda coin: 1e-30, **changes
    )


@pytest.mark.parametrize(
    "value", [0.1, 1 / 3, np.float64(math.pi), np.nextafter(1.0, 2.0), np.asarray(1e-300)], ids=repr
)
def test_an_exact_claim_keeps_every_digit_of_a_number_made_on_the_host(value):
    (finding,) = checked(
        exact_claim(value, settings=(Coin(chance=0.5),), predict=lambda coin: Interval.point(float(value)))
    )
    assert finding.measured == Interval.point(float(value))
    assert (finding.verdict, finding.error_rate, finding.draws) == (SUPPORTED, 0.0, 1)
    next_number = Interval.point(math.nextafter(float(value), math.inf))
    (wrong,) = checked(exact_claim(value, settings=(Coin(chance=0.5),), predict=lambda coin: next_number))
    assert wrong.verdict == REFUTED


def test_an_exact_claim_sees_plain_numbers_once():
    seen = []

    def draw(key, coin):
        seen.append(coin)
        return jnp.asarray(coin.chance)

    checked(coin_claim(draw=draw, bound=lambda coin: exact(1e-7), resolution=lambda coin: 4e-7))
    assert seen == [Coin(chance=0.25), Coin(chance=0.5)]
    assert all(type(coin.chance) is float for coin in seen)


NAN_NOW_AND_THEN = {
    "draw": lambda key, coin: jnp.where(jax.random.uniform(key) < 0.1, jnp.nan, 0.0),
    "bound": lambda coin: known_variance(1.0),
}


@pytest.mark.slow("the refusal of five draws that ignore their key stays inside")
def test_what_cannot_be_judged_is_refused(subtests):
    """Judges some thirty claims, and compiles what many of them draw."""
    for changes, said in [
        (
            {"settings": (Coin(chance=0.5), Coin(chance=1.5))},
            r"coin: the hypothesis 'it is a chance' does not hold at Coin\(.*1.5",
        ),
        ({"resolution": lambda coin: 0.0}, "resolution must be positive and finite, not 0.0"),
        ({"resolution": lambda coin: -1.0}, "resolution must be positive and finite, not -1.0"),
        ({"resolution": lambda coin: math.nan}, "resolution must be positive and finite, not nan"),
        ({"resolution": lambda coin: math.inf}, "resolution must be positive and finite, not inf"),
        (NAN_NOW_AND_THEN, r"coin drew nan at Coin\(chance=0.25"),
        ({"draw": lambda key, coin: jnp.asarray(0.5)}, "a draw is neither 0 nor 1"),
        ({"draw": lambda key, coin: jnp.zeros(3)}, r"coin drew an array of shape \(3,\), not one number, at Coin"),
        ({"chunk": 1024}, "coin: max_draws is 1024, but a block holds 8192: lower the chunk"),
        ({"bound": lambda coin: exact(0.1), "draw": lambda key, coin: math.nan}, "coin drew nan"),
        (
            {"bound": lambda coin: exact(0.1), "draw": lambda key, coin: np.zeros(2)},
            r"coin drew an array of shape \(2,\), not one number",
        ),
        ({"bound": lambda coin: exact(0.1), "draw": lambda key, coin: 0.5}, "finer than the rounding error"),
        ({"predict": lambda coin: Interval.point(math.nan)}, "low <= high"),
        (
            {"predict": lambda coin: 0.5},
            r"coin: predict must give an Interval, not 0.5, at Coin\(.*Interval.point\(x\)",
        ),
        ({"predict": 0.5}, "coin: predict must give an Interval, not 0.5"),
        ({"bound": lambda coin: (0.0, 1.0)}, r"coin: bound must give a Bound, not \(0.0, 1.0\)"),
        ({"resolution": "fine"}, "coin: the resolution must be positive and finite, not 'fine'"),
        (
            {"resolution": 1.5},
            r"coin: the resolution 1.5 is wider than \[0, 1\], all that the bound allows, at Coin",
        ),
        ({"predict": Interval(-math.inf, math.inf)}, r"coin: the prediction \[-inf, inf\] says nothing"),
        (
            {"predict": Interval(-math.inf, math.inf), "bound": known_variance(1.0)},
            r"coin: the prediction \[-inf, inf\] says nothing, at Coin",
        ),
        ({"predict": Interval(0.0, 1.0)}, r"says nothing: it contains all of \[0, 1\] that the bound allows"),
        ({"predict": Interval.at_least(0.0)}, r"\[0, inf\] says nothing"),
        ({"predict": Interval(-1.0, 1.0), "bound": paired()}, r"all of \[-1, 1\]"),
        (
            {"draw": lambda key, coin: jax.random.normal(key), "bound": bounded(0.0, 1.0)},
            "a draw lies outside",
        ),
        (
            {"draw": lambda key, coin: 2**24 + jax.random.randint(key, (), 0, 2), "bound": known_variance(1.0)},
            r"coin drew the whole number 1677721\d, beyond the 2\*\*24 up to which float32 holds every one",
        ),
        (
            {"draw": lambda key, coin: jax.lax.complex(*jax.random.uniform(key, 2))},
            "coin drew a complex64, not a real number: take its real part, .* at Coin",
        ),
        (
            {"bound": exact(0.1), "draw": lambda key, coin: jnp.asarray(0.5 + 1j)},
            "coin drew a complex64, not a real number",
        ),
    ]:
        with subtests.test(said), pytest.raises(ValueError, match=said):
            checked(coin_claim(**changes))


KEY_OF_ITS_OWN = jax.random.key(3)
NUMPYS = np.random.default_rng(0)


@jax.jit
def half_and_half(x):
    return (x + NUMPYS.uniform()) / 2


FROZEN = {
    "numpy": lambda key, coin: NUMPYS.uniform(),
    "python": lambda key, coin: random.random(),
    "a fixed key": lambda key, coin: jax.random.uniform(KEY_OF_ITS_OWN),
    "a setting alone": lambda key, coin: coin.chance,
    "numpy beside the key": lambda key, coin: (jax.random.uniform(key) + NUMPYS.uniform()) / 2,
    "an array of numpy's": lambda key, coin: jnp.mean(
        jnp.asarray(NUMPYS.uniform(size=9), jnp.float32) * jax.random.uniform(key)
    ),
    "numpy inside of jit": lambda key, coin: half_and_half(jax.random.uniform(key)),
}


@pytest.mark.slow("three of seven members stay inside", but=3)
@pytest.mark.parametrize("draw", FROZEN.values(), ids=FROZEN)
def test_a_draw_whose_chance_is_not_of_its_key_is_refused(draw):
    claim = coin_claim(draw=draw, bound=bounded(0.0, 1.0))
    with pytest.raises(ValueError, match=r"coin: the draw .* make every one from the key") as refused:
        checked(claim)
    assert "\n" not in str(refused.value)


def test_a_resolution_as_wide_as_the_range_a_bound_and_whole_numbers_that_fit_are_legal():
    for changes in ({"resolution": 1.0}, {"predict": Interval.at_most(0.9)}):
        assert {f.verdict for f in checked(coin_claim(**changes))} == {SUPPORTED}

    def near(key, coin):
        return 2**24 - 2 + jax.random.randint(key, (), 0, 2)

    (found,) = checked(
        coin_claim(
            draw=near, predict=Interval.point(2**24 - 1.5), bound=known_variance(0.3), settings=(Coin(chance=0.5),)
        ),
        max_draws=BLOCK * 2**8,
    )
    assert found.verdict != REFUTED


def shifted_coin(offset, kind, **changes):
    """The true claim about a coin and an offset, drawn in a type."""

    def draw(key, coin):
        return jnp.asarray(offset, kind) + jnp.asarray(jax.random.uniform(key) < 0.5, kind)

    declared = {"draw": draw, "predict": Interval.point(offset + 0.5), "bound": known_variance(0.3)}
    return coin_claim(settings=(Coin(chance=0.5),), **declared | changes)


@pytest.mark.parametrize(("offset", "kind"), [(2**24, "float32"), (2048, "float16")])
def test_a_true_mean_that_the_type_of_the_draws_does_not_hold_is_refused_and_not_refuted(offset, kind):
    said = f"coin drew numbers up to {offset} in {kind}, which are 2 apart there: rounding may move their mean by 1"
    with pytest.raises(ValueError, match=f"{said}, and 0.1 is to be resolved; draw a difference .* at Coin"):
        checked(shifted_coin(offset, kind))


def test_a_mean_that_rounding_moved_by_less_than_the_resolution_is_supported():
    """All draws are 2048, and the mean is 2048.5: two units of rounding may hide in a resolution of 3."""
    (found,) = checked(shifted_coin(2048, "float16", resolution=3.0))
    assert (found.verdict, found.measured.high < 2048.5) == (SUPPORTED, True)
    (found,) = checked(shifted_coin(2048, "float16", resolution=3.0, predict=Interval.at_least(2052.0)))
    assert found.verdict == REFUTED


CASTS = {
    "cast to float32": ("float16", lambda x: x.astype("float32")),
    "cast to whole numbers": ("float16", lambda x: x.astype("int32")),
    "cast within another function": ("float16", jax.jit(lambda x: x.astype("float32"))),
    "rounded without a cast": ("bfloat16", lambda x: jax.lax.reduce_precision(x.astype("float32"), 8, 7)),
}


@pytest.mark.parametrize(("kind", "cast"), CASTS.values(), ids=CASTS)
def test_a_cast_does_not_bring_back_what_a_coarser_type_has_lost(kind, cast):
    """Beside 2048 a coin is lost in half precision, whatever type the sum is kept in later."""

    def draw(key, coin):
        return cast(jnp.asarray(2048, "float16") + jnp.asarray(jax.random.uniform(key) < 0.5, "float16"))

    with pytest.raises(ValueError, match=f"drew numbers up to 2048 in {kind}, .* is to be resolved"):
        checked(shifted_coin(2048, "float16", draw=draw))


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_a_true_law_is_not_refuted_for_a_cast_after_its_rounding(kind):
    tenths = np.arange(1, 11) / 10

    def draw(key, coin):
        return jnp.asarray(tenths, kind)[jax.random.randint(key, (), 0, 10)].astype("float32")

    law = same_law(tenths, tenths)
    claim = coin_claim(draw=draw, bound=law, predict=Interval.point(0.0), settings=(Coin(chance=0.5),))
    assert checked(claim, max_draws=BLOCK * 2**7)[0].verdict == SUPPORTED
    wrong = dataclasses.replace(claim, bound=same_law(tenths, tenths**2))
    assert checked(wrong)[0].verdict == REFUTED


@pytest.mark.parametrize("kind", ["bool", "int8", "bfloat16", "float16"])
def test_a_coin_may_be_drawn_in_any_type(kind):
    """Its bound knows that it is 0 or 1, which every type holds. The resolution is finer than half precision."""

    def draw(key, coin):
        return jnp.asarray(jax.random.uniform(key) < 2**-12, kind)

    claim = coin_claim(draw=draw, predict=Interval.at_most(0.5), resolution=1e-6, settings=(Coin(chance=0.5),))
    assert checked(claim)[0].verdict == SUPPORTED


def test_a_fixed_key_beside_the_real_one_and_equal_draws_are_legal():
    def fixed(key, coin):
        return jnp.where(jax.random.uniform(KEY_OF_ITS_OWN) < 2, jax.random.uniform(key), 0)

    def equal(key, coin):
        return jnp.clip(jax.random.uniform(key), 0.5, 0.5)

    for draw in (fixed, equal):
        (found,) = checked(coin_claim(draw=draw, bound=bounded(0.0, 1.0), settings=(Coin(chance=0.5),)))
        assert found.verdict == SUPPORTED


def test_no_room_that_draws_knows_the_random_numbers_of_numpy_or_python():
    """The lab's own draws are traced once, and never made again one by one: this stands for both."""
    package = Path(attnlab_theory.__file__).parent
    for room in ("attention", "claims", "sampling", "construct"):
        for path in (package / room).rglob("*.py"):
            text = path.read_text()
            assert not re.search(r"\bnp\.random|numpy\.random|^import random|^from random", text, re.M)
            assert not re.search(r"custom_vmap|ffi_call|\bPrimitive\(", text)


@pytest.mark.parametrize("error_rate", [0.0, 1.0, -0.5, math.nan])
@pytest.mark.parametrize("bound", [proportion(), exact(0.1)], ids=lambda bound: bound.name)
def test_an_error_rate_that_is_no_rate_is_refused_before_anything_is_drawn(error_rate, bound):
    drawn = []
    claim = coin_claim(draw=lambda key, coin: drawn.append(coin) or toss(key, coin), bound=lambda coin: bound)
    with pytest.raises(ValueError, match=f"between 0 and 1, not {error_rate}"):
        checked(claim, error_rate=error_rate)
    assert drawn == []


def test_hypotheses_are_checked_before_anything_is_drawn():
    drawn = []
    claim = coin_claim(
        settings=(Coin(chance=0.5), Coin(chance=-1.0)), draw=lambda key, coin: drawn.append(coin) or toss(key, coin)
    )
    with pytest.raises(ValueError, match="it is a chance"):
        checked(claim)
    assert drawn == []


def test_four_times_the_rounding_always_resolves_an_exact_claim():
    for value in (0.0, 1.0, 1e5, 0.1):
        rounding = 2.0**-24 * max(value, 1.0)
        claim = coin_claim(
            settings=(Coin(chance=0.5),),
            draw=lambda key, coin, value=value: value,
            bound=lambda coin, rounding=rounding: exact(rounding),
            resolution=lambda coin, rounding=rounding: 4 * rounding,
            predict=lambda coin, value=value: Interval.point(value),
        )
        assert checked(claim)[0].verdict == SUPPORTED


@pytest.mark.parametrize(("resolution", "resolves"), [(2.0**-9, True), (math.nextafter(2.0**-9, 0.0), False)])
def test_the_finest_resolution_of_an_exact_claim_is_the_width_of_its_rounding(resolution, resolves):
    claim = coin_claim(
        settings=(Coin(chance=0.5),),
        draw=lambda key, coin: 0.5,
        bound=lambda coin: exact(2.0**-10),
        resolution=lambda coin: resolution,
    )
    if resolves:
        assert checked(claim)[0].verdict == SUPPORTED
    else:
        with pytest.raises(ValueError, match="finer than the rounding error"):
            checked(claim)


def test_mixed_bounds_of_one_claim_are_each_settings_own():
    claim = coin_claim(
        bound=lambda coin: proportion() if coin.chance < 0.3 else normal("many tosses"),
        resolution=lambda coin: 0.2,
    )
    assert [f.bound.split(":")[0] for f in checked(claim)] == ["proportion", "normal"]


def test_findings_choose_by_claim_and_setting():
    findings = checked(
        coin_claim(settings=(Coin(chance=0.25, width=1), Coin(chance=0.5, width=1), Coin(chance=0.5, width=2)))
    )
    assert findings.of("coin", chance=0.5).values("width") == [1, 2]
    assert isinstance(findings.of("coin"), Findings)
    for missing in ({"chance": 0.3}, {"chance": 0.25, "width": 2}):
        with pytest.raises(KeyError, match="no finding of coin"):
            findings.of("coin", **missing)
    with pytest.raises(KeyError, match="no finding of die"):
        findings.of("die")


def test_scalar_settings_may_be_of_any_float_type():
    class Heat(Setting):
        beta: Traced[float]

    claim = coin_claim(
        hypotheses={},
        settings=(Heat(beta=np.float64(0.5)), Heat(beta=0.25)),
        draw=lambda key, heat: jnp.asarray(jax.random.uniform(key) < heat.beta, jnp.float32),
        predict=lambda heat: Interval.point(heat.beta),
    )
    assert [f.verdict for f in checked(claim, max_draws=BLOCK * 64)] == [SUPPORTED, SUPPORTED]
