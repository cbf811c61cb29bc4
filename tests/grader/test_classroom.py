"""A class is graded as a person would grade it, whatever one of its submissions does, says or is called."""

import csv
import dataclasses
import html.parser
import io
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from attnlab_theory.cli import main
from attnlab_theory.grader.cases import drawn_cases
from attnlab_theory.grader.classroom import markers
from attnlab_theory.grader.classroom.gradebook import FORMULA
from attnlab_theory.grader.classroom.hand_ins import HandIn, files_of, stage
from attnlab_theory.grader.classroom.marking import marks_of
from attnlab_theory.grader.classroom.marks import Terms
from attnlab_theory.grader.classroom.rubric import rubric_of
from attnlab_theory.grader.contracts import CONTRACTS
from attnlab_theory.grader.grading import check_answer
from attnlab_theory.sandbox import fences

linux = [
    pytest.mark.skipif(sys.platform != "linux", reason="no other system has these fences"),
    pytest.mark.usefixtures("fenced"),
]

RIGHT = """
import numpy as np

def q2b(keys, a, b):
    return 20 * (keys[a] + keys[b])

def q2c_1(means, a, b):
    return 10 * (means[a] + means[b])

def q2e_2(ua, ub, uc, ud):
    B = ua @ ua
    return np.eye(len(ua)), np.outer(ud, ua) + np.outer(uc, ud), (np.outer(ub, ub) - np.outer(uc, uc)) / B
"""
AVERAGE = "return 20 * (keys[a] + keys[b])"
ATTACK = """
    import os
    for process in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
        if process not in (1, os.getpid()):
            try:
                os.kill(process, 19)
            except OSError:
                pass
    for number in range(3, 64):
        try:
            os.write(number, b'{"right": true}\\n')
        except OSError:
            pass
    return keys[a]
"""
FLOOD = """
import os
while True:
    for number in range(3, 64):
        try:
            os.write(number, b"[" * 2**20)
        except OSError:
            pass
"""
HOSTILE = "=cmd|' /C calc'!A0\n<script>alert(1)<script>\x1b[2J,\"..x.py"
NOTEBOOK = json.dumps({"cells": [{"cell_type": "code", "source": RIGHT}, {"cell_type": "code", "source": "%plot"}]})

CLASS = {
    "right.py": RIGHT,
    "wrong.py": RIGHT.replace(AVERAGE, "return keys[a] + keys[b]"),
    "crash.py": RIGHT.replace(AVERAGE, "import ctypes; ctypes.string_at(0)"),
    "hang.py": f"while True: pass\n{RIGHT}",
    "flood.py": FLOOD + RIGHT,
    "attack.py": RIGHT.replace(AVERAGE, ATTACK),
    "missing.py": RIGHT[: RIGHT.index("def q2c_1")],
    "notebook.ipynb": NOTEBOOK,
    "empty.py": "",
    "raises.py": RIGHT.replace(AVERAGE, "raise ValueError('<script>alert(2)</script>\\x1b[2J')"),
    HOSTILE: RIGHT.replace("20", "30"),
    "essay.pdf": "%PDF",
}
AS_A_PERSON_WOULD = {
    "right.py": "1 right 1 right 1 right",
    "wrong.py": "0 wrong 1 right 1 right",
    "crash.py": "0 ended 1 right 1 right",
    "hang.py": "0 timed out 0 timed out 0 timed out",
    "flood.py": "0 ended 0 ended 0 ended",
    "attack.py": "0 ended 1 right 1 right",
    "missing.py": "1 right 0 missing 0 missing",
    "notebook.ipynb": "1 right 1 right 1 right",
    "empty.py": "0 missing 0 missing 0 missing",
    "raises.py": "0 raised 1 right 1 right",
    HOSTILE: "1 right 1 right 1 right",
    "essay.pdf": "by hand: not judged " * 3,
}


