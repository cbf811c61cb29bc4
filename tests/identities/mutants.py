"""Operators broken in one place each: what the identities are for."""

import dataclasses

import jax
import jax.numpy as jnp

from attnlab_theory.attention import attention, attention_weights, causal_mask
from attnlab_theory.identities import causality, rows
from attnlab_theory.identities.operators import Operator, full_pass, queries_keys_values


def operator(name, mix=attention, weights=attention_weights):
    return Operator(name=name, mix=mix, weights=weights)


def weights_of_columns(q, k, mask=None, *, scale):
    return attention_weights(k, q, scale=scale).T


def values_are_keys_turned_round(q, k, v, mask=None, *, scale):
    return attention(q, k, -v, mask, scale=scale)


def mask_is_ignored(q, k, v, mask=None, *, scale):
    return attention(q, k, v, scale=scale)


def mask_is_turned_round(q, k, v, mask=None, *, scale):
    return attention(q, k, v, None if mask is None else mask.T | jnp.eye(len(q), dtype=bool), scale=scale)


ROWS = (
    rows.probabilities(operator("softmax over queries", weights=weights_of_columns)),
    rows.in_hull(operator("sign of the values", values_are_keys_turned_round)),
    rows.in_hull(operator("mask ignored", mask_is_ignored)),
    rows.hidden_is_absent(operator("mask ignored", mask_is_ignored)),
    rows.hidden_is_absent(operator("mask transposed", mask_is_turned_round)),
)


def sees_one_ahead(case):
    n = case.x.shape[0]
    q, k, v = queries_keys_values(case, "none", range(n))
    return attention(q, k, v, jnp.tril(jnp.ones((n, n), bool), 1), scale=case.scale)


def hides_with_a_finite_number(case):
    n = case.x.shape[0]
    q, k, v = queries_keys_values(case, "none", range(n))
    scores = jnp.where(causal_mask(n), case.scale * q @ k.T, case.scale * q @ k.T - 100.0)
    return jax.nn.softmax(scores, axis=1) @ v


def centres_over_all_positions(case):
    return full_pass(dataclasses.replace(case, x=case.x - case.x.mean(0, keepdims=True)), "none", causal=True)


CAUSALITY = (
    causality.causal("mask off by one", sees_one_ahead),
    causality.causal("mask by a finite number", hides_with_a_finite_number),
    causality.causal("normalised over positions", centres_over_all_positions),
)

MUTANTS = (*ROWS, *CAUSALITY)
