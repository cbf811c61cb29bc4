"""Operators broken in one place each: what the identities are for."""

import jax.numpy as jnp

from attnlab_theory.attention import attention, attention_weights
from attnlab_theory.identities import rows
from attnlab_theory.identities.operators import Operator


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

MUTANTS = (*ROWS,)
