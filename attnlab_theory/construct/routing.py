"""Matrices K, Q, V that send every input of self-attention where it is wanted (docs/mathematics/routing.md)."""

import dataclasses
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
import scipy.optimize
from jaxtyping import Array, Float

from attnlab_theory.attention import attention, attention_weights
from attnlab_theory.construct.routing_task import EPS, TINY, Task, checked
from attnlab_theory.theory.selecting.copying import leak_bound, strength_needed


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Routing:
    """K, Q and V for single-headed self-attention at scale 1, and how far its outputs are from the wanted ones.

    Attributes:
        inputs: as given, in float64.
        routes: for every row the input that it attends to, or None if the row is free.
        wanted: the wanted outputs; rows that are free hold NaN.
        k: keys are `inputs @ k.T`; as few rows as the routing needs.
        q: queries are `inputs @ q.T`.
        v: values are `inputs @ v.T`.
        margin: every wanted score leads its row by at least this much, after rounding is subtracted; inf for a
            single input.
        certified: no routed output is further from the wanted one than this, in 2-norm, rounding included. It
            holds where keys, queries, values and attention are computed in float64, whatever type was given. In
            float32 the scores of a strong routing are rounded by more than the margin allows for.
        measured: the largest distance of an output from the wanted one, for attention itself in float64.
        weights: the weights of attention itself, one row per input.
        outputs: the outputs of attention itself, those of free rows too.

    Example:
        `route` makes it. Each of two inputs attends to the other.

        >>> found = route(np.eye(2), [1, 0], np.array([[5.0], [7.0]]), tolerance=0.01)
        >>> print(found.weights.round(2))
        [[0. 1.]
         [1. 0.]]
        >>> print(found.outputs.round(1))
        [[5.]
         [7.]]
        >>> found.measured <= found.certified <= 0.01
        True
    """

    inputs: Float[np.ndarray, "t d"]
    routes: tuple[int | None, ...]
    wanted: Float[np.ndarray, "t v"]
    k: Float[np.ndarray, "h d"]
    q: Float[np.ndarray, "h d"]
    v: Float[np.ndarray, "v d"]
    margin: float
    certified: float
    measured: float
    weights: Float[np.ndarray, "t s"]
    outputs: Float[np.ndarray, "t v"]

    @property
    def w(self) -> Float[np.ndarray, "d d"]:
        """K^T Q: the score of key j for query i is x_j . W x_i."""
        return self.k.T @ self.q


def route(
    x: Float[np.ndarray, "t d"] | Float[Array, "t d"],
    routes: Sequence[int | None],
    outputs: Float[np.ndarray, "rows v"] | Float[Array, "rows v"],
    *,
    tolerance: float,
) -> Routing:
    r"""K, Q, V under which self-attention reads input `routes[i]` at row i and returns `outputs[i]`.

    V is the matrix of least Frobenius norm with V x_{routes[i]} = outputs[i]. W = K^T Q is the matrix of
    least Frobenius norm with (x_{routes[i]} - x_j) . W x_i >= margin for every routed i and every other
    j: a convex quadratic programme, solved exactly by non-negative least squares on its dual. The margin is
    the least that certifies the tolerance by the copy bound. K and Q split W by its singular values, so that
    they have as few rows as W has rank.

    The programme has t^2 unknowns: on one core 32 inputs take a second, 64 some half a minute.

    Args:
        x: linearly independent inputs, one per row.
        routes: for every input the number of the one it attends to, or None to leave it free.
        outputs: wanted outputs, one per row; those of free rows are ignored and may be NaN.
        tolerance: largest distance of an output from the wanted one, in 2-norm and in the outputs' units.

    Raises:
        ValueError: if the inputs are dependent (naming their rank) or nearly so (a condition number above some
            1e7). Or if two rows that attend to the same input want different outputs. Or if a route points outside,
            or no row is routed. Or if the tolerance is not positive and finite, or is finer than rounding can
            certify. Or if an array is not finite or of the wrong shape.

    Example:
        Input 0 reads input 1 and returns 5, input 1 reads input 0 and returns 7. So the value of input 1 is 5, that
        of 0 is 7.

        >>> found = route(np.eye(2), [1, 0], np.array([[5.0], [7.0]]), tolerance=0.01)
        >>> print(found.v.round(3))
        [[7. 5.]]
        >>> print(found.outputs.round(1))
        [[5.]
         [7.]]

    Source: docs/mathematics/routing.md; Lawson and Hanson 1974, "Solving least squares problems", chapter 23.
    """
    task = checked(x, routes, outputs, tolerance)
    left, sizes, right = np.linalg.svd(_least_scores(task))
    # W is a sum of one outer product per routed row; beyond that many, singular values are rounding.
    rank = max(1, min(len(task.routed), int(np.sum(sizes > len(sizes) * EPS * sizes[0]))))
    roots = np.sqrt(sizes[:rank, None])
    return _assembled(task, roots * left[:, :rank].T, roots * right[:rank])


