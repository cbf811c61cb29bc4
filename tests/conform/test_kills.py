"""What other programs do to a run changes no verdict: who ends its process, and who takes the processor."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from attnlab_theory.conform import callers
from attnlab_theory.conform.callers import Back, Direct, Fenced
from attnlab_theory.conform.finding import Fault, Trouble, Verdict
from attnlab_theory.conform.suite import suite_class
from attnlab_theory.sandbox import descendants, limits, processes
from attnlab_theory.sandbox.submission import Submission
from tests.conform import right

TARGETS = """
import os, signal
import numpy as np


def right(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return (raised / raised.sum(-1, keepdims=True)) @ v


def ends_itself_when_long(q, k, v):
    if k.shape[-2] == 17:
        os.kill(os.getpid(), signal.SIGKILL)
    return right(q, k, v)


def decode(q, k, v, cache=None):
    k, v = (x if cache is None else np.concatenate([y, x], -2) for x, y in zip((k, v), cache or (k, v)))
    ahead = np.arange(k.shape[-2]) > k.shape[-2] - q.shape[-2] + np.arange(q.shape[-2])[:, None]
    scores = np.where(ahead, -np.inf, q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5))
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return (raised / raised.sum(-1, keepdims=True)) @ v, (k, v)
"""

linux = pytest.mark.skipif(sys.platform != "linux", reason="no other system tells how a process ended")


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    processes.get_ready("json")  # So this worker has a child that is no target's.
    path = tmp_path_factory.mktemp("killed") / "targets.py"
    path.write_text(TARGETS)
    return path


def _state_and_parent(process):
    """`Z` is a zombie's state; a process that is gone counts as one. `stat` names both after the process's name."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[:2]
    except OSError:
        return "Z", ""


def _lives(process):
    return _state_and_parent(process)[0] != "Z"


class Struck(Fenced):
    """A target whose process somebody else ends just before some calls.

    Args:
        target: as `Fenced` has it.
        at: the numbers of these calls.
        generation: which process: 0 is the launcher, -1 the target's own.
        by: the signal.
    """

    def __init__(self, target, at=(), generation=-1, by=signal.SIGKILL):
        super().__init__(target)
        self.calls, self.at, self.generation, self.by = 0, [*at], generation, by

    def _generations(self):
        """The launcher, what it has started, and so on. This worker may have other children."""
        found = [self._child._enclosure._process.pid]
        while below := [one for one in descendants._descendants() if _state_and_parent(one)[1] == str(found[-1])]:
            found += below
        return found

    def _asked(self, asked, arrays):
        self.calls += 1
        if self.calls in self.at:
            if self._child is None:
                self._start()
            found = self._generations()
            os.kill(found[self.generation], self.by)
            # They die a moment later, the target last, which answers until then.
            deadline = time.monotonic() + 10
            while any(map(_lives, found[self.generation :])) and time.monotonic() < deadline:
                time.sleep(0.001)
        return super()._asked(asked, arrays)


@linux
@pytest.mark.slow("the target's own process, and the supervisor, stay inside", but=2)
@pytest.mark.parametrize(
    ("generation", "by"),
    [(-1, signal.SIGKILL), (-2, signal.SIGKILL), (0, signal.SIGKILL), (-1, signal.SIGTERM), (-1, signal.SIGINT)],
)
def test_a_row_whose_process_was_killed_is_not_judged_and_the_rest_is(at, generation, by):
    """Starts two processes."""
    with Struck(f"{at}::right", generation=generation, by=by) as caller:
        suite = suite_class("softmax")(caller, "softmax")
        caller.at = [caller.calls + 2]
        plain, scaled = suite.rows(["plain", "block edges"])
    assert (plain.verdict, plain.trouble.fault, plain.trouble.code) == (
        Verdict.NOT_JUDGED,
        Fault.KILLED,
        by.name,
    )
    assert by.name in plain.line
    assert scaled.verdict is Verdict.HOLDS
    assert suite.kills() == [f"1 call was made again: its process was killed from outside ({by.name})"]


@linux
@pytest.mark.slow("a row that loses its process stays inside")
def test_trial_calls_that_were_killed_once_are_made_again(at):
    """Starts a process for each of them, so that each kind of question loses one."""
    with Struck(f"{at}::right") as caller:
        alone = suite_class("softmax")(caller, "softmax").profile
    with Struck(f"{at}::right", at=range(2, 40, 3)) as caller:
        assert suite_class("softmax")(caller, "softmax").profile == alone


