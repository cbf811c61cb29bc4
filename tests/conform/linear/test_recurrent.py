"""Recurrences as black boxes: forms of right code agree, and every planted bug fails."""

import json
import subprocess
import sys

import numpy as np
import pytest

from attnlab_theory.cli import main
from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.judge import Pair
from attnlab_theory.conform.suite import suite_class
from tests.conform.linear import recurrent_code as code


def judged(target, **declared):
    return suite_class("recurrent")(Direct(target), "recurrent", declared)


def in_two(judge, **spec):
    """What 17 tokens in two parts are worth beside the whole."""
    (whole,) = judge.cases([{"length": 17, **spec}])
    return judge.alike(Pair(whole.replaced(parts=(9, 8)), whole))


def failures(target, **declared):
    suite = judged(target, **declared)
    return suite, [(row.name, row.line) for row in suite.rows() if row.verdict == "fails"]


@pytest.mark.slow("one of nine members stays inside", but=1)
@pytest.mark.parametrize("target", code.RIGHT, ids=lambda each: each.__name__)
def test_right_recurrences_hold_however_they_are_written(target):
    """Judges right code by every identity."""
    suite, failed = failures(target)
    assert failed == []
    assert suite.largest < 0.5


@pytest.mark.slow("two paths of a model to the same logits stay inside")
@pytest.mark.parametrize("pair", code.AGAINST, ids=lambda each: each[0].__name__)
def test_two_right_forms_of_one_recurrence_agree(pair):
    if pair[0] is code.delta_chunked:

        def target(q, k, v, beta):
            return code.delta_chunked(q, k, v, beta, chunk_size=q.shape[-2])[0]

        pair = (target, code.delta)
    assert failures(pair[0], against=pair[1])[1] == []


@pytest.mark.slow("the remedy where there are no chunks stays inside")
def test_chunks_that_do_not_divide_the_length_may_be_refused():
    row = judged(lambda q, k, v, beta, chunk: code.delta_chunked(q, k, v, beta, chunk)).row("chunks")
    assert row is not None
    assert (row.verdict, "refused: " in row.line) == ("convention", True)
    case = row.counterexample.case
    assert case["queries"] % case["chunk"]


@pytest.mark.slow("two of 19 members stay inside", but=2)
@pytest.mark.parametrize("bug", code.BUGS)
def test_a_planted_bug_fails(bug):
    suite = judged(code.buggy(bug))
    assert next((row for row in suite.rows() if row.verdict == "fails"), None) is not None


@pytest.mark.slow("one of nine other right recurrences stays inside")
def test_the_same_code_without_a_bug_holds():
    assert failures(code.buggy(""))[1] == []


@pytest.mark.slow("an adapter beside another function that is wrong stays inside")
def test_two_forms_that_differ_fail():
    _, failed = failures(code.gated_parallel, against=lambda q, k, v, g: code.gated_recurrent(q, k, v, 1.01 * g))
    assert [name for name, _ in failed][:1] == ["against"]
    assert "tolerances off" in failed[0][1]


GATED = "initial_state (state), output_final_state (returns), chunk_size (chunk)"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (code.retention, {"layout": "b t h d", "decay": "gamma [h]", "arguments by name": "state (state)"}),
        (code.gated, {"log decay": "g [b h t d]"}),
        (code.gated, {"arguments by name": GATED}),
        (code.delta, {"beta": "beta [b h t]"}),
        (code.in_float32, {"judged in": "float64", "computed in": "float32"}),
    ],
)
def test_how_it_is_called_is_found_and_said(target, said):
    found = dict(judged(target).profile)
    assert {name: found[name] for name in said} == said


@pytest.mark.slow("one of six members stays inside", but=1)
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("target", [code.linear, code.gated, code.delta], ids=lambda each: each.__name__)
def test_right_recurrences_stay_within_what_is_measured_over_twenty_draws(target, kind):
    judge = judged(target).judge
    for seed in range(20):
        decay = (None, "strong", "none")[seed % 3]
        assert not in_two(judge, seed=seed, type=kind, **{"log decay": decay}).fails
    assert judge.largest < 0.5


