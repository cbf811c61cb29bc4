"""Whatever a submission attacks, it gets an honest word, never RIGHT, and the machine is as before."""

import contextlib
import ctypes
import glob
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from attnlab_theory.grader.grading import check_answer
from attnlab_theory.grader.judgement import judgement_text
from attnlab_theory.sandbox import fences
from attnlab_theory.sandbox.fences import MEANS
from attnlab_theory.sandbox.reasons import BrokenAnswer, Reason
from attnlab_theory.sandbox.submission import Submission
from tests.grader.hostile import ATTACKS, PREAMBLE, WRONG

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="no other system has these fences"),
    pytest.mark.usefixtures("fenced"),
]

NAMESPACES = {"bubblewrap", "user", "mount", "pid", "network"}
LIMITS = {"time_limit": 1.0, "wall_limit": 60.0, "memory": 96 * 2**20}
WAITING = (
    *("sleeps", "stops itself", "prints without end", "forks without end and says nothing"),
    "lets its children burn the processor",
)
# Memory that processes share counts for each of them. Their number has to stop who forks, not their memory.
MUCH = {"memory": fences.most_processes() * 64 * 2**20}
OWN_LIMITS = {name: {"wall_limit": 1.0} for name in WAITING} | {"forks without end": MUCH}
OWN_LIMITS["forks without end and says nothing"] |= MUCH


@pytest.fixture
def attack(tmp_path, monkeypatch):
    """Write an attack, and check that it leaves no process and no file."""
    secret = tmp_path / "elsewhere" / "987654321.5"
    secret.parent.mkdir()
    secret.write_text("secret")
    scratch, folder = tmp_path / "scratch", tmp_path / "handed-in"
    scratch.mkdir()
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setattr(fences, "FILE_SIZE", 2**20)
    monkeypatch.setattr(fences, "most_processes", lambda: 40)
    monkeypatch.setenv("ATTNLAB_SECRET", "secret")
    port, near = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)
    near.bind(f"\0attnlab-{os.getpid()}")
    near.listen()
    shared = shared_by_name()

    def write(body: str) -> str:
        path = folder / "mine.py"
        preamble = PREAMBLE.format(judge=os.getpid(), marker=str(secret))
        body = body.replace("{port}", str(port.getsockname()[1])).replace("{package!r}", repr(str(fences.PACKAGE)))
        path.write_text(preamble + body + WRONG)
        return f"{path}::f"

    with port, near, subprocess.Popen(["sleep", "600"]) as bystander:
        yield write
        assert bystander.poll() is None
        assert status_of(bystander.pid) == "S"
        bystander.kill()
    assert list(scratch.iterdir()) == []
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(
        ["elsewhere", secret.name, "scratch", "handed-in", "mine.py"]
    )
    assert secret.read_text() == "secret"
    assert running(str(secret)) == []
    assert shared_by_name() == shared
    assert glob.glob(f"/sys/fs/cgroup/**/attnlab-{os.getpid()}-*", recursive=True) == []
    # Nobody has pressed Ctrl-C here, and nobody has stopped us.
    assert signal.sigpending() == set()


def shared_by_name() -> list[str]:
    """What outlives processes in memory, in lines: by its number of System V, and by name."""
    lines = [Path(f"/proc/sysvipc/{kind}").read_text() for kind in ("shm", "sem", "msg")]
    rows = [" ".join(line.split()[:2]) for text in lines for line in text.splitlines()]
    return rows + [name for name in os.listdir("/dev/shm") if name.startswith("attnlab")]


