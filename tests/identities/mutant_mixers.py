"""Whole mixers broken in one place each."""

import dataclasses

import jax
import jax.numpy as jnp

from attnlab_theory.attention import (
    Rule,
    attention,
    causal_mask,
    fast_weight_attention,
    forget_gate_bias,
    latent_attention,
    linked_mask,
    positive_features,
)
from attnlab_theory.attention.mixers import HeadMixer
from attnlab_theory.identities import dense, mixers, zoo
from attnlab_theory.identities.subject import Subject


def subject(name, mix, causal=False):
    """Mixing with `mix(case)`."""

    def build(case):
        return HeadMixer(name=name, mix=lambda x, mask: mix(dataclasses.replace(case, x=x)), causal=causal)

    return Subject(name=name, build=build)


def of_softmax(case, mask=None):
    return attention(*zoo.projections(case).of(case.x), mask, scale=case.scale)


def window_that_wraps(case):
    nearest = (jnp.arange(4)[:, None] - jnp.arange(4)[None, :]) % 4
    return of_softmax(case, (nearest <= 1) | (nearest == 3))


def links_are_forgotten(case):
    return of_softmax(case, linked_mask(jnp.zeros((4, 0), jnp.int32), 4, **zoo.LAYOUT))


def global_rows_see_the_future(case):
    """BigBird whose first block attends to everything, causal or not."""
    mask = linked_mask(jnp.asarray(zoo.LINKS), 4, causal=True, **zoo.LAYOUT)
    return of_softmax(case, mask.at[0].set(True))


def eps_in_the_normaliser(case):
    q, k, v = zoo.softened(case).of(case.x)
    weights = positive_features(q, case.table / 4) @ positive_features(k, case.table / 4).T
    return weights @ v / (weights.sum(axis=1, keepdims=True) + 1e-3)


def residual_is_added(case):
    return case.x + of_softmax(case)


def first_output_is_the_last(case):
    return jnp.roll(of_softmax(case), 1, axis=0)


def positions_over_length(case):
    n = len(case.x)
    case = dataclasses.replace(case, x=case.x + jnp.arange(n, dtype=case.x.dtype)[:, None] / n)
    return of_softmax(case, causal_mask(n))


def gates_and_projections(case):
    q, k, v = zoo.projections(case).of(case.x)
    k = k / jnp.maximum(1, jnp.linalg.norm(k, axis=1, keepdims=True))
    decay, beta = jax.nn.sigmoid(case.x @ case.table[:2].T).T
    return q, k, v, decay, beta


def decays_after_the_write(case):
    q, k, v, decay, beta = gates_and_projections(case)
    late = jnp.concatenate([jnp.ones(1, decay.dtype), decay[:-1]])
    return fast_weight_attention(q, k, v, rule=Rule.SUM, decay=late, beta=beta)


def corrected_by_what_was_before_the_decay(case):
    q, k, v, decay, beta = gates_and_projections(case)
    state, rows = jnp.zeros((v.shape[1], k.shape[1]), v.dtype), []
    for t in range(len(q)):
        state = decay[t] * state + beta[t] * jnp.outer(v[t] - state @ k[t], k[t])
        rows.append(state @ q[t])
    return jnp.stack(rows)


def absorbed_into_the_key(case):
    """The matrix of the first head absorbed for both."""
    q, c, to_keys, to_values = zoo.latent_case(case, case.x)
    shared = jnp.broadcast_to(to_keys[:1], to_keys.shape)
    return jnp.concatenate(list(latent_attention(q, c, shared, to_values, scale=case.scale, absorbed=True)), axis=1)


def gate_of_the_key_itself(case):
    """A forget gate that lowers the score of its own token, too."""
    log_gates = jax.nn.log_sigmoid(case.x @ case.table[0])
    q, k, v = zoo.projections(case).of(case.x)
    bias = forget_gate_bias(log_gates) + log_gates[None, :]
    return attention(q, k, v, causal_mask(len(q)), scale=case.scale, bias=bias)


MIXERS = (
    dense.equals_definition(subject("one matrix for all heads", absorbed_into_the_key), dense.latent, False),
    dense.equals_definition(subject("decays after the write", decays_after_the_write), dense.fast_weights, True),
    dense.equals_definition(
        subject("corrected before the decay", corrected_by_what_was_before_the_decay), dense.delta_rule, True
    ),
    dense.equals_definition(subject("gate of the key itself", gate_of_the_key_itself), dense.forgetting, True),
    mixers.prefix_is_within(subject("positions over the length", positions_over_length)),
    mixers.rows_sum_to_one(subject("eps in the normaliser", eps_in_the_normaliser)),
    mixers.outputs_in_hull(subject("residual added", residual_is_added)),
    mixers.outputs_in_hull(subject("BigBird's first rows whole", global_rows_see_the_future, causal=True)),
    mixers.permuted_rows(subject("outputs rolled", first_output_is_the_last)),
    mixers.permuted_rows(subject("a window", window_that_wraps)),
    mixers.past_only(subject("BigBird's first rows see all", global_rows_see_the_future)),
    dense.equals_definition(subject("a window that wraps", window_that_wraps), dense.sliding, False),
    dense.equals_definition(subject("links forgotten", links_are_forgotten), dense.bigbird, False),
)
