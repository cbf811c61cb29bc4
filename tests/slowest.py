"""Where the time of the tests goes: `python -m tests.slowest` prints it as Markdown.

Each run of `make test` and `make slow` leaves what its tests took. `make slowest` renews tests/slowest.md.
"""

import ast
import collections
import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from _pytest.subtests import SubtestReport

TESTS = Path(__file__).parent
LEFT = TESTS.parent / "build" / "durations"
RUNS = ("inner", "outer", "outer-x64")
"""The runs of both circles, and one in float64, which `make slow` makes. Each leaves a file of this name."""
FILES = 40
LONG = 1.0
"""Seconds: a test that takes more says why in its docstring."""


class Run(NamedTuple):
    """What one run left."""

    circle: str
    told: list[str]
    seconds: dict[str, float]
    """What each test took: its setup, call and teardown."""


class Durations:
    """Adds up what each test takes, and leaves it in a file unless the run fails."""

    def __init__(self, path: Path, memory: Any) -> None:
        self.path, self.memory = path, memory
        self.begun = time.monotonic()
        self.seconds: dict[str, float] = collections.Counter()
        path.unlink(missing_ok=True)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # The report of a test has the seconds of its subtests.
        if not isinstance(report, SubtestReport):
            self.seconds[report.nodeid] += report.duration

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus != pytest.ExitCode.OK:
            return
        stats = session.config.pluginmanager.get_plugin("terminalreporter").stats
        counts = ((len(stats.get(each, ())), each) for each in ("passed", "skipped", "xfailed"))
        closing = ", ".join(f"{count} {each}" for count, each in counts if count)
        told = [f"{closing} in {time.monotonic() - self.begun:.0f} s", self.memory.told]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_suffix(".part")
        unfinished.write_text(json.dumps({"told": told, "seconds": self.seconds}), "utf-8")
        unfinished.replace(self.path)


def read(folder: Path) -> list[Run]:
    """What all runs left.

    Raises:
        OSError: if one of them left nothing.
    """
    found = []
    for name in RUNS:
        left = json.loads((folder / f"{name}.json").read_text("utf-8"))
        found.append(Run(name.partition("-")[0], [f"{name}: {line}" for line in left["told"]], left["seconds"]))
    return found


def room(file: str) -> str:
    """The first folder of a path below tests/, and `tests` for a file that lies in none."""
    return file.partition("/")[0] if "/" in file else "tests"


def rooms() -> set[str]:
    """The rooms that have tests."""
    return {room(path.relative_to(TESTS).as_posix()) for path in TESTS.rglob("test_*.py")}


def budgets(text: str, known: set[str]) -> dict[str, int]:
    """The table | room | seconds | of CONTRIBUTING.md.

    Raises:
        ValueError: if it is not there once, or does not name each of the rooms once with whole seconds.
    """
    tables = re.findall(r"^\| room \| seconds \|\n\|[-|: ]+\|\n((?:\|.*\n?)*)", text, flags=re.MULTILINE)
    if len(tables) != 1:
        raise ValueError(f"CONTRIBUTING.md has {len(tables)} tables | room | seconds |, not one")
    found: dict[str, int] = {}
    for line in tables[0].splitlines():
        row = re.fullmatch(r"\| `(\w+)` \| (\d+) \|", line)
        if row is None or row[1] in found or row[1] not in known:
            raise ValueError(f"CONTRIBUTING.md: {line!r} is no budget of a room of tests/ that has none yet")
        found[row[1]] = int(row[2])
    if missing := known - found.keys():
        raise ValueError(f"CONTRIBUTING.md has no budget for {', '.join(sorted(missing))}: add rows of seconds")
    return found


def undocumented(file: str, function: str) -> bool:
    """Whether a function of a file below tests/, or a method, is there and has no docstring."""
    path = TESTS / file
    nodes: list[ast.AST] = [ast.parse(path.read_text("utf-8"))] if path.is_file() else []
    for name in function.split("::"):
        nodes = [each for node in nodes for each in node.body if getattr(each, "name", None) == name]
    return any(ast.get_docstring(node) is None for node in nodes)