@linux
@pytest.mark.slow("a row that loses its process stays inside")
def test_a_target_that_is_killed_again_and_again_is_not_judged(at):
    """Starts three processes. Nobody says that it draws random numbers, or that it answers no call."""
    with Struck(f"{at}::right") as caller:
        count = suite_class("softmax")(caller, "softmax").caller.caller.calls
    for begin in (1, count - 3):
        with (
            Struck(f"{at}::right", at=range(begin, 1000)) as caller,
            pytest.raises(ValueError, match=r"is not judged: its process was killed from outside \(SIGKILL\)"),
        ):
            suite_class("softmax")(caller, "softmax")


@linux
@pytest.mark.slow("a row that loses its process stays inside")
def test_a_target_that_kills_itself_cannot_be_told_from_one_that_is_killed(at):
    """Starts a process for each such call."""
    with Fenced(f"{at}::ends_itself_when_long") as caller:
        plain, edges = suite_class("softmax")(caller, "softmax").rows(["plain", "block edges"])
    assert (plain.verdict, edges.verdict) == (Verdict.HOLDS, Verdict.NOT_JUDGED)


@linux
@pytest.mark.slow("numbers of what an ended process kept stay inside")
def test_a_cache_that_went_with_its_process_is_no_wrong_answer(at):
    """Starts two processes."""
    with Struck(f"{at}::decode") as caller:
        suite = suite_class("decode")(caller, "decode")
        alone = [row.verdict for row in suite.rows(suite.IDENTITIES[:4])]
        caller.at = [caller.calls + 4]
        struck, *others = suite.rows(suite.IDENTITIES[:4])
    assert (struck.verdict, struck.trouble.fault) == (Verdict.NOT_JUDGED, Fault.KILLED)
    assert [alone[0], *(row.verdict for row in others)] == alone


@linux
def test_what_an_ended_process_kept_is_not_taken_for_what_a_new_one_keeps(at):
    with Fenced(f"{at}::right") as caller:
        caller._kept = 3
        caller._stop()
        asked = {"framework": "numpy", "kind": "float32", "strided": False, "names": [], "plain": {}, "keep": [""]}
        x = callers.np.ones((1, 1, 2, 2), "float32")
        assert caller.call(asked, [x, x, x]).report["kept"] == [3]
        lost = asked | {"keep": [], "places": {"0": 0}}
        assert caller.call(lost, [x, x]).report["about"]["error"] == "LookupError"
        # If somebody else ended that process, it is no refusal either.
        caller._signal, caller._lost = "SIGKILL", 3
        assert caller.call(lost, [x, x]).report["trouble"] == Trouble(fault=Fault.KILLED, code="SIGKILL")


@linux
def test_an_interrupt_from_outside_is_no_exception_of_the_target(tmp_path):
    (tmp_path / "mine.py").write_text("import signal\ndef f(): return signal.getsignal(2) is signal.SIG_DFL")
    with Submission(f"{tmp_path}/mine.py::f") as submission:
        assert submission()


def test_a_target_that_ends_once_does_not_draw_random_numbers():
    """A call that has no answer has no other one."""

    class Ending(Direct):
        def call(self, plan, arrays):
            if plan.get("random") == {"": ["int", 2]}:
                return Back(
                    {"trouble": Trouble(fault=Fault.ENDED, message="ended the process (exit status 3)")}, []
                )
            return super().call(plan, arrays)

    assert suite_class("softmax")(Ending(right.plain), "softmax").row("plain").verdict is Verdict.HOLDS


def test_time_without_a_processor_does_not_count(monkeypatch):
    """Half a second: a call that has waited all of its time for a processor gets it once more."""
    waited = [{"1": 0.0}, {"1": 0.2}, {"1": 0.2}]
    monkeypatch.setattr(limits, "_starved", lambda: waited.pop(0))
    begun = time.monotonic()
    with pytest.raises(limits.Slow), limits.in_time(0.2):
        time.sleep(10)
    assert 0.4 <= time.monotonic() - begun < 5
    assert waited == []


@linux
@pytest.mark.slow("users of their own, and time without a processor, stay inside")
def test_runs_side_by_side_give_the_verdicts_of_one_alone(at):
    """Starts three commands at once that judge a target whole, on cores that are busy with each other."""
    line = "import sys; from attnlab_theory.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", line, "conform", f"{at}::right", "--as", "softmax", "--json"]

    def verdicts(run):
        return {row["identity"]: (row["verdict"], row["line"]) for row in json.loads(run.communicate()[0])["rows"]}

    alone = verdicts(subprocess.Popen(command, stdout=subprocess.PIPE))
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    assert [verdicts(run) for run in runs] == [alone] * 3
    assert [run.returncode for run in runs] == [0] * 3
