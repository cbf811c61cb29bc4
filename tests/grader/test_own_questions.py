"""Somebody's own questions: the six examples, what judges them, what students are shown, and what is at fault."""

import ast
import importlib.resources
import json
import os
import re
import signal
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from attnlab_theory.answers.homework import of_file
from attnlab_theory.cli import main
from attnlab_theory.cli.homework import TOPICS
from attnlab_theory.grader import own_functions
from attnlab_theory.grader.classroom import markers
from attnlab_theory.grader.classroom.hand_ins import files_of
from attnlab_theory.grader.classroom.marking import marks_of_files
from attnlab_theory.grader.classroom.marks import by_hand
from attnlab_theory.grader.classroom.rubric import rubric_of, template
from attnlab_theory.grader.contract import HINTS, Faulty
from attnlab_theory.grader.grading import check_answer
from attnlab_theory.grader.judgement import judgement_text
from attnlab_theory.grader.own_functions import Asking, Failed
from attnlab_theory.grader.own_questions import _distance, contracts, judges
from attnlab_theory.sandbox.reasons import Reason

EXAMPLES = Path(str(importlib.resources.files("attnlab_theory.grader"))) / "examples"

TOML = """\
homework = "mine"

[[question]]
id = "1a"
question = "Halve x."
points = 2
signature = "half(x: np.ndarray) -> np.ndarray"
draw = "draw_x"
reference = "half"
holds = ["is_halved_twice"]
hints.doubled = "You doubled it."
hints.wrong = "Halve it."
hints."wrong shape" = "As many as before."
hints.is_halved_twice = "Twice half is a quarter."
"""
CODE = '''\
import numpy as np

def draw_x(rng, size):
    return {"x": rng.normal(size=size)}

def half(x):
    return x / 2

def doubled(x):
    return 2 * x

def is_halved_twice(f, answer, x):
    """Half of the half is a quarter."""
    return np.max(np.abs(f(answer) - x / 4))
'''


def written(folder: Path, toml: str = TOML, code: str = CODE) -> str:
    (folder / "mine.toml").write_text(toml)
    (folder / "mine.py").write_text(code)
    return str(folder / "mine.toml")


def judged(folder: Path, body: str, toml: str = TOML, code: str = CODE, **limits):
    contract = contracts(of_file(written(folder, toml, code)))["1a"]
    (folder / "answer.py").write_text(f"import numpy as np\ndef half(x):\n    {body}\n")
    return check_answer(f"{folder}/answer.py::half", contract, unfenced=True, **limits)


@pytest.mark.parametrize("topic", TOPICS)
def test_of_each_example_the_reference_passes_and_each_wrong_answer_falls_with_its_hint(topic, tmp_path):
    """Draws all cases of each question: a person would write no smaller example."""
    assert main(["homework", "new", str(tmp_path / f"{topic}.toml"), "--topic", topic]) == 0
    for end in ("toml", "py"):
        assert (tmp_path / f"{topic}.{end}").read_text() == (EXAMPLES / f"{topic}.{end}").read_text()
    for part, judge in judges(of_file(str(tmp_path / f"{topic}.toml"))).items():
        trials = judge.trials()
        assert [trial.name for trial in trials if trial.is_reference] == [judge.question.reference], part
        assert len(trials) > 1
        assert [trial for trial in trials if not trial.as_expected] == []


def test_every_example_is_committed_and_shown_on_the_page():
    assert {path.stem for path in EXAMPLES.glob("*.*")} == set(TOPICS)
    page = (Path(__file__).parents[2] / "docs" / "homework.md").read_text("utf-8")
    for path in EXAMPLES.glob("*.toml"):
        assert f"```toml\n{path.read_text('utf-8')}```" in page, path


def test_a_trial_tells_what_nothing_finds_out_and_what_gets_another_hint(tmp_path, capsys):
    toml = (
        TOML.replace("points = 2", "points = 1") + 'hints.same = "It is the same."\nhints.twin = "Another name."\n'
    )
    code = CODE + "\ndef same(x):\n    return x / 2\n\ndef twin(x):\n    return x + x\n"
    assert main(["homework", "try", written(tmp_path, toml, code)]) == 1
    told = capsys.readouterr().out
    assert told.startswith("1a, 1 point\n")
    assert "reference half: is right" in told
    assert "wrong answer doubled: falls, with its hint" in told
    assert "wrong answer same: nothing finds it out" in told
    assert "wrong answer twin: it gets the hint of doubled" in told


