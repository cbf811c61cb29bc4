import dataclasses
import json

import numpy as np
import pytest

from attnlab_theory.claims import Verdict
from attnlab_theory.labs.estimates import Estimate
from attnlab_theory.labs.knowledge.answers import Answers
from attnlab_theory.labs.knowledge.measure import measure, verdicts
from attnlab_theory.report import record
from tests.labs.knowledge.models import PLACES, answered, models, row

SHUFFLES = 49


@pytest.fixture(scope="module")
def answers():
    return models({"none": 0.0, "rope": 1.0}, seeds=8, persons=40, apart=0.025)


@pytest.fixture(scope="module")
def measured(answers):
    return measure(answers, PLACES, shuffles=SHUFFLES)


def by_claim(findings):
    return {f.claim: f for f in findings}


@pytest.mark.slow("models that do otherwise, and some between, stay inside")
def test_models_that_learn_in_pretraining_come_out_as_expected(answers, measured):
    found = verdicts(measured).findings
    assert {f.claim: f.verdict for f in found} == dict.fromkeys(
        (
            "untrained-is-ignorant",
            "pretraining-is-recalled",
            "four-of-five-are-recalled",
            "nobody-knows-the-never-seen",
            "pretraining-raises-accuracy",
            "confidence-tells-right-from-wrong",
        ),
        Verdict.SUPPORTED,
    )
    assert {(f.draws, f.bound, f.error_rate) for f in found} == {
        (8, "student: close to normal: numbers of training runs that differ in the seed", 0.05 / 7)
    }


