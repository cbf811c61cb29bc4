"""A homework in TOML: one schema for the sheet, for points and for own questions, and one line for a mistake."""

import re
from pathlib import Path

import pytest

from attnlab_theory.answers.homework import HOMEWORKS, of_file, of_lab
from attnlab_theory.answers.questions import chosen

GOOD = """\
homework = "mine"

[[question]]
id = "1a"
question = "What is it?"
points = 2
signature = "half(x: np.ndarray) -> np.ndarray"
draw = "draw_x"
reference = "half"
holds = ["is_less"]
tolerance = 1e-6
largest = 4
cases = 10
answer = "Half of it."
evidence = ["is_less"]
hints.wrong = "Halve it."

[[question]]
id = "1b"
question = "As before?"
points = 3
contract = "practical4/2b"
"""


def written(folder: Path, text: str, code: str | None = "") -> str:
    if code is not None:
        (folder / "mine.py").write_text(code)
    (folder / "mine.toml").write_text(text)
    return str(folder / "mine.toml")


def test_one_file_has_points_answers_and_what_judges(tmp_path):
    found = of_file(written(tmp_path, GOOD, "half = 1"))
    assert found.points == {"1a": 2, "1b": 3}
    first, second = found.questions
    assert (first.function.name, first.holds, first.hints) == ("half", ("is_less",), {"wrong": "Halve it."})
    assert (second.contract, second.signature) == ("practical4/2b", "")
    assert found.code == "half = 1"
    asked = chosen("1a", found)
    assert [(entry.id, entry.answer, entry.evidence) for entry in asked] == [
        ("mine/1a", "Half of it.", ("is_less",))
    ]
    assert chosen("mine/1a", found) == asked
    with pytest.raises(ValueError, match="no 'mine/1c'; it has mine/1a, mine/1b"):
        chosen("1c", found)


def test_points_of_a_homework_of_the_lab_need_nothing_else(tmp_path):
    assert of_file(written(tmp_path, 'homework = "uw"\n[points]\n"1.2.1" = 4\n', None)).points == {"1.2.1": 4}


def test_the_homeworks_of_the_lab_say_which_questions_code_judges():
    points = {name: list(of_lab(name).points) for name in HOMEWORKS}
    assert points["practical4"] == ["2b", "2c.1", "2d.1", "2d.2", "2e.2"]
    assert (points["blog"], points["ann-hw3"]) == ([], [])


