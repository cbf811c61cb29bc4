"""Who has handed in what: names of Canvas, Moodle and Gradescope, later attempts, rosters, and results.json."""

import csv
import io
import json
import re

import pytest

from attnlab_theory.cli import main
from attnlab_theory.grader.classroom import markers
from attnlab_theory.grader.classroom.hand_ins import files_in, hand_ins
from attnlab_theory.grader.classroom.marks import by_hand
from attnlab_theory.grader.classroom.senders import METADATA, Sender, Student, metadata_of, roster_of, sender_of

EXPORT = """\
submission_101:
  :submitters:
  - :name: Ann O'Hara
    :sid: '0012'
    :email: ann@uni.edu
  :created_at: 2026-03-05 10:00:00.000000000 Z
  :score: 3.0
  :history:
  - :id: 99
    :created_at: 2026-02-01 10:00:00.000000000 Z
    :email: nobody@uni.edu
submission_102:
  :submitters:
  - :name: Bob
    :sid:
    :email: bob@uni.edu
  - :name: Cy
    :sid: '14'
    :email: cy@uni.edu
  :created_at: 2026-03-02 11:00:00.000000000 Z
submission_103:
  :submitters:
  - :name: Ann O'Hara
    :sid: '0012'
    :email: ann@uni.edu
  :created_at: 2026-03-03 10:00:00.000000000 Z
"""


def handed_in(folder, **files):
    """A folder with these files, some of them in folders of their own."""
    place = folder / "class"
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


@pytest.mark.parametrize(
    ("name", "id", "who", "late", "file"),
    [
        ("ohara_12345_67890_hw.py", "12345", "ohara", False, "hw.py"),
        ("ohara_LATE_12345_67890_my_hw-1.py", "12345", "ohara", True, "my_hw-1.py"),
        ("ohara_late_12345_67890_hw.ipynb", "12345", "ohara", True, "hw.ipynb"),
        ("Ann O'Hara_4711_assignsubmission_file_", "4711", "Ann O'Hara", False, ""),
        ("Ann O'Hara_4711_assignsubmission_file", "4711", "Ann O'Hara", False, ""),
        ("Ann van_der Hara_4711_assignsubmission_file_hw.py", "4711", "Ann van_der Hara", False, "hw.py"),
        ("müllerjörg_12_34_hw (1).py", "12", "müllerjörg", False, "hw (1).py"),
        ("ohara_LATE_12_345_67_hw.py", "12", "ohara", True, "67_hw.py"),
        ("O'Hara, Ann 2nd_4711_assignsubmission_file_a_2.ipynb", "4711", "O'Hara, Ann 2nd", False, "a_2.ipynb"),
        ("week_1_2_hw.py", None, None, False, ""),
        ("ann_hw_12.py", None, None, False, ""),
        ("submission_101", None, None, False, ""),
    ],
)
def test_a_name_says_who_has_handed_in_and_whether_late(name, id, who, late, file):
    sender = sender_of(name, {})
    assert [(each.id, each.name) for each in sender.students] == ([(id, who)] if id else [])
    assert (sender.late, sender.file) == (late, file)


def test_gradescopes_metadata_names_everybody_of_a_group_and_the_time_of_the_submission(tmp_path):
    (tmp_path / METADATA).write_text(EXPORT)
    found = metadata_of(tmp_path)
    assert [str(each) for each in found["submission_101"].students] == ["Ann O'Hara (0012)"]
    assert [each.id for each in found["submission_102"].students] == ["bob@uni.edu", "14"]
    assert found["submission_101"].time == "2026-03-05 10:00:00.000000000 Z"
    assert sender_of("submission_102", found).students[1].ids == {"14", "cy@uni.edu"}
    assert metadata_of(tmp_path / "elsewhere") == {}
    changed = EXPORT.replace("\n", "\r\n").replace("  - :", "    - :").replace("    :", "      :")
    (tmp_path / METADATA).write_bytes(f"\ufeff---\r\n{changed}".encode())
    assert {name: each.key for name, each in metadata_of(tmp_path).items()} == {
        "submission_101": ("0012",),
        "submission_102": ("14", "bob@uni.edu"),
        "submission_103": ("0012",),
    }
    (tmp_path / METADATA).write_text("nothing")
    with pytest.raises(ValueError, match=r"submission_metadata\.yml names no submission; export"):
        metadata_of(tmp_path)