def page(runs: Sequence[Run], budget: Mapping[str, int]) -> str:
    """Three tables: the rooms beside their budgets, the files that take most, the functions with a long test.

    Raises:
        ValueError: if a run was in a room without a budget.
    """
    by_room, by_file = collections.Counter(), collections.Counter()
    members: dict[tuple[str, str], dict[str, list[float]]] = {}
    circles: dict[tuple[str, str], set[str]] = collections.defaultdict(set)
    counted: dict[str, set[str]] = collections.defaultdict(set)
    for run in runs:
        for test, seconds in run.seconds.items():
            file, _, name = test.removeprefix("tests/").partition("::")
            function = file, name.partition("[")[0]
            by_room[room(file), run.circle] += seconds
            by_file[file, run.circle] += seconds
            members.setdefault(function, {}).setdefault(test, []).append(seconds)
            circles[function].add(run.circle)
            counted[file].add(test)
    if unknown := {each for each, _ in by_room} - budget.keys():
        raise ValueError(f"the runs had tests in {', '.join(sorted(unknown))}, which is no room: `make slowest`")
    both = ("inner", "outer")
    over = [f"`{each}`" for each in sorted(budget) if by_room[each, "inner"] > budget[each]]
    files = sorted(counted, key=lambda file: -sum(by_file[file, circle] for circle in both))
    long = {function: max(max(each) for each in tests.values()) for function, tests in members.items()}
    rows = [
        f"| `{file}::{name}` | {len(members[file, name])} | {slowest:.1f} "
        f"| {sum(map(sum, members[file, name].values())):.1f} "
        f"| {' and '.join(sorted(circles[file, name]))} | {'missing' if undocumented(file, name) else ''} |"
        for (file, name), slowest in sorted(long.items(), key=lambda pair: -pair[1])
        if slowest > LONG
    ]
    inner, outer = (sum(by_room[each, circle] for each in budget) for circle in both)
    return "\n".join(
        [
            "# Where the time of the tests goes",
            "",
            "CI prints this page, and `make slowest` renews it. Seconds are those of two workers together.",
            "The inner circle is `make test`; `make test-all` adds the outer one.",
            "",
            *(f"    {line}" for run in runs for line in run.told),
            "",
            f"Rooms over their budget in CONTRIBUTING.md: {', '.join(over) or 'none'}.",
            "",
            "| room | inner | budget | outer |",
            "|---|--:|--:|--:|",
            *(
                f"| `{each}` | {by_room[each, 'inner']:.0f} | {budget[each]} | {by_room[each, 'outer']:.0f} |"
                for each in sorted(budget)
            ),
            f"| all | {inner:.0f} | {sum(budget.values())} | {outer:.0f} |",
            "",
            f"The {min(FILES, len(files))} files that take most, of {len(files)}.",
            "",
            "| file | tests | inner | outer |",
            "|---|--:|--:|--:|",
            *(
                f"| `{file}` | {len(counted[file])} | {by_file[file, 'inner']:.1f} | {by_file[file, 'outer']:.1f} |"
                for file in files[:FILES]
            ),
            "",
            f"The {len(rows)} functions with a test over {LONG:.0f} s.",
            "",
            "| function | tests | slowest | all | circle | docstring |",
            "|---|--:|--:|--:|---|---|",
            *rows,
            "",
        ]
    )


def main(arguments: list[str], left: Path = LEFT, contributing: Path = TESTS.parent / "CONTRIBUTING.md") -> int:
    """Print the page of the last runs."""
    if arguments:
        print("usage: python -m tests.slowest", file=sys.stderr)
        return 2
    try:
        print(page(read(left), budgets(contributing.read_text("utf-8"), rooms())), end="")
    except FileNotFoundError as error:
        print(f"tests.slowest: {error.filename} is missing: `make slowest` runs both circles", file=sys.stderr)
        return 2
    except ValueError as error:
        print(f"tests.slowest: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
