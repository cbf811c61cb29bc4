"""A badge says what the table says, and "holds" of nothing that was not judged."""

import datetime
import json
import xml.etree.ElementTree as xml

import pytest

from attnlab_theory import __version__
from attnlab_theory.cli import main
from attnlab_theory.conform import badge, report
from attnlab_theory.conform.finding import Verdict
from attnlab_theory.conform.suite import Row

SPACE = "{http://www.w3.org/2000/svg}"

SLOPES = """
import numpy as np

def slopes(heads, length):
    steps = np.arange(1, heads + 1) * (8 / heads)
    return -(2.0 ** -steps)[:, None, None] * abs(np.arange(length)[:, None] - np.arange(length))

def rising(heads, length):
    return -slopes(heads, length)
"""


def rows(*verdicts):
    return [Row(name=str(i), verdict=verdict, line="", tried=1) for i, verdict in enumerate(verdicts)]


@pytest.mark.parametrize(
    ("verdicts", "code", "said"),
    [
        ((Verdict.HOLDS, Verdict.CONVENTION), 0, "holds"),
        ((Verdict.HOLDS, Verdict.FAILS, Verdict.NOT_JUDGED), 1, "fails 1 of 3"),
        ((Verdict.HOLDS, Verdict.NOT_JUDGED), 0, "not judged as a whole"),
        # Nothing fails, and the command is not content: a parameter was never passed, for example.
        ((Verdict.HOLDS,), 1, "not judged as a whole"),
        ((), 0, "not judged as a whole"),
    ],
)
def test_a_badge_holds_only_if_all_is_judged_and_nothing_fails(verdicts, code, said):
    root = xml.fromstring(badge.svg("causal", rows(*verdicts), code))
    left, right = (text.text for text in root.iter(f"{SPACE}text"))
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    assert (left, right) == (f"causal · attnlab {__version__}", f"{said} · {today}")
    assert root.findtext(f"{SPACE}title") == root.get("aria-label") == f"{left}: {right}"
    assert badge.line("a b.svg", "causal", rows(*verdicts), code) == f"![{left}: {right}](<a b.svg>)"


@pytest.mark.parametrize(("judged", "left", "said"), [(3, 2, ""), (1, 1, "1 of 2 rows say nothing"), (0, 0, "")])
def test_a_kind_of_which_half_is_not_judged_is_said_to_be_so(judged, left, said):
    told = report.unjudged(rows(*[Verdict.HOLDS] * judged, *[Verdict.NOT_JUDGED] * left))
    assert said in told
    assert bool(told) == bool(said)


def test_the_parts_of_a_badge_fill_it_and_hold_their_texts():
    root = xml.fromstring(badge.svg("grouped-query", rows(Verdict.HOLDS), 0))
    boxes = [[float(box.get(name)) for name in ("x", "width")] for box in root.iter(f"{SPACE}rect")]
    assert boxes[0][0] == 0
    assert boxes[1] == [boxes[0][1], float(root.get("width")) - boxes[0][1]]
    for (begin, width), text in zip(boxes, root.iter(f"{SPACE}text"), strict=True):
        assert begin < float(text.get("x"))
        assert float(text.get("x")) + float(text.get("textLength")) < begin + width


def test_the_command_writes_a_badge_and_prints_the_line_for_a_readme(capsys, tmp_path, monkeypatch):
    """Two processes: one target holds, and one fails."""
    (tmp_path / "mine.py").write_text(SLOPES)
    monkeypatch.chdir(tmp_path)
    asked = ["--as", "alibi", "--badge", "conform.svg"]
    assert main(["conform", "mine.py::slopes", *asked]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert last.startswith(f"    ![alibi · attnlab {__version__}: holds · 2")
    assert last.endswith("](conform.svg)")
    assert "holds" in (tmp_path / "conform.svg").read_text()
    assert main(["conform", "mine.py::rising", *asked, "--json"]) == 1
    assert "fails" in json.loads(capsys.readouterr().out)["badge"]
    assert "fails" in (tmp_path / "conform.svg").read_text()
    assert {path.name for path in tmp_path.iterdir()} <= {"mine.py", "conform.svg", "__pycache__"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--badge", "b.svg"], "--badge needs --as KIND"),
        (["--as", "softmax", "--badge", "b.svg", "--cases", "1"], "--badge and --cases contradict each other"),
        (["--as", "softmax", "--badge", "b.png"], "name FILE.svg, not b.png"),
        (["--as", "softmax", "--badge", "absent/b.svg"], "there is no folder"),
        (["--peers", "--badge", "b.svg"], "--junit and --badge away"),
    ],
)
def test_a_badge_that_would_say_nothing_is_refused_before_anything_is_called(capsys, tmp_path, options, said):
    (tmp_path / "mine.py").write_text("raise OSError('called')\n")
    target = [] if "--peers" in options else [f"{tmp_path}/mine.py::f"]
    assert main(["conform", *target, *options]) == 2
    assert said in capsys.readouterr().err


HARDLY = """
import numpy as np

table = np.random.default_rng(0).standard_normal((20, 20)).astype("float32")

def model(ids):
    return table[ids] + 1e-6 * np.cumsum(table[ids], 1)
"""


def test_the_last_line_and_a_strict_run_tell_that_half_is_not_judged(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(HARDLY)
    asked = ["conform", f"{tmp_path}/mine.py::model", "--as", "model", "--in-process"]
    assert main(asked) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "Not judged as a whole: 3 of 6 rows say nothing."
    assert main([*asked, "--strict", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["exit_code"], "Not judged as a whole: 3 of 6 rows say nothing." in found["notes"]) == (1, True)
