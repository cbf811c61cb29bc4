"""A routing is met within its certificate, by the smallest matrices, or refused with the reason."""

import contextlib
import dataclasses
import itertools

import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.special
from hypothesis import strategies as st

from attnlab_theory.construct import Routing, route, shared_route
from attnlab_theory.theory.selecting.copying import leak_bound
from tests.strategies import host_arrays
from tests.tolerances import linear_algebra_rtol, routing_rtol

N, D = 4, 6
FRAME = np.linalg.qr(np.random.default_rng(0).normal(size=(D, D)))[0]

HOMEWORK = np.array([[0, 1.0, 0, 1], [1, 0, 0, 0], [0, 1, 1, 0]])
WANTED = np.array([[0, 1.0, -1, 0], [0, 1, 0, 0], [np.nan] * 4])

TRIANGLE_CONDITION = 100.0
"""Four unit rows plus entries of at most one below the diagonal: 60 at the most, found with all of them -1."""


def independent(below):
    """Inputs of fixed shape that cannot be dependent: a unit triangle times an orthonormal frame."""
    return (np.eye(N) + np.tril(below, -1)) @ FRAME[:N]


inputs = host_arrays(N, N, peak=1.0).map(independent)
values = host_arrays(N, 3)
destinations = st.lists(st.one_of(st.none(), st.integers(0, N - 1)), min_size=N, max_size=N).filter(
    lambda routes: any(goal is not None for goal in routes)
)
chains = st.tuples(*(st.one_of(st.none(), st.integers(i, N - 1)) for i in range(N))).filter(
    lambda routes: any(goal is not None for goal in routes)
)
"""Every row attends to itself or to a later one: no cycle."""
tolerances = st.sampled_from([10.0, 1e-1, 1e-3, 1e-6, 1e-10])


def outputs_for(routes, values):
    return np.stack([np.full(3, np.nan) if goal is None else values[goal] for goal in routes])


def error(found: Routing) -> float:
    """Largest miss of a routed row, recomputed from k, q and v by numpy."""
    x = found.inputs
    weights = scipy.special.softmax((x @ found.q.T) @ (x @ found.k.T).T, axis=1)
    missed = weights @ (x @ found.v.T) - found.wanted
    return max(float(np.linalg.norm(missed[i])) for i, goal in enumerate(found.routes) if goal is not None)


def least_margin(found: Routing) -> float:
    scores = (found.inputs @ found.q.T) @ (found.inputs @ found.k.T).T
    return min(
        scores[i, goal] - scores[i, j]
        for i, goal in enumerate(found.routes)
        if goal is not None
        for j in range(len(scores))
        if j != goal
    )


@pytest.mark.slow("errors within their certificates, at either end of float64, stay inside")
@hypothesis.given(inputs, destinations, values, tolerances)
def test_measured_is_within_certified_and_certified_within_tolerance(x, routes, values, tolerance):
    found = route(x, routes, outputs_for(routes, values), tolerance=tolerance)
    assert max(found.measured, error(found)) <= found.certified <= tolerance
    assert found.margin <= least_margin(found)


@hypothesis.given(inputs, chains, values, tolerances)
def test_shared_keys_and_queries_route_every_chain(x, routes, values, tolerance):
    found = shared_route(x, routes, outputs_for(routes, values), tolerance=tolerance)
    assert np.array_equal(found.k, found.q)
    assert max(found.measured, error(found)) <= found.certified <= tolerance


@hypothesis.given(inputs, destinations, values)
def test_certificate_is_the_copy_bound_of_the_margin(x, routes, values):
    """Builds a routing for each case that Hypothesis draws."""
    found = route(x, routes, outputs_for(routes, values), tolerance=1e-2)
    v = found.inputs @ found.v.T
    apart = max(np.max(np.linalg.norm(v - v[goal], axis=1)) for goal in routes if goal is not None)
    # Beyond the bound only rounding is certified: some n d eps of values below 4 * 60.
    slack = linear_algebra_rtol(N, D, 4 * TRIANGLE_CONDITION)
    assert found.certified == pytest.approx(leak_bound(N, found.margin) * apart, rel=slack, abs=slack)
    # No margin is wasted: a longer W than the tolerance needs would certify less.
    assert found.margin == 0 or found.certified == pytest.approx(1e-2, rel=2**-29)


