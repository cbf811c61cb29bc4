"""Projections for random features: every row is N(0, I) in d dimensions, and the coupling says how rows depend on
each other.
"""

import enum
import functools
import operator
from typing import Literal, assert_never

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory import refuse
from attnlab_theory.sampling.geometry import orthonormal


class Coupling(enum.StrEnum):
    """How the rows of a projection depend on each other.

    Example:
        A coupling is named by its string.

        >>> Coupling("orthogonal") is Coupling.ORTHOGONAL
        True
        >>> [coupling.value for coupling in Coupling]
        ['independent', 'orthogonal', 'orthogonal, norms sqrt(d)', 'quasi-Monte Carlo']
    """

    INDEPENDENT = "independent"
    ORTHOGONAL = "orthogonal"
    """Rows are orthogonal in blocks of the width. Each has a chi-distributed norm of its own."""
    SQRT_NORM = "orthogonal, norms sqrt(d)"
    """Rows are orthogonal in blocks and all have the norm sqrt(d). This coupling biases features."""
    QUASI_MONTE_CARLO = "quasi-Monte Carlo"


BITS = 30
"""Binary digits of a quasi-random coordinate. Its distribution is normal up to steps of probability 2**-30."""


def coupled_projection(key: PRNGKeyArray, m: int, d: int, coupling: Coupling) -> Float[Array, "m d"]:
    """`m` rows under a coupling.

    Args:
        key: a PRNG key, not to be used again.
        m: number of rows.
        d: width.
        coupling: how the rows depend on each other.

    Raises:
        ValueError: if `m` or `d` is not a positive whole number, or there is no such coupling.

    Example:
        Two rows that are orthogonal, each of the length sqrt(2).

        >>> w = coupled_projection(jax.random.key(0), 2, 2, Coupling.SQRT_NORM)
        >>> print(np.abs(np.asarray(w @ w.T)).round(3))
        [[2. 0.]
         [0. 2.]]
    """
    match Coupling(coupling):
        case Coupling.INDEPENDENT:
            return gaussian_projection(key, m, d)
        case Coupling.ORTHOGONAL:
            return orthogonal_projection(key, m, d, norms="chi")
        case Coupling.SQRT_NORM:
            return orthogonal_projection(key, m, d, norms="sqrt")
        case Coupling.QUASI_MONTE_CARLO:
            return quasi_monte_carlo_projection(key, m, d)
        case unknown:
            assert_never(unknown)


def gaussian_projection(key: PRNGKeyArray, m: int, d: int) -> Float[Array, "m d"]:
    """`m` independent rows of law N(0, I).

    Args:
        key: a PRNG key, not to be used again.
        m: number of rows.
        d: width.

    Raises:
        ValueError: if `m` or `d` is not a positive whole number.

    Example:
        Three rows of width 2; all six numbers are independent normals.

        >>> gaussian_projection(jax.random.key(0), 3, 2).shape
        (3, 2)
    """
    refuse.not_a_size(m=m, d=d)
    return jax.random.normal(key, (m, d))


