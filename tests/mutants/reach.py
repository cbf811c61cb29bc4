"""Which test reaches which function: all tests are run once, on a copy of the package that says what is called.

`run` makes the copy, runs the tests and writes the file; `Reach` reads it. In the workers this module is a plugin
of pytest, which has to be imported before the package.
"""

import ast
import builtins
import contextlib
import dataclasses
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mutants.changes import ROOT, Change, name_of

PROLOGUE = "__reached__ = __import__('builtins').__dict__.get('__reached__', lambda name: None)"
FOLDER = "ATTNLAB_REACH"
"""The variable that names the folder in which each worker writes what its tests reach."""
AT_IMPORT = ""
"""In the place of a test: what is called while modules are imported and tests are collected."""


def saying_what_is_reached(source: str, file: str) -> str:
    """The source with a call at the beginning of every function and lambda."""
    tree = ast.parse(source)

    def call(name: str) -> ast.Call:
        return ast.Call(ast.Name("__reached__", ast.Load()), [ast.Constant(name)], [])

    class Said(ast.NodeTransformer):
        def visit_FunctionDef(self, node: Any) -> Any:
            name = name_of(file, node)
            self.generic_visit(node)
            at = 1 if ast.get_docstring(node, clean=False) is not None else 0
            node.body.insert(at, ast.Expr(call(name)))
            return node

        visit_AsyncFunctionDef = visit_FunctionDef

        def visit_Lambda(self, node: ast.Lambda) -> Any:
            name = name_of(file, node)
            self.generic_visit(node)
            both = ast.Tuple([call(name), node.body], ast.Load())
            node.body = ast.Subscript(both, ast.Constant(1), ast.Load())
            return node

    tree = Said().visit(tree)
    at = 1 if ast.get_docstring(tree) is not None else 0
    while (
        at < len(tree.body) and isinstance(tree.body[at], ast.ImportFrom) and tree.body[at].module == "__future__"
    ):
        at += 1
    tree.body[at:at] = ast.parse(PROLOGUE).body
    return ast.unparse(ast.fix_missing_locations(tree))


def processor_time() -> float:
    """The processor time of this process and of all that it has waited for, in seconds."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Recorder:
    """The plugin: a line for each test, with its outcome, its processor time and what it reached."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"{os.environ.get('PYTEST_XDIST_WORKER', 'main')}.jsonl"
        self.reached: set[str] = set()
        self.outcome, self.began = "", False
        builtins.__dict__["__reached__"] = lambda name: self.reached.add(name)

    def _write(self, test: str, outcome: str, seconds: float) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([test, outcome, round(seconds, 4), sorted(self.reached)]) + "\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        if not self.began:
            self._write(AT_IMPORT, "passed", 0.0)
            self.began = True
        self.reached, self.outcome = set(), ""
        before = processor_time()
        try:
            return (yield)
        finally:
            self._write(item.nodeid, self.outcome, processor_time() - before)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.outcome != "failed" and report.outcome != "passed":
            self.outcome = report.outcome
        elif report.when == "call" and not self.outcome:
            self.outcome = "passed"


@contextlib.contextmanager
def copied(commit: str) -> Iterator[Path]:
    """A folder with the tree of a commit, gone afterwards. What lies beside the checkout lies beside the copy."""
    with tempfile.TemporaryDirectory(prefix="attnlab-mutants-") as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        if (shared := ROOT.parent / "shared").is_dir():
            (Path(folder) / "shared").symlink_to(shared)
        archive = subprocess.Popen(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", str(tree)], stdin=archive.stdout, check=True)
        if archive.wait():
            raise OSError(f"git archive of {commit} failed")
        yield tree


def run(commit: str, path: Path, options: list[str]) -> int:
    """Run the tests of a commit, and write what each reaches.

    Args:
        commit: whose tree is run.
        path: of the file that is written. Tests that it knows from the same commit and that are not run again stay.
        options: of pytest.

    Returns:
        The exit code of pytest.
    """
    with copied(commit) as tree:
        for file in sorted((tree / "attnlab_theory").rglob("*.py")):
            name = file.relative_to(tree).as_posix()
            if file.name != "__init__.py":
                file.write_text(saying_what_is_reached(file.read_text("utf-8"), name), "utf-8")
        folder = tree.parent / "reach"
        folder.mkdir()
        code = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "tests.mutants.reach", "-p", "no:cacheprovider", *options],
            cwd=tree,
            env={**os.environ, FOLDER: str(folder), "PYTHONPATH": str(tree), "OPENBLAS_NUM_THREADS": "1"},
        ).returncode
        lines = [line for part in sorted(folder.glob("*.jsonl")) for line in part.read_text("utf-8").splitlines()]
    write(path, commit, [json.loads(line) for line in lines])
    return code


def write(path: Path, commit: str, tests: list[list[Any]]) -> None:
    """Write what tests of a commit reach: rows of name, outcome, seconds and functions. Known tests of it stay."""
    known = Reach(path) if path.exists() else None
    told = dict(known.tests) if known and known.commit == commit else {}
    for name, outcome, seconds, reached in tests:
        before = told[name].reached if name == AT_IMPORT and name in told else frozenset()
        told[name] = Test(outcome, seconds, before | frozenset(reached))
    number = {name: at for at, name in enumerate(sorted({n for test in told.values() for n in test.reached}))}
    rows = [[n, t.outcome, t.seconds, sorted(number[r] for r in t.reached)] for n, t in told.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text("".join(json.dumps(row) + "\n" for row in ({"commit": commit}, list(number), *rows)), "utf-8")
    new.replace(path)


@dataclasses.dataclass(frozen=True)
class Test:
    """What a test did without a change: its processor time, and the functions that it called."""

    __test__ = False
    outcome: str
    seconds: float
    reached: frozenset[str]


class Reach:
    """What each test reaches."""

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            ValueError: if there is none.
        """
        if not path.exists():
            raise ValueError(f"{path} is missing: `python -m tests.mutants reach` writes it")
        first, names, *rows = (json.loads(line) for line in path.read_text("utf-8").splitlines())
        self.commit: str = first["commit"]
        self.tests = {
            test: Test(outcome, seconds, frozenset(names[at] for at in reached))
            for test, outcome, seconds, reached in rows
        }

    def is_called_at_import(self, change: Change) -> bool:
        """Whether a change in place comes too late: the function has already been called when tests begin."""
        return AT_IMPORT in self.tests and change.function in self.tests[AT_IMPORT].reached

    def order(self, change: Change) -> list[str]:
        """The tests that reach a change, those first that are likely to tell soon.

        Tests that reach the function come before those that only reach its module. Of either the quick come first;
        a test in the file of the module's name counts as three times quicker. Where no test reaches the module,
        other processes may: then the tests of the room's folder are asked.
        """
        own, room = f"/test_{Path(change.file).stem}.py::", f"tests/{Path(change.file).parts[1]}/"
        near, module, folder = [], [], []
        for name, test in self.tests.items():
            if test.outcome != "passed" or name == AT_IMPORT:
                continue
            cost = test.seconds / (3 if own in name else 1)
            if change.function in test.reached:
                near.append((cost, name))
            elif any(reached.startswith(f"{change.file}:") for reached in test.reached):
                module.append((cost, name))
            elif name.startswith(room):
                folder.append((cost, name))
        return [name for _, name in (sorted(near) + sorted(module) or sorted(folder))]


if FOLDER in os.environ:
    _recorder = Recorder(Path(os.environ[FOLDER]))

    def pytest_configure(config: pytest.Config) -> None:
        """Register the recorder."""
        config.pluginmanager.register(_recorder)
