"""A memory of outer products: attention without a normaliser, whose state has one size at any length.

S = sum_i v_i k_i^T is read by a query, S q. A decay shrinks what is stored before each write. The delta rule first
takes off what the memory already answers to the key. Without decay, S_t = S_{t-1} (1 - beta k k^T) + beta v k^T.

With D_ts the product of the decays after s up to t, S_t = sum_{s <= t} D_ts u_s k_s^T. What is written is u_s =
beta_s v_s in a sum, and by the delta rule u_t = beta_t (v_t - sum_{s < t} D_ts (k_s . k_t) u_s): a triangular
system. So whole chunks of positions are products of matrices (Yang et al. 2024b).
"""

import enum
import functools
import typing

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from attnlab_theory import refuse
from attnlab_theory.attention.hidden import lost_from_the_first, made_nan
from attnlab_theory.axes import Scalar


class Rule(enum.StrEnum):
    """How a memory writes a value under a key.

    Example:
        A rule is its own word.

        >>> [rule.value for rule in Rule]
        ['sum', 'delta']
    """

    SUM = "sum"
    """The value is added."""
    DELTA = "delta"
    """The difference is added, between the value and what the memory answers to the key."""


Gate = Scalar | Float[Array, " s"]
"""One number for each position, or one for all."""


def fast_weights(
    k: Float[Array, "s d"], v: Float[Array, "s v"], *, rule: Rule, decay: Gate = 1.0, beta: Gate = 1.0
) -> Float[Array, "v d"]:
    """The state after all writes: S <- decay S (1 - beta k k^T) + beta v k^T by the delta rule, in their order.

    Args:
        k: keys. The delta rule keeps its state bounded if beta |k|^2 is at most 2.
        v: values.
        rule: a sum leaves out the factor 1 - beta k k^T.
        decay: what the state is multiplied by before a write, in [0, 1].
        beta: how strongly is written; not negative.

    Raises:
        ValueError: as `fast_weight_attention`.

    Example:
        The same key twice: a sum answers with both values, the delta rule with the later one.

        >>> k, v = jnp.array([[1.0, 0.0], [1.0, 0.0]]), jnp.array([[5.0], [7.0]])
        >>> print(fast_weights(k, v, rule=Rule.SUM), fast_weights(k, v, rule=Rule.DELTA))
        [[12.  0.]] [[7. 0.]]

    Source: Schlag et al. 2021.
    """
    decay, beta = _gates(k, v, rule, decay, beta)
    return _recurrent(jnp.zeros_like(k), k, v, decay, beta, rule)[0]


def fast_weight_attention(
    q: Float[Array, "t d"],
    k: Float[Array, "t d"],
    v: Float[Array, "t v"],
    *,
    rule: Rule,
    decay: Gate = 1.0,
    beta: Gate = 1.0,
    chunk: int | None = None,
) -> Float[Array, "t v"]:
    """What a memory answers: position t reads with q_t after the writes up to t. No output is normalised.

    Args:
        q: queries.
        k: keys.
        v: values.
        rule: how values are written.
        decay: what the state is multiplied by before a write, in [0, 1].
        beta: how strongly is written; not negative.
        chunk: positions for each step. None is the recurrence, one position after the other. All positions are
            the parallel form, which has no state.

    Raises:
        ValueError: if shapes disagree, an array is not finite, a decay is outside [0, 1], a beta is negative, or
            `chunk` is no size. Under `jit`, where values cannot be read, such a decay gives NaN.

    Example:
        A decay of 1/2, and a query that asks for the first key: its value 8 fades to 4 and 2.

        >>> x, v = jnp.eye(3), jnp.array([[8.0], [1.0], [1.0]])
        >>> q = jnp.tile(x[:1], (3, 1))
        >>> print(fast_weight_attention(q, x, v, rule=Rule.SUM, decay=0.5).T)
        [[8. 4. 2.]]
        >>> print(fast_weight_attention(q, x, v, rule=Rule.DELTA, decay=0.5, chunk=2).T)
        [[8. 4. 2.]]

    Source: Schlag et al. 2021; Yang et al. 2024, gated linear attention, for chunks.
    """
    refuse.wrong_rank(2, q=q)
    refuse.not_floating(q=q)
    refuse.different_axes("positions", q=q.shape[0], k=k.shape[0])
    refuse.different_axes("features", q=q.shape[1], k=k.shape[1])
    refuse.non_finite(q=q)
    decay, beta = _gates(k, v, rule, decay, beta)
    if chunk is None:
        return _recurrent(q, k, v, decay, beta, rule)[1]
    refuse.not_a_size(chunk=chunk)
    # In a product of matrices a later number that is not finite would reach earlier rows, as zero times NaN.
    lost = lost_from_the_first(k, v, decay[:, None], beta[:, None])
    k, v, decay, beta = (jnp.where(jnp.isfinite(x), x, 0) for x in (k, v, decay, beta))
    return made_nan(_chunked(q, k, v, decay, beta, rule, min(chunk, max(1, k.shape[0]))), lost)


