"""Which subsets a query selects, against exact integer geometry; what is certified, against attention."""

import contextlib
import itertools
import math

import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attnlab_theory.construct import query_for_subset, subsets
from attnlab_theory.construct.faces import face_around, precision
from tests.tolerances import margin_atol

SQUARE = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
LINE = np.array([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3], [0.0, 1.0]])

integers = st.integers(-4, 4)
flat = hnp.arrays(np.int64, (7, 2), elements=integers)
deep = hnp.arrays(np.int64, (8, 4), elements=integers)
directions = hnp.arrays(np.int64, (4,), elements=integers)


def faces_in_the_plane(keys) -> set[tuple[int, ...]]:
    """Every set of maximisers, in exact integers.

    The maximisers only change at directions orthogonal to a difference of keys. So it is enough to try those, and
    one direction between any two neighbours: their sum, since no two neighbours are opposite.
    """
    differences = {tuple(a - b) for a, b in itertools.permutations(keys, 2)} - {(0, 0)}
    turns = {(1, 0), (-1, 0), (0, 1), (0, -1)} | {(-y, x) for x, y in differences} | differences
    ordered = sorted(turns, key=lambda u: math.atan2(u[1], u[0]))
    between = {(a[0] + b[0], a[1] + b[1]) for a, b in zip(ordered, ordered[1:] + ordered[:1], strict=True)}
    scores = (keys @ np.array(u) for u in [(0, 0), *turns, *between])
    return {tuple(int(i) for i in np.flatnonzero(s == s.max())) for s in scores}


def is_selectable(keys, subset) -> bool:
    try:
        query_for_subset(np.asarray(keys, dtype=np.float64), subset)
    except ValueError:
        return False
    return True


@contextlib.contextmanager
def unexplained():
    """Refusals without their reasons, which cost fifteen times as much as the decisions and come after them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subsets, "_why_not", lambda keys, chosen, rounding: "refused")
        yield


def margin_of(keys, subset, query) -> float:
    scores = keys @ query
    return float(np.min(scores[list(subset)]) - np.max(np.delete(scores, list(subset))))


def maximisers(keys, direction) -> tuple[int, ...]:
    scores = keys @ direction
    return tuple(int(i) for i in np.flatnonzero(scores == scores.max()))


@pytest.mark.slow("the weights of a face and its largest margin stay inside")
@hypothesis.given(flat)
def test_in_the_plane_exactly_the_faces_can_be_selected(keys):
    """Asks for every subset of up to three keys in each case that Hypothesis draws."""
    faces = faces_in_the_plane(keys)
    tried = {s for size in (1, 2, 3) for s in itertools.combinations(range(7), size)} | faces
    with unexplained():
        assert {s for s in tried if is_selectable(keys, s)} == faces


@hypothesis.given(deep, directions, st.sampled_from([0.3, 1e-2, 1e-4]))
def test_a_face_gets_the_weight_that_is_certified_equally_shared(keys, direction, tolerance):
    """Finds a query for each case that Hypothesis draws, and measures its weights by attention."""
    found = query_for_subset(keys.astype(np.float64), maximisers(keys, direction))
    with jax.enable_x64(True):
        strength = found.strength(tolerance)
        assert found.measured_error(strength) <= found.error_bound(strength) <= tolerance


@hypothesis.given(deep, directions, st.floats(0, 64, width=32, allow_subnormal=False))
def test_the_error_bound_holds_at_every_strength(keys, direction, strength):
    """Finds a query for each case that Hypothesis draws, and measures its weights by attention."""
    found = query_for_subset(keys.astype(np.float64), maximisers(keys, direction))
    assert found.measured_error(strength) <= found.error_bound(strength)


@hypothesis.given(deep, directions, hnp.arrays(np.float64, (4,), elements=st.floats(-1, 1, width=32)))
def test_no_other_query_has_a_larger_margin(keys, direction, other):
    keys = keys.astype(np.float64)
    subset = maximisers(keys, direction)
    found = query_for_subset(keys, subset)
    if len(subset) < len(keys):
        # Equal scores inside the subset are required of a rival too: it may not differ on the subset's span.
        inside = keys[list(subset)] - keys[subset[0]][None, :]
        rival = other - np.linalg.lstsq(inside, inside @ other, rcond=None)[0]
        length = float(np.linalg.norm(rival))
        assert margin_of(keys, subset, rival) <= length * found.margin + margin_atol(keys)
        assert abs(float(np.linalg.norm(found.query)) - 1) <= margin_atol(np.ones((4, 1)))


@hypothesis.given(deep, directions)
def test_a_midpoint_shuts_out_its_ends_and_is_shut_out_itself(keys, direction):
    doubled = 2 * keys.astype(np.float64)
    with_midpoint = np.vstack([doubled, (doubled[:1] + doubled[1:2]) / 2])
    assert not is_selectable(with_midpoint, (0, 1))
    assert not is_selectable(with_midpoint, (8,))


@hypothesis.given(deep, directions, hnp.arrays(np.int64, (4,), elements=st.integers(-100, 100)))
def test_shifting_all_keys_changes_neither_decision_nor_margin(keys, direction, shift):
    keys, shifted = keys.astype(np.float64), (keys + shift[None, :]).astype(np.float64)
    for subset in (maximisers(keys, direction), (0, 1), (2,)):
        assert is_selectable(keys, subset) == is_selectable(shifted, subset)
    subset = maximisers(keys, direction)
    here, there = query_for_subset(keys, subset), query_for_subset(shifted, subset)
    if len(subset) < len(keys):
        assert abs(here.margin - there.margin) <= margin_atol(shifted)
        assert margin_of(keys, subset, there.query) >= here.margin - margin_atol(shifted)


def test_margin_is_the_largest_where_keys_repeat():
    """scipy's non-negative least squares stops at a wrong solution here: a margin of 4.51."""
    keys = np.full((8, 4), -3.0)
    keys[1, 0], keys[2, 1], keys[5] = 0.0, 2.0, (-1.0, -3.0, 1.0, -3.0)
    found = query_for_subset(keys, (2,))
    assert abs(found.margin - 5.0) <= margin_atol(keys)


