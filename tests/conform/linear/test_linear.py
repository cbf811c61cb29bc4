"""Linear attention as a black box: right code holds in every style, and every planted bug fails."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest

from attnlab_theory.cli import main
from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.kinds.linear import FEATURES, LINEAR, right
from attnlab_theory.conform.suite import suite_class
from tests.conform.linear import linear_code as code


def judged(target, **declared):
    return suite_class("linear")(Direct(target), "linear", declared)


def failures(target, **declared):
    suite = judged(target, **declared)
    return suite, [row for row in suite.rows() if row.verdict == "fails"]


@pytest.mark.slow("plain code within its tolerance over many draws stays inside")
@pytest.mark.parametrize("target", code.RIGHT, ids=lambda each: each.__name__)
def test_right_code_holds_however_it_is_written(target):
    """Judges right code by every identity."""
    suite, failed = failures(target)
    assert [(row.name, row.line) for row in failed] == []
    assert suite.largest < 1


def wrong_in_float64(q, k, v, causal=False):
    return code.parallel(q, k, v, causal) * (1 + 1e-3 * (q.dtype == np.float64))


@pytest.mark.slow("a recurrence whose float64 is float32 stays inside")
def test_float64_that_is_float32_inside_is_told_once_and_fails_nowhere():
    suite, failed = failures(code.in_float32)
    assert failed == []
    rows = {row.name: row for row in suite.rows(("float64", "pairs"))}
    assert (rows["float64"].verdict, rows["pairs"].verdict) == ("convention", "holds")
    assert "computed in float32: " in rows["float64"].line
    for case in suite.judge.cases({"type": "float64", "length": 17, "seed": seed} for seed in range(20)):
        assert not suite.judge.judge(case).fails


@pytest.mark.slow("a thousandth too much of the normaliser, in float32, stays inside")
def test_what_is_wrong_in_float64_by_more_than_float32_rounds_fails():
    _, failed = failures(wrong_in_float64)
    assert {row.name for row in failed} >= {"float64", "pairs"}


@pytest.mark.slow("two of 23 members stay inside", but=2)
@pytest.mark.parametrize("bug", code.BUGS)
def test_a_planted_bug_fails(bug):
    suite = judged(code.buggy(bug), features="elu")
    assert next((row for row in suite.rows() if row.verdict == "fails"), None) is not None


@pytest.mark.slow("plain code within its tolerance over many draws stays inside")
def test_the_same_code_without_a_bug_holds():
    assert [row.line for row in failures(code.buggy(""))[1]] == []


@pytest.mark.slow("three of eight members stay inside", but=3)
@pytest.mark.parametrize(
    ("target", "features", "said"),
    [
        (code.parallel, "elu", {"added to the normaliser": "1e-06", "hides the future": "by causal"}),
        (code.running, "elu", {"layout": "b t h d", "hides the future": "always"}),
        (code.cumulative, "elu", {"the normaliser is at least": "1e-06"}),
        (code.in_blocks, "identity", {"normaliser": "no", "scale of queries": "1/sqrt(width)"}),
        (code.efficient, "efficient", {"mask": "True keeps a key"}),
        (code.of_ones, "efficient", {"mask": "1 keeps a key"}),
        (code.masked_relu, "relu", {"added to features": "0.001", "key_padding_mask": "True drops a key"}),
        (code.one_head, "exp", {"layout": "t d"}),
    ],
)
def test_conventions_are_found_by_calls(target, features, said):
    suite = judged(target)
    found = dict(suite.profile)
    assert found["features"].startswith(f"{features}: ")
    assert {name: found[name] for name in said} == said


@pytest.mark.slow("a mask of keys whose meaning is found by calls stays inside")
def test_a_meaning_that_is_declared_is_judged_and_one_that_a_mask_of_keys_cannot_have_is_refused():
    assert [row.line for row in failures(code.of_ones, mask="ones-keep")[1]] == []
    with pytest.raises(ValueError, match=r"--mask additive is not known here; it is bool-keep, .* or none"):
        judged(code.efficient, mask="additive")


@pytest.mark.slow("the refusal of a recurrence without a state, with its remedy, stays inside")
def test_features_that_are_not_known_are_refused_with_the_remedy():
    def cubes(q, k, v):
        f, g = np.abs(q) ** 3, np.abs(k) ** 3
        return f @ (np.swapaxes(g, -1, -2) @ v) / (f * g.sum(-2, keepdims=True)).sum(-1, keepdims=True)

    with pytest.raises(ValueError, match=r"its features are none of elu, relu.*Say --features"):
        judged(cubes)


def test_a_key_maximum_that_covers_the_future_fails_as_a_leak():
    suite = judged(code.buggy("leak that no gradient sees"), features="elu")
    row = suite.row("future")
    assert row is not None
    assert row.verdict == "fails"
    assert "moves to" in row.line


def expected(features, **spec):
    """A case, its arrays and what is right, of a target that takes [b h t d] and scales nothing."""
    case = dataclasses.replace(LINEAR.case(spec), arrays=(("q", "bhtd"), ("k", "bhsd"), ("v", "bhse")))
    made = case.operands()
    return made, right(case, {"features": features, "normaliser": True, "scale": "one", "floor": 0.0}, made)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("kind", ["float64", "float32", "float16"])
def test_plain_code_stays_within_the_tolerance_over_many_draws(features, kind):
    """Twenty draws for each type; the reference itself, run in that type, is the program."""
    maps = {
        "elu": (code.elu, code.elu),
        "relu": (code.relu, code.relu),
        "exp": (np.exp, np.exp),
        "identity": (lambda x: x, lambda x: x),
        "softmax": (code.softmax, code.softmax),
        "efficient": (code.softmax, lambda x: code.softmax(x, -2)),
    }
    of_q, of_k = maps[features]
    for seed in range(20):
        values = (None, "offset", "low", "dominant")[seed % 4]
        made, exact = expected(features, length=9, type=kind, seed=seed, values=values)
        q, k, v = (made[name] for name in "qkv")
        with np.errstate(all="ignore"):
            f, g = of_q(q), of_k(k)
            out = (f @ (np.swapaxes(g, -1, -2) @ v)) / (f * g.sum(-2, keepdims=True)).sum(-1, keepdims=True)
        most = exact.within(kind, kind)
        where = ~np.isnan(most) & np.isfinite(exact.output)
        assert (np.abs(out - exact.output) <= most)[where].all()


def test_a_small_bug_is_not_within_the_tolerance():
    """The bound says something: a thousandth of the normaliser is seen in float32."""
    _, exact = expected("elu", length=9)
    assert (np.abs(exact.output) * 1e-3 > 5 * exact.within("float32", "float32")).mean() > 0.9


TARGET = """
import numpy as np


