"""Operators broken in one place each: what the identities are for.

Bugs that happened to somebody stand in the museum, with their source, and are taken from there. What stands here
happened to nobody that we know of: near misses, which say how small an error an identity sees.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp

from attnlab_theory.attention import (
    attention,
    attention_scores,
    attention_weights,
    averaged_heads,
    differential_weights,
    grouped_query_attention,
    sigmoid_weights,
    stick_breaking_weights,
)
from attnlab_theory.attention.caching import decode_step, empty_cache
from attnlab_theory.identities import (
    agreement,
    causality,
    derivatives,
    rows,
    several_heads,
    shared_projection,
    sinks,
    symmetry,
    through_time,
)
from attnlab_theory.identities.operators import (
    DIFFERENTIAL,
    SIGMOID,
    SOFTMAX,
    STICK,
    Operator,
    full_pass,
    heads_pass,
    queries_keys_values,
)
from attnlab_theory.museum.bugs import caches, masks, sharing, split_heads, weights
from tests.identities.mutant_layers import LAYERS
from tests.identities.mutant_mixers import MIXERS
from tests.identities.mutant_positions import ROTATION


def operator(name, mix=attention, weights=attention_weights):
    return Operator(name=name, mix=mix, weights=weights)


def weights_of_columns(q, k, mask=None, *, scale):
    """Without the mask, which may hide every query from a key."""
    return weights.softmax_over_queries(attention_weights)(q, k, scale=scale)


def values_are_keys_turned_round(q, k, v, mask=None, *, scale):
    return attention(q, k, -v, mask, scale=scale)


def mask_is_ignored(q, k, v, mask=None, *, scale):
    return attention(q, k, v, scale=scale)


def mask_is_turned_round(q, k, v, mask=None, *, scale):
    return attention(q, k, v, None if mask is None else mask.T | jnp.eye(len(q), dtype=bool), scale=scale)


def zero_times_what_is_hidden(q, k, v, mask=None, *, scale):
    return attention_weights(q, k, mask, scale=scale) @ v


def nan_is_taken_for_zero(q, k, v, mask=None, *, scale):
    return attention(q, jnp.nan_to_num(k), jnp.nan_to_num(v), mask, scale=scale)


def bias_before_the_scale(q, k, v, mask=None, *, scale, bias):
    return attention(q, k, v, mask, scale=scale, bias=bias * jnp.asarray(scale, bias.dtype))


def sink_times_the_scale(q, k, v, mask=None, *, scale, sink):
    return attention(q, k, v, mask, scale=scale, sink=sink * scale)


def sigmoid_without_its_shift(q, k, mask=None, *, scale):
    return sigmoid_weights(q, k, mask, scale=scale, shift=0.0)


def stick_that_breaks_at_itself(q, k, mask=None, *, scale):
    return stick_breaking_weights(q, k, scale=scale) + jnp.eye(len(q), dtype=q.dtype) / 100


def second_map_of_another_weight(q, k, mask=None, *, scale):
    return differential_weights(q, -q, k, mask, lam=0.51, scale=scale)


SINKS = (
    rows.difference_sums(dataclasses.replace(DIFFERENTIAL, weights=second_map_of_another_weight)),
    sinks.sink_as_a_key(sink_times_the_scale),
    sinks.merging_as_a_gate(sink_times_the_scale),
    sinks.sigmoid_as_sinks(dataclasses.replace(SIGMOID, weights=sigmoid_without_its_shift)),
    sinks.stick_left(dataclasses.replace(STICK, weights=stick_that_breaks_at_itself)),
)

ROWS = (
    rows.probabilities(operator("softmax over queries", weights=weights_of_columns)),
    rows.in_hull(operator("sign of the values", values_are_keys_turned_round)),
    rows.in_hull(operator("mask ignored", mask_is_ignored)),
    rows.hidden_is_absent(operator("mask ignored", mask_is_ignored)),
    rows.hidden_is_absent(operator("mask transposed", mask_is_turned_round)),
    rows.hidden_is_harmless(operator("zero times what is hidden", zero_times_what_is_hidden)),
    rows.hidden_is_harmless(operator("NaN taken for zero", nan_is_taken_for_zero)),
    rows.bias_as_keys(bias_before_the_scale),
)


causal_pass = functools.partial(full_pass, scheme="none", causal=True)

CAUSALITY = (
    causality.causal("mask off by one", functools.partial(masks.sees_one_ahead, scheme="none")),
    causality.causal("mask by a finite number", masks.hides_the_future_with_a_number),
    causality.causal("normalised over positions", masks.centred_over_time(causal_pass)),
)


def keys_are_normalised(q, k, v, mask=None, *, scale):
    return attention(q, k / (1 + jnp.linalg.norm(k, axis=1, keepdims=True)), v, mask, scale=scale)


def first_key_is_a_sink(q, k, v, mask=None, *, scale):
    return attention(q, k, v.at[0].set(0), mask, scale=scale)


def scores_know_the_column(q, k, v, mask=None, *, scale):
    return attention(q, k * (1 + jnp.arange(k.shape[0], dtype=k.dtype)[:, None] / 100), v, mask, scale=scale)


def outputs_know_the_row(case):
    outputs = full_pass(case, "none", causal=False)
    return outputs * (1 + jnp.arange(outputs.shape[0], dtype=outputs.dtype)[:, None] / 100)


SYMMETRY = (
    symmetry.shifted_keys(operator("keys normalised", keys_are_normalised)),
    symmetry.permuted_memory(operator("one key is special", first_key_is_a_sink)),
    symmetry.permuted_memory(operator("columns numbered", scores_know_the_column)),
    symmetry.permuted_tokens("rows numbered", outputs_know_the_row),
)


def weights_of_a_sigmoid(q, k, mask=None, *, scale):
    return jax.nn.sigmoid(attention_scores(q, k, mask, scale=scale))


def scale_comes_twice(q, k, mask=None, *, scale):
    return scale * attention_scores(q, k, mask, scale=scale)


def keys_without_gradient(q, k, v, mask=None, *, scale):
    return attention(q, jax.lax.stop_gradient(k), v, mask, scale=scale)


@jax.custom_jvp
def negligent_exp(x):
    return jnp.exp(x)


@negligent_exp.defjvp
def _(primals, tangents):
    return jnp.exp(primals[0]), 0.999 * jnp.exp(primals[0]) * tangents[0]


def gradient_is_off_by_a_thousandth(q, k, v, mask=None, *, scale):
    weights = negligent_exp(scale * q @ k.T)
    return weights / weights.sum(axis=1, keepdims=True) @ v


def half_the_heads_have_no_gradient(q, k, v, mask=None, *, scale):
    halves = [attention(q[:, i : i + 2], k[:, i : i + 2], v, mask, scale=scale) for i in (0, 2)]
    return jnp.concatenate([halves[0], jax.lax.stop_gradient(halves[1])], axis=1)


DERIVATIVES = (
    derivatives.softmax_jacobian(operator("a sigmoid", weights=weights_of_a_sigmoid)),
    derivatives.log_partition_slope(
        operator("scale missing", weights=weights.scale_is_forgotten(attention_weights))
    ),
    derivatives.log_partition_slope(operator("scale twice"), scale_comes_twice),
    derivatives.entropy_slope(operator("scale missing", weights=weights.scale_is_forgotten(attention_weights))),
    derivatives.hidden_score_slope(operator("masked before the softmax")),
    derivatives.gradients(operator("no gradient by keys", keys_without_gradient)),
    derivatives.gradients(operator("half the heads", half_the_heads_have_no_gradient)),
    derivatives.gradients(
        Operator(name="gradient off by a thousandth", mix=gradient_is_off_by_a_thousandth, masked=False)
    ),
)


def decoded_with_the_value_before(case, scheme):
    n, width = case.x.shape

    def step(cache, position):
        q, k, _ = queries_keys_values(case, scheme, position[None])
        v = queries_keys_values(case, scheme, jnp.maximum(position[None] - 1, 0))[2]
        output, cache = decode_step(cache, q[0], k[0], v[0], scale=case.scale)
        return cache, output

    return jax.lax.scan(step, empty_cache(n, width, width, dtype=case.x.dtype), jnp.arange(n))[1]


def mask_that_looks_one_ahead(queries, keys):
    return jnp.tril(jnp.ones((queries, keys), bool), keys - queries + 1)


def vectorised_over_the_first_queries(f):
    return lambda q, k, v: jax.vmap(f)(jnp.stack([q[0]] * len(q)), k, v)


def compiled_in_half_precision(f):
    def rounded(case):
        return f(dataclasses.replace(case, k=case.k.astype(jnp.float16).astype(case.k.dtype)))

    return jax.jit(rounded)


AGREEMENT = (
    agreement.blocked(Operator(name="rescaling forgotten", mix=caches.forgets_to_rescale, masked=False), attention),
    *(agreement.decoding(scheme, caches.counts_one_too_far) for scheme in ("learned", "sinusoidal", "rotary")),
    agreement.decoding("none", decoded_with_the_value_before),
    agreement.cached(caches.loses_its_newest_key),
    agreement.chunked(mask_that_looks_one_ahead),
    agreement.vectorised(SOFTMAX, vectorised_over_the_first_queries),
    agreement.compiled(operator("in half precision"), compiled_in_half_precision),
)


def heads_are_numbered(case, *, heads, causal):
    outputs = heads_pass(case, heads=heads, causal=causal)
    return outputs * (1 + jnp.arange(outputs.shape[1], dtype=outputs.dtype)[None, :] / 100)


def queries_are_averaged(q, k, v, *, scale):
    return attention(q.mean(0, keepdims=True), k, v, scale=scale)[0]


def last_head_counts_twice(q, k, v, *, scale):
    return averaged_heads(jnp.concatenate([q, q[-1:]]), k, v, scale=scale)


def groups_in_another_order(q, k, v, mask=None, *, scale, order):
    other = {"consecutive": "strided", "strided": "consecutive"}[order]
    return grouped_query_attention(q, k, v, mask, scale=scale, order=other)


HEADS = (
    several_heads.grouped("consecutive", groups_in_another_order),
    several_heads.grouped("strided", groups_in_another_order),
    several_heads.side_by_side(2, split_heads.cuts_heads_with_a_reshape),
    several_heads.side_by_side(4, heads_are_numbered),
    several_heads.mean_of_heads(queries_are_averaged),
    several_heads.identical(split_heads.masks_all_heads_but_one),
    several_heads.identical_on_average(split_heads.heads_are_summed),
    several_heads.permuted(heads_are_numbered),
    several_heads.permuted(split_heads.cuts_heads_with_a_reshape),
    several_heads.permuted_on_average(last_head_counts_twice),
)


def distances(q, k, *, scale):
    return -scale * jnp.sum((q[:, None, :] - k[None, :, :]) ** 2, axis=2)


def half_shared(q, k, *, scale):
    """A key matrix that differs from the query matrix in one sign."""
    return attention_scores(q, k.at[:, 0].multiply(-1), scale=scale)


def undefined_in_one_place(q, k, *, scale):
    """NaN that no comparison meets first."""
    return attention_scores(q, k, scale=scale).at[0, 1].set(jnp.nan)


SHARED = (
    shared_projection.positive_semidefinite("one NaN", undefined_in_one_place),
    shared_projection.no_three_cycle("one NaN", undefined_in_one_place),
    shared_projection.possible_chain("one NaN", undefined_in_one_place),
    shared_projection.positive_semidefinite("one sign", half_shared),
    shared_projection.no_three_cycle("keys rolled", sharing.columns_in_another_order),
    shared_projection.possible_chain("distances", distances),
)


def one_percent_more(x, w_in, w, d_states):
    d_in, d_w = through_time.by_hand(x, w_in, w, d_states)
    return 1.01 * d_in, d_w


THROUGH_TIME = (through_time.gradients_through_time("one percent more", one_percent_more),)

MUTANTS = (
    *ROWS,
    *SINKS,
    *SYMMETRY,
    *DERIVATIVES,
    *THROUGH_TIME,
    *CAUSALITY,
    *AGREEMENT,
    *HEADS,
    *ROTATION,
    *SHARED,
    *MIXERS,
    *LAYERS,
)
