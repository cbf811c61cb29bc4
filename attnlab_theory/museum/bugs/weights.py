"""Bugs in weights, scales, gradients and digits."""

import dataclasses

import jax
import jax.numpy as jnp

from attnlab_theory.attention import attention, attention_weights
from attnlab_theory.identities import agreement, dense, derivatives, layers, mixers, rows, symmetry
from attnlab_theory.identities.layers import LAYERS
from attnlab_theory.identities.operators import BLOCKED, OPERATORS, ROTARY, SOFTMAX, TILED, ZERO_AFTER_SOFTMAX
from attnlab_theory.identities.zoo import SUBJECTS
from attnlab_theory.museum import exhibit
from attnlab_theory.museum.bug import Bug
from attnlab_theory.museum.planting import planted, planted_in_mixer, planted_in_weights


def softmax_over_queries(weights):
    def wrong(q, k, mask=None, *, scale):
        return weights(k, q, None if mask is None else mask.T, scale=scale).T

    return wrong


def _mixed_by_columns(q, k, v, mask=None, *, scale):
    return softmax_over_queries(attention_weights)(q, k, mask, scale=scale) @ v


AXIS = Bug(
    name="softmax-over-queries",
    story="The softmax runs over the wrong axis: every key hands out one unit of weight, and a query may get none.",
    where="https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/146",
    code=(softmax_over_queries,),
    checks=(
        *(rows.probabilities(planted_in_weights(softmax_over_queries, op)) for op in (SOFTMAX, ROTARY)),
        rows.in_hull(dataclasses.replace(SOFTMAX, mix=_mixed_by_columns)),
        symmetry.permuted_memory(dataclasses.replace(SOFTMAX, mix=_mixed_by_columns)),
    ),
    exhibit=lambda: exhibit.weights(attention, _mixed_by_columns, masked=False),
)


def drops_out(mix):
    """A quarter of the weights, here those of key 0, and the others scaled up."""

    def wrong(q, k, v, mask=None, *, scale):
        return mix(q, k, v.at[0].set(0) / 0.75, mask, scale=scale)

    return wrong


def drops_out_weights(weights):
    def wrong(q, k, mask=None, *, scale):
        return weights(q, k, mask, scale=scale).at[:, 0].set(0) / 0.75

    return wrong


def drops_outputs(mix):
    def wrong(x, mask):
        return mix(x, mask).at[:, 0].set(0) / 0.75

    return wrong


DROPOUT = Bug(
    name="dropout-while-evaluating",
    story="A functional attention is not told that training is over and goes on dropping weights. What is left is "
    "scaled up, so that outputs leave the hull of the values.",
    where="https://github.com/pytorch/pytorch/issues/124464",
    code=(drops_out,),
    checks=(
        *(rows.probabilities(planted_in_weights(drops_out_weights, op)) for op in (SOFTMAX, ROTARY)),
        *(rows.in_hull(planted(drops_out, op)) for op in (SOFTMAX, ROTARY, BLOCKED)),
        *(symmetry.permuted_memory(planted(drops_out, op)) for op in (SOFTMAX, BLOCKED, ZERO_AFTER_SOFTMAX)),
        symmetry.shifted_keys(planted(drops_out, SOFTMAX)),
        *(mixers.rows_sum_to_one(planted_in_mixer(drops_outputs, s)) for s in SUBJECTS if s.sums_to_one),
        *(mixers.outputs_in_hull(planted_in_mixer(drops_outputs, s)) for s in SUBJECTS if s.in_hull),
        *(
            dense.equals_definition(planted_in_mixer(drops_outputs, s), definition, s.causal is True)
            for s in SUBJECTS
            for name, definition in dense.DEFINITIONS.items()
            if s.name in (name, f"{name}, causal")
        ),
        *(layers.computes_its_heads(each, planted_in_mixer(drops_outputs, each.subject)) for each in LAYERS),
    ),
    exhibit=lambda: exhibit.weights(attention, drops_out(attention)),
)


def scale_is_forgotten(weights):
    def wrong(q, k, mask=None, *, scale):
        return weights(q, k, mask, scale=1.0)

    return wrong


UNSCALED = Bug(
    name="scale-forgotten",
    story="Scores are not divided by the square root of the width. All is finite, every row sums to one, and the "
    "softmax is far too sharp.",
    where="https://github.com/delzac/cntkx/issues/10",
    code=(scale_is_forgotten,),
    checks=(
        derivatives.log_partition_slope(planted_in_weights(scale_is_forgotten, SOFTMAX)),
        derivatives.entropy_slope(planted_in_weights(scale_is_forgotten, SOFTMAX)),
        rows.probabilities(planted_in_weights(scale_is_forgotten, SOFTMAX)),
    ),
    exhibit=lambda: exhibit.weights(
        lambda q, k, v, mask, *, scale: attention(q, k, v, mask, scale=scale / 2),
        lambda q, k, v, mask, *, scale: scale_is_forgotten(attention_weights)(q, k, mask, scale=scale / 2) @ v,
    ),
)


