"""The query for given weights: exact where it can be, else the closest there is."""

import itertools

import hypothesis
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attnlab_theory.construct import query_for_weights, weights
from attnlab_theory.construct.weights import _is_minimum
from tests.tolerances import best_weights_atol, weights_rtol

SIMPLEX = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
SQUARE = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])

scores = st.floats(-4, 4, width=32, allow_subnormal=False)
keys_wide = hnp.arrays(np.int64, (6, 3), elements=st.integers(-4, 4))
logs_of_six = hnp.arrays(np.float64, (6,), elements=scores)
queries = hnp.arrays(np.float64, (3,), elements=st.floats(-1, 1, width=32, allow_subnormal=False))


def weights_at(keys, query):
    return scipy.special.softmax(keys @ query)


def divergence(wanted, keys, query) -> float:
    return float(np.sum(scipy.special.rel_entr(wanted, weights_at(keys, query))))


@hypothesis.given(hnp.arrays(np.float64, (4,), elements=scores))
def test_independent_keys_reach_any_positive_weights(logs):
    wanted = scipy.special.softmax(logs)
    found = query_for_weights(SIMPLEX, wanted)
    assert found.is_exact
    assert np.max(np.abs(weights_at(SIMPLEX, found.query) - wanted)) <= best_weights_atol(4)


@hypothesis.given(keys_wide, queries)
def test_weights_that_some_query_gives_are_met(keys, query):
    wanted = weights_at(keys, query)
    found = query_for_weights(keys.astype(np.float64), wanted)
    assert found.is_exact
    assert np.max(np.abs(weights_at(keys, found.query) - wanted)) <= best_weights_atol(6)


@hypothesis.given(keys_wide, logs_of_six)
def test_the_best_weights_have_the_wanted_mean_key(keys, logs):
    wanted = scipy.special.softmax(logs)
    reached = weights_at(keys, query_for_weights(keys.astype(np.float64), wanted).query)
    assert np.max(np.abs((reached - wanted) @ keys)) <= best_weights_atol(6) * np.max(np.abs(keys), initial=1)


@hypothesis.given(keys_wide, logs_of_six, queries)
def test_no_other_query_comes_closer(keys, logs, other):
    keys, wanted = keys.astype(np.float64), scipy.special.softmax(logs)
    found = query_for_weights(keys, wanted)
    assert abs(found.divergence - divergence(wanted, keys, found.query)) <= best_weights_atol(6)
    assert divergence(wanted, keys, found.query + other) >= found.divergence - best_weights_atol(6)


# Two coordinates that all keys share, whose mean is rounded.
@hypothesis.example(
    np.array([[0, 1, 1], *[[1, 1, 1]] * 5]),
    np.array(
        [
            *(-3.558485507965088, -0.8711519837379456, 2.4741382598876953),
            *(-1.9294252395629883, 0.11393218487501144, -0.8712010979652405),
        ]
    ),
    np.array([1, 1, 1]),
)
@hypothesis.given(keys_wide, logs_of_six, hnp.arrays(np.int64, (3,), elements=st.integers(-50, 50)))
def test_shifting_and_scaling_the_keys_changes_no_weight(keys, logs, shift):
    wanted = scipy.special.softmax(logs)
    here = query_for_weights(keys.astype(np.float64), wanted)
    there = query_for_weights(8.0 * (keys + shift[None, :]), wanted)
    moved = weights_at(keys, 8.0 * there.query) - weights_at(keys, here.query)
    # A shift of 50 costs two digits of the scores.
    assert np.max(np.abs(moved)) <= 100 * best_weights_atol(6)
    assert here.is_exact == there.is_exact


def test_attention_returns_the_weights():
    wanted = np.array([0.1, 0.2, 0.3, 0.4])
    measured = query_for_weights(SIMPLEX, wanted).measured_weights()
    # Scores reach ln 4; the wanted weights, in float64, are the query's to the last digit.
    assert np.max(np.abs(measured - wanted) / wanted) <= weights_rtol(3, 4, 2 * np.log(4))


def test_the_shortest_query_is_returned():
    keys = np.array([[1.0, 5.0], [-1.0, 5.0]])
    assert query_for_weights(keys, np.array([0.7, 0.3])).query[1] == 0


def test_a_square_cannot_favour_a_diagonal_but_is_as_close_as_can_be():
    found = query_for_weights(SQUARE, np.array([0.5, 0, 0.5, 0]))
    assert not found.is_exact
    assert found.divergence == pytest.approx(np.log(2), abs=best_weights_atol(4))
    assert not query_for_weights(SQUARE, np.array([0.4, 0.1, 0.4, 0.1])).is_exact


@pytest.mark.parametrize("least", [1e-12, 1e-100, 1e-300])
def test_tiny_weights_are_met(least):
    wanted = np.array([1 - 3 * least, least, least, least])
    found = query_for_weights(SIMPLEX, wanted)
    assert found.is_exact
    logs = scipy.special.log_softmax(SIMPLEX @ found.query)
    assert np.max(np.abs(logs - np.log(wanted))) <= best_weights_atol(4) * abs(np.log(least))


