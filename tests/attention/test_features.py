"""Every feature map is unbiased, by quadrature over its projections; twins agree; bad input is refused."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import (
    dense_exponential_features,
    generalized_exponential_features,
    hyperbolic_features,
    log_dense_exponential_features,
    log_generalized_exponential_features,
    log_hyperbolic_features,
    log_positive_features,
    positive_features,
    trigonometric_features,
)
from tests.tolerances import gaussian_quadrature_rtol

FLOAT = jax.dtypes.canonicalize_dtype(float)
NODES = 72
X, Y = np.array([[0.7, -0.4]]), np.array([[-0.3, 1.1]])
TURN = np.array([[0.8, -0.6], [0.6, 0.8]])
DENSE = {"a": jnp.array([-0.2, 0.08]), "basis": jnp.asarray(TURN, FLOAT)}
MAPS = {
    "trigonometric": trigonometric_features,
    "positive": positive_features,
    "hyperbolic": hyperbolic_features,
    "generalized, a < 0": functools.partial(generalized_exponential_features, a=-0.3),
    "generalized, a > 0": functools.partial(generalized_exponential_features, a=0.1),
    "dense": lambda x, w: dense_exponential_features(
        x, w, a=jnp.asarray([-0.2, 0.08], x.dtype), basis=jnp.asarray(TURN, x.dtype)
    ),
}
TWINS = {
    "positive": (positive_features, log_positive_features, {}),
    "hyperbolic": (hyperbolic_features, log_hyperbolic_features, {}),
    "generalized": (generalized_exponential_features, log_generalized_exponential_features, {"a": -0.3}),
    "dense": (dense_exponential_features, log_dense_exponential_features, DENSE),
}
EVERY_MAP = pytest.mark.parametrize("features", MAPS.values(), ids=MAPS.keys())


def grid() -> tuple[np.ndarray, np.ndarray]:
    """Nodes in two dimensions and their probabilities under N(0, I)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    points = np.array(list(itertools.product(nodes, nodes)))
    chances = np.array([p * q for p, q in itertools.product(weights, weights)])
    reachable = chances > 1e-30  # the others add less than 1e-20 and have exponents in the hundreds
    return points[reachable], chances[reachable]


def mean_product(features, x, y) -> float:
    """The expectation of phi(x) . phi(y), the expectation over projections done by quadrature."""
    points, chances = grid()
    with jax.enable_x64(True):
        phi_x, phi_y = (np.asarray(features(jnp.asarray(z), jnp.asarray(points)))[0] for z in (x, y))
    products = len(points) * (phi_x * phi_y).reshape(-1, len(points))
    return float(np.sum(products @ chances))


@EVERY_MAP
def test_features_are_unbiased(features):
    for x, y in [(X, Y), (X, X), (X, -X), (X, 0 * X)]:
        expected = float(np.exp(x[0] @ y[0]))
        # Terms of either sign are at most exp(|x|^2/2 + |y|^2/2): relative to the result, that is exp(2 * 1.3).
        rtol = np.exp(2.6) * gaussian_quadrature_rtol(2 * NODES**2, 200.0)
        assert abs(mean_product(features, x, y) - expected) <= rtol * expected


@EVERY_MAP
def test_a_projection_more_averages_and_does_not_add(features):
    """Repeating every projection changes nothing: features carry 1/sqrt(m) themselves."""
    x, y, w = (jnp.asarray(z, FLOAT) for z in (X, Y, np.random.default_rng(0).normal(size=(5, 2))))
    once, twice = (float(jnp.sum(features(x, z) * features(y, z))) for z in (w, jnp.concatenate([w, w])))
    assert abs(once - twice) <= 32 * float(np.finfo(FLOAT).eps) * float(
        jnp.sum(jnp.abs(features(x, w) * features(y, w)))
    )


@pytest.mark.parametrize("name", TWINS)
def test_log_twins_are_logarithms(name):
    features, log_features, options = TWINS[name]
    x = jnp.asarray(np.concatenate([X, Y]), FLOAT)
    w = jnp.asarray(np.random.default_rng(1).normal(size=(6, 2)), FLOAT)
    logs = np.asarray(log_features(x, w, **options), np.float64)
    atol = 16 * float(np.finfo(FLOAT).eps) * (1 + np.abs(logs).max())
    assert np.abs(np.log(np.asarray(features(x, w, **options), np.float64)) - logs).max() <= atol


def test_at_zero_generalized_features_are_positive_features():
    x, w = jnp.asarray(X, FLOAT), jnp.asarray([[0.3, -1.2], [2.0, 0.1]], FLOAT)
    same = generalized_exponential_features(x, w, a=0.0)
    assert np.abs(np.asarray(same / positive_features(x, w)) - 1).max() <= 16 * float(np.finfo(FLOAT).eps)


def test_log_features_survive_norms_that_raw_ones_do_not():
    x = jnp.full((1, 2), 1e3, FLOAT)
    w = jnp.asarray([[-3.0, 2.0]], FLOAT)
    assert np.isfinite(np.asarray(log_hyperbolic_features(x, w))).all()


@EVERY_MAP
def test_jit_and_vmap_are_the_loop(features):
    x = jnp.asarray(np.stack([X, Y]), FLOAT)
    w = jnp.asarray([[0.3, -1.2], [2.0, 0.1], [0.0, -0.4]], FLOAT)
    together = np.asarray(jax.jit(jax.vmap(features, in_axes=(0, None)))(x, w))
    for row, one in zip(x, together, strict=True):
        alone = np.asarray(features(row, w))
        assert np.abs(one - alone).max() <= 64 * float(np.finfo(FLOAT).eps) * np.abs(alone).max()