@hypothesis.given(inputs, destinations, values)
def test_no_feasible_matrix_is_shorter(x, routes, values):
    found = route(x, routes, outputs_for(routes, values), tolerance=1e-6)
    w = found.w
    # The gradient of ||W||^2/2 is W: W is the shortest iff it is a sum of constraints that are active, with
    # positive multipliers. Least squares over the active ones must reproduce it without help.
    rows = [
        np.outer(x[goal] - x[j], x[i]).ravel()
        for i, goal in enumerate(routes)
        if goal is not None
        for j in range(N)
        if j != goal
    ]
    multipliers, residual = scipy.optimize.nnls(np.stack(rows).T, w.ravel())
    rounding = routing_rtol(TRIANGLE_CONDITION)
    assert residual <= rounding * np.linalg.norm(w)
    # ||W||^2 = sum of multipliers times margins achieved; the margins of those that count are the least one.
    assert np.sum(multipliers) * found.margin == pytest.approx(np.linalg.norm(w) ** 2, rel=rounding)


@pytest.mark.slow("that the units of the inputs do not matter stays inside")
@hypothesis.given(inputs, destinations, values, st.integers(0, 20))
def test_rotating_the_inputs_changes_no_norm(x, routes, values, seed):
    outputs = outputs_for(routes, values)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(D, D)))[0]
    here, there = (route(points, routes, outputs, tolerance=1e-3) for points in (x, x @ turn))
    rounding = routing_rtol(TRIANGLE_CONDITION)
    assert np.linalg.norm(there.w) == pytest.approx(np.linalg.norm(here.w), rel=rounding)
    assert np.linalg.norm(there.v) == pytest.approx(np.linalg.norm(here.v), rel=rounding)
    assert np.max(np.abs(there.w - turn.T @ here.w @ turn)) <= rounding * np.linalg.norm(here.w)


ENTRIES_OF_ROUNDING = {
    "a zero of the keys": ([[1.0, 1, 1, 0], [1, -1, 0, 1], [1, 0, 0, -1]], [1, 1, 2]),
    "a zero for all": ([[-1.0, 0, 1, 0], [0, 1, 0, 1], [-1, 0, 1, 1]], [1, 1, 1]),
    "many zeros": ([[1.0, -1, 0, 0], [-1, 0, 0, 1], [1, 0, 0, 0]], [2, 0, 1]),
}


@pytest.mark.parametrize(("x", "routes"), ENTRIES_OF_ROUNDING.values(), ids=ENTRIES_OF_ROUNDING)
@pytest.mark.parametrize("power", [-1000, 1000, 1010])
def test_entries_of_rounding_may_be_lost_where_inputs_are_long(x, routes, power):
    """In matrices as small as these, 1e-17 of the largest entry is no normal number any more."""
    here, there = (route(2.0**p * np.array(x), routes, np.eye(3)[routes], tolerance=1e-6) for p in (0, power))
    assert there.certified <= 1e-6
    assert there.margin == pytest.approx(here.margin, rel=routing_rtol(TRIANGLE_CONDITION))


@pytest.mark.parametrize("sign", [1, -1])
def test_entries_that_count_may_not_be_lost(sign):
    x, routes = ENTRIES_OF_ROUNDING["a zero of the keys"]
    with pytest.raises(ValueError, match=r"ask for matrices beyond float64: scale them down"):
        route(sign * 2.0**1021 * np.array(x), routes, 2.0**40 * np.eye(3)[routes], tolerance=2.0**20)


@pytest.mark.parametrize("scale", [1e-150, 1e-6, 1e6, 1e150])
def test_the_inputs_units_do_not_matter(scale):
    here = route(HOMEWORK, [2, 0, None], WANTED, tolerance=1e-3)
    there = route(scale * HOMEWORK, [2, 0, None], WANTED, tolerance=1e-3)
    assert there.certified <= 1e-3
    # W itself may be out of range: k and q carry half of the scale each.
    w = (scale * there.k).T @ (scale * there.q)
    assert np.linalg.norm(w) == pytest.approx(np.linalg.norm(here.w), rel=routing_rtol(TRIANGLE_CONDITION))


@hypothesis.given(inputs, destinations, values)
def test_values_are_the_shortest_that_fit(x, routes, values):
    found = route(x, routes, outputs_for(routes, values), tolerance=1.0)
    goals = sorted({goal for goal in routes if goal is not None})
    rounding = 4 * linear_algebra_rtol(N, D, TRIANGLE_CONDITION**2)
    assert np.max(np.abs(x[goals] @ found.v.T - values[goals])) <= rounding
    # The shortest V sees nothing outside the span of the goals.
    outside = scipy.linalg.null_space(x[goals])
    assert np.max(np.abs(found.v @ outside)) <= rounding


