"""A program is waited for and ended with all that it has started, and its end is known before it is forgotten."""

import os
import signal
import subprocess
import sys
import time

import pytest

from attnlab_theory.sandbox.processes import Program, Server, killed_by, ready

WITH_A_CHILD = "import subprocess, sys; print(subprocess.Popen(['sleep', '600']).pid, flush=True); sys.stdin.read()"


def program(code, **given):
    return Program([sys.executable, "-c", code], **given)


def runs(process):
    """Whether a process has not ended; what nobody has asked about yet has."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_the_code_of_a_program_is_known_once_it_has_ended():
    ended = program("raise SystemExit(3)")
    assert ended.has_ended(60)
    assert (ended.code, killed_by(ended.code)) == (3, "")
    # Nobody has reaped it, so that its number is still its own.
    os.kill(ended.pid, 0)
    ended.end()
    assert ended.code == 3
    ended.end()
    with pytest.raises(ProcessLookupError):
        os.kill(ended.pid, 0)


@pytest.mark.parametrize(("number", "name"), [(signal.SIGKILL, "SIGKILL"), (signal.SIGSEGV, "")])
def test_a_kill_from_outside_is_told_from_a_crash(number, name):
    sleeping = program("import time; time.sleep(600)")
    assert (sleeping.has_ended(), sleeping.code) == (False, None)
    os.kill(sleeping.pid, number)
    assert sleeping.has_ended(60)
    assert (sleeping.code, killed_by(sleeping.code)) == (-number, name)
    sleeping.end()


@pytest.mark.skipif(sys.platform != "linux", reason="no other system has /proc")
@pytest.mark.parametrize("group", [True, False])
def test_a_group_is_ended_with_all_that_it_has_started(group):
    parent = program(WITH_A_CHILD, group=group, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child = int(parent.stdout.readline())
    parent.end()
    deadline = time.monotonic() + 10
    while runs(child) and group and time.monotonic() < deadline:
        time.sleep(0.01)
    assert runs(child) != group
    assert parent.code == -signal.SIGKILL
    if not group:
        os.kill(child, signal.SIGKILL)
    parent.stdin.close()
    parent.stdout.close()


def test_a_program_that_is_told_to_end_may_do_so_by_itself():
    code = "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(5)); print(flush=True); time.sleep(600)"
    telling = program(code, stdout=subprocess.PIPE)
    telling.stdout.readline()
    telling.end(told=60)
    assert telling.code == 5
    telling.stdout.close()


def doubling(connection, factor):
    while True:
        connection.send(factor * connection.recv())


@pytest.mark.slow("judges and markers, which are servers, stay inside")
@pytest.mark.parametrize("forked", [True, False])
def test_a_server_answers_until_it_is_ended(forked):
    """Starts a process."""
    server = Server(doubling, 2, forked=forked)
    server.connection.send(21)
    assert ready([server.connection]) == [server.connection]
    assert server.connection.recv() == 42
    server.end()
    assert server._process.exitcode == -signal.SIGKILL
