"""The page of durations: what each run leaves, what is added up, and the budgets beside it."""

import json
import re
import types
from pathlib import Path

import pytest

from tests import slowest

X, Y = "tests/a/test_x.py", "tests/test_y.py"
RUNS = [
    slowest.Run(
        "inner", ["inner: 4 passed"], {f"{X}::test_one[1: 2]": 0.75, f"{Y}::test_two": 2, f"{Y}::test_short": 0.6}
    ),
    slowest.Run("inner", [], {f"{X}::test_one[1: 2]": 0.5, f"{Y}::test_short": 0.6}),
    slowest.Run("outer", [], {f"{X}::test_one[b::c]": 1.5, f"{X}::TestIt::test_it": 0.9}),
    slowest.Run("outer", ["outer-x64: no test"], {}),
]
TABLE = "\n| room | seconds |\n|---|--:|\n| `a` | 1 |\n| `tests` | 2 |\n"


def rows(text, columns):
    return [line for line in text.splitlines() if line.startswith("| ") and line.count("|") == columns + 1]


def test_seconds_of_both_circles_stand_beside_the_budget_of_their_room():
    page = slowest.page(RUNS, {"a": 1, "tests": 4})
    assert rows(page, 4)[:4] == [
        "| room | inner | budget | outer |",
        "| `a` | 1 | 1 | 2 |",
        "| `tests` | 3 | 4 | 0 |",
        "| all | 4 | 5 | 2 |",
    ]
    assert "Rooms over their budget in CONTRIBUTING.md: `a`.\n" in page
    assert "CONTRIBUTING.md: none.\n" in slowest.page(RUNS, {"a": 2, "tests": 4})
    assert "\n    inner: 4 passed\n    outer-x64: no test\n" in page


def test_the_files_that_take_most_come_first():
    assert rows(slowest.page(RUNS, {"a": 1, "tests": 4}), 4)[4:] == [
        "| file | tests | inner | outer |",
        "| `a/test_x.py` | 3 | 1.2 | 2.4 |",
        "| `test_y.py` | 2 | 3.2 | 0.0 |",
    ]


def test_functions_with_a_test_over_a_second_are_listed_by_their_slowest_test(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "test_x.py").write_text("def test_one(): pass\n")
    (tmp_path / "test_y.py").write_text("def test_two():\n    '''Two whole runs.'''\n")
    monkeypatch.setattr(slowest, "TESTS", tmp_path)
    assert rows(slowest.page(RUNS, {"a": 1, "tests": 4}), 6) == [
        "| function | tests | slowest | all | circle | docstring |",
        "| `test_y.py::test_two` | 1 | 2.0 | 2.0 | inner |  |",
        "| `a/test_x.py::test_one` | 2 | 1.5 | 2.8 | inner and outer | missing |",
    ]


def test_a_missing_docstring_is_seen_in_functions_and_methods_that_exist(tmp_path, monkeypatch):
    (tmp_path / "test_x.py").write_text(
        "def test_a(): pass\ndef test_b():\n    'Why.'\n"
        "class TestIt:\n    'It.'\n    def test_a(self):\n        'Why.'\n    def test_b(self): pass\n"
    )
    monkeypatch.setattr(slowest, "TESTS", tmp_path)
    names = ("test_a", "test_b", "TestIt::test_a", "TestIt::test_b", "test_gone", "TestIt::test_gone")
    assert [slowest.undocumented("test_x.py", name) for name in names] == [True, False, False, True, False, False]
    assert not slowest.undocumented("test_gone.py", "test_a")


def test_the_rooms_are_the_first_folders_and_one_for_the_files_in_none():
    assert [slowest.room(file) for file in ("a/b/test_x.py", "test_y.py")] == ["a", "tests"]
    assert {"claims", "labs", "tests"} <= slowest.rooms()
    assert not {"mutants", "test_slowest.py"} & slowest.rooms()


