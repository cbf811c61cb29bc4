"""Does theory predict the weights? Mean and variance of the weights of frequent words, for real queries.

The keys of frequent types are random, N(mu, Sigma) as the fitting half has them, independent of each other and of
the query. All other keys, the query's own too, stand at their actual values: they are one key with a score that is
not random. Theory gives E alpha and Var alpha; the weights of the judging half are held against them.
"""

from typing import NamedTuple

import numpy as np
import scipy.special
from jaxtyping import Float, Int

from attnlab_theory.labs.heads.assumptions import Deviations
from attnlab_theory.labs.heads.fitting import Fit
from attnlab_theory.labs.heads.plan import Plan
from attnlab_theory.labs.heads.traces import Trace
from attnlab_theory.stats.groups import with_each_left_out
from attnlab_theory.theory.noisy_keys.moments import weight_moments

MOST = 6
"""Frequent keys of a row that are random, at most; the others stand at their actual values."""

BINS = 10
"""Points of the calibration curve: tenths of the predictions, from small to large."""


class Predictions(NamedTuple):
    """One row for each frequent key that was predicted; columns are heads."""

    group: Int[np.ndarray, " n"]
    mean: Float[np.ndarray, "n layers h"]
    variance: Float[np.ndarray, "n layers h"]
    weight: Float[np.ndarray, "n layers h"]
    """What the key was given."""
    baseline: Float[np.ndarray, "n layers h"]
    """The mean weight of its type in the fitting half."""


class CalibrationReplicates(NamedTuple):
    """Numbers of every head: from all groups, then without each."""

    explained: Float[np.ndarray, "r layers h"]
    """1 less the squared error of E alpha over that of the overall mean."""
    by_baseline: Float[np.ndarray, "r layers h"]
    """The same of the type's mean weight."""
    variance_ratio: Float[np.ndarray, "r layers h"]
    """The mean of (alpha - E alpha)^2 over the mean of Var alpha: 1 where theory knows how sure it is."""


class Calibration:
    """Predictions for one query of each sentence."""

    def __init__(self, fit: Fit, plan: Plan, *, seed: int = 0) -> None:
        self.fit, self.plan = fit, plan
        self._rng = np.random.default_rng(seed)
        self._found: list[Predictions] = []
        self._deviations: list[Deviations] = []

    def add(
        self,
        trace: Trace,
        scores: Float[np.ndarray, "layers h t t"],
        weights: Float[np.ndarray, "layers h t t"],
        group: int,
    ) -> None:
        """Predict the frequent keys that one word of the sentence sees."""
        kinds = self.plan.kinds(trace.tokens)
        asks = np.flatnonzero(~trace.tokens.special)
        if not len(asks):
            return
        row = int(self._rng.choice(asks))
        known = np.flatnonzero((kinds >= 0) & trace.visible[row] & (np.arange(len(kinds)) != row))
        if not len(known):
            return
        known = np.sort(self._rng.permutation(known)[:MOST])
        q, kind = trace.q[:, :, row].astype(np.float64), kinds[known]
        means = np.matmul(self.fit.means[:, :, kind], q[..., None])[..., 0]
        projected = np.matmul(self.fit.covariances[:, :, kind], q[:, :, None, :, None])[..., 0]
        variances = np.maximum(np.sum(projected * q[:, :, None], axis=3), 0.0)
        rest = scores[:, :, row].copy()
        rest[:, :, known] = -np.inf
        fixed = scipy.special.logsumexp(rest, axis=2)
        first, second = np.zeros((2, len(known), *means.shape[:2]))
        for at in np.ndindex(means.shape[:2]):
            found = weight_moments(np.append(means[at], fixed[at]), np.append(variances[at], 0.0))
            first[:, *at] = found.first[:-1]
            second[:, *at] = np.diagonal(found.covariance)[:-1]
        groups, weight = np.full(len(known), group), np.moveaxis(weights[:, :, row][:, :, known], 2, 0)
        self._found.append(
            Predictions(
                group=groups,
                mean=first,
                variance=np.maximum(second, 0.0),
                weight=weight,
                baseline=np.moveaxis(self.fit.weights[:, :, kind], 2, 0),
            )
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            away = (scores[:, :, row][:, :, known] - means) / np.sqrt(variances)
        self._deviations.append(
            Deviations(
                group=groups,
                sentence=np.full(len(known), len(self._deviations)),
                common=kind < len(self.plan.types) / 2,
                score=np.moveaxis(np.where(variances > 0, away, 0.0), 2, 0),
                missed=weight - first,
                weight=weight,
            )
        )

    @property
    def made(self) -> bool:
        """Whether anything was predicted."""
        return bool(self._found)

    def predictions(self) -> Predictions:
        """All that were made, at least one."""
        return Predictions(*(np.concatenate(parts) for parts in zip(*self._found, strict=True)))

    def deviations(self) -> Deviations:
        """How far the predicted keys were from what is assumed of them."""
        return Deviations(*(np.concatenate(parts) for parts in zip(*self._deviations, strict=True)))


def of_heads(found: Predictions, groups: int) -> CalibrationReplicates:
    """How well the weights were predicted."""
    parts = (
        np.ones_like(found.weight),
        found.weight,
        found.weight**2,
        (found.weight - found.mean) ** 2,
        (found.weight - found.baseline) ** 2,
        found.variance,
    )
    summed = (np.stack([np.sum(part[found.group == g], axis=0) for g in range(groups)]) for part in parts)
    n, s, ss, missed, by_baseline, variance = map(with_each_left_out, summed)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = ss - s**2 / n
        return CalibrationReplicates(1 - missed / spread, 1 - by_baseline / spread, missed / variance)


class Curve(NamedTuple):
    """Tenths of each layer's predictions, from small to large."""

    predicted: Float[np.ndarray, "layers bins"]
    """Their mean."""
    weight: Float[np.ndarray, "r layers bins"]
    """The mean of the weights: from all groups, then without each."""


def curve(found: Predictions, groups: int) -> Curve:
    """Mean predictions and mean weights, tenth by tenth; fewer than ten where there are fewer predictions."""
    h = found.mean.shape[2]
    group = np.repeat(found.group, h)
    predicted, weights = [], []
    for layer in range(found.mean.shape[1]):
        mean, weight = found.mean[:, layer].reshape(-1), found.weight[:, layer].reshape(-1)
        tenths = [each for each in np.array_split(np.argsort(mean, kind="stable"), BINS) if len(each)]
        predicted.append([np.mean(mean[each]) for each in tenths])
        sums = [np.bincount(group[each], weight[each], minlength=groups) for each in tenths]
        counts = [np.bincount(group[each], minlength=groups) for each in tenths]
        weights.append((np.stack(sums, axis=1), np.stack(counts, axis=1)))
    summed, counted = (with_each_left_out(np.stack(part, axis=1)) for part in zip(*weights, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        return Curve(np.array(predicted), summed / counted)
