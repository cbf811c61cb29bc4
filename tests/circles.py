"""Two circles of tests: `make test` runs the inner one, `make test-all` the outer one too.

A test lies in the outer circle by `@pytest.mark.slow("one seed of the encoder stays inside")`. The reason names
what the inner circle keeps of the same question: what the author of a change still hears of it.

`@pytest.mark.slow("three of 16 members stay inside", but=3)` leaves so many members of a parametrised test in the
inner circle: the first, the last and those evenly between. `but=("sleeps", "exits")` leaves those with these ids.
"""

import os
from typing import Any

import pytest

EXPLORING = os.environ.get("ATTNLAB_EXPLORE") == "1"
"""Whether new cases are drawn, and more of them: `make explore`."""
INNER = "not slow"
"""The expression of marks in pyproject.toml, which any other `-m` overrides."""
WORDS = 4
"""A reason with fewer words names nothing that is kept."""
MOST = 40
"""So many of 100 tests may lie outside. With more, `make test` would not be the tests any more."""


def slow(items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests of the outer circle."""
    return [item for item in items if item.get_closest_marker("slow")]


def unreasoned(item: pytest.Item) -> list[str]:
    """What is wrong with the marks of a test, on its function, its class or its file: one line each."""
    name = item.nodeid.partition("[")[0]
    wrong = []
    for mark in item.iter_markers("slow"):
        if unknown := set(mark.kwargs) - {"but"}:
            wrong.append(f"{name}: slow takes the keyword but alone, not {', '.join(sorted(unknown))}")
        elif not (is_number(mark.kwargs.get("but", 1)) or is_ids(mark.kwargs["but"])):
            wrong.append(f"{name}: but is a number or a tuple of ids of members, not {mark.kwargs['but']!r}")
        elif len(mark.args) != 1:
            wrong.append(f"{name}: slow takes one reason, which names what the inner circle keeps, not {mark.args}")
        elif not isinstance(mark.args[0], str) or len(mark.args[0].split()) < WORDS:
            wrong.append(f"{name}: a reason of slow has at least {WORDS} words, not {mark.args[0]!r}")
    return wrong


def is_number(but: Any) -> bool:
    """Whether so many members may stay inside."""
    return type(but) is int and but > 0


def is_ids(but: Any) -> bool:
    """Whether these may be the ids of members."""
    return isinstance(but, tuple) and all(isinstance(name, str) for name in but)


def spread(of: int, over: int) -> set[int]:
    """So many places in a list of this length: the first, the last, and those evenly between."""
    of = min(of, over)
    return {round(at * (over - 1) / max(of - 1, 1)) for at in range(of)}


def kept(items: list[pytest.Item]) -> list[str]:
    """Take the mark from the members that stay inside; what is wrong with the ids, one line for each test."""
    members: dict[str, list[tuple[pytest.Item, pytest.Mark]]] = {}
    for item in items:
        for mark in item.own_markers:
            if mark.name == "slow" and "but" in mark.kwargs:
                members.setdefault(item.nodeid.partition("[")[0], []).append((item, mark))
    wrong = []
    for name, marked in members.items():
        but = marked[0][1].kwargs["but"]
        ids = [item.nodeid.partition("[")[2][:-1] for item, _ in marked]
        if is_number(but):
            staying = spread(but, len(marked))
        elif is_ids(but):
            staying = {at for at, member in enumerate(ids) if member in but}
            if unknown := sorted({*but} - {*ids}):
                wrong.append(f"{name}: no member is called {', '.join(unknown)}")
        else:
            continue  # refused elsewhere
        for at in staying:
            item, mark = marked[at]
            item.own_markers.remove(mark)
    return wrong


def whole(config: pytest.Config) -> bool:
    """Whether all tests are asked for, and not some of the folders, files or tests."""
    asked = [(config.invocation_params.dir / argument).resolve() for argument in config.args]
    folders = [config.rootpath / folder for folder in config.getini("testpaths")]
    return all(any(folder.is_relative_to(each) for each in asked) for folder in folders)


class Circles:
    """Refuses marks that give no reason and an outer circle that is too large, and tells how many tests it has."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.left = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        # A parametrised function is told of once.
        refused = list(dict.fromkeys(line for item in items for line in unreasoned(item)))
        without_member = kept(items)
        # A test that may take longer than others begins first. At the end, all workers but one would wait for it.
        items.sort(key=lambda item: item.get_closest_marker("timeout") is None)
        outside = len(slow(items))
        if whole(config):
            refused += without_member
            if 100 * outside > MOST * len(items):
                refused.append(f"{outside} of {len(items)} tests are slow, more than {MOST} of 100")
        if refused and hasattr(config, "workeroutput"):
            # From a worker, pytest would show an error of xdist. The process that started it tells these lines.
            self.refused = refused
            items.clear()
        elif refused:
            raise pytest.UsageError("\n".join(refused))

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        if items and items[0].config.getoption("markexpr") == INNER:
            self.left += len(slow(items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        # All workers collect the same tests. One that died has told nothing.
        self.refused, self.left = getattr(node, "workeroutput", {}).get("circles", (self.refused, self.left))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["circles"] = (self.refused, self.left)
        elif self.refused:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.left:
            terminalreporter.write_line(f"{self.left} slow tests are left for `make test-all`")
        for line in self.refused:
            terminalreporter.write_line(f"ERROR: {line}")
