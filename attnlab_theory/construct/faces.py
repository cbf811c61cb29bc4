"""Faces of the convex hull of the keys: what a strong query can tell apart.

As its strength grows, softmax(K q) tends to the uniform law on the keys with the largest k . q, and these
are all the keys on one face of the hull. So everything here is convex geometry, in float64 on the host.
"""

import functools
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
import scipy.optimize
from jaxtyping import Array, Float

from attnlab_theory import refuse
from attnlab_theory.attention import attention_weights


def widest_margin(
    keys: Float[np.ndarray, "s d"], subset: Sequence[int], rounding: float = 0.0
) -> tuple[Float[np.ndarray, " d"], float]:
    """The unit query with equal scores on `subset` that leads every other key by most, and its lead.

    Only queries orthogonal to all differences inside the subset give it equal scores. Projected onto these queries,
    the subset is one point. The best direction is the shortest vector of the convex hull of (that point - other
    key). Non-negative least squares solve this least-distance programme exactly, by an active-set method. It takes
    finitely many steps, and needs no scale and no stopping tolerance.

    Args:
        keys: one row each, in float64.
        subset: indices, neither none nor all of the keys.
        rounding: lengths up to this are taken for zero when the dimension of the subset is counted.

    Returns:
        The query and its margin; a zero query and a margin of 0 where no query has a positive one.

    Example:
        Keys e1, e2 and 0. The query e1 scores them 1, 0, 0. No query of length 1 leads by more, for the key 0
        always scores 0.

        >>> query, margin = widest_margin(np.eye(3, 2), [0])
        >>> print(query.round(3) + 0.0, round(margin, 3))
        [1. 0.] 1.0

        The keys e1 and e2 together: they tie under the query (1, 1) / sqrt(2).

        >>> query, margin = widest_margin(np.eye(3, 2), [0, 1])
        >>> print(query.round(3) + 0.0, round(margin, 3))
        [0.707 0.707] 0.707

        The middle of three keys on a line leads under no query.

        >>> print(*widest_margin(np.array([[0.0], [1.0], [2.0]]), [1]))
        [0.] 0.0

    Source: Lawson and Hanson 1974, "Solving least squares problems", chapter 23 (LDP).
    """
    chosen = np.asarray(subset)
    others = np.delete(np.arange(len(keys)), chosen)
    centred = keys - np.mean(keys[chosen], axis=0, keepdims=True)
    inside = _row_space(centred[chosen], rounding)
    lead = _off(inside, -centred[others])
    length = float(np.max(np.linalg.norm(lead, axis=1)))
    if length <= rounding:
        return np.zeros(keys.shape[1]), 0.0
    system = np.vstack([lead.T / length, np.ones(len(others))])
    mixture = non_negative_solution(system, np.append(np.zeros(keys.shape[1]), 1.0))
    query = _off(inside, (mixture @ lead)[None, :])[0]
    size = float(np.linalg.norm(query))
    # A combination that cancels to its own rounding is the zero vector: the origin is in the hull.
    if size <= 8 * len(keys) * float(np.finfo(float).eps) * length:
        return np.zeros(keys.shape[1]), 0.0
    query = query / size
    scores = centred @ query
    # Computed from the scores and not taken from the solver, so that it is true of this query.
    margin = float(np.min(scores[chosen]) - np.max(scores[others]))
    return (query, margin) if margin > 0 else (np.zeros(keys.shape[1]), 0.0)


def non_negative_solution(
    system: Float[np.ndarray, "m n"], target: Float[np.ndarray, " m"]
) -> Float[np.ndarray, " n"]:
    """The x >= 0 that brings `system @ x` nearest to `target`, by an active-set method whose optimum is checked.

    scipy's solver (1.17) stops at a wrong x once in some thousand systems whose columns repeat. At the optimum no
    derivative is positive, and the derivatives of the columns in use are zero.

    Args:
        system: one column for each number of x.
        target: what `system @ x` should come near to.

    Example:
        x = (1, -1) would meet the target, but no x may be negative: the best is (1, 0).

        >>> print(non_negative_solution(np.eye(2), np.array([1.0, -1.0])))
        [1. 0.]

    Source: Lawson and Hanson 1974, chapter 23; Stark and Parker 1995, "Bounded-variable least-squares".
    """
    tolerance = 100 * max(system.shape) * float(np.finfo(float).eps) * float(np.max(np.sum(system**2, axis=0)))
    x, _ = scipy.optimize.nnls(system, target, maxiter=100 * system.shape[1])
    if _slack(system, target, x) <= tolerance:
        return x
    bounded = scipy.optimize.lsq_linear(system, target, (0, np.inf), method="bvls", tol=1e-15)
    return min((x, np.maximum(bounded.x, 0)), key=functools.partial(_slack, system, target))


