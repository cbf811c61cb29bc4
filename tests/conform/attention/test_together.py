"""Features beside each other come from a table: a bug that needs two or three of them is found."""

import numpy as np
import pytest

from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.identities import Covering, features
from attnlab_theory.conform.kinds.softmax.declaration import SIZES
from tests.conform.attention.wrong_together import (
    DECODER,
    FELT,
    MEMORY,
    attend,
    back,
    causal_with,
    decoder,
    reads_memory,
    stops_at_a_hidden_block,
)
from tests.conform.judging import COVERED, cases_of
from tests.conform.judging import suite as suite_of


def rows_of(target, kind, names=COVERED):
    return {row.name: row for row in suite_of(Direct(target), kind).rows(names)}


def failing(target, kind, names=COVERED):
    return {name for name, row in rows_of(target, kind, names).items() if row.verdict == "fails"}


@pytest.mark.slow("three of 22 members stay inside", but=3)
@pytest.mark.parametrize(("bug", "kind"), [(bug, kind) for bug, kinds in DECODER.items() for kind in kinds])
def test_a_bug_that_needs_two_features_or_a_size_is_found(bug, kind):
    assert failing(decoder(bug), kind)


@pytest.mark.slow("the kind causal of seven stays inside", but=1)
@pytest.mark.parametrize(
    "kind", ["causal", "softmax", "multi-head", "grouped-query", "sliding-window", "softcap", "bias"]
)
def test_the_same_code_without_a_bug_holds(kind):
    found = rows_of(decoder(""), kind)
    assert {row.verdict for row in found.values()} == {"holds"}


@pytest.mark.parametrize("bug", ["", *FELT])
def test_a_pair_counts_where_both_features_are_felt(bug):
    assert bool(failing(causal_with(bug), "causal")) == bool(bug)


@pytest.mark.parametrize("bug", ["", FELT[1]])
def test_two_features_that_are_all_of_a_target_stand_beside_each_other_alone(bug):
    def target(q, k, v, sinks=None):
        return causal_with(bug)(q, k, v, sinks=sinks)

    assert {row.verdict for row in rows_of(target, "causal", ["triples"]).values()} == {"fails" if bug else "holds"}


def test_documents_that_need_as_many_keys_as_queries_get_them_and_are_not_left_out():
    judge = suite_of(Direct(causal_with("")), "causal").judge
    row = {"sizes": SIZES[2], "segments": {"segments": "documents"}}
    assert SIZES[2]["queries"] != SIZES[2]["keys"]
    assert all(case["segments"] and case["queries"] == case["keys"] for case in Covering.of_row(judge, row))


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize("size", [64, 128])
def test_a_mask_that_hides_a_whole_block_is_among_the_cases(size):
    assert failing(stops_at_a_hidden_block(size), "softmax", ["pairs"])


@pytest.mark.slow("one of three members stays inside", but=1)
@pytest.mark.parametrize("bug", MEMORY)
def test_a_view_of_memory_that_is_misread_is_found(bug):
    assert failing(reads_memory(bug), "softmax", ["non-contiguous"])
    assert failing(reads_memory(bug), "softmax", ["pairs"])


def test_views_of_memory_that_are_read_right_hold():
    assert not failing(reads_memory(""), "softmax", ["non-contiguous", "pairs"])


def test_every_two_features_of_a_decoder_stand_beside_each_other_at_some_size():
    suite = suite_of(Direct(decoder("")), "causal")
    cases = cases_of(suite, "pairs")
    assert any(not case["causal"] and case["window"] and case["groups"] < case["heads"] for case in cases)
    for wanted in (
        lambda case: case["causal"] and case["groups"] < case["heads"],
        lambda case: case["causal"] and case["window"] == 3,
        lambda case: case["groups"] < case["heads"] and case.type == "float16",
        lambda case: case["pair mask"] and case["keys"] == 257,
        lambda case: case["memory"] == "transposed" and case["queries"] == 1,
        lambda case: case["batch"] == case["queries"] == case["keys"],
        lambda case: (case["heads"], case["groups"]) == (32, 8),
    ):
        assert any(wanted(case) for case in cases)
    assert len(SIZES) <= 16
    assert {"causal", "groups", "window", "mask", "softcap", "bias", "types", "memory"} < {*features(suite.judge)}


