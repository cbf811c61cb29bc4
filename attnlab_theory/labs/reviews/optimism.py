"""What a finished search says about searches: the best of n trials, and how much of it is luck.

Every subset of n of the N finished trials is a search that could have been run. The mean over all of them has a
closed form, a U-statistic of degree n. It is unbiased for searches of n trials. Its interval comes from the
jackknife, by Student's t. The variance of the jackknife is on average no smaller than the true one. For n near N
all searches are nearly the same, and no interval could say what others would have found. So n goes up to N/2.

Source: Hoeffding 1948 for the U-statistic; Efron and Stein 1981 for the jackknife; Tang et al. 2020 against
resampling with replacement, which underestimates the best of n.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special
from jaxtyping import Float

from attnlab_theory import refuse
from attnlab_theory.labs.estimates import Estimate, Estimates, over_trials
from attnlab_theory.stats import Interval

LEAST = 4
"""The fewest trials, for a search of two and its interval."""

Trials = Float[np.ndarray, " trials"]


def best_of(validation: Trials, n: int) -> float:
    """The highest validation accuracy among n trials, averaged over all subsets.

    Raises:
        ValueError: if there are fewer trials, or one is not a number.
    """
    return float(_winning(validation, n) @ np.sort(validation)[::-1])


def optimism(validation: Trials, test: Trials, n: int) -> float:
    """How much the winner's validation accuracy exceeds its test accuracy because it won.

    Take each trial's validation minus test accuracy. The optimism is the mean of the winners of all subsets of n
    trials, minus the mean of all trials. The second term is the difference in difficulty of the two sets.

    Args:
        validation, test: accuracies of the same trials.
        n: trials of one search. The highest validation accuracy wins; equal ones are equally likely.

    Raises:
        ValueError: if there are fewer trials, one is not a number, or the two have different lengths.
    """
    if validation.shape != test.shape:
        raise ValueError(
            f"there are {len(validation)} validation and {len(test)} test accuracies of the same trials"
        )
    refuse.non_finite(test=test)
    gaps = validation - test
    return float(_winning(validation, n) @ _among_equals(validation, gaps) - np.mean(gaps))


def expected_best(validation: Trials, n: int, error_rate: float) -> Estimate:
    """`best of n`: the mean of the highest validation accuracy in a search of n trials, with its interval.

    Raises:
        ValueError: if n is more than half of the trials, or a trial is not a number.
    """
    _refuse_few(validation, n)
    found = _jackknifed("best of n", lambda chosen: best_of(validation[chosen], n), validation, error_rate, n=n)
    # An accuracy: with few trials Student's t reaches further.
    low, high = max(0.0, found.interval.low), min(1.0, found.interval.high)
    return dataclasses.replace(found, interval=Interval(low, high))


def expected_optimism(validation: Trials, test: Trials, n: int, error_rate: float) -> Estimate:
    """`optimism` of a search of n trials, with its interval.

    Args:
        validation, test: accuracies of the same trials.
        n: trials of one search.
        error_rate: of the interval.

    Raises:
        ValueError: if n is more than half of the trials, one is not a number, or the two have different lengths.
    """
    _refuse_few(validation, n)
    return _jackknifed(
        "optimism", lambda chosen: optimism(validation[chosen], test[chosen], n), validation, error_rate, n=n
    )


def curves(validation: Trials, test: Trials, error_rate: float) -> Estimates:
    """`best of n` and `optimism` for every n from 1 to half of the trials. A search of one has no optimism.

    Raises:
        ValueError: if there are fewer than `LEAST` trials, one is not a number, or the two have different lengths.
    """
    _refuse_few(validation, 1)
    sizes = range(1, len(validation) // 2 + 1)
    return Estimates(
        [expected_best(validation, n, error_rate) for n in sizes]
        + [expected_optimism(validation, test, n, error_rate) for n in sizes if n > 1]
    )


def _jackknifed(
    quantity: str, statistic: Callable[[np.ndarray], float], trials: Trials, error_rate: float, **setting: Any
) -> Estimate:
    """A U-statistic of trials, with an interval by its pseudo-values, whose mean it is."""
    number = len(trials)
    every = np.arange(number)
    whole = statistic(every)
    without = np.array([statistic(np.delete(every, place)) for place in every])
    values = number * whole - (number - 1) * without
    return over_trials(quantity, values, error_rate, **setting, trials=number)


def _winning(validation: Trials, n: int) -> Float[np.ndarray, " trials"]:
    """The probability of each rank that a random subset of n has its best there, the highest rank first."""
    refuse.not_a_size(n=n)
    if validation.ndim != 1 or not n <= len(validation):
        raise ValueError(f"a search of {n} needs at least as many finished trials, not {validation.shape}")
    refuse.non_finite(validation=validation)
    return _chances(len(validation), n)


@functools.cache
def _chances(number: int, n: int) -> Float[np.ndarray, " trials"]:
    # That no trial of a subset is among the first so many.
    behind = scipy.special.comb(number - np.arange(number + 1), n) / scipy.special.comb(number, n)
    return np.asarray(-np.diff(behind))


def _among_equals(validation: Trials, values: Trials) -> Float[np.ndarray, " trials"]:
    """The values by rank of validation, the highest first. Trials of equal rank get their mean."""
    _, group, sizes = np.unique(-validation, return_inverse=True, return_counts=True)
    means = np.bincount(group, weights=values) / sizes
    return np.repeat(means, sizes)


def _refuse_few(trials: Trials, n: int) -> None:
    if len(trials) < LEAST:
        raise ValueError(f"the worth of a search needs at least {LEAST} finished trials, not {len(trials)}")
    if n > len(trials) // 2:
        raise ValueError(
            f"{len(trials)} trials say something about searches of up to {len(trials) // 2}, not of {n}"
        )
