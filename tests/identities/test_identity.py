"""What counts as a counterexample, and what a trial says."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import pytest

from attnlab_theory.attention import attention, causal_mask
from attnlab_theory.identities import Identity, agreement, check_identity
from attnlab_theory.identities.operators import BLOCKED, LENGTHS, queries_keys_values


def numbered(residuals, *, broken=False):
    """An identity whose i-th case has the i-th residual, and a tolerance of one."""
    remaining = iter(residuals)
    return Identity(
        family="numbered",
        subject="test",
        statement="",
        source="",
        cases=lambda key: next(remaining),
        residual=lambda case: case,
        tolerance=lambda case: 1.0,
        broken=broken,
    )


KEY = jax.random.key(0)


def test_identity_holds_up_to_its_tolerance():
    trial = check_identity(numbered([0.5, 1.0, -3.0]), KEY, cases=3)
    assert trial.holds
    assert trial.as_expected
    assert (trial.identity, trial.cases, trial.counterexamples) == ("numbered/test", 3, 0)
    assert (trial.residual, trial.tolerance) == (1.0, 1.0)


def test_one_counterexample_fails_it():
    trial = check_identity(numbered([0.5, 1.5, 0.0]), KEY, cases=3)
    assert not trial.holds
    assert not trial.as_expected
    assert (trial.counterexamples, trial.residual) == (1, 1.5)


@pytest.mark.parametrize("residuals", [[math.nan, 0.5], [0.5, math.nan], [math.nan, 7.0]])
def test_nan_is_a_counterexample_and_the_worst(residuals):
    trial = check_identity(numbered(residuals), KEY, cases=2)
    assert not trial.holds
    assert math.isnan(trial.residual)
    assert not numbered([]).holds(math.nan)


def test_exhibit_must_fail():
    assert check_identity(numbered([2.0], broken=True), KEY, cases=1).as_expected
    assert not check_identity(numbered([0.5], broken=True), KEY, cases=1).as_expected


def test_cases_follow_from_the_key():
    drawn = []
    identity = dataclasses.replace(
        numbered([]), cases=lambda key: drawn.append(float(jax.random.uniform(key))) or 0.0
    )
    for _ in range(2):
        check_identity(identity, KEY, cases=2)
    assert drawn[:2] == drawn[2:]
    assert drawn[0] != drawn[1]


def test_no_case_is_refused():
    with pytest.raises(ValueError, match="at least one case, not 0"):
        check_identity(numbered([]), KEY, cases=0)


def zeroed_when_long(q, k, v, *, scale):
    """A cache that is right for six positions: from the seventh on, those of two earlier ones are empty."""
    past = causal_mask(len(q))
    right = attention(q, k, v, past, scale=scale)
    holes = attention(q, k.at[4:6].set(0), v.at[4:6].set(0), past, scale=scale)
    return jnp.where(jnp.arange(len(q))[:, None] < 6, right, holes)


def swapped_past_blocks(q, k, v, *, scale):
    """Blocks of three whose last one, where it is not full, has its values in the wrong order."""
    cut = len(k) - len(k) % 3
    return attention(q, k, jnp.concatenate([v[:cut], v[cut:][::-1]]), scale=scale)


@pytest.mark.slow("leaks at lengths that overrun blocks stay inside")
def test_identities_are_tried_at_lengths_that_overrun_blocks_and_say_so():
    """Decodes and mixes at each of the lengths, and every length is compiled."""
    trial = check_identity(agreement.cached(zeroed_when_long), KEY, cases=4)
    assert (trial.counterexamples, trial.lengths) == (4, LENGTHS)
    blocked = agreement.blocked(dataclasses.replace(BLOCKED, mix=swapped_past_blocks), attention)
    assert not check_identity(blocked, KEY, cases=4).holds
    assert any(n % 3 == 0 for n in LENGTHS)
    assert {n % 3 for n in LENGTHS} == {0, 1, 2}
    assert check_identity(numbered([0.5]), KEY, cases=1).lengths == ()


@pytest.mark.slow("planted bugs of caches, found by their identities, stay inside")
def test_what_is_wrong_from_the_seventh_token_on_is_no_decoding():
    def decoded_by_the_cache(case, scheme):
        q, k, v = queries_keys_values(case, scheme, range(case.x.shape[0]))
        return zeroed_when_long(q, k, v, scale=case.scale)

    trial = check_identity(agreement.decoding("none", decoded_by_the_cache), KEY, cases=4)
    assert (trial.counterexamples, trial.lengths) == (4, (17,))