def test_contributing_has_a_budget_for_each_room():
    text = (slowest.TESTS.parent / "CONTRIBUTING.md").read_text("utf-8")
    assert slowest.budgets(text, slowest.rooms()).keys() == slowest.rooms()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "0 tables"),
        (TABLE + "\n" + TABLE, "2 tables"),
        (TABLE + "| `b` | 3 |\n", r"'\| `b` \| 3 \|' is no budget"),
        (TABLE + "| `a` | 3 |\n", r"'\| `a` \| 3 \|' is no budget"),
        (TABLE.replace("| 1 |", "| 1.5 |"), "is no budget"),
        (TABLE.replace("| 1 |", "| -1 |"), "is no budget"),
        (TABLE.replace("| 1 |", "| |"), "is no budget"),
        (TABLE.replace("| `a` | 1 |\n", ""), "no budget for a"),
    ],
)
def test_a_table_of_budgets_that_is_not_complete_is_refused(text, told):
    assert slowest.budgets(TABLE + "\nText.\n", {"a", "tests"}) == {"a": 1, "tests": 2}
    with pytest.raises(ValueError, match=told):
        slowest.budgets(text, {"a", "tests"})


def test_a_run_leaves_what_each_test_took_unless_it_fails(tmp_path):
    path, stats = tmp_path / "build" / "inner.json", {"passed": [1, 2], "skipped": [3], "": [4]}
    reporter = types.SimpleNamespace(get_plugin=lambda name: types.SimpleNamespace(stats=stats))
    config = types.SimpleNamespace(pluginmanager=reporter)
    for status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        run = slowest.Durations(path, types.SimpleNamespace(told="peak memory: 1 GB"))
        assert not path.exists()
        for seconds in (0.5, 0.25):
            run.pytest_runtest_logreport(types.SimpleNamespace(nodeid=Y, duration=seconds))
        run.pytest_sessionfinish(types.SimpleNamespace(exitstatus=status, config=config))
        assert path.exists() == (status == pytest.ExitCode.OK)
        if path.exists():
            left = json.loads(path.read_text())
    assert left["seconds"] == {Y: 0.75}
    assert left["told"][0].startswith("2 passed, 1 skipped in ")
    assert left["told"][1] == "peak memory: 1 GB"


def test_the_page_is_made_of_what_all_three_runs_left_and_else_refused_in_one_line(tmp_path, capsys):
    contributing = slowest.TESTS.parent / "CONTRIBUTING.md"
    for name in slowest.RUNS:
        assert slowest.main([], tmp_path, contributing) == 2
        seconds = {"tests/claims/test_x.py::test_it": 2}
        (tmp_path / f"{name}.json").write_text(json.dumps({"told": ["1 passed"], "seconds": seconds}))
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 3)
    assert "outer-x64.json is missing: `make slowest` runs both circles" in told.err
    assert slowest.main(["log"], tmp_path, contributing) == 2
    assert slowest.main([], tmp_path, contributing) == 0
    page = capsys.readouterr().out
    assert "    outer-x64: 1 passed\n" in page
    assert "| `claims/test_x.py` | 1 | 2.0 | 4.0 |" in page
    (tmp_path / "table").write_text(TABLE)
    (tmp_path / "inner.json").write_text('{"told": [], "seconds": {"tests/gone/test_x.py::test_it": 2}}')
    assert [slowest.main([], tmp_path, Path(each)) for each in (tmp_path / "table", contributing)] == [2, 2]
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert "gone" in told[1]


def over_a_second(page):
    """The file and the name of each function that a page lists with a test over one second."""
    return re.findall(r"^\| `([^`:]+)::([\w:]+)` \| \d+ \|", page, flags=re.MULTILINE)


def test_a_test_over_one_second_says_why_in_its_docstring():
    assert over_a_second(slowest.page(RUNS, {"a": 1, "tests": 4})) == [
        ("test_y.py", "test_two"),
        ("a/test_x.py", "test_one"),
    ]
    page = (slowest.TESTS / "slowest.md").read_text("utf-8")
    assert "| function | tests | slowest |" in page, "no page of today's form: make slowest"
    assert [each for each in over_a_second(page) if slowest.undocumented(*each)] == []