def normaliser_without_gradient(q, k, mask=None, *, scale):
    powers = jnp.exp(scale * q @ k.T)
    return powers / jax.lax.stop_gradient(powers.sum(axis=1, keepdims=True))


def _mixed_without(q, k, v, mask=None, *, scale):
    return normaliser_without_gradient(q, k, scale=scale) @ v


NORMALISER = Bug(
    name="normaliser-without-gradient",
    story="The backward pass gets the term sum(o * do) wrong: here it is lost, as if the normaliser were a "
    "constant; in the pull request a race corrupted it. The forward pass is right to the last bit, and "
    "training only gets a little worse.",
    where="https://github.com/Dao-AILab/flash-attention/pull/2481",
    code=(normaliser_without_gradient,),
    checks=(
        derivatives.softmax_jacobian(dataclasses.replace(SOFTMAX, weights=normaliser_without_gradient)),
        derivatives.entropy_slope(dataclasses.replace(SOFTMAX, weights=normaliser_without_gradient)),
        derivatives.gradients(dataclasses.replace(SOFTMAX, mix=_mixed_without, masked=False)),
        rows.in_hull(dataclasses.replace(SOFTMAX, mix=_mixed_without, masked=False)),
    ),
    exhibit=lambda: _jacobians(),
)


def _jacobians() -> exhibit.Exhibit:
    z = exhibit.normal(8, 6)

    def jacobian(weights):
        return jax.jacfwd(lambda z: weights(z[None, :], jnp.eye(6), None, scale=1.0)[0])(z)

    return exhibit.Exhibit(
        title="Jacobian of the softmax of six scores",
        rows="weight",
        columns="score",
        right=jacobian(attention_weights),
        wrong=jacobian(normaliser_without_gradient),
    )


def keys_are_detached(mix):
    def wrong(q, k, v, mask=None, *, scale):
        return mix(q, jax.lax.stop_gradient(k), v, mask, scale=scale)

    return wrong


DETACHED = Bug(
    name="keys-without-gradient",
    story="Keys pass through a cache that no gradient passes through: queries and values learn, keys do not.",
    where="https://github.com/ggml-org/llama.cpp/pull/28520",
    code=(keys_are_detached,),
    checks=tuple(derivatives.gradients(planted(keys_are_detached, op)) for op in OPERATORS),
    exhibit=lambda: _key_gradients(),
)


def _key_gradients() -> exhibit.Exhibit:
    q, k, v = (exhibit.normal(seed, 6, 4) for seed in (1, 2, 3))

    def gradient(mix):
        return jax.grad(lambda k: jnp.sum(jnp.sin(mix(q, k, v, None, scale=1.0))))(k)

    return exhibit.Exhibit(
        title="Gradient of a loss by six keys",
        rows="key",
        columns="coordinate",
        right=gradient(attention),
        wrong=gradient(keys_are_detached(attention)),
    )


def rounds_its_keys(mix):
    def wrong(q, k, v, mask=None, *, scale):
        return mix(q, k.astype(jnp.bfloat16).astype(k.dtype), v, mask, scale=scale)

    return wrong


def compiled_with_fewer_digits(f):
    def rounded(case):
        return f(dataclasses.replace(case, k=case.k.astype(jnp.bfloat16).astype(case.k.dtype)))

    return jax.jit(rounded)


HALF = Bug(
    name="eight-bits-by-default",
    story="A product of float32 is silently computed in bfloat16, as on hardware where that is the default. "
    "Nothing crashes; results agree with those of another machine to two digits.",
    where="https://github.com/jax-ml/jax/issues/10413",
    code=(rounds_its_keys, compiled_with_fewer_digits),
    checks=(
        *(symmetry.shifted_keys(planted(rounds_its_keys, op)) for op in (SOFTMAX, BLOCKED, ZERO_AFTER_SOFTMAX)),
        agreement.blocked(planted(rounds_its_keys, BLOCKED), attention),
        *(agreement.compiled(op, compiled_with_fewer_digits) for op in OPERATORS if op is not TILED),
        rows.in_hull(planted(rounds_its_keys, SOFTMAX)),
    ),
    exhibit=lambda: exhibit.weights(attention, rounds_its_keys(attention)),
)

BUGS = (AXIS, DROPOUT, UNSCALED, NORMALISER, DETACHED, HALF)
