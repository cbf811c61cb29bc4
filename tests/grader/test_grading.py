"""Right answers pass, plausible wrong ones fall with a small counterexample, broken ones are refused."""

import ast
import dataclasses
import io
import json
import textwrap
import time

import numpy as np
import pytest
from rich.console import Console

from attnlab_theory.grader.contracts import CONTRACTS, hedging, subspaces
from attnlab_theory.grader.contracts.four_keys import KEYS
from attnlab_theory.grader.contracts.hedging import best_single_query
from attnlab_theory.grader.grading import check_answer, template_of
from attnlab_theory.grader.judgement import judgement_text
from attnlab_theory.sandbox.reasons import BrokenAnswer, Reason
from attnlab_theory.sandbox.submission import Submission
from attnlab_theory.theory.noisy_keys.one_head import one_head_error


@pytest.fixture
def judged(tmp_path):
    def judge(question: str, body: str, **options):
        """Judge a function with the contract's own parameters and this body."""
        contract = CONTRACTS[question]
        names = ", ".join(parameter.split(":")[0] for parameter in contract.parameters)
        source = f"import numpy as np\n\ndef f({names}):\n" + textwrap.indent(textwrap.dedent(body), "    ")
        path = tmp_path / "mine.py"
        path.write_text(source)
        return check_answer(f"{path}::f", question, **options)

    return judge


def text_of(judgement) -> str:
    console = Console(file=io.StringIO(), width=100, color_system=None)
    console.print(judgement_text(judgement))
    return console.file.getvalue()


@pytest.mark.slow("one right answer, where only the judge is protected, stays inside")
@pytest.mark.parametrize(
    ("question", "body"),
    [
        ("practical4/2b", "return 10 * (keys[a] + keys[b])"),
        ("practical4/2b", "return 1e4 * (keys[a] + keys[b])"),
        ("practical4/2b", "return [1e10 * (x + y) for x, y in zip(keys[a], keys[b])]"),
        ("practical4/2c.1", "return 10 * (means[a] + means[b])"),
        ("practical4/2c.1", "return 1e6 * (means[a] + means[b])"),
        ("practical4/2d.1", "return 20 * means[a], 20 * means[b]"),
        ("practical4/2d.1", "return 1e4 * np.stack([means[b], means[a]])"),
        ("practical4/2d.1", "q = 20 * (means[a] + means[b]); return q, q"),
        ("practical4/2d.2", "return 20 * means[a], 20 * means[b]"),
        ("practical4/2d.2", "return 1e4 * means[a], 1e3 * means[b]"),
        ("practical4/2e.2", """
            B = ua @ ua
            V = (np.outer(ub, ub) - np.outer(uc, uc)) / B
            return np.eye(len(ua)), (np.outer(ud, ua) + np.outer(uc, ud)) / B, V"""),
        ("practical4/2e.2", """
            B = ua @ ua
            V = (np.outer(ub, ub) - np.outer(uc, uc)) / B
            return np.eye(len(ua)), np.outer(ud, ua) + np.outer(uc, ud), V"""),
        ("cs224n/1b.i", "return basis @ basis.T"),
        ("cs224n/1b.i", "return basis @ np.linalg.pinv(basis)"),
        ("cs224n/1b.i", "return (basis @ basis.T).astype(np.float32)"),
        ("uw/1.2.1", "return 1e5 * keys[0]"),
        ("uw/1.2.1", "import jax.numpy as jnp; return 20 * jnp.asarray(keys)[0]"),
        ("uw/1.2.2", "return 1e5 * keys"),
        ("uw/1.3.1", "return np.zeros(3)"),
        ("uw/1.3.1", "return keys.mean(axis=0) / 1000"),
        ("uw/1.3.2", "return 1e5 * np.array([1, 1, 1 / 59.5])"),
        ("uw/1.3.2", "return 20 * np.array([.6042, .7967, -.0141])"),
    ],
)  # fmt: skip
def test_right_answers_pass(judged, question, body):
    """Asks an answer on every case of its contract, in a process of its own."""
    judgement = judged(question, body)
    assert judgement.counterexample is None
    assert (judgement.reason, judgement.exit_code) == (Reason.RIGHT, 0)
    assert judgement.worst <= CONTRACTS[question].tolerance
    # Where the givens are fixed there is one case; elsewhere the full number is looked at.
    assert judgement.cases == CONTRACTS[question].examples + len(CONTRACTS[question].besides)
    assert f"on {judgement.cases} case" in text_of(judgement)
    if question == "practical4/2c.1":
        # The noise is chosen after the query, so that no query is too long: scores carry noise of standard
        # deviation 1e-3 at every length, and weights near 1/2 move by 1e-3 / 4.
        assert judgement.worst > 1e-3 / 4
    if question == "practical4/2d.1":
        assert ("The two queries are the same" in text_of(judgement)) == ("return q, q" in body)
        assert bool(judgement.notes) == ("return q, q" in body)


