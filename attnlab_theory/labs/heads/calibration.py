"""Does theory predict the weights? Mean and variance of the weights of frequent words, for real queries.

The keys of frequent types are random, N(mu, Sigma) by the fitting half, independent of each other and of the query.
All other keys, also the query's own, have their actual values: together they are one key whose score is not random.
Theory gives E alpha and Var alpha, which are compared with the weights of the judging half.
"""

from typing import NamedTuple

import numpy as np
import scipy.special
from jaxtyping import Bool, Float, Int

from attnlab_theory.labs.heads.fitting import Fit
from attnlab_theory.labs.heads.plan import Plan
from attnlab_theory.labs.heads.traces import Trace, softmax
from attnlab_theory.stats.groups import sums_without_each
from attnlab_theory.theory.noisy_keys.moments import weight_moments

MOST = 6
"""The most frequent keys of a row that are random. The others have their actual values."""

BINS = 10
"""Points of the calibration curve: tenths of the predictions, from small to large."""


class Predictions(NamedTuple):
    """One row for each predicted key, sentence by sentence. Columns are heads."""

    group: Int[np.ndarray, " n"]
    sentence: Int[np.ndarray, " n"]
    """The number of the sentence among those that were predicted."""
    common: Bool[np.ndarray, " n"]
    """Whether the key's type belongs to the commoner half."""
    mean: Float[np.ndarray, "n layers h"]
    variance: Float[np.ndarray, "n layers h"]
    weight: Float[np.ndarray, "n layers h"]
    """The actual weight of the key."""
    baselines: Float[np.ndarray, "n baselines layers h"]
    """Predictions of the fitting half that need no theory, in the order of `BASELINES`."""
    noiseless: Float[np.ndarray, "n layers h"]
    """The softmax of the mean scores: the prediction of theory without noise."""
    deviation: Float[np.ndarray, "n layers h"]
    """The deviation of its score from that of its type's mean key, in standard deviations. NaN if those are 0."""


class CalibrationReplicates(NamedTuple):
    """Numbers of every head: from all groups, then without each."""

    explained: Float[np.ndarray, "r layers h"]
    """1 minus the squared error of E alpha, divided by that of the overall mean."""
    by_baseline: Float[np.ndarray, "r baselines layers h"]
    """The same for each baseline."""
    without_noise: Float[np.ndarray, "r layers h"]
    """The same for the softmax of the mean scores."""
    variance_ratio: Float[np.ndarray, "r layers h"]
    """The mean of (alpha - E alpha)^2, divided by the mean of Var alpha: 1 if theory has the right variance."""

    @property
    def of_best_baseline(self) -> Float[np.ndarray, "r layers h"]:
        """What the best baseline of each head explains."""
        return np.max(self.by_baseline, axis=1)


class Calibration:
    """Predictions for one query of each sentence."""

    def __init__(self, fit: Fit, plan: Plan, *, seed: int = 0) -> None:
        self.fit, self.plan = fit, plan
        self._rng = np.random.default_rng(seed)
        self._found: list[Predictions] = []

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
        others = self.fit.baselines.of(kinds=kind, keys=known, row=row, n=int(trace.visible[row].sum()))
        baselines = np.concatenate([self.fit.weights[None, :, :, kind], others])
        rest = scores[:, :, row].copy()
        rest[:, :, known] = -np.inf
        fixed = scipy.special.logsumexp(rest, axis=2)
        first, second, noiseless = np.zeros((3, len(known), *means.shape[:2]))
        for at in np.ndindex(means.shape[:2]):
            noiseless[:, *at] = softmax(np.append(means[at], fixed[at]))[:-1]
            found = weight_moments(np.append(means[at], fixed[at]), np.append(variances[at], 0.0))
            first[:, *at] = found.first[:-1]
            second[:, *at] = np.diagonal(found.covariance)[:-1]
        deviations = np.sqrt(np.where(variances > 0, variances, np.nan))
        self._found.append(
            Predictions(
                group=np.full(len(known), group),
                sentence=np.full(len(known), len(self._found)),
                common=kind < len(self.plan.types) / 2,
                mean=first,
                variance=np.maximum(second, 0.0),
                weight=np.moveaxis(weights[:, :, row][:, :, known], 2, 0),
                baselines=np.moveaxis(baselines, 3, 0),
                noiseless=noiseless,
                deviation=np.moveaxis((scores[:, :, row][:, :, known] - means) / deviations, 2, 0),
            )
        )

    @property
    def made(self) -> bool:
        """Whether there are predictions."""
        return bool(self._found)

    def predictions(self) -> Predictions:
        """All predictions, at least one."""
        return Predictions(*(np.concatenate(parts) for parts in zip(*self._found, strict=True)))


def of_heads(found: Predictions, groups: int) -> CalibrationReplicates:
    """How well the weights were predicted."""
    parts = (
        np.ones_like(found.weight),
        found.weight,
        found.weight**2,
        (found.weight - found.mean) ** 2,
        (found.weight[:, None] - found.baselines) ** 2,
        (found.weight - found.noiseless) ** 2,
        found.variance,
    )
    summed = (sums_without_each(part, found.group, groups) for part in parts)
    n, s, ss, missed, by_baseline, without_noise, variance = summed
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = ss - s**2 / n
        by_theory, by_means = 1 - missed / spread, 1 - without_noise / spread
        return CalibrationReplicates(by_theory, 1 - by_baseline / spread[:, None], by_means, missed / variance)


class Curve(NamedTuple):
    """Means over tenths of each layer's predictions, from small to large."""

    predicted: Float[np.ndarray, "layers bins"]
    """The mean prediction of each tenth."""
    weight: Float[np.ndarray, "r layers bins"]
    """The mean of the weights: from all groups, then without each."""


def curve(found: Predictions, groups: int) -> Curve:
    """Mean predictions and mean weights, tenth by tenth. There are fewer tenths if there are fewer predictions."""
    h = found.mean.shape[2]
    group = np.repeat(found.group, h)
    predicted, weights = [], []
    for layer in range(found.mean.shape[1]):
        mean, weight = found.mean[:, layer].reshape(-1), found.weight[:, layer].reshape(-1)
        tenths = [each for each in np.array_split(np.argsort(mean, kind="stable"), BINS) if len(each)]
        predicted.append([np.mean(mean[each]) for each in tenths])
        parts = [(np.stack([weight[each], np.ones(len(each))], axis=1), group[each]) for each in tenths]
        weights.append([sums_without_each(own, of, groups) for own, of in parts])
    summed = np.array(weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        return Curve(np.array(predicted), np.moveaxis(summed[..., 0] / summed[..., 1], 2, 0))
