"""Scores without keys: q . k_i is normal when k_i is, so it can be drawn directly.

A trial with n keys of width d costs n normals instead of n d. Several queries see one key's score vector,
whose entries are correlated; the keys stay independent.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory import refuse
from attnlab_theory.sampling.keys import Normal, check_factors


class ScoreLaw(NamedTuple):
    """The law of the scores z_i = Q k_i of independent normal keys k_i: z_i ~ N(mean[:, i], A_i A_i^T).

    Example:
        One query and three keys: means of the scores, and one factor for each key.

        >>> law = ScoreLaw(mean=jnp.array([[1.0, 0.0, 0.0]]), factor=jnp.zeros((3, 1, 1)))
        >>> print(noisy_scores(jax.random.key(0), law, 1)[:, :, 0])
        [[1. 0. 0.]]
    """

    mean: Float[Array, "t s"]
    factor: Float[Array, "s t m"]
    """A_i, one for each key; m normals are spent per key and trial."""


def score_law(q: Float[Array, "t d"], means: Float[Array, "s d"], factors: Float[Array, "s d m"]) -> ScoreLaw:
    """The joint law of all queries' scores at scale 1: mean Q mu_i, covariance Q F_i F_i^T Q^T.

    Args:
        q: queries, one row each. For another scale, scale the queries.
        means: the keys' means.
        factors: the keys' covariance factors, from `noise_factors` or of any other covariances.

    Returns:
        The law. Its factors A_i are t x min(t, m), so that a key needs no more normals than there are queries.

    Raises:
        ValueError: if the shapes disagree, q or the means are not of a floating type, or the factors not real.

    Example:
        The query (2, 0) scores the key e1 with mean 2. Keys vary by I in both directions, so every score has the
        deviation 2.

        >>> import numpy as np
        >>> means = jnp.eye(3, 2)
        >>> law = score_law(jnp.array([[2.0, 0.0]]), means, jnp.tile(jnp.eye(2), (3, 1, 1)))
        >>> print(law.mean, np.abs(np.asarray(law.factor)).ravel().round(2))
        [[2. 0. 0.]] [2. 2. 2.]

    Source: docs/mathematics/noisy_keys.md.
    """
    refuse.wrong_rank(2, q=q)
    refuse.not_floating(q=q)
    check_factors(means, factors)
    refuse.different_axes("key width", q=q.shape[1], means=means.shape[1])
    # A QR of (Q F)^T rather than a Cholesky factor of Q F F^T Q^T: two equal queries make the latter singular,
    # and the square root of its rounding error would make their scores differ by 3e-4.
    triangular = jnp.linalg.qr(jnp.einsum("td,sdm->smt", q, factors), mode="r")
    return ScoreLaw(jnp.einsum("td,sd->ts", q, means), jnp.swapaxes(triangular, 1, 2))


def noisy_scores(
    key: PRNGKeyArray, law: ScoreLaw, n: int, *, normal: Normal = jax.random.normal
) -> Float[Array, "t s n"]:
    """`n` independent draws of every query's score of every key, replicates along the last axis.

    The replicates come last because a softmax over s is then a handful of long vector operations.

    Args:
        key: a PRNG key, not to be used again.
        law: from `score_law`.
        n: replicates.
        normal: where the standard normals come from.

    Raises:
        ValueError: if `n` is not a positive whole number, or the law's two arrays are of different numbers of keys.

    Example:
        Two queries, three keys and four draws. Without noise a score is its mean.

        >>> law = ScoreLaw(mean=jnp.array([[1.0, 2, 3], [4, 5, 6]]), factor=jnp.zeros((3, 2, 2)))
        >>> scores = noisy_scores(jax.random.key(0), law, 4)
        >>> scores.shape
        (2, 3, 4)
        >>> print(scores[:, :, 0])
        [[1. 2. 3.]
         [4. 5. 6.]]
    """
    refuse.not_a_size(replicates=n)
    refuse.different_axes("keys", factor=law.factor.shape[0], mean=law.mean.shape[1])
    keys, queries, rank = law.factor.shape
    noise = normal(key, (rank, keys, n), law.mean.dtype)
    # Written out, XLA fuses the few products with the making of the normals. It could not fuse a matrix product.
    columns = [law.factor[:, :, m].T[:, :, None] * noise[None, m] for m in range(rank)]
    return sum(columns, jnp.broadcast_to(law.mean[:, :, None], (queries, keys, n)))
