"""What is committed of fine-tuned MiniLM: one answer for each test review, as right as the JSON says."""

import functools
import json
from pathlib import Path

import pytest

from attnlab_theory.claims import Verdict
from attnlab_theory.cli import main
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.reviews import measure
from attnlab_theory.labs.reviews.arms import PRESETS
from attnlab_theory.language.corpora.reviews import read_reviews
from attnlab_theory.report import record
from tests.shared_data import shared_data

FOLDER = Path(__file__).parents[3] / "figures" / "reviews"
SEEDS = range(5)


def answers(seed):
    return [int(line) for line in (FOLDER / f"test.{seed}.predictions").read_text().splitlines()]


def told(seed):
    return json.loads((FOLDER / f"test.{seed}.json").read_text())


def test_a_seed_was_trained_by_the_preset_and_answered_every_review(subtests):
    for seed in SEEDS:
        with subtests.test(seed=seed):
            recipe = told(seed)["origin"]["recipe"]
            preset = PRESETS["minilm"].recipe
            assert (recipe["seed"], recipe["epochs"], recipe["batch"], recipe["rate"]) == (
                seed,
                preset.epochs,
                preset.batch,
                preset.rate,
            )
            assert len(answers(seed)) == told(seed)["test"]["reviews"] == 1821
            assert set(answers(seed)) == {0, 1}


def test_the_answers_are_as_often_right_as_is_told(subtests):
    for seed in SEEDS:
        with subtests.test(seed=seed):
            labels = read_reviews(shared_data("sst2_binary") / "stsa.binary.test").labels
            right = sum(answer == label for answer, label in zip(answers(seed), labels, strict=True))
            assert right == told(seed)["test"]["right"]


def test_the_finding_is_about_the_mean_of_these_seeds():
    (finding,) = record.read_findings(FOLDER / "tested.json")
    mean = sum(told(seed)["test"]["accuracy"] for seed in SEEDS) / len(SEEDS)
    asked = {"models": len(SEEDS), "reviews": 1821, "majority": told(0)["test"]["majority"]}
    assert (finding.setting, finding.verdict) == (asked, Verdict.SUPPORTED)
    assert finding.measured.centre == pytest.approx(mean, abs=1e-9)


PAGE = (FOLDER.parents[1] / "docs" / "labs" / "reviews.md").read_text(encoding="utf-8").replace("−", "-")


@functools.cache
def found():
    return Estimates(map(Estimate.from_json, json.loads((FOLDER / "estimates.json").read_text())))


def points(estimate):
    """A difference of accuracies in points, as the page writes it."""
    return f"{100 * estimate.value:.1f} ± {50 * estimate.interval.width:.1f}"


def test_the_page_quotes_the_accuracy_of_every_optimizer(subtests):
    for part in ["adamw at", "sgd at the", "sgd at its", "rmsprop at"]:
        with subtests.test(part=part):
            chosen = [e for e in found().of("accuracy over seeds") if e.setting["part"].startswith(part)]
            assert chosen
            for each in chosen:
                low, high = (f"{100 * end:.1f}" for end in (each.interval.low, each.interval.high))
                assert f"| {100 * each.value:.1f} % | {low} to {high} |" in PAGE


def test_the_page_quotes_gains_searches_and_dropout():
    gained = {(e.setting["part"], e.setting["against"]): e for e in found().of("accuracy gained")}
    for part, against in (
        ("sgd at its chosen rate", "sgd at the shared rate"),
        ("rmsprop at its chosen rate", "rmsprop at the shared rate"),
        ("rmsprop at the shared rate", "base"),
        ("order file", "base"),
        ("order by-label", "base"),
    ):
        assert points(gained[part, against]) in PAGE
    for part in ("sgd at its chosen rate", "never zeroed"):
        assert points(gained[part, "base"]).removeprefix("-") in PAGE
    for quantity in ("training less validation accuracy", "accuracy lost to dropout"):
        assert points(found().of(quantity, part="base")[0]) in PAGE
    (earlier,) = found().of("best epoch of validation less of training", part="base")
    assert f"validation peaks {-earlier.value:.1f} ± {earlier.interval.width / 2:.1f} epochs before" in PAGE
    assert f"{points(found().of('mean confidence less accuracy')[0])} points above accuracy" in PAGE
    for n in (1, 2, 4):
        assert points(found().of("best of n", n=n)[0]) in PAGE
    for n in (2, 4):
        assert points(found().of("optimism", n=n)[0]) in PAGE


def test_the_page_quotes_orders_on_real_reviews(subtests):
    for part in ["order shuffled", "order file", "order by-label", "never zeroed"]:
        with subtests.test(part=part):
            rows = json.loads((FOLDER / "sst2_orders" / "estimates.json").read_text())
            gained = Estimates(map(Estimate.from_json, rows)).of("accuracy gained", part=part)
            assert f"| {points(gained[0])} points |" in PAGE


def test_the_page_quotes_the_search_on_real_reviews():
    found = json.loads((FOLDER / "sst2_search" / "search.json").read_text())
    trials = sorted(found["trials"], key=lambda trial: -trial["validation"])
    assert found["winner"] == trials[0]
    for trial in (*trials[:5], trials[-1]):
        numbers = (f"{trial['batch']}", f"{trial['rate']:.0e}".replace("e-0", "e-"), f"{trial['epochs']}")
        shares = (f"{100 * trial[which]:.1f} %" for which in ("validation", "test"))
        assert f"| {' | '.join((*numbers, *shares))} |" in PAGE
    estimates = Estimates(map(Estimate.from_json, found["estimates"]))
    for n in (2, 5, 10):
        (best,), (lucky,) = (estimates.of(quantity, n=n) for quantity in ("best of n", "optimism"))
        assert f"| {n} | {points(best)} % | +{points(lucky)} points |" in PAGE