def _slack(system: np.ndarray, target: np.ndarray, x: np.ndarray) -> float:
    slope = system.T @ (target - system @ x)
    return float(max(np.max(slope), np.max(np.abs(slope[x > 0]), initial=0.0)))


def face_around(keys: Float[np.ndarray, "s d"], point: Float[np.ndarray, " d"]) -> tuple[int, ...]:
    """The keys on the smallest face of the hull that holds `point`, which must lie in the hull.

    Key j is on it exactly if some mixture of keys that equals `point` uses key j. One linear programme asks
    for all j at once: maximise sum_j min(1, lambda_j) over lambda >= 0 with sum lambda k = (sum lambda)
    point. Nothing bounds lambda, so at the optimum every term is 0 or 1, whatever the scale of the keys.

    Args:
        keys: one row each, in float64.
        point: a mixture of them.

    Returns:
        The indices of these keys, in ascending order.

    Raises:
        ValueError: if the sizes of keys differ too much for the programme to be solved in double precision.

    Example:
        A triangle. The middle of an edge lies on the face of its two ends, a point inside lies on the whole
        triangle.

        >>> corners = np.array([[0.0, 0], [1, 0], [0, 1]])
        >>> face_around(corners, np.array([0.5, 0.0]))
        (0, 1)
        >>> face_around(corners, np.array([0.25, 0.25]))
        (0, 1, 2)
    """
    n, d = keys.shape
    centred = keys - point[None, :]
    size = float(np.max(np.abs(centred)))
    if size == 0:
        return tuple(range(n))
    balance = np.hstack([(centred / size).T, np.zeros((d, n))])
    # Variables lambda, then t; t_j - lambda_j <= 0.
    below = np.hstack([-np.eye(n), np.eye(n)])
    # HiGHS's presolve saves little here, and gives up on some columns of very different sizes.
    for presolve in (True, False):
        solved = scipy.optimize.linprog(
            np.append(np.zeros(n), -np.ones(n)),
            A_ub=below,
            b_ub=np.zeros(n),
            A_eq=balance,
            b_eq=np.zeros(d),
            bounds=[(0, None)] * n + [(0, 1)] * n,
            method="highs",
            options={"presolve": presolve},
        )
        if solved.x is not None:
            return tuple(int(j) for j in np.flatnonzero(solved.x[n:] > 0.5))
    raise ValueError(
        "double precision does not tell which face of the keys' hull holds the wanted mean key: its distances from "
        f"the keys differ by a factor of {_disparity(centred):.3g}; bring the keys to similar sizes, "
        "or drop weights that nearly vanish"
    )


def _disparity(rows: Float[np.ndarray, "s d"]) -> float:
    """The length of the longest row, divided by that of the shortest row that is not zero."""
    lengths = np.linalg.norm(rows, axis=1)
    return float(np.max(lengths) / np.min(lengths[lengths > 0]))


def nearest_mixture(
    keys: Float[np.ndarray, "s d"], point: Float[np.ndarray, " d"]
) -> tuple[Float[np.ndarray, " s"], float]:
    """Weights of the mixture of keys nearest to `point`, and its distance from it.

    Args:
        keys: one row each, in float64.
        point: as wide as a key.

    Example:
        Seen from (1, 1), the nearest mixture of e1, e2 and 0 is the middle of e1 and e2, half of a diagonal away.

        >>> weights, distance = nearest_mixture(np.eye(3, 2), np.array([1.0, 1.0]))
        >>> print(weights.round(3), round(distance, 3))
        [0.5 0.5 0. ] 0.707
    """
    centred = keys - point[None, :]
    size = max(float(np.max(np.abs(centred))), float(np.finfo(float).tiny))
    system = np.vstack([centred.T / size, np.ones(len(keys))])
    raw = non_negative_solution(system, np.append(np.zeros(keys.shape[1]), 1.0))
    weights = raw / np.sum(raw)
    return weights, float(np.linalg.norm(weights @ centred))


