"""Bugs beside a sink, and in attention that has no sum to divide by."""

import dataclasses

import jax.numpy as jnp

from attnlab_theory.attention import attention, attention_weights, differential_weights
from attnlab_theory.attention.softmax import masked_scores
from attnlab_theory.identities import rows, sinks
from attnlab_theory.identities.operators import DIFFERENTIAL, LAMBDA, SIGMOID, STICK
from attnlab_theory.museum import exhibit
from attnlab_theory.museum.bug import Bug
from attnlab_theory.museum.bugs.weights import rounds_its_keys
from attnlab_theory.museum.planting import planted_in_weights


def one_is_not_shifted(q, k, v, mask=None, *, scale, sink=0.0):
    scores = masked_scores(q, k, mask, scale)
    powers = jnp.exp(scores - jnp.max(scores, axis=1, keepdims=True))
    return (powers / (jnp.exp(sink) + powers.sum(axis=1, keepdims=True))) @ v


def keys_of_eight_bits(weights):
    def wrong(q, k, mask=None, *, scale):
        return rounds_its_keys(lambda q, k, v, mask, *, scale: weights(q, k, mask, scale=scale))(
            q, k, None, mask, scale=scale
        )

    return wrong


def lambda_is_never_used(q1, q2, k, mask=None, *, lam, scale):
    return attention_weights(q1, k, mask, scale=scale) - attention_weights(q2, k, mask, scale=scale)


def _difference_of_all(q, k, mask=None, *, scale):
    return lambda_is_never_used(q, -q, k, mask, lam=LAMBDA, scale=scale)


UNUSED = Bug(
    name="lambda-is-never-used",
    story="The forward pass of a differential attention takes a lambda and subtracts the whole second map. Every "
    "row sums to nothing, so the head cannot copy.",
    where="https://github.com/kyegomez/DifferentialTransformer/issues/5",
    code=(lambda_is_never_used,),
    checks=(rows.difference_sums(dataclasses.replace(DIFFERENTIAL, weights=_difference_of_all)),),
    exhibit=lambda: exhibit.weights(
        lambda q, k, v, mask, *, scale: differential_weights(q, -q, k, mask, lam=LAMBDA, scale=scale),
        lambda q, k, v, mask, *, scale: _difference_of_all(q, k, mask, scale=scale),
    ),
)

UNSHIFTED = Bug(
    name="one-is-not-shifted",
    story="Softmax-plus-one subtracts the largest score from all others, and not from the score 0 of its one. So "
    "the sink never takes more than half, and a head cannot be silent.",
    where="https://github.com/kyegomez/AttentionIsOFFByOne/issues/5",
    code=(one_is_not_shifted,),
    checks=(sinks.sink_as_a_key(one_is_not_shifted), sinks.merging_as_a_gate(one_is_not_shifted)),
    exhibit=lambda: exhibit.weights(
        lambda q, k, v, mask, *, scale: attention(q, k, v, mask, scale=scale, sink=0.0), one_is_not_shifted
    ),
)

EIGHT_BITS = Bug(
    name="eight-bits-without-a-softmax",
    story="Keys are rounded to bfloat16 on their way to sigmoids, as hardware does by default. No normaliser takes "
    "a common error away again.",
    where="https://github.com/jax-ml/jax/issues/10413",
    code=(keys_of_eight_bits,),
    checks=(
        sinks.sigmoid_as_sinks(planted_in_weights(keys_of_eight_bits, SIGMOID)),
        sinks.stick_left(planted_in_weights(keys_of_eight_bits, STICK)),
    ),
    exhibit=lambda: exhibit.weights(attention, rounds_its_keys(attention)),
)

BUGS = (UNSHIFTED, EIGHT_BITS, UNUSED)
