"""What went wrong is told by values: no word of a stranger decides between a refusal, a failure and a hung call."""

import ast
from pathlib import Path

import numpy as np
import pytest

from attnlab_theory.conform import report, say
from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.finding import Fault, Finding, Trouble, Verdict, trouble_of
from attnlab_theory.conform.suite import Row, suite_class
from tests.conform.positions import right


class too_long(Exception):
    pass


def refuses_long(error):
    """Rotary positions that refuse long texts."""

    def target(x, positions):
        if np.max(positions, initial=0) > 3000:
            raise error
        return right.interleaved(x, positions)

    return target


@pytest.mark.parametrize("error", [too_long("beyond the table"), ValueError("Beyond the table"), IndexError()])
def test_an_exception_is_a_refusal_whatever_its_name_begins_with(error):
    suite = suite_class("rotary")(Direct(refuses_long(error)), "rotary")
    row = suite.row("large positions")
    assert row is not None
    assert row.trouble is not None
    assert (row.verdict, row.trouble.fault, row.trouble.error) == ("convention", "raised", type(error).__name__)


@pytest.mark.parametrize("words", ["not called: twice", "another answer", "took longer than 3 s", "writes into x"])
def test_words_of_a_stranger_are_no_verdict(words):
    suite = suite_class("rotary")(Direct(refuses_long(ValueError(words))), "rotary")
    row = suite.row("large positions")
    assert row is not None
    assert row.trouble is not None
    assert suite._as_far_as_called(row, 0) is row
    assert (row.verdict, row.trouble.costs, row.trouble.is_unsure) == ("convention", False, False)
    failed = Row(name="a", verdict=Verdict.FAILS, line=words, tried=1, trouble=row.trouble)
    assert suite._as_far_as_called(failed, 1) is failed


def test_a_row_whose_calls_had_no_answer_is_no_success():
    suite = suite_class("rotary")(Direct(refuses_long(ValueError("no"))), "rotary")
    row, other = (Row(name=name, verdict=Verdict.HOLDS, line="", tried=1) for name in "ab")
    failed = Row(name="c", verdict=Verdict.FAILS, line="", tried=1)
    unsaid = Row(name="d", verdict=Verdict.NOT_JUDGED, line="cannot be said", tried=0)
    gone = suite._as_far_as_called(row, 1)
    found = [[row, other, unsaid], [gone, other], [gone, failed], []]
    assert [report.exit_code(rows) for rows in found] == [0, 2, 1, 0]
    assert report.exit_code([row], refused=True) == 1


def test_the_call_of_a_failure_is_a_field_of_its_own():
    suite = suite_class("rotary")(Direct(lambda x, positions: 2 * right.interleaved(x, positions)), "rotary")
    rows = {row.name: row for row in suite.rows()}
    called = [row for row in rows.values() if row.case]
    assert called
    assert all(row.line.endswith(f"; the call: {row.case}") for row in called)


def test_the_far_side_reports_a_fault_and_its_data():
    def target(x):
        raise ValueError("no")

    caller = Direct(target)
    report, _ = caller.call(
        {"framework": "numpy", "kind": "float32", "strided": False, "names": [], "plain": {}}, []
    )
    found = trouble_of(report)
    assert found is not None
    assert (found.fault, found.error) == (Fault.RAISED, "TypeError")
    assert trouble_of({"trouble": found}) is found
    assert trouble_of({"trouble": ""}) is None
    assert trouble_of({"trouble": "ended the process (3)"}) == Trouble(
        fault=Fault.ENDED, message="ended the process (3)"
    )


@pytest.mark.parametrize("fault", Fault)
def test_every_fault_has_words(fault):
    said = str(Trouble(fault=fault, error="ValueError", message="m", gave=(1,), wanted=(2, "e"), call="x [1]"))
    assert said.startswith("x [1]: ")
    assert len(said) > len("x [1]: ")


def cast(q, k, v, mask=None):
    """In float32 whatever it is given; half precision and an empty batch are refused."""
    if q.dtype == np.float16 or not len(q):
        raise ValueError("no such numbers")
    x, y, z = (each.astype(np.float32) for each in (q, k, v))
    scores = x @ np.swapaxes(y, -1, -2) * np.float32(q.shape[-1] ** -0.5)
    scores = scores if mask is None else scores + np.where(mask, 0, np.float32(-1e9))
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return (raised / raised.sum(-1, keepdims=True) @ z).astype(q.dtype)


def test_a_convention_is_told_in_brief_by_its_facts():
    suite = suite_class("softmax")(Direct(cast), "softmax")
    found = {row.name: row for row in suite.rows(["plain", "float64", "float16", "hidden NaN", "empty batch"])}
    assert {name: row.brief for name, row in found.items()} == {
        "plain": "",
        "float64": "computed in float32",
        "float16": "refused",
        "hidden NaN": "reaches the output from keys and values",
        "empty batch": "refused",
    }
    parts = tuple(
        ("of type", {"type": kind, "line": (fact, {"fill": 6e4, "down": 2e4}), "trouble": None})
        for kind, fact in (("float32", "fills tried"), ("float16", "finite fill"))
    )
    finding = Finding(verdict=Verdict.CONVENTION, fact="parts", about={"parts": parts})
    assert say.brief(finding) == "float16: a score of 60000 shows a hidden key, 20000 does not"


READS = {"startswith", "endswith", "partition", "rpartition", "split", "find", "index", "removeprefix", "search"}
READS |= {"match", "fullmatch", "findall", "sub"}
"""Methods and functions by which a program would read a sentence."""

SENTENCES = {"line", "message", "remedy"}
"""Fields that hold one."""


def read_sentences(code):
    """The lines of code that read a sentence: a field that holds one, or what an exception says."""

    def is_sentence(node):
        if isinstance(node, ast.Subscript):
            return isinstance(node.slice, ast.Constant) and node.slice.value in SENTENCES
        if isinstance(node, ast.Call):
            return ast.unparse(node.func) == "str" and "error" in ast.unparse(node)
        return isinstance(node, ast.Attribute) and node.attr in SENTENCES

    for node in ast.walk(ast.parse(code)):
        read = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READS:
            # To split at blanks without looking is how a line is made of a text.
            read = [node.func.value, *node.args] if node.args else []
        elif isinstance(node, ast.Compare) and any(isinstance(each, ast.In | ast.NotIn) for each in node.ops):
            read = node.comparators
        if any(map(is_sentence, read)):
            yield node.lineno, ast.unparse(node)


@pytest.mark.parametrize(
    "code",
    [
        'row.line.startswith("refused: ")',
        'told["line"].partition(". ")[0]',
        're.sub("answered", "", str(error))',
        'trouble.message in ("a",) or "b" in row.line',
    ],
)
def test_who_reads_a_sentence_is_found(code):
    assert [*read_sentences(code)]


def test_no_program_reads_a_sentence():
    """A stranger's own words are cleared of the target's name where they come in, and read nowhere else."""
    root = Path(__file__).parents[2]
    found = {
        f"{path.relative_to(root)}: {code}"
        for folder in ("attnlab_theory/conform", "board")
        for path in sorted((root / folder).rglob("*.py"))
        for _, code in read_sentences(path.read_text("utf-8"))
    }
    assert found == {"attnlab_theory/conform/callers.py: str(error).removeprefix(plain(self.name))"}
