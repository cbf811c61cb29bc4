"""What the processes below this one hold."""

import os
import subprocess
import sys
import tempfile

import pytest

from attnlab_theory.sandbox import descendants

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="no other system lists processes this way")

SIZE = 3 * 2**20


@pytest.mark.parametrize("processes", [1, 2])
def test_a_file_without_a_name_counts_once_and_by_its_blocks(monkeypatch, processes):
    with tempfile.TemporaryFile() as file:
        file.write(bytes(SIZE))
        file.flush()
        os.fsync(file.fileno())
        held = 512 * os.fstat(file.fileno()).st_blocks
        waiting = [
            subprocess.Popen(["sleep", "9"], pass_fds=[file.fileno()], stdin=subprocess.PIPE)
            for _ in range(processes)
        ]
        try:
            monkeypatch.setattr(descendants, "_descendants", lambda: [one.pid for one in waiting])
            monkeypatch.setattr(descendants, "_resident", lambda process: 1)
            assert descendants.holdings() == (processes, held + processes)
            assert held >= SIZE
        finally:
            for one in waiting:
                one.kill()
                one.communicate()


@pytest.mark.parametrize("own", [1, 2, 77])
def test_the_first_process_of_all_ends_nobody_for_its_end_ends_them(monkeypatch, own):
    asked = []
    monkeypatch.setattr(os, "getpid", lambda: own)
    monkeypatch.setattr(descendants, "_descendants", lambda: asked.append(own) or [])
    descendants.end(None)
    assert bool(asked) == (own != 1)


def test_groups_of_others_are_ended_at_once_and_the_own_one_is_not(monkeypatch):
    started = [subprocess.Popen(["sleep", "9"], start_new_session=new) for new in (False, True)]
    groups, own, end = [], os.getpgrp(), os.killpg
    monkeypatch.setattr(descendants, "_descendants", lambda: [one.pid for one in started if one.poll() is None])
    monkeypatch.setattr(os, "killpg", lambda group, by: groups.append(group) or (group != own and end(group, by)))
    descendants.end(None)
    assert all(one.poll() is not None for one in started)
    assert {*groups} == {started[1].pid}


ENDING = """
import subprocess, sys
from attnlab_theory.sandbox import descendants
below = "import subprocess; print(subprocess.Popen(['sleep', '9']).pid, flush=True); input()"
started = [
    subprocess.Popen([sys.executable, "-c", below], stdin=-1, stdout=-1, text=True, start_new_session=new)
    for new in (False, True)
]
further = [int(one.stdout.readline()) for one in started]
assert set(descendants._descendants()) >= {one.pid for one in started} | {*further}
descendants.end(None)
print(len(descendants._descendants()))
"""


def test_all_below_are_ended_in_whatever_group_and_the_one_that_ends_them_is_not():
    done = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, start_new_session=True)
    assert done.stdout == "0\n", done.stderr