@hypothesis.given(deep, directions, st.integers(-40, 40))
def test_scaling_the_keys_scales_the_margin_and_leaves_the_direction(keys, direction, power):
    keys, subset = keys.astype(np.float64), maximisers(keys, direction)
    here, there = query_for_subset(keys, subset), query_for_subset(2.0**power * keys, subset)
    # By a power of two: the same digits throughout.
    assert there.margin == 2.0**power * here.margin
    assert np.array_equal(there.query, here.query)


@hypothesis.given(deep, directions, st.permutations(range(8)))
def test_the_order_of_the_keys_does_not_matter(keys, direction, order):
    keys, subset = keys.astype(np.float64), maximisers(keys, direction)
    here = query_for_subset(keys, subset)
    there = query_for_subset(keys[order], [order.index(i) for i in subset])
    assert here.margin == there.margin or abs(here.margin - there.margin) <= margin_atol(keys)


@pytest.mark.parametrize("strength", [0.0, 3.0, 40.0, 2e4])
def test_the_error_bound_is_the_leak_of_scores_that_rounding_has_moved(strength):
    # Made by hand, so that every part of the bound counts: five keys, two wanted, a spread, entries of any sign.
    keys = np.array([[1.0, -2.0, 3.0], [0.5, 0.5, 0.5], [-7.0, 1.0, 2.0], [0.0, 0.0, 1.0], [2.0, 2.0, -2.0]])
    query, margin, spread = np.array([0.6, -0.8, 0.1]), 0.3, 1e-3
    found = subsets.SubsetQuery(keys=keys, subset=(0, 3), query=query, margin=margin, spread=spread)
    eps = float(np.finfo(precision()).eps)
    moved = strength * (3 + 3) * eps * max(sum(abs(a * b) for a, b in zip(key, query, strict=True)) for key in keys)
    apart, lead = strength * spread + 2 * moved, max(0.0, strength * margin - 2 * moved)
    wanted = 1 - 1 / (math.exp(apart) + 3 / 2 * math.exp(-lead)) + (5 + 8) * eps
    assert math.isclose(found.error_bound(strength), min(1.0, wanted), rel_tol=1e-9)


