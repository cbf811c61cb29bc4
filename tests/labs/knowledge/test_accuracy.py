import math

import scipy.stats

from attnlab_theory.labs.knowledge import accuracy
from attnlab_theory.labs.knowledge.answers import Answers
from tests.labs.knowledge.models import PLACES, answered, row


def seeds(*rights: str, **fields) -> Answers:
    return Answers(answer for seed, each in enumerate(rights) for answer in row(each, seed=seed, **fields))


def test_the_accuracy_of_a_seed_has_clopper_and_pearsons_interval():
    found = accuracy.by_seed(seeds("rrw", "www"), 0.05)
    assert [(e.value, e.draws, e.setting["seed"]) for e in found] == [(2 / 3, 3, 0), (0.0, 3, 1)]
    wanted = scipy.stats.binomtest(2, 3).proportion_ci(0.95, "exact")
    assert math.isclose(found[0].interval.low, wanted.low)
    assert math.isclose(found[0].interval.high, wanted.high)


def test_the_mean_over_seeds_has_the_t_interval_of_the_seeds_cut_to_shares():
    (found,) = accuracy.over_seeds(seeds("rrrw", "rrww", "rrrw"), 0.5)
    rows = [0.75, 0.5, 0.75]
    wanted = scipy.stats.t.interval(0.5, 2, sum(rows) / 3, scipy.stats.sem(rows))
    assert (found.value, found.draws) == (sum(rows) / 3, 3)
    assert math.isclose(found.interval.low, wanted[0])
    (wide,) = accuracy.over_seeds(seeds("rrrw", "rrww", "rrrw"), 0.01)
    assert (wide.interval.low, wide.interval.high) == (0, 1)


def test_one_seed_says_nothing_of_others():
    (found,) = accuracy.over_seeds(seeds("rrw"), 0.05)
    assert (found.value, found.interval.low, found.interval.high) == (2 / 3, 0, 1)


def test_seeds_are_pooled_by_variant_and_group():
    answers = Answers((*seeds("rrw", "rww"), *seeds("w", group="never-seen")))
    assert [(e.value, e.draws) for e in accuracy.pooled(answers, 0.05)] == [(0.5, 6), (0.0, 1)]


def test_the_commonest_place_is_counted_seed_by_seed():
    golds = [("Bern", 0), ("Bern", 0), ("Cairo", 0), ("Cairo", 1), ("Cairo", 1)]
    answers = Answers(answered(gold=gold, seed=seed) for gold, seed in golds)
    (found,) = accuracy.commonest(answers)
    assert (found.setting, found.draws, found.error_rate) == ({"variant": "vanilla", "group": "held-out"}, 5, 0.0)
    assert math.isclose(found.value, (2 / 3 + 1) / 2)
    assert found.interval.low == found.value == found.interval.high


def test_a_variant_is_compared_with_another_on_the_same_questions():
    answers = Answers((*seeds("wwrw", "wwww", variant="none"), *seeds("rrwr", "rrww", variant="rope")))
    found = accuracy.compared(answers, "none", "rope", "held-out", 0.05)
    values = {e.quantity: e.value for e in found}
    # Five questions only rope gets right, one only the other; by seed the gains are 1/2 and 1/2.
    assert values["accuracy gained"] == 4 / 8
    assert values["mean accuracy gained"] == 0.5
    assert values["discordant odds"] == 5
    assert math.isclose(values["mcnemar p"], 2 * 7 / 64)
    assert all(e.interval.low <= e.value <= e.interval.high for e in found)
    (p,) = found.of("mcnemar p")
    assert (p.setting["only_first"], p.setting["only_second"]) == (1, 5)


def test_odds_without_a_question_that_only_the_first_gets_right_are_left_out():
    answers = Answers((*seeds("ww", variant="none"), *seeds("rw", variant="rope")))
    found = accuracy.compared(answers, "none", "rope", "held-out", 0.05)
    assert "discordant odds" not in {e.quantity for e in found}


def test_wrong_answers_are_places_or_not():
    answers = Answers((*row("rwwx"), *row("rr", group="finetuned")))
    (found,) = accuracy.wrong_but_places(answers, PLACES, 0.05)
    assert (found.value, found.draws, found.setting["group"]) == (2 / 3, 3, "held-out")
