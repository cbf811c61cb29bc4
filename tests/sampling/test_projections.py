"""Every row of every coupling is N(0, I), rows of one block are orthogonal; sqrt(d) norms are caught."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from attnlab_theory.sampling import gaussian_projection, orthogonal_projection, quasi_monte_carlo_projection
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval, proportion
from tests.sampling.laws import has_covariance, mean_interval
from tests.tolerances import orthonormal_atol

ERROR_RATE = 1e-6 / 64
DRAWS = 4096
M, D = 5, 3
COUPLINGS = {
    "gaussian": gaussian_projection,
    "orthogonal": functools.partial(orthogonal_projection, norms="chi"),
    "quasi Monte Carlo": quasi_monte_carlo_projection,
}
SQRT = functools.partial(orthogonal_projection, norms="sqrt")


@functools.cache
def rows(sample) -> np.ndarray:
    keys = jax.random.split(key_for(0, "projections"), DRAWS)
    return np.asarray(jax.jit(jax.vmap(lambda key: sample(key, M, D)))(keys), np.float64)


def has_normal_length(draws: np.ndarray) -> bool:
    """Whether |w|^2 is chi-square: the share below three thresholds."""
    squares = np.sum(draws**2, axis=1)
    for threshold in (1.0, 2.5, 5.0):
        chance = float(scipy.special.gammainc(D / 2, threshold / 2))
        if not proportion().interval(squares < threshold, ERROR_RATE / 3).contains(Interval.point(chance)):
            return False
    return True


@pytest.mark.slow("six of nine members stay inside", but=6)
@pytest.mark.parametrize("sample", COUPLINGS.values(), ids=COUPLINGS.keys())
@pytest.mark.parametrize("row", [0, 1, M - 1])
def test_every_row_is_standard_normal(sample, row):
    draws = rows(sample)[:, row]
    assert has_covariance(draws, np.eye(D), ERROR_RATE)
    assert has_normal_length(draws)
    assert all(mean_interval(draws[:, i], 1.0, ERROR_RATE).contains(Interval.point(0.0)) for i in range(D))


def test_sqrt_norms_are_not_normal():
    assert not has_normal_length(rows(SQRT)[:, 0])
    assert np.abs(np.sum(rows(SQRT) ** 2, axis=2) - D).max() <= D * orthonormal_atol(D, D)


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize("norms", ["chi", "sqrt"])
def test_rows_are_orthogonal_within_a_block_only(norms):
    w = rows(SQRT if norms == "sqrt" else COUPLINGS["orthogonal"])
    lengths = np.linalg.norm(w, axis=2)
    cosines = np.abs(np.einsum("nmd,nsd->nms", w, w) / (lengths[:, :, None] * lengths[:, None, :]))
    same = np.arange(M)[:, None] // D == np.arange(M)[None] // D
    assert cosines[:, same & ~np.eye(M, dtype=bool)].max() <= orthonormal_atol(D, D)
    assert cosines[:, ~same].mean() > 0.1


def test_few_rows_are_a_part_of_one_block():
    w = np.asarray(orthogonal_projection(key_for(0, "few"), 3, 8, norms="sqrt"), np.float64)
    assert np.abs(w @ w.T - 8 * np.eye(3)).max() <= 8 * orthonormal_atol(3, 8)


def test_quasi_random_rows_fill_the_space_evenly():
    """Exactly half of 2^k rows have a positive coordinate, and a quarter lies beyond each quartile."""
    w = np.asarray(quasi_monte_carlo_projection(key_for(0, "even"), 64, 3))
    quartile = float(scipy.special.ndtri(0.75))
    assert (w > 0).sum(axis=0).tolist() == [32] * 3
    assert (w > quartile).sum(axis=0).tolist() == (w < -quartile).sum(axis=0).tolist() == [16] * 3
    # And in two dimensions at once: a scrambled Sobol net has one sixteenth in each cell of four by four.
    cells = np.searchsorted([-quartile, 0.0, quartile], w[:, 0]) * 4 + np.searchsorted(
        [-quartile, 0.0, quartile], w[:, 1]
    )
    assert np.bincount(cells, minlength=16).tolist() == [4] * 16


def test_quasi_random_digits_are_mixed_and_not_only_shifted():
    """The first two Sobol points differ in their first digit alone: mixed into the second, it is a coin there."""
    central = np.abs(rows(COUPLINGS["quasi Monte Carlo"])[:, :2, 0]) < float(scipy.special.ndtri(0.75))
    agree = central[:, 0] == central[:, 1]
    assert proportion().interval(agree, ERROR_RATE).contains(Interval.point(0.5))


@pytest.mark.slow("that keys depend on seed and names alone stays inside")
def test_quasi_random_rows_depend_on_the_key_and_on_nothing_else():
    one, same, other = (np.asarray(quasi_monte_carlo_projection(key_for(seed, "k"), 64, 3)) for seed in (0, 0, 1))
    assert one.tobytes() == same.tobytes()
    assert np.abs(one - other).min() > 0


@pytest.mark.parametrize("sample", COUPLINGS.values(), ids=COUPLINGS.keys())
@pytest.mark.parametrize(
    ("m", "d", "message"),
    [
        (0, 2, "m must be positive, not 0"),
        (3, 0, "d must be positive, not 0"),
        (-1, 2, "m must be positive, not -1"),
        (3, 2.5, "d must be a whole number, not 2.5"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_empty_projections_are_refused(sample, m, d, message):
    with pytest.raises(ValueError, match=message):
        sample(key_for(0), m, d)


@pytest.mark.usefixtures("unchecked_shapes")
def test_unknown_norms_and_too_many_directions_are_refused():
    unknown: Any = "one"
    with pytest.raises(ValueError, match="norms must be 'chi' or 'sqrt', not 'one'"):
        orthogonal_projection(key_for(0), 2, 2, norms=unknown)
    with pytest.raises(ValueError, match="at most 21201 dimensions, not in 21202"):
        quasi_monte_carlo_projection(key_for(0), 1, 21202)


@pytest.mark.slow("one of six members stays inside", but=1)
@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize("whole", [np.int64, jnp.int32])
@pytest.mark.parametrize("projection", [gaussian_projection, orthogonal_projection, quasi_monte_carlo_projection])
def test_sizes_may_be_whole_numbers_of_numpy_and_jax(projection, whole):
    asked = projection(key_for(0), whole(5), whole(2))
    assert np.array_equal(asked, projection(key_for(0), 5, 2))
