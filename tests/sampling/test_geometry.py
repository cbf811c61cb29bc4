"""Random frames are orthonormal and Haar; an uncorrected QR is caught."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.sampling import orthonormal
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval, bounded, proportion
from tests.tolerances import orthonormal_atol

ERROR_RATE = 1e-6 / 16
DRAWS = 4096


def frames(n: int, d: int, sample=orthonormal) -> np.ndarray:
    keys = jax.random.split(key_for(0, "frames", f"{n} in {d}"), DRAWS)
    return np.asarray(jax.jit(jax.vmap(lambda key: sample(key, n, d)))(keys), np.float64)


def uncorrected(key, n: int, d: int):
    return jnp.linalg.qr(jax.random.normal(key, (d, n)))[0].T


@pytest.mark.slow("one of five members stays inside", but=1)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (1, 8), (5, 8), (8, 8), (16, 64)])
def test_rows_are_orthonormal(n, d):
    frame = np.asarray(orthonormal(key_for(0, "frame"), n, d), np.float64)
    assert frame.shape == (n, d)
    assert np.max(np.abs(frame @ frame.T - np.eye(n))) <= orthonormal_atol(n, d)


def trace_interval(sample) -> Interval:
    traces = np.trace(frames(4, 6, sample)[:, :, :4], axis1=1, axis2=2)
    return bounded(-4.0, 4.0).interval(traces, ERROR_RATE)


def test_the_mean_trace_is_zero():
    assert trace_interval(orthonormal).contains(Interval.point(0.0))


def test_an_uncorrected_qr_has_a_biased_trace():
    assert not trace_interval(uncorrected).contains(Interval.point(0.0))


def determinant_interval(sample) -> Interval:
    positive = np.linalg.det(frames(3, 3, sample)) > 0
    return proportion().interval(positive, ERROR_RATE)


def test_half_of_the_full_frames_are_reflections():
    assert determinant_interval(orthonormal).contains(Interval.point(0.5))


def test_an_uncorrected_qr_never_changes_orientation():
    assert not determinant_interval(uncorrected).contains(Interval.point(0.5))


@pytest.mark.parametrize("row", [0, 1])
def test_a_row_is_uniform_on_the_sphere(row):
    # On the sphere in d = 3 every coordinate is uniform on [-1, 1] (Archimedes).
    coordinates = frames(2, 3)[:, row, :]
    for threshold in (-0.5, 0.0, 0.5):
        below = proportion().interval(coordinates[:, 2] <= threshold, ERROR_RATE)
        assert below.contains(Interval.point((1 + threshold) / 2))


def test_signs_of_the_diagonal_are_independent():
    # An overall sign fixed by one coin would pass the test of the trace.
    diagonal = np.sign(frames(2, 4)[:, [0, 1], [0, 1]])
    assert bounded(-1.0, 1.0).interval(diagonal[:, 0] * diagonal[:, 1], ERROR_RATE).contains(Interval.point(0.0))


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("n", "d", "said"), [(2.0, 3, "n .* not 2.0"), (2, 3.5, "d .* not 3.5"), (True, 3, "not True")]
)
def test_a_number_of_vectors_that_is_not_whole_is_refused(n, d, said):
    with pytest.raises(ValueError, match=f"{said}$"):
        orthonormal(key_for(0), n, d)


@pytest.mark.parametrize(("n", "d"), [(3, 2), (0, 2), (-1, 4), (1, 0)])
def test_vectors_that_do_not_fit_are_refused(n, d):
    with pytest.raises(ValueError, match=f"{n} orthonormal vectors do not fit in {d} dimensions"):
        orthonormal(key_for(0), n, d)
