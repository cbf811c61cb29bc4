"""Approximations as matrices: the same outputs as the operators of `attention`, whatever stands in the padding."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import attention, feature_attention, linear_attention, trigonometric_features
from attnlab_theory.attention.features import (
    log_generalized_exponential_features,
    log_hyperbolic_features,
    log_positive_features,
)
from attnlab_theory.attention.sketches import linformer_attention
from attnlab_theory.attention.sparse import bigbird_mask, sliding_window_attention
from attnlab_theory.language.models import approximations
from attnlab_theory.language.models.approximations import (
    BigBird,
    FeatureMap,
    Gauge,
    Linformer,
    RandomFeatures,
    Window,
    approximated,
)
from attnlab_theory.language.models.encoder import Encoder
from attnlab_theory.language.models.encoder_config import EncoderConfig
from attnlab_theory.sampling import Coupling, coupled_projection

T, D = 12, 4
KEY = jax.random.key(3)
ALL = [
    *(RandomFeatures(budget=64, kind=kind, coupling=coupling) for kind in FeatureMap for coupling in Coupling),
    Window(budget=5),
    BigBird(budget=6),
    Linformer(budget=4),
]


@pytest.fixture(scope="module")
def head():
    q, k, v = 0.7 * jax.random.normal(jax.random.key(0), (3, T, D))
    return q, k, v


def outputs(approximation, q, k, v, seen=None, a=-0.1):
    seen = jnp.ones((len(q), len(k)), bool) if seen is None else seen
    return approximation.weights(approximation.drawn(KEY, D), q, k, seen, a) @ v


@pytest.mark.slow("random features of long keys, and linear attention alone, stay inside")
@pytest.mark.parametrize("kind", FeatureMap)
@pytest.mark.parametrize("causal", [False, True])
def test_random_features_are_those_of_linear_attention(head, kind, causal):
    """Compiles the head, and linear attention beside it."""
    q, k, v = head
    seen = jnp.tril(jnp.ones((T, T), bool)) if causal else None
    found = outputs(RandomFeatures(budget=32, kind=kind), q, k, v, seen)
    m = 16 if kind in (FeatureMap.TRIGONOMETRIC, FeatureMap.HYPERBOLIC) else 32
    projection = coupled_projection(KEY, m, D, Coupling.INDEPENDENT)
    if kind is FeatureMap.TRIGONOMETRIC:
        phi_q, phi_k = (trigonometric_features(x, projection) for x in (q, k))
        wanted = linear_attention(phi_q, phi_k, v, causal=causal)
    else:
        logs = {
            FeatureMap.POSITIVE: log_positive_features,
            FeatureMap.HYPERBOLIC: log_hyperbolic_features,
            FeatureMap.GENERALIZED: lambda x, w: log_generalized_exponential_features(x, w, a=-0.1),
        }
        wanted = feature_attention(q, k, v, projection, logs[kind], scale=1.0, causal=causal)
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-4)


@pytest.mark.slow("one of four members stays inside", but=1)
@pytest.mark.parametrize("kind", FeatureMap)
def test_features_of_long_keys_are_not_lost(head, kind):
    """Their squares are about exp(-200), and times anything of that size float32 has nothing left."""
    q, k, _ = head
    features, long = RandomFeatures(budget=64, kind=kind), 20 * k / jnp.linalg.norm(k, axis=1, keepdims=True)
    weights = features.weights(features.drawn(KEY, D), q, long, jnp.ones((T, T), bool), -0.1)
    np.testing.assert_allclose(np.sum(weights, axis=1), 1, rtol=1e-4)


def test_a_window_is_a_sliding_window(head):
    q, k, v = head
    wanted = sliding_window_attention(q, k, v, scale=1.0, window=5)
    np.testing.assert_allclose(outputs(Window(budget=5), q, k, v), wanted, atol=1e-5)


def test_bigbird_is_bigbird_with_blocks_of_one_token(head):
    q, k, v = head
    seen = jnp.ones((T, T), bool)
    mask = bigbird_mask(KEY, T, block=1, window=3, global_blocks=1, random_blocks=2)
    assert jnp.array_equal(BigBird(budget=6).mask(KEY, seen), mask)
    np.testing.assert_allclose(outputs(BigBird(budget=6), q, k, v), attention(q, k, v, mask, scale=1.0), atol=1e-5)


def test_bigbird_spends_its_budget_on_keys_that_are_there():
    seen = jnp.ones((T, 1), bool) & (jnp.arange(T) < 8)[None]
    mask = np.asarray(BigBird(budget=6).mask(KEY, seen) & seen)
    # One that is alone has three neighbours, the first token and two more.
    assert mask[4].sum() == 6
    assert not mask[:, 8:].any()


def test_linformer_pools_neighbours(head):
    """Compiles the head for each of three budgets."""
    q, k, v = head
    e = jnp.asarray(np.kron(np.eye(4), np.full((1, 3), 1 / 3)), jnp.float32)
    np.testing.assert_allclose(
        outputs(Linformer(budget=4), q, k, v), linformer_attention(q, k, v, e, e, scale=1.0), atol=1e-5
    )
    # As many rows as keys, and more: nothing is lost.
    for budget in (T, T + 5):
        np.testing.assert_allclose(
            outputs(Linformer(budget=budget), q, k, v), attention(q, k, v, scale=1.0), atol=1e-5
        )


@pytest.mark.slow("large scores beside a hidden key stay inside")
@pytest.mark.parametrize("approximation", [each for each in ALL if not isinstance(each, BigBird)], ids=repr)
def test_what_stands_in_the_padding_changes_nothing(head, approximation):
    """Compiles the head for two lengths."""
    q, k, v = head
    seen = jnp.broadcast_to(jnp.arange(T) < 8, (T, T))
    long = outputs(approximation, q.at[8:].set(0.3), k.at[8:].set(0.2), v.at[8:].set(99.0), seen)
    other = outputs(approximation, q.at[8:].set(-2.0), k.at[8:].set(1.0), v.at[8:].set(-5.0), seen)
    short = outputs(approximation, q[:8], k[:8], v[:8])
    np.testing.assert_allclose(long[:8], other[:8], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(long[:8], short, rtol=1e-4, atol=1e-4)


@pytest.mark.slow("one of four members stays inside", but=1)
@pytest.mark.parametrize("kind", FeatureMap)
def test_with_many_features_and_short_vectors_nothing_is_lost(head, kind):
    q, k, v = head
    found = outputs(RandomFeatures(budget=20_000, kind=kind), q / 2, k / 2, v)
    np.testing.assert_allclose(found, attention(q / 2, k / 2, v, scale=1.0), atol=0.1)


def test_a_gauge_changes_no_exact_weight_and_no_mask(head):
    q, k, v = head
    gauge = Gauge(jnp.full(D, 0.4), jnp.asarray(1.7), jnp.asarray(-0.1))
    written = gauge.of(q, k)
    np.testing.assert_allclose(attention(*written, v, scale=1.0), attention(q, k, v, scale=1.0), atol=1e-5)
    np.testing.assert_allclose(
        outputs(Window(budget=5), *written, v), outputs(Window(budget=5), q, k, v), atol=1e-5
    )


@pytest.mark.slow("one head of many features, which loses nothing, stays inside")
def test_an_encoder_whose_heads_see_all_keys_is_the_encoder():
    """Compiles the encoder for each of three approximations."""
    config = EncoderConfig(vocabulary=9, block=16, layers=2, heads=2, width=8)
    model = Encoder(config, key=jax.random.key(0))
    model = jax.tree.map(lambda x: x + 0.3 * jax.random.normal(jax.random.key(x.size), x.shape), model)
    gauge = Gauge(jnp.full((2, 2, 4), 0.1), jnp.full((2, 2), 1.3), jnp.full((2, 2), -0.1))
    tokens = jax.random.randint(jax.random.key(1), (3, 8), 0, 9)
    mask = jnp.arange(8)[None] < jnp.array([8, 5, 2])[:, None]

    def hidden(approximation):
        return approximated(model, approximation, gauge, KEY, rows=3).hidden(tokens, mask)[mask]

    exact = model.hidden(tokens, mask)[mask]
    np.testing.assert_allclose(hidden(Window(budget=17)), exact, atol=1e-5)
    np.testing.assert_allclose(hidden(Linformer(budget=8)), exact, atol=1e-5)
    assert np.max(np.abs(hidden(Window(budget=1)) - exact)) > 0.1
    assert jax.tree.structure(eqx.filter(model, eqx.is_array)) == jax.tree.structure(
        eqx.filter(model, eqx.is_array)
    )


@pytest.mark.parametrize(
    ("make", "told"), [(lambda: Window(budget=0), "budget"), (lambda: BigBird(budget=3), "more than")]
)
def test_a_budget_for_nothing_is_refused(make, told):
    with pytest.raises(ValueError, match=told):
        make()


def test_large_scores_beside_a_hidden_key_do_not_overflow():
    k, seen = jnp.array([[200.0], [199.0], [300.0]]), jnp.array([[True, True, False]])
    weights = approximations._softmax(jnp.ones((1, 1)), k, seen)
    np.testing.assert_allclose(weights, [[1 / (1 + np.exp(-1)), 1 / (1 + np.e), 0]], rtol=1e-5)
