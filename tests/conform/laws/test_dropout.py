"""Dropout as a black box: right code keeps its laws, and every planted bug breaks one."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attnlab_theory.cli import main
from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.chance import ALPHA
from attnlab_theory.conform.suite import suite_class
from tests.conform.laws import dropout_code as code


def failures(target):
    suite = suite_class("dropout")(Direct(target), "dropout")
    return suite, [(row.name, row.line) for row in suite.rows() if row.verdict == "fails"]


@pytest.mark.slow("one of five members stays inside", but=1)
@pytest.mark.parametrize("target", code.RIGHT, ids=lambda each: each.__name__)
def test_right_dropout_holds_however_it_is_written(target):
    assert failures(target)[1] == []


@pytest.mark.slow("three of 23 members stay inside", but=3)
@pytest.mark.parametrize("bug", code.BUGS)
def test_a_planted_bug_fails(bug):
    suite = suite_class("dropout")(Direct(code.buggy(bug)), "dropout")
    assert next((row for row in suite.rows() if row.verdict == "fails"), None) is not None


@pytest.mark.slow("right dropout over two other streams stays inside")
def test_the_same_code_without_a_bug_holds():
    assert failures(code.buggy(""))[1] == []


def test_numbers_that_are_drawn_from_what_is_shared_follow_its_seed():
    suite = suite_class("dropout")(Direct(code.by_what_is_shared), "dropout")
    assert [row.verdict for row in suite.rows(("seeds",))] == ["holds"]


@pytest.mark.slow("two of 20 members stay inside", but=2)
@pytest.mark.parametrize("offset", range(20))
def test_right_code_is_not_accused_over_twenty_other_streams(offset):
    """The laws of chance alone, on other random numbers each time; a false alarm has a chance of 1e-6 a law."""

    def target(q, k, v, p=0.0, seed=0):
        return code.by_seed(q, k, v, p, 10_000 * (offset + 1) + seed)

    suite = suite_class("dropout")(Direct(target), "dropout")
    assert [row.line for row in suite.rows(("independent", "share")) if row.verdict == "fails"] == []


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (code.by_seed, {"randomness": "a whole number", "arguments by name": "p (rate), seed (source)"}),
        (code.by_generator, {"randomness": "a numpy Generator", "layout": "b t h d"}),
        (code.by_what_is_shared, {"arguments by name": "dropout_p (rate), training (in training)"}),
    ],
)
def test_where_its_randomness_comes_from_is_found(target, said):
    found = dict(suite_class("dropout")(Direct(target), "dropout").profile)
    assert {name: found[name] for name in said} == said


@pytest.mark.parametrize(
    ("target", "row", "said"),
    [
        (code.before_the_softmax, "factor", "dropped before the softmax"),
        (code.one_mask, "independent", "one mask for two batch elements and two heads, as broadcast_dropout says"),
        (code.by_seed, "rate 1", "zeros"),
    ],
)
def test_a_choice_is_told_and_nobody_fails_for_it(target, row, said):
    found = suite_class("dropout")(Direct(target), "dropout").row(row)
    assert found is not None
    assert (found.verdict, said in found.line) == ("convention", True)


def test_error_rates_are_said():
    found = suite_class("dropout")(Direct(code.by_seed), "dropout").row("share")
    assert found is not None
    assert f"false alarms {ALPHA:g}" in found.line


def test_a_target_without_a_rate_gets_one_line():
    with pytest.raises(ValueError, match="has no argument for a rate, such as p or dropout_p; write an adapter"):
        suite_class("dropout")(Direct(lambda q, k, v, seed=0: np.zeros_like(v)), "dropout")


@pytest.mark.slow("a pytest plugin that imports no jax stays inside")
@pytest.mark.parametrize(
    ("file", "name", "kind"),
    [("dropout_code", "by_generator", "dropout"), ("feature_code", "positive", "random-features")],
)
def test_the_command_judges_laws_without_jax(tmp_path, file, name, kind):
    """Starts a process that judges every law, and laws of chance need many draws."""
    source = Path(code.__file__).with_name(f"{file}.py").read_text()
    (tmp_path / "mine.py").write_text(source)
    run = (
        "import sys; from attnlab_theory.cli import main;"
        f"code = main(['conform', '{tmp_path}/mine.py::{name}', '--as', '{kind}']);"
        "assert not {'jax', 'torch'} & set(sys.modules), 'jax was imported'; sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_kernel_of_another_kind_is_refused(capsys, tmp_path):
    (tmp_path / "mine.py").write_text("def f(q, k, v, p, seed): return v")
    assert main(["conform", f"{tmp_path}/mine.py::f", "--as", "dropout", "--kernel", "softmax"]) == 2
    assert "--kernel says nothing of --as dropout" in capsys.readouterr().err