def shared_route(
    x: Float[np.ndarray, "t d"] | Float[Array, "t d"],
    routes: Sequence[int | None],
    outputs: Float[np.ndarray, "rows v"] | Float[Array, "rows v"],
    *,
    tolerance: float,
) -> Routing:
    r"""Matrices as from `route`, with one matrix for both keys and queries: Q = K.

    The scores are then a Gram matrix S. Along a cycle of routes, S_{i,next} > S_{i,previous} = S_{previous,i}
    would grow forever, and in a cycle of two S_{12} > S_{11} and S_{12} > S_{22} break Cauchy-Schwarz. Every
    routing whose only cycles are inputs that attend to themselves is possible. Take one direction e_i per
    input, and lengths L growing fourfold towards the end of every chain. The keys are L_i (e_i + e_{routes[i]}), or
    L_i e_i at an end. They give row i the score 4 L_i^2 at its target, 2 L_i^2 at itself, at most L_i^2 elsewhere.
    In float64 this works for chains of at most 12 inputs; longer ones are refused.

    Args:
        x: linearly independent inputs, one per row.
        routes: for every input the number of the one it attends to, or None to leave it free.
        outputs: wanted outputs, one per row; those of free rows are ignored and may be NaN.
        tolerance: largest distance of an output from the wanted one, in 2-norm and in the outputs' units.

    Returns:
        Matrices with q equal to k. Unlike those of `route`, they are not the smallest possible ones.

    Raises:
        ValueError: if `route` refuses the arguments, or the routes have a cycle of two inputs or more, naming it.

    Example:
        Input 0 reads input 1, input 1 reads itself. Keys and queries share one matrix.

        >>> found = shared_route(np.eye(2), [1, 1], np.array([[5.0], [5.0]]), tolerance=0.01)
        >>> np.array_equal(found.q, found.k), found.outputs.round(1).ravel()
        (True, array([5., 5.]))

        Two inputs that read each other would need a score larger than itself.

        >>> shared_route(np.eye(2), [1, 0], np.array([[5.0], [7.0]]), tolerance=0.01)
        Traceback (most recent call last):
            ...
        ValueError: shared keys and queries cannot route the cycle 0 → 1 → 0: ...

    Source: docs/mathematics/identities.md, docs/mathematics/routing.md.
    """
    task = checked(x, routes, outputs, tolerance)
    keys = np.zeros((len(task.routes), len(task.routes)))
    for i, target in enumerate(task.routes):
        length = 4.0 ** -_steps_to_end(task.routes, i)
        keys[i, i] = length
        if target not in (None, i):
            keys[i, target] = length
    # Inputs are independent, so some K takes each of them to any key that is wanted.
    matrix = (np.linalg.pinv(task.unit) @ keys).T
    longest = 1 + max(_steps_to_end(task.routes, i) for i in range(len(task.routes)))
    return _assembled(task, matrix, matrix, hidden_by=f"a chain of {longest} inputs is too long or they are")


