"""The verdicts, on numbers that are known."""

import numpy as np
import pytest

from attnlab_theory.claims import Verdict
from attnlab_theory.labs.estimates import Estimates, mean
from attnlab_theory.labs.reviews.accuracies import Answers, Bayes, against_bayes, of_parts
from attnlab_theory.labs.reviews.arms import Arm
from attnlab_theory.labs.reviews.evaluation import judged_over_models, over_models
from attnlab_theory.labs.reviews.faithfulness import WITHIN_ONE
from attnlab_theory.labs.reviews.measure import over_models as of_seeds
from attnlab_theory.labs.reviews.measure import verdicts
from attnlab_theory.labs.reviews.optimism import curves

REVIEWS = 1000
BASE, SGD, SLOW_SGD, SORTED = (
    Arm(optimizer="adamw", rate=2e-3),
    Arm(optimizer="sgd", rate=2e-3),
    Arm(optimizer="sgd", rate=0.5),
    Arm(optimizer="adamw", rate=2e-3, order="by-label"),
)
PARTS = (
    ("base", BASE),
    ("adamw at the shared rate", BASE),
    ("adamw at its chosen rate", BASE),
    ("sgd at the shared rate", SGD),
    ("sgd at its chosen rate", SLOW_SGD),
    ("order by-label", SORTED),
)


def model(arm, seed, accuracy):
    right = round(REVIEWS * (accuracy + 0.001 * ((seed + 1) * len(arm.name) % 5)))
    hits = np.arange(REVIEWS) < right
    curve = tuple({"training accuracy": 0.9 + 0.01 * e, "validation accuracy": 0.9 - 0.01 * e} for e in range(3))
    return Answers(
        arm=arm,
        seed=seed,
        curve=curve,
        test=np.where(hits, 0.9, 0.1),
        hits=hits,
        majority=0.5,
        lost_to_dropout=0.02 + 0.001 * seed,
        moved_by_dropout=0.05,
    )


def judged(accuracies, seeds=4):
    """The verdicts of each claim where the arms have these accuracies."""
    asked = [model(arm, seed, accuracy) for arm, accuracy in accuracies.items() for seed in range(seeds)]
    found = verdicts(of_parts(asked, PARTS))
    return {(f.claim, f.setting.get("part")): f.verdict for f in found.findings}


def test_a_better_rate_is_told_from_a_better_optimizer():
    worse = judged({BASE: 0.92, SGD: 0.51, SLOW_SGD: 0.70, SORTED: 0.6})
    assert worse["one-rate-favours-adamw", "sgd at the shared rate"] == Verdict.SUPPORTED
    assert worse["a-rate-of-its-own-helps", "sgd at its chosen rate"] == Verdict.SUPPORTED
    assert worse["best-rates-stay-within-the-margin", "sgd at its chosen rate"] == Verdict.REFUTED
    assert worse["sorted-labels-hurt", "order by-label"] == Verdict.SUPPORTED
    same = judged({BASE: 0.92, SGD: 0.51, SLOW_SGD: 0.915, SORTED: 0.95})
    assert same["best-rates-stay-within-the-margin", "sgd at its chosen rate"] == Verdict.SUPPORTED
    assert same["sorted-labels-hurt", "order by-label"] == Verdict.REFUTED


def test_a_difference_near_the_margin_is_no_equivalence():
    """A narrow interval across the margin leaves more than the margin possible."""
    found = judged({BASE: 0.92, SGD: 0.51, SLOW_SGD: 0.901, SORTED: 0.6}, seeds=5)
    assert found["best-rates-stay-within-the-margin", "sgd at its chosen rate"] == Verdict.INCONCLUSIVE


def test_curves_and_dropout_are_judged_of_the_base_alone():
    found = judged({BASE: 0.9, SGD: 0.5, SLOW_SGD: 0.6, SORTED: 0.6})
    for claim in ("training-accuracy-is-higher", "dropout-costs-accuracy"):
        assert {part for name, part in found if name == claim} == {"base"}
    assert found["dropout-costs-accuracy", "base"] == Verdict.SUPPORTED


