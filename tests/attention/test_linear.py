"""Linear attention is the quadratic form by either order of multiplication, causal or not, with its gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.attention import linear_attention, trigonometric_features
from tests.attention.linear_cases import M, V, chunks_of, distance, points, quadratic
from tests.strategies import arrays
from tests.tolerances import linear_attention_atol

FLOAT = jax.dtypes.canonicalize_dtype(float)
PEAK = 4.0
SHAPES = [(10, 10, True), (8, 8, True), (1, 1, True), (6, 9, False)]


def inputs(t: int, s: int, m: int = M, seed: int = 0):
    """Positive features of queries and keys, values, a cotangent."""
    rng = np.random.default_rng(seed)
    return [
        rng.uniform(0.25, 1, (t, m)),
        rng.uniform(0.25, 1, (s, m)),
        rng.uniform(-1, 1, (s, V)),
        rng.uniform(-1, 1, (t, V)),
    ]


@pytest.mark.slow("two of four members stay inside", but=2)
@pytest.mark.parametrize(("t", "s", "causal"), SHAPES)
def test_prefix_sums_are_the_masked_quadratic_form(t, s, causal):
    """Compiles linear attention for each shape, and Hypothesis tries many cases."""
    positive = st.floats(0.125, 4.0, width=32)

    @given(arrays(t, M).map(jnp.exp), arrays(s, M).map(jnp.exp), arrays(s, V, peak=PEAK), positive)
    def agrees(phi_q, phi_k, v, size):
        with chunks_of(4):
            ours = linear_attention(phi_q, phi_k * size, v, causal=causal)
        assert ours.dtype == v.dtype
        assert distance(ours, quadratic(phi_q, phi_k, v, causal)) <= linear_attention_atol(M, s, PEAK, dtype=FLOAT)

    agrees()


@pytest.mark.parametrize(("narrow", "causal"), [(0, True), (1, True), (2, True), (2, False)])
def test_one_array_of_a_narrower_type_changes_only_its_own_rounding(narrow, causal):
    """The rounded array widened again gives the same rows; gradients come back in each array's own type."""
    *given_, cotangent = (jnp.asarray(x, FLOAT) for x in inputs(10, 10))
    given_[narrow] = given_[narrow].astype(jnp.bfloat16)

    @jax.jit
    def run(*x):
        ours, pull = jax.vjp(lambda *x: linear_attention(*x, causal=causal), *x)
        return ours, pull(cotangent)

    with jax.numpy_dtype_promotion("standard"), chunks_of(4):
        ours, gradients = run(*given_)
    assert ours.dtype == FLOAT
    assert [x.dtype for x in gradients] == [x.dtype for x in given_]
    wide = [np.asarray(x, np.float64) for x in given_]
    assert distance(ours, quadratic(*wide, causal)) <= linear_attention_atol(M, 10, 1.0, dtype=FLOAT)


@pytest.mark.parametrize("causal", [True, False])
def test_features_of_either_sign_are_taken_as_they_are(causal):
    """Trigonometric features: no clipping, no eps, a negative normaliser included."""
    with jax.enable_x64(True), chunks_of(4):
        q, k, v, w = map(jnp.asarray, points(12, 12, seed=3))
        phi_q, phi_k = (trigonometric_features(1.5 * x, w) for x in (q, k))
        weights = np.asarray(phi_q @ phi_k.T) * (np.tri(12) if causal else 1)
        assert weights.sum(axis=1).min() < 0
        ours = linear_attention(phi_q, phi_k, v, causal=causal)
        # Cancellation divides the error by the smallest normaliser, relative to the sum of sizes.
        worst = np.max(np.abs(weights).sum(axis=1) / np.abs(weights.sum(axis=1))) ** 2 * np.exp(2 * 10)
        atol = worst * linear_attention_atol(2 * M, 12, 4.0, dtype=np.float64)
        assert distance(ours, quadratic(phi_q, phi_k, v, causal)) <= atol


@pytest.mark.parametrize("causal", [True, False])
def test_long_inputs_agree_too(causal):
    """Chunks as they are, the last one ragged."""
    phi_q, phi_k, v, _ = inputs(300, 300, m=16)
    theirs = quadratic(phi_q, phi_k, v, causal)
    ours = linear_attention(*(jnp.asarray(x, FLOAT) for x in (phi_q, phi_k, v)), causal=causal)
    assert distance(ours, theirs) <= linear_attention_atol(16, 300, 1.0, dtype=FLOAT)


@pytest.mark.parametrize(("t", "s", "causal"), [(10, 10, True), (6, 9, False)])
def test_gradient_is_that_of_the_quadratic_form_and_the_slope(t, s, causal):
    with jax.enable_x64(True), chunks_of(4):
        *x, cotangent = map(jnp.asarray, inputs(t, s))

        @jax.jit
        def ours(*x):
            return jnp.sum(cotangent * linear_attention(*x, causal=causal))

        @jax.jit
        def theirs(*x):
            return jnp.sum(cotangent * quadratic(*x, causal))

        found, expected = (jax.jit(jax.grad(f, (0, 1, 2)))(*x) for f in (ours, theirs))
        # A gradient is a ratio's, times at most t * V cotangents and 1 / (normaliser >= M / 16).
        atol = t * V * 16 * linear_attention_atol(M, s, 1.0, dtype=np.float64)
        assert max(distance(a, b) for a, b in zip(found, expected, strict=True)) <= atol
        step = float(np.finfo(np.float64).eps) ** (1 / 3)
        directions = [jnp.asarray(z) for z in inputs(t, s, seed=7)[:3]]
        for i, (gradient, direction) in enumerate(zip(found, directions, strict=True)):
            ahead, behind = (
                ours(*(y + sign * step * direction if i == j else y for j, y in enumerate(x))) for sign in (1, -1)
            )
            # Third derivatives of the t * V ratios are below 6 * 4^3, as x/(1 + 4 x step)'s are.
            slack = t * V * (64 * step**2 + linear_attention_atol(M, s, 1.0, dtype=np.float64) / step)
            assert abs(float(jnp.sum(gradient * direction)) - float(ahead - behind) / (2 * step)) <= slack


