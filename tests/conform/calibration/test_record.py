"""The calibration: its record accuses nobody and misses nothing without a reason, and a small one runs here."""

import json
from pathlib import Path

import pytest

from attnlab_theory.museum.bugs import BUGS
from tests.conform import wrong
from tests.conform.calibration import PAGE, RECORD, museum, others, page

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


@pytest.mark.parametrize(
    ("name", "found_by"),
    [("rotation-without-its-minus", "rotation"), ("maximum-over-future-positions", "causality")],
)
def test_a_bug_of_another_kind_fails_and_right_code_in_its_place_holds(name, found_by):
    box = museum.BOXES[name]
    assert box.accused() == ""
    assert box.found()[0] == found_by


def test_every_mutant_is_found_or_has_a_reason():
    assert len(FOUND["mutants"]) > 150
    assert [each["change"] for each in FOUND["mutants"] if not each["by"] and not each["why"]] == []


def test_right_code_is_never_accused_and_its_errors_are_far_below_the_tolerance():
    assert {each["alarms"] for each in FOUND["right"]} == {0}
    assert {each["seeds"] for each in FOUND["right"]} == {100}
    assert max(each["largest"] for each in FOUND["right"]) < 0.5
    assert {each["code"].partition(":")[0] for each in FOUND["right"]} == {"numpy", "jax", "torch"}


def quiet(line):
    del line


def test_a_small_calibration_of_right_code():
    from tests.conform.calibration import run

    names = ("numpy: plain", "numpy: one_key_after_the_other", "torch: plain")
    found = run.of_right(2, quiet, names)
    assert len(found) >= 6
    assert {each["alarms"] for each in found} == {0}


def test_a_small_calibration_of_wrong_code():
    pytest.importorskip("onnx", reason="onnx is not installed: its vectors were not calibrated")
    from tests.conform.calibration import judging, mutants, run

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
