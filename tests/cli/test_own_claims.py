"""`attnlab run mine.py`: claims in somebody's own file, and `python -m attnlab_theory`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from attnlab_theory.cli import main, own_claims

MINE = '''
"""Do random keys share a query's weight alike?"""

import jax
from attnlab_theory.attention import attention_weights
from attnlab_theory.claims import Claim, Setting, foil
from attnlab_theory.stats import Interval, bounded


class Keys(Setting):
    n: int


def first_weight(key, s):
    return attention_weights(jax.numpy.ones((1, 4)), jax.random.normal(key, (s.n, 4)), scale=0.5)[0, 0]


ALIKE = Claim(
    name="alike", statement="The mean weight of one of n random keys is 1/n.", source="exchangeability",
    predict=lambda s: Interval.point(1 / s.n), draw=first_weight, bound=bounded(0.0, 1.001), resolution=0.1,
    settings=(Keys(n=4), Keys(n=8)), chunk=64,
)
TWICE = lambda s: Interval.point(2 / s.n)
WRONG = foil(ALIKE, name="twice", statement="Twice that.", source="nobody", predict=TWICE)
'''


@pytest.fixture
def mine(tmp_path, monkeypatch) -> Path:
    """A folder that is no checkout, with the file in it."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


@pytest.mark.slow("the claims of the README, judged and drawn, stay inside")
def test_claims_of_a_file_are_judged_and_drawn_outside_any_checkout(mine, capsys):
    """Judges two claims and draws their figures."""
    assert main(["run", "mine.py", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [(f["experiment"], f["claim"], f["verdict"]) for f in found] == [
        ("mine", "alike", "SUPPORTED"),
        ("mine", "alike", "SUPPORTED"),
        ("mine", "twice", "REFUTED"),
        ("mine", "twice", "REFUTED"),
    ]
    assert {p.suffix for p in (mine.parent / "lab").glob("mine.*")} >= {".json", ".svg", ".png"}


@pytest.mark.slow("the exit code of a supported claim stays inside")
def test_a_wrong_claim_gives_exit_code_1(mine, capsys):
    """Compiles the draw of each setting, judges two claims, and paints a figure."""
    mine.write_text(MINE.replace("Interval.point(1 / s.n)", "Interval.point(3 / s.n)"))
    assert main(["run", str(mine)]) == 1
    assert "REFUTED" in capsys.readouterr().out


@pytest.mark.slow("the refusal of a malformed list of claims stays inside")
def test_only_what_a_file_lists_as_its_claims_is_judged(mine, capsys):
    mine.write_text(MINE + "CLAIMS = (ALIKE,)\n")
    assert main(["run", "mine.py", "--json"]) == 0
    assert {f["claim"] for f in json.loads(capsys.readouterr().out)["findings"]} == {"alike"}


@pytest.mark.slow("one claim of an experiment of ours stays inside")
def test_one_claim_of_a_file_is_judged_alone(mine, capsys):
    assert main(["run", "mine.py::twice", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {(f["experiment"], f["claim"]) for f in found} == {("mine", "twice")}
    assert main(["run", "mine.py::twise"]) == 2
    assert capsys.readouterr().err == "attnlab: no claim of mine is called 'twise'; did you mean twice?\n"


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("absent", None, "", "there is no file absent.py"),
        ("empty", MINE, "", "empty.py holds no claim: give it a Claim at its top level"),
        ("broken", MINE, "def f(:", "broken.py cannot be loaded: SyntaxError: invalid syntax (broken.py, line 1)"),
        (
            "missing",
            "import jax\n",
            "import nothere\n",
            "No module named 'nothere' (missing.py",
        ),
        ("copying", "", "", "copying.py: an experiment of the lab is called copying; rename the file"),
        ("double", 'name="twice"', 'name="alike"', "double.py: 2 claims are called 'alike'"),
        ("listed", "ALIKE =", "CLAIMS = 3\nALIKE =", "listed.py: CLAIMS must be a tuple of claims"),
        ("plain", "Interval.point(1 / s.n)", "1 / s.n", "alike: predict must give an Interval, not 0.25"),
        ("shape", "[0, 0]", "[0]", "alike drew an array of shape (4,), not one number"),
        ("none", "(Keys(n=4), Keys(n=8))", "()", "alike: settings must be a tuple of at least one setting"),
        (
            "typo",
            "(s.n, 4)",
            "(s.m, 4)",
            "alike: draw failed: AttributeError: 'Keys' object has no",
        ),
        ("half", "Keys(n=4)", "Keys(n=4.5)", "Keys.n must be a whole number, not 4.5 (half.py, line"),
    ],
)
def test_a_file_that_cannot_be_judged_is_refused_in_one_line(mine, capsys, name, old, new, said):
    if old is not None:
        assert old in MINE
        mine.with_name(f"{name}.py").write_text(MINE.replace(old, new) if old else MINE)
    assert main(["run", f"{name}.py"]) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert (out, err.count("attnlab:"), err.splitlines()[-1][:8]) == ("", 1, "attnlab:")


ENDINGS = {
    "import sys; sys.exit(5)": "SystemExit: 5",
    "import sys; sys.exit('all is well')": "SystemExit: all is well",
    "import sys; sys.exit()": "SystemExit",
    "quit(9)": "SystemExit: 9",
    "import os; os._exit(7)": "_Ended: os._exit(7)",
    "from os import _exit; _exit(0)": "_Ended: os._exit(0)",
    "class Stop(BaseException): pass\nraise Stop('now')": "Stop: now",
    "raise GeneratorExit": "GeneratorExit",
    "class E(Exception):\n    def __str__(self): 1 / 0\nraise E": "E (ends.py, line 3)",
    "raise ValueError('\\x1b[2J two\\nlines')": r"ValueError: \x1b[2J two (ends.py, line 1)",
    "while True: pass": "TimeoutError: it has not ended after 0.3 s",
    "def f(): f()\nf()": "RecursionError: maximum recursion depth exceeded",
}


@pytest.mark.parametrize(("code", "said"), ENDINGS.items(), ids=ENDINGS)
def test_a_file_that_ends_or_never_ends_is_refused_in_one_line(mine, capsys, monkeypatch, code, said):
    monkeypatch.setattr(own_claims, "LONGEST", 0.3)
    mine.with_name("ends.py").write_text(code)
    assert main(["run", "ends.py"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"ends.py cannot be loaded: {said}" in err
    assert os._exit.__module__ == "posix"


@pytest.mark.slow("three of four members stay inside", but=3)
@pytest.mark.parametrize("part", ["predict", "draw_figure"])
@pytest.mark.parametrize(("code", "said"), [("sys.exit(7)", "SystemExit: 7"), ("os._exit(0)", "os._exit(0)")])
def test_a_function_that_ends_is_refused_in_one_line(mine, capsys, part, code, said):
    """Judges a claim before its figure is drawn, and compiles what it draws."""
    ending = f"import os, sys\ndef ending(x): {code}\n"
    if part == "predict":
        text = MINE.replace("lambda s: Interval.point(1 / s.n)", "ending").replace(
            "import jax\n", f"import jax\n{ending}"
        )
    else:
        text = f"{MINE}\n{ending}\nfrom attnlab_theory.experiment import Experiment\n"
        text += "EXPERIMENT = Experiment(name='own', question='?', claims=(ALIKE,), draw_figure=ending)\n"
    mine.write_text(text)
    assert main(["run", "mine.py"]) == 2
    out, err = capsys.readouterr()
    assert f"{part} failed: {'_Ended: ' * ('os' in code)}{said}" in err
    assert (err.splitlines()[-1][:8], "Traceback" in err) == ("attnlab:", False)
    # What has been judged before the figure is drawn has been printed.
    assert ("alike  SUPPORTED" in out) == (part == "draw_figure")
    assert not any(path.suffix in (".json", ".svg", ".png") for path in (mine.parent / "lab").iterdir())


def test_an_experiment_of_ones_own_writes_into_its_folder_alone(mine, capsys):
    own = "from attnlab_theory.experiment import Experiment\n"
    own += "EXPERIMENT = Experiment(name='../own', question='?', claims=(ALIKE,), draw_figure=print)\n"
    mine.write_text(MINE + own)
    assert main(["run", "mine.py"]) == 2
    assert "the name of an experiment begins the names of its files, and '../own' cannot" in capsys.readouterr().err


@pytest.mark.slow("files that end the process or never end stay inside")
def test_who_catches_everything_is_ended_all_the_same(tmp_path):
    """Starts a process in which a file uses up its time twice."""
    (tmp_path / "deaf.py").write_text(
        "while True:\n    try:\n        for _ in range(10**9): len([])\n    except BaseException: pass\n"
    )
    program = "import sys; from attnlab_theory.cli import main, own_claims as o; o.LONGEST = o.AGAIN = 0.3\n"
    program += f"sys.exit(main(['run', {str(tmp_path / 'deaf.py')!r}]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "deaf.py cannot be loaded: it does not end, and catches the error that should stop it" in done.stderr


def test_the_package_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "attnlab_theory", "--help"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert "attnlab" in done.stdout