@pytest.mark.parametrize("signs", list(itertools.product([1, -1], repeat=2)))
def test_keys_out_of_reach_do_not_throw_the_query_away(signs):
    """Newton's last full step left for a query of length 1e10 here, with a divergence of 4e10."""
    keys = np.array([[0.0, -1], [-3, 2], [-2, 3], [3, 3], [-3, 2]]) * signs
    wanted = 10.0 ** -np.array([3.0, 11, 0, 2, 9])
    wanted /= np.sum(wanted)
    found = query_for_weights(keys, wanted)
    assert abs(found.divergence - divergence(wanted, keys, found.query)) <= best_weights_atol(5)
    assert np.max(np.abs((weights_at(keys, found.query) - wanted) @ keys)) <= best_weights_atol(5) * 3
    assert found.divergence < divergence(wanted, keys, np.zeros(2))


@hypothesis.given(keys_wide, hnp.arrays(np.float64, (6,), elements=st.floats(-50, 0, width=32)))
def test_weights_of_many_magnitudes_are_approached_or_refused(keys, logs):
    keys, wanted = keys.astype(np.float64), scipy.special.softmax(logs)
    try:
        found = query_for_weights(keys, wanted)
    except ValueError:
        return
    assert abs(found.divergence - divergence(wanted, keys, found.query)) <= best_weights_atol(6)
    assert found.divergence <= divergence(wanted, keys, np.zeros(3)) + best_weights_atol(6)
    moved = (weights_at(keys, found.query) - wanted) @ keys
    assert np.max(np.abs(moved)) <= best_weights_atol(6) * np.max(np.abs(keys), initial=1)


def test_weights_beyond_double_precision_are_refused():
    keys = np.array([[-3.0, -3], [3, 1], [-3, 1], [0, 1]])
    wanted = 10.0 ** -np.array([57.0, 33, 5, 20])
    with pytest.raises(ValueError, match="double precision: they span 52 orders of magnitude"):
        query_for_weights(keys, wanted / np.sum(wanted))


def test_weights_on_a_face_are_refused_by_its_name():
    with pytest.raises(ValueError, match=r"on the face of keys \{0, 1\}.*query_for_subset"):
        query_for_weights(SQUARE, np.array([0.3, 0.7, 0, 0]))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, 0.5, 0.5, -0.5], "negative"),
        ([0.5, 0.5, 0.5, 0.5], "add up to 1, not to 2"),
        ([0.5, 0.2, 0.1, 0.1], "add up to 1, not to 0.9"),
        ([0.5, 0.5], "agree"),
        ([[0.25] * 4], "1 axes"),
        ([np.nan, 0.5, 0.5, 0], "nan"),
        ([0.25 + 0j] * 4, "weights must hold real numbers, not complex128"),
        (np.array([0.25] * 4, dtype=object), "weights must hold real numbers, not object"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_malformed_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        query_for_weights(SQUARE, np.array(weights))


def test_keys_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="inf"):
        query_for_weights(np.array([[0.0, np.inf]]), np.array([1.0]))


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float16, jnp.bfloat16])
def test_weights_need_to_add_up_to_one_in_their_own_type_only(dtype):
    wanted = jnp.asarray([0.1, 0.2, 0.3, 0.4], dtype)
    found = query_for_weights(SIMPLEX, wanted)
    assert found.is_exact
    # Whatever their type loses, what is wanted adds up to 1 in double precision.
    assert abs(np.sum(found.wanted) - 1) <= 4 * np.finfo(float).eps


def test_keys_that_are_too_small_are_refused():
    with pytest.raises(ValueError, match="scale the keys up"):
        query_for_weights(np.array([[1.0, 0], [0, 1], [1, 1]]) * 1e-310, np.array([0.1, 0.2, 0.7]))


def test_a_flat_place_far_from_everything_is_no_minimum():
    """All weight lies on the second key, and 2e-8 more than is wanted: a slope below its rounding."""
    rows, wanted = np.array([[0.0], [1.0]]), np.array([2e-8, 1 - 2e-8])
    assert not _is_minimum(rows, wanted, np.array([6e7]))
    assert _is_minimum(rows, wanted, np.array([np.log(wanted[1] / wanted[0])]))


def test_ordinary_weights_take_few_steps(monkeypatch):
    """Near the minimum every step doubles the digits, and no step is made that gains none."""
    asked, steps = [], weights._newton
    monkeypatch.setattr(weights, "_newton", lambda *at: asked.append(at) or steps(*at))
    rng = np.random.default_rng(0)
    for _ in range(60):
        asked.clear()
        query_for_weights(rng.normal(size=(4, 2)), scipy.special.softmax(2 * rng.normal(size=4)))
        assert len(asked) < 40


def test_the_query_of_many_keys_in_ten_dimensions_stays_in_these():
    """Other directions have a length of rounding alone: a query along them would be as long as that is short."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        spanned = rng.normal(size=(10, 50))
        query = query_for_weights(rng.normal(size=(60, 10)) @ spanned, rng.dirichlet(np.ones(60))).query
        basis = np.linalg.qr(spanned.T)[0]
        assert np.linalg.norm(query - basis @ (basis.T @ query)) <= 1e-12 * np.linalg.norm(query)
