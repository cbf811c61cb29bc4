"""Every public name of six rooms has a worked example in its docstring, and every example prints what it says.

An example knows the names of its module, and besides `jax`, `jnp` and `np`. All run in one process and most of them
at one shape, three tokens of width two, so that the programs they compile are shared.
"""

import ast
import doctest
import importlib
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

PACKAGE = pathlib.Path(__file__).parent.parent / "attnlab_theory"
ROOMS = ("attention", "stats", "sampling", "construct", "estimators", "claims")
FILES = [path for room in ROOMS for path in sorted((PACKAGE / room).glob("[!_]*.py"))]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

WITHOUT_EXAMPLE = {
    "claims.claim.ControlFinding": "given by a lab, inside a Finding",
    "claims.claim.RivalFinding": "given by check, inside a Finding",
    "claims.statement.Beyond": "a control of a Statement, whose example has another",
    "claims.statement.Identity": "a control of a Statement, whose example has another",
    "claims.statement.Instead": "a control of a Statement, whose example has another",
    "claims.statement.Measured": "a protocol: whatever has these three properties",
    "claims.statement.Paired": "a control of a Statement, whose example shows it",
    "estimators.advice.Advice": "given by advise, whose example shows it",
    "estimators.advice.Line": "given by advise",
    "estimators.errors.Measured": "given by measured, whose example shows it",
    "estimators.errors.Predicted": "given by predicted, whose example shows it",
    "stats.assumed_variance.VarianceCheck": "given by variance_check",
    "stats.assumed_variance.VarianceState": "given by variance_check",
    "stats.draws.FrozenDraw": "raised by Blocks, whose example shows it",
    "stats.draws.NotOneNumber": "raised by Blocks",
    "stats.draws.NotReal": "raised by Blocks",
    "stats.draws.TooCoarse": "raised by check and measure",
    "stats.draws.TooLarge": "raised by Blocks",
}
"""Public names that need none, each with the reason."""


def documented(path: pathlib.Path) -> dict[str, ast.AST]:
    """Functions, classes and methods of a file, by the name within it; those that begin with _ left out."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        found[node.name] = node
        methods = node.body if isinstance(node, ast.ClassDef) else []
        found |= {f"{node.name}.{each.name}": each for each in methods if isinstance(each, ast.FunctionDef)}
    return found


def key_of(path: pathlib.Path, name: str) -> str:
    return f"{path.parent.name}.{path.stem}.{name}"


def wanting(path: pathlib.Path, excepted: dict[str, str]) -> list[str]:
    """Names of a file that have no example and are not excepted."""
    names = {name: ast.get_docstring(node) or "" for name, node in documented(path).items() if "." not in name}
    return [
        key_of(path, name)
        for name, text in names.items()
        if ">>>" not in text and key_of(path, name) not in excepted
    ]


def complaints(path: pathlib.Path, module_names: dict[str, object]) -> str:
    """What doctest says of the examples of a file."""
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    for name, node in documented(path).items():
        text = ast.get_docstring(node) or ""
        names = {"jax": jax, "jnp": jnp, "np": np, **module_names}
        test = doctest.DocTestParser().get_doctest(text, names, key_of(path, name), str(path), node.lineno)
        if test.examples:
            runner.run(test, out=said.append)
    return "".join(said)


@pytest.mark.slow("nine of 52 members stay inside", but=9)
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_every_public_name_has_an_example_that_prints_what_it_says(path):
    """Runs every example of a file, and many of them compile a program."""
    assert not wanting(path, WITHOUT_EXAMPLE)
    module = importlib.import_module(f"attnlab_theory.{path.parent.name}.{path.stem}")
    assert not (said := complaints(path, vars(module))), said


def test_an_exception_is_a_public_name_without_an_example():
    assert sorted(WITHOUT_EXAMPLE) == sorted(name for path in FILES for name in wanting(path, {}))


def test_an_example_that_is_wrong_or_missing_is_found(tmp_path):
    path = tmp_path / "stats" / "one.py"
    path.parent.mkdir()
    one = 'def one():\n    """One.\n\n    >>> one()\n    2\n    """\n    return 1\n'
    path.write_text(one + 'def two():\n    """Two."""\n')
    assert "Expected:\n    2\nGot:\n    1" in complaints(path, {"one": lambda: 1})
    assert wanting(path, {}) == ["stats.one.two"]
    assert not wanting(path, {"stats.one.two": "a reason"})