def test_key_and_query_rows_are_as_few_as_the_routed_rows():
    found = route(HOMEWORK, [2, 0, None], WANTED, tolerance=1e-3)
    assert found.k.shape == found.q.shape == (2, 4)
    assert np.linalg.matrix_rank(found.w) == 2


def test_there_are_no_rows_of_rounding_alone():
    """All rows attend to the first input, and one query does for them all."""
    x = independent(np.random.default_rng(5).uniform(-1, 1, (N, N)))[:3]
    found = route(x, [0, 0, 0], np.ones((3, 1)), tolerance=1e-3)
    assert len(found.k) == len(found.q) == np.linalg.matrix_rank(found.w) == 1


def test_weights_and_outputs_are_those_of_attention():
    found = route(HOMEWORK, [2, 0, None], WANTED, tolerance=1e-3)
    assert np.argmax(found.weights, axis=1)[:2].tolist() == [2, 0]
    assert np.max(np.abs(found.outputs[:2] - WANTED[:2])) <= found.measured <= 1e-3
    assert np.all(np.isfinite(found.outputs[2]))
    # A weak routing, whose weights are far from 0 and 1.
    weak = route(HOMEWORK, [2, 0, None], WANTED, tolerance=0.5)
    weights = scipy.special.softmax((HOMEWORK @ weak.q.T) @ (HOMEWORK @ weak.k.T).T, axis=1)
    assert 0.05 < np.min(weights[0]) < np.max(weights[0]) < 0.95
    np.testing.assert_allclose(weak.weights, weights, rtol=1e-12)
    np.testing.assert_allclose(weak.outputs, weights @ (HOMEWORK @ weak.v.T), rtol=1e-12, atol=1e-12)


def test_coarse_tolerance_needs_no_weights_at_all():
    found = route(HOMEWORK, [2, 0, None], WANTED, tolerance=10.0)
    assert not np.any(found.w)
    assert found.margin == 0
    assert found.measured <= found.certified <= 10


def test_outputs_of_nought_are_routed_by_nothing_at_all():
    found = route(HOMEWORK, [2, 0, None], np.zeros((3, 2)), tolerance=1e-3)
    assert not any(np.any(matrix) for matrix in (found.k, found.q, found.v))
    assert found.measured == found.certified == 0


def test_one_input_routes_to_itself():
    found = route(np.array([[3.0, 4.0]]), [0], np.array([[7.0]]), tolerance=1e-9)
    assert found.margin == np.inf
    assert found.measured <= found.certified <= 1e-9


def test_float32_inputs_may_agree_and_be_independent_in_float32():
    x = jnp.asarray(HOMEWORK, dtype=jnp.float32)
    y = jnp.asarray([[0.1, 0.2]] * 3, dtype=jnp.float32)
    nudged = y.at[1].multiply(jnp.float32(1 + 2.0**-23))
    assert route(x, [0, 0, None], nudged, tolerance=1e-3).certified <= 1e-3


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float16, jnp.bfloat16])
def test_inputs_on_a_line_but_for_rounding_are_dependent(dtype):
    x = jnp.asarray([[1.0, 0.1], [0.3, 0.03]], dtype)
    with pytest.raises(ValueError, match="rank 1"):
        route(x, [0, None], np.ones((2, 1)), tolerance=0.1)


@pytest.mark.parametrize("n", [10, 30])
@pytest.mark.parametrize("seed", range(4))
def test_a_mixture_of_many_inputs_is_dependent_on_them(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2 * n))
    x[-1] = rng.normal(size=n - 1) @ x[:-1]
    with pytest.raises(ValueError, match="linearly independent"):
        route(x, [None] * (n - 1) + [0], np.ones((n, 1)), tolerance=0.1)


def test_precision_outside_is_left_alone():
    before = jax.dtypes.canonicalize_dtype(float)
    route(HOMEWORK, [2, 0, None], WANTED, tolerance=1e-3)
    assert jax.dtypes.canonicalize_dtype(float) == before


def test_a_cycle_is_routed_with_keys_and_queries_apart_and_refused_when_shared():
    x, y = np.eye(3), np.eye(3)
    assert route(x, [1, 2, 0], y, tolerance=1e-3).measured <= 1e-3
    with pytest.raises(ValueError, match=r"cycle 0 → 1 → 2 → 0.*symmetric"):
        shared_route(x, [1, 2, 0], y, tolerance=1e-3)