def elu(x):
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def linear(q, k, v):
    f, g = elu(q), elu(k)
    return f @ (np.swapaxes(g, -1, -2) @ v) / (f * g.sum(-2, keepdims=True)).sum(-1, keepdims=True)


def short(q, k, v):
    return linear(q, k, v) if k.shape[-2] < 64 else linear(q, k[..., :63, :], v[..., :63, :])
"""


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    folder = tmp_path_factory.mktemp("targets")
    (folder / "targets.py").write_text(TARGET)
    return folder


@pytest.mark.slow("a pytest plugin that imports no jax stays inside")
def test_the_command_judges_linear_attention_without_jax(at):
    """Starts a process, which starts another and judges it by every identity."""
    code = (
        "import sys; from attnlab_theory.cli import main;"
        f"code = main(['conform', '{at}/targets.py::linear', '--as', 'linear', '--features', 'elu']);"
        "assert not {'jax', 'torch'} & set(sys.modules), 'jax was imported'; sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_snippet_shows_the_failure_with_the_target_and_numpy_alone(capsys, at, tmp_path):
    assert main(["conform", f"{at}/targets.py::short", "--as", "linear", "--json"]) == 1
    snippet = json.loads(capsys.readouterr().out)["snippet"]
    assert 0 < len(snippet) <= 15
    script = "\n".join([*snippet, "assert 'attnlab_theory' not in sys.modules"])
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    given, right = done.stdout.removesuffix("is right\n").split(" where ")
    assert abs(float(given) - float(right)) > 1e-6


def test_features_of_another_kind_are_refused(capsys, at):
    assert main(["conform", f"{at}/targets.py::linear", "--as", "softmax", "--features", "elu"]) == 2
    assert "--features says nothing of --as softmax" in capsys.readouterr().err
