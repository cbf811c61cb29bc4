"""Right code that is written in seldom ways gets no failure, or one that says what it is."""

import numpy as np
import pytest

from attnlab_theory.conform.advice import advised
from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.kinds.softmax import laws
from attnlab_theory.conform.kinds.softmax.reference import attend as exactly
from attnlab_theory.conform.kinds.softmax.tolerances import tolerance
from tests.conform import right
from tests.conform.attention.wrong_together import attend, back
from tests.conform.judging import asked, cases_of
from tests.conform.judging import suite as suite_of


def scores_of(q, k):
    return q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)


def sunk(score):
    """One more key in the sum."""

    def target(q, k, v, mask=None):
        scores = np.where(back(q, k) >= 0, scores_of(q, k), -np.inf)
        top = np.maximum(scores.max(-1, keepdims=True), score)
        raised = np.exp(scores - top)
        return (raised / (raised.sum(-1, keepdims=True) + np.exp(score - top)) @ v).astype(q.dtype)

    return target


def sigmoid(q, k, v):
    return (1 / (1 + np.exp(np.log(k.shape[-2]) - scores_of(q, k))) @ v).astype(q.dtype)


def unnormalised(q, k, v):
    return np.exp(scores_of(q, k)).astype(q.dtype) @ v


@pytest.mark.parametrize(
    ("target", "kind", "why"),
    [
        (sunk(0.0), "causal", "as with a sink (a key without a value) or a sigmoid"),
        (sunk(-3.0), "causal", "as with a sink (a key without a value) or a sigmoid"),
        (sunk(1.0), "multi-head", "as with a sink (a key without a value) or a sigmoid"),
        (sigmoid, "softmax", "as with a sink (a key without a value) or a sigmoid"),
        (unnormalised, "softmax", "as with a sigmoid or dropout"),
    ],
)
def test_rows_that_do_not_sum_to_one_get_one_diagnosis(target, kind, why):
    rows = [*suite_of(Direct(target), kind).rows()]
    assert [(row.name, row.verdict) for row in rows] == [("visibility", "fails")]
    assert rows[0].line.endswith(f"and not to one, {why}")


def test_a_sigmoid_is_named_and_not_said_to_weigh_equal_keys_unequally():
    found = advised(Direct(sigmoid), {})
    assert (found.kind, found.notes) == ("sigmoid", ())


@pytest.mark.parametrize("target", [sunk(1.0), sunk(0.0)])
def test_rows_that_do_not_sum_to_one_have_equal_weights_for_equal_keys(target):
    (note,) = advised(Direct(target), {}).notes
    assert ("sum to" in note, "unequal" in note) == (True, False)


def test_a_normaliser_that_is_slightly_off_is_told_by_the_numbers():
    def target(q, k, v):
        raised = np.exp(scores_of(q, k))
        return raised / (raised.sum(-1, keepdims=True) + q.dtype.type(1e-3)) @ v

    failing = {row.name for row in suite_of(Direct(target), "softmax").rows(["visibility", "plain", "ties"])}
    assert failing == {"visibility", "plain", "ties"}


def by_name(*, query, key, value, mask=None):
    return attend(query, key, value, mask)


def by_short_names(*, v, q, k, bias):
    return attend(q, k, v, bias=bias)