def test_shared_routes_exist_exactly_without_cycles():
    feasible = 0
    for routes in itertools.product([None, 0, 1, 2], repeat=3):
        if not any(goal is not None for goal in routes):
            continue
        wanted = np.stack([np.zeros(3) if goal is None else np.eye(3)[goal] for goal in routes])
        row, seen = list(routes), []
        for start in range(3):
            chain = [start]
            while row[chain[-1]] is not None and row[chain[-1]] not in chain:
                chain.append(row[chain[-1]])
            seen.append(row[chain[-1]] in (None, chain[-1]))
        if all(seen):
            assert shared_route(np.eye(3), routes, wanted, tolerance=1e-3).measured <= 1e-3
            feasible += 1
        else:
            with pytest.raises(ValueError, match="cycle"):
                shared_route(np.eye(3), routes, wanted, tolerance=1e-3)
    # Forests whose roots are free or attend to themselves: sum over root counts of C(3,r) r 3^(2-r) 2^r, less
    # the one with nothing routed.
    assert feasible == 3 * 3 * 2 + 3 * 2 * 4 + 8 - 1


@pytest.mark.usefixtures("unchecked_shapes")
def test_what_cannot_be_routed_is_refused(subtests):
    for change, message in [
        ({"x": HOMEWORK[[0, 1, 1]]}, "3 of them have rank 2"),
        ({"x": HOMEWORK * np.array([[1], [0], [1]])}, "3 of them have rank 2"),
        ({"x": np.vstack([HOMEWORK[0], HOMEWORK[0] + 1e-17, HOMEWORK[2]])}, "rank 2"),
        ({"x": np.where(HOMEWORK == 0, np.inf, HOMEWORK)}, "x must be finite, but holds inf"),
        ({"x": HOMEWORK + 0j}, "x must hold real numbers, not complex128"),
        ({"x": HOMEWORK.astype(object)}, "x must hold real numbers, not object"),
        ({"outputs": WANTED + 1j}, "outputs must hold real numbers, not complex128"),
        ({"x": HOMEWORK[0]}, "x must have 2 axes"),
        ({"x": HOMEWORK[:, :0]}, "must not be empty"),
        ({"routes": [2, 0]}, "inputs must agree"),
        ({"routes": [3, 0, None]}, "row 0 is routed to 3, but inputs are numbered 0 to 2"),
        ({"routes": [2, -1, None]}, "row 1 is routed to -1"),
        ({"routes": [True, 0, None]}, "route 0 must be a whole number, not True"),
        ({"routes": [2, 0.5, None]}, r"route 1 must be a whole number, not 0\.5"),
        ({"routes": [None] * 3}, "no row is routed"),
        ({"routes": [2, 2, None]}, r"rows \{0, 1\} both attend to input 2 but want outputs that differ by 1"),
        ({"routes": [2, 0, 1]}, "output 2 must be finite"),
        ({"outputs": WANTED[:2]}, "inputs must agree"),
        ({"outputs": WANTED[0]}, "outputs must have 2 axes"),
        ({"tolerance": 0.0}, "tolerance must be positive and finite, not 0"),
        ({"tolerance": -1.0}, "tolerance must be positive and finite, not -1"),
        ({"tolerance": np.nan}, "tolerance must be positive and finite, not nan"),
        ({"tolerance": np.inf}, "tolerance must be positive and finite, not inf"),
        ({"tolerance": 1e-18}, "finer than rounding"),
    ]:
        with subtests.test(message):
            problem = {"x": HOMEWORK, "routes": [2, 0, None], "outputs": WANTED, "tolerance": 1e-3} | change
            for function in (route, shared_route):
                with pytest.raises(ValueError, match=message):
                    function(problem["x"], problem["routes"], problem["outputs"], tolerance=problem["tolerance"])


@pytest.mark.parametrize("power", [-100, 0, 100])
def test_rows_of_one_goal_may_want_outputs_that_differ_by_eight_roundings(power):
    wanted = np.zeros((3, 2))
    wanted[:2, 0] = 2.0**power
    for roundings, said in ((8, None), (9, "both attend to input 2")):
        wanted[1, 0] = 2.0**power * (1 - roundings * 2.0**-52)
        with contextlib.nullcontext() if said is None else pytest.raises(ValueError, match=said):
            route(HOMEWORK, [2, 2, None], wanted, tolerance=2.0**power * 1e-3)