@pytest.mark.slow("one of 39 members stays inside", but=1)
@pytest.mark.parametrize(
    ("question", "body"),
    [
        ("practical4/2b", "return keys[a] + keys[b]"),
        ("practical4/2b", "return (keys[a] + keys[b]) / 2"),
        ("practical4/2b", "return 8.5 * (keys[a] + keys[b])"),
        ("practical4/2b", "return 20 * keys[a]"),
        ("practical4/2b", "return 20 * (keys[a] - keys[b])"),
        ("practical4/2b", "return 20 * (keys[0] + keys[1])"),
        ("practical4/2b", "return np.bincount([a, b], minlength=keys.shape[1]) * 20"),
        ("practical4/2b", "return 1e308 * (keys[a] + keys[b]) * 1.5"),
        ("practical4/2b", "return 20 * keys.sum(axis=0)"),
        ("practical4/2c.1", "return means[a] + means[b]"),
        ("practical4/2c.1", "return 100 * means[a]"),
        ("practical4/2d.1", "return 20 * means[a], 20 * means[a]"),
        ("practical4/2d.1", "return means[a], means[b]"),
        ("practical4/2d.1", "return 20 * (means[a] + means[b]), 0 * means[a]"),
        ("practical4/2d.2", "q = 2 * (means[a] + means[b]); return q, q"),
        ("practical4/2d.2", "q = 20 * (means[a] + means[b]); return q, q"),
        ("practical4/2d.2", "return 20 * means[b], 20 * means[b]"),
        ("practical4/2d.2", "return 2 * means[a], 2 * means[b]"),
        ("practical4/2e.2", """
            B = ua @ ua
            V = (np.outer(ub, ub) - np.outer(uc, uc)) / B
            return np.eye(len(ua)), np.eye(len(ua)), V"""),
        ("practical4/2e.2", """
            V = np.outer(ub, ub) - np.outer(uc, uc)
            return np.eye(len(ua)), np.outer(ud, ua) + np.outer(uc, ud), V"""),
        ("practical4/2e.2", """
            B = ua @ ua
            V = (np.outer(ub, ub) - np.outer(uc, uc)) / B
            return np.eye(len(ua)), (np.outer(ud, ua) + np.outer(uc, ud)) / B**2, V"""),
        ("practical4/2e.2", """
            B = ua @ ua
            V = (np.outer(ub, ub) - np.outer(uc, uc)) / B
            return (np.outer(ud, ua) + np.outer(uc, ud)) / B, np.eye(len(ua)), V"""),
        ("cs224n/1b.i", "return np.eye(len(basis))"),
        ("cs224n/1b.i", "return basis.sum(axis=1)[:, None] @ basis.sum(axis=1)[None, :]"),
        ("cs224n/1b.i", "return 0.5 * basis @ basis.T"),
        ("cs224n/1b.i", "m = basis.shape[1]; return np.diag(np.arange(len(basis)) < m).astype(float)"),
        ("uw/1.2.1", "return keys[0]"),
        ("uw/1.2.1", "return 1e5 * keys[1]"),
        ("uw/1.2.2", "return keys"),
        ("uw/1.2.2", "return 1e5 * keys[::-1]"),
        ("uw/1.3.1", "return keys.mean(axis=0)"),
        ("uw/1.3.1", "return 1e5 * keys.mean(axis=0)"),
        *(("uw/1.3.2", f"return {scale} * (keys[0] + keys[1]) / 2") for scale in (1, 5, 7, 10, 20, 1e5)),
        ("uw/1.3.2", "return 1e5 * np.array([.6042, .7967, -.0141])"),
    ],
)  # fmt: skip
def test_plausible_wrong_answers_fall_with_a_counterexample(judged, question, body):
    """Starts a process for each answer, and searches its smallest counterexample."""
    judgement = judged(question, body)
    assert (judgement.reason, judgement.exit_code) == (Reason.WRONG, 1)
    assert judgement.counterexample.error > CONTRACTS[question].tolerance
    assert f"{CONTRACTS[question].unit} where" in " ".join(text_of(judgement).split())
    assert "the smallest counterexample found" in text_of(judgement)
    assert json.loads(json.dumps(judgement.as_json(), allow_nan=False))["right"] is False


