"""A query for the weights that are wanted (claims B.3)."""

import dataclasses
import math

import numpy as np
from jaxtyping import Array, Float

from attnlab_theory import refuse
from attnlab_theory.construct import faces


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class WeightsQuery:
    """The query whose weights come closest to the wanted ones.

    Attributes:
        keys: as given, in float64.
        wanted: the weights asked for.
        query: to hand to attention at scale 1; the shortest of those that do as well.
        divergence: KL(wanted | softmax(keys . query)) in nats; no query has a smaller one.
        is_exact: whether log(wanted) lies in the span of the keys' columns and the constant, up to rounding:
            then, and only then, the weights are met.
    """

    keys: Float[np.ndarray, "s d"]
    wanted: Float[np.ndarray, " s"]
    query: Float[np.ndarray, " d"]
    divergence: float
    is_exact: bool

    def measured_weights(self) -> Float[np.ndarray, " s"]:
        """What attention itself returns for this query."""
        return faces.measured_weights(self.query, self.keys)


def query_for_weights(
    keys: Float[np.ndarray, "s d"] | Float[Array, "s d"], weights: Float[np.ndarray, " s"] | Float[Array, " s"]
) -> WeightsQuery:
    """The query whose attention weights are closest to the wanted ones, p, in the sense of KL(p | softmax(K q)).

    The divergence is convex in q; its gradient is the weighted mean key minus K^T p, so the best weights
    have the same mean key as p. It is attained if and only if K^T p lies in the relative interior of
    the hull of the keys, as it always does if all of p is positive; it is zero if and only if p > 0 and log p is in
    range[K, 1]. Where it is only approached, along a ray, there is no query to return and this refuses.

    Args:
        keys: one row each.
        weights: one per key, not negative, adding up to 1.

    Raises:
        ValueError: if the weights are negative, do not add up to 1 or are not one per key; if their mean key lies
            on a face of the hull, naming the face; if an array is not finite or has the wrong number of axes.

    Source: claims B.3; Barndorff-Nielsen 1978, "Information and exponential families", section 9.3.
    """
    unit, exact, size = faces.normalised(keys)
    refuse.wrong_rank(1, weights=weights)
    refuse.different_axes("keys", keys=len(exact), weights=len(weights))
    refuse.non_finite(weights=weights)
    given = np.asarray(weights)
    wanted = np.asarray(given, dtype=np.float64)
    eps = float(np.finfo(given.dtype).eps) if np.issubdtype(given.dtype, np.floating) else 0.0
    refuse.negative(weights=float(np.min(wanted)))
    total = float(np.sum(wanted))
    if not abs(total - 1) <= 4 * len(wanted) * eps:
        raise ValueError(f"weights must add up to 1, not to {total:.9g}: divide them by their sum")
    wanted = wanted / total
    if not np.all(wanted > 0):
        face = faces.face_around(unit, wanted @ unit)
        if len(face) < len(unit):
            raise ValueError(
                "no query comes closest to these weights: their mean key lies on the face of keys "
                f"{faces.listed(face)}, so they are only approached as the query grows; ask query_for_weights for "
                "those keys alone, and add a multiple of query_for_subset of that face"
            )
    query, divergence, distance = _project(unit, wanted)
    peak = 1 + float(np.max(np.abs(np.log(wanted[wanted > 0]))))
    is_exact = bool(np.all(wanted > 0)) and distance <= 16 * len(wanted) * max(eps, 2.0**-52) * peak
    return WeightsQuery(keys=exact, wanted=wanted, query=query / size, divergence=divergence, is_exact=is_exact)


def _project(
    keys: Float[np.ndarray, "s d"], wanted: Float[np.ndarray, " s"]
) -> tuple[Float[np.ndarray, " d"], float, float]:
    """Minimise KL(wanted | softmax(keys . q)).

    Returns:
        The shortest minimiser, the minimum, and how far log(wanted) is from range[keys, 1].
    """
    n = len(keys)
    # Centred at the mean key wanted, the divergence is logsumexp(scores) up to a constant; in the
    # coordinates of the singular vectors neither the keys' scale nor their shape matters.
    left, sizes, right = np.linalg.svd(keys - (wanted @ keys)[None, :], full_matrices=False)
    kept = sizes > max(keys.shape) * float(np.finfo(float).eps) * max(float(sizes[0]), 1.0)
    left, sizes, right = left[:, kept], sizes[kept], right[kept]
    logs = np.log(np.maximum(wanted, float(np.finfo(float).tiny)))
    design = np.hstack([left, np.ones((n, 1))])
    nearest = np.linalg.lstsq(design, logs, rcond=None)[0]
    distance = float(np.max(np.abs(design @ nearest - logs)))
    point = nearest[:-1] if np.all(wanted > 0) else np.zeros(left.shape[1])
    value = _logsumexp(left @ point)
    for _ in range(500):
        reached = np.exp(left @ point - value)
        # The mean key of what is reached minus the one wanted; the second term is zero but for rounding.
        gradient = left.T @ (reached - wanted)
        spread = left - (reached @ left)[None, :]
        hessian = spread.T @ (reached[:, None] * spread)
        step = -np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        slope = float(gradient @ step)
        if not slope < 0:
            break
        length = 1.0
        while (lower := _logsumexp(left @ (point + length * step))) > value + length * slope / 4 and length > 1e-9:
            length /= 2
        # Convergence is quadratic at the end: once the value cannot fall, one more full step polishes the point.
        point = point + (step if lower >= value else length * step)
        if lower >= value:
            break
        value = lower
    value = _logsumexp(left @ point)
    entropy = -float(np.sum(wanted * np.where(wanted > 0, logs, 0.0)))
    return right.T @ (point / sizes), max(0.0, value - float(wanted @ (left @ point)) - entropy), distance


def _logsumexp(scores: np.ndarray) -> float:
    peak = float(np.max(scores))
    return peak + math.log(float(np.sum(np.exp(scores - peak))))
