"""The transcripts of the walks are those of today's scripts, end well, and take five minutes at most."""

import re

import pytest

from tests.walks import WALKS, Step, steps, transcript

CODES = {"student": [0, 0, 1, 0, 1, 0], "instructor": [0, 0, 0, 0, 1], "researcher": [0, 0, 0, 0]}
"""The exit codes of the steps: 1 where something wrong is shown."""


@pytest.mark.parametrize("name", CODES)
def test_a_transcript_has_every_step_of_its_script(name):
    told = (WALKS / f"{name}.md").read_text()
    for step in steps((WALKS / f"{name}.sh").read_text()):
        assert f"{step.says}\n\n```\n{step.code}\n```\n\nExit code " in told
    found = re.findall(r"^Exit code (\d+), ([\d.]+) s:$", told, re.MULTILINE)
    assert [int(code) for code, _ in found] == CODES[name]
    assert sum(float(seconds) for _, seconds in found) <= 300
    assert "Traceback" not in told
    # A program of ours that another Python had run would not be what README tells.
    assert re.search(r": \d+ s of commands in a fresh clone, after `make lab` \([1-9]\d* s\) and `source", told)


def test_a_step_is_run_in_its_folder_and_told_with_its_exit_code(tmp_path, monkeypatch):
    (tmp_path / "toy.sh").write_text("# One.\ncat > a <<'END'\nx\n\ny\nEND\ncat a\n\n# Two.\nseq 40; false\n")
    monkeypatch.setattr("tests.walks.WALKS", tmp_path)
    assert steps((tmp_path / "toy.sh").read_text())[1] == Step("Two.", "seq 40; false")
    told = transcript("toy", tmp_path, {"PATH": "/usr/bin:/bin"}, lab=61.4)
    assert "0 s of commands in a fresh clone, after `make lab` (61 s) and `source .venv/bin/activate`." in told
    assert re.search(r"Exit code 0, 0\.\d s:\n\n```\nx\n\ny\n```", told)
    assert re.search(r"Exit code 1, 0\.\d s:", told)
    assert "30\n... and 10 more lines\n" in told
