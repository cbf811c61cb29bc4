"""Every mixing layer computes what the operator of its name does, head by head."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import (
    additive_attention,
    alibi_attention,
    alibi_slopes,
    attention,
    causal_mask,
    dense_logits,
    feature_attention,
    merge_heads,
    random_logits,
    rotary,
    sinusoidal,
    split_heads,
    synthesizer_attention,
)
from attnlab_theory.language.models import mixing
from attnlab_theory.language.models.mixers import Additive, DenseSynthesizer, RandomSynthesizer, Softmax
from attnlab_theory.language.models.positions import Alibi, Learned, Rotary, Sinusoidal
from attnlab_theory.language.models.weighing import place
from tests.language.models import (
    BLOCK,
    FEATURES,
    PAIRS,
    TOKENS,
    compiled,
    config,
    gap,
    name_of,
    rounding,
    stirred,
)

X = jnp.asarray(np.random.default_rng(0).standard_normal((BLOCK, 8)), jnp.zeros(()).dtype)
T, H, D = BLOCK, 2, 4
MASK = causal_mask(T)
AT = jnp.arange(T)
SCALE = D**-0.5


def stacks(linear) -> list:
    """What the input projection gives, cut into stacks of heads [h t d]."""
    y = X @ linear.weight + linear.bias[None, :]
    return [split_heads(part, H) for part in jnp.split(y, y.shape[1] // 8, axis=1)]


def softmax(layer):
    q, k, v = stacks(layer.inputs)
    return [attention(q[i], k[i], v[i], MASK, scale=SCALE) for i in range(H)]


def shared(layer):
    q, v = stacks(layer.inputs)
    return [attention(q[i], q[i], v[i], MASK, scale=SCALE) for i in range(H)]


def turned(layer):
    q, k, v = stacks(layer.inputs)
    return [attention(rotary(q[i], AT), rotary(k[i], AT), v[i], MASK, scale=SCALE) for i in range(H)]


def alibi(layer):
    q, k, v = stacks(layer.inputs)
    slopes = [float(slope) for slope in alibi_slopes(H)]
    return [alibi_attention(q[i], k[i], v[i], MASK, scale=SCALE, slope=slopes[i]) for i in range(H)]


def additive(layer):
    (v,) = stacks(layer.inputs)
    ones = jnp.concatenate([X, jnp.ones_like(X[:, :1])], axis=1)  # carries the bias
    weights = jnp.concatenate([layer.hidden.weight, layer.hidden.bias[None, :]]).reshape(9, 2, H, -1)
    return [
        additive_attention(ones, ones, v[i], weights[:, 0, i], weights[:, 1, i], layer.w_out[i], MASK)
        for i in range(H)
    ]


def random(layer):
    (v,) = stacks(layer.inputs)
    return [synthesizer_attention(random_logits(layer.table[i], T), v[i], MASK) for i in range(H)]


def dense(layer):
    _, v = stacks(layer.inputs)
    w_1, b_1 = (jnp.split(x[..., :8], H, axis=-1) for x in (layer.inputs.weight, layer.inputs.bias))
    logits = [dense_logits(X, w_1[i], b_1[i], layer.w_2, layer.b_2) for i in range(H)]
    return [synthesizer_attention(logits[i], v[i], MASK) for i in range(H)]


def features(layer):
    q, k, v = stacks(layer.inputs)
    return [feature_attention(q[i], k[i], v[i], layer.projection, scale=SCALE, causal=True) for i in range(H)]


@pytest.mark.parametrize(
    ("mixer", "positions", "heads"),
    [
        (Softmax(), Learned(), softmax),
        (Softmax(shared=True), Learned(), shared),
        (Softmax(), Rotary(), turned),
        (Softmax(), Alibi(), alibi),
        (Additive(hidden=3), Learned(), additive),
        (RandomSynthesizer(), Learned(), random),
        (DenseSynthesizer(), Learned(), dense),
        (FEATURES, Learned(), features),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_layers_compute_what_their_operators_do(mixer, positions, heads):
    @compiled
    def both(model):
        layer = model.blocks[0].mixing
        ours = layer.whole(X[None], place(1, T, None, None), None)[0][0]
        return ours, merge_heads(jnp.stack(heads(layer))) @ layer.out.weight + layer.out.bias[None, :]

    model = stirred(config(mixer, positions))
    assert gap(*both(model)) <= rounding(lambda m: both(m)[0], model)


@pytest.mark.parametrize(("mixer", "positions"), PAIRS, ids=name_of)
@pytest.mark.parametrize("segments", [None, [1, 1, 1, 1, 1, 1, 2, 2]], ids=["alone", "packed"])
def test_long_rows_are_mixed_in_halves(monkeypatch, mixer, positions, segments):
    segments = None if segments is None else jnp.array([segments])

    def ahead(model):
        return model.rows(TOKENS[None], segments=segments)

    def both(model):
        out, pull = jax.vjp(ahead, model)
        return out, pull(jnp.cos(out))[0]

    model = stirred(config(mixer, positions))
    whole = compiled(both)(model)
    atol = rounding(compiled(both), model)
    assert f"[1,2,{T},{T}]" in str(jax.make_jaxpr(ahead)(model))
    monkeypatch.setattr(mixing, "HALVED", T)
    # Other functions, or what was traced before would come out again.
    assert f"[1,2,{T},{T}]" not in str(jax.make_jaxpr(lambda model: ahead(model))(model))
    assert gap(whole, compiled(lambda model: both(model))(model)) <= atol


def test_sinusoids_are_added_to_the_tokens():
    assert np.array_equal(Sinusoidal(base=100.0).added(None, AT[None], 8)[0], sinusoidal(AT, 8, base=100.0))


def test_learned_vectors_are_rows_of_their_table():
    table = jnp.asarray(np.random.default_rng(1).standard_normal((T, 3)), X.dtype)
    at = jnp.array([[0, 2], [7, 7]])
    assert np.array_equal(Learned().added(table, at, 3), table[at])
    beyond = compiled(lambda at: Learned().added(table, at, 3))(jnp.array([[8, -1]]))
    assert bool(jnp.isnan(beyond).all())


def test_first_positions_of_every_row_are_zero():
    assert not jax.tree.leaves([scheme.table(4, 2) for scheme in (Sinusoidal(), Rotary(), Alibi())])
    assert not jnp.any(Learned().table(4, 2))
