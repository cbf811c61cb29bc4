"""Two samples compared: on the same questions, by rank, and against shuffled labels."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import scipy  # special is loaded when first used: it takes a quarter of a second

from attnlab_theory.stats.bounds import proportion, real_numbers, refuse_error_rate
from attnlab_theory.stats.interval import Interval


def mcnemar(first: np.ndarray, second: np.ndarray) -> float:
    """The two-sided p-value of McNemar's exact test: that both are right equally often.

    Args:
        first, second: for each question, whether this one is right.

    Raises:
        ValueError: if the two are not rows of truth values of one length.

    Example:
        The second is right five times where the first is wrong, and never the other way round. Five coins all fall
        on one side with probability 2 / 2^5.

        >>> first = np.array([False] * 5 + [True] * 5)
        >>> second = np.array([True] * 10)
        >>> round(mcnemar(first, second), 4)
        0.0625

    Source: McNemar 1947; the binomial law of the discordant pairs instead of its chi-square limit.
    """
    only_first, only_second = _discordant(first, second)
    # scipy.stats.binomtest says the same; importing scipy.stats would cost every command its time.
    tail = scipy.special.bdtr(min(only_first, only_second), only_first + only_second, 0.5)
    return min(1.0, 2 * float(tail))


def discordant_odds(first: np.ndarray, second: np.ndarray, error_rate: float) -> Interval:
    """How many questions only the second gets right for each that only the first does: the odds ratio of the pairs.

    It contains 1 exactly if `mcnemar` is above `error_rate`. It is everything above 0 if no pair is discordant.

    Args:
        first, second: for each question, whether this one is right.
        error_rate: how often the interval may miss, between 0 and 1.

    Raises:
        ValueError: if the two are not rows of truth values of one length, or the error rate does not lie between 0
            and 1.

    Example:
        Five to none for the second, as in `mcnemar`, whose p-value is 0.0625. At this error rate odds of 1 are
        ruled out; at 0.05 they are not.

        >>> first, second = np.array([False] * 5 + [True] * 5), np.array([True] * 10)
        >>> odds = discordant_odds(first, second, 0.07)
        >>> round(odds.low, 2), odds.high
        (1.05, inf)
        >>> round(discordant_odds(first, second, 0.05).low, 2)
        0.92

    Source: Breslow and Day 1980, section 5.2: given their number, discordant pairs are coins; Clopper-Pearson.
    """
    refuse_error_rate(error_rate)
    only_first, only_second = _discordant(first, second)
    if not only_first + only_second:
        return Interval(0.0, math.inf)
    share = proportion().interval(np.arange(only_first + only_second) < only_second, error_rate)
    return Interval(*(end / (1 - end) if end < 1 else math.inf for end in (share.low, share.high)))


def auroc(higher: np.ndarray, lower: np.ndarray) -> float:
    """The share of pairs, one from each sample, that are in order; ties count half.

    Args:
        higher: one row, supposed to be larger.
        lower: one row, supposed to be smaller.

    Raises:
        ValueError: if a sample is no row, is empty, is not real or holds NaN.

    Example:
        Of four pairs three are in order: 3 exceeds 1 and 2, and 1.5 exceeds 1 only.

        >>> auroc(np.array([3.0, 1.5]), np.array([1.0, 2.0]))
        0.75
    """
    higher, lower = (real_numbers(sample) for sample in (higher, lower))
    for sample in (higher, lower):
        if sample.ndim != 1 or not sample.size or np.any(np.isnan(sample)):
            raise ValueError(f"AUROC needs two rows of at least one number each, without NaN, not {sample}")
    ordered = np.sort(lower)
    beaten = [np.searchsorted(ordered, higher, side=side) for side in ("left", "right")]
    return float(np.mean(beaten) / lower.size)


def auroc_interval(higher: np.ndarray, lower: np.ndarray, error_rate: float) -> Interval:
    """An interval for P(a higher exceeds a lower), ties counted half, for any two laws at any sample size.

    Let n be the size of the smaller sample. AUROC is an average over all ways to pair the samples. Each term is a
    mean of n independent numbers in [0, 1]. So every exponential moment is at most that of a mean of n coins
    (Jensen), and {p: n KL(AUROC, p) <= ln(2 / error_rate)} covers. It is wider than DeLong's interval, which fails
    for small samples.

    Args:
        higher: one row, supposed to be larger.
        lower: one row, supposed to be smaller.
        error_rate: how often the interval may miss, between 0 and 1.

    Raises:
        ValueError: if `auroc` refuses the samples, or the error rate does not lie between 0 and 1.

    Example:
        Fifty against fifty, all in order: AUROC is 1. Where the truth is p, that happens with probability at most
        p^50. At p = 0.93 that is 0.025, half of the error rate.

        >>> higher, lower = np.arange(50, 100), np.arange(50)
        >>> interval = auroc_interval(higher, lower, 0.05)
        >>> round(interval.low, 2), interval.high
        (0.93, 1.0)

    Source: Hoeffding 1963, theorem 1 and section 5b.
    """
    refuse_error_rate(error_rate)
    measured, pairs = auroc(higher, lower), min(len(higher), len(lower))
    allowed = math.log(2 / error_rate) / pairs
    return Interval(_least_mean(measured, allowed), 1 - _least_mean(1 - measured, allowed))


AUROC_BOUND = "auroc: independent samples (Chernoff's bound for two-sample U-statistics, Hoeffding)"


@dataclasses.dataclass(frozen=True)
class Shuffled:
    """A statistic, and what it is when the labels are shuffled.

    Example:
        Four of 99 shuffles reached what was observed. The observed order counts as one more: 5 in 100.

        >>> Shuffled(observed=3.0, mean=1.0, reached=4, shuffles=99).p
        0.05
    """

    observed: float
    mean: float
    """The mean of the statistic over the shuffles."""
    reached: int
    """How many shuffles come at least as high as what was observed."""
    shuffles: int

    @property
    def p(self) -> float:
        """The one-sided p-value: under exchangeable labels it is below x with probability at most x.

        Source: Phipson and Smyth 2010: the observed order is one of the orders.
        """
        return (self.reached + 1) / (self.shuffles + 1)


def permutation_test(
    statistic: Callable[[np.ndarray], np.ndarray], labels: np.ndarray, *, shuffles: int = 9_999, seed: int = 0
) -> Shuffled:
    """Whether a statistic of labels is higher than when they are shuffled.

    The orders are those of `scipy.stats.permutation_test`. That one is not called, for two reasons. It counts an
    order whose statistic is NaN as a low one. And it lists all orders of few labels, which are not independent
    draws.

    Args:
        statistic: from labels [... n] to one number [...] for each row.
        labels: one row.
        shuffles: how many.
        seed: another seed shuffles otherwise.

    Raises:
        ValueError: if `labels` is no row, there are no shuffles, or the statistic is NaN, shuffled or not.

    Example:
        Whether the last four labels sum to more than if they were shuffled. They sum to 4, which one order of 70
        does; the mean of all is 2.

        >>> labels = np.repeat([0.0, 1.0], 4)
        >>> found = permutation_test(lambda x: np.sum(x[..., 4:], axis=-1), labels, shuffles=999)
        >>> found.observed, round(found.mean), found.p < 0.05
        (4.0, 2, True)
    """
    labels = np.asarray(labels)
    if labels.ndim != 1 or shuffles < 1:
        raise ValueError(f"a permutation test shuffles a row at least once, not {labels.shape} {shuffles} times")
    observed = float(statistic(labels))
    if math.isnan(observed):
        raise ValueError("the statistic of the labels as they are is NaN")
    rng = np.random.default_rng(seed)
    # A few hundred rows at a time: the statistic may look at every pair of labels.
    blocks = [len(block) for block in np.array_split(np.arange(shuffles), -(-shuffles // 256))]
    values = np.concatenate([statistic(rng.permuted(np.tile(labels, (size, 1)), axis=1)) for size in blocks])
    if missing := int(np.sum(np.isnan(values))):
        raise ValueError(f"the statistic is NaN for {missing} of {shuffles} shuffles: define it for every order")
    # Sums taken in another order differ in their last digits; such a tie must count.
    slack = 1e-12 * max(1.0, abs(observed))
    return Shuffled(observed, float(np.mean(values)), int(np.sum(values >= observed - slack)), shuffles)


def _discordant(first: np.ndarray, second: np.ndarray) -> tuple[int, int]:
    first, second = np.asarray(first), np.asarray(second)
    if first.ndim != 1 or first.shape != second.shape or not first.dtype == second.dtype == bool:
        raise ValueError(
            "pairs need two rows of truth values of one length, "
            f"not {first.dtype} {first.shape} and {second.dtype} {second.shape}"
        )
    return int(np.sum(first & ~second)), int(np.sum(second & ~first))


def _least_mean(measured: float, allowed: float) -> float:
    """The least p of a coin with KL(measured, p) <= allowed."""
    if measured == 0:
        return 0.0
    # KL is at least measured ln(1 / p) less an entropy, which is at most ln 2.
    least = math.exp(-(allowed + 1) / measured)
    if least == 0:
        return 0.0
    from scipy import optimize  # a quarter of a second, which most commands do not need

    return float(optimize.root_scalar(_excess, (measured, allowed), bracket=(least, measured)).root)


def _excess(p: float, measured: float, allowed: float) -> float:
    return float(scipy.special.rel_entr(measured, p) + scipy.special.rel_entr(1 - measured, 1 - p)) - allowed
