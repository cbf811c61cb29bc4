"""A bias of its own for each batch element is handed over where it is taken, and must be used."""

from pathlib import Path

import pytest

from attnlab_theory.conform.callers import Direct, Place
from tests.conform.judging import COVERED, cases_of
from tests.conform.judging import suite as suite_of
from tests.conform.wrong import whole


def right(q, k, v, mask=None, bias=None):
    return whole(q, k, v, mask, bias=bias)


def required(q, k, v, bias):
    return whole(q, k, v, bias=bias)


def added_by_mask(q, k, v, mask=None):
    return whole(q, k, v, bias=mask)


def one_head(q, k, v, bias=None):
    assert q.ndim == 3
    return whole(q, k, v, bias=bias)


def tokens_first(q, k, v, bias=None):
    return whole(*(x.swapaxes(1, 2) for x in (q, k, v)), bias=bias).swapaxes(1, 2)


def for_all_elements(q, k, v, bias=None):
    if bias is not None and bias.ndim > 3:
        raise ValueError("a bias is [h t s]")
    return whole(q, k, v, bias=bias)


RIGHT = (right, required, added_by_mask, one_head, tokens_first, for_all_elements)


def of_element_0(q, k, v, bias=None):
    return whole(q, k, v, bias=bias if bias is None or bias.ndim < 4 else bias[:1])


def mean_over_elements(q, k, v, bias=None):
    return whole(q, k, v, bias=bias if bias is None or bias.ndim < 4 else bias.mean(0, keepdims=True))


def of_element_0_by_mask(q, k, v, mask=None):
    return of_element_0(q, k, v, mask)


def of_element_0_without_heads(q, k, v, bias=None):
    assert q.ndim == 3
    return whole(q, k, v, bias=bias if bias is None or bias.ndim < 3 else bias[:1])


def beside_masks(q, k, v, mask=None, bias=None):
    """Wrong only where the mask and the bias both differ by batch element."""
    both = mask is not None and bias is not None and mask.ndim == 4 and bias.ndim == 4 and mask.shape[1] == 1
    return whole(q, k, v, mask, bias=bias[:1] if bias is not None and both else bias)


def failing(target):
    return {row.name for row in suite_of(Direct(target), "bias").rows() if row.verdict == "fails"}


@pytest.mark.slow("the committed record of right code stays inside")
@pytest.mark.parametrize("target", RIGHT, ids=lambda each: each.__name__)
def test_right_code_holds_whether_it_takes_a_bias_for_each_element_or_not(target):
    suite = suite_of(Direct(target), "bias")
    assert [row.line for row in suite.rows() if row.verdict == "fails"] == []
    taken = dict(suite.profile)["a bias for each batch element"]
    assert taken == ("not taken" if target is for_all_elements else "taken")


@pytest.mark.slow("the committed record of right code in 20 draws stays inside")
@pytest.mark.parametrize("target", RIGHT[:-1], ids=lambda each: each.__name__)
def test_right_code_holds_for_any_seed(target):
    """Judges four cases with 20 seeds in three dtypes."""
    suite = suite_of(Direct(target), "bias")
    cases = cases_of(suite, "bias by element")
    assert len(cases) == 4
    for seed in range(20):
        for kind in ("float32", "float64", "float16"):
            for case in cases:
                outcome = suite.judge.judge(case.replaced(seed=seed, type=kind))
                assert not outcome.fails, (seed, kind, outcome)


@pytest.mark.slow("a snippet that shows the bias of element 0 stays inside")
@pytest.mark.parametrize(
    "target", [of_element_0, mean_over_elements, of_element_0_by_mask, of_element_0_without_heads]
)
def test_a_bias_that_is_not_that_of_its_element_fails(target):
    assert "bias by element" in failing(target)


@pytest.mark.slow("a snippet that shows the bias of element 0 stays inside")
def test_a_bias_by_element_is_tried_beside_a_mask_by_element():
    found = failing(beside_masks)
    assert found
    assert found <= {*COVERED}


@pytest.mark.parametrize("target", [of_element_0, of_element_0_without_heads])
def test_the_snippet_hands_over_the_bias_of_each_element(target, capsys):
    suite = suite_of(Direct(target), "bias")
    row = next(row for row in suite.rows(["bias by element"]))
    place = Place(folder="", file="", module=__name__, names=target.__name__, sees=Path())
    lines = suite.snippet(place, [row])
    assert len(lines) <= 15
    exec("\n".join(lines), {})
    given, right = capsys.readouterr().out.removesuffix("is right\n").split(" where ")
    assert abs(float(given) - float(right)) > 1e-3


@pytest.mark.slow("the same function, shown by the snippet of a bias, stays inside")
def test_a_bias_beside_another_promise_is_judged_too():
    suite = suite_of(Direct(of_element_0), "softmax")
    assert "bias by element" in {row.name for row in suite.rows() if row.verdict == "fails"}