def test_a_part_gains_nothing_over_itself():
    asked = [model(arm, seed, 0.9) for arm in (BASE, SGD, SLOW_SGD, SORTED) for seed in range(2)]
    gains = of_parts(asked, PARTS).of("accuracy gained")
    assert {(e.setting["part"], e.setting["against"]) for e in gains} == {
        ("sgd at the shared rate", "base"),
        ("sgd at its chosen rate", "base"),
        ("sgd at its chosen rate", "adamw at its chosen rate"),
        ("sgd at its chosen rate", "sgd at the shared rate"),
        ("order by-label", "base"),
    }


@pytest.mark.parametrize(("accuracy", "floor"), [(0.8, Verdict.SUPPORTED), (0.999, Verdict.REFUTED)])
def test_a_model_that_beats_bayes_is_found_out(accuracy, floor):
    hits = np.arange(REVIEWS) < 0.92 * REVIEWS
    rule = Bayes(seed=0, posterior=np.where(hits, 0.9, 0.1), hits=hits)
    found = verdicts(against_bayes([model(BASE, 0, accuracy)], [rule], BASE))
    judged = {f.claim: f.verdict for f in found.findings}
    assert judged["nobody-beats-bayes"] == floor
    assert judged["bayes-accuracy-is-the-sum"] == Verdict.SUPPORTED
    refuted = verdicts(against_bayes([model(BASE, 0, 0.6)], [rule], BASE))
    assert {f.claim: f.verdict for f in refuted.findings}["order-is-read"] == Verdict.REFUTED


@pytest.mark.slow("optimism where trials are equally good stays inside")
def test_luck_is_judged_for_the_longest_search_alone():
    rng = np.random.default_rng(0)
    estimates = curves(0.9 + 0.01 * rng.normal(size=40), np.full(40, 0.9), 0.05)
    (found,) = verdicts(estimates).findings
    assert (found.claim, found.setting["n"], found.verdict) == ("winners-are-lucky", 20, Verdict.SUPPORTED)


@pytest.mark.parametrize(("accuracy", "verdict"), [(0.9, Verdict.SUPPORTED), (0.8, Verdict.REFUTED)])
def test_tuned_models_are_judged_by_their_mean_on_one_test(accuracy, verdict):
    whole = over_models([accuracy - 0.01, accuracy, accuracy + 0.01])
    (found,) = judged_over_models(whole, REVIEWS, 0.5).findings
    told = {"models": 3, "reviews": REVIEWS, "majority": 0.5}
    assert (found.claim, found.setting) == ("tuned-models-reach-87", told)
    assert found.verdict == verdict


@pytest.mark.parametrize("majority", [None, 0.88, 0.9, 0.95])
def test_a_test_in_which_one_label_reaches_as_much_supports_no_tuned_model(majority):
    (found,) = judged_over_models(over_models([0.899, 0.9, 0.901]), REVIEWS, majority).findings
    assert found.verdict == Verdict.INCONCLUSIVE


def test_one_model_alone_is_not_judged_by_its_answers_and_not_counted_beside_the_mean():
    alone = [mean("rank correlation", np.full(20, 0.9), WITHIN_ONE, 0.05, pair="gradient, rollout")]
    (left,) = verdicts(Estimates(alone)).unjudged
    assert (left.claim, left.runs) == ("explanations-agree", 1)
    both = verdicts(Estimates((*alone, *of_seeds([Estimates(alone)] * 4))))
    assert [(each.claim, each.draws) for each in both.findings] == [("explanations-agree", 4)]
    assert both.unjudged == ()


@pytest.mark.parametrize(("accuracy", "verdict"), [(0.915, Verdict.SUPPORTED), (0.85, Verdict.REFUTED)])
def test_reviews_of_alike_lengths_are_compared_within_the_margin(accuracy, verdict):
    alike = Arm(optimizer="adamw", rate=2e-3, order="alike")
    found = [model(arm, seed, known) for arm, known in ((BASE, 0.92), (alike, accuracy)) for seed in range(4)]
    measured = of_parts(found, [("base", BASE), ("order alike", alike)])
    by_claim = {f.claim: f.verdict for f in verdicts(measured).findings}
    assert by_claim["alike-lengths-stay-within-the-margin"] == verdict
