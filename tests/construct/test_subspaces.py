"""The extractor keeps one summand, removes the other, and refuses what cannot be told apart."""

import hypothesis
import hypothesis.extra.numpy as hnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st

from attnlab_theory.construct.subspaces import extractor, intersection_dimension
from attnlab_theory.sampling import subspace_pair
from attnlab_theory.seeds import key_for
from tests.tolerances import extraction_atol

sampled = jax.jit(subspace_pair, static_argnames=("d", "m", "n"))
angle = st.floats(1 / 32, 1.5, width=32)
lengths = hnp.arrays(np.float64, (3,), elements=st.floats(2.0**-20, 2.0**20, width=32))


def pair(seed: int, angles, m: int = 2, n: int = 3, d: int = 6):
    return sampled(key_for(seed, "pair"), d=d, m=m, n=n, angles=jnp.asarray(angles, float))


@pytest.mark.slow("orthogonal subspaces, and what lies in neither, stay inside")
@hypothesis.given(st.integers(0, 100), angle, angle)
def test_one_summand_is_kept_and_the_other_removed(seed, first, second):
    """Hypothesis tries many pairs of subspaces."""
    a, b = pair(seed, [first, second])
    atol = extraction_atol(5, 6, min(first, second))
    matrix = extractor(a, b)
    assert jnp.max(jnp.abs(a @ matrix.T - a)) <= atol
    assert jnp.max(jnp.abs(b @ matrix.T)) <= atol


@pytest.mark.slow("orthogonal subspaces, and what lies in neither, stay inside")
@hypothesis.given(st.integers(0, 100), angle, lengths)
def test_only_the_subspaces_matter_not_their_bases(seed, smallest, scales):
    a, b = pair(seed, [smallest, 1.0])
    skewed = jnp.asarray(scales, b.dtype)[:, None] * (b + jnp.roll(b, 1, axis=0) / 2)
    moved = extractor(a, skewed) - extractor(a, b)
    # Adding half of the next row triples the condition of the basis at most: singular values in [1/2, 3/2].
    assert jnp.max(jnp.abs(moved)) <= 2 * 3 * extraction_atol(5, 6, smallest)


@hypothesis.given(st.integers(0, 100), angle)
def test_what_lies_in_neither_subspace_is_dropped(seed, smallest):
    """Compiles the draw of two subspaces and the extractor, and Hypothesis tries many pairs."""
    a, b = pair(seed, [smallest, 1.0])
    outside = jnp.linalg.svd(jnp.concatenate([a, b]))[2][-1]
    assert jnp.linalg.norm(extractor(a, b) @ outside) <= 3 * extraction_atol(5, 6, smallest)


def test_orthogonal_subspaces_give_the_orthogonal_projector():
    a, b = pair(0, [np.pi / 2, np.pi / 2])
    assert jnp.max(jnp.abs(extractor(a, b) - a.T @ a)) <= extraction_atol(5, 6, np.pi / 2)


@pytest.mark.parametrize("common", [1, 2])
def test_subspaces_that_meet_are_refused_with_the_dimension(common):
    a, b = pair(0, [0.0] * common + [1.0] * (2 - common))
    assert intersection_dimension(a, b) == common
    with pytest.raises(ValueError, match=f"meet in {common} dimension"):
        extractor(a, b)


def test_subspaces_too_large_to_avoid_each_other_are_refused():
    a, b = jnp.eye(4)[:3], jnp.eye(4)[1:]
    with pytest.raises(ValueError, match="meet in 2 dimensions"):
        extractor(a, b)
    with pytest.raises(ValueError, match="meet in 2 dimensions"):
        jax.jit(extractor)(a, b)


def test_a_tiny_angle_is_no_intersection():
    assert intersection_dimension(*pair(0, [1e-3, 1.0])) == 0


@pytest.mark.parametrize("seed", range(8))
def test_what_is_refused_becomes_nan_under_jit_up_to_the_very_tolerance(seed):
    eps = float(jnp.finfo(jax.dtypes.canonicalize_dtype(float)).eps)
    a, b = pair(seed, [3 * 6 * eps, 1.0])
    assert intersection_dimension(a, b) == 1
    assert jnp.all(jnp.isnan(jax.jit(extractor)(a, b)))


def test_bad_bases_become_nan_under_jit():
    meeting = pair(0, [0.0, 1.0])
    assert jnp.all(jnp.isnan(jax.jit(extractor)(*meeting)))
    a, b = pair(0, [0.5, 1.0])
    assert jnp.all(jnp.isnan(jax.jit(extractor)(jnp.concatenate([a[:1], 2 * a[:1]]), b)))
    assert jnp.all(jnp.isfinite(jax.jit(extractor)(a, b)))


@pytest.mark.parametrize("kind", [int, complex])
@pytest.mark.usefixtures("unchecked_shapes")
def test_bases_that_are_not_of_a_floating_type_are_refused(kind):
    a, b = jnp.eye(3)[:1], jnp.eye(3)[1:2]
    for function in (extractor, intersection_dimension):
        with pytest.raises(ValueError, match=f"b must hold floating-point numbers, not {kind.__name__}"):
            function(a, b.astype(kind))


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([[1.0, 0, 0], [2, 0, 0]], [[0.0, 1, 0]], "a is not a basis: 2 rows have rank 1"),
        ([[1.0, 0, 0]], [[0.0, 0, 0]], "b is not a basis: 1 row has rank 0"),
        ([[1.0, 0, 0]], [[0.0, 1, 0, 0]], "width of the space must agree"),
        ([[1.0, 0, 0]], [[0.0, np.nan, 0]], "b must be finite"),
        ([1.0, 0, 0], [[0.0, 1, 0]], "a must have 2 axes"),
        (np.zeros((0, 3)), [[0.0, 1, 0]], "a has no rows"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_what_is_no_pair_of_bases_is_refused(a, b, message):
    for function in (extractor, intersection_dimension):
        with pytest.raises(ValueError, match=message):
            function(jnp.asarray(a, float), jnp.asarray(b, float))


@pytest.mark.slow("four of six members stay inside", but=4)
@pytest.mark.parametrize("power", [-140, -125, -70, 0, 63, 127])
def test_bases_may_be_as_long_or_short_as_their_type_holds(power):
    """By a power of two: the same digits throughout. Under jit XLA has no numbers below 2**-126."""
    a, b = np.eye(3, dtype=np.float32)[:1], np.array([[0.75, 1.0, 0.0]], np.float32)
    far = jnp.asarray(np.ldexp(b, power))
    expected = extractor(jnp.asarray(a), jnp.asarray(b))
    assert np.array_equal(extractor(jnp.asarray(a), far), expected)
    assert intersection_dimension(far, far) == 1
    traced = jax.jit(extractor)(jnp.asarray(a), far)
    assert np.isnan(traced).all() if power < -126 else np.abs(traced - expected).max() <= extraction_atol(2, 3, 0.9)


def test_half_precision_is_refused():
    with pytest.raises(ValueError, match="a must be in float32 at least, not float16"):
        extractor(jnp.eye(3, dtype=jnp.float16)[:1], jnp.eye(3, dtype=jnp.float16)[1:2])
