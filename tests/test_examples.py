"""Every public name of six rooms has a worked example in its docstring, and every example prints what it says.

An example knows the names of its module and no others, so it runs alone. All run in one process and most of them
at one shape, three tokens of width two, so that the programs they compile are shared.
"""

import ast
import builtins
import doctest
import importlib
import pathlib

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
        test = doctest.DocTestParser().get_doctest(
            text, dict(module_names), key_of(path, name), str(path), node.lineno
        )
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


def names(code: ast.AST) -> tuple[set[str], set[str]]:
    """The names that code gives, anywhere in it, and those that it reads."""
    given, read = set(), set()
    for node in ast.walk(code):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else given).add(node.id)
        elif isinstance(node, ast.alias):
            given.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            given.add(node.name)
        elif isinstance(node, ast.arg):
            given.add(node.arg)
    return given, read


def unknown(text: str, module: ast.Module) -> set[str]:
    """The names that the examples of a docstring read, and neither they nor the module give: each runs alone."""
    given, read = names(ast.parse("".join(each.source for each in doctest.DocTestParser().get_examples(text))))
    imports = (node for node in module.body if isinstance(node, ast.ImportFrom | ast.Import))
    of_module = set().union(*(names(node)[0] for node in imports), *({t.id} for t in assigned(module)))
    defined = {node.name for node in module.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return read - given - of_module - defined - {*vars(builtins)}


def assigned(module: ast.Module) -> list[ast.Name]:
    """The names that a module assigns outside of its functions."""
    kept = (node for node in module.body if not isinstance(node, ast.FunctionDef | ast.ClassDef))
    found = (each for node in kept for each in ast.walk(node))
    return [each for each in found if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]


def test_every_example_knows_its_names():
    """Reads all examples, and runs none."""
    lacking = {
        key_of(path, name): lacks
        for path, module in ((path, ast.parse(path.read_text())) for path in FILES)
        for name, node in documented(path).items()
        if (lacks := unknown(ast.get_docstring(node) or "", module))
    }
    assert lacking == {}
    module = ast.parse("import jax\nN = 3\ndef f(m): pass")
    assert unknown(">>> np.eye(N), f(jax)\n>>> [x for x in range(m)]", module) == {"np", "m"}
    assert not unknown(">>> import numpy as np\n>>> g = lambda n: np.eye(n)", module)


def test_every_example_stands_where_it_is_run():
    """In the docstring of a public name of one of the six rooms."""
    for path in PACKAGE.rglob("*.py"):
        written = sum(line.lstrip().startswith(">>> ") for line in path.read_text().splitlines())
        texts = [ast.get_docstring(node) or "" for node in documented(path).values()] if path in FILES else []
        assert written == sum(len(doctest.DocTestParser().get_examples(text)) for text in texts), path


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