def test_the_page_quotes_every_rate_on_real_reviews():
    curves = json.loads((FOLDER / "sst2_optimizers" / "curves.json").read_text())
    rows = [
        line
        for line in PAGE.replace("**", "").splitlines()
        if line.startswith(("| AdamW | ", "| RMSprop | ", "| SGD | "))
    ]
    for optimizer in ("AdamW", "RMSprop", "SGD"):
        (row,) = [line for line in rows if line.startswith(f"| {optimizer} | ")]
        quoted = [cell.strip(" %") for cell in row.split("|")[2:] if "%" in cell]
        first = [c for c in curves if c["seed"] == 0 and c["variant"].startswith(f"{optimizer.lower()}.")]
        by_rate = sorted(first, key=lambda c: float(c["variant"].split("lr-")[1].removesuffix(".alike")))
        assert quoted == [f"{100 * c['validation accuracy']:.1f}" for c in by_rate]


def test_a_gpu_gave_the_labels_of_a_processor():
    for seed in SEEDS:
        assert (FOLDER / "sst2" / f"test.{seed}.predictions").read_text() == (
            FOLDER / f"test.{seed}.predictions"
        ).read_text()


def test_the_page_quotes_what_explanations_are_worth():
    for quantity in ("rank correlation", "moved by hiding", "held by keeping"):
        for each in found().of(f"mean {quantity}"):
            value, radius = (f"{number:.2f}".removeprefix("0") for number in (each.value, each.interval.width / 2))
            assert f"{value} ± {radius}" in PAGE


def test_the_page_quotes_every_seed(subtests):
    for seed in SEEDS:
        with subtests.test(seed=seed):
            test = told(seed)["test"]
            low, high = (f"{100 * end:.1f}" for end in test["interval"])
            assert f"| {test['right']:,}: {100 * test['accuracy']:.1f} % | {low} to {high} |" in PAGE


def test_the_page_says_how_many_seeds_would_decide_what_is_open():
    """Judges the committed run again, and draws further seeds for what it leaves open."""
    undecided = measure.again(FOLDER).verdicts.undecided
    decide = {(each.claim, each.setting.get("part", each.setting.get("pair"))): each.decide for each in undecided}
    assert decide == {
        ("training-accuracy-is-higher", "base"): 13,
        ("validation-peaks-no-later", "base"): 13,
        ("dropout-costs-accuracy", "base"): None,
        ("a-rate-of-its-own-helps", "sgd at its chosen rate"): 6,
        ("a-rate-of-its-own-helps", "rmsprop at its chosen rate"): 8,
        ("one-rate-favours-adamw", "rmsprop at the shared rate"): 36,
        ("best-rates-stay-within-the-margin", "rmsprop at its chosen rate"): 9,
        ("shuffling-stays-within-the-margin", "order file"): None,
        ("confidence-stays-near-accuracy", None): None,
        ("explanations-agree", "gradient, rollout"): 42,
        ("winners-are-lucky", None): 70,
    }
    page = " ".join(PAGE.split())
    chance = {each.decide: f" with probability {each.chance:.2f}" for each in undecided if each.chance}
    for said in (
        "--out figures/reviews/fresh/sgd",  # fresh seeds have decided what six would
        f"eight seeds would decide{chance[8]}",
        f"It would take 36 seeds to decide, and even they do so only{chance[36]}",
        f"70 trials would decide{chance[70]}",
    ):
        assert said in page
    for said, times in (("; 13 seeds would decide", 2), (f"; 42 seeds would decide{chance[42]}", 1)):
        assert page.count(said) == times
    for each in undecided:
        if each.decide == 13:
            assert f"; 13 seeds would decide with probability {each.chance:.2f})" in page
    assert page.count("a hundred seeds would not decide") == sum(number is None for number in decide.values())


def test_the_page_says_how_many_seeds_would_decide_what_real_reviews_leave_open(subtests):
    """Judges three committed runs again, and draws further seeds for what they leave open."""
    for folder, claim, decide, said in [
        ("sst2", "validation-peaks-no-later", 19, "19 seeds would decide"),
        ("sst2_orders", "shuffling-stays-within-the-margin", 4, "four seeds would decide"),
        ("sst2_optimizers", "best-rates-stay-within-the-margin", 98, "it would take 98 seeds"),
    ]:
        with subtests.test(folder=folder, claim=claim, decide=decide, said=said):
            (left,) = [each for each in measure.again(FOLDER / folder).verdicts.undecided if each.claim == claim]
            assert left.decide == decide
            page = " ".join(PAGE.split())
            to = " to decide" if "take" in said else ""
            assert f"{said}{to} with probability {left.chance:.2f}" in page


@pytest.mark.parametrize(("accuracy", "code"), [(0.95, 0), (0.5, 1)])
def test_what_the_test_was_asked_is_judged_again_beside_the_run_and_counts(tmp_path, accuracy, code):
    (tmp_path / "reviews.run.json").write_text("{}")
    (tmp_path / "estimates.json").write_text("[]")
    for seed in range(3):
        test = {"reviews": 100, "accuracy": accuracy + 0.01 * seed, "majority": 0.5}
        (tmp_path / f"test.{seed}.json").write_text(json.dumps({"test": test}))
    assert main(["reviews", "judge", str(tmp_path)]) == 0
    assert not (tmp_path / "tested.json").exists()
    (tmp_path / "tested.json").write_text("[]")
    assert main(["reviews", "judge", str(tmp_path)]) == code
    assert record.read_findings(tmp_path / "reviews.json") == ()
    (finding,) = record.read_findings(tmp_path / "tested.json")
    assert (finding.claim, finding.as_expected) == ("tuned-models-reach-87", code == 0)
