"""The engine of declared kinds: one search, one judge, one writer of sentences and of snippets for all of them."""

import dataclasses
import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from attnlab_theory import conform
from attnlab_theory.conform import report, say
from attnlab_theory.conform.callers import Direct, Fenced, place_of
from attnlab_theory.conform.calling import Uncallable, search
from attnlab_theory.conform.case import Case, rounded
from attnlab_theory.conform.finding import Finding, Trouble
from attnlab_theory.conform.kinds.alibi import ALIBI
from attnlab_theory.conform.kinds.linear import LINEAR
from attnlab_theory.conform.operands import laid
from attnlab_theory.conform.report import notes_of
from attnlab_theory.conform.suite import suite_class
from attnlab_theory.conform.templates import advice
from tests.conform.linear import linear_code
from tests.conform.positions import right

HERE = Path(conform.__file__).parent
WORDS = "kind operands case covering calling judge identities sensitivity say show declarations"
ENGINE = [HERE / f"{name}.py" for name in WORDS.split(" ")]


def judged(target, **declared):
    return suite_class("alibi")(Direct(target), "alibi", declared)


def test_what_is_bound_to_no_operand_is_named():
    suite = judged(lambda heads, length, dtype=None, slopes=None: right.symmetric(heads, length))
    assert notes_of(suite) == ["never passed: dtype, slopes"]
    assert judged(right.symmetric).notes() == []


def test_a_convention_is_found_by_how_near_it_is_to_what_is_right():
    found = search(ALIBI, Direct(right.from_the_start), {})
    assert found.chosen == {"axes": "hts", "alignment": "start", "future": "symmetric"}
    assert found.residual < 1e-12
    of_twelve = search(ALIBI, Direct(right.of_twelve), {})
    assert (of_twelve.chosen["heads"], of_twelve.names) == (12, {"keys": "s", "queries": "t"})


def test_a_convention_that_no_call_can_tell_is_not_told():
    one_row = search(ALIBI, Direct(lambda heads, queries, keys: right.bloom(heads, keys)), {})
    assert (one_row.chosen["axes"], one_row.idle) == ("h1s", ("alignment",))
    assert search(ALIBI, Direct(right.from_the_start), {}).idle == ()
    assert "more keys than queries" not in dict(judged(right.symmetric).profile)


def test_what_is_declared_is_not_searched_and_a_contradiction_fails():
    suite = judged(right.from_the_start, alignment="end")
    assert [(row.name, row.verdict) for row in suite.rows()] == [("falling", "fails")]
    assert judged(right.from_the_start, alignment="start").row("falling").verdict == "holds"


@pytest.mark.parametrize(
    ("target", "fact", "about", "errors"),
    [
        (lambda heads, mystery_one, mystery_two: 0, "unknown", {"parameter": "mystery_two"}, []),
        (lambda: 0, "nothing", {}, []),
        (lambda heads, length: 1 / 0, "", {"learns": []}, ["ZeroDivisionError"]),
    ],
)
def test_a_target_that_cannot_be_called_is_refused_by_a_value(target, fact, about, errors):
    with pytest.raises(Uncallable) as error:
        search(ALIBI, Direct(target), {})
    assert (error.value.fact, error.value.about) == (fact, about)
    assert [each.error for each in error.value.troubles][:1] == errors
    assert advice("alibi") in say.uncallable("it", ALIBI, error.value, "alibi")


def test_an_identity_that_a_kind_has_not_is_refused_and_not_left_out():
    rows = suite_class("rotary")(Direct(right.interleaved), "rotary").rows(("turning", "relativity"))
    with pytest.raises(ValueError, match="rotary has no identity 'relativity'; there are turning, "):
        next(rows)


def test_a_case_is_the_lines_that_it_prints():
    case = Case.of(("heads", "queries", "keys"), (3, 1, 130))
    made = {}
    exec("\n".join(case.lines()), made)
    assert {name: made[name] for name in ("heads", "queries", "keys")} == case.operands()
    assert len(case.lines()) <= 10
    assert case.shape("1hs") == (1, 3, 130)


ARRAYS = (("q", "bhtd"), ("k", "bhsd"), ("v", "bhse"), ("mask", "bs"))


