"""A target whose import takes for ever gets one line, and what is no number no warning."""

import os
import subprocess
import sys

import pytest

from attnlab_theory.cli import main
from attnlab_theory.conform import callers


@pytest.mark.slow("a file of claims whose import never ends stays inside")
@pytest.mark.parametrize(
    "written",
    ["import time; time.sleep(600)", "import signal\nsignal.signal(14, signal.SIG_IGN)\nwhile True: pass"],
)
def test_an_import_without_end_gets_one_line_within_its_limit(capsys, tmp_path, monkeypatch, written):
    """Starts a process, and waits until its import has used up its time."""
    monkeypatch.setattr(callers, "LOADING", 0.5)
    monkeypatch.setattr(callers, "GRACE", 0.5)
    (tmp_path / "slow.py").write_text(f"{written}\ndef f(q, k, v): return v\n")
    assert main(["conform", f"{tmp_path}/slow.py::f", "--as", "softmax"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "slow.py::f cannot be loaded: its import took longer than 0.5 s" in said


def test_an_import_without_end_gets_one_line_in_process(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(callers, "LOADING", 0.1)
    (tmp_path / "slow.py").write_text("import time; time.sleep(600)\ndef f(q, k, v): return v\n")
    assert main(["conform", f"{tmp_path}/slow.py::f", "--as", "softmax", "--in-process"]) == 2
    assert "slow.py::f cannot be loaded: its import took longer than 0.1 s" in capsys.readouterr().err


@pytest.mark.slow("nothing inside asks this: a process must judge a whole target")
@pytest.mark.parametrize("number", ["nan", "inf"])
def test_what_is_no_number_prints_no_warning(tmp_path, number):
    """Starts a process that judges a target whole."""
    (tmp_path / "none.py").write_text(f"import numpy as np\ndef f(q, k, v): return v * np.float32(np.{number})\n")
    line = "import sys; from attnlab_theory.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", line, "conform", f"{tmp_path}/none.py::f", "--as", "softmax"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert (ran.returncode, ran.stderr) == (1, "")