def test_all_keys_are_averaged_by_no_query_at_all():
    found = query_for_subset(SQUARE, [3, 1, 0, 2])
    assert found.subset == (0, 1, 2, 3)
    assert not found.query.any()
    assert math.isinf(found.margin)
    assert found.strength(0.5) == 0
    assert found.measured_error(0.0) <= found.error_bound(0.0)


def test_coinciding_keys_can_only_be_selected_together():
    assert query_for_subset(np.zeros((3, 2)), [0, 1, 2]).margin == math.inf
    with pytest.raises(ValueError, match="key 1 is a copy of key 0"):
        query_for_subset(np.zeros((3, 2)), [0])


def test_keys_that_only_rounding_makes_alike_are_not_called_copies():
    keys = np.array([[0.0, 0], [1, 0], [0, 1], [1e15, 1e15]])
    with pytest.raises(ValueError, match=r"key 0 differs from key 1 by no more than 1e-15 .* rounding is 1.26e-15"):
        query_for_subset(keys, [1])


def test_keys_just_below_half_of_the_largest_number_have_scores():
    largest = 0.499 * np.finfo(float).max
    assert query_for_subset(np.array([[largest, 0], [0, 0]]), [0]).margin == pytest.approx(largest)


@pytest.mark.parametrize("largest", [1e308, 1.7e308])
def test_keys_too_large_for_their_scores_are_refused(largest):
    with pytest.raises(ValueError, match=r"keys as large as 1.*e\+308 have scores beyond double precision; scale"):
        query_for_subset(np.array([[largest, 0.0], [-largest, 0.0]]), [0])


def test_keys_almost_too_large_are_told_apart():
    with jax.enable_x64(True):
        found = query_for_subset(np.array([[8e307, 0.0], [-8e307, 0.0]]), [0])
        assert found.margin == pytest.approx(1.6e308)
        assert found.measured_error(found.strength(1e-3)) <= 1e-3


def test_keys_too_small_for_any_strength_are_refused_by_their_margin():
    with pytest.raises(ValueError, match=r"keys are too small.*scale the keys up"):
        query_for_subset(SQUARE * 1e-320, [0]).strength(1e-2)


def test_the_uw_pair_is_selected_by_the_known_query():
    keys = np.array([[0.47, 0.65, 0.60], [0.64, 0.50, -0.59], [-0.03, -0.48, -0.88], [0.43, -0.83, 0.35]])
    assert np.round(query_for_subset(keys, [0, 1]).query, 4).tolist() == [0.6042, 0.7967, -0.0141]


@pytest.mark.parametrize(
    ("keys", "subset", "reason"),
    [
        (LINE, [0, 2], r"key 1 is the mixture 0.5 key 0 \+ 0.5 key 2.*is \{0, 1, 2\}"),
        (LINE, [1], r"key 1 is the mixture 0.5 key 0 \+ 0.5 key 2 of the others.*is \{0, 1, 2\}"),
        (LINE, [0, 1], r"on the face of keys \{0, 1, 2\}.*without favouring \{2\}"),
        (SQUARE, [0, 2], r"inside the hull of all keys.*without favouring \{1, 3\}.*is all the keys"),
        (np.vstack([SQUARE, SQUARE[1:2]]), [0, 1], r"key 4 is a copy of key 1.*is \{0, 1, 4\}"),
    ],
)
def test_a_refusal_names_the_reason_and_the_smallest_selectable_set(keys, subset, reason):
    with pytest.raises(ValueError, match=reason):
        query_for_subset(keys, subset)


@pytest.mark.parametrize("power", [-60, -30, 0, 30, 60])
def test_a_face_is_the_same_at_every_scale(power):
    corner = np.array([[1.0, 1], [2, 2], [3, 3], [0, 10]]) * 2.0**power
    assert face_around(corner, np.mean(corner[:2], axis=0)) == (0, 1, 2)


