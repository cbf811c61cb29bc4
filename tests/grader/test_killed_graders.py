"""A class is graded whatever ends the processes of the lab: another one marks, and another run goes on."""

import csv
import glob
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from attnlab_theory.grader.classroom.hand_ins import hand_ins
from attnlab_theory.grader.classroom.markers import marked
from attnlab_theory.grader.classroom.marks import Terms
from attnlab_theory.grader.classroom.rubric import rubric_of
from tests.grader.test_hostile import running
from tests.grader.test_hostile_class import ANSWER, COMMAND

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="no other system has these fences"),
    pytest.mark.usefixtures("fenced"),
]


@pytest.fixture
def rubric(tmp_path):
    (tmp_path / "uw.toml").write_text('homework = "uw"\n[points]\n"1.2.1" = 1\n')
    return str(tmp_path / "uw.toml")


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize("deaths", [1, 2])
def test_a_marker_that_is_killed_is_followed_by_one_more(tmp_path, rubric, deaths):
    """Starts a process that marks, and another after it is killed."""
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "mine.py").write_text(ANSWER)
    before, killed = set(multiprocessing.active_children()), set()

    def kill():
        deadline = time.monotonic() + 60
        while len(killed) < deaths and time.monotonic() < deadline:
            for process in set(multiprocessing.active_children()) - before - killed:
                os.kill(process.pid, signal.SIGKILL)
                killed.add(process)
            time.sleep(0.01)

    killing = threading.Thread(target=kill)
    killing.start()
    ((hand_in, found),) = marked(hand_ins(folder), 1, Terms(rubric=rubric_of(rubric), time_limit=20))
    killing.join()
    assert hand_in.name == "mine.py"
    if deaths == 2:
        assert found == "the process that judges it was killed twice, perhaps because memory ran out"
    else:
        assert found["1.2.1"]["reason"] == "right"
    assert set(multiprocessing.active_children()) <= before


@pytest.mark.slow("a marker that is killed stays inside")
def test_a_run_that_is_killed_leaves_no_process_and_is_gone_on_with(tmp_path, rubric):
    """Starts the command twice, and each time it starts a process that marks."""
    folder, scratch, journal = tmp_path / "class", tmp_path / "scratch", tmp_path / "class-uw.jsonl"
    folder.mkdir()
    scratch.mkdir()
    secret = str(tmp_path / "987654321.7")
    sleeper = f"import subprocess\nsubprocess.run(['sh', '-c', 'sleep 600; :', {secret!r}])\n"
    (folder / "a.py").write_text(ANSWER)
    (folder / "b.py").write_text(sleeper + ANSWER)
    (tmp_path / "attnlab.py").write_text(COMMAND)
    command = [sys.executable, tmp_path / "attnlab.py", "grade", folder, "--rubric", rubric, "--processes", "1"]
    command += ["--csv", tmp_path / "grades.csv"]

    grading = subprocess.Popen(command, env=os.environ | {"TMPDIR": str(scratch)}, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 200
    while not (running(secret) and journal.read_bytes().count(b"\n") == 2):
        assert grading.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    started = Path(f"/proc/{grading.pid}/task/{grading.pid}/children").read_text().split()
    assert started
    grading.kill()
    grading.wait()
    while running(secret) or running(str(tmp_path / "attnlab.py")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not (tmp_path / "grades.csv").exists()

    (folder / "b.py").write_text(ANSWER.replace("keys[0]", "keys[1]"))
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"TMPDIR": str(scratch)})
    told = f"1 of 2 submissions is known from {journal}\njudging: 1 submission\n"
    assert (done.returncode, done.stderr) == (0, told)
    rows = list(csv.DictReader((tmp_path / "grades.csv").read_text().splitlines()))
    assert [row["1.2.1 reason"] for row in rows] == ["right", "wrong"]
    assert list(scratch.iterdir()) == [], "the next run removes what a killed one has left"
    for process in started:
        assert glob.glob(f"/sys/fs/cgroup/**/attnlab-{process}-*", recursive=True) == []


@pytest.mark.slow("the exit code of a command that a signal ends stays inside")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_check_that_is_stopped_leaves_no_process(tmp_path, number, code):
    """Starts the command, and waits until its answer runs and until nothing of it does."""
    scratch, secret = tmp_path / "scratch", str(tmp_path / "987654321.8")
    scratch.mkdir()
    (tmp_path / "attnlab.py").write_text(COMMAND)
    (tmp_path / "mine.py").write_text(
        f"import subprocess\nsubprocess.run(['sh', '-c', 'sleep 600; :', {secret!r}], start_new_session=True)\n"
    )
    command = [sys.executable, tmp_path / "attnlab.py", "check", f"{tmp_path}/mine.py::f", "--question", "uw/1.2.1"]
    checking = subprocess.Popen(
        command, env=os.environ | {"TMPDIR": str(scratch)}, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 100
    while not running(secret):
        assert checking.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    checking.send_signal(number)
    said = checking.communicate(timeout=60)[1]
    assert checking.returncode == code
    assert said == ("" if number == signal.SIGKILL else "attnlab: interrupted\n")
    while running(secret):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    # Who is killed cannot remove anything. What is left is an empty folder, for the submission wrote elsewhere.
    assert [path for path in scratch.rglob("*") if number != signal.SIGKILL or not path.is_dir()] == []


LOSING = """
import gc, os, signal, time
from attnlab_theory.grader.classroom.markers import end_when_told

end_when_told()

def collected(phase, info):
    gc.callbacks.remove(collected)
    os.kill(os.getpid(), signal.SIGTERM)
    sum(range(1000))

gc.callbacks.append(collected)
gc.collect()
for _ in range(400):
    time.sleep(0.05)
print("goes on")
"""


def test_a_marker_ends_though_the_signal_is_lost_in_a_callback():
    ended = subprocess.run([sys.executable, "-c", LOSING], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
