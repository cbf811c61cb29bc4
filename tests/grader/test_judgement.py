"""Every judged submission gets an answer that a program reads and a person understands."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.cli import main
from attnlab_theory.cli.problems import Check
from attnlab_theory.grader import replay
from attnlab_theory.grader.contracts import CONTRACTS
from attnlab_theory.grader.grading import check_answer
from attnlab_theory.grader.judgement import judgement_text
from attnlab_theory.grader.question_names import OTHER_YEARS, contract_of
from attnlab_theory.sandbox.reasons import BrokenAnswer, Reason, plain
from tests.sandbox.system import missing_fences

RIGHT = "def f(keys, *rest): return 1e5 * keys[0]\n"


@pytest.fixture
def file(tmp_path):
    def write(source: str, name: str = "mine.py") -> str:
        (tmp_path / name).write_text(source)
        return f"{tmp_path / name}::f"

    return write


def check(capsys, *arguments):
    """Exit code and both outputs of `attnlab check`."""
    try:
        code = main(["check", *map(str, arguments)])
    except SystemExit as leaving:
        code = leaving.code
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.slow("three of eleven members stay inside", but=3)
@pytest.mark.parametrize(
    ("source", "code", "reason"),
    [
        (RIGHT, 0, "right"),
        ("def f(keys): return keys[0]", 1, "wrong"),
        ("def f(keys): return 1 / 0", 1, "raised"),
        ("def f(keys):", 1, "raised"),
        ("def f(keys): return keys", 1, "wrong shape"),
        ("def f(keys): return None", 1, "wrong shape"),
        ("def f(keys): return keys[0] / 0 * 0", 1, "not finite"),
        ("import os\ndef f(keys): os._exit(0)", 1, "ended"),
        ("import time\ndef f(keys): time.sleep(600)", 1, "timed out"),
        ("import os\nos._exit(0)", 1, "ended"),
        ("raise SystemExit", 1, "ended"),
    ],
)
def test_every_submission_gets_the_object(capsys, file, monkeypatch, source, code, reason):
    """Starts a process for each submission, and waits two seconds for one that sleeps."""
    if reason == "timed out":
        monkeypatch.setattr("attnlab_theory.sandbox.submission.patience", lambda seconds: 2.0)
    left, out, err = check(capsys, file(source), "--question", "uw/1.2.1", "--json")
    found = json.loads(out)
    assert (left, err, found["reason"]) == (code, "", reason)
    assert {"question", "right", "reason", "case", "error", "tolerance", "cases", "output", "fences"} <= set(found)
    assert found["right"] is (code == 0)
    assert found["tolerance"] == CONTRACTS["uw/1.2.1"].tolerance
    assert isinstance(found["error"], float) == (reason == "wrong")
    assert found["fences"] == list(missing_fences())


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("absent.py::f", "there is no file"),
        ("mine.py::g", "has no function 'g'"),
        ("mine.py", "expected FILE.py::FUNCTION"),
        ("mine.txt::f", "its name must end in .py, or in .ipynb for a notebook"),
    ],
)
def test_what_the_caller_did_wrong_is_one_line_and_exit_code_2(capsys, file, monkeypatch, tmp_path, where, said):
    file(RIGHT)
    file(RIGHT, "mine.txt")
    monkeypatch.chdir(tmp_path)
    code, out, err = check(capsys, where, "--question", "uw/1.2.1", "--json")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_numbers_are_numbers_in_the_object(capsys, file):
    _, out, _ = check(capsys, file("def f(keys, a, b): return keys[a]"), "--question", "practical4/2b", "--json")
    found = json.loads(out)
    assert np.shape(found["case"]["givens"]["keys"]) == (2, 2)
    assert found["case"]["givens"]["a"] in (0, 1)
    assert found["case"]["answer"]["q"] == found["case"]["givens"]["keys"][found["case"]["givens"]["a"]]
    assert found["error"] > found["tolerance"]


def test_a_list_of_questions_is_what_the_bare_command_gives(capsys):
    code, out, _ = check(capsys)
    assert code == 0
    assert all(question in out for question in CONTRACTS)
    assert out == check(capsys, "--list")[1]
    listed = json.loads(check(capsys, "--list", "--json")[1])
    assert [entry["question"] for entry in listed] == list(CONTRACTS)


def test_the_help_names_every_question():
    said = (Check.__doc__ or "").replace("\n", " ")
    for homework, names in (part.strip().split("/", 1) for part in said.split("The questions are ")[1].split(";")):
        listed = {f"{homework}/{name.strip(' .')}" for name in names.split(",")}
        assert listed == {question for question in CONTRACTS if question.startswith(f"{homework}/")}


@pytest.mark.parametrize("question", CONTRACTS)
@given(data=st.data())
def test_any_case_is_asked_again_by_its_description(question, data):
    contract = CONTRACTS[question]
    case = data.draw(contract.cases())
    assert replay.case_of(contract, json.dumps(replay.described(case))) == case


def test_a_counterexample_is_replayed_alone(capsys, file, tmp_path):
    """Starts a process for each of four judgements."""
    where = file("def f(keys, a, b): return 3 * (keys[a] + keys[b])")
    code, out, _ = check(capsys, where, "--question", "practical4/2b")
    again = out.splitlines()[-1]
    assert (code, again.startswith(f"again: attnlab check {where} --question practical4/2b --replay ")) == (1, True)
    described = again.split("--replay ")[1].strip("'")
    code, out, _ = check(capsys, where, "--question", "practical4/2b", "--replay", described, "--json")
    found = json.loads(out)
    assert (code, found["cases"], found["reason"]) == (1, 1, "wrong")
    (tmp_path / "found.json").write_text(out)
    replayed = ["--replay", tmp_path / "found.json", "--json"]
    assert json.loads(check(capsys, where, "--question", "practical4/2b", *replayed)[1]) == found
    file("def f(keys, a, b): return 30 * (keys[a] + keys[b])")
    code, out, _ = check(capsys, where, "--question", "practical4/2b", "--replay", described)
    assert (code, "Only this one case was tried." in out) == (0, True)


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("absent.json", "takes what a counterexample prints"),
        ("{", "it is not JSON"),
        ('{"a": 0}', "it has other fields"),
        ('{"frame": {"n": 99, "d": 99, "reflections": []}, "a": 0, "b": 1}', "promises that 2 <= n <= 64"),
        (
            '{"frame": {"n": 9999999999, "d": 9999999999, "reflections": []}, "a": 0, "b": 1}',
            "1 <= n <= d <= 128",
        ),
        ('{"frame": {"n": 3, "d": 3, "reflections": []}, "a": 1, "b": 1}', "two of the keys"),
        ('{"frame": {"n": 3, "d": 3, "reflections": []}, "a": 0, "b": 1, "heads": 2}', "heads are 1"),
        ('{"frame": {"n": 3, "d": 3, "reflections": [["x"]]}, "a": 0, "b": 1}', "reflections are a few small"),
    ],
)
def test_what_describes_no_case_is_refused(capsys, file, case, said):
    code, out, err = check(capsys, file(RIGHT), "--question", "practical4/2b", "--replay", case)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_what_an_answer_prints_is_shown_when_it_is_asked_for(capsys, file):
    source = "print('loading \\x1b[31m')\n" + RIGHT.replace("return", "print('asked'); return")
    where = file(source)
    assert "asked" not in check(capsys, where, "--question", "uw/1.2.1")[1]
    shown = check(capsys, where, "--question", "uw/1.2.1", "--show-output")[1]
    assert r"what it printed/loading \x1b[31m/asked/asked/".replace("/", "\n") in shown
    assert json.loads(check(capsys, where, "--question", "uw/1.2.1", "--json")[1])["output"].count("asked") == 2


def test_coordinates_are_not_the_vector(file, text_of):
    judgement = check_answer(file("def f(A): return A.T"), "cs224n/1b.i")
    assert (judgement.reason, judgement.exit_code) == (Reason.WRONG, 1)
    assert judgement.counterexample.error > 1
    said = " ".join(text_of(judgement_text(judgement)).split())
    assert "M s are the coordinates of v_a in the basis, not v_a" in said
    assert "M = A Aᵀ" in said
    assert check_answer(file("def f(A): return A"), "cs224n/1b.i").reason == Reason.WRONG_SHAPE


def notebook(*cells: str) -> str:
    written = [{"cell_type": "code", "source": source.splitlines(keepends=True)} for source in cells]
    text = {"cell_type": "markdown", "source": ["def f(keys): return 0"]}
    return json.dumps({"cells": [text, *written], "nbformat": 4})


def test_a_notebook_is_read_without_the_lines_that_are_no_definitions(file):
    cells = (
        "%matplotlib inline\n!pip install nothing\nimport numpy as np\nSCALE = 1e5",
        "%%bash\nexit 1",
        "raise SystemExit\nshown = undefined.plot()",
        "def f(keys):\n    return helper(keys)",
        "def helper(keys):\n    return SCALE * np.asarray(keys[0])",
    )
    judgement = check_answer(file(notebook(*cells), "mine.ipynb"), "uw/1.2.1")
    assert judgement.right
    assert judgement.notes == ("Not run of the notebook: cell 2, lines 1, 2; cell 3, line 1; cell 4, lines 1, 2.",)


RIGHT = "def f(keys):\n    return 1e5 * keys[0]"
WRONG = "def f(keys):\n    return 0 * keys[0]"


@pytest.mark.slow("a notebook with commands of Jupyter stays inside")
@pytest.mark.parametrize(
    "cells",
    [
        (WRONG, RIGHT),
        (f"%%time\n{RIGHT}",),
        (f"\n%%capture out --no-stderr\n{RIGHT}",),
        (f"?print\nprint?\nimport numpy as np\nnp.dot??\n{RIGHT}",),
        (f"%time import math\n{RIGHT.replace('1e5', '1e5 * math.exp(0)')}",),
        (f"files = !ls\n!echo \\\n  'it\n{RIGHT}",),
        ("BETA = 1e-4", "BETA *= 1e9", RIGHT.replace("1e5", "BETA")),
        (RIGHT.replace("1e5", "(1e5 + 7\n  % 7)"),),
        (f"%%bash\n{WRONG}", RIGHT, f"%%html\n{WRONG}"),
    ],
)
def test_a_notebook_defines_what_jupyter_would_define(file, cells):
    """Each starts a process and asks it at hundreds of cases."""
    assert check_answer(file(notebook(*cells), "mine.ipynb"), "uw/1.2.1").right


@pytest.mark.slow("a notebook with commands of Jupyter stays inside")
def test_a_notebook_that_was_saved_as_python_is_read(file):
    """Starts a process and asks it at hundreds of cases."""
    source = "get_ipython().run_line_magic('matplotlib', 'inline')\nget_ipython().system('ls')\n"
    timed = (
        f"get_ipython().run_cell_magic('time', '', {RIGHT!r})\nget_ipython().run_cell_magic('bash', '', 'exit 1')"
    )
    assert check_answer(file(source + timed), "uw/1.2.1").right


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (
            ("some notes", RIGHT),
            "cannot be read by code: cell 2, line 1 is neither Python nor a command of Jupyter",
        ),
        (
            (RIGHT.replace("return", "%time x = 1\n    return"),),
            "cannot be read by code: cell 2, line 2 is a command of Jupyter inside a definition",
        ),
        (
            ("import no_such_module", RIGHT),
            "No module named 'no_such_module' (cell 2, line 1); it is not installed here",
        ),
        (
            ("BETA = 1e5", RIGHT.replace("1e5", "BETA"), "exec('BETA = 1e-3')"),
            "it reads BETA, which cell 4, line 1 would set or change, and code does not run that line",
        ),
        (
            (
                "import numpy as np\nBETA = np.ones(1)\nnp.copyto(BETA, 1e5)",
                "def f(keys, b=BETA):\n    return b * keys[0]",
            ),
            "it reads f, which cell 3, line 1 would set or change, and code does not run that line",
        ),
    ],
)
def test_what_code_cannot_read_or_run_is_left_to_a_person(file, cells, said):
    judgement = check_answer(file(notebook(*cells), "mine.ipynb"), "uw/1.2.1")
    assert (judgement.reason, judgement.exit_code) == (Reason.INCONCLUSIVE, 3)
    assert said in judgement.said


def test_an_encoding_that_python_does_not_read_is_left_to_a_person(tmp_path):
    (tmp_path / "mine.py").write_bytes(RIGHT.encode("utf-16"))
    judgement = check_answer(f"{tmp_path}/mine.py::f", "uw/1.2.1")
    assert judgement.reason == Reason.INCONCLUSIVE


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (notebook("x = 1"), "has no function 'f'"),
        ("not json", "is not a notebook"),
        ('{"cells": [{"cell_type": "code"}]}', "is not a notebook"),
    ],
)
def test_a_notebook_that_names_no_one_function_is_refused(file, source, said):
    with pytest.raises(BrokenAnswer, match=said):
        check_answer(file(source, "mine.ipynb"), "uw/1.2.1")


def test_a_mistake_in_a_notebook_is_named_by_its_cell(file):
    where = file(notebook("import math", "\ndef f(keys):\n    return 1 / 0"), "mine.ipynb")
    judgement = check_answer(where, "uw/1.2.1")
    assert "raised ZeroDivisionError: division by zero (cell 3, line 3)" in judgement.said
    judgement = check_answer(file(notebook("def f(:"), "mine.ipynb"), "uw/1.2.1")
    assert "cell 2, line 1 is neither Python nor a command of Jupyter" in judgement.said


def test_other_spellings_and_other_years_lead_to_the_question(subtests):
    for asked, meant in [
        ("practical4/2(c)(i)", "practical4/2c.1"),
        ("practical4/2.b", "practical4/2b"),
        ("practical4/2D.ii", "practical4/2d.2"),
        ("cs224n/1.b.1", "cs224n/1b.i"),
        ("cs224n/1(d)(ii)", "cs224n/1d.ii"),
        ("cs224n/2c.i", "cs224n/1c.i"),
        ("cs224n/1e", "practical4/2e.2"),
        ("uw/1-3-2", "uw/1.3.2"),
        *OTHER_YEARS.items(),
    ]:
        with subtests.test(asked):
            try:
                assert contract_of(asked).question == meant
            except ValueError as error:
                said = str(error)
            else:
                said = ""
            assert not said or said.startswith(f"{meant} asks for an answer in words")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("two\nlines", "two lines"),
        ("\x1b[2J", r"\x1b[2J"),
        ("a" + 30 * " " + "b", "a b"),
        (10 * "x", 10 * "x"),
        (11 * "x", 7 * "x" + "..."),
    ],
)
def test_the_words_of_others_are_one_line(text, line):
    assert plain(text, most=10) == line


def test_numbers_of_other_years_are_none_of_ours():
    assert not set(OTHER_YEARS) & set(CONTRACTS)
    assert set(OTHER_YEARS.values()) - set(CONTRACTS) == {"cs224n/1c.ii", "practical4/2c.2", "practical4/2e.1"}


def test_another_name_is_told(file):
    assert "uw/1(2)(1) is called uw/1.2.1 here." in check_answer(file(RIGHT), "uw/1(2)(1)").notes


def test_a_part_that_is_missing_is_asked_for():
    with pytest.raises(ValueError, match=r"1b has parts here: cs224n/1b.i \(a matrix .*, cs224n/1b.ii \(a query"):
        contract_of("cs224n/1b")


@pytest.mark.slow("that a submission finds no file of the lab stays inside")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no other system has these fences")
def test_the_compilation_cache_of_the_lab_is_out_of_reach(file, monkeypatch, tmp_path):
    """Starts a process that imports jax."""
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "cache"))
    source = (
        "import os, jax\nfolder = jax.config.jax_compilation_cache_dir\ndef f(keys): raise ValueError(f'{folder}')"
    )
    assert "raised ValueError: None" in check_answer(file(source), "uw/1.2.1").said
    assert not Path(tmp_path / "cache").exists()