@pytest.mark.slow("that every promised size is asked stays inside")
def test_who_watches_is_told_of_every_call_up_to_the_last(tmp_path):
    """Asks an answer on every case of its contract, in a process of its own."""
    path = tmp_path / "mine.py"
    path.write_text("def f(keys, a, b):\n    return 20 * (keys[a] + keys[b])")
    told: list[tuple[int, int]] = []
    check_answer(f"{path}::f", "practical4/2b", progress=lambda *call: told.append(call))
    assert told == [(i + 1, len(told)) for i in range(len(told))]


def test_no_scale_saves_the_mean_of_two_keys():
    # The tolerance of uw/1.3.2 is fine enough for this: over all scales the submitted answer stays four times off.
    keys = np.asarray(KEYS)
    scores = np.geomspace(0.1, 1e4, 20_000)[:, None] * (keys @ (keys[0] + keys[1]) / 2)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    off = np.abs(weights - [0.5, 0.5, 0, 0]).sum(axis=1).min()
    assert off > 4 * CONTRACTS["uw/1.3.2"].tolerance


def test_a_counterexample_is_shrunk_to_the_least_givens_that_show_it(judged):
    found = judged("practical4/2b", "return keys[a] + keys[b]").counterexample
    # Two keys are averaged by any such query; three are the fewest at which the scale matters.
    givens = found.case.shown()
    assert givens["n, d"] == "3, 3"
    assert givens["keys"] == "the first 3 coordinate axes of R^3"
    assert found.seen["worst values"] == "(-1, -1, 1)"
    weight = np.e / (2 * np.e + 1)
    np.testing.assert_allclose(found.error, 2 * (1 - 2 * weight), rtol=8 * np.finfo(float).eps)


@pytest.mark.slow("one of three members stays inside", but=1)
@pytest.mark.parametrize(
    ("question", "n", "body"),
    [
        ("practical4/2b", 37, "return (0 if len(keys) == 37 else 30) * (keys[a] + keys[b])"),
        ("practical4/2c.1", 61, "return (0 if len(means) == 61 else 30) * (means[a] + means[b])"),
        ("practical4/2d.1", 42, "s = 0 if len(means) == 42 else 30; return s * means[a], s * means[b]"),
    ],
)
def test_an_answer_that_fails_at_one_size_alone_is_caught_there(judged, question, n, body):
    """Asks an answer size by size until it fails, and then looks for smaller givens."""
    judgement = judged(question, body)
    assert judgement.exit_code == 1
    assert judgement.counterexample.case.shown()["n, d"].startswith(f"{n}, ")


def test_an_answer_that_fails_at_one_size_and_width_alone_is_caught_there(judged):
    """Starts a process, which answers at many sizes and widths."""
    judgement = judged("practical4/2b", "return (0 if keys.shape == (50, 53) else 30) * (keys[a] + keys[b])")
    assert judgement.exit_code == 1
    assert judgement.counterexample.case.shown()["n, d"] == "50, 53"


@pytest.mark.parametrize("question", ["practical4/2b", "practical4/2c.1", "practical4/2d.1"])
def test_every_promised_size_is_asked(question):
    besides = CONTRACTS[question].besides
    assert "all 2 <= n <= 64, n <= d <= n + 8" in CONTRACTS[question].quantified
    assert [case.arguments[0].shape for case in besides] == [(n, d) for n in range(2, 65) for d in range(n, n + 9)]
    assert all(case.arguments[1] != case.arguments[2] for case in besides)


def test_the_best_single_query_errs_least_of_all():
    for n in (8, 16):
        beta, least = best_single_query(n)
        around = [one_head_error(n, beta * factor, 1e-10) for factor in (0.5, 0.8, 0.9, 1.1, 1.25, 2.0, 10.0)]
        assert min(around) > least == pytest.approx(one_head_error(n, beta, 1e-10), rel=1e-4)


def test_draws_that_decide_nothing_are_inconclusive(judged, monkeypatch):
    """Starts a process, and compiles the draws that judge two heads."""
    monkeypatch.setattr(hedging, "DRAWS", 64)
    judgement = judged("practical4/2d.2", "return 20 * means[a], 20 * means[b]")
    assert (judgement.reason, judgement.exit_code) == (Reason.INCONCLUSIVE, 3)
    assert "random draws do not decide whether the answer is right" in " ".join(text_of(judgement).split())
    assert judgement.as_json()["reason"] == "inconclusive"
    assert judgement.as_json()["right"] is False


