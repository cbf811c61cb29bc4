"""Feature attention is linear attention of its features, whatever their size, and never looks ahead."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import (
    attention,
    feature_attention,
    generalized_exponential_features,
    hyperbolic_features,
    key_shift,
    log_generalized_exponential_features,
    log_hyperbolic_features,
    log_positive_features,
    positive_features,
    query_shift,
    seen_key_shift,
)
from tests.attention.linear_cases import D, M, V, chunks_of, distance, points, quadratic
from tests.tolerances import linear_attention_atol

FLOAT = jax.dtypes.canonicalize_dtype(float)
SCALE = 0.5


def growing(t: int) -> list[np.ndarray]:
    """Queries, keys, values, a projection: every key has a larger log feature than those before it."""
    q, _, v, w = points(t, t)
    return [q, np.linspace(-0.5, 1, t)[:, None] * 2 * w[:1] / np.sqrt(SCALE), v, 2 * w]


MAPS = [
    (log_positive_features, positive_features),
    (log_hyperbolic_features, hyperbolic_features),
    (
        functools.partial(log_generalized_exponential_features, a=-0.1),
        functools.partial(generalized_exponential_features, a=-0.1),
    ),
]


@pytest.mark.slow("two of six members stay inside", but=2)
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("log_features", "features"), MAPS)
def test_shifts_cancel_in_the_ratio(log_features, features, causal):
    """Compiles feature attention in float64 for each feature map."""
    with jax.enable_x64(True), chunks_of(4):
        q, k, v, w = map(jnp.asarray, growing(10))
        run = functools.partial(feature_attention, log_features=log_features, scale=SCALE, causal=causal)
        ours = jax.jit(run)(q, k, v, w)
        phi_q, phi_k = (features(np.sqrt(SCALE) * x, w) for x in (q, k))
        atol = linear_attention_atol(2 * M, 10, 4.0, peak_log=20.0, dtype=np.float64)
        assert distance(ours, quadratic(phi_q, phi_k, v, causal)) <= atol


@pytest.mark.slow("one of three members stays inside", but=1)
@pytest.mark.parametrize(("narrow", "causal"), [(0, True), (1, False), (2, True)])
def test_one_array_of_a_narrower_type_has_a_gradient_of_that_type(narrow, causal):
    """Compiles the operator and its gradient for the narrow type."""
    *given, w = (jnp.asarray(x, FLOAT) for x in points(10, 10))
    given[narrow] = given[narrow].astype(jnp.bfloat16)

    @jax.jit
    def run(*x):
        ours, pull = jax.vjp(lambda *x: feature_attention(*x, w, scale=1.0, causal=causal), *x)
        return ours, pull(ours)

    with jax.numpy_dtype_promotion("standard"), chunks_of(4):
        ours, gradients = run(*given)
    assert ours.dtype == FLOAT
    assert [x.dtype for x in gradients] == [x.dtype for x in given]
    # Scaled by one, the narrow array enters as it is: its rounding is no part of the difference.
    wide = feature_attention(*(x.astype(FLOAT) for x in given), w, scale=1.0, causal=causal)
    size = 4 * max(float(jnp.sum(x.astype(FLOAT) ** 2, axis=1).max()) for x in (*given[:2], w))
    atol = linear_attention_atol(M, 10, float(jnp.abs(given[2]).max()), peak_log=size, dtype=FLOAT)
    assert distance(ours, wide) <= atol


@pytest.mark.parametrize("causal", [True, False])
def test_norms_that_overflow_raw_features_do_no_harm(causal):
    """Float32 at log features of a hundred and more, against float64 by the definition."""
    q, k, v, w = points(10, 10, seed=1)
    q, k = 12 * q, np.linspace(1, 6, 10)[:, None] * k / np.linalg.norm(k, axis=1, keepdims=True) + q.mean(0)
    with jax.enable_x64(True):
        logs = [np.asarray(log_positive_features(jnp.asarray(x), jnp.asarray(w))) for x in (q, k)]
    phi_q = np.exp(logs[0] - logs[0].max(axis=1, keepdims=True))
    theirs = quadratic(phi_q, np.exp(logs[1] - logs[1].max()), v, causal)
    with chunks_of(4):
        ours = feature_attention(*(jnp.asarray(x, jnp.float32) for x in (q, k, v, w)), scale=1.0, causal=causal)
    size = 4 * max(np.abs(x).max() for x in (*logs, (q**2).sum(axis=1)))
    assert logs[0].min() < -100
    assert distance(ours, theirs) <= linear_attention_atol(M, 10, np.abs(v).max(), peak_log=size)


def test_many_features_come_near_exact_attention():
    """With 4,096 projections and short vectors the estimate is softmax attention, to Monte Carlo accuracy."""
    q, k, v, w = (jnp.asarray(x, FLOAT) for x in points(6, 6, m=4096))
    q, k = q / 4, k / 4
    ours = feature_attention(q, k, v, w, scale=SCALE)
    # Relative variance of a weight is at most e^L - 1 over m with L < 1; eight deviations of a ratio of two.
    assert distance(ours, attention(q, k, v, scale=SCALE)) <= 16 * np.sqrt(1.7 / 4096) * float(jnp.abs(v).max())


@pytest.mark.parametrize("causal", [True, False])
def test_gradient_of_feature_attention_is_that_of_the_definition(causal):
    """The shifts are held constant in the derivative: rightly, since they cancel."""
    with jax.enable_x64(True), chunks_of(4):
        q, k, v, w = map(jnp.asarray, growing(10))

        def ours(q, k, v):
            return jnp.sum(jnp.sin(feature_attention(q, k, v, w, scale=SCALE, causal=causal)))

        def theirs(q, k, v):
            phi_q, phi_k = (positive_features(np.sqrt(SCALE) * x, w) for x in (q, k))
            return jnp.sum(jnp.sin(quadratic(phi_q, phi_k, v, causal)))

        atol = 10 * V * 16 * linear_attention_atol(M, 10, 4.0, peak_log=20.0, dtype=np.float64)
        found, expected = (jax.jit(jax.grad(f, (0, 1, 2)))(q, k, v) for f in (ours, theirs))
        assert max(distance(a, b) for a, b in zip(found, expected, strict=True)) <= atol


@pytest.mark.parametrize("later", [0.0, -40.0, 1e3, "a projection"])
def test_feature_attention_never_looks_ahead(later):
    """Later keys of every size; beside the feature of one that lies on a projection all earlier ones vanish."""
    q, k, v, w = (jnp.asarray(x, FLOAT) for x in points(10, 10))
    w = 20 * w
    later = w[:1] / SCALE**0.5 if later == "a projection" else jnp.full((1, D), later, FLOAT)
    run = jax.jit(lambda q, k, v: feature_attention(q, k, v, w, log_hyperbolic_features, scale=SCALE, causal=True))
    with chunks_of(4):
        before = np.asarray(run(q, k, v))
        for t in range(9):
            seen = (jnp.arange(10) <= t)[:, None]
            after = np.asarray(run(q, jnp.where(seen, k, later), jnp.where(seen, v, later[0, 0])))
            assert after[: t + 1].tobytes() == before[: t + 1].tobytes()


def test_shifts_are_what_they_say():
    logs = jnp.asarray([[0.0, -1.0], [2.0, 5.0], [3.0, 1.0]], FLOAT)
    assert query_shift(logs).tolist() == [0.0, 5.0, 3.0]
    assert key_shift(logs) == 5.0
    assert seen_key_shift(logs).tolist() == [0.0, 5.0, 5.0]


def test_jit_and_vmap_are_the_loop():
    """Compiles feature attention alone and mapped over a batch."""
    many = [jnp.stack([jnp.asarray(points(10, 10, seed=i)[j], FLOAT) for i in range(2)]) for j in range(3)]
    w = jnp.asarray(points(1, 1)[3], FLOAT)

    def one(q, k, v):
        return feature_attention(q, k, v, w, scale=SCALE, causal=True)

    with chunks_of(4):
        together = jax.jit(jax.vmap(one))(*many)
        atol = linear_attention_atol(M, 10, 4.0, peak_log=20.0, dtype=FLOAT)
        for i in range(2):
            assert distance(together[i], one(*(x[i] for x in many))) <= atol


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"scale": 0.0}, "scale must be positive, not 0.0"),
        ({"scale": float("inf")}, "scale must be finite"),
        ({"projection": jnp.zeros((0, D), FLOAT)}, "at least one projection"),
        ({"k": jnp.zeros((5, 3), FLOAT)}, "width must agree"),
        ({"q": jnp.ones((4, D), int)}, "q must hold floating-point numbers"),
        ({"k": jnp.ones((5, D), int)}, "k must hold floating-point numbers"),
        ({"q": jnp.full((4, D), jnp.nan, FLOAT)}, "x must be finite"),
    ],
)
def test_bad_input_to_feature_attention_is_refused(changed, message):
    q, k, v, w = (jnp.asarray(x, FLOAT) for x in points(4, 5))
    with pytest.raises(ValueError, match=message):
        feature_attention(**({"q": q, "k": k, "v": v, "projection": w, "scale": SCALE} | changed))


@pytest.mark.parametrize("causal", [True, False])
def test_features_too_far_apart_are_not_sent_to_feature_attention(causal):
    """Compiles feature attention, which finds the zero only once it has computed it."""
    q = jnp.full((2, D), 1e3, FLOAT)
    w = jnp.concatenate([jnp.ones((1, D), FLOAT), -jnp.ones((1, D), FLOAT)])
    with pytest.raises(
        ValueError, match=r"query 0 is 0.0: .* multiplied; use attention, .* or scale queries and keys down"
    ):
        feature_attention(q, -q, jnp.ones((2, V), FLOAT), w, scale=1.0, causal=causal)


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("inf")])
def test_traced_bad_scale_gives_nan(wrong):
    q, k, v, w = (jnp.asarray(x, FLOAT) for x in points(4, 4))
    assert np.isnan(jax.jit(lambda scale: feature_attention(q, k, v, w, scale=scale))(wrong)).all()


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("log_features", [log for log, _ in MAPS])
def test_arrays_of_numpy_are_taken_without_a_warning(log_features, causal):
    """In numpy's float64, which JAX narrows where it has none."""
    theirs = growing(10)
    ours = [jnp.asarray(x) for x in theirs]
    attend = functools.partial(feature_attention, log_features=log_features, scale=SCALE, causal=causal)
    assert distance(attend(*theirs), attend(*ours)) <= linear_attention_atol(
        2 * M, 10, 4.0, peak_log=20.0, dtype=FLOAT
    )