def _least_scores(task: Task) -> Float[np.ndarray, "d d"]:
    """W of least Frobenius norm whose margins on the unit inputs are at least 1; zeros if there is no other
    input."""
    # In an orthonormal basis of their span, the inputs are the rows of a square triangular matrix.
    basis, triangle = np.linalg.qr(task.unit.T)
    x = triangle.T
    n = len(x)
    rows = [np.outer(x[goal] - x[j], x[i]).ravel() for i, goal in task.routed for j in range(n) if j != goal]
    if not rows:
        return np.zeros((basis.shape[0], basis.shape[0]))
    constraints = np.stack(rows)
    # The W with scores 1 at the goals and 0 elsewhere meets the margins. In units of its norm, the least W has norm
    # at most 1, which keeps the programme's two parts in balance.
    wanted = np.zeros((n, n))
    for i, goal in task.routed:
        wanted[goal, i] = 1
    inverse = scipy.linalg.solve_triangular(x, np.eye(n), lower=True)
    unit = float(np.linalg.norm(inverse @ wanted @ inverse.T))
    # Lawson and Hanson's least distance programme, min |u| with G u >= h, through its dual. Its columns are scaled
    # to one length. This changes no solution, and without it similar inputs make some columns tiny.
    design = np.vstack([constraints.T, np.full(len(rows), 1 / unit)])
    lengths = np.linalg.norm(constraints, axis=1)
    goal = np.zeros(n * n + 1)
    goal[-1] = 1
    multipliers, _ = scipy.optimize.nnls(design / lengths, goal, maxiter=30 * design.shape[1])
    residual = design @ (multipliers / lengths) - goal
    # The residual loses digits where W is long. Solving for the margins that are active restores them.
    active = multipliers > 0
    polished = np.linalg.lstsq((constraints / lengths[:, None])[active], 1 / lengths[active], rcond=None)[0]
    best = max((residual[:-1], polished), key=lambda w: np.min(constraints @ w) / (np.linalg.norm(w) or 1.0))
    achieved = float(np.min(constraints @ best))
    if not achieved > 0:
        raise ValueError(
            f"inputs are too close to dependent for float64: their condition number is {np.linalg.cond(x):.3g}"
        )
    return basis @ (best / achieved).reshape(n, n) @ basis.T


def _assembled(
    task: Task, key_part: np.ndarray, query_part: np.ndarray, *, hidden_by: str = "the inputs are"
) -> Routing:
    """Scale matrices that route the unit inputs until their margin meets the tolerance. Certify and measure
    them."""
    x, n = task.unit, len(task.unit)
    v, apart, off = _values(task)
    keys, queries = x @ key_part.T, x @ query_part.T
    scores = queries @ keys.T
    lead = min((_lead(scores[i], goal) for i, goal in task.routed), default=math.inf)
    # A score is two products of length d and one of length h, here and in the operator alike.
    terms = 2 * x.shape[1] + len(key_part) + 4
    blur = 2 * terms * EPS * float(np.max((abs(x) @ abs(query_part).T) @ (abs(x) @ abs(key_part).T).T))
    needed = 0.0
    if n > 1:
        left = {i: task.tolerance - off[i] for i, _ in task.routed}
        shares = [left[i] / apart[i] if apart[i] > 0 else math.copysign(math.inf, left[i]) for i in left]
        # Slightly below the tolerance, because rounding enters when a leak is turned into a margin and back.
        share = min(shares) * (1 - 2**-30)
        _require_certifiable(task, max(off[i] for i, _ in task.routed), share)
        needed = max(0.0, strength_needed(n, share)) if share < 1 else 0.0
    if needed > 0 and not lead > 2 * blur:
        raise ValueError(
            f"rounding of {blur:.2g} hides the margin {lead:.2g}: {hidden_by} too close to dependent for float64"
        )
    strength = needed / (lead - blur) if needed > 0 else 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        root = np.sqrt(strength) / task.size
        k, q = root * key_part, root * query_part
    if not (np.all(np.isfinite(k)) and np.all(np.isfinite(q))):
        raise _no_matrices(task, "scale them up")
    # XLA takes subnormal numbers for 0. They are made 0 here, and the scores that they would have added are counted
    # as an error.
    k, lost_k = _normal_numbers(k)
    q, lost_q = _normal_numbers(q)
    if np.any(lost_k) or np.any(lost_q):
        all_k, all_q = abs(task.inputs) @ (abs(k) + lost_k).T, abs(task.inputs) @ (abs(q) + lost_q).T
        kept_k, kept_q = abs(task.inputs) @ abs(k).T, abs(task.inputs) @ abs(q).T
        missing = 2 * float(np.max(np.sum(all_q[:, None] * all_k[None] - kept_q[:, None] * kept_k[None], axis=2)))
        if not missing <= strength * blur:
            raise _no_matrices(task, "scale them down")
    margin = strength * (lead - blur) if n > 1 else math.inf
    certified = max(leak_bound(n, margin) * apart[i] + off[i] for i, _ in task.routed)
    weights, outputs = _attended(task.inputs, k, q, v)
    rows = [i for i, _ in task.routed]
    measured = float(np.max(_lengths(outputs[rows] - task.wanted[rows])))
    return Routing(
        inputs=task.inputs,
        routes=task.routes,
        wanted=task.wanted,
        k=k,
        q=q,
        v=v,
        margin=margin,
        certified=certified,
        measured=measured,
        weights=weights,
        outputs=outputs,
    )


