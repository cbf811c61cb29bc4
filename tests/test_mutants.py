"""What `tests.mutants` changes, in what order it asks, and how its record goes on."""

import ast
import builtins
import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest
from scipy import stats

from tests.mutants import record as records
from tests.mutants import trials
from tests.mutants.changes import ROOT, Change, changes_of, files_of
from tests.mutants.in_place import changed, changed_codes, is_imported, written
from tests.mutants.reach import AT_IMPORT, Reach, Test, saying_what_is_reached
from tests.mutants.reach import write as write_reach


def changes(tmp_path: Path, body: str) -> set[tuple[str, str]]:
    """Kind and change of every change of a function with this body."""
    path = tmp_path / "module.py"
    path.write_text(f"LEAST = 10\n\ndef f(x, y=7.0):\n    {body}\n", "utf-8")
    found = changes_of(path, root=tmp_path)
    for change in found:
        ast.parse(change.source(path.read_bytes()))
    return {(change.kind, change.change) for change in found}


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("return 0.5", {("constant", "0.5 -> 0.525")}),
        ("return -x", {("sign", "-x -> x")}),
        ("return x - y", {("sign", "x - y -> x + y")}),
        ("return x**y", {("exponent", "x ** y -> x ** (y * 1.05)")}),
        ("return x * y", {("dropped factor", "x * y -> x"), ("dropped factor", "x * y -> y")}),
        ("return x / y", {("dropped factor", "x / y -> x")}),
        ("return abs(x)", {("dropped call", "abs(x) -> x")}),
        ("return max(x, y)", {("dropped call", "max(x, y) -> x"), ("dropped call", "max(x, y) -> y")}),
        ("return x < y", {("comparison", "x < y -> x <= y")}),
        (
            "return x == y != x",
            {("comparison", "x == y != x -> x != y != x"), ("comparison", "x == y != x -> x == y == x")},
        ),
        ("return range(3)", {("off by one", "3 -> 4"), ("off by one", "3 -> 2")}),
        ("return x[:1]", {("off by one", "1 -> 2"), ("off by one", "1 -> 0")}),
    ],
)
def test_every_kind_of_change_is_made(tmp_path, body, wanted):
    assert changes(tmp_path, body) == wanted


@pytest.mark.parametrize(
    "body",
    [
        "raise ValueError(x + 1)",
        "return f'{x + 1}'",
        "return 'a' + x",
        "return x.shape[0]",
        "return g(axis=1)",
        "return x",
    ],
)
def test_words_axes_and_refusals_have_no_changes(tmp_path, body):
    assert changes(tmp_path, body) == set()


