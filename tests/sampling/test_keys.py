"""Noisy keys have the law they promise: means, covariances, independence; bad input is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.sampling import (
    gaussian_keys,
    hashed_normal,
    many_noisy_keys,
    noise_factors,
    noisy_keys,
    orthonormal,
)
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval
from tests.sampling.laws import has_covariance, mean_interval

ERROR_RATE = 1e-6 / 32
DRAWS = 2**14

# Not of unit length, so that "per squared length of the mean" is seen; not orthogonal, so that directions are.
MEANS = jnp.asarray([[2.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, -0.5, 1.5]])
VARIANCES = jnp.asarray([0.01, 0.25, 1.0])
STRETCH = jnp.asarray([0.5, 0.0, 2.0])


def covariances(variance=VARIANCES, stretch=STRETCH) -> list[np.ndarray]:
    means = np.asarray(MEANS, np.float64)
    spread = np.broadcast_to(np.asarray(variance, np.float64), 3)
    return [a * np.eye(3) + s * np.outer(m, m) for a, s, m in zip(spread, np.asarray(stretch), means, strict=True)]


def one_by_one(key, **noise) -> np.ndarray:
    sample = jax.jit(jax.vmap(lambda key: noisy_keys(key, MEANS, **noise)))
    return np.asarray(sample(jax.random.split(key, DRAWS)), np.float64)


def together(key, **noise) -> np.ndarray:
    return np.asarray(many_noisy_keys(key, MEANS, DRAWS, **noise), np.float64)


def hashed(key, **noise) -> np.ndarray:
    return together(key, normal=hashed_normal, **noise)


def by_factors(key, **noise) -> np.ndarray:
    factors = noise_factors(MEANS, **noise)
    sample = jax.jit(jax.vmap(lambda key: gaussian_keys(key, MEANS, factors)))
    return np.asarray(sample(jax.random.split(key, DRAWS)), np.float64)


@pytest.mark.parametrize("sample", [one_by_one, together, hashed, by_factors], ids=lambda f: f.__name__)
def test_means_covariances_and_independence(sample):
    draws = sample(key_for(0, "keys", sample.__name__), variance=VARIANCES, stretch=STRETCH)
    noise = draws - np.asarray(MEANS, np.float64)
    whole = np.zeros((9, 9))
    for i, covariance in enumerate(covariances()):
        whole[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = covariance
        for j in range(3):
            mean = mean_interval(noise[:, i, j], covariance[j, j], ERROR_RATE / 9)
            assert mean.contains(Interval.point(0.0))
    # The blocks off the diagonal are zero: keys are independent of each other.
    assert has_covariance(noise.reshape(DRAWS, 9), whole, ERROR_RATE)


@pytest.mark.parametrize("sample", [one_by_one, together], ids=lambda f: f.__name__)
def test_without_stretch_the_noise_is_isotropic(sample):
    draws = sample(key_for(1, "keys"), variance=0.25, stretch=jnp.zeros(3))
    noise = (draws - np.asarray(MEANS, np.float64)).reshape(DRAWS, 9)
    assert has_covariance(noise, 0.25 * np.eye(9), ERROR_RATE)


def test_a_missing_stretch_or_a_missing_square_would_be_seen():
    noise = (together(key_for(2, "keys"), variance=VARIANCES, stretch=STRETCH) - np.asarray(MEANS))[:, 0]
    assert has_covariance(noise, covariances()[0], ERROR_RATE)
    for wrong in (0.0, 0.25, 1.0):  # without it; per length and not per squared length; its square root
        assert not has_covariance(noise, covariances(stretch=[wrong, 0, 0])[0], ERROR_RATE)


def test_without_noise_keys_are_their_means_exactly():
    keys = noisy_keys(key_for(3), MEANS, variance=0.0, stretch=jnp.zeros(3))
    np.testing.assert_array_equal(keys, MEANS)


def test_stretch_alone_moves_keys_along_their_means():
    # A frame with rounded entries: every entry of a key must carry the very same factor.
    means = orthonormal(key_for(4), 3, 8)
    keys = np.asarray(many_noisy_keys(key_for(5), means, 100, variance=0.0, stretch=STRETCH))
    lengths = np.einsum("nsd,sd->ns", keys, means)
    np.testing.assert_array_equal(keys[:, 1], np.broadcast_to(means[1], (100, 8)))
    error = np.abs(keys - lengths[:, :, None] * np.asarray(means))
    # An inner product of eight terms and two products.
    assert error.max() <= 12 * float(np.finfo(keys.dtype).eps) * np.abs(lengths).max()
    assert np.std(lengths[:, 2]) > np.std(lengths[:, 0]) > 0


def test_one_variance_for_all_is_that_variance_for_each():
    one = noisy_keys(key_for(6), MEANS, variance=0.25, stretch=STRETCH)
    each = noisy_keys(key_for(6), MEANS, variance=jnp.full(3, 0.25), stretch=STRETCH)
    np.testing.assert_array_equal(one, each)


def test_keys_and_factors_are_of_the_type_of_their_means():
    noise = {"variance": jnp.float32(0.25), "stretch": jnp.ones(3, jnp.float32)}
    means = MEANS.astype(jnp.bfloat16)
    assert noisy_keys(key_for(6), means, **noise).dtype == jnp.bfloat16
    assert noise_factors(means, **noise).dtype == jnp.bfloat16


def test_one_of_many_is_the_one():
    one = noisy_keys(key_for(7), MEANS, variance=0.25, stretch=STRETCH)
    many = many_noisy_keys(key_for(7), MEANS, 1, variance=0.25, stretch=STRETCH)
    np.testing.assert_array_equal(one, many[0])


@pytest.mark.parametrize("wrong", [{"variance": -0.1}, {"stretch": jnp.asarray([0.0, -1.0, 0.0])}])
def test_a_traced_negative_variance_gives_nan(wrong):
    noise = {"variance": 0.1, "stretch": STRETCH} | wrong
    keys = jax.jit(lambda noise: noisy_keys(key_for(0), MEANS, **noise))(noise)
    assert np.isnan(np.asarray(keys)[1]).all()


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"variance": -0.5}, r"variance must not be negative, but is -0\.5"),
        ({"variance": float("nan")}, "variance must not be negative, but is nan"),
        ({"variance": float("inf")}, "variance must be finite"),
        ({"variance": 0.1j}, "variance must hold real numbers, not complex"),
        ({"stretch": jnp.full(3, 0.1j)}, "stretch must hold real numbers, not complex"),
        ({"variance": jnp.asarray([0.1, -0.25, 0.1])}, r"variance must not be negative, but is -0\.25"),
        ({"variance": jnp.zeros(2)}, "keys must agree: means has 3, variance has 2"),
        ({"stretch": jnp.asarray([0.0, 0.0, -0.5])}, r"stretch must not be negative, but is -0\.5"),
        ({"stretch": jnp.asarray([0.0, 0.0, jnp.inf])}, r"stretch must be finite, but holds inf at index \(2,\)"),
        ({"stretch": jnp.zeros(2)}, "keys must agree: means has 3, stretch has 2"),
    ],
)
def test_bad_noise_is_refused(wrong, complaint):
    noise = {"variance": 0.1, "stretch": STRETCH} | wrong
    for refused in (
        lambda: noisy_keys(key_for(0), MEANS, **noise),
        lambda: many_noisy_keys(key_for(0), MEANS, 2, **noise),
        lambda: noise_factors(MEANS, **noise),
    ):
        with pytest.raises(ValueError, match=complaint):
            refused()


def test_means_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="means must be finite, but holds nan"):
        noisy_keys(key_for(0), MEANS.at[1, 2].set(jnp.nan), variance=0.1, stretch=STRETCH)


@pytest.mark.usefixtures("unchecked_shapes")
def test_integer_means_are_refused():
    means = jnp.eye(3, dtype=int)
    factors = noise_factors(MEANS, variance=0.1, stretch=STRETCH)
    for refused in (
        lambda: noisy_keys(key_for(0), means, variance=0.1, stretch=STRETCH),
        lambda: noise_factors(means, variance=0.1, stretch=STRETCH),
        lambda: gaussian_keys(key_for(0), means, factors),
    ):
        with pytest.raises(ValueError, match="means must hold floating-point numbers, not int"):
            refused()


def test_no_keys_have_no_draws_to_make():
    keys = many_noisy_keys(key_for(0), MEANS[:0], 2, variance=0.1, stretch=STRETCH[:0])
    assert keys.shape == (2, 0, 3)


@pytest.mark.usefixtures("unchecked_shapes")
def test_a_part_of_a_replicate_is_refused():
    with pytest.raises(ValueError, match=r"replicates must be a whole number, not 1\.5"):
        many_noisy_keys(key_for(0), MEANS, 1.5, variance=0.1, stretch=STRETCH)


def test_no_replicates_are_refused():
    with pytest.raises(ValueError, match="replicates must be positive, not 0"):
        many_noisy_keys(key_for(0), MEANS, 0, variance=0.1, stretch=STRETCH)


@pytest.mark.usefixtures("unchecked_shapes")
def test_factors_of_other_keys_are_refused():
    factors = noise_factors(MEANS, variance=0.1, stretch=STRETCH)
    with pytest.raises(ValueError, match="keys must agree: means has 2, factors has 3"):
        gaussian_keys(key_for(0), MEANS[:2], factors)
    with pytest.raises(ValueError, match="factors must hold real numbers, not complex"):
        gaussian_keys(key_for(0), MEANS, factors.astype(complex))
    with pytest.raises(ValueError, match="key width must agree: means has 2, factors has 3"):
        gaussian_keys(key_for(0), MEANS[:, :2], factors)


@pytest.mark.usefixtures("unchecked_shapes")
def test_arrays_of_numpy_are_taken_without_a_warning():
    means, factors = np.eye(3), np.ones((3, 3, 2))
    draws = [
        lambda x, f: noisy_keys(key_for(0, "numpy"), x, variance=0.1, stretch=np.ones(3)),
        lambda x, f: noise_factors(x, variance=0.1, stretch=np.ones(3)),
        lambda x, f: gaussian_keys(key_for(0, "numpy"), x, f),
    ]
    for draw in draws:
        np.testing.assert_array_equal(draw(means, factors), draw(jnp.asarray(means), jnp.asarray(factors)))


KEY = key_for(0, "corners")


@pytest.mark.slow("two of four members stay inside", but=2)
@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize("power", [-110, -100, 100, 120])
def test_a_variance_that_the_type_does_not_hold_still_has_its_deviation(power):
    """By a power of four: the same digits throughout, where float32 has no number 4**-100 or 4**100."""
    means, still = jnp.zeros((3, 2), jnp.float32), np.zeros(3)
    here = noisy_keys(KEY, means, variance=1.0, stretch=still)
    assert np.array_equal(noisy_keys(KEY, means, variance=4.0**power, stretch=still), np.ldexp(here, power))
    each = noisy_keys(KEY, means, variance=np.full(3, 4.0**power), stretch=still)
    assert np.array_equal(each, np.ldexp(here, power))
    factors = noise_factors(means, variance=4.0**power, stretch=still)
    assert factors[0, 0, 0] == 2.0**power


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("variance", "stretch", "mean", "said"),
    [
        (1e-80, 0.0, 0.0, "variance 1e-80 has the square root 1e-40, which float32 does not hold"),
        (1e80, 0.0, 0.0, "variance 1e\\+80 has the square root 1e\\+40, which float32 does not hold"),
        (0.0, 1e-80, 1.0, "stretch 1e-80 has the square root 1e-40"),
        (1e76, 0.0, 1e30, "keys around these means would reach 1e\\+39, which float32 does not hold"),
        (0.0, 1e20, 1e30, "keys around these means would reach 1e\\+41"),
    ],
)
def test_keys_that_leave_their_type_are_refused(variance, stretch, mean, said):
    means = jnp.full((2, 2), mean, jnp.float32)
    with pytest.raises(ValueError, match=said):
        noisy_keys(KEY, means, variance=variance, stretch=np.full(2, stretch))


def test_an_infinite_variance_gives_nan_under_jit():
    drawn = jax.jit(lambda a: noisy_keys(KEY, jnp.zeros((2, 2), jnp.float32), variance=a, stretch=jnp.zeros(2)))
    assert np.isnan(drawn(jnp.float32(np.inf))).all()