@pytest.mark.parametrize("power", [-30, 0])
def test_a_tolerance_is_too_fine_from_the_rounding_of_values_on(power):
    outputs = WANTED * 2.0**power
    v = route(HOMEWORK, [2, 0, None], outputs, tolerance=1e-3 * 2.0**power).v
    # Sums of d = 4 products and of n = 3 weighted values, and 8 for the weights themselves.
    values, sizes = HOMEWORK @ v.T, np.linalg.norm(np.abs(HOMEWORK) @ np.abs(v).T, axis=1)
    missed = max(np.linalg.norm(values[goal] - outputs[i]) for i, goal in enumerate([2, 0]))
    finest = missed + (4 + 3 * 3 + 8) * 2.0**-52 * np.max(sizes)
    assert route(HOMEWORK, [2, 0, None], outputs, tolerance=1.01 * finest).certified <= 1.01 * finest
    with pytest.raises(ValueError, match="finer than rounding"):
        route(HOMEWORK, [2, 0, None], outputs, tolerance=0.99 * finest)


def tilted(tilt: float) -> np.ndarray:
    """Two inputs almost alike, and a third."""
    return np.array([[1.0, 0, 0], [1, tilt, 0], [0, 0, 1]])


def test_the_norm_grows_as_inputs_become_alike_and_stays_the_least():
    far, near = (route(tilted(t), [1, 0, None], np.eye(3)[[1, 0, 2]], tolerance=1e-3) for t in (1e-4, 1e-7))
    assert max(near.measured, error(near)) <= near.certified <= 1e-3
    # W reads a difference of size tilt by inputs that differ by tilt: tilt^-2, up to tilt^2 itself and rounding.
    ratio = np.linalg.norm(near.w) / np.linalg.norm(far.w)
    assert ratio == pytest.approx(1e6, rel=linear_algebra_rtol(3, 3, 2e7))


def test_inputs_too_alike_for_the_programme_are_refused():
    with pytest.raises(ValueError, match=r"too close to dependent for float64: their condition number is 2e\+09"):
        route(tilted(1e-9), [1, 0, None], np.eye(3)[[1, 0, 2]], tolerance=1e-3)


def test_a_result_cannot_be_changed():
    found = route(HOMEWORK, [2, 0, None], WANTED, tolerance=1e-3)
    for field in dataclasses.fields(found):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(found, field.name, 0.0)


@pytest.mark.parametrize("power", [-170, 154])
def test_outputs_of_any_size_are_routed(power):
    size = 10.0**power
    found = route(np.eye(3), [2, 0, None], size * np.eye(3), tolerance=1e-3 * size)
    assert 0 < found.measured <= found.certified <= 1e-3 * size
    assert found.weights[0, 2] > 0.99


def test_inputs_that_are_too_small_are_refused():
    with pytest.raises(ValueError, match="scale them up"):
        route(1e-308 * np.eye(3), [2, 0, None], np.eye(3), tolerance=1e-3)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_chain_that_is_too_long_for_one_matrix_is_told(sign):
    def chain(n):
        return shared_route(sign * np.eye(n), [*range(1, n), None], np.eye(n), tolerance=1e-3)

    assert chain(12).measured <= 1e-3
    with pytest.raises(ValueError, match="a chain of 13 inputs is too long or they are too close to dependent"):
        chain(13)


@pytest.mark.parametrize("size", [1e-320, 1e-310, 1e-308, 1e-306])
def test_outputs_that_float64_hardly_holds_are_refused(size):
    """XLA has no subnormal numbers: such a routing measured 1e-308 where it certified 1e-311."""
    with pytest.raises(ValueError, match=r"tolerance .* is finer than rounding allows here"):
        route(HOMEWORK, [2, 0, None], size * WANTED, tolerance=1e-3 * size)


@pytest.mark.parametrize("size", [1e-300, 1e-290, 1e290, 1e300, 1e305])
def test_what_is_certified_holds_at_either_end_of_float64(size):
    for inputs, wanted in ((HOMEWORK, size * WANTED), (size * HOMEWORK, WANTED)):
        tolerance = 1e-3 * float(np.nanmax(np.abs(wanted)))
        found = route(inputs, [2, 0, None], wanted, tolerance=tolerance)
        assert found.measured <= found.certified <= tolerance


def test_inputs_whose_values_would_vanish_are_refused():
    with pytest.raises(ValueError, match=r"tolerance .* is finer than rounding allows here"):
        route(1e300 * HOMEWORK, [2, 0, None], 1e-12 * WANTED, tolerance=1e-15)


@pytest.mark.filterwarnings("error")
def test_inputs_that_ask_for_matrices_beyond_float64_are_refused_without_a_warning():
    with pytest.raises(
        ValueError, match=r"inputs no longer than .* ask for matrices beyond float64: scale them up"
    ):
        route(1e-310 * HOMEWORK, [2, 0, None], WANTED, tolerance=1e-3)
