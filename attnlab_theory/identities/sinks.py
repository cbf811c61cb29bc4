"""What a sink is: one more key, a gate, and half of a sigmoid; and what is left of a stick."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array

from attnlab_theory.attention import attention, attention_scores
from attnlab_theory.identities import cases
from attnlab_theory.identities.cases import Attending
from attnlab_theory.identities.identity import Identity
from attnlab_theory.identities.operators import SHIFT, SIGMOID, SINK_SCORE, STICK, Operator, stick_rounding
from attnlab_theory.identities.rounding import attention_rounding, epsilon, gap, peak, score_bound, weight_rounding

SOURCE = "mathematics/identities.md#a-sink-is-a-key-and-a-gate"


def with_key(case: Attending) -> tuple[Array, Array, Array, Array]:
    """The sink as a key: a coordinate of its own, in which all queries are one."""
    q = jnp.concatenate([case.q, jnp.ones_like(case.q[:, :1])], axis=1)
    sink = jnp.zeros_like(q[:1]).at[0, -1].set(SINK_SCORE / jnp.asarray(case.scale, q.dtype))
    k = jnp.concatenate([jnp.pad(case.k, ((0, 0), (0, 1))), sink])
    v = jnp.concatenate([case.v, jnp.zeros_like(case.v[:1])])
    return q, k, v, jnp.concatenate([case.mask, jnp.ones_like(case.mask[:, :1])], axis=1)


def sink_as_a_key(mix: Callable[..., Array] = attention) -> Identity[Attending]:
    """A sink, and one more key of that score without a value."""
    here = jax.jit(lambda case: mix(case.q, case.k, case.v, case.mask, scale=case.scale, sink=SINK_SCORE))

    def told(case: Attending) -> Array:
        q, k, v, mask = with_key(case)
        return attention(q, k, v, mask, scale=case.scale)

    def tolerance(case: Attending) -> float:
        """The rounding of attention over one more key, either way."""
        q, k, v, _ = with_key(case)
        return 2 * attention_rounding(q, k, v, case.scale)

    there = jax.jit(told)
    return Identity(
        family="sink-is-a-key",
        subject="softmax",
        statement=r"A sink of score $s$ is a key of value 0 with a coordinate $s/\beta$ of its own, in which all "
        "queries are one.",
        source=SOURCE + "; Miller 2023",
        cases=cases.attending,
        residual=lambda case: gap(here(case), there(case)),
        tolerance=tolerance,
    )


def merging_as_a_gate(mix: Callable[..., Array] = attention) -> Identity[Attending]:
    """Attention beside a sink, and attention without it through a gate."""

    def gated(case: Attending) -> Array:
        scores = attention_scores(case.q, case.k, case.mask, scale=case.scale)
        gate = jax.nn.sigmoid(jax.nn.logsumexp(scores, axis=1, keepdims=True) - SINK_SCORE)
        return gate * attention(case.q, case.k, case.v, case.mask, scale=case.scale)

    here = jax.jit(lambda case: mix(case.q, case.k, case.v, case.mask, scale=case.scale, sink=SINK_SCORE))
    there = jax.jit(gated)

    def tolerance(case: Attending) -> float:
        """Attention either way. The normaliser's logarithm, of the scores' bound and ln n, moves the gate by no
        more than itself; three roundings of it, and those of the sum and the sigmoid."""
        q, k, v, _ = with_key(case)
        eps, n = epsilon(q), k.shape[0]
        gate = 4 * eps * (score_bound(q, k, case.scale) + n + 4)
        return 2 * attention_rounding(q, k, v, case.scale) + peak(v) * gate

    return Identity(
        family="merging-is-a-gate",
        subject="softmax",
        statement=r"A sink of score $s$ multiplies the output by $\sigma(\ln\sum_i e^{z_i} - s)$: the weight of "
        r"one part of a context when two are merged.",
        source=SOURCE + "; Milakov and Gimelshein 2018",
        cases=cases.attending,
        residual=lambda case: gap(here(case), there(case)),
        tolerance=tolerance,
    )


def sigmoid_as_sinks(operator: Operator) -> Identity[Attending]:
    """Sigmoid weights, and softmax of each key alone beside a sink."""
    weights = operator.weights
    assert weights is not None
    here = jax.jit(lambda case: weights(case.q, case.k, None, scale=case.scale))

    def alone(case: Attending) -> Array:
        ones = jnp.ones((1, 1), case.v.dtype)
        each = [attention(case.q, k[None], ones, scale=case.scale, sink=-SHIFT)[:, 0] for k in case.k]
        return jnp.stack(each, axis=1)

    def tolerance(case: Attending) -> float:
        """The rounding of a softmax over two keys, either way."""
        eps, width = epsilon(case.q), case.q.shape[1]
        score = eps * (width / 2 + 3) * (score_bound(case.q, case.k, case.scale) + abs(SHIFT))
        return 2 * (weight_rounding(score, 2, eps) + 4 * eps)

    there = jax.jit(alone)
    return Identity(
        family="sigmoid-is-a-sink-for-each-key",
        subject=operator.name,
        statement=r"A sigmoid weight $\sigma(z + b)$ is the softmax weight of its key alone beside a sink of score "
        r"$-b$.",
        source=SOURCE + "; Ramapuram et al. 2024",
        cases=cases.attending,
        residual=lambda case: gap(here(case), there(case)),
        tolerance=tolerance,
    )


def stick_left(operator: Operator) -> Identity[Attending]:
    """What a row of stick-breaking weights sums to."""
    weights = operator.weights
    assert weights is not None
    here = jax.jit(lambda case: jnp.sum(weights(case.q, case.k, None, scale=case.scale), axis=1))

    def left(case: Attending) -> Array:
        past = jnp.tri(case.q.shape[0], k=-1, dtype=bool)
        refused = jax.nn.sigmoid(-attention_scores(case.q, case.k, scale=case.scale))
        return 1 - jnp.prod(jnp.where(past, refused, 1), axis=1)

    there = jax.jit(left)

    def tolerance(case: Attending) -> float:
        """The rounding of weights whose values are one, either way, and of the difference."""
        return (2 * stick_rounding(case) + epsilon(case.v)) / (peak(case.v) or 1.0) + 2 * epsilon(case.v)

    return Identity(
        family="stick-is-used-up",
        subject=operator.name,
        statement=r"A row of stick-breaking weights sums to $1 - \prod_s(1 - \sigma(z_s))$: nothing of the stick "
        r"is lost or made.",
        source="mathematics/identities.md#a-broken-stick; Tan et al. 2024",
        cases=cases.attending,
        residual=lambda case: gap(here(case), there(case)),
        tolerance=tolerance,
    )


IDENTITIES = (sink_as_a_key(), merging_as_a_gate(), sigmoid_as_sinks(SIGMOID), stick_left(STICK))
