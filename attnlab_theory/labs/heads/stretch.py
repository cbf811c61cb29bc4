r"""Do keys have noisy lengths? Then the variance of scores rises with the score of the mean key.

The homework's law is Sigma_w = a_w I + s m_w m_w^T for the keys of type w, with m_w = mu_w - mean of mu. A query q
of another sentence then sees the variance

    y_w(q) = q^T Sigma_w q = a_w |q|^2 + s x_w(q),       x_w(q) = (q . m_w)^2.

Two things can hide a slope or imitate one. All variances rise with the length of a query, under any rescaling of
queries and keys (a gauge). And the mean and the noise of keys may lie in the same few directions. So the other
types serve as controls (docs/mathematics/heads.md). With v_w the mean of y_w over queries, and weights c_w(q) from
the fitting half,

    F(y) = sum_w v_w sum_q c_w(q) [y_w(q) / v_w - mean over the other types u of y_u(q) / v_u],

is zero if all covariances are multiples of one matrix, for any matrix and any means. Under the law the slope is
s = F(y) / F(x). The c_w(q) are those of a regression, so that F(y) varies little. y, v and x are measured on the
judging half.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from attnlab_theory.labs.heads.fitting import Fit, Moments, spread
from attnlab_theory.stats.groups import with_each_left_out

TINY = np.finfo(float).tiny


class Replicates(NamedTuple):
    """Numbers of every head: from all groups first, then without each of them."""

    slope: Float[np.ndarray, "r layers h"]
    """The slope s, pooled over types. In the homework it is 0.5."""
    share: Float[np.ndarray, "r layers h"]
    """The share of s x_w(q) in the variance of scores within a type."""
    distance: Float[np.ndarray, "r layers h"]
    """The mean over types of |m_w|^2, from pairs of keys in different groups of sentences. Depends on the gauge."""
    trace: Float[np.ndarray, "r layers h"]
    """The mean over types of the trace of Sigma_w. Depends on the gauge."""


class Stretch:
    """Sums over the judging half, by group and type."""

    def __init__(self, fit: Fit, groups: int) -> None:
        layers, h, types, d = fit.means.shape
        self.fit = fit
        weights = np.concatenate([contrasts(fit), np.full((layers, h, 1, fit.queries.shape[2]), 1.0)], axis=2)
        weights[:, :, -1] /= fit.queries.shape[2]
        self.forms: Float[np.ndarray, "layers h forms d d"] = np.matmul(
            np.swapaxes(weights[..., None] * fit.queries[:, :, None], 3, 4), fit.queries[:, :, None]
        )
        """sum_q c_w(q) q q^T, and last the mean over queries, which gives v."""
        self.counts = np.zeros((groups, types))
        self.sums = np.zeros((groups, layers, h, types, d))
        self.formed = np.zeros((groups, layers, h, types + 1, types))
        self.traces = np.zeros((groups, layers, h, types))

    def add(self, group: int, keys: Moments) -> None:
        """Add the keys of one group of sentences, minus the fitted means of their types."""
        self.counts[group] = keys.counts
        self.sums[group] = keys.sums
        self.traces[group] = np.trace(keys.squares, axis1=3, axis2=4)
        layers, h, types, d, _ = keys.squares.shape
        flat = keys.squares.reshape(layers, h, types, d * d)
        self.formed[group] = np.matmul(self.forms.reshape(layers, h, types + 1, d * d), np.swapaxes(flat, 2, 3))

    def replicates(self) -> Replicates:
        """The numbers of every head. NaN if its keys do not vary, or if only two groups hold a type."""
        centre = np.sum(self.sums, axis=0) / np.sum(self.counts, axis=0)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            y = self._means(self.formed, _quadratic(self.forms, centre), _products(self.forms, centre))
            x = self._by_pairs()
            v = y[..., -1, :]
            slope = _own_less_others(y, v) / _own_less_others(x[..., :-1, :], v)
            trace = self._means(self.traces, np.sum(centre**2, axis=3), centre)
            share = slope * np.mean(x[..., -2, :] / v, axis=-1)
        distance, trace = (np.mean(each, axis=-1) for each in (x[..., -1, :], trace))
        found = (np.where(self.fit.varies, each, np.nan) for each in (slope, share, distance, trace))
        return Replicates(*found)

    def _means(self, squares: np.ndarray, of_centre: np.ndarray, products: np.ndarray) -> np.ndarray:
        """Quadratic forms of keys around their own mean, by type, averaged over keys.

        The mean is that of all groups, also where one is left out. To first order that makes no difference.

        Args:
            squares: sums of the forms of keys, by group.
            of_centre: the forms of the mean of the keys.
            products: the vector whose product with a key is the bilinear form of key and mean; width last.
        """
        wide = products.ndim - 3
        sums = self.sums.reshape(*self.sums.shape[:3], *(1,) * (wide - 1), *self.sums.shape[3:])
        counts = self.counts.reshape(len(self.counts), *(1,) * (of_centre.ndim - 1), -1)
        cross = np.stack([np.sum(products * each, axis=-1) for each in sums])
        centred = squares - 2 * cross + counts * of_centre
        return with_each_left_out(centred) / with_each_left_out(counts)

    def _by_pairs(self) -> Float[np.ndarray, "r layers h forms types"]:
        """x_w under every form, and last |m_w|^2: forms of (k, k') over keys of different groups.

        A plug-in of the mean would add the noise of the mean. Its size is unknown, because keys of one sentence
        depend on each other. The origin is that of the fitting half.
        """
        identity = np.broadcast_to(np.eye(self.forms.shape[-1]), self.forms[:, :, :1].shape)
        forms = np.concatenate([self.forms, identity], axis=2)
        sums = self.sums + self.counts[:, None, None, :, None] * self.fit.away
        own = with_each_left_out(np.stack([_quadratic(forms, each) for each in sums]))
        all_pairs = np.stack([_quadratic(forms, each) for each in with_each_left_out(sums)])
        counts = with_each_left_out(self.counts) ** 2 - with_each_left_out(self.counts**2)
        return (all_pairs - own) / counts[:, None, None, None, :]


def contrasts(fit: Fit) -> Float[np.ndarray, "layers h types n"]:
    """The weights c_w(q): the residual of x_w(q) after regression on the other types. F(x) is about 1."""
    y = spread(fit.queries, fit.covariances)
    mean = np.mean(y, axis=3, keepdims=True)
    x = np.matmul(fit.away, np.swapaxes(fit.queries, 2, 3)) ** 2
    basis, _ = np.linalg.qr(np.stack([_of_others(each / np.maximum(mean, TINY**0.25)) for each in (y, x)], axis=4))
    own = x
    # Twice, because once leaves rounding of the order of what is taken away.
    for _ in range(2):
        own = own - np.matmul(basis, np.matmul(np.swapaxes(basis, 3, 4), own[..., None]))[..., 0]
    weighed = own / np.maximum(mean, TINY**0.25) ** 2
    return weighed / np.maximum(np.sum(weighed * x, axis=(2, 3), keepdims=True), TINY)


def _of_others(values: Float[np.ndarray, "layers h types n"]) -> Float[np.ndarray, "layers h types n"]:
    """The mean over the other types, for each type."""
    return (np.sum(values, axis=2, keepdims=True) - values) / (values.shape[2] - 1)


def _products(
    forms: Float[np.ndarray, "layers h w d d"], x: Float[np.ndarray, "layers h types d"]
) -> Float[np.ndarray, "layers h w types d"]:
    """Every form applied to every vector."""
    return np.matmul(x[:, :, None], forms)


def _quadratic(
    forms: Float[np.ndarray, "layers h w d d"], x: Float[np.ndarray, "layers h types d"]
) -> Float[np.ndarray, "layers h w types"]:
    return np.sum(_products(forms, x) * x[:, :, None], axis=-1)


def _own_less_others(
    y: Float[np.ndarray, "r layers h w types"], v: Float[np.ndarray, "r layers h types"]
) -> Float[np.ndarray, "r layers h"]:
    """F: each type's own contrast, minus that of the other types' keys under the same weights."""
    types = v.shape[-1]
    relative = y[..., :types, :] / v[..., None, :]
    own = np.diagonal(relative, axis1=-2, axis2=-1)
    others = (np.sum(relative, axis=-1) - own) / (types - 1)
    return np.sum(v * (own - others), axis=-1)
