"""What the claims about noisy keys share: the problem, the queries and the error."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import averaged_heads
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.hypotheses import at_least, more_than
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.sampling import noisy_keys, orthonormal
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Bound, bounded, known_variance
from attnlab_theory.theory.noisy_keys.stretched_key import STRETCH

CHUNK = 512
"""Draws per chunk. Claims with other chunks would see other keys. Nine settings hold 5 MB of keys."""


class NoisyKeys(Setting):
    """A query of strength beta on n keys of width d around orthonormal means, with noise of this variance."""

    n: int
    d: int
    beta: Traced[float]
    variance: Traced[float]


class OneOrTwoHeads(Setting):
    """One head that asks for both keys, or two that ask for one each, on the same keys."""

    n: int
    d: int
    heads: Traced[int]
    beta: Traced[float]
    variance: Traced[float]


WITHOUT_NOISE = at_least(n=2) | {"n <= d": lambda s: s.n <= s.d} | more_than(beta=0)
HYPOTHESES = (
    WITHOUT_NOISE
    | at_least(variance=0)
    | {"scores spread by 300 at most": lambda s: s.beta * (2 * s.variance) ** 0.5 <= 300}
)
"""Scores that spread further than 300 give the largest of them all the weight: no quadrature is made for them."""
ONE_HEAD = HYPOTHESES | {"one head": lambda s: s.heads == 1}
TWO_HEADS = HYPOTHESES | {"two heads": lambda s: s.heads == 2}


def means_of(n: int, d: int) -> Float[Array, "s d"]:
    """The keys' means: one orthonormal frame in general position, the same in every draw.

    The noise's law does not change under rotations, so a random frame would cost one factorisation per draw and
    show nothing more.
    """
    # Computed now, even while a draw is traced. Otherwise every compiled draw would contain a factorisation.
    with jax.ensure_compile_time_eval():
        return orthonormal(key_for(0, "noisy-keys", "means"), n, d)


def keys_around(
    key: PRNGKeyArray, means: Float[Array, "s d"], variance: Scalar, stretched: Scalar = 1.0
) -> Float[Array, "s d"]:
    """Noisy keys. The first `stretched` of them have the homework's uncertain length."""
    position = jnp.arange(means.shape[0], dtype=means.dtype)
    stretch = jnp.where(position < jnp.asarray(stretched, means.dtype), STRETCH, 0.0).astype(means.dtype)
    return noisy_keys(key, means, variance=variance, stretch=stretch)


def ask_for_both(means: Float[Array, "s d"], beta: Scalar) -> Float[Array, "1 d"]:
    """One query, beta (mu_a + mu_b)."""
    return jnp.asarray(beta, means.dtype) * (means[:1] + means[1:2])


def ask_for_each(means: Float[Array, "s d"], beta: Scalar) -> Float[Array, "2 d"]:
    """Two queries, beta mu_a and beta mu_b."""
    return jnp.asarray(beta, means.dtype) * means[:2]


def output(queries: Float[Array, "h d"], keys: Float[Array, "s d"]) -> Float[Array, " s"]:
    """The mean of the heads' outputs for orthonormal values: its coordinates are the weights."""
    return averaged_heads(queries, keys, jnp.eye(keys.shape[0], dtype=keys.dtype), scale=1.0)


def output_of_heads(
    keys: Float[Array, "s d"], means: Float[Array, "s d"], heads: Scalar, beta: Scalar
) -> Float[Array, " s"]:
    """The mean output of one head or of two on these keys."""
    one, two = (output(ask(means, beta), keys) for ask in (ask_for_both, ask_for_each))
    return jnp.where(heads == 1, one, two)


def error_of_heads(key: PRNGKeyArray, setting: OneOrTwoHeads) -> Float[Array, ""]:
    """The squared error of one head or of two: the draw of all claims about this error."""
    means = means_of(setting.n, setting.d)
    keys = keys_around(key, means, setting.variance)
    return squared_error(output_of_heads(keys, means, setting.heads, setting.beta))


def squared_error(c: Float[Array, " s"]) -> Float[Array, ""]:
    """||c - (v_a + v_b)/2||^2."""
    half = jnp.where(jnp.arange(c.shape[0]) < 2, 0.5, 0.0).astype(c.dtype)
    return jnp.sum((c - half) ** 2)


ERROR_BOUND = bounded(0.0, 1.5001)
"""The bound of a squared error: a vertex of the simplex is at most 3/2 away; the rest is rounding."""

FINE = 4e-3
"""For a finer resolution the range of squared errors alone would need more draws than a quick run has."""


def error_bound(resolution: float, variance: float) -> Bound:
    """The bound of a squared error: its range, or, for a finer resolution, an upper bound on its variance."""
    return ERROR_BOUND if resolution >= FINE else known_variance(variance)
