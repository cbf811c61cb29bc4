r"""Do keys vary more along the mean of their own type than along the means of others?

The answer depends on no rescaling of queries and keys (a gauge), and assumes no law. Let m_w be the mean of type w
minus the mean over all types. S_w is the mean covariance of the other types, each divided by the variance of its
scores. With z_u = S_w^-1 m_u, the variance of w's keys along the mean of u is

    r_w(u) = z_u^T Sigma_w z_u / z_u^T S_w z_u,

which depends on no gauge. Each type w has a difference: r_w(w) minus the mean of r_w(u) over other types u of
similar count, in units of the mean of r_w over all types. The excess of a head is its mean over w. Means and S_w
come from the fitting half, Sigma_w from the judging half.

If chance dealt the means to the types, the excess would be like those with means dealt again. A layer norm breaks
that, and so do related types (docs/mathematics/heads.md). So no verdict rests on it.

The plain number is the share of the variance of scores that the key's component along m_w explains. The query is of
another sentence, and the regression that of the fitting half. The number includes what all types have in common.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from attnlab_theory.labs.heads.fitting import ROUNDING, Fit, Moments, spread
from attnlab_theory.stats.groups import with_each_left_out

ALIKE = 5
"""The fewest types of neighbouring rank by count that are compared with each other."""

DEALT = 999
"""How often means are dealt again."""


class OwnMeanReplicates(NamedTuple):
    """Numbers of every head: from all groups first, then without each of them."""

    excess: Float[np.ndarray, "r layers h"]
    """The variance along a type's own mean minus that along the means of others, in units of their mean."""
    plain: Float[np.ndarray, "r layers h"]
    """The share of the variance of scores that the key's component along its own mean explains."""


class OwnMeans:
    """Sums over the judging half, by group and type."""

    def __init__(self, fit: Fit, groups: int) -> None:
        layers, h, types, d = fit.means.shape
        self.fit, self.types = fit, types
        v = np.where(fit.varies[..., None], np.mean(spread(fit.queries, fit.covariances), axis=3), 1.0)
        # A head whose keys do not vary has no metric; any other will do, for it gets no numbers.
        varies = fit.varies[..., None, None, None]
        scaled = np.where(varies, fit.covariances / v[..., None, None], np.eye(d))
        pooled = (np.sum(scaled, axis=2, keepdims=True) - scaled) / (types - 1)
        means = np.swapaxes(fit.away, 2, 3)[:, :, None]
        self.directions: Float[np.ndarray, "layers h types d types"] = (
            np.linalg.pinv(pooled, hermitian=True) @ means
        )
        """z_u, in columns, for each type w."""
        self.expected: Float[np.ndarray, "layers h types types"] = np.sum(self.directions * means, axis=3)
        """z_u^T S_w z_u."""
        self.mean_form = np.matmul(np.swapaxes(fit.queries, 2, 3), fit.queries) / fit.queries.shape[2]
        own = np.matmul(fit.covariances, fit.away[..., None])[..., 0]
        along = np.sum(own * fit.away, axis=3, keepdims=True)
        largest = np.sum(fit.away**2, axis=3) * np.trace(fit.covariances, axis1=3, axis2=4)
        there = varies[..., 0] & (along > ROUNDING * largest[..., None])
        self.slopes: Float[np.ndarray, "layers h types d"] = np.where(there, own / np.where(there, along, 1.0), 0.0)
        """A query times this is the slope of its scores on the component along m_w. 0 if nothing varies."""
        self.counts = np.zeros((groups, types))
        self.sums = np.zeros((groups, layers, h, types, d))
        self.directed = np.zeros((groups, layers, h, types, types))
        self.formed = np.zeros((groups, layers, h, types))
        self.turned = np.zeros((groups, layers, h, types, d))

    def add(self, group: int, keys: Moments) -> None:
        """Add the keys of one group of sentences, minus the fitted means of their types."""
        self.counts[group], self.sums[group] = keys.counts, keys.sums
        self.directed[group] = np.sum(np.matmul(keys.squares, self.directions) * self.directions, axis=3)
        self.formed[group] = np.sum(keys.squares * self.mean_form[:, :, None], axis=(3, 4))
        self.turned[group] = np.matmul(keys.squares, self.fit.away[..., None])[..., 0]

    def replicates(self) -> OwnMeanReplicates:
        """The numbers of every head. NaN if its keys do not vary."""
        counts, sums = self.counts[:, None, None], self.sums
        centre = np.sum(sums, axis=0) / np.sum(counts, axis=0)[..., None]
        # Squares around the mean over all groups, also where one is left out: to first order it is the same.
        form = self.mean_form[:, :, None]
        formed = self.formed + np.sum((counts[..., None] * centre - 2 * sums) * _applied(form, centre), axis=4)
        component, middle = (np.sum(each * self.fit.away, axis=-1, keepdims=True) for each in (sums, centre))
        turned = self.turned - sums * middle - centre * component + counts[..., None] * centre * middle
        v, turned = (_means(each, self.counts) for each in (formed, turned))
        along = np.sum(turned * self.fit.away, axis=4)
        told = _applied(form, self.slopes)
        with np.errstate(divide="ignore", invalid="ignore"):
            plain = (2 * np.sum(told * turned, axis=4) - np.sum(told * self.slopes, axis=3) * along) / v
            excess = np.einsum("rlhww->rlh", deviations(self._relative(centre))) / self.types
            plain = np.mean(plain, axis=3)
        return OwnMeanReplicates(*(np.where(self.fit.varies, each, np.nan) for each in (excess, plain)))

    def relative(self) -> Float[np.ndarray, "layers h types types"]:
        """r_w(u) from all groups. Columns are u."""
        return self._relative(np.sum(self.sums, axis=0) / np.sum(self.counts, axis=0)[:, None])[0]

    def _relative(
        self, centre: Float[np.ndarray, "layers h types d"]
    ) -> Float[np.ndarray, "r layers h types types"]:
        projected = np.matmul(self.sums[..., None, :], self.directions)[..., 0, :]
        middle = np.matmul(centre[..., None, :], self.directions)[..., 0, :]
        around = self.directed + (self.counts[:, None, None, :, None] * middle - 2 * projected) * middle
        with np.errstate(divide="ignore", invalid="ignore"):
            return _means(around, self.counts) / self.expected


