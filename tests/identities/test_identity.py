"""What counts as a counterexample, and what a trial says."""

import dataclasses
import math

import jax
import pytest

from attnlab_theory.identities import Identity, check_identity


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
