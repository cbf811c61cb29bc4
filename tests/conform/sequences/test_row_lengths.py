"""Rows of different lengths in one cache: right code holds whatever a mask means, and planted bugs fail."""

from typing import Any

import numpy as np
import pytest

from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.rows import unequal
from attnlab_theory.conform.suite import suite_class
from tests.conform.sequences import decoding, row_lengths_code


def suite_of(target, declared=None) -> Any:
    return suite_class("decode")(Direct(target), "decode", declared)


@pytest.mark.slow("a right mask of ones, and planted bugs, stay inside")
@pytest.mark.parametrize("name", row_lengths_code.RIGHT)
def test_right_rows_of_different_lengths_hold_over_20_seeds(name):
    """Decodes rows of different lengths for 20 seeds, in float32 and in float64."""
    judge = suite_of(row_lengths_code.RIGHT[name]).judge
    kinds = ("float32", "float64")
    found = {unequal(judge, seed, kind).verdict for kind in kinds for seed in range(0, 60, 3)}
    assert found == {"holds"}


@pytest.mark.slow("one of five members stays inside", but=1)
@pytest.mark.parametrize("name", row_lengths_code.BUGS)
def test_a_planted_bug_of_rows_of_different_lengths_fails(name):
    suite = suite_of(row_lengths_code.BUGS[name](name))
    row = suite.row("rows of other lengths")
    assert (row.verdict, "one of two rows has 3 positions less" in row.line) == ("fails", True)
    # All rows of one length are right.
    assert {suite.row(other).verdict for other in ("token by token", "chunks", "elements apart")} == {"holds"}


def of_ones(q, k, v, mask=None, cache=None):
    if mask is not None and mask.dtype != np.int64:
        raise TypeError("ones and zeros are wanted")
    return decoding.by_mask(q, k, v, None if mask is None else mask == 1, cache)


@pytest.mark.parametrize(
    ("declared", "verdict", "said"),
    [("ones-keep", "holds", "ones-keep"), ("none", "not judged", "neither lengths nor a mask")],
)
def test_a_mask_means_what_is_declared(declared, verdict, said):
    row = suite_of(of_ones, {"mask": declared}).row("rows of other lengths")
    assert (row.verdict, said in row.line) == (verdict, True)


def test_lengths_that_hide_keys_alone_are_a_convention():
    row = suite_of(row_lengths_code.hides_keys_alone).row("rows of other lengths")
    assert (row.verdict, "the padding may keep its place" in row.line) == ("convention", True)


def test_a_cache_that_takes_neither_is_said_not_to_be_tried():
    row = suite_of(decoding.decode()).row("rows of other lengths")
    assert (row.verdict, row.line.startswith("not tried: it takes neither lengths nor a mask")) == (
        "not judged",
        True,
    )