def deviations(relative: Float[np.ndarray, "*r types types"]) -> Float[np.ndarray, "*r types types"]:
    """r_w(u) minus the mean over other types with counts like u's, divided by the mean of row w. Else 0."""
    types = relative.shape[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = relative / np.mean(relative, axis=-1, keepdims=True)
    found = np.zeros_like(rows)
    for alike in _strata(types):
        block = rows[..., alike[:, None], alike]
        with np.errstate(invalid="ignore"):
            others = (np.sum(block, axis=-1, keepdims=True) - block) / (len(alike) - 1)
            found[..., alike[:, None], alike] = block - others
    return found


def chances(relative: Float[np.ndarray, "*heads types types"], *, seed: int = 0) -> Float[np.ndarray, "*heads"]:
    """The probability that means dealt again among types of similar count have so large an excess in any head.

    The excess counts with either sign, in standard deviations of the dealt ones. If chance dealt the means, any of
    the heads is below 0.05 with probability 0.05. NaN for a head whose keys do not vary.

    Source: Romano and Wolf 2005.
    """
    rng = np.random.default_rng(seed)
    types, found = relative.shape[-1], deviations(relative)
    order = np.arange(types)
    dealt = [rng.permuted(np.tile(alike, (DEALT, 1)), axis=1) for alike in _strata(types)]
    means = np.concatenate([order[None], np.concatenate(dealt, axis=1)])
    excess = np.moveaxis(np.sum(found[..., order, means], axis=-1), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.abs(excess - np.mean(excess, axis=0)) / np.std(excess, axis=0)
    known = np.isfinite(sizes[0])
    largest = np.max(np.where(known, sizes, 0), axis=tuple(range(1, sizes.ndim)))
    return np.where(known, np.mean(largest.reshape(-1, *(1,) * known.ndim) >= sizes[0], axis=0), np.nan)


def _strata(types: int) -> list[np.ndarray]:
    """Blocks of types with similar counts. Types stand in the order of their counts."""
    return np.array_split(np.arange(types), max(1, types // ALIKE))


def _applied(forms: Float[np.ndarray, "layers h 1 d d"], x: Float[np.ndarray, "layers h types d"]) -> np.ndarray:
    return np.matmul(forms, x[..., None])[..., 0]


def _means(
    sums: Float[np.ndarray, "groups layers h types *m"], counts: Float[np.ndarray, "groups types"]
) -> np.ndarray:
    """Means over the keys of a type: from all groups, then without each."""
    wide = sums.ndim - 4
    return with_each_left_out(sums) / with_each_left_out(counts).reshape(-1, 1, 1, counts.shape[1], *(1,) * wide)
