"""A notebook gives what Jupyter would give, or it is told what was left out, or it is not read at all."""

import __future__

import json
import types

import pytest

from attnlab_theory.sandbox import notebook


@pytest.fixture
def told(tmp_path):
    """What is left out of cells, and the numbers that they leave."""

    def run(*cells):
        path = tmp_path / "one.ipynb"
        path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]}))
        module = types.ModuleType("submission")
        left = notebook.run(str(path), module)
        return left.told, {name: value for name, value in vars(module).items() if not name.startswith("_")}

    return run


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["x = (10\n% 3)"], {"x": 1}),
        (["x = 10 \\\n% 3"], {"x": 1}),
        (["x = [10,\n10\n%3]"], {"x": [10, 1]}),
        (["x = 10\nx \\\n%= 3"], {"x": 1}),
        (['x = """\n%time\n!ls\n"""'], {"x": "\n%time\n!ls\n"}),
        (["BETA = 2.0", "BETA *= 1e3"], {"BETA": 2000.0}),
        (["L = [1]\nL[0] *= 5\nL[0] -= 1"], {"L": [4]}),
        (["x: int = 3\nx %= 2"], {"x": 1}),
        (["from __future__ import annotations", "x: Unknown = 3"], {"annotations": __future__.annotations, "x": 3}),
    ],
)
def test_a_sign_of_percent_inside_an_expression_is_a_remainder(told, cells, numbers):
    assert told(*cells) == ("", numbers)


@pytest.mark.parametrize(
    "cell",
    [
        "y = [1,\n%timeit\n2]",
        "y = f(\n!ls\n)",
        "y = 1 + \\\n%time",
        "if True:\n%time",
        "def f():\n    %time x = 1\n    return 2",
        "y = {\n?help\n}",
        "def f(): return 1\nreturn 2",
        "BETA = 2\nbreak",
        "def f(x):\n    y = 1\n%matplotlib\n    return y",
        "if True:\n    x = 1\n!ls\nelse:\n    x = 2",
        "%%time\n%%timeit\nBETA = 2",
        "BETA = 2\n%%bash\nBETA = 3",
    ],
)
def test_a_command_that_begins_no_statement_is_not_left_out_in_silence(told, cell):
    with pytest.raises(notebook.Unreadable, match="cannot be read by code: cell 1, line "):
        told(cell)


@pytest.mark.parametrize("cell", ["x = '\ud800'", "x = 1\0"])
def test_a_cell_that_is_no_text_of_python_is_not_read(told, cell):
    with pytest.raises(notebook.Unreadable, match="cannot be read by code: cell 1 holds what no text of Python"):
        told(cell)


@pytest.mark.parametrize(
    ("cells", "left", "numbers"),
    [
        (["BETA = 2\nBETA *= trained"], "cell 1, line 2", {}),
        (["BETA = 2", "BETA = trained()"], "cell 2, line 1", {}),
        (["L = [1]\ni = 0\nL[i] = trained"], "cell 1, line 3", {"i": 0}),
        (["a = b = 1\na, b = trained"], "cell 1, line 2", {}),
        (["a = 1\nprint(a)\n%time\nb = 2"], "cell 1, lines 2, 3", {"a": 1, "b": 2}),
        (["a = 1", "%%timeit\na = 2", "%timeit a = 3"], "cell 2, line 1; cell 3, line 1", {"a": 1}),
        (["a = 1", "a = await b()\nc = 2"], "cell 2, line 1", {"c": 2}),
        (["L = []\nfor i in range(3):\n    L.append(i)"], "cell 1, line 2", {}),
        (["L = []\nL.append(30)", "L = [30]"], "cell 1, line 2", {"L": [30]}),
        (["def f():\n    pass\nf = trained(f)"], "cell 1, line 3", {}),
        (["a = 1\na = !ls\nb = %pwd"], "cell 1, lines 2, 3", {}),
        (["a = 1\r\n!ls \\\r\n  it\r\n%time b = 2"], "cell 1, lines 2, 4", {"a": 1, "b": 2}),
        (["a = 1\n%capture a = 2\n% time a = 3"], "cell 1, lines 2, 3", {"a": 1}),
        (["a = 1", "%%time a = 2\na = 4", "%% time\na = 3"], "cell 2, line 1; cell 3, line 1", {"a": 1}),
        (["a = b = c = 1\nfor a in []: b[0] = [c for c in a]"], "cell 1, line 2", {"c": 1}),
        (["a = b = 1\ndel a\n(b := 2)"], "cell 1, lines 2, 3", {}),
        (["a = b = 1\nwith x as a:\n    def b(): c = 1"], "cell 1, line 2", {}),
        (["a = 1\nif a:\n    import a"], "cell 1, line 2", {}),
    ],
)
def test_what_is_left_out_is_told_of_and_leaves_no_earlier_number(told, cells, left, numbers):
    assert told(*cells) == (left, numbers)


@pytest.mark.parametrize(
    ("cells", "name"),
    [
        (["L = []\nL.append(30)", "def f():\n    return L[0]"], "L"),
        (["with open('w') as file:\n    c = 3", "def g():\n    return c", "def f():\n    return g()"], "c"),
        (["try:\n    import torch as t\nexcept ImportError:\n    pass", "f = lambda: t.ones(3)"], "t"),
        (["c = trained()", "class F:\n    def __call__(self):\n        return c", "f = F()"], "c"),
        (["c = trained()\nc = 3", "def f():\n    return c"], ""),
        (["c = trained()\ndef g():\n    c = 1", "def f():\n    return c"], "c"),
        (["c = trained()", "def f(c):\n    return c.sum() + abs(c)"], ""),
        (["import math\nmath.floor(3)\nprint(math)", "def f():\n    return math.pi"], ""),
    ],
)
def test_a_function_that_reads_what_was_left_out_is_named(tmp_path, cells, name):
    path = tmp_path / "one.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]}))
    module = types.ModuleType("submission")
    left = notebook.run(str(path), module)
    assert notebook.unset_name(vars(module)["f"], module, left.unknown) == name


def test_a_notebook_that_was_saved_as_python_runs_the_same_lines():
    module = types.ModuleType("submission")
    module.__file__ = "one.py"
    shell = notebook.Shell(module)
    shell.run_cell_magic("time", "", "%matplotlib inline\na = 1\n")
    shell.run_line_magic("time", "b = 2")
    shell.run_line_magic("timeit", "a = 3")
    shell.run_cell_magic("bash", "", "a = 4")
    shell.system("ls")
    assert (module.a, module.b) == (1, 2)
    with pytest.raises(notebook.Unreadable):
        shell.run_cell_magic("time", "", "def f(:\n")