def power_features(x: Float[Array, "s d"], power: int) -> Float[Array, "s m"]:
    """All products of `power` coordinates, d^power of them: their inner products are (x . y)^power.

    Args:
        x: rows of keys or queries.
        power: how many coordinates are multiplied, at least one.

    Raises:
        ValueError: if `power` is no size.

    Example:
        (1, 2) . (3, 1) = 5, and the features of power 2 give 25.

        >>> x, y = power_features(jnp.array([[1.0, 2.0]]), 2), power_features(jnp.array([[3.0, 1.0]]), 2)
        >>> print(x, x @ y.T)
        [[1. 2. 2. 4.]] [[25.]]

    Source: Kacham et al. 2024.
    """
    refuse.not_a_size(power=power)
    step = lambda made, _: (made[:, :, None] * x[:, None, :]).reshape(x.shape[0], -1)  # noqa: E731
    return functools.reduce(step, range(power - 1), x)


def _gates(k: Array, v: Array, rule: Rule, decay: Gate, beta: Gate) -> tuple[Array, Array]:
    refuse.wrong_rank(2, k=k, v=v)
    refuse.not_floating(k=k, v=v)
    refuse.different_axes("positions", k=k.shape[0], v=v.shape[0])
    refuse.non_finite(k=k, v=v, decay=decay, beta=beta)
    if not isinstance(rule, Rule):
        raise ValueError(f"rule is one of {', '.join(Rule)}, not {rule!r}")
    for name, gate in (("decay", decay), ("beta", beta)):
        if np.shape(gate) not in ((), (k.shape[0],)):
            raise ValueError(f"{name} is one number, or one for each of {k.shape[0]} keys, not {np.shape(gate)}")
    if refuse.is_concrete(decay) and not np.all((np.asarray(decay) >= 0) & (np.asarray(decay) <= 1)):
        raise ValueError(f"decay must lie in [0, 1], not {decay}: a state that grows has no bound")
    if refuse.is_concrete(beta) and not np.all(np.asarray(beta) >= 0):
        raise ValueError(f"beta must not be negative, not {beta}")
    decays, betas = (jnp.broadcast_to(jnp.asarray(gate, k.dtype), k.shape[:1]) for gate in (decay, beta))
    return jnp.where((decays >= 0) & (decays <= 1), decays, jnp.nan), betas


def _recurrent(
    q: Array, k: Array, v: Array, decay: Array, beta: Array, rule: Rule
) -> tuple[Float[Array, "v d"], Float[Array, "t v"]]:
    def step(state: Array, row: tuple[Array, ...]) -> tuple[Array, Array]:
        q, k, v, decay, beta = row
        state = decay * state
        match rule:
            case Rule.SUM:
                written = v
            case Rule.DELTA:
                written = v - state @ k
            case _:
                typing.assert_never(rule)
        state = state + beta * written[:, None] * k[None, :]
        return state, state @ q

    return lax.scan(step, jnp.zeros((v.shape[1], k.shape[1]), k.dtype), (q, k, v, decay, beta))


def _chunked(q: Array, k: Array, v: Array, decay: Array, beta: Array, rule: Rule, size: int) -> Array:
    t = k.shape[0]
    missing = -t % size
    # Positions that nobody reads: they write nothing, and the state keeps all of it.
    padded = [jnp.pad(x, ((0, missing), (0, 0))) for x in (q, k, v)]
    gates = [jnp.pad(decay, (0, missing), constant_values=1), jnp.pad(beta, (0, missing))]
    chunks = tuple(x.reshape(-1, size, *x.shape[1:]) for x in (*padded, *gates))
    start = jnp.zeros((v.shape[1], k.shape[1]), k.dtype)
    rows = lax.scan(functools.partial(_chunk, rule=rule), start, chunks)[1]
    return rows.reshape(-1, v.shape[1])[:t]


def _chunk(state: Array, chunk: tuple[Array, ...], *, rule: Rule) -> tuple[Array, Array]:
    q, k, v, decay, beta = chunk
    left = left_of(decay)
    since = jnp.cumprod(decay)
    written = beta[:, None] * v
    match rule:
        case Rule.SUM:
            pass
        case Rule.DELTA:
            known = since[:, None] * jnp.einsum("td,vd->tv", k, state)
            below = jnp.tril(beta[:, None] * jnp.einsum("td,sd->ts", k, k) * left, -1)
            written = jax.scipy.linalg.solve_triangular(
                jnp.eye(len(beta), dtype=k.dtype) + below, written - beta[:, None] * known, lower=True
            )
        case _:
            typing.assert_never(rule)
    rows = since[:, None] * jnp.einsum("td,vd->tv", q, state)
    rows = rows + jnp.einsum("ts,sv->tv", jnp.einsum("td,sd->ts", q, k) * left, written)
    return since[-1] * state + jnp.einsum("s,sv,sd->vd", left[-1], written, k), rows


def left_of(decay: Float[Array, " t"]) -> Float[Array, "t t"]:
    """What is left at position t of a write at s: the product of the decays after s up to t, and 0 above the
    diagonal.

    Each row is the one before times a decay, so that nothing is divided: quotients of products of many decays
    overflow (Yang et al. 2024, gated linear attention).

    Args:
        decay: one for each position.

    Example:
        The first decay has nothing to shrink.

        >>> print(left_of(jnp.array([0.5, 0.5, 0.1])))
        [[1.   0.   0.  ]
         [0.5  1.   0.  ]
         [0.05 0.1  1.  ]]
    """

    def row(above: Array, at: tuple[Array, Array]) -> tuple[Array, Array]:
        one, decay = at
        return (here := decay * above + one), here

    one = jnp.eye(decay.shape[0], dtype=decay.dtype)
    return lax.scan(row, jnp.zeros_like(decay), (one, decay))[1]
