"""The parts that contracts are judged with, against the definition."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.grader.contracts.frames import REFLECTIONS, Frame, numbers
from attnlab_theory.grader.contracts.worst_values import worst_error
from tests.tolerances import softmax_rtol

SCORES = st.lists(st.floats(-4, 4), min_size=6, max_size=6)


def softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores)
    return weights / weights.sum(axis=-1, keepdims=True)


def judged(queries: np.ndarray, wanted: np.ndarray, *, present: int, average_heads: bool) -> float:
    """The worst error at keys that are the axes, so that a query is a row of scores."""
    with jax.enable_x64(True):
        keys = np.eye(queries.shape[1])
        return worst_error(queries, keys, wanted, present=present, average_heads=average_heads).error


@pytest.mark.parametrize("average_heads", [False, True])
@given(scores=SCORES)
def test_the_worst_error_is_the_distance_of_the_weights(scores, average_heads):
    # Two queries, three keys; the wanted weights are those of the first key alone, and of the first two.
    queries = np.reshape(scores, (2, 3))
    wanted = np.array([[1.0, 0, 0], [0.5, 0.5, 0]])[: 1 if average_heads else 2]
    weights = softmax(queries)
    weights = weights.mean(axis=0, keepdims=True) if average_heads else weights
    expected = np.abs(weights - wanted).sum(axis=1).max()
    # A distance is a sum of weights, each with softmax's relative rounding, and at most 2.
    atol = 2 * softmax_rtol(4.0, 3, np.float64)
    assert abs(judged(queries, wanted, present=3, average_heads=average_heads) - expected) <= atol


@given(scores=SCORES)
def test_no_values_of_norm_at_most_one_do_worse(scores):
    query, others = np.asarray(scores[:3]), np.asarray(scores[3:])
    wanted = np.array([[0.5, 0.5, 0.0]])
    values = others / max(1.0, np.abs(others).max())
    error = abs((softmax(query) - wanted[0]) @ values)
    found = judged(query[None], wanted, present=3, average_heads=False)
    assert error <= found + 2 * softmax_rtol(4.0, 3, np.float64)


def test_padding_changes_nothing():
    query, wanted = np.array([[1.0, 2.0, 0.0]]), np.array([[0.5, 0.5, 0.0]])
    padded = [np.pad(a, ((0, 0), (0, 5))) for a in (query, wanted)]
    assert judged(query, wanted, present=3, average_heads=False) == judged(*padded, present=3, average_heads=False)


def test_scores_that_overflow_are_no_small_error():
    query = np.array([[1e308, 1e308, 1e308]])
    keys = np.full((3, 3), 10.0)
    with jax.enable_x64(True):
        assert worst_error(query, keys, np.full((1, 3), 1 / 3), present=3).error == np.inf


@given(n=st.integers(1, 6), extra=st.integers(0, 3), reflections=REFLECTIONS)
def test_a_frame_is_orthonormal(n, extra, reflections):
    rows = Frame(n, n + extra, reflections).rows
    # Two reflections, each off by a few roundings per coordinate summed over.
    atol = 16 * (n + extra) * np.finfo(float).eps
    assert np.abs(rows @ rows.T - np.eye(n)).max() <= atol


def test_a_reflection_is_the_textbooks():
    u = np.array([1.0, -2.0, 3.0])
    expected = np.eye(3) - 2 * np.outer(u, u) / 14
    assert np.abs(Frame(3, 3, ((1, -2, 3),)).rows - expected).max() <= 4 * np.finfo(float).eps


def test_frames_are_shown_as_shortly_as_they_can():
    assert Frame(2, 3).shown() == "the first 2 coordinate axes of R^3"
    assert Frame(1, 2).shown() == "the first axis of R^2"
    assert Frame(2, 2, ((1, 0),)).shown() == "(-1, 0) (0, 1)"
    assert (
        Frame(9, 9, ((1, 0), ())).shown() == "the first 9 axes of R^9, reflected in (1, 0) (repeated to length 9)"
    )


def test_long_arrays_are_shown_by_their_ends():
    assert numbers(np.array(1.5)) == "1.5"
    assert numbers(np.arange(12.0)) == "(0, 1, 2, 3, 4, 5, …, 10, 11)"
    assert numbers(np.arange(8.0).reshape(8, 1)) == "(0) (1) (2) (3) … (7)"