@pytest.mark.parametrize("target", [code.in_float32, code.state_in_float32, code.blocks_in_float32])
def test_float64_that_is_float32_inside_is_told_by_its_row(target):
    row = judged(target).row("float64")
    assert row is not None
    assert (row.verdict, row.line.startswith("computed in float32: ")) == ("convention", True)


@pytest.mark.slow("one form that is float32 inside stays inside")
def test_another_form_that_is_float32_inside_is_told_and_does_not_fail():
    def single(q, k, v, g):
        return code.gated_recurrent(*(x.astype(np.float32) for x in (q, k, v, g))).astype(q.dtype)

    suite, failed = failures(code.gated_parallel, against=single)
    assert failed == []
    assert (suite.judge.narrow, suite.judge.excess > 1) == ("float32", True)


def test_a_state_in_float32_is_within_the_tolerance_over_20_draws():
    judge = judged(code.state_in_float32).judge
    for seed in range(20):
        assert not in_two(judge, seed=seed).fails
    assert judge.excess > 1e3
    assert judge.largest < 0.5


@pytest.mark.slow("two other planted bugs of recurrences stay inside")
def test_a_state_that_is_a_millionth_off_in_float64_fails():
    _, failed = failures(code.a_millionth_off_in_float64)
    assert [name for name, _ in failed][:2] == ["two parts", "one by one"]


def test_without_a_state_chunks_or_another_form_the_remedy_is_said():
    with pytest.raises(ValueError, match=r"no argument for a state or for a chunk: say --against"):
        judged(lambda q, k, v: v)


def test_a_state_that_is_written_into_is_told_and_nobody_fails_for_it():
    row = judged(code.Cell).row("state again")
    assert row is not None
    assert row.verdict == "convention"


def last_of_parts(q, k, v, state=None):
    """Its state is as long as the last part."""
    out, state = code.linear(q, k, v, None if state is None else state[..., :4, :])
    return out, np.concatenate([state, v], -2)


@pytest.mark.parametrize(
    ("target", "verdict"),
    [(code.Cell, None), (last_of_parts, "convention"), (code.buggy("clipped decay"), "fails")],
)
def test_a_state_is_compared_where_it_is_an_array_of_one_shape(target, verdict):
    row = judged(target).row("last state")
    assert (None if row is None else row.verdict) == verdict
    assert row is None or verdict == "fails" or "depends on the parts" in row.line


TARGET = """
import numpy as np


def forgets(q, k, v, g, state=None):
    out, s = [], np.zeros((*q.shape[:-2], q.shape[-1], v.shape[-1]))
    for t in range(q.shape[-2]):
        s = np.exp(g[..., t, None, None]) * s + k[..., t, :, None] * v[..., t, None, :]
        out.append((q[..., t, :, None] * s).sum(-2))
    return np.stack(out, -2), s


def whole(q, k, v, g):
    return forgets(q, k, v, g)[0]
"""


@pytest.fixture
def at(tmp_path):
    (tmp_path / "targets.py").write_text(TARGET)
    return tmp_path


@pytest.mark.slow("the snippet of a torch recurrence in parts stays inside")
def test_a_snippet_shows_that_parts_are_not_the_whole(capsys, at):
    """Starts a process that is judged by every identity, and another that runs the snippet."""
    assert main(["conform", f"{at}/targets.py::forgets", "--as", "recurrent", "--json"]) == 1
    snippet = json.loads(capsys.readouterr().out)["snippet"]
    assert 0 < len(snippet) <= 15
    script = "\n".join([*snippet, "assert 'attnlab_theory' not in sys.modules"])
    done = subprocess.run([sys.executable, "-c", script], cwd=at, capture_output=True, text=True, check=True)
    given, right = done.stdout.removesuffix("is right\n").split(" where ")
    assert abs(float(given) - float(right)) > 0.01


@pytest.mark.slow("another function that an adapter names stays inside")
def test_another_form_is_named_on_the_command_line(capsys, at):
    """Starts a process for each of two functions, and judges one by every identity."""
    other = f"{at}/targets.py::forgets"
    assert main(["conform", f"{at}/targets.py::whole", "--as", "recurrent", "--against", other]) == 0
    assert "against " in capsys.readouterr().out
    assert main(["conform", f"{at}/targets.py::whole", "--as", "recurrent"]) == 2
    assert "say --against FILE.py::FUNCTION" in capsys.readouterr().err
