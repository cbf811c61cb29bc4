"""How many draws the judge takes, of what, with which keys, and what it spends of the error rate."""

import dataclasses
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.claims import Findings, Setting, Verdict, check, check_rivals
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Bound, Interval, bounded
from tests.toys import BLOCK, KEY, Coin, checked, coin_claim

SUPPORTED, REFUTED, INCONCLUSIVE = Verdict.SUPPORTED, Verdict.REFUTED, Verdict.INCONCLUSIVE


def test_an_easy_claim_stops_after_one_block_and_a_hard_one_goes_on():
    easy = checked(coin_claim(predict=lambda coin: Interval.at_most(0.99), settings=(Coin(chance=0.25),)))
    hard = checked(coin_claim(settings=(Coin(chance=0.25),)))
    assert [f.draws for f in easy] == [BLOCK]
    assert hard[0].draws > BLOCK
    assert [f.verdict for f in (*easy, *hard)] == [SUPPORTED, SUPPORTED]


def test_every_setting_stops_on_its_own():
    claim = coin_claim(
        predict=lambda coin: Interval.at_most(0.5),
        settings=(Coin(chance=0.02), Coin(chance=0.45), Coin(chance=0.98)),
    )
    findings = checked(claim, max_draws=BLOCK * 2**10)
    assert findings[0].draws == findings[2].draws == BLOCK < findings[1].draws
    assert [f.verdict for f in findings] == [SUPPORTED, SUPPORTED, REFUTED]


def test_a_setting_gets_the_same_finding_beside_others():
    claim = coin_claim(settings=(Coin(chance=0.25), Coin(chance=0.5), Coin(chance=0.75)))
    together = checked(claim)
    for setting, finding in zip(claim.settings, together, strict=True):
        assert checked(claim, settings=[setting]) == Findings([finding])


@pytest.mark.parametrize("blocks", [1, 2, 3, 4, 7])
def test_too_few_draws_never_support_and_the_cap_holds(blocks):
    claim = coin_claim(resolution=lambda coin: 1e-4)
    for finding in checked(claim, max_draws=blocks * BLOCK):
        assert finding.verdict == INCONCLUSIVE
        assert finding.draws == BLOCK * 2 ** math.floor(math.log2(blocks))


def test_rounds_double_and_spend_no_more_than_the_error_rate():
    asked: list[tuple[int, float]] = []

    def spy(row: np.ndarray, error_rate: float) -> Interval:
        asked.append((row.size, error_rate))
        return Interval(-math.inf, math.inf)

    claim = coin_claim(settings=(Coin(chance=0.5),), bound=lambda coin: Bound("spy", "none", spy))
    checked(claim, max_draws=BLOCK * 2**6, error_rate=0.1)
    assert [size for size, _ in asked] == [BLOCK * 2**j for j in range(7)]
    assert [rate for _, rate in asked] == [0.1 / (j * (j + 1)) for j in range(1, 8)]
    # The sum telescopes to e (1 - 1/(rounds + 1)): below e however many rounds there are.
    assert sum(rate for _, rate in asked) < 0.1


def test_later_rounds_keep_the_draws_of_earlier_ones():
    rows: list[np.ndarray] = []

    def spy(row: np.ndarray, error_rate: float) -> Interval:
        rows.append(row)
        return Interval(-math.inf, math.inf)

    checked(coin_claim(draw=lambda key, coin: jax.random.uniform(key), bound=lambda c: Bound("spy", "none", spy)))
    first = rows[::2]
    for earlier, later in itertools.pairwise(first):
        np.testing.assert_array_equal(later[: earlier.size], earlier)
        assert len(np.unique(later)) > earlier.size


def test_settings_that_differ_only_in_traced_fields_share_keys():
    claim = coin_claim(
        draw=lambda key, coin: jax.random.uniform(key) * coin.chance,
        settings=(Coin(chance=0.25), Coin(chance=1.0), Coin(chance=0.5)),
        bound=lambda coin: Bound("spy", "none", spy),
    )
    rows: list[np.ndarray] = []

    def spy(row: np.ndarray, error_rate: float) -> Interval:
        rows.append(row)
        return Interval.point(0.0)

    checked(claim)
    np.testing.assert_array_equal(rows[0] * 4, rows[1])
    np.testing.assert_array_equal(rows[0] * 2, rows[2])


@pytest.mark.slow("which fields are arguments of the compiled draw stays inside")
def test_fields_are_traced_where_their_type_says_so():
    """Compiles the draw for each of two widths."""
    seen = []

    def draw(key, coin):
        seen.append((coin.chance, coin.width))
        return jnp.mean(jax.random.uniform(key, (coin.width,)) < coin.chance, dtype=jnp.float32)

    settings = (
        Coin(chance=0.5, width=3),
        Coin(chance=0.25, width=2),
        Coin(chance=0.75, width=3),
        Coin(chance=0.6, width=2),
    )
    claim = coin_claim(draw=draw, bound=lambda coin: bounded(0.0, 1.0), settings=settings)
    findings = checked(claim)
    # Traced twice and compiled once per shape, though each shape has two settings and several blocks.
    assert [width for _, width in seen] == [3, 3, 2, 2]
    assert all(isinstance(chance, jax.core.Tracer) for chance, _ in seen)
    assert [f.setting for f in findings] == [setting.as_json() for setting in settings]


@pytest.mark.slow("settings with a traced field, which are drawn, stay inside")
def test_settings_without_a_traced_field_are_drawn():
    """Compiles the draw for each setting."""

    class Dice(Setting):
        sides: int

    claim = coin_claim(
        settings=(Dice(sides=6), Dice(sides=4)),
        hypotheses={},
        draw=lambda key, dice: jax.random.randint(key, (), 1, dice.sides + 1),
        predict=lambda dice: Interval.point((dice.sides + 1) / 2),
        bound=lambda dice: bounded(1.0, float(dice.sides)),
        resolution=lambda dice: 0.5,
    )
    assert [f.verdict for f in checked(claim, max_draws=BLOCK * 2**8)] == [SUPPORTED, SUPPORTED]


def test_predictions_and_resolutions_are_asked_once_per_setting():
    asked = []

    def predict(coin):
        asked.append(coin)
        return Interval.point(coin.chance)

    findings = checked(coin_claim(predict=predict))
    assert max(f.draws for f in findings) > BLOCK
    assert asked == [Coin(chance=0.25), Coin(chance=0.5)]


def test_another_key_is_another_measurement():
    claim = coin_claim()
    here, there = (check(claim, key=key_for(s, "a"), error_rate=0.01, max_draws=BLOCK) for s in (0, 1))
    assert [f.measured for f in here] != [f.measured for f in there]
    assert checked(claim) == checked(claim)


def test_rivals_get_the_findings_they_would_get_alone():
    claim = coin_claim(settings=(Coin(chance=0.25), Coin(chance=0.5)))
    rivals = [lambda c: Interval.point(c.chance), lambda c: Interval.point(0.9), lambda c: Interval.at_most(0.4)]
    together = check_rivals(claim, rivals, key=KEY, error_rate=0.01, max_draws=BLOCK * 64)
    for rival, findings in zip(rivals, together, strict=True):
        alone = checked(dataclasses.replace(claim, predict=rival), max_draws=BLOCK * 64)
        assert findings == alone
    assert [f.verdict for f in together[0]] == [SUPPORTED, SUPPORTED]
    assert [f.verdict for f in together[1]] == [REFUTED, REFUTED]
    assert [f.verdict for f in together[2]] == [SUPPORTED, REFUTED]