def test_a_change_leaves_everything_else_as_it_is(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("def f(a, b):\n    return 2 * (a + b)  # für alle\n", "utf-8")
    (change,) = (c for c in changes_of(path, root=tmp_path) if c.change == "a + b -> a - b")
    assert change.source(path.read_bytes()).decode() == "def f(a, b):\n    return 2 * ((a - b))  # für alle\n"
    assert (change.text, change.function) == ("return 2 * (a + b)  # für alle", "module.py:1:f")


def test_a_change_of_several_lines_leaves_what_follows_on_its_lines(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("def f(a, b):\n    return (\n        a\n        + b\n    )\n", "utf-8")
    (change,) = changes_of(path, root=tmp_path)
    after = change.source(path.read_bytes()).decode()
    assert "(a - b\n)" in after
    assert after.count("\n") == path.read_text("utf-8").count("\n")


SOURCE = """
def f(x):
    def inside(y):
        return y + 1
    return inside(x)

FIRST, SECOND = (lambda x: x > 0), (lambda x: x > 0)
KEPT = f
def twice(x):
    return max((lambda y: y)(x), 2 * x)
"""


@pytest.mark.parametrize(
    ("before", "after", "name", "told"),
    [
        ("y + 1", "y - 1", "KEPT", (2, 0)),
        ("x > 0), (lambda x: x > 0)", "x > 0), (lambda x: x > 1)", "SECOND", (True, False)),
        ("2 * x)", "3 * x)", "twice", (2, 3)),
    ],
)
def test_a_function_is_changed_where_it_lies_and_is_itself_again(tmp_path, before, after, name, told):
    path = str(tmp_path / "module.py")
    names: dict[str, Any] = {}
    # The lambdas lie on lines of their own.
    source, other = (s.replace("), (l", "), \\\n    (l") for s in (SOURCE, SOURCE.replace(before, after)))
    exec(compile(source, path, "exec"), names)
    functions = [value for value in names.values() if callable(value) and hasattr(value, "__code__")]
    with changed(functions, changed_codes(source, other, path)) as found:
        assert found
        assert names[name](1) == told[1]
        assert names["FIRST"](1)
    assert names[name](1) == told[0]


def test_processes_read_the_change_on_disk_and_no_bytecode_of_another(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("print(1)\n")
    read = [sys.executable, "-c", "import sys; sys.path.insert(0, ''); import module"]

    def told() -> str:
        return subprocess.run(read, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert told() == "1\n"
    for other in "23":  # as long as the old source, so that only its time tells them apart
        with written(str(path), "print(1)\n", f"print({other})\n"):
            assert told() == f"{other}\n"
        assert told() == "1\n"
    assert is_imported(__file__)
    assert not is_imported(str(path))


def test_nothing_is_changed_in_place_where_a_function_inside_is_gone():
    assert changed_codes(SOURCE, SOURCE.replace("(lambda y: y)(x)", "x"), "module.py") == []


def test_a_source_says_which_of_its_functions_are_reached(monkeypatch):
    source = '"""Words."""\ndef f(x):\n    """More."""\n    return (lambda y: y + 1)(x)\n'
    reached: list[str] = []
    monkeypatch.setattr(builtins, "__reached__", reached.append, raising=False)
    names: dict[str, Any] = {}
    exec(saying_what_is_reached(source, "m.py"), names)
    assert names["f"](1) == 2
    assert reached == ["m.py:2:f", "m.py:4:lambda at 12"]
    assert (names["__doc__"], names["f"].__doc__) == ("Words.", "More.")


def test_rooms_are_folders_or_files_of_the_package():
    assert [path.name for path in files_of("claims/judging.py")] == ["judging.py"]
    assert "bounds.py" in {path.name for path in files_of("stats")}
    with pytest.raises(ValueError, match="cellar is no room"):
        files_of("cellar")


def test_a_shorter_sample_is_the_beginning_of_a_longer():
    short, every = trials.sampled("stats", 5, 3)
    long, _ = trials.sampled("stats", 20, 3)
    assert long[:5] == short
    assert every > 20


HEADER = {"commit": "c" * 40, "room": "stats", "sample": 2, "seed": 0, "all": 9}


def test_a_record_goes_on_where_it_stopped_even_in_the_middle_of_a_line(tmp_path):
    path = tmp_path / "folder" / "stats.jsonl"
    change = {"file": "f", "text": "t", "change": "a -> b", "start": 3, "state": "failed"}
    records.Record(path, HEADER).add(change)
    with path.open("a") as file:
        file.write('{"file": "f", "te')
    again = records.Record(path, HEADER)
    assert list(again.fates.values()) == [change]
    again.add({**change, "start": 4})
    assert len(records.Record(path, HEADER).fates) == 2


@pytest.mark.parametrize(("name", "other"), [("commit", "d" * 40), ("seed", 1), ("sample", 3)])
def test_a_record_of_something_else_is_refused_in_one_line(tmp_path, name, other):
    path = tmp_path / "stats.jsonl"
    records.Record(path, HEADER)
    with pytest.raises(records.Refused, match=f"with {name} {HEADER[name]}, not {other}") as refused:
        records.Record(path, {**HEADER, name: other})
    assert "\n" not in str(refused.value)


def one_change(tmp_path: Path) -> Change:
    """`x + 1 -> x - 1` in a module of its own room."""
    path = tmp_path / "attnlab_theory/room/module.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("def f(x):\n    return x + 1\n")
    return next(change for change in changes_of(path, root=tmp_path) if change.kind == "sign")


FUNCTION, ELSEWHERE = "attnlab_theory/room/module.py:1:f", "attnlab_theory/room/module.py:9:g"


def reach_of(tmp_path: Path, tests: dict[str, tuple[str, float, list[str]]]) -> Reach:
    path = tmp_path / "reach.jsonl"
    write_reach(path, "c" * 40, [[name, *told] for name, told in tests.items()])
    return Reach(path)


def test_near_and_quick_tests_are_asked_first_and_failing_ones_never(tmp_path):
    change = one_change(tmp_path)
    reach = reach_of(
        tmp_path,
        {
            "tests/room/test_module.py::slow": ("passed", 9.0, [FUNCTION]),
            "tests/room/test_module.py::quick": ("passed", 1.0, [FUNCTION]),
            "tests/room/test_module.py::other": ("passed", 0.1, [ELSEWHERE]),
            "tests/far/test_far.py::first": ("passed", 0.5, [FUNCTION]),
            "tests/far/test_far.py::between": ("passed", 2.0, [FUNCTION]),
            "tests/far/test_far.py::red": ("failed", 0.1, [FUNCTION]),
            "tests/far/test_far.py::none": ("passed", 0.1, []),
            AT_IMPORT: ("passed", 0.0, [ELSEWHERE]),
        },
    )
    order = [test.rpartition("::")[2] for test in reach.order(change)]
    assert order == ["quick", "first", "between", "slow", "other"]
    assert not reach.is_called_at_import(change)


def test_where_no_test_reaches_a_module_those_of_its_room_are_asked(tmp_path):
    tests = {
        "tests/room/test_b.py::b": ("passed", 2.0, []),
        "tests/room/test_a.py::a": ("passed", 1.0, []),
    }
    reach = reach_of(tmp_path, {**tests, "tests/far/test_far.py::far": ("passed", 0.1, [])})
    assert reach.order(one_change(tmp_path)) == ["tests/room/test_a.py::a", "tests/room/test_b.py::b"]


def test_a_second_run_of_a_commit_adds_its_tests_and_what_is_called_at_import_is_joined(tmp_path):
    reach_of(tmp_path, {"a": ("passed", 1.0, ["m:1:f"]), AT_IMPORT: ("passed", 0.0, ["m:1:f"])})
    reach = reach_of(tmp_path, {"b": ("failed", 2.0, []), AT_IMPORT: ("passed", 0.0, ["m:2:g"])})
    assert reach.tests == {
        "a": Test("passed", 1.0, frozenset({"m:1:f"})),
        "b": Test("failed", 2.0, frozenset()),
        AT_IMPORT: Test("passed", 0.0, frozenset({"m:1:f", "m:2:g"})),
    }
    with pytest.raises(ValueError, match="mutants reach"):
        Reach(tmp_path / "nothing.jsonl")


class Placed:
    """In the place of a process: it holds a test of each circle, and gives these answers in their order."""

    tests: ClassVar = {"tests/room/test_module.py::near": False, "tests/room/test_module.py::far": True}

    def __init__(self, answers: list[Any]) -> None:
        self.answers, self.asked = answers, []
        self.process = self  # a process that goes on

    def poll(self) -> None:
        return None

    def ask(self, file: str, before: str, after: str, tests: list[str], seconds: float, **_: Any) -> dict[str, Any]:
        self.asked.append((before != after, [test.rpartition("::")[2] for test in tests]))
        state = self.answers.pop(0)
        return {"state": state, "killer": "k" if state == "failed" else "", "asked": 1, "cpu": 0.5}

    def close(self) -> None:
        self.asked.append("closed")


@pytest.mark.parametrize(
    ("at_import", "answers", "killed", "asked"),
    [
        (False, ["failed"], (True, False), [(True, ["near"])]),
        (False, ["passed", "failed"], (False, True), [(True, ["near"]), (True, ["far"])]),
        (False, ["passed", "passed"], (False, False), [(True, ["near"]), (True, ["far"])]),
        (False, ["clock"], (True, False), [(True, ["near"])]),
        (False, ["spoilt", "failed"], (True, False), [(True, ["near"]), "closed", (True, ["near"])]),
        (False, ["unfound", "failed"], (True, False), [(True, ["near"]), (False, ["near"]), "closed"]),
        (True, ["passed", "failed"], (True, False), [(True, ["near"]), (False, ["near"]), "closed"]),
        (True, ["failed"], (True, False), [(True, ["near"])]),
    ],
)
def test_the_inner_circle_is_asked_first_and_a_spoilt_process_is_not_believed(
    tmp_path, monkeypatch, at_import, answers, killed, asked
):
    change = one_change(tmp_path)
    tests = {name: ("passed", 1.0, [FUNCTION]) for name in Placed.tests}
    reach = reach_of(tmp_path, {**tests, AT_IMPORT: ("passed", 0.0, [FUNCTION] * at_import)})
    placed = Placed(answers)
    monkeypatch.setattr(trials, "Process", lambda tree, files: placed)
    (tmp_path / "tests/room").mkdir(parents=True)
    (tmp_path / "tests/room/test_module.py").touch()
    bench = trials.Bench(tmp_path, reach, (1.0, 2.0))
    before = (tmp_path / change.file).read_text()
    fate = bench.fate(change, ["tests/room/test_module.py"])
    assert (records.is_killed(fate, "inner"), records.is_killed(fate, "outer")) == killed
    assert placed.asked == asked
    assert placed.answers == []
    assert (tmp_path / change.file).read_text() == before


def test_a_change_that_no_test_reaches_survives_and_is_asked_of_nobody(tmp_path, monkeypatch):
    change = one_change(tmp_path)
    reach = reach_of(
        tmp_path, {"tests/far/test_far.py::far": ("passed", 1.0, []), AT_IMPORT: ("passed", 0.0, [FUNCTION])}
    )
    placed = Placed(["unfound", "unfound"])
    monkeypatch.setattr(trials, "Process", lambda tree, files: placed)
    fate = trials.Bench(tmp_path, reach, (1.0, 2.0)).fate(change, [])
    assert (fate["inner"]["state"], fate["outer"]["state"]) == ("passed", "passed")
    assert placed.asked == [(True, []), (True, [])]


def test_nothing_is_judged_where_no_test_can_be_collected(tmp_path, monkeypatch):
    change = one_change(tmp_path)
    reach = reach_of(tmp_path, {"tests/room/test_module.py::near": ("passed", 1.0, [FUNCTION])})
    monkeypatch.setattr(Placed, "tests", {})
    monkeypatch.setattr(trials, "Process", lambda tree, files: Placed(["crash"]))
    with pytest.raises(records.Refused, match="nothing is judged"):
        trials.Bench(tmp_path, reach, (1.0, 2.0)).fate(change, ["tests/room/test_gone.py"])


def fate(line: int, inner: str, outer: str | None = None) -> dict:
    spent = {"asked": 4, "reaching": 6, "cpu": 36.0}
    circles = {"inner": inner} | ({"outer": outer} if outer else {})
    return {
        **{"file": "attnlab_theory/stats/m.py", "line": line, "text": "t", "change": f"{line} -> x", "start": line},
        **{circle: {"state": state, "killer": "far", **spent} for circle, state in circles.items()},
    }


def test_the_table_divides_what_the_inner_circle_kills_by_what_both_kill(tmp_path, monkeypatch):
    listed = records.Equivalent("attnlab_theory/stats/m.py", "t", "3 -> x", "equivalent", "nobody sees it")
    monkeypatch.setattr(records, "equivalents", lambda: {(listed.file, listed.text, listed.change): listed})
    of_listed = {name: value for name, value in fate(3, "passed").items() if name != "inner"}
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    first = [fate(1, "failed"), fate(2, "passed", "passed"), of_listed, fate(4, "passed", "passed")]
    for path, fates in ((old, first), (new, [fate(2, "passed", "failed")])):
        path.write_text("".join(json.dumps(line) + "\n" for line in [HEADER, *fates]))
    counts, passed, left = records.table([old, new]).split("\n\n")
    assert counts.splitlines()[-1] == "| `stats`, seed 0 | 4 | 9 | 1 | 2 | 0.500 | 0.013 | 1 | 1 |"
    assert passed.splitlines()[2:] == [
        "| `stats/m.py:2` | `2 -> x` | `far` |",
        "| `stats/m.py:4` | `4 -> x` | none |",
    ]
    assert left.splitlines()[2:] == ["| `stats/m.py:3` | `3 -> x` | equivalent | nobody sees it |"]


def test_the_last_row_of_the_table_pools_the_rooms(tmp_path):
    paths = [tmp_path / "stats.jsonl", tmp_path / "claims.jsonl"]
    for path in paths:
        header = {**HEADER, "room": path.stem}
        path.write_text("".join(json.dumps(line) + "\n" for line in [header, fate(1, "failed")]))
    counts, *_ = records.table(paths).split("\n\n")
    assert counts.splitlines()[-1].startswith("| all | 2 | 18 | 2 | 2 | 1.000 | ")


def test_a_family_whose_members_fall_together_is_told_from_one_whose_members_do_not(tmp_path):
    alike, apart = ([f"tests/a.py::{name}[{at}]" for at in range(3)] for name in ("alike", "apart"))
    asked = {**fate(1, "failed"), "inner": {"tests": [*alike, *apart, "tests/a.py::alone"], "state": "failed"}}
    asked["inner"]["fallen"] = [*alike, apart[1]]
    path = tmp_path / "stats.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [HEADER, asked, fate(2, "failed")]))
    assert records.families([path]).splitlines()[2:] == [
        "| `a.py::alike` | 3 | 1 | 0 |",
        "| `a.py::apart` | 3 | 1 | 1 |",
    ]


@pytest.mark.parametrize(("kept", "of"), [(9, 10), (95, 100), (3, 3), (0, 4)])
def test_the_least_share_is_that_of_clopper_and_pearson(kept, of):
    least = stats.binomtest(kept, of).proportion_ci(0.95, method="exact").low
    assert abs(records.least_share(kept, of) - least) < 1e-12


def test_every_listed_change_is_one_of_its_file():
    """Lists all changes of a file for each of more than a hundred entries."""
    root = Path(__file__).parents[1]
    for file, text, change in records.equivalents():
        there = {(c.text, c.change) for c in changes_of(root / file)}
        assert (text, change) in there, f"{file} has no {change} in {text!r}: drop it from equivalents.toml"


def test_what_the_inner_circle_lets_pass_is_asked_again_where_its_line_is_now(tmp_path):
    every = changes_of(ROOT / "attnlab_theory/stats/draws.py")
    texts = [(change.text, change.change) for change in every]
    listed = {(text, change) for _, text, change in records.equivalents()}
    one, two, *_ = (c for c in every if texts.count((c.text, c.change)) == 1 and (c.text, c.change) not in listed)
    moved = {**dataclasses.asdict(one), "start": one.start + 7, "inner": {"state": "passed"}}
    killed = {**dataclasses.asdict(two), "inner": {"state": "failed"}}
    path = tmp_path / "record.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [HEADER, moved, killed]))
    (found,) = trials.not_killed(path)
    assert (found.start, found.source(b"x" * 10**5)) == (one.start, one.source(b"x" * 10**5))
    assert records.key(found) == records.key(moved)


def test_a_listed_change_without_a_reason_is_refused(tmp_path):
    path = tmp_path / "list.toml"
    path.write_text('[[change]]\nfile = "f"\ntext = "t"\nchange = "a -> b"\nkind = "equivalent"\n')
    with pytest.raises(ValueError, match=r"a -> b: .*reason"):
        records.equivalents(path)
    path.write_text(path.read_text().replace("equivalent", "harmless") + 'reason = "r"\n')
    with pytest.raises(ValueError, match="equivalent or recipe, not 'harmless'"):
        records.equivalents(path)
