"""The wheel carries everything: installed into a fresh environment, it works in an empty folder."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*command, cwd, **environment):
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def attnlab(tmp_path_factory):
    """The command of an environment that has our wheel, and lends the dependencies of this one."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "fresh", with_pip=False)
    python = folder / "fresh" / "bin" / "python"
    run(
        *(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", wheel),
        cwd=folder,
    )
    # A folder named in a .pth file lends its packages, but not its own .pth files: our checkout stays unseen.
    (site,) = (folder / "fresh").glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "fresh" / "bin" / "attnlab"


@pytest.mark.slow("nothing inside asks this: a wheel must be built and installed")
def test_installed_command_lists_and_runs_in_an_empty_folder(attnlab, tmp_path):
    """The fixture builds the wheel and installs it, and the command judges an experiment."""
    listed = json.loads(run(attnlab, "list", "--json", cwd=tmp_path))
    labs = {path.parent.name for path in (ROOT / "attnlab_theory" / "labs").glob("*/claims.py")}
    assert {path.stem for path in (ROOT / "experiments").glob("*.py")} | labs == {e["name"] for e in listed}
    result = json.loads(run(attnlab, "run", "copying", "--json", cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path)))
    assert [f for f in result["findings"] if f["verdict"] != f["expect"]] == []
    assert result["run"]["commit"] is None
    written = {path.name for path in (tmp_path / "lab").glob("copying*")}
    assert written == {"copying.json", "copying.run.json", "copying.svg", "copying.png"}


@pytest.mark.slow("answers that quote a run of a named folder stay inside")
def test_answers_about_training_quote_the_committed_run_in_an_empty_folder(attnlab, tmp_path):
    """Starts the installed command, which imports the whole package."""
    (answer,) = json.loads(run(attnlab, "answers", "uw/3.q1", "--json", cwd=tmp_path))
    assert answer["status"] == "supported"
    assert "not measured" not in answer["answer"]


@pytest.mark.slow("nothing inside asks this: a wheel must be built and installed")
def test_no_top_level_package_called_experiments_is_installed(attnlab):
    (site,) = attnlab.parents[1].glob("lib/python*/site-packages")
    assert not (site / "experiments").exists()
    assert (site / "attnlab_theory" / "experiments").is_dir()


@pytest.mark.slow("what a package without the folder board prints stays inside")
def test_the_committed_board_is_printed_and_only_a_checkout_judges(attnlab, tmp_path):
    """Starts the installed command three times."""
    (site,) = attnlab.parents[1].glob("lib/python*/site-packages")
    assert not (site / "board").exists()
    told = json.loads(run(attnlab, "conform", "--peers", "--json", cwd=tmp_path))
    assert told == json.loads((ROOT / "figures" / "conformance" / "board.json").read_text("utf-8"))
    assert "A maintainer would call 10 cells a bug" in run(attnlab, "conform", "--peers", cwd=tmp_path)
    asked = [str(attnlab), "conform", "--peers", "--install"]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--peers --install needs a checkout of attnlab" in done.stderr
