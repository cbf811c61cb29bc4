"""The adapter: every mixer is its operator, honours a mask or refuses it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import attention, causal_mask, mixers, positive_features
from attnlab_theory.attention.mixers import Projections, TwoLayers
from tests.tolerances import attention_atol

FLOAT = jnp.zeros(()).dtype
RNG = np.random.default_rng(0)
X, W_Q, W_K, W_V, TABLE = (jnp.asarray(RNG.uniform(-1, 1, (4, 4)), FLOAT) for _ in range(5))
W, SCALE = Projections(W_Q, W_K, W_V), 0.5
LINKS = jnp.asarray([[-1], [3], [-1], [1]], jnp.int32)
LAYOUT = {"block": 1, "window": 1, "global_blocks": 1}


def masked_of(w, table, *, causal):
    """Every mixer that honours a mask, from one head's projections and a table of whatever else it has learned."""
    layers = TwoLayers(w.w_q, table[0], w.w_k, table[1])
    return [
        mixers.softmax_mixer(w, scale=SCALE, causal=causal),
        mixers.rotary_mixer(w, scale=SCALE, causal=causal),
        mixers.alibi_mixer(w, scale=SCALE, slope=0.5, causal=causal),
        mixers.additive_mixer(w, table[0], causal=causal),
        mixers.random_synthesizer_mixer(w.w_v, table, causal=causal),
        mixers.factorised_synthesizer_mixer(w.w_v, table, table, causal=causal),
        mixers.dense_synthesizer_mixer(w.w_v, layers, causal=causal),
        mixers.zero_after_softmax_mixer(w, scale=SCALE, causal=causal),
    ]


def unmasked_of(w, table, *, causal):
    """Every mixer that cannot."""
    return [
        mixers.blocked_mixer(w, scale=SCALE, block=2, causal=causal),
        mixers.sliding_window_mixer(w, scale=SCALE, window=3, causal=causal),
        mixers.bigbird_mixer(w, LINKS, scale=SCALE, causal=causal, **LAYOUT),
        mixers.linformer_mixer(w, table[:2], table[2:], scale=SCALE, causal=causal),
        mixers.linear_mixer(w, lambda x: positive_features(x, table), scale=SCALE, causal=causal),
        mixers.feature_mixer(w, table, scale=SCALE, causal=causal),
    ]


def all_of(w, table, *, causal):
    return masked_of(w, table, causal=causal) + unmasked_of(w, table, causal=causal)


MASKED, UNMASKED = (
    list(zip(build(W, TABLE, causal=False), build(W, TABLE, causal=True), strict=True))
    for build in (masked_of, unmasked_of)
)
SEEN = jnp.asarray(RNG.uniform(size=(4, 4)) < 0.5) | jnp.eye(4, dtype=bool)


@pytest.mark.slow("four of eight members stay inside", but=4)
@pytest.mark.parametrize(("free", "causal"), MASKED, ids=lambda m: m.name)
def test_causal_is_the_causal_mask_and_masks_combine(free, causal):
    """Compiles each mixer, causal and not, with masks and without."""
    assert (free.causal, causal.causal, free.masked, causal.masked) == (False, True, True, True)
    assert causal.name == f"{free.name}, causal"
    past = causal_mask(4)
    assert np.array_equal(causal(X), free(X, past))
    assert np.array_equal(causal(X, SEEN), free(X, SEEN & past))
    assert not np.array_equal(free(X, SEEN), free(X))


@pytest.mark.slow("two of six members stay inside", but=2)
@pytest.mark.parametrize(("free", "causal"), UNMASKED, ids=lambda m: m.name)
def test_a_mask_that_cannot_be_honoured_is_refused(free, causal):
    """Compiles each mixer, causal and not."""
    assert (free.causal, causal.causal, free.masked, causal.masked) == (False, True, False, False)
    for mixer in (free, causal):
        assert jax.jit(mixer)(X).shape == X.shape
        with pytest.raises(ValueError, match=f"{mixer.name} cannot honour a mask"):
            mixer(X, SEEN)


def test_the_softmax_mixer_is_attention_of_projected_tokens():
    expected = attention(X @ W_Q, X @ W_K, X @ W_V, scale=SCALE)
    assert np.array_equal(mixers.softmax_mixer(W, scale=SCALE)(X), expected)


def test_cached_is_causal_and_takes_no_mask():
    mixer = mixers.cached_mixer(W, scale=SCALE)
    assert mixer.causal
    with pytest.raises(ValueError, match="cached, causal cannot honour a mask"):
        mixer(X, SEEN)


def test_a_mixer_can_be_built_inside_jit_and_mapped_over_sequences():
    def mix(w, x):
        return mixers.softmax_mixer(Projections(*w), scale=SCALE)(x)

    both = jax.jit(jax.vmap(mix, in_axes=(None, 0)))(tuple(W), jnp.stack([X, X[::-1]]))
    assert both.shape == (2, 4, 4)
    assert np.abs(both[0] - mix(W, X)).max() <= 64 * jnp.finfo(FLOAT).eps


@pytest.mark.slow("the slopes of single operators stay inside")
def test_gradients_of_all_mixers_are_slopes():
    """The sum of all mixers in float64, by the tokens and every weight at once, against central differences."""
    with jax.enable_x64(True):
        given = [jnp.asarray(x, jnp.float64) for x in (X, W_Q, W_K, W_V, TABLE)]
        rng = np.random.default_rng(1)
        directions = [jnp.asarray(rng.uniform(-1, 1, x.shape)) for x in given]

        @jax.jit
        def along(step):
            x, *weights, table = [x + step * direction for x, direction in zip(given, directions, strict=True)]
            outputs = sum(mixer(x) for mixer in all_of(Projections(*weights), table, causal=True))
            return jnp.sum(outputs * jnp.cos(jnp.arange(16.0)).reshape(4, 4))

        step = 2.0**-17
        fine = (along(step) - along(-step)) / (2 * step)
        coarse = (along(2 * step) - along(-2 * step)) / (4 * step)
        # Sixteen outputs of a dozen mixers, each a mean of values of at most four (16 for a zero-mean sketch).
        rounding = 16 * 14 * attention_atol(4, 4, 4.0, 16.0, np.float64) / step
        # A central difference errs by c step^2: the coarse one differs from the fine by three times that.
        assert abs(float(jax.grad(along)(0.0) - fine)) <= abs(float(coarse - fine)) + rounding


@pytest.mark.usefixtures("unchecked_shapes")
def test_tokens_need_two_axes():
    with pytest.raises(ValueError, match="x must have 2 axes"):
        mixers.softmax_mixer(W, scale=SCALE)(X[0])


@pytest.mark.parametrize(("scale", "message"), [(0.0, "must be positive"), (float("inf"), "must be finite")])
def test_a_scale_that_is_none_is_refused_by_linear_mixers(scale, message):
    with pytest.raises(ValueError, match=f"scale {message}"):
        mixers.linear_mixer(W, lambda x: x, scale=scale)


@pytest.mark.usefixtures("unchecked_shapes")
def test_whole_tokens_and_weights_are_refused_by_linear_mixers():
    """In the type of whole queries the root of the scale would be zero."""
    whole = mixers.linear_mixer(Projections(*(jnp.ones((4, 4), int),) * 3), lambda x: x.astype(FLOAT), scale=SCALE)
    with pytest.raises(ValueError, match="q must hold floating-point numbers"):
        whole(jnp.ones((4, 4), int))
