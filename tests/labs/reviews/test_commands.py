"""attnlab reviews: from the command line to files, and one line for whatever is wrong."""

import json

import numpy as np
import pytest

from attnlab_theory.claims import Verdict
from attnlab_theory.cli import main
from attnlab_theory.labs.reviews import frozen, outcomes
from attnlab_theory.labs.reviews.answers import accuracy
from attnlab_theory.labs.reviews.material import encoded
from attnlab_theory.labs.reviews.outcomes import Outcome
from attnlab_theory.labs.reviews.starts import read_model
from attnlab_theory.labs.reviews.trials import Trial
from attnlab_theory.language.corpora.reviews import read_reviews
from attnlab_theory.report import record

SMALL = ["--layers", "1", "--heads", "1", "--width", "8", "--block-size", "32"]
LINES = "1 a good film\n0 a bad film\n1 good\n0 so bad\n1 what a good film this is\n0 not a good film\n" * 6


def run(capsys, *arguments):
    capsys.readouterr()
    code = main(["reviews", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def data(folder):
    return [part for name in ("train", "validation", "test") for part in (f"--{name}", folder / name)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of reviews, and a model that was trained on them."""
    folder = tmp_path_factory.mktemp("reviews")
    for name in ("train", "validation", "test"):
        (folder / name).write_text(LINES)
    (folder / "short").write_text("1 good film\n0 bad film\n")
    (folder / "empty").write_text("\n")
    (folder / "label").write_text("1 good\n5 bad\n")
    (folder / "bytes").write_bytes(b"1 good\n0 b\xe9\n")
    options = ["--batch-size", "12", "--epochs", "10", "--lr", "0.02"]
    model = ["--writing-params-path", folder / "model"]
    assert main(["reviews", "train", *map(str, [*model, *data(folder)]), *options, *SMALL]) == 0
    return folder


@pytest.mark.slow("the words that decide this model's answers stay inside")
def test_a_trained_model_is_right_about_what_it_has_read(capsys, folder):
    """Trains the model of this file."""
    code, out, _ = run(capsys, "evaluate", folder / "model", "--test", folder / "test", "--json")
    told = json.loads(out)
    assert (code, told["reviews"], told["majority"], told["cut"]) == (0, 36, 0.5, 0)
    assert told["interval"][0] < told["accuracy"] == told["right"] / 36
    assert told["accuracy"] > 0.8


@pytest.mark.slow("a test that keeps its labels secret stays inside")
def test_a_test_without_labels_is_labelled_and_not_scored(capsys, folder, tmp_path):
    (tmp_path / "glue.tsv").write_text("index\tsentence\n0\tso bad\n1\tgood\n")
    (tmp_path / "hidden").write_text("-1 so bad\n-1 good\n")
    for name in ("glue.tsv", "hidden"):
        test = tmp_path / name
        code, out, err = run(capsys, "evaluate", folder / "model", "--test", test)
        assert (code, out) == (0, "0\n1\n")
        assert err.splitlines()[-1] == f"{test} has no labels: 2 reviews are labelled, and none is scored"
        told = json.loads(run(capsys, "evaluate", folder / "model", "--test", test, "--json")[1])
        assert (told["reviews"], told["accuracy"], told["labels"]) == (2, None, [0, 1])
        run(capsys, "evaluate", folder / "model", "--test", test, "--out", tmp_path / "labels")
        assert (tmp_path / "labels").read_text() == "0\n1\n"
        assert [line[0] for line in run(capsys, "predict", folder / "model", test)[1].splitlines()] == ["0", "1"]
    (tmp_path / "copy").write_bytes((folder / "model").read_bytes())
    code, _, err = run(capsys, "evaluate", folder / "model", tmp_path / "copy", "--test", test)
    assert (code, err.count("\n")) == (2, 1)
    assert "hidden has no labels to compare with: name one model, and its answers are written" in err


@pytest.mark.slow("nothing inside asks for the order; lines that are counted stay inside")
def test_answers_stand_in_the_order_of_the_lines(capsys, folder, tmp_path):
    (tmp_path / "lines").write_text("so bad\ngood\nso bad\n")
    code, out, _ = run(capsys, "predict", folder / "model", tmp_path / "lines")
    first, second, third = out.splitlines()
    assert (code, first == third, first[0], second[0]) == (0, True, "0", "1")
    run(capsys, "evaluate", folder / "model", "--test", folder / "test", "--out", tmp_path / "labels")
    labels = (tmp_path / "labels").read_text().split()
    assert len(labels) == 36
    assert labels[:2] == ["1", "0"]


@pytest.mark.slow("the word that decides, of the same run, stays inside")
def test_the_test_is_asked_once_somebody_names_a_file_for_its_answers(capsys, folder, tmp_path):
    """Trains a small model, and the fixture trains another."""
    options = [*data(folder), "--batch-size", 12, "--epochs", 1, "--lr", 0.02, *SMALL]
    model, labels = tmp_path / "model", tmp_path / "labels"
    told = json.loads(run(capsys, "train", "--writing-params-path", model, *options, "--json")[1])
    assert "test" not in told
    options += ["--resume", "--out", labels]
    code, out, _ = run(capsys, "train", "--writing-params-path", model, *options)
    _, evaluated, _ = run(capsys, "evaluate", model, "--test", folder / "test", "--json")
    told = json.loads(evaluated)
    assert (code, len(labels.read_text().split())) == (0, 36)
    assert f"{told['right']} of 36 test reviews" in out


def test_several_models_are_told_one_by_one_and_in_the_mean(capsys, folder, tmp_path):
    (tmp_path / "copy").write_bytes((folder / "model").read_bytes())
    asked = ["evaluate", folder / "model", tmp_path / "copy", "--test", folder / "test"]
    told = json.loads(run(capsys, *asked, "--json")[1])
    first, second = (each["accuracy"] for each in told["models"])
    assert first == second == told["over_models"]["accuracy"]
    assert told["over_models"]["interval"] == [0, 1], "two equal numbers say nothing of a third"
    assert "mean over 2 models" in run(capsys, *asked)[1]
    run(capsys, *asked, "--out", tmp_path / "tested.json")
    assert record.read_findings(tmp_path / "tested.json") == ()
    (tmp_path / "third").write_bytes((folder / "model").read_bytes())
    assert "needs 3 seeds, not 2 runs" in run(capsys, *asked, "--out", tmp_path / "tested.json")[2]
    asked.insert(3, tmp_path / "third")
    run(capsys, *asked, "--out", tmp_path / "tested.json")
    (finding,) = record.read_findings(tmp_path / "tested.json")
    assert (finding.claim, finding.setting) == (
        "tuned-models-reach-87",
        {"models": 3, "reviews": 36, "majority": 0.5},
    )
    assert finding.verdict == Verdict.INCONCLUSIVE
    code, out, err = run(capsys, "evaluate", folder / "model", folder / "model", "--test", folder / "test")
    assert (code, out) == (2, "")
    assert "is named twice" in err


def test_the_word_that_decides_has_the_largest_scores(capsys, folder, tmp_path):
    """Compiles the explanations of a small model, gradients included."""
    (tmp_path / "lines").write_text("a good film\na bad film\n")
    explain = ["explain", folder / "model", tmp_path / "lines"]
    praise, blame = json.loads(run(capsys, *explain, "--json")[1])
    assert [row["token"] for row in praise["tokens"]] == ["a", "good", "film"]
    for found, word, sign in ((praise, "good", 1), (blame, "bad", -1)):
        rows = {row["token"]: row for row in found["tokens"]}
        for name in ("gradient", "leave-one-out"):
            scores = {token: sign * row[name] for token, row in rows.items()}
            assert max(scores, key=scores.__getitem__) == word
        assert [found["tokens"][place]["token"] for place in found["top"]["leave-one-out"]] == [word]
        assert sign * (found["probability"] - 0.5) > 0
        assert sign * (found["probability"] - found["probability_without"]["leave-one-out"]) > 0
    code, out, _ = run(capsys, *explain)
    assert (code, out.count("without random ones")) == (0, 2)


@pytest.mark.slow("one run of early stopping that goes on to the same bytes stays inside")
def test_a_run_that_is_stopped_goes_on_to_the_same_bytes(capsys, folder, tmp_path):
    """Trains a small model for two epochs, in a module whose fixture trains another."""
    options = [*data(folder), "--batch-size", 12, "--epochs", 2, "--lr", 0.02, *SMALL, "--json"]
    code, out, _ = run(capsys, "train", "--writing-params-path", tmp_path / "again", *options)
    told = json.loads(out)
    assert (code, len(told["epochs"])) == (0, 2)
    assert set(told["epochs"][0]) == {"training accuracy", "validation accuracy"}
    before = (tmp_path / "again").read_bytes()
    assert run(capsys, "train", "--writing-params-path", tmp_path / "again", *options, "--resume")[0] == 0
    assert (tmp_path / "again").read_bytes() == before
    code, _, err = run(
        capsys, "train", "--writing-params-path", tmp_path / "again", *options, "--resume", "--optimizer", "sgd"
    )
    assert (code, "variant" in err) == (2, True)


def test_a_head_on_frozen_features_keeps_the_encoder_and_is_no_worse_than_none(folder):
    model = read_model(folder / "model").model
    text = read_model(folder / "model").text
    reviews = encoded(read_reviews(folder / "train"), text, 32)
    found = frozen.with_head(model, reviews, reviews)
    assert np.array_equal(found.model.encoder.tokens, model.encoder.tokens)
    assert found.training == found.validation == accuracy(found.model, reviews) >= 0.8


def test_a_frozen_encoder_is_written_with_its_head(capsys, folder, tmp_path):
    options = [*data(folder), *SMALL, "--frozen", "--json"]
    code, out, _ = run(capsys, "train", "--writing-params-path", tmp_path / "head", *options)
    told = json.loads(out)
    _, evaluated, _ = run(capsys, "evaluate", tmp_path / "head", "--test", folder / "train", "--json")
    assert (code, json.loads(evaluated)["accuracy"]) == (0, told["training accuracy"])


@pytest.mark.parametrize(
    ("options", "says"),
    [(["--optimizer", "sgd", "--lr", 0.1], "--optimizer, --lr"), (["--order", "file"], "--order")],
)
def test_a_frozen_encoder_takes_no_recipe(capsys, folder, tmp_path, options, says):
    given = ["--writing-params-path", tmp_path / "head", *data(folder), "--frozen", *options]
    code, _, err = run(capsys, "train", *given)
    assert (code, err) == (2, f"attnlab: --frozen fits a regression and trains nothing: leave {says} out\n")


FEW = [*SMALL, "--epochs", "1", "--train-reviews", "64", "--test-reviews", "64", "--seeds", "1"]
TINY = [*FEW, "--trials", "0", "--processes", "1"]


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize("command", ["predict", "explain"])
def test_lines_that_do_not_fit_are_counted(capsys, folder, tmp_path, command):
    """Compiles answers and explanations of a small model for a line that fills its block."""
    (tmp_path / "lines").write_text("a fine film\n" + "fine " * 900 + "\n")
    code, _, err = run(capsys, command, folder / "model", tmp_path / "lines")
    assert (code, err) == (0, "1 of 2 lines did not fit and was cut\n")


@pytest.mark.slow("rates that all diverge, and how a winner is chosen, stay inside")
def test_a_run_writes_findings_numbers_predictions_and_figures(capsys, tmp_path):
    """Trains a model of every arm and rate, and paints all figures."""
    main(["reviews", "run", "--out", str(tmp_path), "--optimizers", "adamw", "--orders", "shuffled", *TINY])
    names = {path.name for path in tmp_path.iterdir()}
    assert {"reviews.json", "estimates.json", "curves.json", "reviews.run.json", "drawn.0.predictions"} <= names
    assert {"curves.svg", "optimizers.svg", "explanations.svg", "errors.svg", "confidence.svg"} <= names
    claims = {finding["claim"] for finding in json.loads((tmp_path / "reviews.json").read_text())}
    assert {"nobody-beats-bayes", "padding-moves-rounding-alone"} <= claims
    left = {each["claim"] for each in json.loads((tmp_path / "reviews.run.json").read_text())["not_judged"]}
    assert {"explanations-agree", "top-tokens-decide-by-the-margin", "confidence-stays-near-accuracy"} <= left
    assert len((tmp_path / "drawn.0.predictions").read_text().split()) == 64
    curves = json.loads((tmp_path / "curves.json").read_text())
    assert {row["variant"] for row in curves} >= {"adamw.lr-0.002", "adamw.lr-0.005"}, "every rate of the sweep"


@pytest.mark.slow("that each process keeps to one core stays inside")
@pytest.mark.usefixtures("unpainted")
def test_processes_change_nothing_but_the_time(capsys, tmp_path):
    """Trains all models of a run twice, and starts two processes that import jax."""
    options = ["--optimizers", "adamw", "--orders", "shuffled", "--no-sweep", "--trials", "2", *FEW]
    for count in ("1", "2"):
        main(["reviews", "run", "--out", str(tmp_path / count), "--processes", count, *options])
    one, two = (
        {
            path.relative_to(tmp_path / count): path.read_bytes()
            for path in (tmp_path / count).rglob("*")
            if path.is_file() and path.name not in ("reviews.run.json",) and path.suffix not in (".svg", ".png")
        }
        for count in ("1", "2")
    )
    assert [name for name in one.keys() | two.keys() if one.get(name) != two.get(name)] == []
    assert sum(name.parts[0] == "models" for name in one) >= 4


@pytest.mark.slow("rates that all diverge, and how a winner is chosen, stay inside")
@pytest.mark.usefixtures("unpainted")
def test_without_a_sweep_optimizers_have_the_shared_rate_alone(capsys, tmp_path):
    """Trains a model by each of two optimizers, and measures both."""
    options = ["--optimizers", "adamw", "sgd", "--orders", "shuffled", "--no-sweep", "--no-forgetful", *TINY]
    main(["reviews", "run", "--out", str(tmp_path), *options])
    models = {path.name for path in (tmp_path / "models" / "seed-0").iterdir() if not path.name.startswith(".")}
    assert models == {"adamw.lr-0.002", "sgd.lr-0.002"}
    found = json.loads((tmp_path / "estimates.json").read_text())
    parts = {each["setting"]["part"] for each in found if each["quantity"] == "accuracy over seeds"}
    assert parts == {"base", "adamw at the shared rate", "sgd at the shared rate"}


@pytest.mark.slow("the winner of trials that are written down stays inside")
def test_a_search_spends_what_it_declares_and_a_finished_one_is_not_trained_again(
    capsys, monkeypatch, folder, tmp_path
):
    """Trains a model for every trial of a search."""
    monkeypatch.setattr("sys.argv", ["attnlab", "reviews", "search"])
    space = ("--epochs", 1, 2, "--rates", 1e-3, 2e-3)
    options = [*data(folder), "--trials", 4, *space, "--out", tmp_path, "--json"]
    code, out, err = run(capsys, "search", *options)
    told = json.loads(out)
    assert code == 0
    spent = sum(trial["epochs"] for trial in told["trials"])
    assert f"at most {spent} epochs" in err
    assert told["epochs_trained"] == told["budget"]["epochs"] == spent
    assert all(trial["epochs_trained"] == trial["epochs"] for trial in told["trials"])
    assert None not in [trial["test"] for trial in told["trials"]]
    assert json.loads((tmp_path / "search.run.json").read_text())["question"].startswith("Which batch size")
    _, again, err = run(capsys, "search", *options, "--resume")
    assert json.loads(again) == told
    assert "parameters" not in err


def outcome(number, validation, test):
    trial = Trial(batch=1, rate=1.0, epochs=number + 1)
    return Outcome(trial=trial, curve=({"validation accuracy": validation},), test=test)


def test_the_winner_did_not_diverge_and_of_equal_ones_is_the_first():
    lost = Outcome(trial=Trial(batch=1, rate=1.0, epochs=1), curve=(), test=None, diverged="loss nan")
    found = [lost, outcome(1, 0.7, 0.6), outcome(2, 0.8, 0.5), outcome(3, 0.8, 0.7)]
    assert outcomes.winner(found) is found[2]
    assert not outcomes.worth(found, 0.05)
    assert len(outcomes.worth(found * 2, 0.05)) == 3 + 2


@pytest.mark.slow("five of 29 members stay inside", but=5)
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["evaluate", "{}/none"], "there is no checkpoint"),
        (["evaluate", "{}/model"], "was not trained on the embedded grammar"),
        (["evaluate", "{}/model", "--seed", "-1"], "seed must be between 0 and"),
        (["evaluate", "{}/model", "--test", "{}/empty"], "empty is empty"),
        (["evaluate", "{}/model", "--test", "{}/label"], "line 2 of"),
        (["evaluate", "{}/model", "--test", "{}/bytes"], "not UTF-8: line 2 holds the byte 0xe9"),
        (["evaluate", "{}/model", "--out", "{}/model"], "would be read and written over"),
        (["evaluate"], "name at least one model"),
        (["predict", "{}/model", "{}/empty"], "empty is empty"),
        (["explain", "{}/model", "{}/empty"], "empty is empty"),
        (["batch", "--preset", "minilm"], "no reviews batch any more: experiments/labs/review_batches.py shows"),
        (["train", "--writing-params-path", "{}/x", "--least", "-1"], "at least 0, not -1"),
        (["explain", "{}/model", "{}/test", "--seed", "-5"], "seed must be between 0 and"),
        (["train", "--writing-params-path", "{}/x", "--train", "{}/train"], "missing: --validation, --test"),
        (["train", "--writing-params-path", "{}/x", "--lr", "inf"], "--lr is at most 1,000, not inf"),
        (["train", "--writing-params-path", "{}/x", "--batch-size", "0"], "batch_size must be"),
        (["train", "--writing-params-path", "{}/x", "--heads", "3"], "width 32 cannot be cut into 3 heads"),
        (["train", "--writing-params-path", "{}/x", "--preset", "minilm", "--width", "8"], "keeps its size"),
        (["search", "--out", "{}/search", "--trials", "999"], "1 to 36 trials, not 999"),
        (
            ["search", "--out", "{}/search", "--trials", "9", "--rates", "1", "--batches", "4", "--epochs", "1"],
            "only 1 trial, not 9",
        ),
        (
            ["search", "--out", "{}/search", "--rungs", "3"],
            "there is no reviews search --rungs any more: every trial is trained to its end",
        ),
        (["search", "--out", "{}/search", "--rates", "0"], "rates of a search must be positive"),
        (["run", "--out", "{}/run", "--optimizers", "sgd", "sgd"], "arm sgd is named twice"),
        (["run", "--out", "{}/run", "--seeds", "0"], "--seeds is how many"),
        (["run", "--out", "{}/run", "--processes", "0"], "--processes is how many"),
        (["run", "--out", "{}/run", "--processes", "two"], "--processes takes a whole number, not 'two': How many"),
        (["run", "--out", "{}/run", "--save-every", "x"], "--save-every takes a number, not 'x': Seconds between"),
        (["run", "--out", "{}/run", "--optimizers"], "at least one optimizer"),
        (
            ["run", "--out", "{}/run", "--train", "{}/train", "--validation", "{}/test", "--test", "{}/short"],
            "none of the first 2 test reviews has 3 tokens",
        ),
    ],
)
def test_bad_input_gets_one_line(capsys, folder, arguments, told):
    code, out, err = run(capsys, *(argument.format(folder) for argument in arguments))
    assert (code, out) == (2, "")
    assert told in err
    assert len(err.strip().splitlines()) == 1
