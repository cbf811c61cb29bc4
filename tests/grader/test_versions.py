"""The last of several versions of a file counts, and an answer under another name is no zero."""

import json

import pytest

from attnlab_theory.grader.classroom import marking, versions
from attnlab_theory.grader.classroom.marks import Terms
from attnlab_theory.grader.classroom.rubric import rubric_of
from attnlab_theory.grader.judgement import Judgement
from attnlab_theory.sandbox.reasons import BrokenAnswer, Reason


@pytest.mark.parametrize(
    "names",
    [
        ("hw (1)", "hw"),
        ("hw (12)", "hw (2)", "hw"),
        ("hw-2", "hw-1", "hw"),
        ("hw_v3", "hw_v2"),
        ("hw", "a_draft_of_hw"),
        ("hw_final", "hw", "hw_old"),
        ("hw final corrected", "hw_final", "hw_final_backup"),
    ],
)
def test_the_last_version_comes_first(names):
    assert sorted(sorted(names), key=versions.order) == [*names]


def test_functions_are_found_in_files_and_notebooks_without_running_them(tmp_path):
    (tmp_path / "a.py").write_text(
        "raise SystemExit\ndef f(x): pass\nasync def g (x): pass\ndefine(h)\ndef f(y): pass\n"
    )
    (tmp_path / "b.ipynb").write_text('{"source": ["def f(x):\\n", " return 1"]}')
    assert versions.functions(tmp_path / "a.py") == ["f", "g"]
    assert versions.functions(tmp_path / "b.ipynb") == ["f"]
    (tmp_path / "c.ipynb").write_text(json.dumps({"cells": [{"source": "%%time\ndef g(x):\n    undef (x)\n"}]}))
    assert versions.functions(tmp_path / "c.ipynb") == ["g"]


def marks(folder, monkeypatch, **files):
    """The marks of files whose every function is right."""

    def right(where, contract, *, names, **_):
        path, _, first = where.rpartition("::")
        if not {first, *names} & {*versions.functions(folder / path)}:
            raise BrokenAnswer(f"{where} has no function '{first}'", lacks=True)
        told = {"reason": Reason.RIGHT, "said": "", "cases": 1, "worst": 0.0, "counterexample": None}
        return Judgement(contract=contract, where=where, **told)

    monkeypatch.setattr(marking, "check_answer", right)
    monkeypatch.setattr(marking, "drawn_cases", lambda *_: None)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    terms = Terms(rubric=rubric_of("practical4"), time_limit=32.0)
    return marking.marks_of(folder, [f"{name}.py" for name in files], terms)


def test_the_file_that_was_judged_is_named_beside_those_that_were_not(tmp_path, monkeypatch):
    answer = "def q2b(keys, a, b): pass"
    found = marks(tmp_path, monkeypatch, hw=answer, **{"hw (1)": answer, "other": "def helper(): pass"})
    assert found["2b"]["said"] == "hw (1).py was judged, and not hw.py"
    assert marks(tmp_path, monkeypatch, hw=answer)["2b"]["said"] == ""


def test_an_answer_under_another_name_is_left_to_a_person_and_named(tmp_path, monkeypatch):
    mark = marks(tmp_path, monkeypatch, hw="def solved_b(keys, a, b): pass\ndef plot(): pass")["2b"]
    assert (mark["reason"], mark["by_hand"]) == ("missing", True)
    assert mark["said"].endswith("; its functions solved_b, plot have no name of a question")
    mark = marks(tmp_path, monkeypatch, hw="def q2b(keys, a, b): pass")["2c.1"]
    assert (mark["reason"], mark["by_hand"]) == ("missing", False)
