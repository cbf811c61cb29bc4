"""An experiment as a script: what it writes, says and refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from attnlab_theory import experiment as runner
from tests.toy_experiments import files_of, names, toy

SCRIPT = """
from attnlab_theory.claims import Verdict
from attnlab_theory.experiment import main
from tests.toy_experiments import toy
from tests.toys import coin_claim

raise SystemExit(main(toy("coins"{})))
"""
UNEXPECTED = ", coin_claim(expect=Verdict.REFUTED)"


def start(script: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(script), *arguments],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def script_runs(tmp_path_factory):
    """An experiment run as a script, twice at once, in processes that hash strings differently."""
    script = tmp_path_factory.mktemp("experiments") / "coins.py"
    script.write_text(SCRIPT.format(""))
    folders = [tmp_path_factory.mktemp("script") for _ in range(2)]
    running = [
        start(script, "--out", str(folder), *more, PYTHONHASHSEED=str(seed))
        for seed, (folder, more) in enumerate(zip(folders, ([], ["--json"]), strict=True))
    ]
    said = [process.communicate(timeout=240) for process in running]
    assert [process.returncode for process in running] == [0, 0]
    return folders, said


@pytest.mark.slow("nothing inside asks this: each script needs seconds to import and judge")
def test_a_script_writes_the_same_bytes_in_every_process(script_runs):
    """The fixture starts the script twice, and each process imports jax, judges and draws."""
    (one, two), _ = script_runs
    for suffix in (".json", ".svg", ".png"):
        assert (one / f"coins{suffix}").read_bytes() == (two / f"coins{suffix}").read_bytes()


@pytest.mark.slow("what a script says to which stream when it refuses stays inside")
def test_a_script_prints_results_to_standard_output_and_progress_to_standard_error(script_runs):
    _, ((table, progress), (value, _)) = script_runs
    assert "coin  SUPPORTED" in table
    assert progress.startswith("judging: 1 claim\n")
    assert [*json.loads(value)] == ["findings", "run"]


@pytest.mark.slow("nothing inside asks this: each script needs seconds to import and judge")
@pytest.mark.parametrize(
    ("closed", "claims", "code"),
    [("stdout", "", 0), ("stderr", UNEXPECTED, 1)],
    ids=["as expected", "not as expected"],
)
def test_who_reads_no_further_changes_neither_the_work_nor_the_exit_code(tmp_path, closed, claims, code):
    """Starts a script, which imports jax, judges a claim and draws its figures."""
    script = tmp_path / "coins.py"
    script.write_text(SCRIPT.format(claims))
    with start(script, "--out", str(tmp_path / "lab")) as process:
        getattr(process, closed).close()
        left = (process.stderr if closed == "stdout" else process.stdout).read()
        assert process.wait(240) == code
    assert names(tmp_path / "lab") == files_of("coins")
    assert ("judging: " if closed == "stdout" else "coin") in left
    assert "Broken pipe" not in left


@pytest.mark.slow("a file that a full disk does not hold stays inside")
def test_what_a_full_disk_does_not_hold_is_one_line_and_exit_code_2(tmp_path):
    """Starts a script, which imports jax, judges a claim and draws its figures."""
    script = tmp_path / "coins.py"
    script.write_text(SCRIPT.format(""))
    with open("/dev/full", "w") as full:
        command = [sys.executable, str(script), "--out", str(tmp_path / "lab"), "--json"]
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environment, text=True, timeout=240)
    assert (done.returncode, done.stderr) == (2, "attnlab: <stdout>: No space left on device\n")


@pytest.mark.parametrize("arguments", [["--seed", "x"], ["--budget", "huge"], ["--nonsense"]])
def test_a_script_refuses_a_mistaken_command_line_in_one_line(monkeypatch, capsys, arguments):
    monkeypatch.setattr(sys, "argv", ["coins.py", *arguments])
    assert runner.main(toy("coins")) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert arguments[-1] in said.err


@pytest.mark.parametrize("error", [OSError("No space left"), MemoryError(), OverflowError("int too large")])
def test_what_a_script_cannot_do_is_one_line_as_at_the_front_door(monkeypatch, capsys, error):
    def fail(*arguments):
        raise error

    monkeypatch.setattr(sys, "argv", ["coins.py"])
    monkeypatch.setattr(runner, "run", fail)
    assert runner.main(toy("coins")) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert (str(error) or "MemoryError") in said.err
