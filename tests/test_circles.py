"""A test is left to `make test-all` for a reason that is told, and most tests are not."""

import types
from pathlib import Path

import pytest

from tests.circles import Circles, spread

pytest_plugins = "pytester"

ROOT = Path(__file__).parents[1]
REASONED = '@pytest.mark.slow("one seed stays inside")\n'
INSIDE, OUTSIDE = "def test_inside(n): pass\n", REASONED + "def test_outside(n): pass\n"


@pytest.fixture
def suite(pytester):
    """Runs a suite of two functions, of which this many members are inside and outside, with our own settings."""
    pytester.makepyprojecttoml((ROOT / "pyproject.toml").read_text("utf-8"))

    def run(*options, inside=6, outside=4, code=""):
        for name, members, function in (("inside", inside, INSIDE), ("outside", outside, OUTSIDE)):
            path = pytester.path / "tests" / f"test_{name}.py"
            path.parent.mkdir(exist_ok=True)
            members = f"@pytest.mark.parametrize('n', range({members}))\n"
            path.write_text(f"import pytest\n{members}{function}{code if name == 'outside' else ''}")
        given = ("-p", "no:cacheprovider", "-p", "no:xdist", *options)
        return pytester.runpytest_inprocess(*given, plugins=[Circles()])

    return run


@pytest.mark.parametrize(
    ("options", "ran", "left"),
    [
        ((), 6, True),
        (("tests/test_outside.py",), 0, True),
        (("-m", "slow and not torch"), 4, False),
        (("-m", "torch"), 0, False),
        (("-m", "slow or not slow"), 10, False),
    ],
)
def test_the_outer_circle_is_left_out_and_told_of_unless_marks_are_asked_for(suite, options, ran, left):
    run = suite(*options)
    assert run.parseoutcomes().get("passed", 0) == ran
    assert ("4 slow tests are left for `make test-all`" in run.outlines) == left


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        ("slow", "slow takes one reason, which names what the inner circle keeps, not ()"),
        ("slow('one seed stays inside', 'and more')", "slow takes one reason, which *, not ('one *', 'and more')"),
        ("slow('too slow, alas')", "a reason of slow has at least 4 words, not 'too slow, alas'"),
        ("slow(7)", "a reason of slow has at least 4 words, not 7"),
        ("slow('one seed stays inside', keeps='')", "slow takes the keyword but alone, not keeps"),
        ("slow(keeps='one seed stays inside')", "slow takes the keyword but alone, not keeps"),
        ("slow('one seed stays inside', but='1')", "but is a number or a tuple of ids of members, not '1'"),
        ("slow('one seed stays inside', but=0)", "but is a number or a tuple of ids of members, not 0"),
    ],
)
def test_a_mark_without_a_reason_is_refused_in_one_line_wherever_it_stands(suite, mark, told):
    members = "@pytest.mark.parametrize('n', [1, 2])\ndef test_bad(n): pass\n"
    place = f"@pytest.mark.{mark}\n@pytest.mark.slow('one seed stays inside')\n{members}"
    run = suite("-k", "inside", outside=1, code=place)
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    (error,) = [line for line in run.errlines if line]
    run.stderr.fnmatch_lines(f"ERROR: tests/test_outside.py::test_bad: {told}")
    assert error.count("test_bad") == 1


def test_a_reason_is_asked_of_classes_files_and_members_too(suite):
    bad = "pytest.mark.slow('slow')"
    for code in (
        f"@{bad}\nclass TestIt:\n    def test_bad(self): pass\n",
        f"pytestmark = {bad}\n",
        f"@pytest.mark.parametrize('n', [pytest.param(1, marks={bad})])\ndef test_bad(n): pass\n",
    ):
        assert suite("tests/test_outside.py", code=code).ret == pytest.ExitCode.USAGE_ERROR


def test_members_that_are_named_stay_inside_and_an_unknown_one_is_refused(suite):
    mark = "@pytest.mark.slow('two members stay inside', but={})\n"
    code = mark + "@pytest.mark.parametrize('n', range(4))\ndef test_more(n): pass\n"
    run = suite(inside=10, code=code.format(("0", "3")))
    assert (run.parseoutcomes()["passed"], run.ret) == (12, pytest.ExitCode.OK)
    assert "6 slow tests are left for `make test-all`" in run.outlines
    run = suite(inside=10, code=code.format(("0", "7")))
    (error,) = [line for line in run.errlines if line]
    assert error == "ERROR: tests/test_outside.py::test_more: no member is called 7"
    # Who asks for a file may have asked for one member of it.
    assert suite("tests/test_outside.py", code=code.format(("0", "7"))).parseoutcomes()["passed"] == 1


def test_a_number_of_members_stays_inside_evenly_spread(suite):
    assert [sorted(spread(of, 6)) for of in (1, 2, 3, 9)] == [[0], [0, 5], [0, 2, 5], [*range(6)]]
    mark = "@pytest.mark.slow('two members stay inside', but=2)\n"
    code = mark + "@pytest.mark.parametrize('n', range(4))\ndef test_more(n): pass\n"
    run = suite("-vv", inside=10, code=code)
    assert [line.split()[0][-3:] for line in run.outlines if "test_more" in line] == ["[0]", "[3]"]


def test_more_than_40_of_100_tests_outside_are_refused_where_all_are_asked_for(suite):
    for options in ((), (".",), ("-m", "slow")):
        run = suite(*options, inside=59, outside=41)
        assert run.ret == pytest.ExitCode.USAGE_ERROR
        assert [line for line in run.errlines if line] == ["ERROR: 41 of 100 tests are slow, more than 40 of 100"]
        assert suite(*options, inside=6, outside=4).ret == pytest.ExitCode.OK
    # A file may lie outside as a whole.
    assert suite("-m", "slow", "tests/test_outside.py").ret == pytest.ExitCode.OK


def test_what_workers_found_is_told_once_by_the_process_that_started_them():
    lines = []
    first, told = Circles(), types.SimpleNamespace(write_line=lines.append)
    for left in (3, 3):
        worker = Circles()
        worker.refused, worker.left = ["tests/test_x.py::test_it: no reason"], left
        config = types.SimpleNamespace(workeroutput={})
        worker.pytest_sessionfinish(types.SimpleNamespace(config=config))
        first.pytest_testnodedown(types.SimpleNamespace(workeroutput=config.workeroutput))
    first.pytest_testnodedown(types.SimpleNamespace())  # one that died
    session = types.SimpleNamespace(config=types.SimpleNamespace(), exitstatus=pytest.ExitCode.NO_TESTS_COLLECTED)
    first.pytest_sessionfinish(session)
    first.pytest_terminal_summary(told)
    assert session.exitstatus == pytest.ExitCode.USAGE_ERROR
    assert lines == ["3 slow tests are left for `make test-all`", "ERROR: tests/test_x.py::test_it: no reason"]