def test_a_case_of_arrays_is_the_lines_that_it_prints():
    case = LINEAR.case({"mask": "padded", "values": "large", "seed": 3, "edits": ("q[:, :, 2:] = 7",)})
    case = dataclasses.replace(case, arrays=ARRAYS)
    made = {"np": np}
    exec("\n".join(case.lines()), made)
    assert all(np.array_equal(made[name], x) for name, x in case.operands().items())
    assert (len(case.lines()) <= 10, case.operands()["mask"].tolist()[1][:3]) == (True, [False, False, True])
    assert (case.operands()["q"][:, :, 2:] == 7).all()
    first = case.replaced(parts=(2, 2)).operands()
    assert [first[name].shape for name in ("q", "mask")] == [(2, 2, 4, 4), (2, 4)]


def test_only_arrays_of_the_type_of_a_case_are_handed_over():
    case = dataclasses.replace(LINEAR.case({"type": "bfloat16"}), arrays=ARRAYS[:3])
    q = case.operands()["q"]
    assert q.dtype == np.float32
    assert not (q.view(np.uint32) & 0xFFFF).any()


@pytest.mark.parametrize(
    ("axes", "layout", "code"),
    [
        ("bhsd", "bhtd", "x"),
        ("bhsd", "bthd", "x.transpose(0, 2, 1, 3)"),
        ("bhse", "tbd", "x[:, 0].transpose(1, 0, 2)"),
        ("bht", "thd", "x[0].transpose(1, 0)"),
        ("bs", "td", "x[0]"),
        ("h", "bthd", "x"),
    ],
)
def test_axes_that_a_layout_lacks_are_of_length_one_and_the_others_in_its_order(axes, layout, code):
    assert laid("x", axes, layout) == code
    cut = laid("x", axes, layout, cut=True)
    assert ("a:b" in cut) == bool({*axes} & {*"ts"})


def by_name(*, value, key, query, segment_ids=None):
    return linear_code.states(query, key, value)


def test_queries_keys_and_values_are_handed_over_by_name_where_no_place_takes_them():
    suite = suite_class("linear")(Direct(by_name), "linear")
    assert [row.name for row in suite.rows(("plain", "padding")) if row.verdict == "holds"] == ["plain"]
    assert notes_of(suite) == ["never passed: segment_ids"]


def test_a_target_of_two_arrays_is_refused_with_what_it_takes():
    with pytest.raises(ValueError, match=r"it takes q, k, but is called as f\(q, k, v\)"):
        suite_class("linear")(Direct(lambda q, k: q), "linear")