def test_a_wrong_answer_gets_what_was_asked_the_smallest_case_short_numbers_and_a_hint(tmp_path, text_of):
    found = judged(tmp_path, "return 2 * x")
    assert (found.reason, found.hint) == (Reason.WRONG, "You doubled it.")
    told = text_of(judgement_text(found))
    assert "question: Halve x." in told
    assert "does not hold: Half of the half is a quarter." in told
    shown = found.as_json()["case"]["shown"]
    assert re.fullmatch(r"\(-?\d\.\d\)|\(-?\d\)", shown["x"])
    assert shown["expected"] == f"({float(shown['x'].strip('()')) / 2:.4g})"
    # The command of the counterexample tries this case alone.
    (tmp_path / "case.json").write_text(json.dumps(found.as_json()))
    assert "--homework" in found.again
    again = judged(tmp_path, "return 2 * x", at=str(tmp_path / "case.json"))
    assert (again.cases, again.as_json()["case"]["shown"]) == (1, shown)


@pytest.mark.slow("two of five members stay inside", but=2)
@pytest.mark.parametrize(
    ("body", "reason", "hint"),
    [
        ("return x / 2", Reason.RIGHT, ""),
        ("return x / 2 + 0.001", Reason.WRONG, "Twice half is a quarter."),
        ("return np.append(x, 0)", Reason.WRONG_SHAPE, "As many as before."),
        ("return x / 0 if len(x) > 3 else x / 2", Reason.NOT_FINITE, HINTS["not finite"]),
        ("return x / 2 if len(x) < 3 else x[99]", Reason.RAISED, HINTS["raised"]),
    ],
)
def test_every_way_to_fail_has_its_hint_and_its_smallest_case(tmp_path, body, reason, hint):
    """Each answer is asked some ninety times in a process of its own."""
    found = judged(tmp_path, body)
    assert (found.reason, found.hint) == (reason, hint)
    sizes = {Reason.NOT_FINITE: 4, Reason.RAISED: 3}
    if reason != Reason.RIGHT:
        assert len(found.as_json()["case"]["givens"]["x"]) == sizes.get(reason, 1)


def test_a_check_that_raises_at_an_answer_leaves_it_to_a_person(tmp_path):
    toml = TOML.replace('reference = "half"\n', "")
    code = CODE.replace("return np.max", "assert answer.shape == x.shape, 'what is this'\n    return np.max")
    found = judged(tmp_path, "return np.append(x, 0)", toml.replace("hints.doubled", "#"), code)
    assert found.reason == Reason.INCONCLUSIVE
    assert "the check is_halved_twice raises AssertionError: what is this (mine.py, line 14) at" in found.said


@pytest.mark.slow("the distance of arrays with infinities stays inside")
def test_what_a_right_answer_holds_infinities_for_is_no_mistake(tmp_path):
    """Two answers are asked in processes of their own."""
    code = CODE.replace("x / 2", "np.where(x > 0, -np.inf, x)")
    toml = TOML.replace('holds = ["is_halved_twice"]\n', "").replace("hints.is_halved_twice", "#")
    assert judged(tmp_path, "return np.where(x > 0, -np.inf, x)", toml, code).right
    assert judged(tmp_path, "return np.where(x > 0, np.inf, x)", toml, code).reason == Reason.WRONG


