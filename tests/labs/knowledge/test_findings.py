import dataclasses
import json

import pytest

from attnlab_theory.claims import Verdict
from attnlab_theory.labs.estimates import Estimate
from attnlab_theory.labs.knowledge.answered import Answers
from attnlab_theory.labs.knowledge.findings import Expected, measure, verdicts
from attnlab_theory.report import record
from tests.labs.knowledge.models import PLACES, models, row

SHUFFLES = 49


@pytest.fixture(scope="module")
def answers():
    return models({"none": 0.0, "rope": 1.0}, seeds=2, persons=40)


@pytest.fixture(scope="module")
def measured(answers):
    return measure(answers, PLACES, shuffles=SHUFFLES)


def by_claim(findings):
    return {f.claim: f for f in findings}


def test_models_that_learn_in_pretraining_come_out_as_expected(answers, measured):
    found = verdicts(answers, measured)
    assert {f.claim: f.verdict for f in found} == dict.fromkeys(
        (
            "untrained-is-ignorant",
            "pretraining-is-recalled",
            "nobody-knows-the-never-seen",
            "pretraining-changes-the-answers",
            "confidence-tells-right-from-wrong",
        ),
        Verdict.SUPPORTED,
    )
    assert all(f.bound and f.draws for f in found)


def test_every_claim_falls_where_the_models_do_otherwise():
    # The untrained knows, the pretrained does not, and is surest of what is wrong.
    confused = Answers(
        (
            *row("r" * 60, variant="none"),
            *row("w" * 60, variant="rope", log_probability=-0.01),
            *row("r" * 40, variant="rope", group="never-seen", log_probability=-3.0),
        )
    )
    found = by_claim(verdicts(confused, measure(confused, PLACES, shuffles=SHUFFLES)))
    assert found["untrained-is-ignorant"].verdict == Verdict.REFUTED
    assert found["pretraining-is-recalled"].verdict == Verdict.REFUTED
    assert found["confidence-tells-right-from-wrong"].verdict == Verdict.REFUTED


def test_two_models_that_answer_alike_are_not_told_apart():
    alike = Answers((*row("rrww", variant="none"), *row("rrww", variant="rope")))
    found = by_claim(verdicts(alike, measure(alike, PLACES, shuffles=SHUFFLES)))
    assert found["pretraining-changes-the-answers"].verdict == Verdict.REFUTED


def test_knowing_the_never_seen_would_be_refuted():
    places = ("Bern", "Cairo", "Dhaka", "Essen")
    known = [answer for place in places for answer in row("r" * 20, group="never-seen")]
    leaked = Answers(
        type(a)(**{**a.as_json(), "gold": p, "predicted": p, "name": f"{a.name} {p}"})
        for p, a in zip(places * 20, known, strict=True)
    )
    (found,) = verdicts(leaked, measure(leaked, PLACES, shuffles=SHUFFLES))
    assert (found.claim, found.verdict) == ("nobody-knows-the-never-seen", Verdict.REFUTED)
    assert found.predicted.high == 0.25


def test_few_answers_decide_nothing():
    few = row("rrrw")
    (found,) = verdicts(few, measure(few, PLACES, shuffles=SHUFFLES))[:1]
    assert found.verdict == Verdict.INCONCLUSIVE


def test_what_is_expected_can_be_said():
    answers = row("r" * 30 + "w" * 70)
    found = by_claim(verdicts(answers, measure(answers, PLACES), Expected(pretrained=0.21)))
    assert found["pretraining-is-recalled"].verdict == Verdict.SUPPORTED
    assert "21\\%" in found["pretraining-is-recalled"].statement


def test_findings_and_estimates_survive_json(answers, measured):
    for finding in verdicts(answers, measured):
        assert record.from_json(json.loads(record.to_text(record.as_json(finding)))) == finding
    for estimate in measured:
        assert Estimate.from_json(json.loads(record.to_text(estimate.as_json()))) == estimate


def test_every_estimate_lies_in_its_interval(measured):
    assert all(e.interval.low <= e.value <= e.interval.high for e in measured)


def test_rote_answers_say_nothing_of_confidence(measured):
    assert {e.setting["groups"] for e in measured.of("auroc")} == {"held-out and never-seen"}


def test_real_data_without_never_seen_persons_is_measured_as_far_as_it_goes():
    only = Answers(a for a in models({"none": 0.1, "vanilla": 0.5}) if a.group == "held-out")
    quantities = {e.quantity for e in measure(only, PLACES, shuffles=SHUFFLES)}
    assert {"mean accuracy", "mcnemar p", "auroc"} <= quantities
    assert not quantities & {"confident places", "p of same part", "p of nearest name"}


def test_a_question_that_all_seeds_were_asked_counts_once():
    different = models({"none": 0.0, "vanilla": 0.9}, seeds=3)
    same = Answers(dataclasses.replace(a, name=a.name.replace(f" {a.seed} ", " ")) for a in different)
    alone = Answers(answer for answer in same if answer.seed == 0)
    both = [measure(answers, PLACES, shuffles=9) for answers in (same, alone)]
    for quantity in (
        *("pooled accuracy", "wrong answers that are places", "auroc", "accuracy at confidence"),
        *("accuracy of the surest", "share at confidence", "accuracy gained", "mcnemar p"),
    ):
        assert both[0].of(quantity) == both[1].of(quantity)
    (three,), (one,) = (each.of("mean accuracy", variant="vanilla", group="held-out") for each in both)
    assert (three.draws, one.draws) == (3, 1)
    assert measure(different, PLACES, shuffles=9).of("pooled accuracy")[0].draws == 90


def test_no_answers_are_refused():
    with pytest.raises(ValueError, match="there are no answers"):
        measure(Answers(), PLACES)


def test_an_estimate_that_is_not_there_is_missed_loudly(measured):
    with pytest.raises(KeyError, match="no estimate of auroc"):
        measured.of("auroc", variant="alibi")