def eps_of(dtype: np.dtype) -> float:
    """The relative rounding of numbers that were given in this type; whole numbers become float64.

    Args:
        dtype: the type that the numbers were given in.

    Example:
        Float32 has 23 binary digits after the first; whole numbers count as float64, which has 52.

        >>> eps_of(np.dtype(np.float32)) == 2**-23, eps_of(np.dtype(int)) == 2**-52
        (True, True)
    """
    # Not numpy's `issubdtype`, which does not count bfloat16 as a floating type.
    return float(jnp.finfo(dtype if jnp.issubdtype(dtype, jnp.floating) else np.float64).eps)


def rounding_of(keys: np.ndarray) -> float:
    """How far a key may have moved when it was rounded to the type it is given in, in the keys' own unit.

    Args:
        keys: one row each, in the type that they were given in.

    Example:
        Keys of the size 1 in float64: four roundings times the root of the width.

        >>> rounding_of(np.eye(4)) == 8 * 2**-52
        True
    """
    return 4 * eps_of(keys.dtype) * math.sqrt(keys.shape[1]) * float(np.max(np.abs(keys), initial=0.0))


def normalised(keys: np.ndarray | Array) -> tuple[np.ndarray, np.ndarray, float]:
    """The keys divided by their largest entry, the keys in float64, and that entry (1 if all are zero).

    Args:
        keys: one row each, real and finite.

    Example:
        The largest entry is 4 in size.

        >>> unit, exact, size = normalised(np.array([[2.0, 0.0], [0.0, -4.0]]))
        >>> print(unit, size)
        [[ 0.5  0. ]
         [ 0.  -1. ]] 4.0
    """
    refuse.wrong_rank(2, keys=keys)
    if 0 in np.shape(keys):
        raise ValueError(f"keys must hold at least one key of at least one number, but have shape {np.shape(keys)}")
    refuse.not_real(keys=keys)
    refuse.non_finite(keys=keys)
    exact = np.asarray(keys, dtype=np.float64)
    size = float(np.max(np.abs(exact))) or 1.0
    return exact / size, exact, size


def precision() -> np.dtype:
    """The precision in which attention computes now.

    Example:
        Single precision, unless jax is set to double.

        >>> precision() in (np.float32, np.float64)
        True
    """
    return jax.dtypes.canonicalize_dtype(np.float64)


def measured_weights(query: Float[np.ndarray, " d"], keys: Float[np.ndarray, "s d"]) -> Float[np.ndarray, " s"]:
    """What attention itself returns at scale 1, in the precision in which it computes now.

    Args:
        query: one vector.
        keys: one row each.

    Example:
        A score of log 2 against 0 and 0 gives 2, 1, 1 parts of 4.

        >>> print(measured_weights(np.array([np.log(2), 0.0]), np.eye(3, 2)).round(3))
        [0.5  0.25 0.25]
    """
    weights = attention_weights(jnp.asarray(query[None, :]), jnp.asarray(keys), scale=1.0)
    return np.asarray(weights[0], dtype=np.float64)


def listed(indices: Sequence[int]) -> str:
    """Indices written as a set, for messages.

    Args:
        indices: in the order in which they are written.

    Example:
        The keys 0 and 2, as an error message writes them.

        >>> listed([0, 2])
        '{0, 2}'
    """
    return "{" + ", ".join(map(str, indices)) + "}"


def _row_space(rows: Float[np.ndarray, "s d"], rounding: float) -> Float[np.ndarray, "d n"]:
    """An orthonormal basis, in columns, of the directions in which the rows are longer than their rounding."""
    _, sizes, directions = scipy.linalg.svd(rows, full_matrices=False)
    noise = max(rows.shape) * float(np.finfo(float).eps) * float(sizes[0])
    return directions[sizes > max(noise, math.sqrt(len(rows)) * rounding)].T


def _off(basis: Float[np.ndarray, "d n"], rows: Float[np.ndarray, "s d"]) -> Float[np.ndarray, "s d"]:
    """The part of every row that is orthogonal to the basis. Projecting twice makes it so to the last digit."""
    for _ in range(2):
        rows = rows - (rows @ basis) @ basis.T
    return rows
