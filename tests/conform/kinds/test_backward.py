"""A backward pass that a target brings: right ones hold, planted bugs fail, by the reference and by differences."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from attnlab_theory.cli import main
from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.judge import Judge
from attnlab_theory.conform.kinds.backward import Backward, Differences
from tests.conform.judging import suite as suite_of
from tests.conform.kinds import backward_code as code


def held(forward, backward, kind="softmax"):
    return Backward(suite_of(Direct(forward), kind).judge, Direct(backward))


def verdicts(forward, backward):
    return {row.name: row.verdict for row in held(forward, backward).rows()}


@pytest.mark.slow("differences of a right backward pass stay inside")
@pytest.mark.parametrize(("forward", "backward"), code.RIGHT, ids=lambda each: each.__name__)
def test_a_right_backward_pass_holds_however_it_is_written(forward, backward):
    """Three gradients, each by every identity."""
    assert verdicts(forward, backward) == {f"gradient of {x}": "holds" for x in "qkv"}


@pytest.mark.slow("two of eleven members stay inside", but=("scale of 5 % more", "dk and dv swapped"))
@pytest.mark.parametrize("bug", code.BUGS)
def test_a_planted_bug_fails(bug):
    """Three gradients, until one is wrong."""
    rows = held(code.attention, code.buggy(bug)).rows()
    assert next((row for row in rows if row.verdict == "fails"), None) is not None


@pytest.mark.slow("two of five members stay inside", but=2)
@pytest.mark.parametrize(("bug", "kind"), code.BUGS_OF_FEATURES, ids=lambda each: each)
def test_a_bug_in_the_gradient_of_a_feature_fails(bug, kind):
    """The gradient of keys sees each of them; without the bug it holds. A trial call may show it already."""
    for planted, verdict in ((bug, "fails"), ("", "holds")):
        judge = held(code.featured, code.featured_backward(planted), kind).judges["gradient of k"]
        found = [judge.find(name).verdict for name in ("plain", "features")]
        assert (verdict in found, "fails" in found) == (True, verdict == "fails")


@pytest.mark.slow("features without a bug stay inside")
@pytest.mark.parametrize("kind", ["causal", "grouped-query", "sliding-window"])
def test_gradients_of_features_hold_beside_each_other(kind):
    """Every identity of three gradients."""
    rows = held(code.featured, code.featured_backward(""), kind).rows()
    assert {row.name: row.verdict for row in rows} == {f"gradient of {x}": "holds" for x in "qkv"}


@pytest.mark.slow("a right backward pass stays inside")
def test_the_same_code_without_a_bug_holds():
    assert {*verdicts(code.attention, code.buggy("")).values()} == {"holds"}


@pytest.mark.parametrize("bug", ["", "scale of 5 % more", "mean forgotten", "sum over heads"])
def test_differences_alone_tell_a_wrong_gradient(bug):
    judge = held(code.attention, code.buggy(bug)).judges["gradient of k"]
    law = judge.kind.laws["differences"]
    assert isinstance(law, Differences)
    found = law(judge)
    assert (found.verdict, found.tried > 3) == ("fails" if bug else "holds", not bug or found.tried > 3)


def test_a_target_in_float32_is_not_accused_by_differences():
    def forward(q, k, v):
        return code.attention(*(x.astype("float32") for x in (q, k, v))).astype(q.dtype)

    judge = held(forward, code.by_weights).judges["gradient of q"]
    assert judge.kind.laws["differences"](judge).verdict == "holds"


@pytest.mark.slow("right backward passes by every identity stay inside")
@pytest.mark.parametrize(("forward", "backward"), code.RIGHT, ids=lambda each: each.__name__)
def test_right_code_stays_right_over_seeds(forward, backward):
    """A few draws of each type."""
    assert alarms(forward, backward, 3) == []


def alarms(forward, backward, seeds):
    """What fails at other seeds, in each type of numpy."""

    def wrong(judge: Judge):
        specs = [
            {"seed": seed, "type": kind, "edits": edits}
            for seed in range(100, 100 + seeds)
            for kind in ("float32", "float64", "float16")
            for edits in ((), ("q = 4 * q",))
        ]
        return [case for case in judge.cases(specs) if judge.judge(case).fails]

    return [case for judge in held(forward, backward).judges.values() for case in wrong(judge)]


@pytest.mark.slow("the functions behind the option stay inside")
def test_the_command_holds_a_backward_pass_against_its_target(tmp_path, capsys):
    """Starts two processes for the target and its backward pass, and one for the snippet."""
    text = Path(code.__file__).read_text() + '\n\nwrong = buggy("scale of 5 % more")\n'
    (tmp_path / "brought.py").write_text(text)
    asked = ["conform", f"{tmp_path}/brought.py::attention", "--as", "softmax", "--cases", "1", "--json"]
    assert main([*asked, "--backward", "wrong"]) == 1
    told = json.loads(capsys.readouterr().out)
    failed = {row["identity"]: row for row in told["rows"] if row["verdict"] == "fails"}
    assert {*failed} == {"gradient of q", "gradient of k"}
    shown = failed["gradient of k"]["snippet"]
    shown = shown if isinstance(shown, list) else shown.split("\n")
    done = subprocess.run([sys.executable, "-c", "\n".join(shown)], capture_output=True, text=True, check=True)
    given, right = done.stdout.removesuffix("is right\n").split(" where ")
    assert abs(float(given) - float(right)) > 1e-3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--backward", "wrong"], "--backward needs --as of attention"),
        (["--as", "mixer", "--backward", "wrong"], "--backward needs --as of attention"),
        (["--as", "softmax", "--backward", "nothing"], "there is no nothing in it"),
    ],
)
def test_a_backward_pass_of_another_kind_and_one_that_is_not_there_are_refused(tmp_path, capsys, options, said):
    (tmp_path / "brought.py").write_text(Path(code.__file__).read_text())
    assert main(["conform", f"{tmp_path}/brought.py::attention", *options]) == 2
    assert said in capsys.readouterr().err


def test_a_target_that_is_no_plain_softmax_is_refused_in_one_line():
    with pytest.raises(ValueError, match="is not what --as promises: leave --backward away"):
        held(lambda q, k, v: v.cumsum(-2), code.by_weights)