FAULTS = {
    "no function": (
        "draw_x(rng",
        "draw(rng",
        r"line 8: question 1a, draw = 'draw_x': .*mine\.py has no function draw_x",
    ),
    "a name nearly right": ("def half(", "def halve(", r"line 9: .*reference = 'half': .*; is halve meant\?"),
    "other parameters": ("half(x)", "half(x, y)", r"line 9: .*'half': write def half\(x\), and not \(x, y\)"),
    "a stray parameter": (
        "(f, answer, x)",
        "(f, answer, y)",
        r"line 10: .*is_halved_twice asks for y, and a check gets",
    ),
    "no such mistake": (
        "def doubled",
        "def tripled",
        r"line 11: question 1a, hints = 'doubled': a hint belongs to",
    ),
    "no Python": ("import numpy", "imprt numpy", r"mine\.py cannot be loaded: SyntaxError: .*\(mine\.py, line 1\)"),
    "an exit": ("import numpy as np", "raise SystemExit(3)", r"mine\.py cannot be loaded: SystemExit: 3"),
    "a list": ('{"x": rng.normal(size=size)}', "[1]", r"draw = 'draw_x': draw_x returns a list, but a dict"),
    "other givens": ('{"x"', '{"y"', r"line 8: .*draw_x returns the keys y, but a dict \{\"x\": \.\.\.\}"),
    "an object": ("rng.normal(size=size)", "object()", r"x is a object; give an array of numbers"),
    "a draw that raises": (
        "rng.normal(size=size)",
        "1 / 0",
        r"draw_x raises ZeroDivisionError: .*mine\.py, line 4\)",
    ),
    "a wrong reference": ("x / 2", "x / 3", r"line 10: .*half does not keep it at size 1: Half of the half"),
    "a sentence": ("- x / 4", "- x / 5", r"keep it at size 1: Half of the half is a quarter; mend one of the two"),
    "a text": ("return np.max(np.abs(f(answer) - x / 4))", "return 'no'", r"returns a str; return True, False, or"),
    "no numbers": ("x / 2", "x * np.nan", r"line 9: .*reference = 'half': half returns NaN; mend it, or draw"),
    "complex numbers": (
        "x / 2",
        "x / 2 + 0j",
        r"line 9: .*half returns something that is no array of real numbers",
    ),
    "an end": (
        "return x / 2",
        "__import__('os')._exit(3)",
        r"line 9: .*half ends its process \(exit code 3\)",
    ),
    "a crash": (
        "return x / 2",
        "__import__('os').abort()",
        r"line 9: .*half ends its process \(SIGABRT\)",
    ),
    "a draw of its own": (
        "rng.normal(size=size)",
        "np.random.default_rng().normal(size=size)",
        r"line 8: .*two equal calls of draw_x differ; compute from rng and size alone",
    ),
    "a draw that counts": (
        'return {"x": rng.normal(size=size)}',
        'draw_x.n = getattr(draw_x, "n", 0) + 1\n    return {"x": size / draw_x.n}',
        r"line 8: .*two equal calls of draw_x differ",
    ),
    "a reference by chance": (
        "x / 2",
        "x / 2 + np.random.random()",
        r"line 9: .*two equal calls of half differ; compute from the givens alone",
    ),
    "a flood": ("x / 2", "np.zeros(2_000_000)", r"line 9: .*half returns more than 16 MB; mend it"),
}


@pytest.mark.parametrize(("old", "new", "said"), FAULTS.values(), ids=FAULTS)
def test_a_function_at_fault_gets_the_line_of_the_file_that_names_it(tmp_path, capsys, old, new, said):
    (tmp_path / "class").mkdir()
    path = written(tmp_path, TOML, CODE.replace(old, new, 1))
    assert main(["grade", str(tmp_path / "class"), "--homework", path]) == 2
    told = capsys.readouterr().err
    assert re.search(said, told)
    assert told.count("\n") == 1


@pytest.mark.parametrize("command", [["homework", "try"], ["answers", "--homework"]])
def test_evidence_that_nobody_has_is_named_by_its_line(tmp_path, capsys, command):
    """The file of Python has functions alone, which is no fault of its own."""
    toml = TOML.replace(
        'reference = "half"', 'answer = "x / 2"\nevidence = ["causal/nonsense"]\nreference = "half"'
    )
    assert main([*command, written(tmp_path, toml)]) == 2
    told = capsys.readouterr().err
    assert (
        "line 10: question 1a, evidence = 'causal/nonsense': no claim or identity of the lab is called so" in told
    )
    assert told.count("\n") == 1


LOOP = "while True: pass\n    return"
ENDLESS = {
    "a draw": ('return {"x"', f'{LOOP} {{"x"', r"line 8: .*draw_x does not end within 0\.5 s \(.*mine\.py"),
    "a reference": ("return x / 2", "__import__('time').sleep(99)", r"line 9: .*half does not end within 0\.5 s"),
    "a late check": (
        "return np.max",
        f"f(answer)\n    {LOOP} np.max",
        r"line 10: .*is_halved.* within 0\.5 s at this",
    ),
    "a mistake": ("return 2 * x", LOOP, r"line 11: .*doubled does not end within 0\.5 s"),
}


