"""What surrounds the grading of a class: rubrics and names, what is handed in, tables and pages, refusals."""

import os
from types import SimpleNamespace

import pytest

from attnlab_theory.answers.questions import HOMEWORKS
from attnlab_theory.cli import main
from attnlab_theory.exits import visible
from attnlab_theory.grader.classroom import journal, marking
from attnlab_theory.grader.classroom.gradebook import FORMULA, safe
from attnlab_theory.grader.classroom.hand_ins import content_of, files_of, hand_ins
from attnlab_theory.grader.classroom.marking import is_protected
from attnlab_theory.grader.classroom.rubric import REFUSED, RUBRICS, names_of, rubric_of, stems_of, template
from attnlab_theory.grader.contracts import CONTRACTS
from attnlab_theory.report import webpage
from attnlab_theory.sandbox import fences


@pytest.mark.parametrize("homework", RUBRICS)
def test_every_question_that_code_can_answer_has_points_and_names_of_its_own(homework):
    rubric = rubric_of(homework)
    assert [rubric.question(part) for part in rubric.points] == [
        question for question in CONTRACTS if question.startswith(f"{homework}/")
    ]
    every = [name for part in rubric.points for name in names_of(part)]
    assert len(set(every)) == len(every)
    assert all(name.isidentifier() for name in every)
    found: dict[str, object] = {}
    exec(compile(template(rubric), "template", "exec"), found)
    assert all(callable(found[names_of(part)[0]]) for part in rubric.points)


def test_names_are_read_as_people_write_them():
    assert names_of("2b")[0] == "q2b"
    assert {"q2c_1", "q2c1", "q2_c_1", "q2c_i", "Q2c_1", "question_2c_1"} <= set(names_of("2c.1"))
    assert {"q1b_ii", "q1b_2", "q1bii"} <= set(names_of("1b.ii"))
    assert {"q1_2_1", "q121"} <= set(names_of("1.2.1"))
    assert names_of("1.i")[0] == "q1_i"
    assert names_of("3") == ("q3", "Q3", "question3", "question_3")
    assert {"2c.1", "2c_1", "2ci", "q2c_i", "question_2c_1", "practical4_2c1"} <= stems_of("2c.1", "practical4")
    assert all(stem == stem.lower() for stem in stems_of("2c.1", "practical4"))


def test_homeworks_without_a_rubric_are_refused_with_the_reason(capsys):
    assert {*RUBRICS, *REFUSED} == set(HOMEWORKS)
    for homework, why in REFUSED.items():
        assert main(["grade", ".", "--rubric", homework]) == 2
        assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rubric", "practical5"], "--rubric takes practical4, cs224n, uw"),
        (["nowhere", "--rubric", "uw"], "nowhere is not a folder"),
        (["empty", "--rubric", "uw"], "nothing has been handed in"),
        (["class", "--rubric", "uw", "--csv", "class/out.csv"], "lies among the submissions"),
        (["class", "--rubric", "uw", "--time-limit", "0"], "--time-limit must be positive"),
        (["class", "--rubric", "uw", "--processes", "-1"], "--processes is at least 0"),
        (["class", "--rubric", "bad.toml"], "no '9z'"),
        (["class", "--rubric", "uw", "--journal", "bad.toml"], "is not a journal of attnlab grade"),
        (["class", "--rubric", "uw", "--seed", "0"], "--seed is at least 1, not 0"),
        (["class", "--rubric", "uw", "--template"], "--template stands alone"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "a.py").write_text("")
    (tmp_path / "bad.toml").write_text('homework = "uw"\n[points]\n"9z" = 1\n')
    assert main(["grade", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_what_is_no_ordinary_file_is_neither_followed_nor_waited_for(tmp_path):
    folder = tmp_path / "class"
    folder.mkdir()
    (tmp_path / "secret.py").write_text("secret")
    (folder / "link.py").symlink_to(tmp_path / "secret.py")
    (folder / ".hidden.py").write_text("")
    (folder / "with link").mkdir()
    (folder / "with link" / "a.py").symlink_to(tmp_path / "secret.py")
    (folder / "a.py").write_text("x = 1")
    (folder / "b.py").write_text("x = 1")
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe.py")
    found = {each.name: each for each in hand_ins(folder)}
    assert "a link" in found["link.py"].refused
    assert "no Python file" in found["with link"].refused
    assert "pipe.py" not in found or "not an ordinary file" in found["pipe.py"].refused
    assert ".hidden.py" not in found
    assert found["a.py"].content == found["b.py"].content != ""
    assert found["a.py"].page != found["b.py"].page
    assert content_of({"a": b"bc"}) != content_of({"ab": b"c"})
    assert content_of({"a": b"1", "b": b"2"}) == content_of({"b": b"2", "a": b"1"})


@pytest.mark.parametrize("worth", ["0", "0.5", "10000"])
def test_a_question_may_be_worth_anything_from_nothing_to_ten_thousand(tmp_path, worth):
    own = tmp_path / "own.toml"
    own.write_text(f'homework = "uw"\n[points]\n"1.2.1" = {worth}\n"1.2.2" = 1\n')
    assert rubric_of(str(own)).total == float(worth) + 1


@pytest.mark.parametrize("worth", ["-0.5", "10000.5", "nan", "inf", "true", '"1"'])
def test_a_question_is_worth_no_other_thing(tmp_path, worth):
    own = tmp_path / "own.toml"
    own.write_text(f'homework = "uw"\n[points]\n"1.2.1" = {worth}\n')
    with pytest.raises(ValueError, match=r"1\.2\.1 is worth a number from 0 to 10000, not"):
        rubric_of(str(own))


def test_names_in_capitals_are_names(tmp_path):
    (tmp_path / "ANSWERS.PY").write_text("x = 1")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "2B.PY").write_text("x = 2")
    assert files_of(tmp_path / "ANSWERS.PY") == {"submission.py": b"x = 1"}
    assert files_of(tmp_path / "folder") == {"2B.PY": b"x = 2"}


def test_files_come_in_the_order_of_their_names_whatever_the_disk_says(tmp_path, monkeypatch):
    for name in ("b.py", "a.py", "c.py"):
        (tmp_path / name).write_text("")
    for names in (["a.py", "b.py", "c.py"], ["c.py", "b.py", "a.py"]):
        monkeypatch.setattr(os, "walk", lambda path, names=names, **_: [(str(path), [], names)])
        assert list(files_of(tmp_path)) == ["a.py", "b.py", "c.py"]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("ä 1.py", "ä 1.py"),
        ("\x1b[2J", r"\x1b[2J"),
        ("\udcff\udc80", r"\xff\x80"),
        ("\udc7f\udd00", r"\udc7f\udd00"),
        ("\u200b", r"\u200b"),
        ("\U000e0001", r"\U000e0001"),
    ],
)
def test_of_a_name_what_a_terminal_cannot_show_is_written_out(name, written):
    assert visible(name, lines=False) == written


