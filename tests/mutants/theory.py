"""Break every formula of the theory, one change at a time, and see who notices: `python -m tests.mutants theory`.

A mutant changes one thing in one function of `attnlab_theory/theory`: a constant by 5 %, a sign, an exponent.
It is killed by a claim if a committed measurement refutes what it now predicts, or else by a test of its module in
`tests/theory`. Mutants that end in an error are killed too. The rest survive and are listed.

Each mutant lives in a child process of its own, forked before jax has computed anything.
"""

import ast
import copy
import dataclasses
import importlib
import io
import json
import multiprocessing
import os
import random
import signal
import sys
import textwrap
import types
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
THEORY = ROOT / "attnlab_theory" / "theory"
SECONDS = 240
"""For one mutant; one that makes an iteration endless is killed by the clock."""
SETTINGS_OF_A_CLAIM = 4


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change, by the number of its place in the module's syntax tree."""

    module: str
    function: str
    line: int
    change: str
    place: int
    way: str

    @property
    def name(self) -> str:
        """Where and what, for a table."""
        return f"{self.module.removeprefix('attnlab_theory.theory.')}:{self.line} {self.function}: {self.change}"


def _ways(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Constant(value=bool() | str() | None):
            return
        case ast.Constant(value=int() | float()) if node.value != 0:
            yield "constant"
        case ast.BinOp(op=ast.Add() | ast.Sub()) | ast.UnaryOp(op=ast.USub()):
            yield "sign"
        case ast.BinOp(op=ast.Pow()) | ast.Call(func=ast.Attribute(attr="sqrt")):
            yield "exponent"
        case _:
            return


def _mutated(node: Any, way: str) -> ast.AST:
    match way, node:
        case "none", _:
            return node
        case "constant", ast.Constant():
            return ast.Constant(1.05 * node.value)
        case "sign", ast.UnaryOp():
            return node.operand
        case "sign", ast.BinOp():
            return ast.BinOp(node.left, ast.Sub() if isinstance(node.op, ast.Add) else ast.Add(), node.right)
        case "exponent", ast.BinOp():
            return ast.BinOp(node.left, ast.Pow(), ast.BinOp(node.right, ast.Mult(), ast.Constant(1.05)))
        case "exponent", ast.Call():
            return ast.BinOp(node.args[0], ast.Pow(), ast.Constant(0.525))
        case _:
            raise AssertionError(way)


def _no_number(tree: ast.Module) -> set[int]:
    """Constants that count, choose or say how finely to compute: indices, shapes, grids, brackets, tolerances.

    5 % of such a one is no other formula.
    """
    left: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            left |= {id(inner) for inner in ast.walk(node.slice)}
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in {
                "range",
                "np.eye",
                "np.zeros",
                "np.ones",
                "np.full",
                "np.tile",
                "np.linspace",
                "np.arange",
                "np.polynomial.legendre.leggauss",
            }:
                left |= {id(inner) for argument in node.args for inner in ast.walk(argument)}
            for keyword in node.keywords:
                if keyword.arg in {
                    *("axis", "axes", "ndmin", "dtype", "ord", "ddof", "size", "dx"),
                    *("bracket", "bounds", "epsabs", "epsrel", "limit", "xtol", "options"),
                }:
                    left |= {id(inner) for inner in ast.walk(keyword.value)}
        if isinstance(node, ast.FunctionDef):
            left |= {id(inner) for part in (node.args, *node.decorator_list) for inner in ast.walk(part)}
            if node.returns:
                left |= {id(inner) for inner in ast.walk(node.returns)}
        if isinstance(node, ast.Raise):
            left |= {id(inner) for inner in ast.walk(node)}
        if isinstance(node, ast.If) and any(isinstance(inner, ast.Raise) for inner in node.body):
            left |= {id(inner) for inner in ast.walk(node.test)}
    return left


def mutants_of(path: Path) -> list[Mutant]:
    """Every mutant of a module, in the order of its lines."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    tree = ast.parse(path.read_text())
    left = _no_number(tree)
    where = {
        id(inner): node.name for node in tree.body if isinstance(node, ast.FunctionDef) for inner in ast.walk(node)
    }
    found = []
    for place, node in enumerate(ast.walk(tree)):
        if id(node) in where and id(node) not in left:
            for way in _ways(node):
                before, after = (
                    ast.unparse(node),
                    ast.unparse(ast.fix_missing_locations(_mutated(copy.deepcopy(node), way))),
                )
                change = textwrap.shorten(f"{before} -> {after}", 90, placeholder=" ...")
                found.append(Mutant(module, where[id(node)], node.lineno, change, place, way))
    return sorted(found, key=lambda m: (m.line, m.place))


def _install(mutant: Mutant) -> None:
    """Run the mutated source in the module itself, and hand its functions to all who hold the old ones."""
    module = importlib.import_module(mutant.module)
    source = Path(str(module.__file__)).read_text()
    tree = ast.parse(source)
    victim = list(ast.walk(tree))[mutant.place]

    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return _mutated(node, mutant.way) if node is victim else self.generic_visit(node)

    code = compile(ast.fix_missing_locations(Swap().visit(tree)), str(module.__file__), "exec")
    before = dict(module.__dict__)
    exec(code, module.__dict__)
    changed = {
        id(old): module.__dict__[name]
        for name, old in before.items()
        if callable(old) and getattr(old, "__module__", "") == mutant.module and not isinstance(old, type)
    }
    for name, old in before.items():
        if isinstance(old, type) and old.__module__ == mutant.module:
            setattr(module, name, old)
    for other in list(sys.modules.values()):
        if (
            other is module
            or not isinstance(other, types.ModuleType)
            or not other.__name__.startswith("attnlab_theory")
        ):
            continue
        for name, value in list(vars(other).items()):
            if id(value) in changed:
                setattr(other, name, changed[id(value)])


def _killed_by_a_claim(mutant: Mutant, asked: list[tuple[str, int]]) -> str:
    from attnlab_theory.claims import CLAIMS, Verdict, judge

    claims = {claim.name: claim for claim in CLAIMS}
    for name, index in asked:
        claim, finding = claims[name], _FINDINGS[name, index]
        try:
            predicted = claim.predicted_at(claim.settings[index])
        except Exception as error:
            return f"{name}: {type(error).__name__}"
        if judge(predicted, finding.measured, finding.resolution) == Verdict.REFUTED:
            return f"claim {name}"
    return ""


def _killed_by_a_test(mutant: Mutant) -> str:
    import pytest

    topic, module = mutant.module.split(".")[2:]
    folder = ROOT / "tests" / "theory" / topic
    own = folder / f"test_{module}.py"
    others = sorted(path for path in folder.glob("test_*.py") if path != own)
    for files in ([own] if own.exists() else [], others):
        if files:
            code = pytest.main(
                ["-q", "-x", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", *map(str, files)]
            )
            if code == pytest.ExitCode.TESTS_FAILED or code == pytest.ExitCode.INTERRUPTED:
                return "its tests" if files == [own] else f"tests of {topic}"
    return ""


def _fate(case: tuple[Mutant, list[tuple[str, int]]]) -> str:
    """Who kills it, or nothing. In a process of its own."""
    mutant, asked = case

    def ring(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            _install(mutant)
            return _killed_by_a_claim(mutant, asked) or _killed_by_a_test(mutant)
    except TimeoutError:
        return "the clock"
    except Exception as error:
        return f"error: {type(error).__name__}"


_FINDINGS: dict[tuple[str, int], Any] = {}


def _who_calls() -> dict[str, list[tuple[str, int]]]:
    """For every function of the theory, the claims and settings whose predictions call it."""
    from attnlab_theory.claims import CLAIMS, Verdict

    calls: dict[str, list[tuple[str, int]]] = {}
    for claim in CLAIMS:
        if claim.expect != Verdict.SUPPORTED:
            continue
        every = range(len(claim.settings))
        step = max(1, len(every) // SETTINGS_OF_A_CLAIM)
        for index in sorted({*every[::step], every[-1]}):
            seen: set[str] = set()

            def note(frame: types.FrameType, event: str, _: Any, seen: set[str] = seen) -> None:
                module = frame.f_globals.get("__name__", "")
                if event == "call" and module.startswith("attnlab_theory.theory."):
                    seen.add(f"{module}.{frame.f_code.co_name}")

            _forget()
            sys.setprofile(note)
            try:
                claim.predicted_at(claim.settings[index])
            finally:
                sys.setprofile(None)
            for function in seen:
                calls.setdefault(function, []).append((claim.name, index))
    return calls


def _forget() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("attnlab_theory.theory."):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def _read_findings() -> None:
    from attnlab_theory.claims import CLAIMS
    from attnlab_theory.report import record

    measured = {}
    for path in sorted((ROOT / "figures").glob("*.json")):
        if not path.name.endswith(".run.json"):
            for finding in record.read_findings(path):
                measured[finding.claim, json.dumps(finding.setting, sort_keys=True)] = finding
    for claim in CLAIMS:
        for index, setting in enumerate(claim.settings):
            key = claim.name, json.dumps(setting.as_json(), sort_keys=True)
            if key in measured:
                _FINDINGS[claim.name, index] = measured[key]


def main(sample: int | None = None, seed: int = 0, only: str = "") -> int:
    """Print what became of the mutants, and the survivors."""
    importlib.import_module("attnlab_theory.claims")
    _read_findings()
    paths = sorted(path for path in THEORY.rglob("*.py") if path.name != "__init__.py" and only in str(path))
    mutants = [mutant for path in paths for mutant in mutants_of(path)]
    every = len(mutants)
    if sample is not None and sample < every:
        mutants = sorted(random.Random(seed).sample(mutants, sample), key=lambda m: (m.module, m.line, m.place))
    fork = multiprocessing.get_context("fork")
    # Each task has a process of its own: what one has computed or broken no other sees.
    with fork.Pool(1, maxtasksperchild=1) as pool:
        callers = pool.apply(_who_calls)
    cases = [
        (m, [pair for pair in callers.get(f"{m.module}.{m.function}", []) if pair in _FINDINGS]) for m in mutants
    ]
    # Of every topic all tests are run once without a change.
    topics = {m.module.split(".")[2]: m.module for m in mutants}
    controls = [(Mutant(name, "", 0, "none", 0, "none"), []) for name in topics.values()]
    with fork.Pool(os.cpu_count(), maxtasksperchild=1) as pool:
        for (control, _), fate in zip(controls, pool.imap(_fate, controls), strict=True):
            if fate:
                print(f"{control.module} falls without a change ({fate}): nothing is judged", file=sys.stderr)
                return 1
    fates: list[str] = []
    with fork.Pool(os.cpu_count(), maxtasksperchild=1) as pool:
        for mutant, fate in zip(mutants, pool.imap(_fate, cases), strict=True):
            fates.append(fate)
            print(f"{len(fates)}/{len(mutants)}  {fate or 'SURVIVES'}  {mutant.name}", flush=True)
    survivors = [mutant for mutant, fate in zip(mutants, fates, strict=True) if not fate]
    by_claims = sum(fate.startswith("claim") for fate in fates)
    print(f"\n{len(mutants)} mutants of {every}: {by_claims} fall to claims, {len(survivors)} survive")
    for mutant in survivors:
        print(f"  {mutant.name}")
    return 0