WRONG = {
    "strided": ("non-contiguous", "linear(q, k, v) * (1 + 0.01 * (not v.flags.c_contiguous))"),
    "mask": ("padding", "linear(q, k, v, mask if mask is None or mask.shape[1] < 9 else mask[:1])"),
    "flag": ("prefixes", "linear(q, k, v, None, causal) * (1 + 0.01 * (q.shape[-2] > 16 and causal))"),
    "future": ("future", "linear(q, k, v, None, causal) + 0.01 * causal * v.mean(-2, keepdims=True)"),
    "apart": ("elements apart", "linear(q, k, v, None, causal) + 0.001 * v.mean(0, keepdims=True)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_snippet_makes_the_calls_that_it_shows(name, tmp_path, monkeypatch, capsys):
    identity, code = WRONG[name]
    module = f"wrong_{name}"
    (tmp_path / f"{module}.py").write_text(
        f"from tests.conform.linear.linear_code import buggy\n\nlinear = buggy('')\n\n\n"
        f"def mine(q, k, v, mask=None, causal=False):\n    return {code}\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    place = place_of(f"{tmp_path}/{module}.py::mine")
    target = importlib.import_module(module).mine
    suite = suite_class("linear")(Direct(target), "linear", {"features": "elu"})
    rows = [*suite.rows((identity,))]
    assert [row.verdict for row in rows] == ["fails"]
    lines = suite.snippet(place, rows)
    assert 0 < len(lines) <= 15
    exec("\n".join(lines), {})
    given, right = capsys.readouterr().out.removesuffix(" is right\n").split(" where ")
    number = rows[0].counterexample.number
    assert [float(given), float(right)] == pytest.approx([number.given, number.right], rel=1e-5)
    assert abs(float(given) - float(right)) > 1e-4


def ends_at_64(heads, queries, keys):
    """Right, but for an odd number of heads and more than 64 keys."""
    bias = right.from_the_start(heads, queries, keys)
    return np.maximum(bias, bias[:, :, :1] * 0 - 64 * bias.max() - 0.5) if heads % 2 and keys > 64 else bias


def test_two_features_that_nobody_set_beside_each_other_are_asked_together():
    suite = judged(ends_at_64)
    found = {row.name: row.verdict for row in suite.rows()}
    assert (found["other heads"], found["lengths"], found["pairs"]) == ("holds", "holds", "fails")


def test_a_counterexample_is_made_small_by_its_recipe():
    def capped(heads, length):
        bias = right.symmetric(heads, length)
        return np.maximum(bias, bias[:, :1, 20:21]) if length > 20 else bias

    row = judged(capped).row("lengths")
    assert row.counterexample.case == Case.of(("heads", "queries", "keys"), (1, 22, 22))
    assert row.case == "heads=1, length=22"


def test_json_has_the_tolerance_of_the_number_that_is_wrong():
    suite = suite_class("linear")(Direct(linear_code.buggy("blocks of 64 leak")), "linear", {"features": "elu"})
    rows = [*suite.rows(("block edges", "plain"))]
    said = {row["identity"]: row for row in report.as_json(suite, rows, "it", "linear", 1, 0.0)["rows"]}
    assert said["plain"]["tolerance"] is None
    assert said["block edges"]["tolerance"] == rows[1].counterexample.number.most > 0


@pytest.mark.parametrize("at", [1, 3, 4])
def test_a_call_that_died_once_is_told_and_is_no_other_answer(at):
    calls = []

    def mine(q, k, v):
        if q.shape[-2] == 6:
            calls.append(len(calls))
            if dies and len(calls) == at:
                raise MemoryError("transient")
        return linear_code.states(q, k, v)

    dies = False
    suite = suite_class("linear")(Direct(mine), "linear", {"features": "elu"})
    calls.clear()
    dies = True
    (row,) = suite.rows(("same result",))
    assert (row.verdict, row.trouble.fault, row.trouble.error) == ("fails", "raised", "MemoryError")


def test_nothing_in_the_engine_knows_a_kind_by_its_name():
    kinds = [path.stem for path in (HERE / "kinds").glob("*.py") if path.stem != "__init__"]
    for path in ENGINE:
        words = path.read_text().lower()
        if path.name in ("operands.py", "say.py"):
            # Strangers may call a parameter by the name of a kind, and so do sentences.
            words = re.sub(r'".*?"', "", words)
        assert not [kind for kind in kinds if kind in words], path.name


def test_findings_have_no_prose_and_only_few_modules_make_sentences():
    words = {field.name for field in dataclasses.fields(Finding) if field.type in ("str", str)}
    assert words == {"identity", "fact"}
    words = {field.name for field in dataclasses.fields(Trouble) if field.type in ("str", str)}
    assert words == {"error", "message", "file", "code", "like", "call"}
    names = re.compile(r"^\s*from attnlab_theory\.conform(\.say)? import .*\bsay\b", re.MULTILINE)
    importing = {path.stem for path in HERE.rglob("*.py") if names.search(path.read_text())}
    assert importing == {"report"}


def test_a_call_that_ends_the_process_is_not_made_again_to_make_it_small(tmp_path):
    """Starts a few processes, for the target ends each; what it does not end is judged."""
    path = tmp_path / "mine.py"
    path.write_text(
        "import os\nimport numpy as np\n\n\ndef mine(heads, length):\n"
        "    if length > 100:\n        os._exit(3)\n"
        "    at = np.arange(length)\n    slopes = 2.0 ** (-8 * np.arange(1, heads + 1) / heads)\n"
        "    return -slopes[:, None, None] * np.abs(at - at[:, None])\n"
    )
    with Fenced(f"{path}::mine") as caller:
        suite = suite_class("alibi")(caller, "alibi")
        found = {row.name: row for row in suite.rows()}
    assert (found["lengths"].verdict, found["lengths"].trouble.fault) == ("fails", "ended")
    assert [found[name].verdict for name in ("one token", "pairs", "same result")] == ["holds"] * 3


def test_one_number_stays_one_number_in_bfloat16():
    """As a lambda or a shift is handed over: with an axis it would be no plain number."""
    x = rounded(np.array(1.001, np.float32), "bfloat16")
    assert (x.shape, float(x)) == ((), 1.0)