@pytest.mark.parametrize("later", [0.0, 1e30, float(jnp.finfo(FLOAT).max)])
def test_linear_attention_never_looks_ahead(later):
    phi_q, phi_k, v, _ = (jnp.asarray(x, FLOAT) for x in inputs(10, 10))
    run = jax.jit(lambda *x: linear_attention(*x, causal=True))
    with chunks_of(4):
        before = np.asarray(run(phi_q, phi_k, v))
        for t in range(9):
            seen = (jnp.arange(10) <= t)[:, None]
            after = np.asarray(run(phi_q, jnp.where(seen, phi_k, max(later, 1e-3)), jnp.where(seen, v, later)))
            assert after[: t + 1].tobytes() == before[: t + 1].tobytes()


@pytest.mark.parametrize("backward", [False, True])
def test_memory_holds_no_state_for_any_position(backward):
    """A state per position would be t * m * v numbers; inputs, copies of them and outputs are t * (m + v)."""
    t, m, v = 4096, 64, 64
    x, y = jax.ShapeDtypeStruct((t, m), FLOAT), jax.ShapeDtypeStruct((t, v), FLOAT)

    def run(phi_q, phi_k, v):
        return linear_attention(phi_q, phi_k, v, causal=True)

    compiled = jax.jit(lambda *x: jax.vjp(run, *x[:3])[1](x[3])).lower(x, x, y, y) if backward else None
    compiled = compiled or jax.jit(run).lower(x, x, y)
    used = compiled.compile().memory_analysis().temp_size_in_bytes
    assert used <= (12 if backward else 4) * t * (m + v) * FLOAT.itemsize < t * m * v * FLOAT.itemsize


NAN = float("nan")
PHI_Q, PHI_K, VALUES, _ = (jnp.asarray(x, FLOAT) for x in inputs(4, 5))


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"causal": True}, "positions under a causal mask must agree: phi_q has 4, phi_k has 5"),
        ({"phi_q": PHI_Q[:, :2]}, "features must agree: phi_q has 2, phi_k has 4"),
        ({"v": VALUES[:4]}, "source positions must agree: phi_k has 5, v has 4"),
        ({"phi_k": PHI_K[:0], "v": VALUES[:0]}, "at least one key and one feature"),
        ({"phi_k": PHI_K[:, :0], "phi_q": PHI_Q[:, :0]}, "at least one key and one feature"),
        ({"phi_q": PHI_Q[0]}, "phi_q must have 2 axes"),
        ({"phi_k": PHI_K.at[0, 0].set(NAN)}, "phi_k must be finite"),
        ({"v": VALUES.at[4, 1].set(NAN)}, r"v must be finite, but holds nan at index \(4, 1\)"),
        ({"phi_q": jnp.ones((4, M), int)}, "phi_q must hold floating-point numbers"),
        ({"phi_q": PHI_Q.at[2].set(0.0)}, "the normaliser of query 2 is 0.0"),
        ({"phi_q": 1e30 * PHI_Q, "phi_k": 1e30 * PHI_K}, "the normaliser of query 0 is inf"),
        (
            {"v": -3e38 + 0 * VALUES},
            r"the values of query 0 add up to more than float32 .*, and the largest is 3e\+38",
        ),
    ],
)
def test_bad_input_to_linear_attention_is_refused(changed, message):
    given_ = {"phi_q": PHI_Q, "phi_k": PHI_K, "v": VALUES} | changed
    if "inf" in message or "float32" in message:
        given_ = {name: x.astype(jnp.float32) for name, x in given_.items()}
    with pytest.raises(ValueError, match=message):
        linear_attention(**given_)


@pytest.mark.parametrize("causal", [True, False])
def test_values_without_width_have_rows_without_width(causal):
    phi, v = jnp.ones((3, M), FLOAT), jnp.ones((3, 0), FLOAT)
    assert linear_attention(phi, phi, v, causal=causal).shape == (3, 0)


def test_no_queries_get_no_rows():
    assert linear_attention(PHI_Q[:0], PHI_K, VALUES).shape == (0, V)


@pytest.mark.parametrize("causal", [True, False])
def test_sums_that_overflow_are_nan_under_jit(causal):
    """A finite sum over an infinite normaliser would be 0, and a value of 1e38 four times over infinity."""
    run = jax.jit(lambda *x: linear_attention(*x, causal=causal))
    one = jnp.ones((4, 2), jnp.float32)
    assert np.isnan(run(1e20 * one, 1e20 * one, 1e-30 * one)).all()
    assert np.isnan(run(one, one, 1e38 * one)[-1]).all()
    assert np.isfinite(run(one, one, 1e37 * one)).all()
