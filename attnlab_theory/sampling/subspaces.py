"""Pairs of subspaces with given principal angles, as orthonormal bases in rows."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory import refuse
from attnlab_theory.sampling.geometry import orthonormal

RIGHT_ANGLE = float(np.float32(np.pi / 2))
"""pi/2 in the floating type that rounds it up the most."""


def principal_frames(
    key: PRNGKeyArray, d: int, m: int, n: int, *, angles: Float[Array, " r"]
) -> tuple[Float[Array, "m d"], Float[Array, "n d"]]:
    """Principal vectors of two random subspaces: the angle between row i of one and row i of the other is
    `angles[i]`.

    All other inner products between rows vanish; the pair is turned by a Haar rotation of the whole space.

    Args:
        key: a PRNG key, not to be used again.
        d: width of the space.
        m: dimension of the first subspace, A.
        n: dimension of the second, B.
        angles: the min(m, n) principal angles in radians, each between 0 (a common direction) and pi/2.

    Raises:
        ValueError: if m + n > d (generic angles do not fit), there are not min(m, n) angles, or one of them
            is not between 0 and pi/2.

    Example:
        Two lines in three dimensions at an angle of 60 degrees: the product of their unit vectors is 1/2.

        >>> a, b = principal_frames(jax.random.key(0), 3, 1, 1, angles=jnp.array([np.pi / 3]))
        >>> print(np.asarray(a @ b.T).round(3))
        [[0.5]]

    Source: Björck and Golub 1973, "Numerical methods for computing angles between linear subspaces".
    """
    refuse.not_whole(d=d, m=m, n=n)
    if not (m > 0 and n > 0 and m + n <= d):
        raise ValueError(f"subspaces of {m} and {n} dimensions need 0 < m, 0 < n and m + n <= d, but d = {d}")
    shared = min(m, n)
    refuse.different_axes("principal angles", min_m_n=shared, angles=angles.shape[0])
    refuse.not_real(angles=angles)
    refuse.non_finite(angles=angles)
    if refuse.is_concrete(angles):
        for angle in np.asarray(angles):
            if not 0 <= angle <= RIGHT_ANGLE:
                raise ValueError(f"angles must lie between 0 and pi/2, not {angle}")
    frame = orthonormal(key, m + n, d)
    a, rest = frame[:m], frame[m:]
    cosines = jnp.cos(angles).astype(frame.dtype)[:, None]
    sines = jnp.sin(angles).astype(frame.dtype)[:, None]
    return a, jnp.concatenate([cosines * a[:shared] + sines * rest[:shared], rest[shared:]])


def subspace_pair(
    key: PRNGKeyArray, d: int, m: int, n: int, *, angles: Float[Array, " r"]
) -> tuple[Float[Array, "m d"], Float[Array, "n d"]]:
    """Random orthonormal bases of two random subspaces with the given principal angles.

    They are the bases of `principal_frames`, each turned within its own subspace, so that no row is a principal
    vector.

    Args:
        key: a PRNG key, not to be used again.
        d: width of the space.
        m: dimension of the first subspace, A.
        n: dimension of the second, B.
        angles: the min(m, n) principal angles in radians, each between 0 (a common direction) and pi/2.

    Raises:
        ValueError: if `principal_frames` refuses the arguments.

    Example:
        A plane and a line in three dimensions. The cosine of their angle is the length of the projection of the
        line's unit vector onto the plane.

        >>> a, b = subspace_pair(jax.random.key(0), 3, 2, 1, angles=jnp.array([np.pi / 3]))
        >>> print(np.linalg.norm(np.asarray(a @ b.T)).round(3))
        0.5
    """
    frames, turn_a, turn_b = jax.random.split(key, 3)
    a, b = principal_frames(frames, d, m, n, angles=angles)
    return turned(turn_a, a), turned(turn_b, b)


def turned(key: PRNGKeyArray, frame: Float[Array, "m d"]) -> Float[Array, "m d"]:
    """Another orthonormal basis of the same subspace, Haar distributed.

    Args:
        key: a PRNG key, not to be used again.
        frame: an orthonormal basis, in rows.

    Example:
        Another basis of the plane of e1 and e2: the third coordinates stay 0, the products of the rows are those of
        a basis.

        >>> basis = turned(jax.random.key(0), jnp.eye(2, 3))
        >>> print(basis[:, 2], np.abs(np.asarray(basis @ basis.T)).round(3).ravel())
        [0. 0.] [1. 0. 0. 1.]
    """
    return orthonormal(key, frame.shape[0], frame.shape[0]).astype(frame.dtype) @ frame