def names_of(found):
    return {each.name: each.instead_of for each in found}


def test_a_later_attempt_counts_instead_of_an_earlier_one_and_both_are_named(tmp_path):
    one, two = "def q2b(k, a, b): return 1\n", "def q2b(k, a, b): return 2\ndef q2c_1(k, a, b): return 3\n"
    place = handed_in(
        tmp_path,
        **{
            "ann_11_901_hw.py": one,
            "ann_11_950_hw-1.py": two,
            "ann_LATE_11_940_hw-2.py": one,
            "bob_12_902_first.py": one,
            "bob_12_903_second.py": two,
            "cy_13_904_hw.py": "from helper import x\ndef q2b(k, a, b): return x\n",
            "cy_13_905_helper-2.py": "x = 2\n",
            "cy_13_906_data.csv": "1,2\n",
            "dee.py": one,
        },
    )
    found = hand_ins(place)
    assert names_of(found) == {
        "ann_11_950_hw-1.py": ("ann_LATE_11_940_hw-2.py", "ann_11_901_hw.py"),
        "bob_12_903_second.py": ("bob_12_902_first.py",),
        "cy_13_906_data.csv": (),
        "dee.py": (),
    }
    cy = next(each for each in found if "cy" in each.name)
    assert sorted(files_in(cy)) == ["data.csv", "helper.py", "hw.py"]
    assert files_in(found[0]) == {"submission.py": two.encode()}


def test_folders_of_moodle_and_gradescope_are_one_submission_for_each_student(tmp_path):
    place = handed_in(
        tmp_path,
        **{
            "Ann_11_assignsubmission_file_/hw.py": "x = 1",
            "Ann_11_assignsubmission_onlinetext_/onlinetext.html": "<p>Hi",
            "Bob_12_assignsubmission_onlinetext_/onlinetext.html": "<p>Hi",
            **{f"submission_{number}/hw.py": f"x = {number}" for number in (101, 102, 103)},
            METADATA: EXPORT,
        },
    )
    found = hand_ins(place)
    assert names_of(found) == {
        "Ann_11_assignsubmission_file_": ("Ann_11_assignsubmission_onlinetext_",),
        "Bob_12_assignsubmission_onlinetext_": (),
        "submission_101": ("submission_103",),
        "submission_102": (),
    }
    assert "no Python" in found[1].refused


ROSTERS = {
    "Canvas": "Student,ID,SIS User ID,SIS Login ID\n    Points Possible,,,\nOHara,12345,u1,ann\nBo,2,u2,bo\n",
    "Moodle": "Identifier,Full name,ID number\nParticipant 12345,Ann,u1\nParticipant 2,Bo,u2\n",
    "Gradescope": "First Name,Last Name,SID,Email\nAnn,OHara,12345,a@u.edu\nBo,Ek,2,b@u.edu\n",
    "a spreadsheet": "name;id\nAnn;12345\nBo;2\n",
    "Canvas with names in quotes": 'Student,ID,Section\n"OHara, Ann",12345,S1\n"Ek, Bo",2,S2\n',
    "Moodle in columns of tabs": "Identifier\tFirst name\tSurname\nParticipant 12345\tAnn\tO\nParticipant 2\tBo\n",
    "Gradescope with addresses": "Name,SID,Email\nAnn,12345,a@u.edu\n,2,b@u.edu\n",
    "a spreadsheet that says how it is parted": "sep=;\nname;id\nAnn;12345\nBo;2\n",
}