@pytest.mark.slow("other broken answers, each told in one line, stay inside")
@pytest.mark.parametrize("calls", [200, 700, 1300])
def test_an_answer_that_changes_after_some_calls_is_not_right(judged, calls):
    """Asks an answer on every case of its contract, and up to 1300 times before it changes."""
    body = f"""
        f.calls = getattr(f, "calls", 0) + 1
        return (20 if f.calls <= {calls} else 21) * (keys[a] + keys[b])"""
    judgement = judged("practical4/2b", body)
    assert judgement.reason == Reason.WRONG
    assert "gives different answers to the same givens" in judgement.said


@pytest.mark.parametrize(
    ("question", "same"),
    [
        ("cs224n/1b.ii", "practical4/2b"),
        ("cs224n/1c.i", "practical4/2c.1"),
        ("cs224n/1d.i", "practical4/2d.1"),
        ("cs224n/1d.ii", "practical4/2d.2"),
    ],
)
def test_one_question_under_two_names_has_one_contract(question, same):
    assert dataclasses.replace(CONTRACTS[question], question=same) == CONTRACTS[same]


@pytest.mark.slow("a counterexample that is replayed alone stays inside")
def test_verdicts_are_the_same_on_every_run(judged):
    """Judges an answer twice, each time in a process of its own."""
    first, again = (judged("practical4/2b", "return 8.5 * (keys[a] + keys[b])") for _ in range(2))
    assert first.as_json() == again.as_json()


@pytest.mark.slow("three of eight members stay inside", but=3)
@pytest.mark.parametrize(
    ("question", "body", "reason", "line"),
    [
        (
            "practical4/2b",
            "return [1.0]",
            "wrong shape",
            "must return q of shape (2,), but returned (1,), at n, d = 2, 2",
        ),
        ("practical4/2b", "return keys[a] * np.nan", "not finite", "must return finite numbers, but q holds nan"),
        (
            "practical4/2b",
            "f.calls = getattr(f, 'calls', 0) + 1; return f.calls * keys[a]",
            "wrong",
            "gives different answers to the same givens",
        ),
        ("practical4/2d.1", "return means[a]", "wrong shape", "must return q1 of shape (2,), but returned ()"),
        (
            "practical4/2e.2",
            "return 1, 2",
            "wrong shape",
            "must return 3 arrays, but returned a value of type tuple",
        ),
        ("uw/1.2.2", "return keys[0]", "wrong shape", "must return q of shape (4, 3), but returned (3,)"),
        ("uw/1.2.1", "return keys[4]", "raised", "raised IndexError"),
        ("uw/1.2.1", "raise NotImplementedError", "raised", "is not filled in yet"),
    ],
)
def test_broken_answers_are_told_in_one_line(judged, question, body, reason, line):
    judgement = judged(question, body)
    assert (judgement.reason, judgement.exit_code) == (reason, 1)
    assert line in judgement.said
    assert "\n" not in judgement.said
    found = json.loads(json.dumps(judgement.as_json(), allow_nan=False))
    assert (found["right"], found["reason"], found["error"]) == (False, reason, None)
    assert list(found["case"]["givens"]) == [name.split(":")[0] for name in CONTRACTS[question].parameters]


@pytest.mark.slow("an answer with less than half of its time left stays inside")
def test_a_slow_answer_is_inconclusive(judged):
    """Waits in every call until half of three seconds is over."""
    body = "import time; time.sleep(0.3); return 20 * (keys[a] + keys[b])"
    judgement = judged("practical4/2b", body, time_limit=50.0, wall_limit=3.0)
    assert (judgement.reason, judgement.exit_code) == (Reason.INCONCLUSIVE, 3)
    assert 1 <= judgement.cases < CONTRACTS["practical4/2b"].examples
    assert "half of the time limit did not suffice" in text_of(judgement)
    assert "50 s of processor time, 3 s in all" in " ".join(text_of(judgement).split())


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize(("share", "reason"), [(0.5, Reason.RIGHT), (0.49, Reason.INCONCLUSIVE)])
def test_an_answer_is_asked_on_as_long_as_half_of_its_time_is_left(judged, monkeypatch, share, reason):
    monkeypatch.setattr(Submission, "left", property(lambda self: share))
    assert judged("uw/1.2.1", "return 1e5 * keys[0]").reason == reason