def test_a_journal_knows_the_state_of_the_graders_code(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "JUDGES", (tmp_path,))
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "deep" / "b.py").write_text("2")
    states = [journal._code()]
    for change in (
        lambda: (tmp_path / "a.py").write_text("3"),
        lambda: (tmp_path / "a.py").rename(tmp_path / "c.py"),
        lambda: (tmp_path / "deep" / "b.py").unlink(),
    ):
        change()
        states.append(journal._code())
    assert len(set(states)) == 4
    (tmp_path / "z.py").write_text("4")
    both = sorted(tmp_path.rglob("*.py"))
    monkeypatch.setattr(type(tmp_path), "rglob", lambda *_: iter(both))
    forwards = journal._code()
    monkeypatch.setattr(type(tmp_path), "rglob", lambda *_: reversed(both))
    assert journal._code() == forwards


@pytest.mark.parametrize("beginning", [*FORMULA, " ="])
def test_no_cell_begins_as_a_formula_does(beginning):
    assert safe(f"{beginning}1+1") == visible(f"'{beginning}1+1", lines=False)
    assert safe(f"1{beginning}") == visible(f"1{beginning}", lines=False)


def test_a_verdict_is_protected_where_neither_judge_nor_journal_can_be_rewritten(monkeypatch):
    by_name = {fence.name: fence for fence in fences.FENCES}
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert is_protected([])
    assert is_protected([by_name["network"]])
    assert not is_protected([by_name["judge"]])
    assert not is_protected([by_name["files"]])
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert is_protected([by_name["files"]])
    assert not is_protected([by_name["files"], by_name["processes"]])


def test_pages_show_what_a_stranger_wrote_as_text():
    assert webpage.escaped("<b>&\ud800") == r"&lt;b&gt;&amp;\ud800"
    assert "default-src 'none'" in webpage.HEAD


OWN = """homework = "mine"
[[question]]
id = "A"
question = "Average two values."
points = 2
contract = "practical4/2b"
hints.wrong = "Think of both."
[[question]]
id = "b.1"
question = "Average them among noise."
points = 3
contract = "practical4/2c.1"
"""


def test_a_question_of_ones_own_may_have_a_contract_of_the_lab(tmp_path):
    own = tmp_path / "mine.toml"
    own.write_text(OWN)
    rubric = rubric_of(str(own))
    assert (rubric.homework, rubric.total, list(rubric.points)) == ("mine", 5, ["A", "b.1"])
    first, second = map(rubric.contract, rubric.points)
    assert (first.question, first.homework, first.hints["wrong"]) == ("mine/A", str(own), "Think of both.")
    assert first.besides == CONTRACTS["practical4/2b"].besides
    assert second.hints == CONTRACTS["practical4/2c.1"].hints
    assert rubric.contract("A") is first
    assert (rubric.names("A")[0], rubric.names("b.1")[0]) == ("qa", "qb_1")
    exec(compile(template(rubric), "template", "exec"), {})
    # Points may change, and no mark does.
    own.write_text(OWN.replace("points = 3", "points = 4"))
    assert rubric_of(str(own)).written.state == rubric.written.state != ""
    own.write_text(OWN.replace("Think", "Do think"))
    assert rubric_of(str(own)).written.state != rubric.written.state


def test_two_questions_of_one_name_are_refused(tmp_path):
    own = tmp_path / "mine.toml"
    own.write_text(OWN.replace('"b.1"', '"a"'))
    with pytest.raises(
        ValueError, match="line 9: question a, id = 'qa': a function qa would answer A, too; rename"
    ):
        rubric_of(str(own))


@pytest.mark.parametrize(("absent", "told"), [((), ""), (("memory",), ""), (("network",), "no fence 'network'")])
def test_a_worker_of_a_cluster_needs_the_fence_network_too(monkeypatch, absent, told):
    missing = tuple(fence for fence in fences.FENCES if fence.name in absent)
    monkeypatch.setattr(marking, "check_answer", lambda *_, **__: SimpleNamespace(missing=missing))
    monkeypatch.setattr(marking, "drawn_cases", lambda *_: ())
    assert marking.unprotected().startswith(told)
    assert bool(marking.unprotected()) == bool(told)