def test_features_that_are_refused_together_are_told_and_the_other_pairs_still_asked():
    def target(q, k, v, mask=None, is_causal=False):
        if mask is not None and is_causal:
            raise ValueError("one of the two")
        t, s = q.shape[-2], k.shape[-2]
        return attend(q, k, v, np.tri(t, s, s - t, dtype=bool) if is_causal else mask)

    row = rows_of(target, "softmax")["pairs"]
    assert (row.verdict, "refused: mask beside causal: ValueError" in row.line) == ("convention", True)
    assert row.tried > len(SIZES) * 4 - 8


def test_views_and_shapes_that_are_refused_are_told():
    def target(q, k, v):
        if q.strides[-1] != q.itemsize:
            raise ValueError("the last axis must be contiguous")
        if q.shape[-1] > 128:
            raise ValueError("a width of at most 128")
        return attend(q, k, v)

    found = rows_of(target, "softmax", ["pairs", "non-contiguous"])
    assert {row.verdict for row in found.values()} == {"convention"}
    assert "(transposed) is refused: ValueError: the last axis" in found["non-contiguous"].line
    assert all(said in found["pairs"].line for said in ("memory: ValueError", "of width 256: ValueError"))


def test_a_usual_shape_that_is_refused_fails():
    def target(q, k, v):
        if q.shape[-2] == 129:
            raise ValueError("129 queries")
        return attend(q, k, v)

    assert "pairs" in failing(target, "softmax")


def aligned(*, flag, window):
    """Takes both, each as it stands to more keys than queries."""

    def target(q, k, v, is_causal=False, window=None):
        shift = k.shape[-2] - q.shape[-2]
        places = np.arange(q.shape[-2])[:, None] - np.arange(k.shape[-2])
        seen = np.ones(places.shape, bool)
        if is_causal:
            seen &= places + shift * (flag == "end") >= 0
        if window is not None:
            far = places + shift * (window_end == "end")
            seen &= (far >= 0) & (far < window)
        return attend(q, k, v, seen)

    window_end = window
    return target


@pytest.mark.slow("one of eight members stays inside", but=1)
@pytest.mark.parametrize(
    ("flag", "window", "asked"),
    [("end", "end", True), ("start", "start", True), ("end", "start", False), ("start", "end", False)],
)
@pytest.mark.parametrize("kind", ["softmax", "causal"])
def test_a_flag_and_a_window_that_stand_apart_to_more_keys_are_not_set_beside_each_other(kind, flag, window, asked):
    suite = suite_of(Direct(aligned(flag=flag, window=window)), kind)
    assert ("window" in features(suite.judge)) == asked
    assert {row.verdict for row in suite.rows(["pairs", "more queries", "more keys"])} == {"holds"}


@pytest.mark.parametrize("kind", ["softmax", "sliding-window"])
def test_a_window_of_the_past_where_a_flag_hides_the_future_and_to_either_side_elsewhere_is_a_convention(kind):
    def target(q, k, v, is_causal=False, window=None):
        far = back(q, k)
        seen = far >= (0 if is_causal else -np.inf)
        if window is not None:
            seen = seen & (far < window if is_causal else abs(far) <= window // 2)
        return attend(q, k, v, seen)

    suite = suite_of(Direct(target), kind)
    assert dict(suite.profile)["window = w beside is_causal"] == "w keys back, itself included"
    assert {row.verdict for row in suite.rows(["pairs"])} == {"holds"}


@pytest.mark.parametrize(("error", "verdict"), [(NotImplementedError, "convention"), (IndexError, "fails")])
def test_a_type_that_a_compiler_has_no_code_for_at_some_shape_is_told(error, verdict):
    def target(q, k, v):
        if q.dtype == np.float16 and q.shape[-1] == 1:
            raise error("no code")
        return attend(q, k, v)

    row = rows_of(target, "softmax")["pairs"]
    assert (row.verdict, f"{error.__name__}: no code" in row.line) == (verdict, True)
