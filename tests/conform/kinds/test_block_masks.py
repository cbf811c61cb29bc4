"""Block masks beside softmax attention, as an array or a function: right code holds, and planted bugs fail."""

from types import SimpleNamespace

import numpy as np
import pytest

from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.judge import Judge
from attnlab_theory.conform.kinds.sparsity import BLOCK_MASKS, block_masks, tiled
from attnlab_theory.conform.suite import suite_class
from tests.conform.kinds import block_code as code

MEANS = {
    code.pair_by_pair: ("function", "bhij"),
    code.all_at_once: ("function of two", "11ij"),
    code.of_blocks: ("array", "bhij"),
    code.block_by_block: ("array", "bhij"),
    code.hides: ("array-drop", "bhij"),
}


def row_of(target):
    suite = suite_class("softmax")(Direct(target), "softmax")
    (row,) = suite.rows(("block masks",))
    return suite, row


@pytest.mark.slow("two of five members stay inside", but=("all_at_once", "of_blocks"))
@pytest.mark.parametrize("target", code.RIGHT, ids=lambda each: each.__name__)
def test_right_code_holds_and_what_it_wants_is_found(target):
    """A function is asked of every pair, one after the other."""
    suite, row = row_of(target)
    assert (row.verdict, row.ratio < 1) == ("holds", True)
    assert not {"block_mask", "mask_mod", "mask_fn"} & {*suite.never_passed}
    chosen = Judge(BLOCK_MASKS, Direct(target), {}).convention.chosen
    assert (chosen["blocks"], chosen["blocks axes"]) == MEANS[target]


@pytest.mark.slow(
    "three of eleven members stay inside", but=("blocks transposed", "function ignored", "function of the next key")
)
@pytest.mark.parametrize("bug", code.BUGS)
def test_a_planted_bug_fails(bug):
    """A function is asked of every pair, one after the other."""
    _, row = row_of(code.buggy(bug))
    assert row.verdict == "fails"


@pytest.mark.slow("the styles of right code stay inside")
@pytest.mark.parametrize("bug", ["", "blocks"])
def test_the_same_code_without_a_bug_holds(bug):
    """What the planted bugs differ from."""
    assert row_of(code.buggy(bug))[1].verdict == "holds"


@pytest.mark.slow("right code and one of five members stay inside", but=("", "a window beside blocks"))
@pytest.mark.parametrize("bug", ["", *code.FORGETS])
def test_blocks_are_set_beside_windows_sinks_and_caps(bug):
    """Each alone is right: only the pairs show what is forgotten."""

    def target(q, k, v, block_mask=None, window=None, softcap=None, s_aux=None, causal=False):
        return code.beside_others(q, k, v, block_mask, window, softcap, s_aux, causal, bug)

    suite, row = row_of(target)
    assert suite.judge.convention.names.keys() >= {"window", "softcap", "sinks"}
    assert row.verdict == ("fails" if bug else "holds"), row.line


def test_right_code_stays_right_over_seeds():
    """A few seeds; 100 of them were drawn once, and gave no alarm."""
    assert alarms(code.of_blocks, 4) == []


def alarms(target, seeds):
    """What fails at other seeds, in each type of numpy."""
    judge = Judge(BLOCK_MASKS, Direct(target), {})
    specs = [
        {**each, "seed": seed, "type": kind, "edits": edits}
        for seed in range(100, 100 + seeds)
        for kind in ("float32", "float64", "float16")
        for each in tiled((3, 3, 2), (2, 4, 3))
        for edits in ((), ("q = 4 * q",))
    ]
    return [case for case in judge.cases(specs) if judge.judge(case).fails]


def test_a_target_without_such_a_parameter_has_no_row():
    suite = suite_class("softmax")(Direct(lambda q, k, v: code.attend(q, k, v, np.ones((1, 1), bool))), "softmax")
    assert [*suite.rows(("block masks",))] == []


def test_beside_a_window_that_is_always_there_nothing_is_judged():
    def narrow(q, k, v, mask_mod=None):
        back = np.arange(q.shape[2])[:, None] + k.shape[2] - q.shape[2] - np.arange(k.shape[2])
        return code.attend(q, k, v, (back >= 0) & (back < 3))

    judge = SimpleNamespace(caller=Direct(narrow), convention=SimpleNamespace(framework="numpy"))
    found = block_masks(judge)
    assert (found.verdict, found.fact) == ("not judged", "not beside")