@pytest.mark.slow("an endless draw and an endless wrong answer stay inside", but=2)
@pytest.mark.parametrize(("old", "new", "said"), ENDLESS.values(), ids=ENDLESS)
def test_a_function_without_end_is_ended_by_our_clock(tmp_path, capsys, old, new, said):
    """Waits for half a second, and starts the process of these functions again."""
    begun = time.monotonic()
    assert main(["homework", "try", written(tmp_path, f"{TOML}seconds = 0.5\n", CODE.replace(old, new, 1))]) == 2
    told = capsys.readouterr().err
    assert re.search(said, told)
    assert told.count("\n") == 1
    assert time.monotonic() - begun < 9  # the default is ten seconds
    assert main(["homework", "try", written(tmp_path)]) == 0


@pytest.mark.slow("an endless draw and an endless wrong answer stay inside")
def test_a_file_without_end_is_ended_too(tmp_path, monkeypatch, capsys):
    """Waits for a second, in which a file without a loop is loaded."""
    monkeypatch.setattr(own_functions, "LOADING", 1.0)
    path = written(tmp_path, code=f"while True: pass\n{CODE}")
    assert main(["homework", "try", path]) == 2
    assert "mine.py cannot be loaded: it does not end within 1 s" in capsys.readouterr().err


def test_the_time_of_a_question_is_its_own_and_a_students_time_counts_for_nothing(tmp_path):
    """Waits for a second, which no function of the homework takes."""
    functions = judges(of_file(written(tmp_path)))["1a"].written

    def slow(x):
        time.sleep(1)
        return x / 2

    x = np.ones(2)
    given = {"answer": x / 2, "x": x, "f": Asking(("x",))}
    assert functions.call("is_halved_twice", 0.9, answered=slow, **given) == 0
    with pytest.raises(Failed, match=r"does not end within 0 s"):
        functions.call("half", 0, x)
    assert np.array_equal(functions.call("half", 10, x), x / 2)
    for wrong in ("0", "-1", "nan"):
        with pytest.raises(ValueError, match="seconds = "):
            of_file(written(tmp_path, f"{TOML}seconds = {wrong}\n"))


def test_ctrl_c_ends_a_function_without_end_and_leaves_no_process(tmp_path):
    """Waits for half a second, so that the function has begun."""
    homework = of_file(written(tmp_path, code=CODE.replace("return x / 2", "while True: pass")))
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        judges(homework)
    assert own_functions._running is None


def test_what_is_printed_without_end_is_cut(tmp_path, capsys):
    code = CODE.replace("return x / 2", "print('y' * 10**6)\n    return x / 2")
    judges(of_file(written(tmp_path, code=code)))
    assert 2**15 < len(capsys.readouterr().err) <= 2**16


def test_a_draw_that_fails_late_is_no_students_fault(tmp_path):
    code = CODE.replace('return {"x"', 'assert size != 3, "three"\n    return {"x"')
    with pytest.raises(Faulty, match=r"draw = 'draw_x': draw_x raises AssertionError: three \(mine\.py, line 4\)"):
        judged(tmp_path, "return x / 2", code=code)


def test_what_a_homework_prints_is_no_result_and_an_exit_ends_nothing(tmp_path, capsys):
    code = CODE.replace("import numpy as np", "import numpy as np\nprint('loaded')")
    path = written(tmp_path, TOML, code.replace("def half(x):", "def half(x):\n    print('asked')"))
    assert main(["homework", "try", path, "--json"]) == 0
    out, err = capsys.readouterr()
    assert [trial["as_expected"] for trial in json.loads(out)["1a"]] == [True, True]
    assert {"loaded", "asked"} <= {*err.split()}
    path = written(tmp_path, TOML, CODE.replace("def half(x):", "def half(x):\n    raise SystemExit(4)"))
    assert main(["homework", "try", path]) == 2
    assert "half raises SystemExit: 4 (mine.py, line 7); mend it" in capsys.readouterr().err


def test_checks_cannot_change_what_is_judged(tmp_path):
    code = CODE.replace("    return np.max(", "    x[:] = 0\n    answer[:] = 0\n    return 0 * np.max(")
    found = judged(tmp_path, "return 2 * x", code=code)
    assert float(found.as_json()["case"]["givens"]["x"][0]) != 0


def test_nothing_is_written_over_and_a_name_is_a_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("precious")
    for name, said in (
        ("mine.toml", "mine.py is there already"),
        ("a b.toml", "name a file such as"),
        ("x", "name a"),
    ):
        assert main(["homework", "new", name]) == 2
        assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]
    assert Path("mine.py").read_text() == "precious"


