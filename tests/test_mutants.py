"""What `tests.mutants` changes, in what order it asks, and how its record goes on."""

import ast
import builtins
import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.mutants import record as records
from tests.mutants.changes import changes_of, files_of
from tests.mutants.in_place import changed, changed_codes, is_imported, written
from tests.mutants.reach import saying_what_is_reached
from tests.mutants.rooms import (
    ABOUT_ONE_MODULE,
    READ_BY_OTHERS,
    SECONDS_IN_PLACE,
    Room,
    Tree,
    importing,
    named_in_or_beside,
    sampled,
    survivors,
)


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
    short, every = sampled("stats", 5, 3)
    long, _ = sampled("stats", 20, 3)
    assert long[:5] == short
    assert every > 20


def test_tests_that_import_a_name_of_the_package_import_the_module_it_comes_from():
    root = Path(__file__).parents[1]
    assert "tests/stats/test_assumed_variance.py" in importing("attnlab_theory/stats/assumed_variance.py", root)
    assert "tests/stats/test_bounds.py" in importing("attnlab_theory/stats/bounds.py", root)
    assert "tests/stats/test_groups.py" not in importing("attnlab_theory/stats/bounds.py", root)


def test_a_module_is_known_by_the_claims_in_it_and_in_those_that_import_it():
    root = Path(__file__).parents[1]
    assert "window-heard" in named_in_or_beside("attnlab_theory/claims/sparse/hearing.py", root)
    assert "window-heard" not in named_in_or_beside("attnlab_theory/claims/sparse/linformer.py", root)
    assert "one-head-error" in named_in_or_beside("attnlab_theory/claims/noisy_keys/stretched_key.py", root)


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


def test_near_and_quick_tests_are_asked_first_and_failing_ones_never(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("def f(x):\n    return x + 1\n")
    change = changes_of(path, root=tmp_path)[0]
    record = records.Record(tmp_path / "record.jsonl", HEADER)
    reached, module = ["module.py:1:f"], ["module.py:9:g"]
    own = {
        "::slow": ["passed", 9.0, reached],
        "::quick": ["passed", 1.0, reached],
        "::other": ["passed", 0.1, module],
    }
    far = {"::first": ["passed", 0.5, reached], "::red": ["failed", 0.1, reached], "::none": ["passed", 0.1, []]}
    record.add({"tests_of": "tests/test_module.py", "told": own})
    record.add({"tests_of": "tests/test_far.py", "told": far})
    room = Room(["module.py"], record, 0, 0)
    order = room.reaching(change, ["tests/test_far.py", "tests/test_module.py"])
    assert [test.rpartition("::")[2] for _, test in order] == ["quick", "slow", "first", "other"]


class Answering:
    """In the place of a nursery: every file of tests has one test, which fails where `module.py` has changed."""

    def __init__(self, folder: Path) -> None:
        self.source, self.before = folder / "attnlab_theory/room/module.py", "def f(x):\n    return x + 1\n"
        self.asked: list[tuple[list[str], bool]] = []

    def ask(
        self, files: list[str], tests: list[str] | None, seconds: float, parameters: list[str] | None = None
    ) -> dict[str, Any]:
        assert parameters is None
        changed = self.source.read_text() == "def f(x):\n    return (x - 1)\n"
        self.asked.append((files, changed))
        found: dict[str, Any] = {"state": "passed", "killer": "", "cpu": 2.0, "wall": 3.0}
        if tests is None:
            assert "__reached__" in self.source.read_text()
            return {**found, "told": {f"{files[0]}::one": ["passed", 1.0, ["attnlab_theory/room/module.py:1:f"]]}}
        return {**found, "state": "failed", "killer": tests[0]} if changed and "last" in files[0] else found


def test_a_file_of_tests_is_run_without_the_change_then_with_it_and_the_nearest_comes_first(tmp_path, monkeypatch):
    for file in ("module", "last"):
        (tmp_path / "tests/room").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"tests/room/test_{file}.py").write_text("")
    (tmp_path / "attnlab_theory/room").mkdir(parents=True)
    (tmp_path / "attnlab_theory/room/__init__.py").write_text("")
    monkeypatch.setattr("tests.mutants.rooms.Nursery", Answering)
    nursery: Any = Answering(tmp_path)
    nursery.source.write_text(nursery.before)
    tree = Tree(tmp_path)
    sign = next(c for c in changes_of(nursery.source, root=tmp_path) if c.kind == "sign")
    room = Room([sign.file], records.Record(tmp_path / "record.jsonl", HEADER), 0, 99)
    found = room.fate(tree, sign)
    own, last = ["tests/room/test_module.py"], ["tests/room/test_last.py"]
    assert tree.nursery.asked == [(own, False), (own, True), (last, False), (last, True)]  # pyright: ignore
    assert (found["state"], found["killer"]) == ("failed", "tests/room/test_last.py::one")
    assert (found["asked"], found["reaching"], found["cpu"], found["wall"]) == (2, 2, 4.0, 6.0)
    assert nursery.source.read_text() == nursery.before


