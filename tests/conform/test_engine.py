"""The engine of declared kinds: one search, one judge, one writer of sentences and of snippets for all of them."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from attnlab_theory import conform
from attnlab_theory.conform import say
from attnlab_theory.conform.callers import Direct, Fenced
from attnlab_theory.conform.calling import Uncallable, search
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.finding import Finding, Trouble
from attnlab_theory.conform.kinds.alibi import ALIBI
from attnlab_theory.conform.suite import suite_class
from tests.conform.positions import right

HERE = Path(conform.__file__).parent
ENGINE = [
    HERE / f"{name}.py" for name in ("kind", "operands", "case", "covering", "calling", "judge", "say", "show")
]


def judged(target, **declared):
    return suite_class("alibi")(Direct(target), "alibi", declared)


def test_what_is_bound_to_no_operand_is_named():
    suite = judged(lambda heads, length, dtype=None, slopes=None: right.symmetric(heads, length))
    assert suite.notes() == ["never passed: dtype, slopes"]
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
    ("target", "field", "value"),
    [
        (lambda heads, mystery_one, mystery_two: 0, "parameter", "mystery_two"),
        (lambda: 0, "shows", True),
        (lambda heads, length: 1 / 0, "trouble", None),
    ],
)
def test_a_target_that_cannot_be_called_is_refused_by_a_value(target, field, value):
    with pytest.raises(Uncallable) as error:
        search(ALIBI, Direct(target), {})
    found = getattr(error.value, field)
    assert found == value if value is not None else found.error == "ZeroDivisionError"
    assert say.ADAPTER in say.uncallable("it", error.value)


def test_a_case_is_the_lines_that_it_prints():
    case = Case.of(("heads", "queries", "keys"), (3, 1, 130))
    made = {}
    exec("\n".join(case.lines()), made)
    assert {name: made[name] for name in ("heads", "queries", "keys")} == case.operands()
    assert len(case.lines()) <= 10
    assert case.shape("1hs") == (1, 3, 130)


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


def test_nothing_in_the_engine_knows_a_kind_by_its_name():
    kinds = [path.stem for path in (HERE / "kinds").glob("*.py") if path.stem != "__init__"]
    for path in ENGINE:
        words = path.read_text().lower()
        assert not [kind for kind in kinds if kind in words], path.name


def test_findings_have_no_prose_and_only_few_modules_make_sentences():
    words = {field.name for field in dataclasses.fields(Finding) if field.type in ("str", str)}
    assert words == {"identity", "fact"}
    words = {field.name for field in dataclasses.fields(Trouble) if field.type in ("str", str)}
    assert words == {"error", "message", "file", "code", "like", "call"}
    names = re.compile(r"^\s*from attnlab_theory\.conform(\.say)? import .*\bsay\b", re.MULTILINE)
    importing = {path.stem for path in HERE.rglob("*.py") if names.search(path.read_text())}
    # It goes when every kind is declared.
    assert importing == {"declarations"}


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
