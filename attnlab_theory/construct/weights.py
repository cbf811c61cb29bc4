"""A query for the weights that are wanted (docs/mathematics/selecting.md)."""

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
        query: the shortest of the best queries, for attention at scale 1.
        divergence: KL(wanted | softmax(keys . query)) in nats; no query has a smaller one.
        is_exact: whether log(wanted) lies in the span of the keys' columns and the constant, up to rounding:
            then, and only then, the weights are met.

    Example:
        `query_for_weights` makes it. Weights of 1/2, 1/4, 1/4 can be met, so the divergence is 0.

        >>> found = query_for_weights(np.eye(3, 2), np.array([0.5, 0.25, 0.25]))
        >>> found.is_exact, round(found.divergence, 6), found.measured_weights().round(3)
        (True, 0.0, array([0.5 , 0.25, 0.25]))
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
    have the same mean key as p. The least divergence is attained if and only if K^T p lies in the relative interior
    of the hull of the keys, as it always does if all of p is positive. It is zero if and only if p > 0 and log p is
    in range[K, 1]. Where it is only approached, along a ray, there is no best query, and an error is raised.

    Args:
        keys: one row each.
        weights: one per key, not negative, adding up to 1.

    Raises:
        ValueError: if the weights are negative, do not add up to 1 or are not one per key. Or if their mean key
            lies on a face of the hull, naming the face. Or if the weights span so many orders of magnitude that
            double precision does not tell where the optimum is. Or if an array is not finite or has the wrong
            number of axes.

    Example:
        Keys e1, e2 and 0. The query (log 2, 0) scores them log 2, 0, 0. So the weights are 2, 1, 1 parts of 4.

        >>> found = query_for_weights(np.eye(3, 2), np.array([0.5, 0.25, 0.25]))
        >>> print(found.query.round(3) + 0.0)
        [0.693 0.   ]

        Two equal keys always get equal weights. The closest to 0.8 and 0.2 is a half for each.

        >>> found = query_for_weights(np.ones((2, 1)), np.array([0.8, 0.2]))
        >>> found.is_exact, found.measured_weights(), round(found.divergence, 3)
        (False, array([0.5, 0.5]), 0.193)

    Source: docs/mathematics/selecting.md; Barndorff-Nielsen 1978, "Information and exponential families", section
    9.3.
    """
    unit, exact, size = faces.normalised(keys)
    refuse.wrong_rank(1, weights=weights)
    refuse.different_axes("keys", keys=len(exact), weights=len(weights))
    refuse.not_real(weights=weights)
    refuse.non_finite(weights=weights)
    wanted = np.asarray(weights, dtype=np.float64)
    eps = faces.eps_of(np.asarray(weights).dtype)
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
    is_exact = bool(np.all(wanted > 0)) and distance <= 16 * len(wanted) * eps * peak
    with np.errstate(over="ignore"):
        query = query / size
    if not np.all(np.isfinite(query)):
        raise ValueError(f"keys no longer than {size:.3g} ask for a query beyond float64: scale the keys up")
    return WeightsQuery(keys=exact, wanted=wanted, query=query, divergence=divergence, is_exact=is_exact)


def _project(
    keys: Float[np.ndarray, "s d"], wanted: Float[np.ndarray, " s"]
) -> tuple[Float[np.ndarray, " d"], float, float]:
    """Minimise KL(wanted | softmax(keys . q)).

    Returns:
        The shortest minimiser, the minimum, and how far log(wanted) is from range[keys, 1].

    Raises:
        ValueError: if double precision does not tell where the minimum is.
    """
    n = len(keys)
    # Keys relative to the one with the largest weight, so that a coordinate that all keys share becomes 0.
    # Otherwise the rounding of its mean would leave a tiny direction, along which queries could be of any length.
    apart = keys - keys[np.argmax(wanted)][None, :]
    # In the coordinates of the singular vectors neither the keys' scale nor their shape matters.
    left, sizes, right = np.linalg.svd(apart - (wanted @ apart)[None, :], full_matrices=False)
    kept = sizes > max(keys.shape) * float(np.finfo(float).eps) * max(float(sizes[0]), 1.0)
    left, sizes, right = left[:, kept], sizes[kept], right[kept]
    logs = np.log(np.maximum(wanted, float(np.finfo(float).tiny)))
    design = np.hstack([left, np.ones((n, 1))])
    nearest = np.linalg.lstsq(design, logs, rcond=None)[0]
    distance = float(np.max(np.abs(design @ nearest - logs)))
    # Relative to that key, the rounding of the largest weight has no effect. Differences of singular vectors,
    # instead of keys, would make copies of that key differ.
    rows = apart @ right.T / sizes
    # The nearest logarithms are a good start, often the optimum itself. But where all weight is on one wrong key
    # the Hessian is 0, and Newton's method makes no step. From the zero query it always does.
    none = np.zeros(len(sizes))
    for start in [nearest[:-1], none] if np.all(wanted > 0) else [none]:
        point = _descended(rows, wanted, start)
        if _is_minimum(rows, wanted, point):
            entropy = -float(np.sum(wanted * np.where(wanted > 0, logs, 0.0)))
            return right.T @ (point / sizes), max(0.0, _excess(rows, wanted, point) - entropy), distance
    raise ValueError(
        f"the query closest to these weights cannot be found in double precision: they span {_decades(wanted):.0f} "
        "orders of magnitude; raise the smallest weights, or make those that nearly vanish zero"
    )


def _descended(
    rows: Float[np.ndarray, "s r"], wanted: Float[np.ndarray, " s"], point: Float[np.ndarray, " r"]
) -> Float[np.ndarray, " r"]:
    """Where Newton's method ends, damped as long as the divergence falls."""
    value, reach = _excess(rows, wanted, point), 4.0
    for _ in range(500):
        gradient, step = _newton(rows, wanted, point)
        slope = float(gradient @ step)
        # No step changes a score by more than `reach`. A longer one may leave the quadratic model and end where all
        # is flat.
        change = float(np.max(np.abs(rows @ step)))
        length = first = min(1.0, reach / max(change, 1.0))
        while (
            not (lower := _excess(rows, wanted, point + length * step)) <= value + length * slope / 4
            and length > 1e-9 * first
        ):
            length /= 2
        if not lower < value:
            break
        point, value = point + length * step, lower
        reach = 2 * reach if length == first else max(4.0, length * change)
    # Near the minimum convergence is quadratic: full steps improve the point even when the value no longer falls.
    # Elsewhere a full step may lead anywhere, so each step must halve the gradient.
    for _ in range(500):
        gradient, step = _newton(rows, wanted, point)
        after, _ = _newton(rows, wanted, point + step)
        if not np.max(np.abs(after), initial=0.0) < np.max(np.abs(gradient), initial=0.0) / 2:
            break
        point = point + step
    return point