def test_of_a_long_file_only_the_tests_about_the_module_of_the_change_are_run(tmp_path):
    record = records.Record(tmp_path / "record.jsonl", HEADER)
    (file, *_), asked = ABOUT_ONE_MODULE, []
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims/module.py").write_text("def f(x):\n    return x + 1\n\nNAME = 'mine'\n")
    change = changes_of(tmp_path / "claims/module.py", root=tmp_path)[0]

    class Noting(Answering):
        def ask(self, files, tests, seconds, parameters=None):
            asked.append(parameters)
            return {"state": "passed", "told": {f"{file}::one[mine]": ["passed", 1.0, ["claims/module.py:1:f"]]}}

    tree: Any = Tree.__new__(Tree)
    tree.folder, tree.nursery = tmp_path, Noting(tmp_path)
    room = Room(["claims/module.py"], record, 0, 99)
    for _ in range(2):
        room.control(tree, file, change, 99)
    assert asked == [["mine"]]
    assert room.reaching(change, [file]) == [(1.0, f"{file}::one[mine]")]


class Placed:
    """In the place of a process that changes functions where they lie: it gives these answers in their order."""

    tests = 7

    def __init__(self, *states: str) -> None:
        self.states, self.closed = list(states), 0

    def ask(
        self,
        file: str,
        before: bytes,
        after: bytes,
        parameters: list[str] | None,
        on_disk: bool,
        seconds: float,
    ) -> dict[str, Any]:
        assert before != after
        assert seconds == SECONDS_IN_PLACE / 2
        assert on_disk == file.startswith(READ_BY_OTHERS)
        return {"state": self.states.pop(0), "killer": "one", "asked": 2, "cpu": 0.5, "wall": 1.0}

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize(
    ("states", "told"),
    [
        (["failed"], ("failed", 2, 7, 0)),
        (["passed", "failed"], ("failed", 4, 14, 0)),
        (["passed", "passed"], ("passed", 4, 14, 0)),
        (["spoilt", "failed"], ("failed", 2, 7, 1)),
        (["unfound", "clock"], ("clock", 2, 7, 0)),
    ],
)
def test_a_quick_question_goes_to_the_nearest_files_and_a_spoilt_process_is_not_believed(tmp_path, states, told):
    (tmp_path / "attnlab_theory/room").mkdir(parents=True)
    (tmp_path / "attnlab_theory/room/__init__.py").write_text("")
    (tmp_path / "attnlab_theory/room/module.py").write_text("def f(x):\n    return x + 1\n")
    (tmp_path / "tests/room").mkdir(parents=True)
    (tmp_path / "tests/room/test_module.py").write_text("")
    (tmp_path / "tests/room/test_other.py").write_text("from attnlab_theory.room.module import f\n")
    change = changes_of(tmp_path / "attnlab_theory/room/module.py", root=tmp_path)[0]
    placed, tree = Placed(*states), Tree(tmp_path)
    tree.asking_in_place = lambda file: placed  # pyright: ignore
    room = Room([change.file], records.Record(tmp_path / "record.jsonl", HEADER), 0, 99, quick=True)
    found = room.fate(tree, change)
    assert (found["state"], found["asked"], found["reaching"], placed.closed) == told


CONTROL = {"tests_of": "tests/stats/test_m.py", "state": "passed", "cpu": 90.0, "wall": 180.0, "told": {"::a": []}}


