"""A training that is stopped by any signal at any time: its exit code, nothing half written, then the same bytes.

Processes are forked from one that has imported everything and has computed nothing, as judges of experiments are.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.labs.knowledge.people import SMALL, write_people

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")

NURSERY = """
import importlib, json, os, sys, time

from attnlab_theory.cli import main
from attnlab_theory.cli.commands import COMMANDS

for name in ("knowledge", "leaks"):
    COMMANDS[name].options()
for name in ("jax", "equinox", "optax", "safetensors.numpy", "attnlab_theory.labs.knowledge.stages"):
    importlib.import_module(name)

def ended(arguments, number, after, seconds):
    # Where there is no file to wait for, the time alone counts.
    process = os.fork()
    if not process:
        os.dup2(2, 1)
        code = 70
        try:
            code = main(arguments)
        finally:
            sys.stderr.flush()
            os._exit(code)
    looking = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while after and not os.path.exists(after) and not os.waitid(os.P_PID, process, looking):
        time.sleep(0.002)
    time.sleep(seconds)
    if number:
        os.kill(process, number)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

for line in sys.stdin:
    print(json.dumps(ended(*json.loads(line))), flush=True)
"""

PRETRAIN = [
    *("knowledge", "pretrain", "vanilla", "wiki.txt", "--epochs", "40", "--batch-size", "8", "--rows", "8"),
    *("--save-every", "0", *SMALL),
]

WHEN = (
    (signal.SIGTERM, "", 0.2),
    (signal.SIGKILL, "", 0.4),
    (signal.SIGINT, "killed.partial", 0.01),
    (signal.SIGKILL, "killed.partial", 0.0),
    (signal.SIGTERM, "killed.partial", 0.03),
    (signal.SIGKILL, "killed.partial", 0.05),
)
"""A signal, the file that must be there before it is sent, and the seconds after that."""


@pytest.fixture
def nursery(tmp_path):
    write_people(tmp_path)
    with (
        (tmp_path / "said").open("w") as said,
        subprocess.Popen(
            [sys.executable, "-c", NURSERY],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
        ) as process,
    ):

        def ended(arguments, number=0, after="", seconds=0.0) -> int:
            process.stdin.write(json.dumps([arguments, number, after, seconds]) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield ended
        process.stdin.close()


@pytest.mark.slow("the same bytes of a run that is closed and goes on stay inside")
def test_a_training_that_is_stopped_again_and_again_comes_to_the_same_bytes(nursery, tmp_path):
    """Begins a training for each signal, ends it, and trains once more without one."""
    stopped = 0
    for number, after, seconds in WHEN:
        code = nursery([*PRETRAIN, "--writing_params_path", "killed", "--resume"], number, after, seconds)
        wanted = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[number]
        # A signal may come too late.
        assert code in (wanted, 0), (number.name, after, seconds)
        stopped += code != 0
        names = {path.name for path in tmp_path.iterdir() if "killed" in path.name}
        half = {name for name in names if name.startswith(".writing-")}
        assert number == signal.SIGKILL or not half
        # A killed run leaves its lock as a file, and the next one takes it.
        assert names - half <= {"killed.partial", "killed", ".killed.lock"}
    assert stopped >= 3
    assert nursery([*PRETRAIN, "--writing_params_path", "killed", "--resume"]) == 0
    assert nursery([*PRETRAIN, "--writing_params_path", "whole"]) == 0
    assert (tmp_path / "killed").read_bytes() == (tmp_path / "whole").read_bytes()
    assert {path.name for path in tmp_path.iterdir() if "killed" in path.name} == {"killed"}
    assert "Traceback" not in (tmp_path / "said").read_text()
