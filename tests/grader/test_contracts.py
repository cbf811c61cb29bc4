"""The parts that contracts are judged with, against the definition."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.grader.contracts import CONTRACTS
from attnlab_theory.grader.contracts.frames import REFLECTIONS, WIDEST, Frame, numbers
from attnlab_theory.grader.contracts.key_query_value import ThreeTokens
from attnlab_theory.grader.contracts.subspaces import TwoSubspaces
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


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (10, "(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)"),
        (11, "(0, 1, 2, 3, 4, 5, …, 9, 10)"),
    ],
)
def test_ten_numbers_are_shown_and_of_eleven_the_ends(length, text):
    assert numbers(np.arange(float(length))) == text


def test_a_frame_of_twenty_numbers_is_shown_in_numbers():
    assert Frame(4, 5, ((1, 2),)).shown() == numbers(Frame(4, 5, ((1, 2),)).rows)
    assert Frame(3, 7, ((1, 2),)).shown().startswith("the first 3 axes of R^7, reflected in (1, 2)")


def pair(question: str, n: int, d: int, a: int, b: int, noise: int | None):
    """A pair of such a question; of other fields it has those that are promised."""
    fields = {"frame": Frame(n, d), "a": a, "b": b, "noise": noise}
    if question != "practical4/2d.2":
        fields["heads"] = 2 if question == "practical4/2d.1" else 1
    return CONTRACTS[question].case(**fields)


LARGEST = 2**32 - 1
"""The largest seed of 32 bits."""
AT_THE_EDGE = {
    "few keys": lambda: pair("practical4/2b", 2, 2, 0, 1, None),
    "many keys": lambda: pair("practical4/2b", 64, 72, 63, 0, None),
    "the first seed": lambda: pair("practical4/2c.1", 2, 2, 0, 1, 0),
    "the last seed": lambda: pair("practical4/2d.1", 2, 2, 0, 1, LARGEST),
    "few stretched keys": lambda: pair("practical4/2d.2", 8, 12, 0, 7, LARGEST),
    "many stretched keys": lambda: pair("practical4/2d.2", 16, 20, 15, 0, 0),
    "a weak token": lambda: ThreeTokens(Frame(4, 4), 10),
    "a strong token": lambda: ThreeTokens(Frame(4, 8), 100),
    "small subspaces": lambda: TwoSubspaces(Frame(2, 2), 1),
    "large subspaces": lambda: TwoSubspaces(Frame(12, 16), 6),
    "the widest frame": lambda: Frame(WIDEST, WIDEST, ((1000, -1000),)),
    "the longest reflection": lambda: Frame(2, 2, ((1,) * WIDEST,)),
}
BEYOND = {
    "one key": (lambda: pair("practical4/2b", 1, 2, 0, 1, None), "2 <= n"),
    "65 keys": (lambda: pair("practical4/2b", 65, 65, 0, 1, None), "n <= 64"),
    "nine more": (lambda: pair("practical4/2b", 2, 11, 0, 1, None), r"d <= n \+ 8"),
    "twice the same": (lambda: pair("practical4/2b", 2, 2, 1, 1, None), "two of the keys"),
    "none of the keys": (lambda: pair("practical4/2b", 2, 2, 0, 2, None), "two of the keys"),
    "none of the keys first": (lambda: pair("practical4/2b", 2, 2, 2, 1, None), "two of the keys"),
    "before the first": (lambda: pair("practical4/2b", 2, 2, -1, 1, None), "two of the keys"),
    "a seed of 33 bits": (lambda: pair("practical4/2c.1", 2, 2, 0, 1, LARGEST + 1), "seed of 32 bits"),
    "a seed below 0": (lambda: pair("practical4/2c.1", 2, 2, 0, 1, -1), "seed of 32 bits"),
    "noise where none is": (lambda: pair("practical4/2b", 2, 2, 0, 1, 3), "noise is asked for"),
    "seven stretched keys": (lambda: pair("practical4/2d.2", 7, 7, 0, 1, 0), "8 <= n"),
    "17 stretched keys": (lambda: pair("practical4/2d.2", 17, 17, 0, 1, 0), "n <= 16"),
    "five more": (lambda: pair("practical4/2d.2", 8, 13, 0, 1, 0), r"d <= n \+ 4"),
    "no stretched key": (lambda: pair("practical4/2d.2", 8, 8, 8, 1, 0), "two of the keys"),
    "no other key": (lambda: pair("practical4/2d.2", 8, 8, 1, 8, 0), "two of the keys"),
    "a stretched key twice": (lambda: pair("practical4/2d.2", 8, 8, 1, 1, 0), "two of the keys"),
    "its seed of 33 bits": (lambda: pair("practical4/2d.2", 8, 8, 0, 1, LARGEST + 1), "seed of 32 bits"),
    "beta of 9": (lambda: ThreeTokens(Frame(4, 4), 9), "10 <= beta <= 100"),
    "beta of 101": (lambda: ThreeTokens(Frame(4, 4), 101), "10 <= beta <= 100"),
    "five tokens": (lambda: ThreeTokens(Frame(5, 8), 10), "four vectors"),
    "nine dimensions": (lambda: ThreeTokens(Frame(4, 9), 10), "four vectors"),
    "no subspace": (lambda: TwoSubspaces(Frame(2, 2), 0), "1 to 6 dimensions"),
    "no other subspace": (lambda: TwoSubspaces(Frame(2, 2), 2), "1 to 6 dimensions"),
    "seven dimensions": (lambda: TwoSubspaces(Frame(8, 8), 7), "1 to 6 dimensions"),
    "seven others": (lambda: TwoSubspaces(Frame(8, 8), 1), "1 to 6 dimensions"),
    "17 dimensions": (lambda: TwoSubspaces(Frame(2, 17), 1), "at most 16"),
    "no axis": (lambda: Frame(0, 1), "1 <= n"),
    "more axes than dimensions": (lambda: Frame(3, 2), "n <= d"),
    "129 dimensions": (lambda: Frame(1, WIDEST + 1), "d <= 128"),
    "a large reflection": (lambda: Frame(2, 2, ((1001,),)), "small whole numbers"),
    "a very negative one": (lambda: Frame(2, 2, ((-1001,),)), "small whole numbers"),
    "one of halves": (lambda: Frame(2, 2, ((0.5,),)), "small whole numbers"),
    "a long one": (lambda: Frame(2, 2, ((1,) * (WIDEST + 1),)), "small whole numbers"),
}


@pytest.mark.parametrize("make", AT_THE_EDGE.values(), ids=AT_THE_EDGE)
def test_what_is_promised_includes_its_edge(make):
    make()


@pytest.mark.usefixtures("unchecked_shapes")
def test_what_is_not_promised_is_no_case(subtests):
    for case, (make, promise) in BEYOND.items():
        with subtests.test(case), pytest.raises(ValueError, match=f"the contract promises that .*{promise}"):
            make()


@pytest.mark.parametrize("question", ["practical4/2c.1", "practical4/2d.1", "practical4/2d.2"])
def test_every_size_has_noise_of_its_own(question):
    besides = CONTRACTS[question].besides
    assert len({case.noise for case in besides}) == len(besides)


def test_a_right_routing_is_shown_beside_what_was_wanted():
    with jax.enable_x64(True):
        seen = ThreeTokens(Frame(4, 4), 10).measure((np.eye(4),) * 3).seen
    # The axes are u_a, u_b, u_c and u_d, and c_1 is to be u_b - u_c: the first token is the worse of the two.
    assert (next(iter(seen)), seen["wanted"]) == ("weights of c_1", "(0, 1, -1, 0)")
    # That token attends to itself, and is u_d + u_b.
    assert np.allclose([float(x) for x in seen["c_1 / beta"].strip("()").split(", ")], [0, 1, 0, 1])


def test_the_homeworks_tokens_are_routed_by_matrices_that_name_two_vectors_each():
    for d in (4, 8):
        ua, ub, uc, ud = np.eye(4, d)
        q = 10 * (np.outer(uc, ud) + np.outer(ud, ua))
        with jax.enable_x64(True):
            error = ThreeTokens(Frame(4, d), 10).measure((np.eye(d), q, np.outer(ub, ub) - np.outer(uc, uc))).error
        assert error < 1e-6


def test_nothing_extracted_errs_by_the_whole_vector():
    assert TwoSubspaces(Frame(2, 2), 1).measure((np.zeros((2, 2)),)).error == 1


def test_two_heads_are_judged_by_the_end_of_the_interval_that_is_worse_for_the_verdict():
    """Compiles the draws for two heads, and searches the best single query by numerical integrals."""
    case = pair("practical4/2d.2", 8, 8, 0, 1, 0)
    with jax.enable_x64(True):
        right, wrong = (case.measure((30 * np.eye(8)[i], 30 * np.eye(8)[j])) for i, j in ((0, 1), (2, 3)))
    for measured, end in ((right, 1), (wrong, 0)):
        ends = [float(number) for number in measured.seen["expected squared error"].split(" to ")]
        least = float(measured.seen["of the best single query"].partition(",")[0])
        assert not measured.undecided
        assert measured.error == pytest.approx(ends[end] / least, rel=2e-3)


def test_a_query_has_a_number_where_there_are_several():
    with jax.enable_x64(True):
        alone = worst_error(np.eye(1, 3), np.eye(3), np.eye(1, 3), present=3).seen
        second = worst_error(np.diag([99.0, 1, 99]), np.eye(3), np.eye(3), present=3).seen
    assert (next(iter(alone)), next(iter(second))) == ("weights", "weights of query 1")


def test_a_signature_names_one_array_or_a_tuple_of_several():
    assert CONTRACTS["uw/1.2.1"].signature == "query(keys: np.ndarray) -> np.ndarray"
    assert CONTRACTS["practical4/2d.1"].signature.endswith(" -> tuple[np.ndarray, np.ndarray]")


def test_six_rows_are_shown_and_of_seven_the_first_four_and_the_last():
    assert numbers(np.arange(6.0)[:, None]) == "(0) (1) (2) (3) (4) (5)"
    assert numbers(np.arange(7.0)[:, None]) == "(0) (1) (2) (3) … (6)"


@pytest.mark.parametrize("angle", np.arange(0.3, 2 * np.pi, np.pi / 4))
def test_of_the_worst_sum_the_largest_entry_is_shown_positive(angle):
    """A singular vector has no sign of its own."""
    off = np.array([[np.cos(angle), np.sin(angle)], [0, 0]])
    seen = TwoSubspaces(Frame(2, 2), 1).measure((np.diag([1.0, 0.0]) + off,)).seen
    entries = [float(entry) for entry in seen["worst s = v_a + v_b"].strip("()").split(", ")]
    assert max(entries) == max(map(abs, entries))


@pytest.mark.parametrize(("n", "d", "m"), [(2, 2, 1), (5, 9, 2), (12, 16, 6)])
def test_coordinates_in_the_place_of_a_vector_are_measured_with_zeros_below(n, d, m):
    case, contract = TwoSubspaces(Frame(n, d), m), CONTRACTS["cs224n/1b.i"]
    (basis,) = case.arguments
    assert contract.misread is not None
    read, remark = contract.misread(case, (basis.T,))
    # The basis of A is made of the first axes: with zeros below, its coordinates are the vector.
    assert np.array_equal(read[0], basis @ basis.T)
    assert case.measure(read).error == 0
    assert "coordinates" in remark


@pytest.mark.parametrize(("apart", "is_told"), [(0.0, True), (0.9, True), (1.1, False), (50.0, False)])
def test_two_queries_are_the_same_that_differ_by_less_than_a_hundredth(apart, is_told):
    first = 100 * np.eye(3)[0]
    with jax.enable_x64(True):
        measured = pair("practical4/2d.1", 3, 3, 0, 1, 0).measure((first, first + apart * np.eye(3)[1]))
    assert bool(measured.remark) == is_told


@pytest.mark.parametrize("question", CONTRACTS)
def test_every_question_has_a_hint_and_says_in_words_what_is_expected(question):
    contract = CONTRACTS[question]
    assert contract.hints["wrong"].endswith((".", "?"))
    assert contract.expected.startswith(next(iter(contract.returns)))
    assert f"At most {contract.tolerance:g} {contract.unit} is allowed." in contract.expected
