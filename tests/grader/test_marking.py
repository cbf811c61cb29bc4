"""The marks of one submission, whatever becomes of its questions."""

import pytest

from attnlab_theory.exits import NoDevice
from attnlab_theory.grader.classroom import marking
from attnlab_theory.grader.classroom.marks import MISSING, NOT_JUDGED, Terms
from attnlab_theory.grader.classroom.rubric import rubric_of
from attnlab_theory.grader.judgement import Judgement
from attnlab_theory.sandbox.reasons import BrokenAnswer, Reason


def test_after_a_late_question_the_next_has_less_time_and_after_two_nobody_is_asked(tmp_path, monkeypatch):
    limits = []

    def late(where, contract, *, time_limit, **_):
        limits.append(time_limit)
        told = {"reason": Reason.TIMED_OUT, "said": "It is late", "cases": 1, "worst": None, "counterexample": None}
        return Judgement(contract=contract, where=where, **told)

    monkeypatch.setattr(marking, "check_answer", late)
    monkeypatch.setattr(marking, "drawn_cases", lambda *_: None)
    rubric = rubric_of("practical4")
    first, second, *others = marking.marks_of(tmp_path, ["mine.py"], Terms(rubric=rubric, time_limit=32.0)).values()
    assert limits == [32, 8]
    assert (first["said"], first["by_hand"]) == ("It is late", False)
    assert (second["said"].partition(";")[2], second["by_hand"]) == (
        " an earlier question had used up its time, so this one got less time",
        True,
    )
    assert others
    assert {(other["reason"], other["by_hand"]) for other in others} == {(NOT_JUDGED, True)}


def test_a_platform_that_is_not_there_leaves_no_submission_to_a_person(monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("Unable to initialize backend 'tpu': there is none")

    monkeypatch.setattr(marking, "check_answer", fails)
    monkeypatch.setattr(marking, "drawn_cases", lambda *_: None)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu,tpu")
    terms = Terms(rubric=rubric_of("uw"), time_limit=32.0)
    with pytest.raises(NoDevice, match="JAX_PLATFORMS=cpu,tpu names no device of this machine: unset it, or say"):
        marking.marks_of_files({"mine.py": b"def q1_2_1(keys): return keys[0]"}, terms)
    # Without that variable it is a mistake of ours.
    monkeypatch.delenv("JAX_PLATFORMS")
    assert "the lab failed" in str(marking.marks_of_files({"mine.py": b"def q1_2_1(keys): return 1"}, terms))


@pytest.mark.parametrize(
    ("text", "by_hand"),
    [
        ("%%writefile answer.py\ndef q1_2_1(keys):\n    return keys[0]\n", True),
        ('if __name__ == "__main__":\n    def q1_2_1(keys):\n        return keys[0]\n', True),
        ("# q1_2_1: I did not find it\nx = 1\n", False),
    ],
)
def test_a_function_that_is_written_and_not_defined_is_no_missing_answer(tmp_path, monkeypatch, text, by_hand):
    def lacks(where, *_, **__):
        raise BrokenAnswer(f"{where} has no such function", lacks=True)

    monkeypatch.setattr(marking, "check_answer", lacks)
    monkeypatch.setattr(marking, "drawn_cases", lambda *_: None)
    (tmp_path / "mine.py").write_text(text)
    first, *_ = marking.marks_of(tmp_path, ["mine.py"], Terms(rubric=rubric_of("uw"), time_limit=32.0)).values()
    assert (first["reason"], first["by_hand"]) == (MISSING, by_hand)
    assert ("it stands in mine.py, where it is not defined by reading" in first["said"]) == by_hand


@pytest.mark.parametrize(
    ("reason", "cases", "by_hand"),
    [(Reason.RAISED, 0, True), (Reason.RAISED, 3, False), (Reason.ENDED, 0, False), (Reason.TIMED_OUT, 0, False)],
)
def test_a_file_that_raises_while_it_is_loaded_gets_no_points_and_no_zero(
    tmp_path, monkeypatch, reason, cases, by_hand
):
    told = {"reason": reason, "said": "so", "cases": cases, "worst": None, "counterexample": None}
    judged = lambda where, contract, **_: Judgement(contract=contract, where=where, **told)  # noqa: E731
    monkeypatch.setattr(marking, "check_answer", judged)
    monkeypatch.setattr(marking, "drawn_cases", lambda *_: None)
    first, *_ = marking.marks_of(tmp_path, ["mine.py"], Terms(rubric=rubric_of("uw"), time_limit=32.0)).values()
    assert (first["reason"], first["by_hand"]) == (str(reason), by_hand)