def test_a_face_is_named_where_the_presolve_of_the_linear_programme_gives_up():
    keys = np.array([[7e7, 3.6e8], [-4e-3, 3e-2], [2.7e8, -1.3e9], [-8.5e-8, -7.7e-8], [2.8, -8.6], [6.6e-13, 0]])
    keys = np.vstack([keys, [[-2e-8, 8.2e-9], [-8.5e-10, 9.7e-10]]])
    with pytest.raises(ValueError, match=r"no query selects exactly|does not tell which face"):
        query_for_subset(keys, [2, 3])


def test_a_margin_below_the_keys_own_rounding_is_none():
    # Two units in the last place of float32, which a linear programme still tells apart.
    bent = np.array([[0.0, 1.0], [0.5, 1.0 + 2.0**-22], [1.0, 1.0]], dtype=np.float32)
    with pytest.raises(ValueError, match="no larger than the rounding"):
        query_for_subset(bent, [1])


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float16, jnp.bfloat16])
def test_a_key_between_two_others_but_for_rounding_is_not_selected(dtype):
    keys = jnp.asarray([[0.1, 0.9], [0.7, 0.3], [0.4, 0.6], [-1.0, -1.0]], dtype)
    with pytest.raises(ValueError, match=r"no larger than the rounding|no query selects"):
        query_for_subset(keys, [2])


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float16, jnp.bfloat16])
def test_rounded_keys_on_a_line_are_selected_together(dtype):
    found = query_for_subset(jnp.asarray(LINE, dtype), [0, 1, 2])
    assert 0 < found.spread <= 4 * float(jnp.finfo(dtype).eps)


@pytest.mark.usefixtures("unchecked_shapes")
def test_a_malformed_request_is_refused(subtests):
    for keys, subset, message in [
        (SQUARE, [], "at least one key"),
        (SQUARE, [0, 0], "once"),
        (SQUARE, [4], "holds 4.*0 to 3"),
        (SQUARE, [-1], "holds -1"),
        (SQUARE, 0, "must list the numbers of the wanted keys, not 0"),
        (SQUARE, None, "must list the numbers of the wanted keys, not None"),
        (SQUARE, [0.0], r"must be a whole number, not 0\.0"),
        (SQUARE, [0.5], r"must be a whole number, not 0\.5"),
        (SQUARE, ["a"], "must be a whole number, not 'a'"),
        (SQUARE, [[0]], r"must be a whole number, not \[0\]"),
        (SQUARE, [False, True], r"not \[False, True\]; numpy.flatnonzero"),
        (SQUARE, np.array([True, False]), "numpy.flatnonzero"),
        (SQUARE[0], [0], "2 axes"),
        (SQUARE + 1j, [0], "keys must hold real numbers, not complex128"),
        (SQUARE.astype(object), [0], "keys must hold real numbers, not object"),
        (np.zeros((0, 2)), [0], "at least one key"),
        (np.array([[0.0, np.nan]]), [0], "nan"),
        (np.array([[0.0, np.inf]]), [0], "inf"),
    ]:
        with subtests.test(message), pytest.raises(ValueError, match=message):
            query_for_subset(keys, subset)


@pytest.mark.parametrize("tolerance", [0.0, 1.0, -1.0, math.nan])
def test_a_tolerance_that_is_none_is_refused(tolerance):
    with pytest.raises(ValueError, match="tolerance"):
        query_for_subset(SQUARE, [0]).strength(tolerance)


def test_a_tolerance_beyond_the_precision_is_refused():
    with pytest.raises(ValueError, match="cannot be certified"):
        query_for_subset(SQUARE, [0]).strength(4 * float(np.finfo(precision()).eps))


@pytest.mark.parametrize("strength", [-1.0, math.nan, math.inf])
def test_a_strength_that_is_none_is_refused(strength):
    found = query_for_subset(SQUARE, [0])
    for asked in (found.error_bound, found.measured_error):
        with pytest.raises(ValueError, match="strength"):
            asked(strength)


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("gap", [2e-15, 4e-15, 1e-14])
def test_keys_a_little_more_than_their_rounding_apart_are_told_apart(n, gap):
    keys = np.stack([np.ones(n), gap * np.arange(n)], axis=1)
    assert query_for_subset(keys, [0]).margin == pytest.approx(gap)
