"""Operators broken in one place each: what the identities are for."""

import dataclasses

import jax
import jax.numpy as jnp

from attnlab_theory.attention import (
    attention,
    attention_scores,
    attention_weights,
    causal_mask,
    multi_head_attention,
    rotary,
    sinusoidal,
)
from attnlab_theory.attention.caching import decode_step, empty_cache
from attnlab_theory.identities import (
    agreement,
    causality,
    derivatives,
    rotation,
    rows,
    shared_projection,
    symmetry,
)
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


def weights_without_scale(q, k, mask=None, *, scale):
    return attention_weights(q, k, mask, scale=1.0)


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


DERIVATIVES = (
    derivatives.softmax_jacobian(operator("a sigmoid", weights=weights_of_a_sigmoid)),
    derivatives.log_partition_slope(operator("scale missing", weights=weights_without_scale)),
    derivatives.log_partition_slope(operator("scale twice"), scale_comes_twice),
    derivatives.entropy_slope(operator("scale missing", weights=weights_without_scale)),
    derivatives.hidden_score_slope(operator("masked before the softmax")),
    derivatives.gradients(operator("no gradient by keys", keys_without_gradient)),
    derivatives.gradients(
        Operator(name="gradient off by a thousandth", mix=gradient_is_off_by_a_thousandth, masked=False)
    ),
)


def decoded_with(query_late=0, value_late=0):
    """Decoding that counts one position too far for queries, or pairs a key with the value before it."""

    def decode(case, scheme):
        n, width = case.x.shape
        shifted = dataclasses.replace(case, x=jnp.roll(case.x, query_late, axis=0))
        cache, outputs = empty_cache(n, width, width, dtype=case.x.dtype), []
        for position in range(n):
            q = queries_keys_values(shifted, scheme, [(position + query_late) % n])[0]
            k = queries_keys_values(case, scheme, [position])[1]
            v = queries_keys_values(case, scheme, [max(position - value_late, 0)])[2]
            output, cache = decode_step(cache, q[0], k[0], v[0], scale=case.scale)
            outputs.append(output)
        return jnp.stack(outputs)

    return decode


def cached_but_blind_to_itself(q, k, v, *, scale):
    mask = jnp.tril(jnp.ones((4, 4), bool), -1).at[0, 0].set(True)
    return attention(q, k, v, mask, scale=scale)


def heads_share_the_first_queries(q, k, v, mask=None, *, scale):
    return multi_head_attention(jnp.stack([q[0]] * len(q)), k, v, mask, scale=scale)


def compiled_in_half_precision(f):
    def rounded(case):
        return f(dataclasses.replace(case, k=case.k.astype(jnp.float16).astype(case.k.dtype)))

    return jax.jit(rounded)


def forgets_to_rescale(q, k, v, mask=None, *, scale):
    """Two tiles of keys, each with a maximum of its own, added up as if they had one."""
    parts = []
    for tile in (slice(0, 2), slice(2, 4)):
        scores = scale * q @ k[tile].T
        weights = jnp.exp(scores - scores.max(axis=1, keepdims=True))
        parts.append((weights.sum(axis=1, keepdims=True), weights @ v[tile]))
    return (parts[0][1] + parts[1][1]) / (parts[0][0] + parts[1][0])


AGREEMENT = (
    agreement.blocked(Operator(name="rescaling forgotten", mix=forgets_to_rescale, masked=False), attention),
    *(agreement.decoding(scheme, decoded_with(query_late=1)) for scheme in ("learned", "sinusoidal", "rotary")),
    agreement.decoding("none", decoded_with(value_late=1)),
    agreement.cached(cached_but_blind_to_itself),
    agreement.vectorised(heads_share_the_first_queries),
    agreement.compiled(operator("in half precision"), compiled_in_half_precision),
)


def turned(x, positions, base, *, sign=1, exponent=-2):
    """Rotary, interleaved, with something to get wrong."""
    width = x.shape[1]
    frequencies = base ** (exponent * jnp.arange(width // 2, dtype=x.dtype) / width)
    angles = positions[:, None].astype(x.dtype) * frequencies[None, :]
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    even, odd = x[:, 0::2], x[:, 1::2]
    return jnp.stack((even * cos - sign * odd * sin, even * sin + odd * cos), axis=2).reshape(x.shape)


def sign_is_wrong(x, positions, *, base):
    return turned(x, positions, base, sign=-1)


def angles_are_halved(x, positions, *, base):
    return turned(x, positions, base, exponent=-1)


def turned_the_other_way(x, positions, *, base):
    return rotary(x, -positions, base=base)


def positions_are_squared(x, positions, *, base):
    return rotary(x, positions * positions % 100, base=base)


def sines_first(positions, width, *, base):
    """All sines, then all cosines: another order, and not what the block rotation expects."""
    waves = sinusoidal(positions, width, base=base)
    return jnp.concatenate((waves[:, 0::2], waves[:, 1::2]), axis=1)


def sines_only(positions, width, *, base):
    return sinusoidal(positions, width, base=base).at[:, 1::2].set(0)


ROTATION = (
    rotation.kept_lengths("sign of one sine", sign_is_wrong),
    rotation.relative("sign of one sine", sign_is_wrong),
    rotation.relative("positions squared", positions_are_squared),
    rotation.relative("key turned the other way", rotary, turned_the_other_way),
    rotation.matrix_form("frequencies of another power", angles_are_halved),
    rotation.matrix_form("turned the other way", turned_the_other_way),
    rotation.same_up_to_order("interleaved", rotary),
    rotation.moved_waves("sines first", sines_first),
    rotation.relative_waves("sines only", sines_only),
)


def distances(q, k, *, scale):
    return -scale * jnp.sum((q[:, None, :] - k[None, :, :]) ** 2, axis=2)


def half_shared(q, k, *, scale):
    """A key matrix that differs from the query matrix in one sign."""
    return attention_scores(q, k.at[:, 0].multiply(-1), scale=scale)


def rotated_keys(q, k, *, scale):
    return attention_scores(q, jnp.roll(k, 1, axis=1), scale=scale)


SHARED = (
    shared_projection.positive_semidefinite("one sign", half_shared),
    shared_projection.no_three_cycle("keys rolled", rotated_keys),
    shared_projection.possible_chain("distances", distances),
)

MUTANTS = (*ROWS, *SYMMETRY, *DERIVATIVES, *CAUSALITY, *AGREEMENT, *ROTATION, *SHARED)
