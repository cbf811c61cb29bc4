"""Noisy keys: k_i ~ N(mu_i, Sigma_i), one covariance per key."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory import refuse
from attnlab_theory.axes import Scalar

Normal = Callable[[PRNGKeyArray, tuple[int, ...], Any], Array]
"""(key, shape, dtype) -> standard normals: `jax.random.normal`, or the faster `hashed_normal`."""


def noisy_keys(
    key: PRNGKeyArray,
    means: Float[Array, "s d"],
    *,
    variance: Scalar | Float[Array, " s"],
    stretch: Float[Array, " s"],
    normal: Normal = jax.random.normal,
) -> Float[Array, "s d"]:
    """One draw of every key around its mean.

    The covariance of key i is `variance[i] * I + stretch[i] * mu_i mu_i^T`. It is sampled by its structure
    (d + 1 normals per key), never through a Cholesky factor: exact, and a hundred times cheaper.

    Args:
        key: consumed whole.
        means: the keys' means, one row each.
        variance: of the isotropic part, in squared units of the keys; one for all, or one per key.
        stretch: variance along each key's own mean, per squared length of it.
        normal: where the standard normals come from.

    Returns:
        One row per key. Under `jit`, where values cannot be read, a negative variance gives NaN.

    Raises:
        ValueError: if a variance is negative, a number is not finite or not real, the means are not of a floating
            type, or shapes disagree.

    Source: Stanford CS224n assignment 5, question 1(c).
    """
    return many_noisy_keys(key, means, 1, variance=variance, stretch=stretch, normal=normal)[0]


def many_noisy_keys(
    key: PRNGKeyArray,
    means: Float[Array, "s d"],
    n: int,
    *,
    variance: Scalar | Float[Array, " s"],
    stretch: Float[Array, " s"],
    normal: Normal = jax.random.normal,
) -> Float[Array, "n s d"]:
    """`n` independent draws of every key around its mean, for an operator under `jax.vmap`.

    Many draws from one PRNG key cost less than one draw from each of many. One draw is what `noisy_keys` returns.

    Args, raises: as `noisy_keys`; also ValueError if `n` is not a positive whole number.
    """
    _check(means, variance, stretch)
    refuse.not_a_size(replicates=n)
    means = jnp.asarray(means)
    s, d = means.shape
    # All normals of a draw from one call: a second call costs half as much again, to compile and to run.
    normals = normal(key, (n, s, d + 1), means.dtype)
    deviation = jnp.broadcast_to(jnp.sqrt(jnp.asarray(variance, means.dtype)), (s,))
    length = 1 + jnp.sqrt(jnp.asarray(stretch, means.dtype))[None] * normals[:, :, d]
    return length[:, :, None] * means[None] + deviation[None, :, None] * normals[:, :, :d]


def gaussian_keys(
    key: PRNGKeyArray,
    means: Float[Array, "s d"],
    factors: Float[Array, "s d m"],
    *,
    normal: Normal = jax.random.normal,
) -> Float[Array, "s d"]:
    """One draw of every key under any covariances: key i has covariance F_i F_i^T.

    Args:
        key: consumed whole.
        means: the keys' means, one row each.
        factors: one factor F_i per key, as `noise_factors` or any Cholesky factor; m normals are spent per key.
        normal: where the standard normals come from.

    Raises:
        ValueError: if the shapes disagree, the means are not of a floating type or the factors not real.
    """
    check_factors(means, factors)
    means = jnp.asarray(means)
    noise = normal(key, (factors.shape[0], factors.shape[2]), means.dtype)
    return means + jnp.einsum("sdm,sm->sd", factors, noise)


def noise_factors(
    means: Float[Array, "s d"], *, variance: Scalar | Float[Array, " s"], stretch: Float[Array, " s"]
) -> Float[Array, "s d m"]:
    """The factors [sqrt(variance) I, sqrt(stretch) mu_i] of the covariances of `noisy_keys`; m = d + 1.

    Args, raises: as `noisy_keys`.
    """
    _check(means, variance, stretch)
    means = jnp.asarray(means)
    n, d = means.shape
    deviation = jnp.broadcast_to(jnp.sqrt(jnp.asarray(variance, means.dtype)), (n,))
    isotropic = deviation[:, None, None] * jnp.eye(d, dtype=means.dtype)[None]
    along = jnp.sqrt(jnp.asarray(stretch, means.dtype))[:, None] * means
    return jnp.concatenate([isotropic, along[:, :, None]], axis=2)


def _check(means: Array, variance: Scalar | Array, stretch: Array) -> None:
    refuse.wrong_rank(2, means=means)
    refuse.wrong_rank(1, stretch=stretch)
    refuse.not_floating(means=means)
    refuse.not_real(variance=variance, stretch=stretch)
    refuse.different_axes("keys", means=means.shape[0], stretch=stretch.shape[0])
    if jnp.ndim(variance) > 0:
        refuse.wrong_rank(1, variance=variance)
        refuse.different_axes("keys", means=means.shape[0], variance=jnp.shape(variance)[0])
    refuse.non_finite(means=means)
    for name, numbers in {"variance": variance, "stretch": stretch}.items():
        if refuse.is_concrete(numbers):
            # numpy: inside a jit, jax would make a tracer even of this. A NaN is its own minimum, and is refused.
            refuse.negative(**{name: float(np.min(np.asarray(numbers), initial=0.0))})
    refuse.non_finite(variance=variance, stretch=stretch)


def check_factors(means: Array, factors: Array) -> None:
    """Refuse means and factors that do not belong together, means not of a floating type and factors not real.

    Raises:
        ValueError: naming the axis on which they disagree, or the type.
    """
    refuse.wrong_rank(2, means=means)
    refuse.not_floating(means=means)
    refuse.wrong_rank(3, factors=factors)
    refuse.not_real(factors=factors)
    refuse.different_axes("keys", means=means.shape[0], factors=factors.shape[0])
    refuse.different_axes("key width", means=means.shape[1], factors=factors.shape[1])