def fate(line: int, state: str) -> dict:
    return {
        **{"file": "attnlab_theory/stats/m.py", "line": line, "text": "t", "change": f"{line} -> x"},
        **{"start": line, "state": state, "asked": 4, "reaching": 6, "cpu": 36.0, "wall": 72.0},
    }


def test_the_table_counts_what_is_killed_at_once_and_what_by_tests_written_since(tmp_path, monkeypatch):
    listed = records.Equivalent("attnlab_theory/stats/m.py", "t", "3 -> x", "equivalent", "nobody sees it")
    monkeypatch.setattr(records, "equivalents", lambda: {(listed.file, listed.text, listed.change): listed})
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    first = [fate(1, "failed"), fate(2, "passed"), fate(3, "passed"), fate(4, "passed")]
    for path, fates in ((old, first), (new, [fate(2, "failed"), fate(4, "passed")])):
        path.write_text("".join(json.dumps(line) + "\n" for line in [{**HEADER, "sample": 5}, CONTROL, *fates]))
        path.write_text(records.without_what_is_reached(path))
        assert "told" not in path.read_text()
    counts, survivors, left = records.table([old, new]).split("\n\n")
    assert counts.splitlines()[-1] == "| `stats` | 4 of 5 | 9 | 1 | 1 | 1 | 1 | 0.11 | 0.22 |"
    assert survivors.splitlines()[2:] == ["| `stats/m.py:4` | `4 -> x` | 4 of 6 |"]
    assert left.splitlines()[2:] == ["| `stats/m.py:3` | `3 -> x` | equivalent | nobody sees it |"]


def test_the_table_has_a_row_for_each_seed(tmp_path):
    paths = [tmp_path / "stats.jsonl", tmp_path / "stats-seed-1.jsonl"]
    for seed, path in enumerate(paths):
        path.write_text("".join(json.dumps(line) + "\n" for line in [{**HEADER, "seed": seed}, fate(1, "failed")]))
    counts, *_ = records.table(paths).split("\n\n")
    rows = [row.split(" | ")[0] for row in counts.splitlines()[2:]]
    assert rows == ["| `stats`", "| `stats`, seed 1"]


def test_every_listed_change_is_one_of_its_file():
    root = Path(__file__).parents[1]
    for file, text, change in records.equivalents():
        there = {(c.text, c.change) for c in changes_of(root / file)}
        assert (text, change) in there, f"{file} has no {change} in {text!r}: drop it from equivalents.toml"


@pytest.mark.parametrize("listed", [False, True])
def test_survivors_are_those_that_are_listed_or_those_that_are_not(tmp_path, listed):
    at = next(iter(records.equivalents()))
    every = changes_of(Path(__file__).parents[1] / at[0])
    fates = [{**dataclasses.asdict(change), "state": "passed"} for change in every]
    path = tmp_path / "record.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [HEADER, *fates]))
    found = survivors(path, listed)
    assert found == [c for c in every if ((c.file, c.text, c.change) in records.equivalents()) == listed]
    assert found


def test_a_survivor_whose_line_has_moved_is_asked_again_and_counted_where_it_was(tmp_path):
    every = changes_of(Path(__file__).parents[1] / "attnlab_theory/stats/draws.py")
    (change,) = [c for c in every if c.change == every[0].change and c.text == every[0].text]
    old = {**dataclasses.asdict(change), "start": change.start + 7, "state": "passed"}
    path = tmp_path / "record.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [HEADER, old]))
    (found,) = survivors(path)
    assert (found.start, found.source(b"x" * 10**5)) == (change.start, change.source(b"x" * 10**5))
    assert records.key(found) == records.key(old)


def test_a_listed_change_without_a_reason_is_refused(tmp_path):
    path = tmp_path / "list.toml"
    path.write_text('[[change]]\nfile = "f"\ntext = "t"\nchange = "a -> b"\nkind = "equivalent"\n')
    with pytest.raises(ValueError, match=r"a -> b: .*reason"):
        records.equivalents(path)
    path.write_text(path.read_text().replace("equivalent", "harmless") + 'reason = "r"\n')
    with pytest.raises(ValueError, match="equivalent or recipe, not 'harmless'"):
        records.equivalents(path)