def _no_matrices(task: Task, remedy: str) -> ValueError:
    which = "no longer" if remedy.endswith("up") else "as long"
    than = "than" if remedy.endswith("up") else "as"
    return ValueError(f"inputs {which} {than} {task.size:.3g} ask for matrices beyond float64: {remedy}")


def _normal_numbers(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The matrix with 0 in place of subnormal numbers, and the sizes of the numbers that were replaced."""
    is_lost = (matrix != 0) & (np.abs(matrix) < TINY)
    return np.where(is_lost, 0.0, matrix), np.where(is_lost, np.abs(matrix), 0.0)


def _values(task: Task) -> tuple[np.ndarray, dict[int, float], dict[int, float]]:
    """V of least norm. For each routed row, the distance of the farthest other value and the error of its own
    value."""
    goals = sorted({goal for _, goal in task.routed})
    means = [np.mean([task.wanted[i] for i, to in task.routed if to == goal], axis=0) for goal in goals]
    with np.errstate(over="ignore"):
        v = (np.linalg.pinv(task.unit[goals]) @ np.stack(means)).T / task.size
    if not np.all(np.isfinite(v)):
        raise _no_matrices(task, "scale them up")
    v, _ = _normal_numbers(v)
    values = task.inputs @ v.T
    sizes = _lengths(abs(task.inputs) @ abs(v).T)
    # Terms of the weighted mean that are rounded: d in a value, n in the sum, and the weights twice.
    terms = task.inputs.shape[1] + 3 * len(values) + 8
    # XLA takes what is below the smallest normal number for 0: every coordinate of every term may lose as much.
    rounding = terms * (EPS * float(np.max(sizes)) + (TINY * values.shape[1] if np.any(v) else 0.0))
    apart, off = {}, {}
    for i, goal in task.routed:
        apart[i] = float(np.max(_lengths(values - values[goal])))
        off[i] = float(_lengths((values[goal] - task.wanted[i])[None])[0]) + rounding
    return v, apart, off


def _lengths(rows: np.ndarray) -> np.ndarray:
    """The lengths of vectors whose squares may leave the range of float64."""
    largest = np.max(np.abs(rows), axis=1)
    return largest * np.linalg.norm(rows / np.where(largest > 0, largest, 1)[:, None], axis=1)


def _attended(x: np.ndarray, k: np.ndarray, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights and outputs of the operator, in float64: float32 would hide every tolerance below 1e-6."""
    with jax.enable_x64(True):
        queries, keys, values = (jnp.asarray(x @ matrix.T, dtype=jnp.float64) for matrix in (q, k, v))
        weights = attention_weights(queries, keys, scale=1.0)
        return np.asarray(weights), np.asarray(attention(queries, keys, values, scale=1.0))


def _lead(scores: np.ndarray, goal: int) -> float:
    return float(scores[goal] - np.max(np.delete(scores, goal), initial=-math.inf))


def _steps_to_end(routes: tuple[int | None, ...], start: int) -> int:
    """How far a row is from the end of its chain: a free row, or one that attends to itself.

    Raises:
        ValueError: if the chain ends in a cycle of two rows or more.
    """
    chain = [start]
    while (following := routes[chain[-1]]) is not None and following != chain[-1]:
        if following in chain:
            cycle = " → ".join(map(str, [*chain[chain.index(following) :], following]))
            raise ValueError(
                f"shared keys and queries cannot route the cycle {cycle}: their scores are symmetric, and each "
                "would have to exceed the one before; free a row of it, or use route"
            )
        chain.append(following)
    return len(chain) - 1


def _require_certifiable(task: Task, off: float, share: float) -> None:
    if not share > 0:
        raise ValueError(
            f"tolerance {task.tolerance:g} is finer than rounding allows here: values alone are off by {off:.2g}"
        )