@pytest.mark.parametrize("text", ROSTERS.values(), ids=ROSTERS)
def test_rosters_are_read_as_each_system_writes_them(tmp_path, text):
    (tmp_path / "roster.csv").write_text("\ufeff" + text, "utf-8")
    roster = roster_of(tmp_path / "roster.csv")
    assert [each.id for each in roster.students] == ["12345", "2"]
    assert ("Ann" in roster.students[0].name) == ("Ann" in text)
    ann = roster.named("x_12345_9_hw.py", Sender(students=(Student(id="12345"),)))
    assert [each.id for each in ann] == ["12345"]
    assert [each.id for each in roster.named("hw-12345 (1).py", Sender())] == ["12345"]
    assert roster.named("hw-1234.py", Sender()) == ()
    assert [each.id for each in roster.missing(ann)] == ["2"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("who,when\n1,2\n", "its first line is 'who, when'; one column is to be called id"),
        ("", "its first line is 'nothing'"),
        ("Matrikel,Name\n1,A\n", "its first line is 'Matrikel, Name'; one column is to be called id"),
        ("sid,email\n,\n", "nobody stands below its headings"),
        ("id\n", "nobody stands below its headings"),
        ("id,name\n7,A\n8,B\n7,C\n", "lines 2 and 4 have the id '7'"),
    ],
)
def test_a_roster_that_names_nobody_is_refused_in_a_line(tmp_path, capsys, text, said):
    handed_in(tmp_path, **{"a.py": ""})
    (tmp_path / "roster.csv").write_text(text)
    words = ["grade", str(tmp_path / "class"), "--rubric", "uw", "--roster", str(tmp_path / "roster.csv")]
    assert main(words) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def mark(reason):
    judgement = {
        **{"reason": reason, "asks": "a query.", "expected": "q: the query.", "failed": "", "hint": "Try 2 keys."},
        **{"tolerance": 0.5, "unit": "units", "cases": 3, "error": 1.0, "worst": 1.0, "notes": [], "output": ""},
        "case": {"shown": {"n": "2"}, "answer": {"q": [1 / 3, None]}, "replay": {"n": 2}},
        "answer": "q",
    }
    return {"reason": reason, "said": "", "by_hand": False, "fences": [], "judgement": judgement}


@pytest.fixture
def judged_so(monkeypatch):
    """In the place of processes that judge: uw/1.2.1 is right, 1.2.2 wrong, and the rest is left to a person."""

    def so(work, count, terms):
        for hand_in in work:
            marks = {} if "essay" in hand_in.name else {"1.2.1": mark("right"), "1.2.2": mark("wrong")}
            yield hand_in, {part: marks.get(part) or by_hand("missing", "none") for part in terms.rubric.points}

    monkeypatch.setattr(markers, "marked", so)


