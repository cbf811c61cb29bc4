"""ONNX's vectors, asked of a target by its own arguments: right code holds, and what cannot be said never fails."""

import collections
import importlib
import sys

import numpy as np
import pytest

from attnlab_theory.cli import main
from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.kinds.softmax.reference import attend
from attnlab_theory.conform.kinds.softmax.tolerances import tolerance
from attnlab_theory.conform.vectors import reading
from tests.conform.wrong import whole

TARGET = """
import numpy as np


def plain(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True) @ v
"""


def test_without_onnx_there_is_one_line(monkeypatch, tmp_path, capsys):
    (tmp_path / "mine.py").write_text(TARGET)
    monkeypatch.setitem(sys.modules, "onnx", None)
    reading.vectors.cache_clear()
    assert main(["conform", f"{tmp_path}/mine.py::plain", "--as", "onnx"]) == 2
    said = capsys.readouterr().err.strip()
    assert said.count("\n") == 0, said
    assert "pip install 'attnlab[conformance]'" in said
    reading.vectors.cache_clear()


@pytest.fixture(scope="module")
def suite():
    pytest.importorskip("onnx", reason="onnx is not installed: its vectors were asked of nobody")
    return importlib.import_module("attnlab_theory.conform.vectors.suite")


@pytest.fixture(scope="module")
def asked(suite):
    del suite
    return importlib.import_module("attnlab_theory.conform.vectors.attending").asked()


def rows(suite, target, **declared):
    return {row.name: row for row in suite.OnnxSuite(Direct(target), "onnx", declared).rows()}


def counted(rows):
    return collections.Counter(row.verdict for row in rows.values())


def right(q, k, v, mask=None, is_causal=False, scale=None, softcap=None, bias=None):
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(whole(q, k, v, mask, causal=is_causal, scale=scale, softcap=softcap, bias=bias))


def flag_or_mask(q, k, v, mask=None, is_causal=False, scale=None):
    if mask is not None and is_causal:
        raise ValueError("a flag or a mask, not both")
    return right(q, k, v, mask, is_causal, scale)


def numbers_only(q, k, v, attn_mask=None):
    return right(q, k, v, bias=attn_mask)


def one_head(q, k, v, mask=None, scale=None):
    assert q.ndim == 2
    return right(q[None], k[None], v[None], mask, scale=scale)[0]


def of_one_width(q, k, v, mask=None, window=None):
    assert v.shape[-1] == k.shape[-1]
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(whole(q, k, v, mask, window=window))


def always_causal(q, k, v):
    return right(q, k, v, is_causal=True)


def test_what_is_read_out_of_a_vector_gives_its_answer(asked):
    """Whoever reads a mask, an offset or a cap wrongly disagrees here, before a stranger is accused."""
    for vector in filter(None, asked.values()):
        problem = vector.problem()
        exact = attend(problem)
        sees = problem.visible.any(-1, keepdims=True)
        off = np.abs(np.where(sees, exact.output, 0) - vector.output)
        assert np.max(off / tolerance(problem, exact, vector.kind).output) < 0.1, vector.name


@pytest.mark.parametrize(
    ("target", "holds", "not_judged"),
    [
        (right, 98, 6),
        (flag_or_mask, 50, 54),
        (numbers_only, 79, 25),
        (one_head, 50, 54),
        (of_one_width, 37, 67),
        (always_causal, 3, 101),
    ],
)
def test_right_code_is_asked_what_it_has_arguments_for(suite, target, holds, not_judged):
    found = rows(suite, target)
    assert counted(found) == {"holds": holds, "not judged": not_judged}
    assert all(row.line.startswith("cannot be said: ") for row in found.values() if row.verdict == "not judged")


@pytest.mark.parametrize(
    ("bug", "fails"),
    [
        ("wrong scale", True),
        ("scale ignored", True),
        ("mask of the first row", True),
        ("softcap after mask", True),
        ("bias before scale", True),
        # Too small for ONNX's tolerance; not for the derived one.
        ("1e-3 in the normaliser", True),
        ("half-precision scores", True),
        # Their scores are small and positive, and few of their masks differ by head: no tolerance shows these.
        ("absolute scores", False),
        ("no maximum", False),
        ("head 0's mask", False),
    ],
)
def test_planted_bugs_fail_where_a_vector_shows_them(suite, bug, fails):
    def target(q, k, v, mask=None, is_causal=False, scale=None, softcap=None, bias=None):
        with np.errstate(invalid="ignore", over="ignore"):
            return np.nan_to_num(
                whole(q, k, v, mask, causal=is_causal, scale=scale, softcap=softcap, bias=bias, bug=bug)
            )

    assert (counted(rows(suite, target))["fails"] > 0) is fails


def test_a_row_that_sees_nothing_may_be_what_it_likes(suite):
    def mean(q, k, v, mask=None):
        sees = True if mask is None else mask.any(-1)[..., None]
        return np.where(sees, right(q, k, v, mask), v.mean(-2, keepdims=True))

    found = rows(suite, mean)
    told = [row for row in found.values() if row.verdict == "convention"]
    assert (counted(found)["fails"], len(told) > 3, "zero to ONNX" in told[0].line) == (0, True, True)


def capped_unless_none(q, k, v, softcap=5.0):
    return right(q, k, v, softcap=softcap)


def always_capped(q, k, v, softcap=5.0):
    return right(q, k, v, softcap=float(softcap))


def narrow(q, k, v, mask=None, window=4):
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(whole(q, k, v, mask, causal=True, window=window))


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (capped_unless_none, ("softcap", "5.0 by default, and None where it is not asked")),
        (always_capped, ("softcap", "5.0 by default, and no value that was tried switches it off")),
        (narrow, ("window", "4 by default, and None where it is not asked")),
    ],
)
def test_a_cap_or_a_window_that_is_on_by_default_is_switched_off_or_said(suite, target, said):
    judged = suite.OnnxSuite(Direct(target), "onnx")
    found = {row.name: row for row in judged.rows()}
    assert said in judged.profile
    assert counted(found)["fails"] == 0, next(row for row in found.values() if row.verdict == "fails")
    assert counted(found)["holds"] > 0


def test_half_precision_that_is_refused_and_float64_that_is_float32_are_told(suite):
    def single(q, k, v, mask=None):
        if q.dtype == np.float16:
            raise TypeError("no half precision")
        return right(q.astype(np.float32), k.astype(np.float32), v.astype(np.float32), mask).astype(q.dtype)

    found = rows(suite, single)
    assert "refused: TypeError: no half precision" in found["attention_4d_fp16"].line
    assert "computed in float32" in found["flexattention_double"].line
    assert counted(found)["fails"] == 0
