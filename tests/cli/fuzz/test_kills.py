"""Commands that are stopped by any signal at any time: the exit code, nothing half written, then the same bytes.

Processes are forked from one that has imported everything and has computed nothing, as judges of experiments are.
"""

import dataclasses
import json
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from attnlab_theory.language.checkpoint import save_model
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.models.mixers import Softmax
from attnlab_theory.language.models.positions import Learned
from attnlab_theory.language.text.words import Words
from attnlab_theory.seeds import key_for
from tests.board.test_board import LIBRARY
from tests.circles import EXPLORING
from tests.labs.knowledge.people import SMALL, write_people
from tests.labs.test_judged_again import LINES
from tests.language.models import config
from tests.sandbox.system import missing_fences

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="no other system lists its processes in files")

NURSERY = """
import contextlib, ctypes, importlib, json, os, pathlib, pkgutil, sys, time

import numpy as np

import attnlab_theory
import board.catalogue
from attnlab_theory.cli import main
from attnlab_theory.sandbox import kernel
from tests.board.test_board import entry
from tests.labs.titles import titled

for folder in ("answers", "claims", "experiment", "grader", "judges", "labs", "language", "report"):
    for module in pkgutil.walk_packages(attnlab_theory.__path__, "attnlab_theory."):
        if module.name.startswith(f"attnlab_theory.{folder}"):
            importlib.import_module(module.name)

# What only takes time: pixels of figures, the clock of steps, and three tokens that mixers train for many seconds.
sys.modules["attnlab_theory.report.style"].save = titled
measure, routing = (sys.modules[f"attnlab_theory.labs.mixers.{name}"] for name in ("measure", "routing"))
measure.routed = lambda seed, **_: routing.Routed(np.eye(3)[routing.NEXT])
measure.seconds_per_step = lambda lab: {}

# Orphans become children of this process: prctl(2), PR_SET_CHILD_SUBREAPER.
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
TICK = os.sysconf("SC_CLK_TCK")

# What is started here sees no network, and /proc/net shows its sockets and what it has sent, and no one else's.
alone = kernel.unshared({"network"}) if os.geteuid() == 0 else []

def sockets():
    found = set()
    for kind in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6", "packet") if alone else ():
        with contextlib.suppress(OSError), open(f"/proc/net/{kind}") as file:
            found |= {f"{kind} {line.split()[1]}" for line in file.readlines()[1:]}
    return found

def sent():
    # Counts also what found no way out.
    return [pathlib.Path(f"/proc/net/{name}").read_text() for name in ("snmp", "snmp6") if alone]

def told(process):
    with open(f"/proc/{process}/stat") as file:
        return file.read().rpartition(")")[2].split()

def own_time(process):
    # Without what it has started.
    return sum(map(int, told(process)[11:13])) / TICK

def left():
    # Whoever was started by a call that has ended, and goes on: this process adopts them.
    with open("/proc/self/task/%d/children" % os.getpid()) as file:
        adopted = file.read().split()
    return [process for process in adopted if told(process)[0] != "Z"]

def is_time(process, after, seen):
    # After this processor time, so many files in the folder, or this file.
    if isinstance(after, float):
        return own_time(process) >= after
    if isinstance(after, int):
        seen.update(os.path.join(at, name) for at, _, names in os.walk(".") for name in names)
        return len(seen) >= after
    return not after or os.path.exists(after)

def ended(folder, arguments, number, after, seconds):
    os.chdir(folder)
    heard, begun = set(), sent()
    process = os.fork()
    if not process:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        code = 70
        try:
            if "--peers" in arguments:
                board.catalogue.ENTRIES = (entry(pathlib.Path("environments").absolute(), "right"),)
            code = main(arguments)
        finally:
            sys.stderr.flush()
            os._exit(code)
    seen = {os.path.join(at, name) for at, _, names in os.walk(".") for name in names}
    before, looking = len(seen), os.WEXITED | os.WNOHANG | os.WNOWAIT
    while not os.waitid(os.P_PID, process, looking):
        if number and is_time(process, after if type(after) is not int else before + after, seen):
            time.sleep(seconds)
            os.kill(process, number)
            break
        heard |= sockets()
        time.sleep(0.02)
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    used = own_time(process)
    _, state = os.waitpid(process, 0)
    until = time.monotonic() + 3
    while left() and time.monotonic() < until:
        time.sleep(0.01)
    if sent() != begun:
        heard.add("something was sent")
    return os.waitstatus_to_exitcode(state), used, [*left(), *heard]

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

TEXTS = [word for name in ("train", "validation", "test") for word in (f"--{name}", "text")]
ALONE = ["--seeds", "1", "--processes", "1", "--out", "out", "--resume"]

SERIES: dict[str, list[str]] = {
    "run": ["run", "averaging", "--out", "out"],
    "knowledge": [
        *(
            "knowledge",
            "run",
            "--arms",
            "vanilla",
            "--layers",
            "1",
            "--heads",
            "1",
            "--width",
            "8",
            "--epochs",
            "2",
        ),
        *("--finetuned", "4", "--held-out", "4", "--never-seen", "4", "--places", "2", *ALONE),
    ],
    "captions": [
        *("captions", "run", "--arms", "scratch", "--count", "4", "--generations", "1", "--epochs", "1"),
        *("--layers", "1", "--block-size", "40", "--decodings", "random", *TEXTS, *ALONE),
    ],
    "mixers": ["mixers", "run", "--arms", "separate", *TEXTS, *ALONE],
    "recurrent": ["recurrent", "run", "--arms", "rnn", "--epochs", "1", *TEXTS[:2], *TEXTS[4:], *ALONE],
    "reviews": [
        *("reviews", "run", "--layers", "1", "--heads", "1", "--width", "8", "--epochs", "1", "--arms", "adamw"),
        *("--train-reviews", "16", "--test-reviews", "16", "--no-sweep", "--trials", "0", *ALONE),
    ],
    "grade": [
        *("grade", "class", "--rubric", "uw.toml", "--seed", "7", "--processes", "1"),
        *("--csv", "grades.csv", "--html", "pages"),
    ],
    "heads": [
        *("heads", "model", "text", "--parts", "collapse", "--few", "20", "--controls", "0", "--out", "out"),
    ],
    "peers": ["conform", "--peers", "--environments", "environments", "--board", "out"],
    "answers": ["answers", "uw/1.2.1", "--html", "answers.html"],
}
"""Calls that go on, or begin anew, where one of them was killed."""

SECONDS = re.compile(rb'"(core_)?seconds": [\d.]+|\| \d+ \|\n')


@pytest.fixture(scope="module")
def nursery(tmp_path_factory):
    """Calls the command in a folder, and ends it with a signal.

    It gives the exit code, the processor time, and a list: what still runs, and what was heard of sockets."""
    folder = tmp_path_factory.mktemp("nursery")
    with (
        (folder / "said").open("w") as said,
        subprocess.Popen(
            [sys.executable, "-c", NURSERY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        ) as process,
    ):

        def ended(folder, arguments, number=0, after="", seconds=0.0):
            process.stdin.write(json.dumps([str(folder), arguments, number, after, seconds]) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        ended.said = folder / "said"
        yield ended
        process.stdin.close()
    assert "Traceback" not in (folder / "said").read_text()


@pytest.mark.slow("the same bytes of a run that is closed and goes on stay inside")
def test_a_training_that_is_stopped_again_and_again_comes_to_the_same_bytes(nursery, tmp_path):
    """Begins a training for each signal, ends it, and trains once more without one."""
    write_people(tmp_path)
    stopped = 0
    for number, after, seconds in WHEN:
        code, *_ = nursery(
            tmp_path, [*PRETRAIN, "--writing_params_path", "killed", "--resume"], number, after, seconds
        )
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
    (tmp_path / ".writing-killed.abcdefgh.partial").write_bytes(b"half a checkpoint")
    assert nursery(tmp_path, [*PRETRAIN, "--writing_params_path", "killed", "--resume"])[0] == 0
    assert "goes on after step" in nursery.said.read_text()
    assert nursery(tmp_path, [*PRETRAIN, "--writing_params_path", "whole"])[0] == 0
    assert (tmp_path / "killed").read_bytes() == (tmp_path / "whole").read_bytes()
    assert {path.name for path in tmp_path.iterdir() if "killed" in path.name} == {"killed"}


def given(folder: Path) -> Path:
    """A new folder with what the series read."""
    folder.mkdir()
    (folder / "text").write_text("\n".join(LINES * 8))
    words = Words(tuple(dict.fromkeys(" ".join(LINES).split())))
    model = GPT(dataclasses.replace(config(Softmax(), Learned()), vocabulary=len(words)), key=key_for(0))
    save_model(folder / "model", model, words, {})
    (folder / "class").mkdir()
    (folder / "class" / "a.py").write_text("def q1_2_1(keys): return 1e5 * keys[0]\n")
    (folder / "uw.toml").write_text('homework = "uw"\n[points]\n"1.2.1" = 1\n')
    python = folder / "environments" / "own" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (folder / "environments" / "library.py").write_text(LIBRARY)
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    """All files by name. Seconds, and what Python compiles for itself, are no part of a result."""
    every = (path for path in folder.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    return {path.relative_to(folder).as_posix(): SECONDS.sub(b"", path.read_bytes()) for path in every}


OPEN = """
import socket, time
one = socket.create_server(("", 0))
time.sleep(0.5)
"""
ASKING = """
import socket
try: socket.create_connection(("127.0.0.1", 9), 1)
except OSError: pass
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root leaves its network")
@pytest.mark.slow("sockets that this process asks for are heard inside")
def test_whoever_listens_or_asks_is_heard(nursery, tmp_path):
    for text, said in ((OPEN, "tcp "), (ASKING, "something was sent")):
        (tmp_path / "mine.py").write_text(text)
        code, _, heard = nursery(tmp_path, ["run", "mine.py"])
        assert code == 2
        assert any(each.startswith(said) for each in heard)


