import math

import numpy as np
import pytest

from attnlab_theory.labs.knowledge import confidence
from attnlab_theory.labs.knowledge.answers import Answers
from tests.labs.knowledge.models import answered, row


def sure(*given: tuple[bool, float], **fields) -> Answers:
    """Right or not, and how confident."""
    return Answers(
        answered(predicted="Bern" if right else "Cairo", log_probability=math.log(p), **fields)
        for right, p in given
    )


def test_auroc_compares_the_confidence_of_right_and_wrong_answers():
    (found,) = confidence.discrimination(sure((True, 0.9), (True, 0.5), (False, 0.5), (False, 0.1)), 0.05)
    assert found.value == (2 + 1 + 0.5) / 4
    assert (found.setting["right"], found.setting["wrong"]) == (2, 2)


@pytest.mark.parametrize("rights", ["rrr", "www"])
def test_a_variant_that_is_always_right_or_always_wrong_has_no_auroc(rights):
    assert not confidence.discrimination(row(rights), 0.05)


def test_bins_of_reliability_hold_equally_many_answers_by_confidence():
    answers = sure((True, 0.9), (False, 0.2), (True, 0.7), (False, 0.4))
    low, high = confidence.reliability(answers, 0.05, bins=2)
    assert (low.value, high.value) == (0, 1)
    assert math.isclose(low.setting["confidence"], 0.3)
    assert math.isclose(high.setting["confidence"], 0.8)


@pytest.mark.parametrize("bins", [0, 5])
def test_bins_that_cannot_be_filled_are_refused(bins):
    with pytest.raises(ValueError, match=f"4 answers of vanilla do not fill {bins} bins"):
        confidence.reliability(row("rrww"), 0.05, bins=bins)


def test_a_model_that_keeps_silent_when_unsure_is_judged_by_the_rest():
    answers = sure((False, 0.8), (True, 0.9), (True, 0.95), (False, 0.3))
    found = confidence.abstention(answers, 0.05, levels=4)
    assert [(e.setting["coverage"], e.value) for e in found] == [(0.25, 1), (0.5, 1), (0.75, 2 / 3), (1, 0.5)]


def test_levels_of_coverage_are_steps_of_equal_size():
    answers = sure(*((True, p) for p in np.linspace(0.001, 0.999, 100)))
    found = confidence.abstention(answers, 0.05, levels=20)
    assert [round(100 * e.setting["coverage"]) for e in found] == list(range(5, 101, 5))


def test_answers_of_one_confidence_are_kept_or_dropped_together():
    answers = sure((True, 0.9), (False, 0.9), (False, 0.9), (True, 0.1))
    found = confidence.abstention(answers, 0.05, levels=4)
    assert [(e.setting["coverage"], e.value) for e in found] == [(0.75, 1 / 3), (1, 0.5)]


def test_no_level_of_coverage_is_refused():
    with pytest.raises(ValueError, match="at least 1, not 0"):
        confidence.abstention(row("r"), 0.05, levels=0)


def test_a_histogram_shares_out_all_answers_of_a_kind():
    answers = sure((True, 0.95), (True, 1.0), (False, 0.05), (False, 0.5))
    found = confidence.histogram(answers, 0.05, bins=2)
    shares = {(e.setting["right"], e.setting["low"]): e.value for e in found}
    assert shares == {(True, 0.0): 0, (True, 0.5): 1, (False, 0.0): 0.5, (False, 0.5): 0.5}


def test_confident_means_surer_than_half_of_the_right_answers():
    answers = sure((True, 0.9), (True, 0.5), (True, 0.8), (False, 0.99))
    assert np.isclose(np.exp(confidence.sure_of_right(answers)), 0.8)
    with pytest.raises(ValueError, match="no answer is right"):
        confidence.sure_of_right(row("ww"))


def test_every_number_about_confidence_says_of_whom():
    answers = Answers((*row("rwrw"), *row("rw", group="never-seen")))
    for measure in (confidence.discrimination, confidence.abstention, confidence.histogram):
        assert all(e.setting["groups"] == "4 held-out and 2 never-seen" for e in measure(answers, 0.05))


def test_what_is_asked_of_each_group_does_not_depend_on_how_many_persons_the_other_has():
    """Too little confidence in one group and too much in the other: their mean could have either sign."""
    known = [sure((True, 0.9), (True, 0.7), (False, 0.6), seed=seed) for seed in range(3)]
    unknown = [sure((False, 0.7), (False, 0.4), seed=seed, group="never-seen") for seed in range(3)]
    for times in (1, 9):
        answers = Answers(a for seed in range(3) for a in (*known[seed], *unknown[seed] * times))
        found = confidence.within_groups(answers, 0.05)
        off = {e.setting["group"]: e.value for e in found.of("confidence minus accuracy")}
        assert off == pytest.approx({"held-out": 2.2 / 3 - 2 / 3, "never-seen": 0.55})
        (area,) = found.of("mean auroc of a group")
        assert (area.setting["group"], area.value, area.draws) == ("held-out", 1.0, 3)
        bins = confidence.reliability(answers, 0.05, bins=1)
        assert [e.setting["group"] for e in bins] == ["held-out", "never-seen"]
        assert [e.value for e in bins] == pytest.approx([2 / 3, 0])