def shared_by_name(*, value, key, query):
    return attend(query, *(np.repeat(x, query.shape[1] // x.shape[1], 1) for x in (key, value)))


@pytest.mark.parametrize(
    ("target", "kind"), [(by_name, "softmax"), (by_short_names, "bias"), (shared_by_name, "grouped-query")]
)
def test_q_k_and_v_that_have_no_places_are_handed_over_by_name(target, kind):
    suite = suite_of(Direct(target), kind)
    rows = suite.rows(["visibility", "plain", "masks", "non-contiguous", "inputs unchanged"])
    assert {row.verdict for row in rows} == {"holds"}
    assert suite.never_passed == []


def test_a_snippet_hands_them_over_by_name(capsys):
    def wrong(*, query, key, value):
        return attend(1.1 * query, key, value).astype(query.dtype)

    from attnlab_theory.conform.callers import Place

    globals()["wrong"] = wrong
    suite = suite_of(Direct(wrong), "softmax")
    rows = [*suite.rows(["plain"])]
    place = Place(folder="", file="", module=__name__, names="wrong", sees=None)
    for lines in (suite.snippet(place, rows), suite.replay([place], rows)):
        exec("\n".join(lines), {})
        given, exact = capsys.readouterr().out.removesuffix("is right\n").split(" where ")
        assert abs(float(given) - float(exact)) > 1e-4


def dying(at):
    """Fails in some of the calls in which chance is looked for."""
    calls = []

    def target(q, k, v):
        if q.shape[-1] == 16 and q.shape[-2] == 6:
            calls.append(len(calls))
            if len(calls) in at:
                raise MemoryError("transient")
        return attend(q, k, v)

    return target


@pytest.mark.parametrize("at", [(1,), (3,), (2, 4)])
def test_a_target_that_died_once_is_not_called_random(at):
    suite = suite_of(Direct(dying(at)), "softmax")
    assert "MemoryError: transient" in dict(suite.profile)["the same call"]


def test_a_target_that_draws_and_dies_once_is_still_called_random():
    right_one = dying((1,))

    def target(q, k, v):
        return right_one(q, k, v) * np.random.random()  # noqa: NPY002 (the shared source is the one that is seeded)

    with pytest.raises(ValueError, match="draws random numbers"):
        suite_of(Direct(target), "softmax")


def scaled_keys(q, k, v):
    raised = np.exp(q @ np.swapaxes(k * q.dtype.type(q.shape[-1] ** -0.5), -1, -2))
    return raised / raised.sum(-1, keepdims=True) @ v


def roots(q, k, v):
    root = q.dtype.type(q.shape[-1] ** -0.25)
    raised = np.exp((q * root) @ np.swapaxes(k * root, -1, -2))
    return raised / raised.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("target", "small"), [(right.divided_last, "q"), (scaled_keys, "k"), (roots, "q")])
def test_what_a_scale_loses_below_the_smallest_number_of_half_precision_is_within_the_tolerance(
    target, small, seed
):
    r = np.random.default_rng(seed)
    # Alike in all channels, so that what is lost adds up.
    few, many = 1e-7 * r.uniform(1, 8, (2, 2, 5, 1)), r.uniform(-6e4, 6e4, (2, 2, 5, 1))
    q, k = (np.repeat(x, 64, -1).astype("float16") for x in ((few, many) if small == "q" else (many, few)))
    given = {"q": q, "k": k, "v": r.standard_normal((2, 2, 5, 3)).astype("float16")}
    *_, problem = asked({"length": 5, "width": 64, "type": "float16"}, given)
    exact = exactly(problem)
    error = np.abs(target(**given).astype(float) - exact.output)
    assert (error <= tolerance(problem, exact, "float16").output).all()


def test_a_row_that_holds_says_which_wrong_scale_would_hold_too(monkeypatch):
    """The errors are small ones, that half precision does not see: numpy has no coarser type."""

    def scaled(by):
        def target(q, k, v):
            scores = q.astype(float) @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 * by)
            raised = np.exp(scores - scores.max(-1, keepdims=True))
            return (raised / raised.sum(-1, keepdims=True) @ v).astype(q.dtype)

        return target

    monkeypatch.setattr(laws, "SEEN", 1e-3)
    suite = suite_of(Direct(scaled(1)), "softmax")
    (row,) = suite.rows(["float16"])
    error = laws.unseen_error(suite.judge, cases_of(suite, "float16"))
    assert (row.verdict, f"; a scale wrong by less than {error:.0%} would hold" in row.line) == ("holds", True)
    assert 1e-3 < error < 0.25
    for wrong, verdict in ((1 + 0.7 * error, "holds"), (1 + 1.3 * error, "fails")):
        (row,) = suite_of(Direct(scaled(wrong)), "softmax", {"scale": "rsqrt"}).rows(["float16"])
        assert row.verdict == verdict


def test_a_row_that_sees_a_quarter_says_nothing_of_it():
    (row,) = suite_of(Direct(attend), "softmax").rows(["plain"])
    assert "scale" not in row.line