def running(marker: str) -> list[int]:
    """Processes with a word of their command line."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError), open(path, "rb") as line:
            if marker.encode() in line.read().split(b"\0") and status_of(int(path.split("/")[2])) != "Z":
                found.append(int(path.split("/")[2]))
    return found


def status_of(process: int) -> str:
    with contextlib.suppress(OSError), open(f"/proc/{process}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]
    return "Z"


@pytest.mark.slow("one of 66 members stays inside", but=1)
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_gets_an_honest_word_and_leaves_nothing(attack, name):
    """Many attacks use up the time that they have."""
    reason, body = ATTACKS[name]
    judgement = check_answer(attack(body), "uw/1.2.1", **(LIMITS | OWN_LIMITS.get(name, {})))
    assert (judgement.reason, judgement.right) == (reason, False), judgement.said
    assert judgement.exit_code == 1
    assert "won" not in judgement.said
    for text in (judgement.said, judgement.as_json()["output"].replace("\n", "")):
        assert text.isprintable()


@pytest.mark.slow("answers that write into the pipe stay inside")
def test_a_request_that_is_not_read_is_not_waited_for(attack):
    """Waits a second for a process that sleeps."""
    where = attack(
        "    pass\n"
        "for descriptor in pipes():\n"
        ' with tried: os.write(descriptor, b\'{"number": 0, "seconds": 0, "arrays": []}\\n\')\n'
        "time.sleep(600)\n"
        "def g():\n"
    )
    with pytest.raises(BrokenAnswer) as caught, Submission(where, wall_limit=1.0) as submission:
        submission(np.zeros(2**20))
    assert caught.value.reason == Reason.TIMED_OUT


SILENT = (
    "rewrites the memory of the judge",
    "signals the judge and its parent",
    "leaves sleepers in sessions of their own",
    "leaves shared memory, semaphores and queues behind",
    "takes rights, and asks for the keys of the kernel",
    "plants modules, links and pipes",
    "digs a thousand folders deep",
)


@pytest.mark.slow("one of ten members stays inside", but=1)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("name", [*SILENT, "traces the judge", "fills the memory", "forks without end"])
def test_without_namespaces_another_user_is_fence_enough_for_the_verdict(attack, name):
    """Starts a process under fences for each attack, and clears away what the attack leaves."""
    reason, body = ATTACKS[name]
    # Without a control group either, which would end what the supervisor has overlooked.
    means = MEANS - NAMESPACES - {"group"}
    judgement = check_answer(attack(body), "uw/1.2.1", means=means, **(LIMITS | OWN_LIMITS.get(name, {})))
    assert (judgement.reason, judgement.right) == (reason, False), judgement.said
    assert [fence.name for fence in judgement.missing] == ["files", "network"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may read everything")
def test_without_a_user_namespace_no_file_is_opened_past_the_view(attack):
    body = ATTACKS["opens files by their number on the disk"][1]
    judgement = check_answer(attack(body), "uw/1.2.1", means=MEANS - {"user"}, **LIMITS)
    assert (judgement.reason, judgement.missing) == (Reason.WRONG, ()), judgement.said


FILLING = [name for name, (reason, _) in ATTACKS.items() if reason == "too much memory"]


@pytest.mark.slow("one of four members stays inside", but=1)
@pytest.mark.parametrize("name", FILLING)
def test_without_a_control_group_the_memory_is_looked_at(attack, name):
    reason, body = ATTACKS[name]
    judgement = check_answer(attack(body), "uw/1.2.1", means=MEANS - {"group"}, **LIMITS)
    assert judgement.reason == reason
    assert judgement.missing == ()


def test_a_control_group_ends_what_nothing_else_does(attack, monkeypatch):
    def only_itself(program, **_):
        program._process.kill()
        program._process.wait()

    monkeypatch.setattr("attnlab_theory.sandbox.processes.Program.end", only_itself)
    _, body = ATTACKS["leaves sleepers in sessions of their own"]
    judgement = check_answer(attack(body), "uw/1.2.1", means=MEANS - NAMESPACES, **LIMITS)
    assert judgement.reason == Reason.WRONG


RIGHT = "    return 1e5 * keys[0]\n"


def dumpable() -> int:
    return ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)


def test_without_any_other_fence_the_judge_cannot_be_written(attack):
    reason, body = ATTACKS["rewrites the memory of the judge"]
    try:
        judgement = check_answer(attack(body), "uw/1.2.1", means=MEANS - NAMESPACES - {"uid"}, **LIMITS)
        assert dumpable() == 0
    finally:
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
    assert judgement.reason == reason
    assert [fence.name for fence in judgement.missing] == ["processes", "files", "network"]


def test_a_right_answer_is_right_where_only_the_judge_is_protected(attack):
    try:
        judgement = check_answer(attack(RIGHT), "uw/1.2.1", means=frozenset({"undumpable", "polling", "limits"}))
    finally:
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
    assert judgement.right
    assert [fence.name for fence in judgement.missing] == ["processes", "files", "network"]


@pytest.mark.slow("a right answer where only the judge is protected stays inside")
def test_where_nothing_protects_the_verdict_nobody_is_right(attack):
    where, means = attack(RIGHT), MEANS - NAMESPACES - {"uid", "undumpable"}
    judgement = check_answer(where, "uw/1.2.1", means=means)
    assert (judgement.right, judgement.reason, judgement.exit_code) == (False, Reason.INCONCLUSIVE, 3)
    assert "--unfenced" in judgement.said
    assert judgement.as_json()["fences"] == ["judge", "processes", "files", "network"]
    assert check_answer(where, "uw/1.2.1", means=means, unfenced=True).right


@pytest.mark.slow("one of seven members stays inside", but=1)
@pytest.mark.parametrize(
    ("off", "missing"),
    [
        ((), ()),
        (("user",), ()),
        (("network",), ("network",)),
        (("mount",), ("files",)),
        (("pid", "uid"), ("processes",)),
        (("group", "polling"), ("memory",)),
        (("limits",), ("limits",)),
    ],
)
def test_what_could_not_be_enforced_is_the_first_thing_said(attack, text_of, off, missing):
    judgement = check_answer(attack(RIGHT), "uw/1.2.1", means=MEANS - set(off))
    assert judgement.right
    assert judgement.as_json()["fences"] == list(missing)
    first = text_of(judgement_text(judgement)).splitlines()[0]
    for fence in fences.FENCES:
        assert first.startswith(f"no fence '{fence.name}': {fence.missing[:20]}") == (fence.name in missing)


@pytest.mark.slow("a missing fence past which no file is opened stays inside")
def test_what_a_missing_fence_lets_through_is_what_is_said_of_it(attack):
    for name, off in (("opens connections", "network"), ("reads secrets", "mount")):
        judgement = check_answer(attack(ATTACKS[name][1]), "uw/1.2.1", means=MEANS - {off})
        assert (judgement.reason, judgement.right) == (Reason.RAISED, False)
        assert "won: " in judgement.said


@pytest.mark.slow("hidden files beside a submission, which it cannot read, stay inside")
def test_a_submission_that_is_alone_sees_no_neighbour(attack, tmp_path):
    where = attack("    import neighbour\n")
    neighbour = tmp_path / "handed-in" / "neighbour.py"
    neighbour.write_text("")
    assert check_answer(where, "uw/1.2.1").reason == Reason.WRONG
    assert "No module named 'neighbour'" in check_answer(where, "uw/1.2.1", alone=True).said
    neighbour.unlink()


def test_what_begins_with_a_dot_is_hidden_in_the_folder_of_a_submission(attack, tmp_path):
    secrets = tmp_path / "handed-in" / ".ssh"
    secrets.mkdir()
    (secrets / "key").write_text("secret")
    hidden = tmp_path / "handed-in" / ".netrc"
    hidden.write_text("secret")
    where = attack(
        "    here = os.path.dirname(__file__)\n"
        '    raise ValueError(f\'{os.listdir(here + "/.ssh")} {open(here + "/.netrc").read()!r}\')\n'
    )
    assert "raised ValueError: [] ''" in check_answer(where, "uw/1.2.1").said
    for path in (secrets / "key", hidden):
        path.unlink()
    secrets.rmdir()
