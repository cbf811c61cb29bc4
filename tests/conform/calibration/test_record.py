"""The calibration: its record accuses nobody and misses nothing without a reason, and a small one runs here."""

import json
from pathlib import Path

import pytest

from attnlab_theory.conform.kinds import KINDS
from attnlab_theory.museum.bugs import BUGS
from tests.conform import wrong
from tests.conform.calibration import PAGE, RECORD, museum, mutants, others, page, run, suites
from tests.conform.linear import linear_code

ROOT = Path(__file__).parents[3]
FOUND = json.loads((ROOT / RECORD).read_text("utf-8"))

BLIND_TO = {"no maximum", "1e-3 in the normaliser", "half-precision scores", "head 0's mask"}
"""What no vector of ONNX shows within its own tolerance."""


def test_the_page_is_written_from_the_record():
    assert (ROOT / PAGE).read_text("utf-8") == page.text(FOUND)


def test_every_planted_bug_is_found_and_onnx_misses_those_that_are_known():
    assert [each["bug"] for each in FOUND["planted"]] == [*wrong.BUGS]
    assert all(each["by"] for each in FOUND["planted"])
    assert {each["bug"] for each in FOUND["planted"] if not each["onnx"]} >= BLIND_TO


def test_every_bug_of_the_museum_is_found_or_has_a_reason():
    assert [each["bug"] for each in FOUND["museum"]] == [bug.name for bug in BUGS]
    for each in FOUND["museum"]:
        assert bool(each["by"]) != bool(each["why"]), each["bug"]
        assert each["by"] != "a trial call", each["bug"]
    assert [each["right"] for each in FOUND["museum"] if each["right"]] == []
    assert {bug.name for bug in BUGS} == {*museum.BOXES, *museum.CONVENTIONS, *museum.REASONS}


def test_a_box_of_another_kind_has_right_code_beside_it():
    beside = {each["bug"] for each in FOUND["museum"] if each["beside"]}
    assert beside == {name for name, box in {**museum.BOXES, **museum.CONVENTIONS}.items() if box.right is not None}
    assert beside >= {*others.BOXES, *others.CONVENTIONS}


@pytest.mark.slow("the committed record of every bug of the museum stays inside")
@pytest.mark.parametrize(
    ("name", "found_by"),
    [("rotation-without-its-minus", "turning"), ("maximum-over-future-positions", "causality")],
)
def test_a_bug_of_another_kind_fails_and_right_code_in_its_place_holds(name, found_by):
    """Judges the bug and the right code, each as a whole."""
    box = museum.BOXES[name]
    assert box.accused() == ""
    assert box.found()[0] == found_by


def test_every_mutant_is_found_or_has_a_reason():
    assert {mutants.stem(change) for change in mutants.changes()} == set(mutants.WAYS)
    assert {page.stem(each) for each in FOUND["mutants"]} == set(mutants.WAYS)
    assert [each["change"] for each in FOUND["mutants"] if not each["by"] and not each["why"]] == []
    assert [each["change"] for each in FOUND["mutants"] if each["why"] == run.NOT_ASKED] == []


def test_no_reason_stays_of_a_change_that_is_found_or_gone():
    given = {(each["function"], each["change"]): each["why"] for each in FOUND["mutants"]}
    assert {at: given.get(at) for at in mutants.UNSEEN} == dict(mutants.UNSEEN)
    assert set(mutants.OF_BIGBIRD) <= {each["function"] for each in FOUND["mutants"] if each["why"] == run.NO_KIND}


def test_right_code_is_never_accused_and_its_errors_are_far_below_the_tolerance():
    assert {each["alarms"] for each in FOUND["right"]} == {0}
    assert {each["seeds"] for each in FOUND["right"]} == {100}
    assert max(each["largest"] for each in FOUND["right"]) < 0.5
    assert {each["code"].partition(":")[0] for each in FOUND["right"]} == {"numpy", "jax", "torch"}


def test_right_code_of_every_other_kind_is_asked_whole_and_never_accused():
    rows = FOUND["suites"]
    assert [(each["kind"], each["code"]) for each in rows if each["alarms"]] == []
    assert {each["kind"] for each in rows} == {
        name
        for name, kind in KINDS.items()
        if not kind.suite.startswith("kinds.softmax") and kind.suite != KINDS["onnx"].suite
    }
    assert {each["code"].partition(":")[0] for each in rows} == {"numpy", "jax", "torch"}
    assert min(each["draws"] for each in rows if each["kind"] not in suites.STEADY) >= 20
    assert max(max(each["largest"].values()) for each in rows if each["largest"]) < 1


@pytest.mark.slow("the committed record of right code in 20 draws stays inside")
def test_other_draws_hand_over_other_numbers_and_the_same_ones_again():
    seen = {}

    def asked(draw):
        arrays = seen.setdefault(draw, [])

        def target(q, k, v):
            arrays.append(q.sum())
            return linear_code.states(q, k, v)

        return suites.asked(suites.Right("numpy: remembers", "linear", "numpy", target, {}), draw)

    first, both = asked(1), asked(2)
    n = len(seen[1])
    assert seen[2][:n] == seen[1]
    assert len({float(x) for x in seen[2][:n]} & {float(x) for x in seen[2][n:]}) < n / 2
    assert both["asked"] == 2 * first["asked"]


@pytest.mark.slow("one of four members stays inside", but=1)
@pytest.mark.parametrize(
    ("target", "narrow", "alarms"),
    [
        (linear_code.in_float32, True, False),
        (linear_code.in_float32, False, True),
        (linear_code.buggy("features in half precision"), False, True),
        (linear_code.states, False, False),
    ],
    ids=["told", "told of float64", "wrong", "right"],
)
def test_a_wrong_identity_is_an_alarm_and_so_is_float32_that_is_told_of_float64(target, narrow, alarms):
    found = suites.asked(suites.Right("numpy: one", "linear", "numpy", target, {}, narrow), 1)
    assert (bool(found["alarms"]), bool(found["first"])) == (alarms, alarms)
    assert bool(found["told"]) == (target is linear_code.in_float32)


def quiet(line):
    del line


@pytest.mark.slow("a small calibration of wrong code stays inside")
def test_a_small_calibration_of_right_code():
    names = ("numpy: plain", "numpy: one_key_after_the_other", "torch: plain")
    found = run.of_right(2, quiet, names)
    assert len(found) >= 6
    assert {each["alarms"] for each in found} == {0}


def test_a_small_calibration_of_wrong_code():
    pytest.importorskip("onnx", reason="onnx is not installed: its vectors were not calibrated")
    from tests.conform.calibration import judging

    # What is right passes ONNX's vectors, so that their finds are finds.
    assert judging.by_vectors(run.with_everything(""), {}) == ""
    planted = run.planted(quiet, ("1e-3 in the normaliser", "wrong scale"))
    assert [(bool(each["by"]), bool(each["onnx"])) for each in planted] == [(True, False), (True, True)]
    bugs = run.of_museum(quiet, ("mask-off-by-one", "mask-of-the-upper-left", "padding-counts-as-a-head"))
    assert [bool(each["by"]) for each in bugs] == [True, False, False]
    assert "query 0 sees key 0 only" in bugs[1]["why"]
    changes = [each for each in mutants.changes() if mutants.function(each) == "causal_mask"]
    changed = run.of_mutants(changes[-1:], quiet)
    assert [(bool(each["by"]), each["why"]) for each in changed] == [(True, "")]