def test_a_new_homework_has_its_own_name_and_its_template_is_python(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["homework", "new", "week3.toml", "--topic", "cache"]) == 0
    rubric = rubric_of("week3.toml")
    assert (rubric.homework, rubric.written.code_path, rubric.points) == ("week3", "week3.py", {"step": 3})
    assert "week3.toml" in Path("week3.py").read_text()
    assert rubric.names("step")[0] == "step"
    ast.parse(template(rubric))
    capsys.readouterr()
    assert main(["check", "--template", "step", "--homework", "week3.toml"]) == 0
    ast.parse(capsys.readouterr().out)
    assert main(["check", "--homework", "week3.toml", "--json"]) == 0
    assert [each["question"] for each in json.loads(capsys.readouterr().out)] == ["week3/step"]
    assert main(["check", "a.py::f", "--homework", "week3.toml", "--question", "9"]) == 2
    assert "--question '9': the homework has step" in capsys.readouterr().err


def test_infinities_are_right_where_the_reference_has_the_same():
    inf = np.inf
    pairs = {
        (-inf, -inf): 0,
        (-inf, inf): inf,
        (1.0, -inf): inf,
        (inf, 1.0): inf,
        (np.nan, 1.0): inf,
        (1.5, 1): 0.5,
    }
    for (answer, expected), off in pairs.items():
        assert _distance(np.array([0.0, answer]), np.array([0.0, expected])) == off


def test_short_numbers_are_never_zero():
    judge = next(iter(judges(of_file(str(EXAMPLES / "linear.toml"))).values()))
    drawn = [judge.case(size, seed, True).givens["q"] for size in (1, 2) for seed in range(20)]
    every = np.concatenate([array.ravel() for array in drawn])
    assert np.all(np.abs(every) >= 0.1)
    assert np.allclose(every, np.round(every, 1))


CLASS = {
    "right.py": "def half(x):\n    return x / 2\n",
    "doubles.py": "def q1a(x):\n    return 2 * x\n",
    "late.py": "print(__file__)\ndef half(x):\n    return 1 / 0\n",
    "broken.py": "def half(x):\n    return x / 2\nhalf('no')\n",
}


@pytest.fixture
def graded(tmp_path, monkeypatch):
    """Grades CLASS in this process, and gives the rows of its JSON by their names, and the pages."""

    def in_this_process(work, count, terms):
        for hand_in in work:
            yield hand_in, marks_of_files(files_of(hand_in.path), terms)

    def grade(capsys, toml: str, code: str):
        monkeypatch.setattr(markers, "marked", in_this_process)
        (tmp_path / "class").mkdir()
        for name, text in CLASS.items():
            (tmp_path / "class" / name).write_text(text)
        path = written(tmp_path, toml, code)
        words = ["grade", str(tmp_path / "class"), "--homework", path, "--unfenced", "--json"]
        assert main([*words, "--html", str(tmp_path / "pages")]) == 0
        found = {each["submission"]: each for each in json.loads(capsys.readouterr().out)["submissions"]}
        return found, {name: (tmp_path / "pages" / each["page"]).read_text() for name, each in found.items()}

    return grade


def test_a_class_gets_the_question_the_case_and_the_hint_and_sees_no_path_of_this_machine(tmp_path, capsys, graded):
    """Four answers are each asked in a process of their own."""
    second = TOML[TOML.index("[[") :].replace('"1a"', '"1b"').replace("half(x:", "third(x:").replace("hints", "#")
    found, pages = graded(capsys, TOML + second, CODE)
    assert {name: row["questions"]["1a"]["reason"] for name, row in found.items()} == {
        **{"right.py": "right", "doubles.py": "wrong", "late.py": "raised", "broken.py": "raised"}
    }
    assert found["right.py"]["points"] == 2
    page = pages["doubles.py"]
    for text in ("Question: Halve x.", "Hint: You doubled it.", "Does not hold: Half of the half", "Expected: out"):
        assert text in page
    assert "attnlab check doubles.py::q1a --question mine/1a --replay" in page.replace("&#x27;", "'")
    assert "--homework mine.toml" in page
    assert "ZeroDivisionError" in pages["late.py"]
    for text in (*pages.values(), json.dumps(found)):
        assert str(tmp_path) not in text
        assert tempfile.gettempdir() + "/attnlab" not in text
    # A file that cannot be loaded is not shown the error of one question below another.
    first, other = (found["broken.py"]["questions"][part] for part in ("1a", "1b"))
    assert "half" in first["said"]
    assert other["said"].startswith("the file cannot be loaded, so nothing of it is judged: raised TypeError")
    assert (first["reason"], other["reason"], other["judgement"]) == ("raised", "raised", None)