def test_a_class_is_compared_with_its_roster_and_nobody_gets_a_silent_zero(tmp_path, capsys, judged_so):
    place = handed_in(
        tmp_path,
        **{
            "ann_11_901_hw.py": "x = 1",
            "ann_LATE_11_950_hw-1.py": "x = 2",
            "eve_99_903_hw.py": "x = 3",
            "12.py": "x = 4",
            "12_again.py": "x = 5",
        },
    )
    (tmp_path / "roster.csv").write_text('ID,Student\n11,Ann\n12,=Bob\n13,"Cy, Jr."\n')
    command = ["grade", str(place), "--rubric", "uw", "--roster", str(tmp_path / "roster.csv")]
    assert main([*command, "--csv", str(tmp_path / "grades.csv"), "--html", str(tmp_path / "pages")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "missing: Cy, Jr. (13)" in told
    assert "of nobody in the roster: eve_99_903_hw.py" in told
    assert "=Bob (12) has 2 rows: 12.py, 12_again.py; move away what does not count" in told
    assert "ann_LATE_11_950_hw-1.py is judged instead of ann_11_901_hw.py" in told
    rows = {row["student id"]: row for row in csv.DictReader(io.StringIO((tmp_path / "grades.csv").read_text()))}
    assert list(rows) == ["12", "11", "99", "13"]  # of the two of 12 the last
    assert (rows["11"]["student"], rows["11"]["late"], rows["11"]["instead of"]) == (
        "Ann",
        "late",
        "ann_11_901_hw.py",
    )
    assert rows["12"]["student"] == "'=Bob"
    assert (rows["13"]["points"], rows["13"]["1.2.1 points"]) == ("", "")
    assert rows["13"]["1.2.1 reason"] == "nothing handed in"
    page = (tmp_path / "pages" / rows["11"]["page"]).read_text()
    assert "Handed in by Ann (11), late." in page
    assert "Judged instead of ann_11_901_hw.py." in page
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["missing"], found["unknown"]) == ([{"id": "13", "name": "Cy, Jr."}], ["eve_99_903_hw.py"])


def test_gradescopes_autograder_gets_one_submission_as_it_wants_it(tmp_path, capsys, judged_so):
    place = handed_in(tmp_path, **{"hw.py": "x = 1", "more.py": "x = 2"})
    out = tmp_path / "results.json"
    assert main(["grade", str(place), "--rubric", "uw", "--gradescope", str(out)]) == 0
    found = json.loads(out.read_text())
    assert "1 submission of 4 points" in capsys.readouterr().out
    right, wrong, *others = found["tests"]
    assert (right["score"], right["max_score"], right["status"]) == (1, 1, "passed")
    assert (wrong["score"], wrong["status"], wrong["number"]) == (0, "failed", "1.2.2")
    for line in (
        "Question: a query.",
        "Expected: q: the query.",
        "Hint: Try 2 keys.",
        "  n: 2",
        "  answer q: (0.3333, nan)",
        "Off by 1; 0.5 units",
    ):
        assert line in wrong["output"]
    assert all("score" not in other and "by hand" in other["name"] for other in others)
    assert re.fullmatch(r"A person must decide 1\.3\.1, 1\.3\.2\.", found["output"])
    assert not {"score", "max_score"} & found.keys()


def test_what_a_person_must_decide_entirely_has_no_points_anywhere(tmp_path, capsys, judged_so):
    place = handed_in(tmp_path, **{"ann_11_901_hw.py": "x = 1", "bo_12_902_essay.py": "x = 2"})
    command = ["grade", str(place), "--rubric", "uw", "--csv", str(tmp_path / "grades.csv")]
    assert main([*command, "--html", str(tmp_path / "pages")]) == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "grades.csv").read_text())))
    assert [(row["points"], row["by hand"]) for row in rows] == [
        ("1", "1.3.1 1.3.2"),
        ("", "1.2.1 1.2.2 1.3.1 1.3.2"),
    ]
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines if ".py" in line] == ["1", "by"]
    first, second = ((tmp_path / "pages" / row["page"]).read_text() for row in rows)
    assert "<p>1 of 4 points. A person must decide 1.3.1, 1.3.2.</p>" in first
    assert "<p>4 points. A person must decide 1.2.1, 1.2.2, 1.3.1, 1.3.2.</p>" in second
    assert main([*command, "--json"]) == 0
    assert [each["points"] for each in json.loads(capsys.readouterr().out)["submissions"]] == [1, None]


def test_an_essay_and_the_work_of_a_group_go_to_gradescope_too(tmp_path, judged_so):
    out = tmp_path / "results.json"
    place = handed_in(tmp_path, **{"submission_102/essay.py": "x = 1", METADATA: EXPORT})
    assert main(["grade", str(place), "--rubric", "uw", "--gradescope", str(out)]) == 0
    tests = json.loads(out.read_text())["tests"]
    assert [test["number"] for test in tests if "score" in test] == ["1.2.1", "1.2.2"]
    # Written over by the next run, without --force.
    place = handed_in(tmp_path / "alone", **{"essay.py": "x = 1"}).rename(tmp_path / "essay")
    assert main(["grade", str(place), "--rubric", "uw", "--gradescope", str(out)]) == 0
    found = json.loads(out.read_text())
    assert not any("score" in test for test in found["tests"])
    assert found["output"] == "A person must decide 1.2.1, 1.2.2, 1.3.1, 1.3.2."


@pytest.mark.parametrize(
    ("text", "found"), [("id,name\rann,Ann\r", ["ann"]), ("id,name\nann,A\rbob,B\n", ["ann", "bob"])]
)
def test_a_roster_of_an_older_system_ends_its_lines_otherwise(tmp_path, text, found):
    (tmp_path / "roster.csv").write_bytes(text.encode())
    assert [student.id for student in roster_of(tmp_path / "roster.csv").students] == found


def test_a_roster_that_is_no_table_is_refused_in_one_line(tmp_path):
    (tmp_path / "roster.csv").write_text("id,name\nann," + "x" * 200_000)
    with pytest.raises(ValueError, match=r"^--roster .*roster.csv is no CSV: field larger than field limit"):
        roster_of(tmp_path / "roster.csv")
