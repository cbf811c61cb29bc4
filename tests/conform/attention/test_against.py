"""Two functions that promise the same: what differs beyond rounding fails, and what is a choice is told."""

import json

import numpy as np
import pytest

from attnlab_theory.cli import main
from attnlab_theory.conform.callers import Direct
from tests.conform import right
from tests.conform.judging import suite as suite_of
from tests.conform.right import plain


def tokens_first(q, k, v, attn_mask=None):
    return plain(*(np.swapaxes(x, 1, 2) for x in (q, k, v)), attn_mask).swapaxes(1, 2)


def causal(q, k, v):
    return plain(q, k, v, np.tri(q.shape[-2], k.shape[-2], k.shape[-2] - q.shape[-2], dtype=bool))


def from_the_start(q, k, v):
    return plain(q, k, v, np.tri(q.shape[-2], k.shape[-2], dtype=bool))


def zeros_where_blind(q, k, v, mask=None):
    return np.nan_to_num(plain(q, k, v, mask), nan=0.0)


def wrong_at_17(q, k, v, mask=None):
    return plain(q, k, v, mask) * q.dtype.type(1.001 if k.shape[-2] == 17 else 1)


def raises_at_17(q, k, v, mask=None):
    if k.shape[-2] == 17:
        raise ValueError("too long")
    return plain(q, k, v, mask)


def no_halves(q, k, v, mask=None):
    if q.dtype == np.float16:
        raise TypeError("no halves")
    return plain(q, k, v, mask)


def unscaled(q, k, v, mask=None):
    return plain(q * q.dtype.type(q.shape[-1] ** 0.5), k, v, mask)


def compared(target, other, kind="softmax"):
    suite = suite_of(Direct(target), kind)
    suite.against(Direct(other))
    return {row.name: row for row in suite.rows(("against", "differences"))}


@pytest.mark.slow("two paths of a model to the same logits stay inside")
@pytest.mark.parametrize("other", [*right.RIGHT, tokens_first], ids=lambda each: each.__name__)
def test_right_code_agrees_however_it_is_written_and_laid_out(other):
    """Calls two functions on every case in which they are compared."""
    assert compared(plain, other)["against"].verdict == "holds"


@pytest.mark.slow("scales that differ, and are not compared, stay inside")
@pytest.mark.parametrize(
    ("target", "other", "kind", "said"),
    [
        (plain, zeros_where_blind, "softmax", "blind rows: NaN here, zeros there"),
        (plain, tokens_first, "softmax", "layout: b h t d here, b t h d there"),
        (
            causal,
            from_the_start,
            "causal",
            "more keys than queries: end here, start there",
        ),
        (plain, no_halves, "softmax", "float16: refused there"),
    ],
)
def test_conventions_that_differ_are_told_and_nobody_fails(target, other, kind, said):
    """Calls two functions on every case in which they are compared."""
    rows = compared(target, other, kind)
    assert (rows["against"].verdict, rows["differences"].verdict) == ("holds", "convention")
    assert said in rows["differences"].line


@pytest.mark.slow("two paths of a model to the same logits stay inside")
def test_two_that_are_alike_have_no_row_of_differences():
    """Calls two functions on every case in which they are compared."""
    assert [*compared(plain, plain)] == ["against"]


@pytest.mark.slow("two of four members stay inside", but=2)
@pytest.mark.parametrize(
    ("target", "other", "said"),
    [
        (plain, wrong_at_17, "times both tolerances apart, at [b h t e] = "),
        (plain, raises_at_17, "only there: ValueError: too long"),
        (raises_at_17, plain, "only here: ValueError: too long"),
        (plain, causal, "there: visibility: no query sees what comes after it"),
    ],
)
def test_what_no_convention_explains_fails(target, other, said):
    row = compared(target, other)["against"]
    assert (row.verdict, said in row.line) == ("fails", True), row.line


def test_calls_that_mean_another_thing_to_the_other_are_not_compared():
    rows = compared(plain, unscaled)
    assert "calls mean another thing there" in rows["against"].line
    assert "scale: 1/sqrt(width) here, 1 there" in rows["differences"].line


TARGETS = """
import numpy as np


def one(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True) @ v


def other(q, k, v):
    return one(q, k, v) * q.dtype.type(1.001 if k.shape[-2] == 17 else 1)
"""


@pytest.mark.slow("what no convention explains, without the command, stays inside")
def test_one_command_compares_two_functions_of_a_file(capsys, tmp_path):
    """Judges a function whole and compares it with another, each in a process of its own."""
    (tmp_path / "two.py").write_text(TARGETS)
    file = f"{tmp_path}/two.py"
    assert main(["conform", f"{file}::one", "--as", "softmax", "--json", "--against", f"{file}::other"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [row["identity"] for row in found["rows"] if row["verdict"] == "fails"] == ["against"]
    assert found["conventions"]["against"] == f"{file}::other"
    assert main(["conform", f"{file}::one", "--against", f"{file}::other"]) == 2
    assert "--against needs --as KIND" in capsys.readouterr().err