@pytest.mark.slow("the same bytes of a run that is closed and goes on stay inside")
@pytest.mark.parametrize("name", SERIES)
def test_a_command_that_is_killed_at_any_moment_ends_with_the_same_bytes_the_next_time(nursery, tmp_path, name):
    """Calls the command whole, kills it, and calls it once more. Neither it nor its processes ask for a socket."""
    if name == "grade" and missing_fences():
        pytest.skip(f"this system allows no fence {', '.join(missing_fences())}")
    rng = random.Random(None if EXPLORING else name)
    whole, killed = given(tmp_path / "whole"), given(tmp_path / "killed")
    before = len(files_of(whole))
    code, used, left = nursery(whole, SERIES[name])
    assert (code in (0, 1), left) == (True, [])
    wanted = files_of(whole)
    for _ in range(5 if EXPLORING else 1):
        after = rng.choice([used * rng.uniform(0.1, 0.9), rng.randint(1, len(wanted) - before)])
        end, _, left = nursery(killed, SERIES[name], signal.SIGKILL, after, rng.uniform(0, 0.01))
        # A signal may come too late.
        assert (end in (-9, code), left) == (True, []), after
    assert nursery(killed, SERIES[name])[0] == code
    found = files_of(killed)
    assert found.keys() == wanted.keys()
    assert [each for each in wanted if found[each] != wanted[each]] == []