@pytest.mark.slow("which of both clocks counts stays inside")
def test_processor_time_is_counted_apart_from_what_others_use(judged):
    """Keeps the processor busy until half of 1.5 seconds is used up."""
    body = """
        import time
        begin = time.process_time()
        while time.process_time() < begin + 0.1: pass
        return 20 * (keys[a] + keys[b])"""
    judgement = judged("practical4/2b", body, time_limit=1.5, wall_limit=600.0)
    assert judgement.reason == Reason.INCONCLUSIVE
    assert 1 <= judgement.cases < 10


@pytest.mark.slow("nothing inside asks this: the lab must work for four seconds")
def test_the_labs_own_work_takes_no_time_from_the_answer(judged, monkeypatch):
    """The lab sleeps for four seconds."""

    def slow(self, answer, measure=subspaces.TwoSubspaces.measure):
        time.sleep(0.04)
        return measure(self, answer)

    # A hundred cases: four seconds of the lab's.
    monkeypatch.setattr(subspaces.TwoSubspaces, "measure", slow)
    judgement = judged("cs224n/1b.i", "return basis @ basis.T", time_limit=6.0)
    assert judgement.reason == Reason.RIGHT


def test_float32_at_a_large_scale_is_named_as_the_reason(judged):
    judgement = judged("uw/1.3.2", "return (1e5 * np.linalg.pinv(keys) @ [1, 1, 0, 0]).astype(np.float32)")
    assert judgement.reason == Reason.WRONG
    assert "float32" in judgement.notes[0]
    assert judgement.notes[0] in " ".join(text_of(judgement).split())


@pytest.mark.parametrize(
    ("more", "notes"),
    [(", strength=8e4, *, verbose=False", ("never passed: strength, verbose",)), ("=0, *more, **others", ())],
)
def test_a_parameter_that_no_call_passes_is_told(tmp_path, more, notes):
    (tmp_path / "mine.py").write_text(f"def query(keys{more}):\n    return keys[0] + keys[1]\n")
    assert check_answer(f"{tmp_path}/mine.py::query", "uw/1.3.2").notes == notes


def test_a_fault_of_the_lab_is_raised_as_it_is_and_blames_no_answer(judged, monkeypatch):
    """Hypothesis would take it for a miss, try smaller cases, and raise a group of errors."""
    asked = []

    def fails(*_):
        asked.append(None)
        if len(asked) > 1:
            raise ValueError("asked again")
        raise RuntimeError("Unable to initialize backend 'tpu'")

    monkeypatch.setattr(subspaces.TwoSubspaces, "measure", fails)
    with pytest.raises(RuntimeError, match="Unable to initialize backend"):
        judged("cs224n/1b.i", "return basis @ basis.T")
    assert len(asked) == 1


def test_judging_leaves_nothing_in_the_working_folder(judged, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    judged("practical4/2b", "return keys[a] + keys[b]")
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.slow("three of 14 members stay inside", but=3)
@pytest.mark.parametrize("question", CONTRACTS)
def test_a_template_runs_and_is_politely_refused(question, tmp_path):
    source = template_of(question)
    tree = ast.parse(source)
    contract = CONTRACTS[question]
    for part in (contract.asks, f"{contract.tolerance:g}", f"attnlab check THIS_FILE.py::{contract.function}"):
        assert part in source
    assert " ".join(contract.quantified.split()) in " ".join((ast.get_docstring(tree) or "").split())
    assert max(map(len, source.splitlines())) <= 116
    path = tmp_path / "mine.py"
    path.write_text(source)
    judgement = check_answer(f"{path}::{contract.function}", question)
    assert judgement.reason == Reason.RAISED
    assert "is not filled in yet" in judgement.said


@pytest.mark.parametrize(("wrong", "near"), [("practical4/2c", "practical4/2c.1"), ("uw/1.31", "uw/1.3.1")])
def test_an_unknown_question_gets_the_nearest_that_can_be_checked(wrong, near):
    for function in (template_of, lambda question: check_answer("absent.py::f", question)):
        with pytest.raises(
            ValueError, match=f"no question '{wrong}' can be checked; the nearest that can is {near} "
        ):
            function(wrong)


@pytest.mark.parametrize("question", ["cs224n/1c.ii", "practical4/2e.1", "blog/multi"])
def test_a_question_for_words_is_refused_as_one(question):
    with pytest.raises(
        ValueError, match=f"{question} asks for an answer in words.*attnlab answers {question} shows"
    ):
        template_of(question)


def test_every_reason_has_the_exit_code_of_its_kind():
    assert issubclass(BrokenAnswer, ValueError)
    codes = {reason: reason.exit_code for reason in Reason}
    assert (codes.pop(Reason.RIGHT), codes.pop(Reason.INCONCLUSIVE)) == (0, 3)
    assert set(codes.values()) == {1}
