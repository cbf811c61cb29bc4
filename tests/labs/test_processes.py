"""Trainings in processes of their own: all are done, an error and Ctrl-C stop them, and numbers stay the same."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from attnlab_theory.labs.processes import Crew


def done(name, folder, interrupts):
    (folder / name).write_text(str(os.getpid()))
    return True


def waits(name, folder, interrupts):
    (folder / name).write_text(str(os.getpid()))
    deadline = time.monotonic() + 60
    while not interrupts and time.monotonic() < deadline:
        time.sleep(0.01)
    return not interrupts


def fails(name, folder, interrupts):
    if name == "fails":
        while not (folder / "waits").exists():
            time.sleep(0.01)
        raise ValueError("no such file")
    return waits(name, folder, interrupts)


def killed(name, folder, interrupts):
    os.kill(os.getpid(), signal.SIGKILL)


def test_every_task_is_done_in_another_process(tmp_path):
    with Crew(2, print) as crew:
        assert crew.finished(done, [(name, tmp_path) for name in "abc"])
        assert crew.finished(done, [("d", tmp_path)])
    owners = {path.name: int(path.read_text()) for path in tmp_path.iterdir()}
    assert sorted(owners) == list("abcd")
    assert os.getpid() not in owners.values()


def test_ctrl_c_stops_those_that_run_and_no_further_one_begins(tmp_path):
    told = []

    def press():
        while len(list(tmp_path.iterdir())) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    threading.Thread(target=press).start()
    with Crew(2, told.append) as crew:
        assert not crew.finished(waits, [(name, tmp_path) for name in "abc"])
    assert told == ["stopping after the next step of every training"]
    assert len(list(tmp_path.iterdir())) == 2
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_stops_the_others_and_is_raised(tmp_path):
    with Crew(2, print) as crew, pytest.raises(ValueError, match="no such file"):
        crew.finished(fails, [(name, tmp_path) for name in ("waits", "fails", "never begins")])
    assert [path.name for path in tmp_path.iterdir()] == ["waits"]


def test_a_killed_process_is_an_error_that_says_what_to_do(tmp_path):
    with Crew(1, print) as crew, pytest.raises(ValueError, match="--resume goes on, with --processes 1"):
        crew.finished(killed, [("a", tmp_path)])


PARENT = """
import pathlib, sys
from attnlab_theory.labs.processes import Crew
from tests.labs.test_processes import waits
if __name__ == "__main__":
    with Crew(2, lambda text: None) as crew:
        print(crew.finished(waits, [(name, pathlib.Path(sys.argv[1])) for name in "ab"]))
"""


def begun(tmp_path):
    """A parent in a session of its own, and the numbers of its two processes, which wait."""
    (tmp_path / "parent.py").write_text(PARENT)
    (tmp_path / "out").mkdir()
    parent = subprocess.Popen(
        [sys.executable, tmp_path / "parent.py", tmp_path / "out"],
        env={**os.environ, "PYTHONPATH": os.getcwd()},
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


def test_ctrl_c_of_a_terminal_reaches_all_processes_and_stops_them_once(tmp_path):
    parent, _ = begun(tmp_path)
    os.killpg(parent.pid, signal.SIGINT)
    assert parent.communicate(timeout=60) == ("False\n", "")


def test_processes_end_when_their_parent_is_killed(tmp_path):
    parent, pids = begun(tmp_path)
    parent.kill()
    parent.communicate()
    deadline = time.monotonic() + 30
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        assert time.monotonic() < deadline, "a process goes on alone"
        time.sleep(0.05)
