"""Pairs of subspaces have the principal angles they were asked for, and no others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.sampling import principal_frames, subspace_pair
from attnlab_theory.seeds import key_for
from tests.tolerances import orthonormal_atol

ANGLES = np.array([0.0, 0.3, 1.2])


def test_principal_vectors_meet_at_the_given_angles():
    a, b = principal_frames(key_for(0, "frames"), 9, 3, 4, angles=jnp.asarray(ANGLES, float))
    wanted = np.eye(3, 4) * np.append(np.cos(ANGLES), 0.0)[None, :]
    assert np.max(np.abs(np.asarray(a @ b.T) - wanted)) <= orthonormal_atol(7, 9)


@pytest.mark.slow("nothing inside asks for angles; that bases are turned stays inside")
@pytest.mark.parametrize(("m", "n"), [(3, 4), (4, 3), (3, 3)])
def test_bases_are_orthonormal_and_keep_the_angles(m, n):
    a, b = subspace_pair(key_for(0, "pair"), 9, m, n, angles=jnp.asarray(ANGLES, float))
    for basis in (a, b):
        assert np.max(np.abs(np.asarray(basis @ basis.T) - np.eye(len(basis)))) <= 4 * orthonormal_atol(7, 9)
    cosines = np.linalg.svd(np.asarray(a @ b.T), compute_uv=False)
    assert np.max(np.abs(cosines - np.cos(ANGLES))) <= 4 * 3 * orthonormal_atol(7, 9)


def test_bases_are_turned_within_their_subspaces():
    angles = jnp.asarray(ANGLES, float)
    a, b = subspace_pair(key_for(0, "pair"), 9, 3, 3, angles=angles)
    overlaps = np.asarray(a @ b.T, dtype=np.float64)
    # Turned on one side only, one of the two products would be diagonal.
    for product in (overlaps @ overlaps.T, overlaps.T @ overlaps):
        assert np.min(np.abs(product)) > 8 * orthonormal_atol(6, 9)


def test_angles_may_be_traced():
    def cosine(angle):
        a, b = principal_frames(key_for(0, "frames"), 4, 1, 1, angles=angle[None])
        return (a @ b.T)[0, 0]

    angles = jnp.linspace(0.0, 1.5, 4)
    assert np.max(np.abs(jax.vmap(cosine)(angles) - jnp.cos(angles))) <= orthonormal_atol(2, 4)


@pytest.mark.parametrize(("d", "m", "n"), [(6, 3, 4), (7, 0, 4), (7, 3, 0)])
def test_subspaces_that_cannot_have_generic_angles_are_refused(d, m, n):
    with pytest.raises(ValueError, match=r"m \+ n <= d"):
        subspace_pair(key_for(0), d, m, n, angles=jnp.ones(min(m, n)))


def test_a_wrong_number_of_angles_is_refused():
    with pytest.raises(ValueError, match="principal angles must agree"):
        principal_frames(key_for(0), 9, 3, 4, angles=jnp.ones(4))


@pytest.mark.parametrize(
    ("angle", "message"), [(3.0, "between 0 and pi/2, not 3"), (-0.1, "not -0.1"), (np.nan, "must be finite")]
)
def test_angles_that_are_no_principal_angles_are_refused(angle, message):
    with pytest.raises(ValueError, match=message):
        principal_frames(key_for(0), 4, 1, 2, angles=jnp.asarray([angle], float))


def test_a_right_angle_may_be_rounded_up():
    a, b = principal_frames(key_for(0), 4, 1, 2, angles=jnp.full(1, jnp.pi / 2))
    assert np.abs(a @ b.T).max() <= 8 * float(jnp.finfo(a.dtype).eps)


@pytest.mark.usefixtures("unchecked_shapes")
def test_dimensions_that_are_not_whole_are_refused():
    with pytest.raises(ValueError, match=r"m must be a whole number, not 1\.0"):
        principal_frames(key_for(0), 4, 1.0, 2, angles=jnp.ones(1))


def test_complex_angles_are_refused(unchecked_shapes):
    with pytest.raises(ValueError, match=r"^angles must hold real numbers, not complex"):
        principal_frames(key_for(0), 4, 1, 2, angles=jnp.full(1, 0.5 + 1j))
