"""Noisy keys: k_i ~ N(mu_i, Sigma_i), one covariance per key."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory import refuse
from attnlab_theory.axes import Scalar

REACH = 10.0
"""No draw lies this many standard deviations from its mean. Normals in float64 stop at 9."""

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

    The covariance of key i is `variance[i] * I + stretch[i] * mu_i mu_i^T`. Sampling uses this structure (d + 1
    normals per key) instead of a Cholesky factor. That is exact, and a hundred times cheaper.

    Args:
        key: a PRNG key, not to be used again.
        means: the keys' means, one row each.
        variance: the isotropic part, in squared units of the keys; one for all, or one per key.
        stretch: variance along each key's own mean, in units of the mean's squared length.
        normal: where the standard normals come from.

    Returns:
        One row per key. Under `jit`, where values cannot be read, a negative or infinite variance gives NaN.

    Raises:
        ValueError: if a variance is negative, or a number is not finite or not real. Or if the means are not of a
            floating type, or shapes disagree. Or if the type of the means does not hold a deviation or the keys.

    Example:
        Without variance a key is its mean. With it, a key lies around its mean.

        >>> means = jnp.eye(3, 2)
        >>> print(noisy_keys(jax.random.key(0), means, variance=0.0, stretch=jnp.zeros(3)))
        [[1. 0.]
         [0. 1.]
         [0. 0.]]

        A stretch moves a key along its own mean: the first keeps its second coordinate 0, and the mean 0 does not
        move.

        >>> k = noisy_keys(jax.random.key(0), means, variance=0.0, stretch=jnp.ones(3))
        >>> float(k[0, 1]), k[2].tolist(), bool(k[0, 0] != 1)
        (0.0, [0.0, 0.0], True)

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

    Many draws from one PRNG key cost less than one draw from each of many PRNG keys. With n = 1 the draw is that of
    `noisy_keys`.

    Args:
        key: a PRNG key, not to be used again.
        means: the keys' means, one row each.
        n: how many draws.
        variance: the isotropic part, in squared units of the keys; one for all, or one per key.
        stretch: variance along each key's own mean, in units of the mean's squared length.
        normal: where the standard normals come from.

    Raises:
        ValueError: if `noisy_keys` refuses the arguments, or `n` is not a positive whole number.

    Example:
        Four draws of three keys of width 2. A single draw is that of `noisy_keys`.

        >>> means = jnp.eye(3, 2)
        >>> many_noisy_keys(jax.random.key(0), means, 4, variance=0.01, stretch=jnp.zeros(3)).shape
        (4, 3, 2)
        >>> one = many_noisy_keys(jax.random.key(0), means, 1, variance=0.01, stretch=jnp.zeros(3))
        >>> bool(jnp.all(one[0] == noisy_keys(jax.random.key(0), means, variance=0.01, stretch=jnp.zeros(3))))
        True
    """
    _check(means, variance, stretch)
    refuse.not_a_size(replicates=n)
    means = jnp.asarray(means)
    s, d = means.shape
    # All normals of a draw come from one call. Two calls would take one and a half times as long, to compile and to
    # run.
    normals = normal(key, (n, s, d + 1), means.dtype)
    deviation = jnp.broadcast_to(deviation_of(variance, means.dtype, "variance"), (s,))
    length = 1 + deviation_of(stretch, means.dtype, "stretch")[None] * normals[:, :, d]
    _refuse_overflow(means, variance, stretch)
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
        key: a PRNG key, not to be used again.
        means: the keys' means, one row each.
        factors: one factor F_i per key, from `noise_factors` or any Cholesky factor; m normals are spent per key.
        normal: where the standard normals come from.

    Raises:
        ValueError: if the shapes disagree, the means are not of a floating type or the factors not real, or a
            number is not finite.

    Example:
        Each key has one factor, e1: it varies along the first coordinate only.

        >>> means = jnp.eye(3, 2)
        >>> factors = jnp.tile(jnp.array([[1.0], [0.0]]), (3, 1, 1))
        >>> print(gaussian_keys(jax.random.key(0), means, factors)[:, 1])
        [0. 1. 0.]
    """
    check_factors(means, factors)
    means = jnp.asarray(means)
    noise = normal(key, (factors.shape[0], factors.shape[2]), means.dtype)
    return means + jnp.einsum("sdm,sm->sd", factors, noise)


def noise_factors(
    means: Float[Array, "s d"], *, variance: Scalar | Float[Array, " s"], stretch: Float[Array, " s"]
) -> Float[Array, "s d m"]:
    """The factors [sqrt(variance) I, sqrt(stretch) mu_i] of the covariances of `noisy_keys`; m = d + 1.

    Args:
        means: the keys' means, one row each.
        variance: the isotropic part, in squared units of the keys; one for all, or one per key.
        stretch: variance along each key's own mean, in units of the mean's squared length.

    Raises:
        ValueError: if `noisy_keys` refuses the arguments.

    Example:
        The first two columns are the square root of the variance times I, the last is the mean times the square
        root of the stretch.

        >>> factors = noise_factors(jnp.eye(3, 2), variance=4.0, stretch=jnp.full(3, 9.0))
        >>> print(factors[0])
        [[2. 0. 3.]
         [0. 2. 0.]]

        The covariance of the first key is 4 I + 9 e1 e1^T.

        >>> print(factors[0] @ factors[0].T)
        [[13.  0.]
         [ 0.  4.]]
    """
    _check(means, variance, stretch)
    means = jnp.asarray(means)
    n, d = means.shape
    deviation = jnp.broadcast_to(deviation_of(variance, means.dtype, "variance"), (n,))
    isotropic = deviation[:, None, None] * jnp.eye(d, dtype=means.dtype)[None]
    along = deviation_of(stretch, means.dtype, "stretch")[:, None] * means
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
            # Inside a jit, jax would make a tracer even of this, so numpy is used. The minimum of a NaN is NaN,
            # which is refused.
            refuse.negative(**{name: float(np.min(np.asarray(numbers), initial=0.0))})
    refuse.non_finite(variance=variance, stretch=stretch)


def deviation_of(variance: Scalar | Array, dtype: np.dtype, name: str) -> Array:
    """The square root in this type, even if the type does not hold the variance. A traced infinity gives NaN.

    Args:
        variance: one, or one per key; not negative.
        dtype: the type of the result.
        name: the name of the variance in an error message.

    Raises:
        ValueError: if the type does not hold the root either.

    Example:
        The square root of a variance of 9.

        >>> float(deviation_of(9.0, jnp.dtype("float32"), "variance"))
        3.0

        A variance of 1e-42 is too small for float32. Its square root is not.

        >>> f"{float(deviation_of(1e-42, jnp.dtype('float32'), 'variance')):.1e}"
        '1.0e-21'
    """
    info = jnp.finfo(dtype)
    if not refuse.is_concrete(variance):
        given = jnp.asarray(variance, dtype)
        return jnp.sqrt(jnp.where(given < jnp.inf, given, jnp.nan))
    host = np.asarray(variance, np.float64)
    positive = host[host > 0]
    if not positive.size or (positive.min() >= info.tiny and positive.max() <= info.max):
        return jnp.sqrt(jnp.asarray(variance, dtype))
    roots = np.sqrt(host)
    for end in (positive.min(), positive.max()):
        if not float(info.tiny) <= np.sqrt(end) <= float(info.max):
            raise ValueError(
                f"{name} {end:g} has the square root {np.sqrt(end):.3g}, which {dtype} does not hold: choose other "
                "units for the keys, or float64 (jax.config.update('jax_enable_x64', True))"
            )
    return jnp.asarray(roots, dtype)


def _refuse_overflow(means: Array, variance: Scalar | Array, stretch: Array) -> None:
    """Refuse keys that would overflow their type, if all values can be read.

    Raises:
        ValueError: if a key `REACH` deviations from its mean is infinite.
    """
    if not all(refuse.is_concrete(given) for given in (means, variance, stretch)):
        return
    host, a, s = (np.asarray(given, np.float64) for given in (means, variance, stretch))
    with np.errstate(over="ignore"):
        lengths = np.max(np.abs(host), axis=1, initial=0.0) * (1 + REACH * np.sqrt(s))
        furthest = float(np.max(lengths + REACH * np.sqrt(a), initial=0.0))
    if not furthest <= float(jnp.finfo(means.dtype).max):
        raise ValueError(
            f"keys around these means would reach {furthest:.3g}, which {means.dtype} does not hold: choose other "
            "units"
        )


def check_factors(means: Array, factors: Array) -> None:
    """Refuse means and factors that do not fit together, are not finite, or are of a wrong type.

    Args:
        means: the keys' means, one row each.
        factors: one factor per key.

    Raises:
        ValueError: naming the axis on which they disagree, the type or the number.

    Example:
        Three means of width 2 and three factors of height 2 fit together.

        >>> check_factors(jnp.eye(3, 2), jnp.zeros((3, 2, 1)))
        >>> check_factors(jnp.eye(3, 2), jnp.zeros((2, 2, 1)))
        Traceback (most recent call last):
            ...
        ValueError: keys must agree: means has 3, factors has 2
    """
    refuse.wrong_rank(2, means=means)
    refuse.not_floating(means=means)
    refuse.wrong_rank(3, factors=factors)
    refuse.not_real(factors=factors)
    refuse.different_axes("keys", means=means.shape[0], factors=factors.shape[0])
    refuse.different_axes("key width", means=means.shape[1], factors=factors.shape[1])
    refuse.non_finite(means=means, factors=factors)