BAD = {
    "no toml": ("id = ", "id == ", r"mine\.toml is not a TOML file: .*line 4"),
    "no name": ('homework = "mine"', "", r"homework is missing: write homework ="),
    "a bad name": ('homework = "mine"', 'homework = "a b"', r"line 1: homework = 'a b': write"),
    "an unknown key": (
        'homework = "mine"',
        'homework = "mine"\nhomwork = 1',
        r"line 2: homwork = 1: .* homework meant",
    ),
    "an unknown key of a question": (
        "largest = 4",
        "lagest = 4",
        r"line 12: question 1a, lagest = 4: .* largest meant",
    ),
    "a key like no other": (
        "cases = 10",
        "xyz = 10",
        r"line 13: question 1a, xyz = 10: a question has no such key, but id, question",
    ),
    "no id": ('id = "1b"', "", r"line 18: question 2, id is missing: each question has id"),
    "a bad id": ('id = "1b"', 'id = "1 b"', r"line 19: question 1 b, id = '1 b': use letters"),
    "an id twice": ('id = "1b"', 'id = "1a"', r"line 19: question 1a, id = '1a': two questions"),
    "no text": ('question = "As before?"', "", r"line 18: question 1b, question is missing"),
    "points in words": ("points = 3", 'points = "3"', r"line 21: question 1b, points = '3': it is a number"),
    "points below 0": ("points = 3", "points = -1", r"line 21: question 1b, points = -1: it is a number from 0"),
    "no points": ("points = 2\n", "", r"line 3: question 1a, points is missing: .* points = 2"),
    "points alone": ('contract = "practical4/2b"', "", r"line 21: question 1b, points = 3: code judges it by sig"),
    "another contract": (
        "practical4/2b",
        "practical4/9z",
        r"line 22: .*'practical4/9z': it is one of cs224n/1b\.i",
    ),
    "both": (
        'contract = "practical4/2b"',
        'contract = "uw/1.2.1"\ndraw = "d"',
        r"line 23: .*draw = 'd': the contract",
    ),
    "no draw": ('draw = "draw_x"\n', "", r"line 3: question 1a, draw is missing: .*draw = \"draw_mask\""),
    "nothing to keep": (
        'reference = "half"\nholds = ["is_less"]\n',
        "",
        r"reference is missing: name what must come",
    ),
    "a text for a list": (
        'holds = ["is_less"]',
        'holds = "is_less"',
        r"line 10: .*: it is a list of texts, such as",
    ),
    "no tolerance": ("tolerance = 1e-6", "tolerance = 0", r"line 11: question 1a, tolerance = 0: it is greater"),
    "a large size": ("largest = 4", "largest = 65", r"line 12: question 1a, largest = 65: .* from 1 to 64"),
    "far too large a size": ("largest = 4", "largest = 12345", r"line 12: .*largest = 12345: .* from 1 to 64"),
    "an empty hint": (
        '"Halve it."',
        '" "',
        r"line 16: question 1a, hints = \{'wrong': ' '\}: .*none of them empty",
    ),
    "an empty given": ("cases = 10", "given.x = ''", r"given = \{'x': ''\}: it is a table of texts, none of them"),
    "half a case": ("cases = 10", "cases = 1.5", r"line 13: question 1a, cases = 1\.5: it is a whole number"),
    "no signature": ("half(x: np.ndarray)", "def half(x)", r"line 7: question 1a, signature = 'def half"),
    "a default": ("x: np.ndarray)", "x=1)", r"line 7: .*: write a function of Python .*, without defaults"),
    "a check twice": (
        'holds = ["is_less"]',
        'holds = ["a", "b", "a"]',
        r"line 10: .*holds = .*: it names a twice; name it once",
    ),
    "a stray given": ("cases = 10", "given.y = 'no'", r"line 13: question 1a, given = 'y': the signature has x"),
    "a hint that is no text": ('"Halve it."', "3", r"line 16: question 1a, hints = .*: it is a table of texts"),
    "no such code": (
        "homework =",
        'code = "other.py"\nhomework =',
        r"line 1: code = 'other\.py': there is no file .*",
    ),
    "code that is no Python": (
        "homework =",
        'code = "a.txt"\nhomework =',
        r"line 1: code = 'a\.txt': name the Python",
    ),
    "points of a table": (
        'homework = "mine"',
        'homework = "mine"\n[points]\n"1a" = 2',
        r"line 3: 1a = 2: .*write points",
    ),
}


@pytest.mark.parametrize(("old", "new", "said"), BAD.values(), ids=BAD)
def test_a_bad_file_gets_its_line_its_key_its_value_and_the_remedy(tmp_path, old, new, said):
    assert GOOD.count(old) == 1 or old == "id = "
    with pytest.raises(ValueError, match=said) as refused:
        of_file(written(tmp_path, GOOD.replace(old, new, 1)))
    assert str(refused.value).startswith(str(tmp_path / "mine.toml"))
    assert "\n" not in str(refused.value)


def test_a_question_of_the_lab_has_evidence_and_one_answer(tmp_path):
    text = 'homework = "uw"\n[[question]]\nid = "9"\nquestion = "What?"\nanswer = "It."\n'
    with pytest.raises(
        ValueError, match=re.escape("line 5: question 9, answer = 'It.': a question of the lab has")
    ):
        of_file(written(tmp_path, text))
