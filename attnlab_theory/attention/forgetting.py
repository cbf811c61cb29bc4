"""Attention with a forget gate: every token lowers the scores of all tokens before it, by the logarithm of its
gate."""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from attnlab_theory import refuse
from attnlab_theory.attention.masks import causal_mask
from attnlab_theory.attention.softmax import attention
from attnlab_theory.axes import Scalar


def forget_gate_bias(log_gates: Float[Array, " t"]) -> Float[Array, "t s"]:
    """What is added to the score of key s by query t: the sum of the log gates after s up to t.

    Above the diagonal it is 0: a causal mask hides what lies there. Equal gates give ALiBi's bias.

    Args:
        log_gates: logarithms of the gates, none of them positive. The first has nothing to forget.

    Raises:
        ValueError: if a log gate is positive or not finite. Under `jit`, where values cannot be read, a positive
            one gives NaN.

    Example:
        The second token forgets half of what was before, the third a third.

        >>> bias = forget_gate_bias(jnp.log(jnp.array([1.0, 0.5, 2 / 3])))
        >>> print(np.asarray(jnp.tril(jnp.exp(bias))).round(2))
        [[1.   0.   0.  ]
         [0.5  1.   0.  ]
         [0.33 0.67 1.  ]]

    Source: Lin et al. 2025.
    """
    refuse.wrong_rank(1, log_gates=log_gates)
    refuse.not_floating(log_gates=log_gates)
    refuse.non_finite(log_gates=log_gates)
    if refuse.is_concrete(log_gates) and not np.all(np.asarray(log_gates) <= 0):
        raise ValueError(
            f"a log gate must not be positive, not {np.max(np.asarray(log_gates))}: give log f, f <= 1"
        )
    at = jnp.arange(log_gates.shape[0])

    def row(above: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        # Not a difference of two sums over the whole past, in which a gate near 0 drowns all later ones.
        t, log_gate = now
        return (here := jnp.where(at < t, above + log_gate, 0)), here

    return lax.scan(row, jnp.zeros_like(log_gates), (at, jnp.where(log_gates <= 0, log_gates, jnp.nan)))[1]


def forget_gate_attention(
    q: Float[Array, "t d"],
    k: Float[Array, "t d"],
    v: Float[Array, "t v"],
    log_gates: Float[Array, " t"],
    *,
    scale: Scalar,
) -> Float[Array, "t v"]:
    """Causal attention whose scores carry `forget_gate_bias`.

    Args:
        q: queries.
        k: keys.
        v: values.
        log_gates: logarithms of the gates, one for each position.
        scale: inverse temperature, dimensionless.

    Raises:
        ValueError: as `forget_gate_bias` and `attention`.

    Example:
        Queries of 0 and gates of 1/2: the value 6 of the first token has 1, 1/3 and 1/7 of the weight.

        >>> zeros, v = jnp.zeros((3, 1)), jnp.array([[6.0], [0.0], [0.0]])
        >>> gated = forget_gate_attention(zeros, zeros, v, jnp.log(jnp.full(3, 0.5)), scale=1.0)
        >>> print(np.asarray(gated).round(2).T)
        [[6.   2.   0.86]]

    Source: Lin et al. 2025.
    """
    refuse.different_axes("positions", q=q.shape[0], k=k.shape[0], log_gates=log_gates.shape[0])
    bias = forget_gate_bias(log_gates)
    return attention(q, k, v, causal_mask(q.shape[0]), scale=scale, bias=bias)
