"""Random features of the softmax kernel: phi(x) . phi(y) estimates exp(x . y), without bias.

Every map takes rows w of a projection, each of law N(0, I). No feature is clipped, shifted or kept away from zero,
so that the mean over projections is exp(x . y) exactly. What may be subtracted in a ratio of sums of features is in
`linear`. A row is a point, a feature is a column; m projections make m features, or 2m where a map uses each of
them twice. Maps of positive numbers have a twin that returns their logarithm, which never overflows.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab_theory import refuse
from attnlab_theory.axes import Scalar


def trigonometric_features(x: Float[Array, "t d"], projection: Float[Array, "m d"]) -> Float[Array, "t f"]:
    """exp(|x|^2/2) (cos w.x, sin w.x) / sqrt(m): f = 2m features of either sign.

    Their products may be negative, and so may a normaliser made of them.

    Args:
        x: points; scale queries and keys by sqrt(scale) beforehand.
        projection: rows of law N(0, I), independent or coupled.

    Raises:
        ValueError: if there is no projection, or x and projection differ in width. Or if an array is not finite,
            not of a floating type or has not two axes. Or if a feature overflows, which under `jit` makes it
            infinite or NaN.

    Example:
        Products of features estimate exp(x . y). One row of the projection gives cos(w . (x - y)) times the sizes.
        So the product of a point with itself is exact: exp(|x|^2) = e for e1 and e2, 1 for 0.

        >>> x = jnp.eye(3, 2)
        >>> phi = trigonometric_features(x, jnp.array([[1.0, 0.0]]))
        >>> phi.shape
        (3, 2)
        >>> print(np.asarray(phi @ phi.T).round(2))
        [[2.72 1.47 0.89]
         [1.47 2.72 1.65]
         [0.89 1.65 1.  ]]

    Source: Rahimi and Recht 2007, "Random features for large-scale kernel machines".
    """
    products = _products(x, projection)
    size = jnp.exp(_half_square(x)) / projection.shape[0] ** 0.5
    return _finite(size * jnp.concatenate([jnp.cos(products), jnp.sin(products)], axis=1), x)


def positive_features(x: Float[Array, "t d"], projection: Float[Array, "m d"]) -> Float[Array, "t m"]:
    """exp(w.x - |x|^2/2) / sqrt(m): m positive features.

    Args:
        x: points; scale queries and keys by sqrt(scale) beforehand.
        projection: rows of law N(0, I), independent or coupled.

    Raises:
        ValueError: if there is no projection, or x and projection differ in width. Or if an array is not finite,
            not of a floating type or has not two axes. Or if a feature overflows, which under `jit` makes it
            infinite or NaN.

    Example:
        A row w = 0 of the projection gives exp(-|x|^2/2) for every point; a row w = e1 multiplies the feature of
        the point e1 by e.

        >>> x = jnp.eye(3, 2)
        >>> w = jnp.array([[0.0, 0.0], [1.0, 0.0]])
        >>> print(np.asarray(2**0.5 * positive_features(x, w)).round(2))
        [[0.61 1.65]
         [0.61 0.61]
         [1.   1.  ]]

    Source: Choromanski et al. 2021, "Rethinking attention with performers", lemma 1.
    """
    return _finite(jnp.exp(log_positive_features(x, projection)), x)


def log_positive_features(x: Float[Array, "t d"], projection: Float[Array, "m d"]) -> Float[Array, "t m"]:
    """The logarithm of `positive_features`.

    Args:
        x: points; scale queries and keys by sqrt(scale) beforehand.
        projection: rows of law N(0, I), independent or coupled.

    Raises:
        ValueError: if there is no projection, or x and projection differ in width. Or if an array is not finite,
            not of a floating type or has not two axes. Or if a feature overflows, which under `jit` makes it
            infinite or NaN.

    Example:
        w . x - |x|^2/2 for the points e1, e2 and 0. One projection only, so that there is no sqrt(m) to divide by.

        >>> x = jnp.eye(3, 2)
        >>> print(log_positive_features(x, jnp.array([[1.0, 0.0]])))
        [[ 0.5]
         [-0.5]
         [ 0. ]]
    """
    return _finite(_products(x, projection) - _half_square(x) - _half_log(projection.shape[0]), x)


def hyperbolic_features(x: Float[Array, "t d"], projection: Float[Array, "m d"]) -> Float[Array, "t f"]:
    """exp(-|x|^2/2) (exp(w.x), exp(-w.x)) / sqrt(2m): f = 2m positive features.

    Args:
        x: points; scale queries and keys by sqrt(scale) beforehand.
        projection: rows of law N(0, I), independent or coupled.

    Raises:
        ValueError: if there is no projection, or x and projection differ in width. Or if an array is not finite,
            not of a floating type or has not two axes. Or if a feature overflows, which under `jit` makes it
            infinite or NaN.

    Example:
        Each projection is used twice, as w and as -w: the point e1 has the features e^(1/2) and e^(-3/2).

        >>> x = jnp.eye(3, 2)
        >>> print(np.asarray(2**0.5 * hyperbolic_features(x, jnp.array([[1.0, 0.0]]))).round(2))
        [[1.65 0.22]
         [0.61 0.61]
         [1.   1.  ]]

    Source: Choromanski et al. 2021, "Rethinking attention with performers", lemma 1.
    """
    return _finite(jnp.exp(log_hyperbolic_features(x, projection)), x)


def log_hyperbolic_features(x: Float[Array, "t d"], projection: Float[Array, "m d"]) -> Float[Array, "t f"]:
    """The logarithm of `hyperbolic_features`.

    Args:
        x: points; scale queries and keys by sqrt(scale) beforehand.
        projection: rows of law N(0, I), independent or coupled.

    Raises:
        ValueError: if there is no projection, or x and projection differ in width. Or if an array is not finite,
            not of a floating type or has not two axes. Or if a feature overflows, which under `jit` makes it
            infinite or NaN.

    Example:
        w . x - |x|^2/2, then -w . x - |x|^2/2. The factor of sqrt(2m) is added back here.

        >>> x = jnp.eye(3, 2)
        >>> print(np.asarray(log_hyperbolic_features(x, jnp.array([[1.0, 0.0]])) + np.log(2) / 2).round(2))
        [[ 0.5 -1.5]
         [-0.5 -0.5]
         [ 0.   0. ]]
    """
    products = _products(x, projection)
    both = jnp.concatenate([products, -products], axis=1)
    return _finite(both - _half_square(x) - _half_log(2 * projection.shape[0]), x)


def generalized_exponential_features(
    x: Float[Array, "t d"], projection: Float[Array, "m d"], *, a: Scalar
) -> Float[Array, "t m"]:
    """(1-4a)^(d/4) exp(a |w|^2 + sqrt(1-4a) w.x - |x|^2/2) / sqrt(m): m positive features.

    At a = 0 they are `positive_features`; with a < 0 they are bounded in w, and the best a is negative unless
    |x + y| = 0.

    Args:
        x: points; scale queries and keys by sqrt(scale) beforehand.
        projection: rows of law N(0, I), independent or coupled.
        a: real, less than 1/4. WARNING: from 1/8 on the products are unbiased and have infinite variance. Then
            more projections hardly help: the error falls more slowly than m^(-1/2), and at 0.24 not visibly.

    Raises:
        ValueError: if `trigonometric_features` refuses the arguments; also if `a` is not less than 1/4 (under
            `jit`: NaN).

    Example:
        At a = 0 they are the positive features. At a = -1/4 the factor (1-4a)^(d/4) is sqrt(2) in two dimensions,
        which is what a point 0 has at w = 0.

        >>> x = jnp.eye(3, 2)
        >>> w = jnp.array([[0.0, 0.0]])
        >>> print(np.asarray(generalized_exponential_features(x, w, a=0.0)).round(2)[:, 0])
        [0.61 0.61 1.  ]
        >>> print(np.asarray(generalized_exponential_features(x, w, a=-0.25)).round(2)[:, 0])
        [0.86 0.86 1.41]

    Source: Likhosherstov et al. 2022, "Chefs' random tables" (generalized exponential features).
    """
    return _finite(jnp.exp(log_generalized_exponential_features(x, projection, a=a)), x)


def log_generalized_exponential_features(
    x: Float[Array, "t d"], projection: Float[Array, "m d"], *, a: Scalar
) -> Float[Array, "t m"]:
    """The logarithm of `generalized_exponential_features`.

    Args:
        x: points; scale queries and keys by sqrt(scale) beforehand.
        projection: rows of law N(0, I), independent or coupled.
        a: real, less than 1/4; from 1/8 on the products have infinite variance.

    Raises:
        ValueError: if `generalized_exponential_features` refuses the arguments.

    Example:
        At w = 0 there remain (d/4) log(1-4a) - |x|^2/2: at a = -1/4 and d = 2 that is log(2)/2 - 1/2 for e1 and e2.

        >>> x = jnp.eye(3, 2)
        >>> print(np.asarray(log_generalized_exponential_features(x, jnp.zeros((1, 2)), a=-0.25)).round(2)[:, 0])
        [-0.15 -0.15  0.35]
    """
    _refuse_inputs(x, projection)
    refuse.not_one_real(a=a)
    return _log_quadratic(x, projection, jnp.broadcast_to(_below_a_quarter(a, x), (x.shape[1],)))


def dense_exponential_features(
    x: Float[Array, "t d"], projection: Float[Array, "m d"], *, a: Float[Array, " d"], basis: Float[Array, "d d"]
) -> Float[Array, "t m"]:
    """Generalized exponential features with one parameter per direction, m of them, positive.

    In the coordinates of `basis`, direction i has its own a_i: exp(sum_i a_i w_i^2 + sqrt(1-4a_i) w_i x_i
    - x_i^2/2) (1-4a_i)^(1/4). `theory.dense_exponential.best_parameters` finds the best parameters for given
    queries and keys.

    Args:
        x: points; scale queries and keys by sqrt(scale) beforehand.
        projection: rows of law N(0, I), independent or coupled.
        a: one real parameter per direction, each less than 1/4; from 1/8 on the products have infinite variance.
        basis: orthonormal directions, in columns.

    Raises:
        ValueError: if `generalized_exponential_features` refuses the arguments; also if `basis` is not square of
            the width of x or, where it can be read, not orthonormal.

    Example:
        With the same a in both directions, dense features are the generalized exponential features; here a = 0.

        >>> x = jnp.eye(3, 2)
        >>> w = jnp.array([[1.0, 0.0]])
        >>> print(np.asarray(dense_exponential_features(x, w, a=jnp.zeros(2), basis=jnp.eye(2))).round(2)[:, 0])
        [1.65 0.61 1.  ]
        >>> print(np.asarray(generalized_exponential_features(x, w, a=0.0)).round(2)[:, 0])
        [1.65 0.61 1.  ]

    Source: Likhosherstov et al. 2023, "FAVOR#" (its SDERF, the rotation-invariant part left out).
    """
    return _finite(jnp.exp(log_dense_exponential_features(x, projection, a=a, basis=basis)), x)


def log_dense_exponential_features(
    x: Float[Array, "t d"], projection: Float[Array, "m d"], *, a: Float[Array, " d"], basis: Float[Array, "d d"]
) -> Float[Array, "t m"]:
    """The logarithm of `dense_exponential_features`.

    Args:
        x: points; scale queries and keys by sqrt(scale) beforehand.
        projection: rows of law N(0, I), independent or coupled.
        a: one real parameter per direction, each less than 1/4; from 1/8 on the products have infinite variance.
        basis: orthonormal directions, in columns.

    Raises:
        ValueError: if `dense_exponential_features` refuses the arguments.

    Example:
        At w = 0 a direction with a_i = -1/4 adds log(2)/4, one with a_i = 0 nothing.

        >>> x = jnp.eye(3, 2)
        >>> a = jnp.array([-0.25, 0.0])
        >>> logs = log_dense_exponential_features(x, jnp.zeros((1, 2)), a=a, basis=jnp.eye(2))
        >>> print(np.asarray(logs).round(3)[:, 0])
        [-0.327 -0.327  0.173]
    """
    _refuse_inputs(x, projection)
    refuse.wrong_rank(1, a=a)
    refuse.wrong_rank(2, basis=basis)
    refuse.not_real(a=a, basis=basis)
    refuse.different_axes("width", x=x.shape[1], a=a.shape[0], basis=basis.shape[0])
    refuse.different_axes("directions", a=a.shape[0], basis=basis.shape[1])
    refuse.non_finite(basis=basis)
    _refuse_crooked(basis, x)
    return _log_quadratic(x @ basis.astype(x.dtype), projection, _below_a_quarter(a, x))


def _log_quadratic(x: Array, projection: Array, a: Array) -> Array:
    spread = 1 - 4 * a
    exponent = (projection**2 @ a)[None] + (x * jnp.sqrt(spread)[None]) @ projection.T
    height = jnp.sum(jnp.log(spread)) / 4 - _half_log(projection.shape[0])
    return _finite(exponent - _half_square(x) + height, x)


def _products(x: Array, projection: Array) -> Array:
    _refuse_inputs(x, projection)
    return x @ projection.T


def _half_square(x: Array) -> Array:
    return jnp.sum(x**2, axis=1, keepdims=True) / 2


def _half_log(count: int) -> float:
    return float(np.log(count)) / 2


def _below_a_quarter(a: Scalar | Array, x: Array) -> Array:
    """The parameter in the dtype of x, or NaN where a traced one turns out to be too large."""
    dtype = jax.dtypes.canonicalize_dtype(x.dtype)
    if refuse.is_concrete(a):
        host = np.asarray(a, np.float64)
        too_large = host[~(host.astype(dtype) < 0.25)]  # NaN included, and what is rounded up to 1/4
        if too_large.size:
            raise ValueError(
                f"a must be less than 1/4, not {too_large.flat[0]}, in {dtype}: beyond it generalized exponential "
                "features have no mean"
            )
        refuse.non_finite(a=a)
    a = jnp.asarray(a, dtype)
    return jnp.where((a < 0.25) & (a > -jnp.inf), a, jnp.nan)


def _refuse_crooked(basis: Array, x: Array) -> None:
    if not refuse.is_concrete(basis):
        return
    host = np.asarray(basis, np.float64)
    off = float(np.max(np.abs(host.T @ host - np.eye(len(host))), initial=0.0))
    kinds = [kind for kind in (x.dtype, basis.dtype) if jnp.issubdtype(kind, jnp.floating)]
    if off > 4 * len(host) * max(float(jnp.finfo(kind).eps) for kind in kinds):
        raise ValueError(
            f"basis must be orthonormal, or the features are biased, but its products are off by {off:.3g}: "
            "take the columns of numpy.linalg.qr(basis)[0]"
        )


def _refuse_inputs(x: Array, projection: Array) -> None:
    refuse.wrong_rank(2, x=x, projection=projection)
    refuse.not_floating(x=x, projection=projection)
    refuse.different_axes("width", x=x.shape[1], projection=projection.shape[1])
    if not projection.shape[0]:
        raise ValueError(
            f"random features need at least one projection, but projection has shape {projection.shape}"
        )
    refuse.non_finite(x=x, projection=projection)


def _finite(features: Array, x: Array) -> Array:
    """The features, unless they can be read and one of them is infinite or NaN."""
    if not refuse.is_concrete(features):
        return features
    finite = np.asarray(jnp.all(jnp.isfinite(features), axis=1))
    if not finite.all():
        row = int(np.argmin(finite))
        norm = float(np.linalg.norm(np.asarray(x[row], np.float64)))
        raise ValueError(
            f"row {row} has norm {norm:.6g}: its random features overflow {features.dtype}; scale x down, "
            "or use the log features where there are any"
        )
    return features