def _is_minimum(
    rows: Float[np.ndarray, "s r"], wanted: Float[np.ndarray, " s"], point: Float[np.ndarray, " r"]
) -> bool:
    """Whether the divergence is least at `point`, up to rounding, and not above that of the zero query."""
    n, eps = len(rows), float(np.finfo(float).eps)
    scores = np.abs(rows) @ np.abs(point)
    if not float(np.max(scores)) * math.sqrt(eps) <= 1:
        return False  # The scores have lost half of their digits.
    gradient, step = _newton(rows, wanted, point)
    # A weight is a quotient of exponentials of scores, which are sums.
    blur = 8 * eps * np.abs(rows).T @ (_reached(rows, point) * (scores + float(np.max(scores)) + n) + wanted)
    # A slope within rounding is not enough where the minimum is far away: a full step would still gain there.
    gain = -float(gradient @ step)
    is_flat = bool(np.all(np.abs(gradient) <= blur)) and gain <= n**2 * eps
    return is_flat and _excess(rows, wanted, point) <= math.log(n) * (1 + 8 * eps)


def _newton(
    rows: Float[np.ndarray, "s r"], wanted: Float[np.ndarray, " s"], point: Float[np.ndarray, " r"]
) -> tuple[Float[np.ndarray, " r"], Float[np.ndarray, " r"]]:
    """The gradient of the divergence, and the step to where its quadratic model is least."""
    reached = _reached(rows, point)
    # The mean key under the reached weights minus that under the wanted ones.
    gradient = rows.T @ (reached - wanted)
    # The Hessian is root^T root. The singular values of the root keep twice as many digits.
    root = np.sqrt(reached)[:, None] * (rows - (reached @ rows)[None, :])
    _, sizes, axes = np.linalg.svd(root, full_matrices=False)
    kept = sizes > max(root.shape) * float(np.finfo(float).eps) * np.max(sizes, initial=0.0)
    along = (axes[kept] @ gradient) / sizes[kept] / sizes[kept]
    return gradient, -along @ axes[kept]


def _reached(rows: Float[np.ndarray, "s r"], point: Float[np.ndarray, " r"]) -> Float[np.ndarray, " s"]:
    scores = rows @ point
    raw = np.exp(scores - np.max(scores))
    return raw / np.sum(raw)


def _excess(
    rows: Float[np.ndarray, "s r"], wanted: Float[np.ndarray, " s"], point: Float[np.ndarray, " r"]
) -> float:
    """The divergence without the entropy of the wanted weights, which no query changes."""
    scores = rows @ point
    peak = int(np.argmax(scores))
    others = np.delete(np.exp(scores - scores[peak]), peak)
    return float(scores[peak] - wanted @ scores) + math.log1p(float(np.sum(others)))


def _decades(wanted: Float[np.ndarray, " s"]) -> float:
    return math.log10(float(np.max(wanted)) / float(np.min(wanted[wanted > 0])))
