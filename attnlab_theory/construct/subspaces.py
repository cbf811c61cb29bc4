"""The matrix that extracts one summand of a sum of two, from bases of the two subspaces."""

import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
from jaxtyping import Array, Float

from attnlab_theory import refuse
from attnlab_theory.plurals import several


def extractor(a: Float[Array, "m d"], b: Float[Array, "n d"]) -> Float[Array, "d d"]:
    r"""The matrix M with M (v_a + v_b) = v_a for every v_a in the span of `a` and v_b in that of `b`.

    M = A ([A B]^+)_{first m rows}, with the bases as columns of A and B. It is the projection onto A along B,
    zero on the complement of both, so that no other such matrix has a smaller norm. For A orthogonal to
    B it is the orthogonal projector. Its 2-norm is 1/sin of the smallest principal angle, and the
    rounding error of M is of the order eps / sin^2 of it: in float32 half the digits are lost at an angle of 3e-4.

    Args:
        a: basis of the subspace to keep, one vector per row, in any lengths and at any angles.
        b: basis of the subspace to remove.

    Returns:
        M. Under `jit`, where values cannot be read, bases that are refused below give NaN; XLA takes entries below
        the smallest normal number (1e-38 in float32) for 0 there.

    Raises:
        ValueError: if a basis is not finite, not in float32 or float64 or its rows are dependent, the widths
            differ, or the subspaces meet. Then no matrix can tell to which of them a common vector belongs. The
            message names the dimension of what they have in common.

    Example:
        The line along e1 is kept, the line along e1 + e2 removed. So (3, 2) = 1 e1 + 2 (e1 + e2) becomes (1, 0).

        >>> matrix = extractor(jnp.array([[1.0, 0.0]]), jnp.array([[1.0, 1.0]]))
        >>> print(np.asarray(matrix @ jnp.array([3.0, 2.0])).round(3) + 0.0)
        [1. 0.]

    Source: docs/mathematics/selecting.md; Stanford CS224n assignment 5, question 1(b)i.
    """
    _check(a, b)
    a, b = _in_range(a), _in_range(b)
    m, d = a.shape
    readable = refuse.is_concrete(a) and refuse.is_concrete(b)
    # Subspaces with more than d dimensions together must meet. The shapes say so, even under `jit`.
    common = intersection_dimension(a, b) if readable else max(m + b.shape[0] - d, 0)
    if common:
        raise ValueError(
            f"the subspaces meet in {common} dimension{'s' if common > 1 else ''}: a vector there can belong to "
            "either summand and no matrix tells which; remove the common directions from one of them"
        )
    basis = jnp.concatenate([_unit_rows(a), _unit_rows(b)]).T
    q, r = jnp.linalg.qr(basis)
    # The rows of [A B]^+ = R^{-1} Q^T; going through the normal equations would square the condition.
    matrix = basis[:, :m] @ jax.scipy.linalg.solve_triangular(r, q.T)[:m]
    # ||M||_2 = 1/sin(theta) and |R_ii| is the sine of vector i with those before it: both see a degenerate pair.
    tolerance = _sine_tolerance(a)
    sound = (jnp.linalg.norm(matrix) * tolerance < 1) & (jnp.min(jnp.abs(jnp.diagonal(r))) > tolerance)
    return jnp.where(sound, matrix, jnp.nan)


def intersection_dimension(a: Float[Array, "m d"], b: Float[Array, "n d"]) -> int:
    """The dimension of what two subspaces have in common, in the precision of the arrays.

    It is the number of principal angles whose sine is at most 4 d eps, the rounding error of the sine itself.

    Args:
        a: basis of one subspace, one vector per row.
        b: basis of the other.

    Raises:
        ValueError: if a basis is not finite, not in float32 or float64 or its rows are dependent, or the widths
            differ.

    Example:
        Two planes in three dimensions meet in a line; a plane and the line perpendicular to it meet in the point 0.

        >>> plane, other = jnp.eye(3)[:2], jnp.eye(3)[1:]
        >>> intersection_dimension(plane, other), intersection_dimension(plane, jnp.eye(3)[2:])
        (1, 0)
    """
    _check(a, b)
    a, b = _in_range(a), _in_range(b)
    q_a, _ = jnp.linalg.qr(_unit_rows(a).T)
    q_b, _ = jnp.linalg.qr(_unit_rows(b).T)
    # The sines, not the cosines: near angle zero a cosine has lost half its digits.
    sines = jnp.linalg.svd(q_b - q_a @ (q_a.T @ q_b), compute_uv=False)
    return int(np.sum(np.asarray(sines) <= _sine_tolerance(a)))


def _in_range(basis: Float[Array, "m d"]) -> Float[Array, "m d"]:
    """Rows brought near length 1 by powers of two, which change no digit. Traced rows get one of two fixed powers.

    XLA takes what is below the smallest normal number for 0. So it also takes the reciprocal of a very large
    divisor for 0.
    """
    if refuse.is_concrete(basis):
        host = np.asarray(basis)
        return jnp.asarray(np.ldexp(host, -np.frexp(np.max(np.abs(host), axis=1, keepdims=True))[1]))
    nearer = 2.0 ** (np.finfo(basis.dtype).maxexp // 2)
    largest = jnp.max(jnp.abs(basis), axis=1, keepdims=True)
    return basis * jnp.where(largest > 1, 1 / nearer, nearer).astype(basis.dtype)


def _unit_rows(basis: Float[Array, "m d"]) -> Float[Array, "m d"]:
    """Only the span matters: unit rows make every decision free of the caller's units."""
    # In two steps: squares of very long or short vectors leave the range of the type.
    basis = basis / jnp.max(jnp.abs(basis), axis=1, keepdims=True)
    return basis / jnp.linalg.norm(basis, axis=1, keepdims=True)


def _sine_tolerance(basis: Array) -> float:
    return 4 * basis.shape[1] * float(jnp.finfo(basis.dtype).eps)


def _check(a: Array, b: Array) -> None:
    refuse.wrong_rank(2, a=a, b=b)
    refuse.not_floating(a=a, b=b)
    refuse.different_axes("width of the space", a=a.shape[1], b=b.shape[1])
    refuse.non_finite(a=a, b=b)
    for name, basis in {"a": a, "b": b}.items():
        rows = basis.shape[0]
        if basis.dtype.itemsize < 4:
            raise ValueError(f"{name} must be in float32 at least, not {basis.dtype}: convert it")
        if rows == 0:
            raise ValueError(f"{name} has no rows: a subspace needs at least one basis vector")
        if refuse.is_concrete(basis):
            host = np.asarray(basis)
            host = host / np.maximum(np.max(np.abs(host), axis=1, keepdims=True), np.finfo(host.dtype).tiny)
            lengths = np.linalg.norm(host, axis=1, keepdims=True)
            rank = int(np.linalg.matrix_rank(host / np.where(lengths > 0, lengths, 1), tol=_sine_tolerance(basis)))
            if rank < rows:
                have = several(rows, "row has", "rows have")
                raise ValueError(f"{name} is not a basis: {have} rank {rank}; drop the dependent ones")
        elif rows > basis.shape[1]:
            raise ValueError(f"{name} is not a basis: {rows} rows in {basis.shape[1]} dimensions are dependent")
