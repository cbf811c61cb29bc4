"""A notebook gives what Jupyter would give, or it is told what was left out, or it is not read at all."""

import __future__

import json
import re
import sys
import types

import pytest

from attnlab_theory.sandbox import effects, notebook


@pytest.fixture
def told(tmp_path):
    """What is left out of cells, and the numbers that they leave."""

    def run(*cells):
        path = tmp_path / "one.ipynb"
        path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]}))
        module = types.ModuleType("submission")
        left = notebook.run(str(path), module, effects.Effects(module, notebook.commanded))
        return left, {name: value for name, value in vars(module).items() if not name.startswith("_")}

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


@pytest.fixture
def unset(tmp_path):
    """What the function `f` of cells reads that a line left out would set or change."""

    def run(*cells):
        path = tmp_path / "one.ipynb"
        path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]}))
        module = sys.modules["submission"] = types.ModuleType("submission")
        found = effects.Effects(module, notebook.commanded)
        notebook.run(str(path), module, found)
        return found.unset_name(["f"])

    yield run
    sys.modules.pop("submission", None)


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
def test_a_function_that_reads_what_was_left_out_is_named(unset, cells, name):
    assert unset(*cells).partition(",")[0] == name


F = "def f(keys):\n    return BETA * keys"
ARRAY = "import numpy as np\nBETA = np.zeros(1)"
SET = "BETA = 1.0\ndef setb():\n    global BETA\n    BETA = 1000.0"
TABLE = "import math\nmath.table = [1e3]\ndef f(keys):\n    return math.table[0] * keys"
LIST = "L = [1e3]\ndef f(keys):\n    return L[0] * keys\n"


@pytest.mark.parametrize(
    "cells",
    [
        (ARRAY, "np.copyto(BETA, 1000.0)", F),
        (ARRAY, F, "np.copyto(BETA.reshape(-1), 1000.0)"),
        (ARRAY, F, "from numpy import copyto as cp\ncp(BETA, 1000.0)"),
        (ARRAY, F, "np.add(BETA, 1, BETA)"),
        (ARRAY, F, "np.exp(BETA, out=BETA)"),
        (ARRAY, F, "np.random.shuffle(BETA)"),
        (ARRAY, F, "other = BETA[:]\nnp.copyto(other, 1000.0)"),
        (ARRAY, F, "if True:\n    BETA.fill(1000.0)"),
        (ARRAY, F, "def g():\n    BETA.fill(1000.0)", "g()"),
        (ARRAY, F, "def g():\n    x = BETA\n    x += 1", "g()"),
        (ARRAY, F, "def g(x):\n    x -= x.max()\n    return x", "print(g(BETA))"),
        (ARRAY, F, "assert my_own_check(BETA)"),
        (ARRAY, F, "np.copyto(BETA, 1000.0)\nBETA = BETA * 2"),
        (ARRAY, "def f(keys, beta=BETA):\n    return beta * keys", "np.copyto(BETA, 1000.0)"),
        (ARRAY, "np.copyto(BETA, 1000.0)", "def f(keys, beta=BETA):\n    return beta * keys"),
        (SET, "setb()", F),
        (SET, F, "print(setb())"),
        (SET, F, "for _ in range(3):\n    setb()"),
        (SET, F, "def g():\n    return setb()\n[g() for _ in range(3)]"),
        (SET, F, "g = setb\ng()"),
        (SET, F, "%timeit -n 1 setb()"),
        (SET, F, "%%timeit\nsetb()"),
        (SET, F, "get_ipython().run_line_magic('timeit', 'setb()')"),
        (SET, F, "def g():\n    setb()\n    get_ipython().magic('time g()')\ng()"),
        (SET, F, "def g():\n    get_ipython().magic('timeit setb()')\ng()"),
        (SET, F, "class Test:\n    def test(self):\n        setb()\nTest().test()"),
        ("BETA = 1000.0", F, "exec('BETA=1e-3')"),
        ("BETA = 1000.0", F, "def g():\n    exec('BETA=1e-3', globals())", "g()"),
        ("BETA = 1000.0", F, "globals().update(BETA=1e-3)"),
        ("BETA = 1000.0", F, "import sys\nif True:\n    sys.modules[__name__].BETA = 1e-3"),
        ("BETA = 1000.0", F, "import sys\nme = sys.modules[__name__]\nif True:\n    me.BETA = 1e-3"),
        ("BETA = 1000.0", F, "%run other.py"),
        ("BETA = 1000.0", F, "%reset -f"),
        ("BETA = 1000.0", F, "get_ipython().run_line_magic('run', 'other.py')"),
        ("BETA = 1000.0", F, "get_ipython().magic('reset -f')"),
        ("BETA = 1000.0", F, "%%cython\nBETA = 1e-3"),
        ("BETA = 1000.0", F, "x = %run other.py"),
        ("%run helpers.py", "def f(keys):\n    return helper(keys)"),
        ("class C:\n    beta = 1e3\ndef f(keys):\n    return C.beta * keys", "setattr(C, 'beta', 1e-3)"),
        (
            "class C:\n    beta = 1e3\n    @classmethod\n    def put(cls):\n        cls.beta = 1\ndef f(keys):\n"
            "    return C.beta * keys",
            "C.put()",
        ),
        (
            "import math\nmath.beta = 1e3\ndef f(keys):\n    return math.beta * keys",
            "for _ in [0]:\n    math.beta = 1e-3",
        ),
        (TABLE, "if True:\n    math.table[0] = 1e-3"),
        (TABLE, "math.table.append(1e-3)"),
        (LIST, "def put(x):\n    x[0] = 1e-3", "put(L)"),
        (LIST, "def put(x):\n    x[0] = 1e-3", "list(map(put, [L]))"),
        (LIST, "def put(x):\n    y = x\n    y.append(1)\ndef g(x):\n    put(x)", "print(g(L))"),
        (LIST, "[x.pop() for x in [L]]"),
        (LIST, "M = L\nfor i in range(1):\n    M[i] = 1e-3"),
        (LIST, "put = L.append\nput(3)"),
        (LIST, "list.append(L, 3)"),
        (LIST, "put = lambda: L.append(3)\nput()"),
        (ARRAY, F, "np.ndarray.fill(BETA, 3)"),
        (ARRAY, F, "for t in (BETA,):\n    t.zero_()"),
        (LIST, "def put(x):\n    x[0] = 1e-3\nfor g in [put]:\n    g(L)"),
        ("import collections\nD = collections.Counter()\ndef f(keys):\n    return D[0] * keys", "D.subtract([1])"),
        (LIST, "D = {'a': L}\nfor each in D.values():\n    each[0] = 1e-3"),
    ],
)
def test_a_value_that_a_line_left_out_may_change_is_not_read(unset, cells):
    assert re.search(r"^\w+, which cell \d, line \d$", unset(*cells))