def orthogonal_projection(
    key: PRNGKeyArray, m: int, d: int, *, norms: Literal["chi", "sqrt"] = "chi"
) -> Float[Array, "m d"]:
    """Rows that are orthogonal in blocks of d, the blocks independent, their directions Haar distributed.

    Args:
        key: a PRNG key, not to be used again.
        m: number of rows; the last block may have fewer than d.
        d: width.
        norms: "chi" gives every row a norm of its own from the chi law with d degrees of freedom. A row is then
            N(0, I), and features stay unbiased. "sqrt" gives every row the norm sqrt(d). A row then has covariance
            I but is not normal, and features are biased (towards zero, if positive).

    Raises:
        ValueError: if `m` or `d` is not a positive whole number, or `norms` is neither.

    Example:
        Three rows of width 2: the first two are orthogonal, the third begins another block.

        >>> w = orthogonal_projection(jax.random.key(0), 3, 2, norms="sqrt")
        >>> products = np.abs(np.asarray(w @ w.T)).round(3)
        >>> print(products.diagonal(), products[0, 1], products[0, 2] > 0)
        [2. 2. 2.] 0.0 True

    Source: Yu et al. 2016, "Orthogonal random features". The chi norms are theirs; sqrt(d) is the norm of later
    variants.
    """
    refuse.not_a_size(m=m, d=d)
    if norms not in ("chi", "sqrt"):
        raise ValueError(f"norms must be 'chi' or 'sqrt', not {norms!r}")
    directions, lengths = jax.random.split(key)
    if m <= d:
        rows = orthonormal(directions, m, d)
    else:
        blocks = jax.vmap(lambda key: orthonormal(key, d, d))(jax.random.split(directions, -(-m // d)))
        rows = blocks.reshape(-1, d)[:m]
    if norms == "sqrt":
        return d**0.5 * rows
    return jnp.linalg.norm(jax.random.normal(lengths, (m, d)), axis=1, keepdims=True) * rows


def quasi_monte_carlo_projection(key: PRNGKeyArray, m: int, d: int) -> Float[Array, "m d"]:
    """Rows that fill the space more evenly than independent ones: normal quantiles of scrambled Sobol points.

    A random linear scramble and a random digital shift make every row N(0, I), up to its 30 binary digits, so that
    features stay unbiased. Rows of one projection depend on each other. Best with m a power of two.

    Args:
        key: a PRNG key, not to be used again.
        m: number of rows.
        d: width.

    Raises:
        ValueError: if `m` or `d` is not a positive whole number, or is more than there are Sobol points
            (2**30) or directions.

    Example:
        Each coordinate of 8 rows has exactly 4 numbers above 0, and exactly 2 in the upper quarter of the normal
        law.

        >>> w = np.asarray(quasi_monte_carlo_projection(jax.random.key(0), 8, 2))
        >>> print(np.sum(w > 0, axis=0), np.sum(w > 0.6745, axis=0))
        [4 4] [2 2]

    Source: Matoušek 1998, "On the L2-discrepancy for anchored boxes"; Joe and Kuo 2008, for the directions.
    """
    refuse.not_a_size(m=m, d=d)
    points = jnp.asarray(_sobol(operator.index(m), operator.index(d)))
    columns, shift = jax.random.split(key)
    # The columns of a random lower triangular matrix over the field of two elements, ones on its diagonal.
    tops = jnp.asarray(1 << np.arange(BITS)[::-1], jnp.uint32)
    matrix = tops[:, None] | (jax.random.bits(columns, (BITS, d), jnp.uint32) & (tops[:, None] - 1))

    def add_column(total: Array, digit: tuple[Array, Array]) -> tuple[Array, None]:
        top, column = digit
        return total ^ jnp.where((points & top) > 0, column[None], jnp.uint32(0)), None

    start = jnp.broadcast_to(jax.random.bits(shift, (d,), jnp.uint32)[None] >> (32 - BITS), (m, d))
    scrambled, _ = jax.lax.scan(add_column, start, (tops, matrix))
    # The first digit is the sign, and the others give the tail probability, because float32 has few digits near
    # one.
    half = jnp.uint32(1 << (BITS - 1))
    tail = ((scrambled & (half - 1)).astype(jnp.zeros(()).dtype) + 0.5) / 2**BITS
    return jnp.where(scrambled >= half, -1.0, 1.0) * jax.scipy.special.ndtri(tail)


@functools.lru_cache(maxsize=64)
def _sobol(m: int, d: int) -> np.ndarray:
    """The first m Sobol points, as integers of BITS digits."""
    from scipy.stats import qmc  # imported here, for it takes half a second

    if not m <= 2**BITS:
        raise ValueError(f"there are {2**BITS} Sobol points, not {m}")
    if not d <= qmc.Sobol.MAXDIM:
        raise ValueError(f"there are Sobol points in at most {qmc.Sobol.MAXDIM} dimensions, not in {d}")
    points = qmc.Sobol(d, scramble=False, bits=BITS).random_base2((m - 1).bit_length())[:m]
    return (points * 2**BITS).astype(np.uint32)
