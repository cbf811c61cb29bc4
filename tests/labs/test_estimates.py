"""Estimates over seeds: the t interval, cut to where such a number can lie."""

import math

import pytest
import scipy.stats

from attnlab_theory.labs import estimates
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.stats import Interval

SHARES = Interval(0.0, 1.0)


def test_the_mean_over_seeds_has_the_t_interval_of_the_seeds():
    values = [0.75, 0.5, 0.75]
    found = estimates.over_seeds("accuracy", values, 0.5, within=SHARES, model="big")
    wanted = scipy.stats.t.interval(0.5, 2, sum(values) / 3, scipy.stats.sem(values))
    assert (found.value, found.draws, found.setting) == (sum(values) / 3, 3, {"model": "big"})
    assert math.isclose(found.interval.low, wanted[0])


@pytest.mark.parametrize("within", [SHARES, Interval(-1.0, 1.0)])
def test_the_interval_is_cut_to_what_is_possible(within):
    found = estimates.over_seeds("accuracy", [0.75, 0.5, 0.75], 0.001, within=within)
    assert found.interval == within


@pytest.mark.parametrize("values", [[0.5], [0.5, 0.5]])
def test_one_seed_or_equal_seeds_say_nothing_of_others(values):
    assert estimates.over_seeds("accuracy", values, 0.05, within=SHARES).interval == SHARES


def test_estimates_come_back_from_json():
    found = estimates.over_seeds("accuracy", [0.25, 0.5], 0.05, within=Interval(-math.inf, math.inf), seed=3)
    assert Estimate.from_json(found.as_json()) == found


def test_a_missing_estimate_is_missed_loudly():
    found = Estimates([estimates.over_seeds("accuracy", [0.25], 0.05, within=SHARES, model="big")])
    assert found.of("accuracy", model="big") == found
    with pytest.raises(KeyError, match="no estimate of accuracy"):
        found.of("accuracy", model="small")