CHECK = "%matplotlib inline\n%load_ext autoreload\n!pip install nothing\n" + ARRAY


@pytest.mark.parametrize(
    "cells",
    [
        (CHECK, F, "print(BETA)\ndisplay(BETA)\nlen(BETA)"),
        (CHECK, F, "import matplotlib.pyplot as plt\nplt.plot(BETA)\nplt.title(f'{BETA}')\nplt.show()"),
        (CHECK, F, "fig = ax = None\nax.plot(BETA)\nfor a in [ax]:\n    a.imshow(BETA)\nfig.tight_layout()"),
        (CHECK, F, "KEYS = np.ones(1)", "assert np.allclose(f(KEYS), BETA * KEYS)"),
        (CHECK, F, "KEYS = np.ones(1)", "np.testing.assert_allclose(f(KEYS), BETA)\n%timeit f(KEYS)"),
        (CHECK, F, "%%timeit -n 10\nx = f(BETA)", "%%bash\necho BETA"),
        (CHECK, F, "get_ipython().run_line_magic('timeit', 'f(BETA)')\nget_ipython().system('ls')"),
        (CHECK, F, "import sys\nif 'torch' in sys.modules or 'colab' in str(get_ipython()):\n    print(BETA)"),
        (CHECK, F, "for i in range(3):\n    print(f(i), np.linalg.norm(BETA))"),
        (CHECK, F, "class D(dict):\n    __getattr__ = dict.get\nd = D()\nd.show(BETA)\nprint(d.x(BETA))"),
        (
            CHECK,
            F,
            "import os\nif True:\n    os.environ['X'] = '1'\nnp.random.shuffle([1, 2])\nnp.add.at([1.0], 0, 1)",
        ),
        (CHECK, F, "for name, g in {'f': f}.items():\n    print(name, g(BETA))"),
        (
            CHECK,
            "def f(keys):\n    n, d = keys.shape\n    d *= 2\n    return d * BETA",
            "print(f(np.ones((2, 2))))",
        ),
        (CHECK, F, "def test():\n    assert (f(np.ones(1)) == np.abs(BETA)).all()\ntest()"),
        (
            CHECK,
            F,
            "import random\ndef seed(s):\n    random.seed(s)\n    np.random.seed(s)\nseed(3)\nnp.random.seed(3)",
        ),
        (
            CHECK,
            "def f(keys):\n    out = np.zeros(3)\n    for i in range(3):\n        out[i] = BETA[0] * keys[i]\n"
            "    e = np.exp(out)\n    e /= e.sum()\n    return e",
            "print(f(np.ones(3)))",
        ),
        (CHECK, F, "my_own_check(f, BETA * 2)\nnp.add(BETA, 1).sum()\nnp.sort(BETA)"),
        (CHECK, F, "class C:\n    def __init__(self, w):\n        self.w = w\nprint(C(BETA).w)"),
        ("BETA = 1e3", F, "my_own_check(f, BETA)\nassert f(1) == BETA"),
        (SET, F, "setb()\nBETA = 1e3"),
        ("BETA = 1e3", "%run other.py", "BETA = 1e3", F),
        (LIST, "M = [1]\nM.append(L[0])\nprint(L)\nsorted(L)"),
        (LIST, "class Test:\n    def test(self):\n        self.x = f(2)\nTest().test()"),
        ("import math\ndef f(keys):\n    return math.pi * keys", "for _ in [0]:\n    math.beta = 1e-3"),
        ("def f(keys):\n    return keys", "def g(x):\n    x[0] = 1\nK = [1]\ng(K)\nglobal_step = 1"),
    ],
)
def test_usual_lines_leave_a_notebook_to_code(unset, cells):
    assert unset(*cells) == ""


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
    with pytest.raises(notebook.Unreadable, match="%run"):
        shell.run_line_magic("run", "other.py")
    with pytest.raises(notebook.Unreadable, match="%reset"):
        shell.magic("reset -f")
