"""What all claims about random features share: the maps by name, and fewer projections in one program."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab_theory.attention import hyperbolic_features, positive_features, trigonometric_features
from attnlab_theory.axes import Scalar
from attnlab_theory.theory.features.estimator import Estimator

MAPS = {
    Estimator.TRIGONOMETRIC: trigonometric_features,
    Estimator.POSITIVE: positive_features,
    Estimator.HYPERBOLIC: hyperbolic_features,
}
"""The maps without a parameter."""


def of_first(phi_q: Float[Array, "t f"], projections: int, m: Scalar) -> Float[Array, "t f"]:
    """Features of queries, zero for all but the first m projections, and scaled as if only m had been drawn."""
    kept = jnp.tile(jnp.arange(projections, dtype=phi_q.dtype) < m, phi_q.shape[1] // projections)
    return jnp.where(kept[None], phi_q, 0) * (projections / jnp.asarray(m, phi_q.dtype))
