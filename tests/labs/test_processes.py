"""Trainings in processes of their own: all are done, an error and Ctrl-C stop them, and numbers stay the same."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from attnlab_theory.labs import processes
from attnlab_theory.labs.mixers.tasks import Run
from attnlab_theory.labs.processes import Workers, workers
from attnlab_theory.labs.texts import Texts
from attnlab_theory.sandbox.processes import cores_of


def done(name, folder, interrupts):
    (folder / name).write_text(str(os.getpid()))
    return True


def waits(name, folder, interrupts):
    (folder / name).write_text(str(os.getpid()))
    deadline = time.monotonic() + 60
    while not interrupts and time.monotonic() < deadline:
        time.sleep(0.01)
    return not interrupts


def ignores(name, folder, interrupts):
    (folder / name).write_text(str(os.getpid()))
    time.sleep(60)
    return True


def fails(name, folder, interrupts):
    if name == "fails":
        while not (folder / "waits").exists():
            time.sleep(0.01)
        raise ValueError("no such file")
    return waits(name, folder, interrupts)


def killed(name, folder, interrupts):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow("tasks in processes that are stopped or killed stay inside")
def test_every_task_is_done_in_another_process(tmp_path):
    with Workers(2, print) as workers:
        assert workers.finished(done, [(name, tmp_path) for name in "abc"])
        assert workers.finished(done, [("d", tmp_path)])
    owners = {path.name: int(path.read_text()) for path in tmp_path.iterdir()}
    assert sorted(owners) == list("abcd")
    assert os.getpid() not in owners.values()


@pytest.mark.slow("that each process keeps to one core stays inside")
def test_stages_are_trained_to_the_same_bytes_by_any_number_of_processes(tmp_path):
    """By this one, too: in tests it computes on one thread."""
    (tmp_path / "text").write_text("a cat runs\nthe dog sits\na dog runs\n" * 4)
    texts = Texts(**dict.fromkeys(("train", "validation", "test"), tmp_path / "text"))
    found = []
    for count in (1, 2):
        command = Run(texts=texts, arms=("separate", "zero-after"), seeds=1, out=tmp_path / str(count))
        assert command.trained(command.lab(), workers(count, small=True, tell=print))
        models = tmp_path / str(count) / "models" / "seed-0"
        found.append({path.name: path.read_bytes() for path in models.iterdir() if path.suffix != ".lock"})
    assert set(found[0]) >= {"separate", "zero-after"}
    assert found[0] == found[1]


def test_every_process_keeps_to_one_core_however_many_there_are(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {7, 4}, raising=False)
    assert [cores_of(count) for count in (1, 2, 5)] == [[4], [4, 7], [4, 7, 4, 7, 4]]


def test_small_models_alone_are_shared_out_unasked(monkeypatch):
    monkeypatch.setattr(processes, "cores", lambda: 3)
    with workers(None, small=False, tell=print) as pool:
        assert pool is None
    for asked in (None, 2):
        assert isinstance(workers(asked, small=True, tell=print), Workers)


def test_ctrl_c_stops_those_that_run_and_no_further_one_begins(tmp_path):
    """Starts two processes, and waits until both work."""
    told = []

    def press():
        while len(list(tmp_path.iterdir())) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    threading.Thread(target=press).start()
    with Workers(2, told.append) as workers:
        assert not workers.finished(waits, [(name, tmp_path) for name in "abc"])
    assert told == ["stopping after the next step of every training"]
    assert len(list(tmp_path.iterdir())) == 2
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow("the error of a killed process stays inside")
def test_an_error_stops_the_others_and_is_raised(tmp_path):
    """Starts two processes, and waits until both work."""
    with Workers(2, print) as workers, pytest.raises(ValueError, match="no such file"):
        workers.finished(fails, [(name, tmp_path) for name in ("waits", "fails", "never begins")])
    assert [path.name for path in tmp_path.iterdir()] == ["waits"]


def test_a_killed_process_is_an_error_that_says_what_to_do(tmp_path):
    with Workers(1, print) as workers, pytest.raises(ValueError, match="--resume goes on, with --processes 1"):
        workers.finished(killed, [("a", tmp_path)])


PARENT = """
import pathlib, sys
from attnlab_theory.labs.processes import Workers
from tests.labs import test_processes
if __name__ == "__main__":
    task = getattr(test_processes, sys.argv[2])
    with Workers(2, lambda text: None) as workers:
        print(workers.finished(task, [(name, pathlib.Path(sys.argv[1])) for name in "ab"]))
"""


def begun(tmp_path, task):
    """A parent in a session of its own, and the numbers of its two processes, which do the task."""
    (tmp_path / "parent.py").write_text(PARENT)
    (tmp_path / "out").mkdir()
    parent = subprocess.Popen(
        [sys.executable, tmp_path / "parent.py", tmp_path / "out", task],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while len(pids := [path.read_text() for path in (tmp_path / "out").iterdir()]) < 2 or "" in pids:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return parent, pids


@pytest.mark.slow("Ctrl-C that reaches the parent alone stays inside")
def test_ctrl_c_of_a_terminal_reaches_all_processes_and_stops_them_once(tmp_path):
    """Starts a process that starts two more."""
    parent, _ = begun(tmp_path, "waits")
    os.killpg(parent.pid, signal.SIGINT)
    assert parent.communicate(timeout=60) == ("False\n", "")


def runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow("Ctrl-C that reaches the parent, which lives on, stays inside")
@pytest.mark.parametrize("task", ["waits", "ignores"])
def test_processes_end_when_their_parent_is_killed(tmp_path, task):
    """Starts a process, which starts two more, and waits until those have ended."""
    parent, pids = begun(tmp_path, task)
    parent.kill()
    parent.wait()
    for stream in filter(None, (parent.stdout, parent.stderr)):
        stream.close()
    deadline = time.monotonic() + 30
    try:
        while any(runs(int(pid)) for pid in pids):
            assert time.monotonic() < deadline, "a process goes on alone"
            time.sleep(0.05)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(parent.pid, signal.SIGKILL)
