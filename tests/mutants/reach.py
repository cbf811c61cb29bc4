"""Which test reaches which function: a source that says so, and the plugin of pytest that writes it down."""

import ast
import builtins
import dataclasses
import resource
import time
from typing import Any

import hypothesis
import pytest

from tests.mutants.changes import name_of

PROLOGUE = "__reached__ = __import__('builtins').__dict__.get('__reached__', lambda name: None)"


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


def without_shrinking() -> None:
    """From now on hypothesis is content with the first counterexample, in tests that are yet to be imported."""
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("unshrunk", hypothesis.settings.default, phases=phases)
    hypothesis.settings.load_profile("unshrunk")


@dataclasses.dataclass
class Told:
    """A test: its processor time, whether it passed, and what it reached of what says so."""

    seconds: float = 0.0
    outcome: str = ""
    reached: set[str] = dataclasses.field(default_factory=set)


def processor_time() -> float:
    """The processor time of this process and of all that it has waited for, in seconds."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Asked:
    """A plugin that runs the named tests in their order, or all, and notes what became of each.

    Of all it may be told to run those alone whose parameter has one of these names.
    """

    def __init__(self, order: list[str] | None, parameters: list[str] | None = None) -> None:
        self.order = None if order is None else {name: at for at, name in enumerate(order)}
        self.parameters = None if parameters is None else set(parameters)
        self.told: dict[str, Told] = {}
        self.now = Told()
        builtins.__dict__["__reached__"] = lambda name: self.now.reached.add(name)

    def pytest_collection(self) -> None:
        without_shrinking()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if self.parameters is not None:
            items[:] = [item for item in items if item.name.partition("[")[2][:-1] in self.parameters]
        if self.order is not None:
            kept = [item for item in items if item.nodeid in self.order]
            config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in self.order])
            items[:] = sorted(kept, key=lambda item: self.order[item.nodeid])  # pyright: ignore

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self.now = self.told[item.nodeid] = Told()
        before = processor_time()
        try:
            return (yield)
        finally:
            self.now.seconds = processor_time() - before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told = self.told[report.nodeid]
        if told.outcome != "failed" and report.outcome != "passed":
            told.outcome = str(report.outcome)
        elif report.when == "call" and not told.outcome:
            told.outcome = "passed"

    @property
    def killer(self) -> str:
        """The first test that failed."""
        return next((name for name, told in self.told.items() if told.outcome == "failed"), "")