@pytest.fixture
def few_cases(monkeypatch):
    """Contracts of a few cases, and processes that are this one: neither is the question here."""
    drawn_cases.cache_clear()
    for question in ("practical4/2b", "practical4/2c.1", "practical4/2e.2"):
        contract = CONTRACTS[question]
        few = dataclasses.replace(contract, examples=6, besides=contract.besides[:4])
        monkeypatch.setitem(CONTRACTS, question, few)

    def in_this_process(work, count, terms):
        for hand_in in work:
            with tempfile.TemporaryDirectory() as folder:
                place = type(hand_in.path)(os.path.realpath(folder))
                files = files_of(hand_in.path)
                stage(files, place)
                yield hand_in, marks_of(place, list(files), terms)

    monkeypatch.setattr(markers, "marked", in_this_process)
    yield
    drawn_cases.cache_clear()


@pytest.fixture
def rubric(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('homework = "practical4"\n[points]\n"2b" = 1\n"2c.1" = 1\n"2e.2" = 1\n')
    return str(path)


@pytest.fixture
def handed_in(tmp_path):
    folder = tmp_path / "handed in"
    folder.mkdir()

    def write(files: dict[str, str]) -> str:
        for name, text in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        return str(folder)

    return write


class _Tags(html.parser.HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)


class TestAClass:
    pytestmark = linux

    @pytest.mark.slow("one submission whose marker is killed stays inside")
    def test_twelve_are_graded_as_a_person_would_and_again_from_half_a_journal(
        self, tmp_path, handed_in, rubric, few_cases, capsys
    ):
        """Grades twelve submissions, some of which use up their time, and most of them once more."""
        folder = handed_in(CLASS)
        grades, journal = tmp_path / "grades.csv", tmp_path / "handed in-practical4.jsonl"
        command = ["grade", folder, "--rubric", rubric, "--time-limit", "2", "--csv", str(grades)]
        assert main([*command, "--html", str(tmp_path / "pages")]) == 0
        shown = capsys.readouterr().out
        assert "12 submissions of 3 points; 3 marks by hand" in shown
        assert "\x1b" not in shown

        rows = list(csv.DictReader(io.StringIO(grades.read_text())))
        named = dict(zip(sorted(CLASS, key=os.fsencode), rows, strict=True))
        for name, row in named.items():
            marks = (f"{row[f'{part} points']} {row[f'{part} reason']}" for part in ("2b", "2c.1", "2e.2"))
            assert " ".join(" ".join(marks).split()) == AS_A_PERSON_WOULD[name].strip(), name
            assert row["fences missing"] == ""
        assert named["essay.pdf"]["by hand"] == "2b 2c.1 2e.2"
        cells = [cell for row in rows for cell in row.values()]
        assert not any(cell.startswith(tuple(FORMULA)) or "\x1b" in cell or "\n" in cell for cell in cells)

        written = {path.name: path.read_text() for path in (tmp_path / "pages").iterdir()}
        assert set(written) == {"index.html", *(row["page"] for row in rows)}
        for text in written.values():
            assert not {"script", "img", "iframe"} & _Tags(text).tags
            assert "\x1b" not in text
            assert os.path.join(tempfile.gettempdir(), "tmp") not in text
        assert "--replay" in written[named["wrong.py"]["page"]]
        assert "weights" in written[named["wrong.py"]["page"]]
        assert "ValueError" in written[named["raises.py"]["page"]]

        # A kill leaves whole lines and half a line: the rest is judged again, to the same bytes.
        before = grades.read_bytes()
        lines = journal.read_bytes().splitlines(keepends=True)
        assert len(lines) == len(CLASS)  # a heading, and all but the essay
        kept = [line for line in lines[1:] if b'"right": false' in line]
        assert 0 < len(kept) < len(lines) - 1
        journal.write_bytes(lines[0] + b"".join(kept) + lines[1][:40])
        grades.unlink()
        shutil.rmtree(tmp_path / "pages")
        assert main([*command, "--html", str(tmp_path / "pages")]) == 0
        assert f"{len(kept)} of 12 submissions are known" in capsys.readouterr().err
        assert grades.read_bytes() == before
        assert {path.name: path.read_text() for path in (tmp_path / "pages").iterdir()} == written
        assert sorted(journal.read_bytes().splitlines()) == sorted(b"".join(lines).splitlines())

    @pytest.mark.slow("a marker that is killed stays inside")
    def test_processes_go_on_after_one_that_is_killed_and_a_signal_keeps_the_journal(self, tmp_path, handed_in):
        """Starts the command in a process of its own, and waits for its first mark."""
        right = "def q1_2_1(keys): return 1e5 * keys[0]\n"
        stays = "import time\ndef q1_2_1(keys): time.sleep(600)\n"
        folder = handed_in({"a.py": right, "z.py": stays})
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        own = tmp_path / "uw.toml"
        own.write_text('homework = "uw"\n[points]\n"1.2.1" = 2\n')
        command = ["grade", folder, "--rubric", str(own), "--processes", "1"]
        running = subprocess.Popen(
            [sys.executable, "-m", "attnlab_theory", *command],
            env={**os.environ, "TMPDIR": str(scratch)},
            stdout=subprocess.DEVNULL,
        )
        journal = tmp_path / "handed in-uw.jsonl"
        deadline = time.monotonic() + 100
        while not (journal.exists() and journal.read_bytes().count(b"\n") == 2):
            assert running.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 143
        assert json.loads(journal.read_text().splitlines()[1])["marks"]["1.2.1"]["reason"] == "right"
        assert list(scratch.iterdir()) == []

    @pytest.mark.slow("that other seeds draw other cases stays inside")
    def test_an_answer_that_remembers_is_wrong_in_every_run_but_that_of_its_table(
        self, tmp_path, handed_in, rubric, few_cases, capsys
    ):
        """Judges one question four times, and shrinks three of the counterexamples."""
        table = {}
        for case in (*drawn_cases(CONTRACTS["practical4/2b"]), *CONTRACTS["practical4/2b"].besides):
            keys, a, b = case.arguments
            table[keys.tobytes(), int(a), int(b)] = (20 * (keys[a] + keys[b])).tolist()
        remembering = f"TABLE = {table!r}\ndef q2b(keys, a, b): return TABLE.get((keys.tobytes(), a, b), keys[a])\n"
        folder = handed_in({"a.py": remembering, "b.py": remembering + "#"})
        remembered = check_answer(f"{folder}/a.py::q2b", "practical4/2b")
        assert (remembered.right, remembered.seed) == (True, 0), "as seed 0 is known to all, check takes no other"
        (tmp_path / "own.toml").write_text('homework = "practical4"\n[points]\n"2b" = 1\n')
        command = ["grade", folder, "--rubric", str(tmp_path / "own.toml"), "--json", "--journal"]
        assert main([*command, f"{tmp_path}/one"]) == 0
        one = json.loads(capsys.readouterr().out)
        marks = [each["questions"]["2b"] for each in one["submissions"]]
        assert [mark["reason"] for mark in marks] == ["wrong", "wrong"]
        # Both got the same cases, and whoever says the seed gets them again.
        assert marks[0]["judgement"]["case"] == marks[1]["judgement"]["case"]
        again = check_answer(f"{folder}/a.py::q2b", "practical4/2b", seed=one["seed"])
        assert json.loads(json.dumps(again.as_json()["case"])) == marks[0]["judgement"]["case"]

    def test_a_folder_is_searched_by_the_names_of_its_files(self, tmp_path, handed_in, rubric, few_cases, capsys):
        """Judges three questions, each in a process of its own."""
        folder = handed_in(
            {
                "eve/2B.PY": "from helper import S\ndef query(keys, a, b): return S * (keys[a] + keys[b])\n",
                "eve/helper.py": "S = 12\n",
                "eve/others.py": RIGHT.replace("q2c_1", "Q2c_i").replace("20 *", "0 *"),
            }
        )
        assert main(["grade", folder, "--rubric", rubric, "--json"]) == 0
        (eve,) = json.loads(capsys.readouterr().out)["submissions"]
        assert {part: mark["reason"] for part, mark in eve["questions"].items()} == dict.fromkeys(
            ("2b", "2c.1", "2e.2"), "right"
        )
        assert eve["questions"]["2b"]["judgement"]["answer"] == "2B.PY::query"
        assert eve["questions"]["2c.1"]["judgement"]["answer"] == "others.py::Q2c_i"

    @pytest.mark.slow("which fences protect a verdict stays inside")
    def test_nothing_is_right_without_the_fences_that_protect_it(self, tmp_path, rubric, few_cases):
        """Judges three questions twice, each in a process of its own."""
        (tmp_path / "m").mkdir()
        (tmp_path / "m" / "submission.py").write_text(RIGHT)
        without = fences.MEANS - {"bubblewrap", "user", "mount", "pid", "network", "uid", "undumpable"}
        for unfenced in (False, True):
            terms = Terms(rubric=rubric_of(rubric), time_limit=20, unfenced=unfenced, means=without)
            mark = marks_of(tmp_path / "m", ["submission.py"], terms)["2b"]
            assert mark["by_hand"] is not unfenced
            assert (mark["reason"] == "right") is unfenced
            assert "judge" in mark["fences"]

    @pytest.mark.slow("one submission that uses up its time stays inside")
    def test_after_two_questions_that_use_up_their_time_the_others_are_left_to_a_person(
        self, tmp_path, rubric, few_cases
    ):
        """Two questions use up the second that they have."""
        (tmp_path / "m").mkdir()
        sleepy = "def q2b(k, a, b):\n    while True: pass\ndef q2c_1(k, a, b):\n    while True: pass\n"
        (tmp_path / "m" / "submission.py").write_text(RIGHT + sleepy)
        marks = marks_of(tmp_path / "m", ["submission.py"], Terms(rubric=rubric_of(rubric), time_limit=1))
        assert [(mark["reason"], mark["by_hand"]) for mark in marks.values()] == [
            ("timed out", False),
            ("timed out", True),
            ("not judged", True),
        ]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_no_more_processes_mark_than_are_asked_for_and_each_has_time_to_end(count, monkeypatch):
    alive: list[object] = []
    most, given = 0, []

    class Marker:
        """In the place of a process that marks: its answers lie ready."""

        def __init__(self, terms, scratch):
            nonlocal most
            self.connection, self.theirs = multiprocessing.Pipe()
            for _ in range(3):
                self.theirs.send({"2b": "a mark"})
            alive.append(self)
            most = max(most, len(alive))

        def tell(self):
            self.theirs.close()

        def end(self, seconds=0.0):
            given.append(seconds)
            alive.remove(self)
            self.connection.close()

    monkeypatch.setattr(markers, "_Marker", Marker)
    work = [HandIn(path=Path(f"{i}.py"), content=str(i)) for i in range(3)]
    found = list(markers.marked(work, count, Terms(rubric=rubric_of("uw"), time_limit=1)))
    assert sorted(hand_in.name for hand_in, _ in found) == ["0.py", "1.py", "2.py"]
    assert (most, len(given), alive) == (min(count, 3), min(count, 3), [])
    assert all(markers.ENDING / 2 < seconds <= markers.ENDING for seconds in given)


def test_cases_that_are_drawn_once_are_those_that_a_right_answer_is_asked(tmp_path, few_cases):
    question = "practical4/2e.2"
    path = tmp_path / "mine.py"
    path.write_text(RIGHT)
    once = check_answer(f"{path}::q2e_2", question, drawn=drawn_cases(CONTRACTS[question]))
    every = check_answer(f"{path}::q2e_2", question)
    assert (once.reason, once.cases, once.worst) == (every.reason, every.cases, every.worst)


def test_a_seed_draws_cases_of_its_own_and_the_same_ones_again(few_cases):
    drawn = [drawn_cases(CONTRACTS["practical4/2e.2"], seed) for seed in (0, 1, 2)]
    drawn_cases.cache_clear()
    assert [drawn_cases(CONTRACTS["practical4/2e.2"], seed) for seed in (0, 1, 2)] == drawn
    # The first and smallest case may be common to all.
    common = {*drawn[0]} & {*drawn[1]} | {*drawn[0]} & {*drawn[2]} | {*drawn[1]} & {*drawn[2]}
    assert len(common) <= 1
