"""`--in-process` calls a target where it can reach what the fences hide, as an accelerator is hidden."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from attnlab_theory.cli import main
from attnlab_theory.conform.callers import Local
from attnlab_theory.conformance import suite
from tests.conform.wrong import LOSES
from tests.sandbox.system import missing_fences

TARGET = """
import numpy as np

with open({secret!r}) as file:
    SCALE = float(file.read())


def attention(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(SCALE * q.shape[-1] ** -0.5)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True) @ v


def never(q, k, v):
    print("called", file=open({heard!r}, "a"), flush=True)
    while True:
        pass


def raises_when_long(q, k, v):
    if k.shape[-2] > 16:
        raise KeyError("at most 16 keys")
    return attention(q, k, v)
"""


@pytest.fixture
def at(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "elsewhere").mkdir()
    secret, heard = tmp_path / "elsewhere" / "scale", tmp_path / "elsewhere" / "heard"
    secret.write_text("1.0")
    # A name that one of our own modules has.
    (tmp_path / "own" / "tyro.py").write_text(
        TARGET.format(secret=str(secret), heard=str(heard)) + LOSES.format(right="attention")
    )
    return tmp_path / "own" / "tyro.py"


def test_a_target_that_needs_what_the_fences_hide_is_judged_in_process(capsys, at):
    """One process that cannot read the file, and none that can."""
    asked = ["conform", f"{at}::attention", "--as", "softmax", "--cases", "1", "--json"]
    assert main([*asked, "--in-process"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["verdict"] for row in found["rows"]} <= {"holds", "convention"}
    assert found["notes"][-1] == Local.missing
    assert sys.modules["tyro"].__file__ != str(at)
    if "files" in missing_fences():
        pytest.skip("this system does not hide files")
    assert main(asked) == 2
    assert "cannot be loaded: FileNotFoundError" in capsys.readouterr().err


def test_a_call_that_raises_in_process_is_a_failure_and_an_import_one_line(capsys, at):
    """Two targets of one process."""
    asked = ["conform", f"{at}::raises_when_long", "--as", "softmax", "--cases", "2", "--json", "--in-process"]
    assert main(asked) == 1
    rows = {row["identity"]: row["line"] for row in json.loads(capsys.readouterr().out)["rows"]}
    assert "KeyError: 'at most 16 keys' (tyro.py, line " in rows["block edges"]
    (at.parent.parent / "elsewhere" / "scale").unlink()
    assert main(asked) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "cannot be loaded: FileNotFoundError" in said


def test_nothing_is_judged_after_an_error_that_loses_the_accelerator(capsys, at):
    """Such calls raise the same error, whatever they ask. One row fails, and no other is blamed for it."""
    assert main(["conform", f"{at}::loses", "--as", "softmax", "--cases", "2", "--json", "--in-process"]) == 1
    rows = json.loads(capsys.readouterr().out)["rows"]
    fails = [row for row in rows if row["verdict"] == "fails"]
    assert [row["identity"] for row in fails] == ["visibility"]
    assert "AcceleratorError: CUDA error" in fails[0]["line"]
    assert "k [1, 2, 17, 4]" in fails[0]["line"], "the call that lost it, and no smaller one"
    after = rows[rows.index(fails[0]) + 1 :]
    assert {row["verdict"] for row in after} == {"not judged"}
    assert {row["line"].partition("hung, ")[2] for row in after} == {"ended the process or lost the accelerator"}


def test_a_function_under_pytest_is_called_in_process_too(at):
    """The door of the tests has the same freedom: it is handed a function of this process."""
    test = suite(Local(f"{at}::attention")._host._target, kind="softmax", include=("plain",))
    test("plain")


@pytest.mark.slow("an interrupt from outside of a fenced target stays inside")
def test_ctrl_c_ends_a_call_in_process(at):
    """Starts a command, and waits until its target hangs."""
    heard = at.parent.parent / "elsewhere" / "heard"
    code = "import sys; from attnlab_theory.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "conform", f"{at}::never", "--as", "softmax", "--in-process"]
    # Set by commands that ran in this process before; a checkout is found by the folder.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    running = subprocess.Popen([*command, "--call-seconds", "100"], stderr=subprocess.PIPE, env=environment)
    deadline = time.monotonic() + 60
    while not heard.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    try:
        said = running.communicate(timeout=60)[1].decode()
    finally:
        running.kill()
    assert (running.returncode, "Traceback" in said) == (130, False), said