@EVERY_MAP
def test_gradients_are_slopes(features):
    with jax.enable_x64(True):
        w = jnp.asarray(np.random.default_rng(2).normal(size=(3, 2)))

        @jax.jit
        def total(step):
            return jnp.sum(jnp.sin(features(jnp.asarray(X) + step * jnp.asarray(Y), w)))

        step = float(np.finfo(np.float64).eps) ** (1 / 3)
        slope = float(total(step) - total(-step)) / (2 * step)
        # Third derivatives are below a thousand on these points; rounding of six terms is divided by the step.
        assert abs(float(jax.grad(total)(0.0)) - slope) <= 1e3 * step**2 + 1e2 * float(np.finfo(float).eps) / step


@pytest.mark.parametrize("a", [0.25, 0.3, float("inf")])
def test_a_traced_parameter_that_is_too_large_gives_nan(a):
    x, w = jnp.asarray(X, FLOAT), jnp.asarray(Y, FLOAT)
    assert np.isnan(np.asarray(jax.jit(lambda a: generalized_exponential_features(x, w, a=a))(a))).all()


POINTS, PROJECTION = jnp.ones((2, 3)), jnp.ones((4, 3))


@pytest.mark.usefixtures("unchecked_shapes")
@EVERY_MAP
def test_bad_input_to_feature_maps_is_refused(subtests, features):
    for x, projection, message in [
        (POINTS, PROJECTION[:0], "at least one projection"),
        (POINTS, PROJECTION[:, :2], "width must agree: x has 3, projection has 2"),
        (POINTS[0], PROJECTION, "x must have 2 axes"),
        (POINTS, PROJECTION[0], "projection must have 2 axes"),
        (POINTS.at[1, 2].set(jnp.nan), PROJECTION, r"x must be finite, but holds nan at index \(1, 2\)"),
        (POINTS, PROJECTION.at[0, 0].set(jnp.inf), "projection must be finite"),
        (POINTS.astype(int), PROJECTION, "x must hold floating-point numbers"),
    ]:
        with subtests.test(message), pytest.raises(ValueError, match=message):
            features(x, projection)


@pytest.mark.parametrize("features", [trigonometric_features, positive_features, hyperbolic_features])
def test_overflow_is_reported_with_the_norm_that_did_it(features):
    x = jnp.asarray([[1.0, 0.0], [60.0, 80.0]], jnp.float32)
    with pytest.raises(ValueError, match="row 1 has norm 100: its random features overflow float32"):
        features(x, jnp.asarray([[60.0, 80.0], [-60.0, -80.0]], jnp.float32))


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"a": 0.25}, "a must be less than 1/4, not 0.25"),
        ({"a": 0.3}, "a must be less than 1/4, not 0.3"),
        ({"a": float("nan")}, "a must be less than 1/4, not nan"),
        ({"a": -float("inf")}, "a must be finite"),
        ({"a": "x"}, "a must be one real number, not 'x'"),
        ({"a": None}, "a must be one real number, not None"),
        ({"a": 0.1j}, "a must be one real number, not 0.1j"),
    ],
)
def test_bad_parameters_of_generalized_features_are_refused(options, message):
    for features in (generalized_exponential_features, log_generalized_exponential_features):
        with pytest.raises(ValueError, match=message):
            features(POINTS, PROJECTION, **options)


def test_a_parameter_that_float32_rounds_up_to_a_quarter_is_refused():
    x, w = (each.astype(jnp.float32) for each in (POINTS, PROJECTION))
    with pytest.raises(ValueError, match=r"a must be less than 1/4, not 0\.2499999999, in float32"):
        generalized_exponential_features(x, w, a=0.25 - 1e-10)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"a": jnp.array([0.0, 0.25, 0.0])}, "a must be less than 1/4, not 0.25"),
        ({"a": jnp.zeros(2)}, "width must agree: x has 3, a has 2, basis has 3"),
        ({"a": 0.0}, "a must have 1 axes"),
        ({"basis": jnp.eye(3)[:, :2]}, "directions must agree: a has 3, basis has 2"),
        ({"basis": jnp.eye(3).at[0, 1].set(jnp.nan)}, "basis must be finite"),
        ({"basis": 1j * jnp.eye(3, dtype=complex)}, "basis must hold real numbers, not complex"),
        ({"a": jnp.zeros(3, complex)}, "a must hold real numbers, not complex"),
        ({"basis": 5 * jnp.eye(3)}, r"basis must be orthonormal, .* off by 24: take"),
    ],
)
def test_bad_parameters_of_dense_features_are_refused(changed, message):
    options = {"a": jnp.zeros(3), "basis": jnp.eye(3)} | changed
    with pytest.raises(ValueError, match=message):
        dense_exponential_features(POINTS, PROJECTION, **options)


@pytest.mark.usefixtures("unchecked_shapes")
def test_arrays_of_numpy_are_taken_without_a_warning():
    given = {"a": np.float64(-0.3)}
    for features in (generalized_exponential_features, log_generalized_exponential_features):
        np.testing.assert_array_equal(
            features(X, TURN, **given), features(jnp.asarray(X), jnp.asarray(TURN), **given)
        )