@pytest.mark.slow("a draw that fails late stays inside, for one answer")
def test_where_a_draw_fails_in_a_class_a_person_decides(capsys, graded):
    """Four answers are each asked in a process of their own."""
    code = CODE.replace('return {"x"', 'assert size != 3, "three"\n    return {"x"')
    found, _ = graded(capsys, TOML, code)
    mark = found["right.py"]["questions"]["1a"]
    assert (mark["points"], mark["by_hand"], mark["reason"]) == (None, True, "not judged")
    assert mark["said"].startswith("mine.toml, line 8: question 1a, draw = 'draw_x'")


def test_a_journal_goes_on_after_other_points_and_not_after_another_reference(tmp_path, monkeypatch, capsys):
    asked = []

    def so(work, count, terms):
        for hand_in in work:
            asked.append(hand_in.name)
            yield hand_in, {part: by_hand("missing", "none") for part in terms.rubric.points}

    monkeypatch.setattr(markers, "marked", so)
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "a.py").write_text("x = 1")
    command = ["grade", str(tmp_path / "class"), "--homework"]
    for toml in (TOML, TOML.replace("points = 2", "points = 5")):
        assert main([*command, written(tmp_path, toml)]) == 0
        assert asked == ["a.py"]
    assert "1 submission of 5 points" in capsys.readouterr().out
    assert main([*command, written(tmp_path, TOML, f"{CODE}\nother = 1\n")]) == 0
    assert "another state of the homework" in capsys.readouterr().err
    assert asked == ["a.py", "a.py"]
    # What the file imports counts, too, and what that imports.
    (tmp_path / "parts").mkdir()
    (tmp_path / "helper.py").write_text("from parts.more import FACTOR\n")
    (tmp_path / "parts" / "more.py").write_text("FACTOR = 1\n")
    for factor, times in ((1, 3), (1, 3), (2, 4)):
        (tmp_path / "parts" / "more.py").write_text(f"FACTOR = {factor}\n")
        assert main([*command, written(tmp_path, TOML, f"import helper\n{CODE}")]) == 0
        assert len(asked) == times
    assert "another state of the homework" in capsys.readouterr().err


OWN_CLAIM = """

from attnlab_theory.claims import Setting, exact_claim
from attnlab_theory.stats import Interval


class At(Setting):
    x: float


HALVES = exact_claim(
    name="halves-are-less",
    statement="Half of x is x / 2.",
    source="nobody",
    predict=lambda s: Interval.point(s.x / 2),
    draw=lambda key, s: s.x * 0.5 * jnp.ones(()),
    rounding=1e-6,
    settings=(At(x=3.0),),
)
"""


@pytest.mark.slow("homework try of all examples stays inside")
def test_answers_rest_on_claims_of_ones_own_and_on_what_became_of_the_reference(tmp_path, capsys):
    """Loads all experiments of the lab, and judges a claim."""
    evidence = 'answer = "It is {halves-are-less x=3}."\nevidence = ["halves-are-less"]\n'
    toml = TOML.replace('reference = "half"', f'{evidence}reference = "half"')
    code = f"import jax.numpy as jnp\n{CODE}{OWN_CLAIM}"
    path = written(tmp_path, toml, code)
    assert main(["answers", "--homework", path, "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    assert (answer["id"], answer["status"], answer["answer"]) == ("mine/1a", "supported", "It is 1.5.")
    assert [(each["kind"], each["verdict"]) for each in answer["evidence"]] == [
        *(("claim", "SUPPORTED"), ("reference", "SUPPORTED"), ("typical wrong answer", "REFUTED"))
    ]
    written(tmp_path, toml.replace("doubled", "half"), code)
    assert main(["answers", "1a", "--homework", path]) == 1
    assert "typical wrong answer half: nothing finds it out" in capsys.readouterr().out
    written(tmp_path, toml.replace('["halves-are-less"]', '["halves-are-more"]'), code)
    assert main(["answers", "--homework", path]) == 2
    assert "line 10: question 1a, evidence = 'halves-are-more': no claim or identity" in capsys.readouterr().err
