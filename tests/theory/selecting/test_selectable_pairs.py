"""Face counts of Gaussian polytopes against Euler's relation, angles known in closed form and another formula."""

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from attnlab_theory.theory.selecting.selectable_pairs import (
    least_share_of_corner_pairs,
    orthant,
    share_of_faces,
    share_that_lead_themselves,
)
from tests.tolerances import face_count_atol


def faces(n: int, d: int, size: int) -> float:
    return math.comb(n, size) * share_of_faces(n, d, size)


@pytest.mark.parametrize("n", [4, 7, 16, 40])
def test_a_line_segment_has_two_ends(n):
    assert faces(n, 1, 1) == pytest.approx(2, abs=face_count_atol(n, 1))


@pytest.mark.parametrize("n", [4, 7, 16, 40])
def test_a_polygon_has_as_many_edges_as_corners(n):
    assert faces(n, 2, 1) == pytest.approx(faces(n, 2, 2), abs=face_count_atol(n, 2))


@pytest.mark.parametrize(("n", "d"), [(5, 3), (9, 3), (16, 3), (8, 4), (16, 4), (9, 5), (12, 6), (16, 8), (16, 12)])
def test_euler_and_dehn_sommerville_hold(n, d):
    counts = [faces(n, d, size) for size in range(1, d + 1)]
    alternating = sum((-1) ** k * count for k, count in enumerate(counts))
    assert alternating == pytest.approx(1 - (-1) ** d, abs=sum(face_count_atol(n, s + 1) for s in range(d)))
    # Every ridge of a simplicial polytope lies in two facets, and every facet has d ridges.
    assert 2 * counts[d - 2] == pytest.approx(d * counts[d - 1], abs=2 * d * face_count_atol(n, d))


@pytest.mark.parametrize("n", [4, 9, 16, 64])
def test_corners_in_the_plane_agree_with_renyi_and_sulanke(n):
    # Two of the n points are an edge if all others lie on one side of the line through them, whose distance
    # from the origin is normal with variance 1/2, in either direction.
    def on_one_side(p):
        return 2 * scipy.stats.norm.cdf(p) ** (n - 2) * scipy.stats.norm.pdf(p, scale=math.sqrt(0.5))

    expected, _ = scipy.integrate.quad(on_one_side, -8, 8, epsabs=1e-13)
    assert share_of_faces(n, 2, 2) == pytest.approx(expected, abs=face_count_atol(n, 2))


@pytest.mark.parametrize(("n", "covariance", "angle"), [(2, -1 / 3, 1 / 6), (2, 1.0, 1 / 3), (1, 0.7, 1 / 2)])
def test_orthants_of_small_simplices_are_the_known_angles(n, covariance, angle):
    assert orthant(n, covariance) == pytest.approx(angle, abs=face_count_atol(2, 1))


def test_three_negative_covariances_agree_with_the_solid_angle():
    # Three normals with correlation r: 1/8 + 3 arcsin(r) / (4 pi).
    covariance = -0.2
    r = covariance / (1 + covariance)
    assert orthant(3, covariance) == pytest.approx(
        1 / 8 + 3 * np.arcsin(r) / (4 * np.pi), abs=face_count_atol(3, 1)
    )


@pytest.mark.parametrize(
    ("n", "covariance", "angle"),
    [(30, -1 / 32, 3.792682312716163e-24), (40, -1 / 42, 2.621712203664531e-34), (50, 0.5, 0.0030266971290565797)],
)
def test_small_orthants_keep_their_digits(n, covariance, angle):
    """Against quadrature with sixty digits along the real axis, where all but these digits cancel."""
    assert orthant(n, covariance) == pytest.approx(angle, rel=face_count_atol(1, 1))


def test_normals_that_add_up_to_zero_are_not_all_negative():
    assert orthant(49, -1 / 49) == 0.0


def test_orthants_vanish_like_a_power_near_the_least_covariance():
    # The cone of n normals that all but add up to zero is n - 1 dimensional: (1 + n cov)^((n - 1) / 2).
    shares = [orthant(5, -(1 - left) / 5) / left**2 for left in (1e-4, 1e-5, 1e-6)]
    assert shares[1:] == pytest.approx(shares[:-1], rel=1e-3)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_shares_of_many_points_grow_with_the_dimension_up_to_one(size):
    shares = [share_of_faces(100, d, size) for d in range(size, 99)]
    slack = 2 * face_count_atol(1, 1)
    assert min(np.diff(shares)) >= -slack
    assert max(shares) <= 1 + slack


@pytest.mark.parametrize("n", [4, 8, 16])
@pytest.mark.parametrize("size", [1, 2])
def test_one_dimension_less_costs_twice_the_angle_of_the_simplex_itself(n, size):
    """All products of angles add up to one, every other of them to a half (McMullen)."""
    lost = 1 - share_of_faces(n, n - 2, size)
    assert lost == pytest.approx(2 * orthant(n - size, -1 / n), abs=face_count_atol(1, 1))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_every_subset_is_a_face_once_there_is_room(size):
    assert share_of_faces(6, 5, size) == 1
    assert share_of_faces(6, 9, size) == 1
    shares = [share_of_faces(12, d, size) for d in range(size, 12)]
    assert shares == sorted(shares)


def test_of_two_numbers_three_quarters_lead_under_their_own_query():
    # E Phi(|z|) for a normal z: Phi(|z|) is uniform between a half and one.
    assert share_that_lead_themselves(2, 1) == pytest.approx(3 / 4, abs=1e-9)


@pytest.mark.parametrize(("n", "d"), [(4, 2), (16, 3), (9, 6)])
def test_a_key_that_leads_itself_is_a_corner(n, d):
    draws = np.random.default_rng(0).normal(size=(20_000, n, d))
    scores = np.einsum("rd,rnd->rn", draws[:, 0], draws)
    share = np.mean(np.argmax(scores, axis=1) == 0)
    # Five standard deviations, and no draw is repeated: the seed is fixed.
    assert share_that_lead_themselves(n, d) == pytest.approx(share, abs=5 * 0.5 / 20_000**0.5)
    assert share_that_lead_themselves(n, d) < share_of_faces(n, d, 1)


def test_all_corners_make_all_pairs():
    assert least_share_of_corner_pairs(6, 5) == 1


@pytest.mark.parametrize(("n", "d"), [(5, 2), (16, 2), (16, 4)])
def test_edges_join_corners(n, d):
    assert share_of_faces(n, d, 2) < least_share_of_corner_pairs(n, d)


def test_three_corners_of_four_points_in_the_plane_make_half_of_the_pairs():
    # In the plane four points have three or four corners: C = 4 - X, and a mean of C (C - 1) in closed form.
    inside = 1 - share_of_faces(4, 2, 1)
    exact = (4 * inside * 6 + (1 - 4 * inside) * 12) / 12
    assert least_share_of_corner_pairs(4, 2) == pytest.approx(exact, abs=0.25 / 12)
    assert least_share_of_corner_pairs(4, 2) <= exact


@pytest.mark.parametrize("n", [1, 3, 12])
def test_independent_normals_are_all_negative_with_a_half_each(n):
    assert orthant(n, 0.0) == 2.0**-n
    assert orthant(n, 1e-9) == pytest.approx(2.0**-n, rel=1e-6)