def test_every_claim_falls_where_the_models_do_otherwise():
    # The untrained knows, the pretrained does not, and is surest of what is wrong.
    def rope(seed):
        return {"variant": "rope", "seed": seed}

    confused = Answers(
        answer
        for seed in range(5)
        for answer in (
            *row("r" * (58 - seed) + "w" * (2 + seed), variant="none", seed=seed),
            *row("w" * (59 - seed // 2) + "r" * (1 + seed // 2), log_probability=-0.01 - seed, **rope(seed)),
            *row("r" * (39 - seed), group="never-seen", log_probability=-30.0, **rope(seed)),
        )
    )
    found = by_claim(verdicts(measure(confused, PLACES, shuffles=SHUFFLES)).findings)
    recalled = ("pretraining-is-recalled", "four-of-five-are-recalled")
    for claim in ("untrained-is-ignorant", "pretraining-raises-accuracy", *recalled):
        assert found[claim].verdict == Verdict.REFUTED


def test_a_model_that_is_surest_of_what_is_wrong_is_found_out():
    rng = np.random.default_rng(0)
    wrong = Answers(
        dataclasses.replace(a, log_probability=-float(rng.uniform(1, 3) if a.is_right else rng.uniform(0, 1.5)))
        for seed in range(5)
        for a in row("rw" * 30, variant="rope", seed=seed)
    )
    found = by_claim(verdicts(measure(wrong, PLACES, shuffles=SHUFFLES)).findings)
    assert found["confidence-tells-right-from-wrong"].verdict == Verdict.REFUTED


def test_two_models_that_answer_alike_are_not_told_apart():
    alike = Answers(a for n in range(4) for v in ("none", "rope") for a in row("rrww", variant=v, seed=n))
    found = by_claim(verdicts(measure(alike, PLACES, shuffles=SHUFFLES)).findings)
    assert found["pretraining-raises-accuracy"].verdict == Verdict.INCONCLUSIVE


def test_knowing_the_never_seen_would_be_refuted():
    places = ("Bern", "Cairo", "Dhaka", "Essen")
    known = [
        dataclasses.replace(a, gold=place, predicted=place if number > seed else "Berm", name=f"{a.name} {place}")
        for seed in range(4)
        for place in places
        for number, a in enumerate(row("r" * 20, group="never-seen", seed=seed))
    ]
    leaked = Answers(known)
    found = by_claim(verdicts(measure(leaked, PLACES, shuffles=SHUFFLES)).findings)
    found = found["nobody-knows-the-never-seen"]
    assert found.verdict == Verdict.REFUTED
    assert found.predicted.high == 0.25


@pytest.mark.parametrize(
    ("right", "verdict"),
    [
        # Of all 300 answers 18 are right: [0.036, 0.093], and the models differ.
        ((3, 6, 9), Verdict.INCONCLUSIVE),
        ((17, 18, 19), Verdict.REFUTED),
        ((2, 3, 4), Verdict.SUPPORTED),
    ],
)
def test_an_interval_that_reaches_beyond_the_homeworks_mark_supports_nothing(right, verdict):
    golds = [f"place {number // 3}" for number in range(99)] + ["place 40"]
    asked = [
        answered(
            name=f"N{seed} {n}", gold=gold, predicted=gold if n < count else "none", group="never-seen", seed=seed
        )
        for seed, count in enumerate(right)
        for n, gold in enumerate(golds)
    ]
    # The control: of held-out persons the same models know most.
    known = [answer for seed in range(3) for answer in row("r" * (58 - seed) + "w" * (2 + seed), seed=seed)]
    measured = measure(Answers((*asked, *known)), PLACES, shuffles=SHUFFLES)
    found = by_claim(verdicts(measured).findings)["nobody-knows-the-never-seen"]
    assert (found.predicted.high, found.draws, found.verdict) == (0.1, 3, verdict)


def test_a_pooled_interval_is_no_judge():
    """Each of three models has most right, and they differ: more answers of these do not tell of a fourth."""
    apart = Answers(a for seed, n in enumerate((58, 60, 50)) for a in row("r" * n + "w" * (60 - n), seed=seed))
    measured = measure(apart, PLACES, shuffles=SHUFFLES)
    (pooled,) = measured.of("pooled accuracy")
    found = by_claim(verdicts(measured).findings)["four-of-five-are-recalled"]
    assert pooled.interval.low > found.predicted.low
    assert found.verdict == Verdict.INCONCLUSIVE
    assert "3 models, which alone are meant" in pooled.bound


@pytest.mark.parametrize("seeds", [1, 2])
def test_one_or_two_models_are_no_verdict(seeds):
    few = models({"none": 0.0, "rope": 1.0}, seeds=seeds, persons=40, apart=0.025)
    found = verdicts(measure(few, PLACES, shuffles=SHUFFLES))
    assert (len(found.findings), found.family, found.as_expected) == (0, 0, True)
    assert {each.claim for each in found.unjudged} >= {"pretraining-is-recalled", "untrained-is-ignorant"}
    assert {(each.runs, each.needs) for each in found.unjudged} == {(seeds, 3)}


def test_models_that_pass_the_mark_need_not_reach_four_of_five():
    known = [(40 + 5 * n, {"seed": n}) for n in range(5)]
    known += [(n % 2, {"seed": n, "variant": "none"}) for n in range(5)]
    apart = Answers(a for count, of in known for a in row("r" * count + "w" * (60 - count), **of))
    found = verdicts(measure(apart, PLACES, shuffles=SHUFFLES))
    passed, reached = (f for f in found.findings if f.claim.endswith("recalled"))
    assert (passed.claim, passed.verdict) == ("pretraining-is-recalled", Verdict.SUPPORTED)
    assert (reached.claim, reached.verdict) == ("four-of-five-are-recalled", Verdict.INCONCLUSIVE)
    assert reached.as_expected
    assert "10 % of" in passed.statement


@pytest.mark.slow("findings and estimates that come back from JSON stay inside")
def test_findings_and_estimates_survive_json(answers, measured):
    for finding in verdicts(measured).findings:
        assert record.from_json(json.loads(record.to_text(record.as_json(finding)))) == finding
    for estimate in measured:
        assert Estimate.from_json(json.loads(record.to_text(estimate.as_json()))) == estimate


def test_every_estimate_lies_in_its_interval(measured):
    assert all(e.interval.low <= e.value <= e.interval.high for e in measured)


def test_rote_answers_say_nothing_of_confidence(measured):
    assert {e.setting["groups"] for e in measured.of("mean auroc")} == {"320 held-out and 320 never-seen"}
    assert {e.setting["groups"] for e in measured.of("auroc")} == {"320 held-out and 320 never-seen"}


def test_real_data_without_never_seen_persons_is_measured_as_far_as_it_goes():
    only = Answers(a for a in models({"none": 0.1, "vanilla": 0.5}) if a.group == "held-out")
    quantities = {e.quantity for e in measure(only, PLACES, shuffles=SHUFFLES)}
    assert {"mean accuracy", "mcnemar p", "auroc"} <= quantities
    assert not quantities & {"confident places", "p of same part", "p of nearest name"}


@pytest.mark.slow("a mean over seeds, with the t-interval of the seeds, stays inside")
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
