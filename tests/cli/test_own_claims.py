"""`attnlab run mine.py`: claims in somebody's own file, and `python -m attnlab_theory`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from attnlab_theory.cli import main

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


def test_claims_of_a_file_are_judged_and_drawn_outside_any_checkout(mine, capsys):
    assert main(["run", "mine.py", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [(f["experiment"], f["claim"], f["verdict"]) for f in found] == [
        ("mine", "alike", "SUPPORTED"),
        ("mine", "alike", "SUPPORTED"),
        ("mine", "twice", "REFUTED"),
        ("mine", "twice", "REFUTED"),
    ]
    assert {p.suffix for p in (mine.parent / "lab").glob("mine.*")} >= {".json", ".svg", ".png"}


def test_a_wrong_claim_gives_exit_code_1(mine, capsys):
    mine.write_text(MINE.replace("Interval.point(1 / s.n)", "Interval.point(3 / s.n)"))
    assert main(["run", str(mine)]) == 1
    assert "REFUTED" in capsys.readouterr().out


def test_only_what_a_file_lists_as_its_claims_is_judged(mine, capsys):
    mine.write_text(MINE + "CLAIMS = (ALIKE,)\n")
    assert main(["run", "mine.py", "--json"]) == 0
    assert {f["claim"] for f in json.loads(capsys.readouterr().out)["findings"]} == {"alike"}


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


def test_the_package_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "attnlab_theory", "--help"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert "attnlab" in done.stdout
