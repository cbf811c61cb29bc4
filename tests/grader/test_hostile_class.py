"""Hostile submissions as one class among honest ones: right grades, and the machine as before."""

import csv
import glob
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from attnlab_theory.cli import main
from attnlab_theory.sandbox import fences
from tests.grader.hostile import ATTACKS, PREAMBLE, WRONG
from tests.grader.test_hostile import running, shared_by_name

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="no other system has these fences"),
    pytest.mark.usefixtures("fenced"),
]

ANSWER = "def q1_2_1(keys): return 1e5 * keys[0]\n"
HONEST = {
    "plain.py": ANSWER,
    "backwards.py": "import numpy as np\n"
    + ANSWER.replace("1e5 * keys[0]", "np.flip(np.flip(1e5 * keys[0]).copy())"),
    "memory.py": ANSWER.replace("1e5 * keys[0]", "memoryview(1e5 * keys[0])"),
    "talks.py": "print('WRONG ' * 9999)\n" + ANSWER,
    "starts.py": "import subprocess\nsubprocess.run(['true'])\n" + ANSWER,
    "pipes.py": "import multiprocessing\nmultiprocessing.Pipe()\n" + ANSWER,
    "threads.py": "import threading\nthreading.Thread(target=print).start()\n" + ANSWER,
    "notebook.ipynb": json.dumps({"cells": [{"cell_type": "code", "source": ANSWER}]}),
}
ATTACKING = (
    "rewrites the memory of the judge",
    "kills, stops and interrupts every process that it sees",
    "looks into the first process, and at what it has inherited",
    "speaks to a socket that has no file, and to terminals",
    "writes into other folders",
    "changes its own file, and what lies beside it",
    "leaves sleepers in sessions of their own",
    "ends and leaves a child that keeps the pipe",
    "plants modules, links and pipes",
    "leaves shared memory, semaphores and queues behind",
    "forks without end",
    "fills the pipe of replies",
    "gives the reason that only a judge gives",
    "answers right until it is asked again",
    "prints without end",
)
"""One of each kind; none that fills the memory up to what `grade` allows."""

TAKES_ITS_PLACE = "open({marker!r} + '-won', 'w').close()\nraise SystemExit\n"
"""A submission called like a module that processes import when they begin."""

COMMAND = "import sys\nfrom attnlab_theory.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n"


@pytest.mark.slow("one attack on every fence, alone, stays inside")
def test_nobody_harms_another_or_the_machine(tmp_path):
    """Grades a class of attacks, many of which use up the time that they have."""
    secret = tmp_path / "elsewhere" / "987654321.6"
    cache = tmp_path / "cache" / "attnlab" / "jax"
    scratch, folder = tmp_path / "scratch", tmp_path / "class"
    for place in (secret.parent, cache, scratch, folder):
        place.mkdir(parents=True)
    secret.write_text("secret")
    (cache / "kept").write_text("compiled")
    (tmp_path / "attnlab.py").write_text(COMMAND)
    (tmp_path / "uw.toml").write_text('homework = "uw"\n[points]\n"1.2.1" = 1\n')
    for name, text in HONEST.items():
        (folder / name).write_text(text)
    preamble = PREAMBLE.format(judge=os.getpid(), marker=str(secret)).replace("def f(keys)", "def q1_2_1(keys)")
    for name in ATTACKING:
        body = (
            ATTACKS[name][1]
            .replace("f.__dict__", "q1_2_1.__dict__")
            .replace("{package!r}", repr(str(fences.PACKAGE)))
        )
        (folder / f"{name}.py").write_text(preamble + body + WRONG)
    (folder / "multiprocessing.py").write_text(TAKES_ITS_PLACE.format(marker=str(secret)))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    mounts, shared = Path("/proc/mounts").read_text(), shared_by_name()

    command = [sys.executable, tmp_path / "attnlab.py", "grade", ".", "--rubric", "../uw.toml"]
    with subprocess.Popen(
        [*command, "--csv", "../grades.csv", "--time-limit", "1.5", "--processes", "3"],
        cwd=folder,
        env=os.environ | {"TMPDIR": str(scratch), "XDG_CACHE_HOME": str(tmp_path / "cache")},
        stdout=subprocess.PIPE,
        text=True,
    ) as grading:
        shown = grading.communicate(timeout=250)[0]
    assert grading.returncode == 0
    rows = list(csv.DictReader((tmp_path / "grades.csv").read_text().splitlines()))
    reasons = {row["submission"]: row["1.2.1 reason"] for row in rows}
    wanted = dict.fromkeys(HONEST, "right") | {f"{name}.py": ATTACKS[name][0] for name in ATTACKING}
    # It raises while it is loaded, which says nothing of its function.
    assert reasons == wanted | {"multiprocessing.py": "by hand: raised"}
    assert all(row["fences missing"] == "" for row in rows)
    assert "won" not in shown

    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert secret.read_text() == "secret"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["elsewhere", "cache", "scratch", "class", "attnlab.py", "uw.toml", "grades.csv", "class-uw.jsonl"]
    )
    assert [*scratch.iterdir(), *secret.parent.iterdir()] == [secret]
    assert (cache / "kept").read_text() == "compiled"
    assert running(str(secret)) == []
    assert shared_by_name() == shared
    assert Path("/proc/mounts").read_text() == mounts
    assert glob.glob(f"/sys/fs/cgroup/**/attnlab-{grading.pid}-*", recursive=True) == []


@pytest.mark.parametrize("shown", ["class", "points.toml", "journals", "pages"])
def test_a_class_is_not_graded_where_every_submission_would_read_it(tmp_path, monkeypatch, capsys, shown):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "mine.py").write_text(ANSWER)
    (tmp_path / "points.toml").write_text('homework = "uw"\n[points]\n"1.2.1" = 1\n')
    monkeypatch.setattr(fences, "_installed", lambda: [tmp_path / shown])
    words = ["grade", f"{tmp_path}/class", "--rubric", f"{tmp_path}/points.toml"]
    words += ["--journal", f"{tmp_path}/journals/one.jsonl", "--html", f"{tmp_path}/pages"]
    assert main(words) == 2
    assert f"lies in {tmp_path}/{shown}, which every submission can read; move it" in capsys.readouterr().err
    assert not (tmp_path / "pages").exists()
