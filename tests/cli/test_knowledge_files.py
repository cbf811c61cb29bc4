"""attnlab knowledge pretrain, finetune and evaluate: the homework's command lines, and one line of complaint."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from attnlab_theory import files
from attnlab_theory.cli import bounds, main
from attnlab_theory.language.checkpoint import load_model
from tests.labs.knowledge.people import BRIEF, SMALL, run, write_people
from tests.shared_data import shared_data

PRETRAIN = ["pretrain", "vanilla", "wiki.txt", "--writing_params_path", "vanilla.pretrain.params"]
FINETUNE = [
    *("finetune", "vanilla", "wiki.txt", "--reading_params_path", "vanilla.pretrain.params"),
    *("--writing_params_path", "vanilla.finetune.params", "--finetune_corpus_path", "train.tsv"),
]
EVALUATE = [
    *("evaluate", "vanilla", "wiki.txt", "--reading_params_path", "vanilla.finetune.params"),
    *("--eval_corpus_path", "dev.tsv", "--outputs_path", "vanilla.pretrain.dev.predictions"),
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder in which the homework's first two command lines have been run."""
    folder = tmp_path_factory.mktemp("trained")
    write_people(folder)
    before = os.getcwd()
    os.chdir(folder)
    try:
        assert main(["knowledge", *PRETRAIN, *BRIEF, *SMALL]) == 0
        assert main(["knowledge", *FINETUNE, *BRIEF]) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def folder(trained, tmp_path, monkeypatch):
    """A copy of it."""
    for path in trained.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow("a file with a line for every question stays inside")
def test_the_commands_of_the_homework_lead_to_predictions(capsys, folder):
    """The fixture pretrains and finetunes a model before it is asked."""
    code, out, err = run(capsys, *EVALUATE)
    assert (code, err) == (0, "")
    first, second = out.splitlines()
    assert first.startswith("vanilla: ")
    assert " of 4 right, " in first
    assert second == "predictions are in vanilla.pretrain.dev.predictions"
    assert (folder / "vanilla.pretrain.dev.predictions").read_text().count("\n") == 4
    about = load_model(folder / "vanilla.finetune.params").about
    assert about["origin"]["start"]["origin"]["stage"] == "pretrain"
    assert not list(folder.glob("*.partial"))


@pytest.mark.slow("the steps of that recipe, without training, stay inside")
def test_finetuning_from_scratch_needs_no_file_and_takes_75_epochs(capsys, folder, monkeypatch):
    """Trains for all of the 75 epochs."""
    arguments = [
        "finetune",
        "vanilla",
        "wiki.txt",
        "--writing-params-path",
        "scratch",
        "--finetune-corpus-path",
        "train.tsv",
    ]
    code, out, _ = run(capsys, *arguments, *SMALL, "--rows", "8", "--json")
    found = json.loads(out)
    assert (code, found["steps"], len(found["losses"])) == (0, 75, 75)
    assert found["losses"][-1] < found["losses"][0]
    assert found["origin"]["recipe"]["rate"] == 6e-4


@pytest.mark.slow("missing places that are refused where they are needed stay inside")
def test_questions_without_places_get_predictions_and_no_accuracy(capsys, folder):
    arguments = ["test.tsv" if argument == "dev.tsv" else argument for argument in EVALUATE]
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert out.startswith("test.tsv has no places: 4 predictions and no accuracy\n")
    found = json.loads(run(capsys, *arguments, "--force", "--json")[1])
    assert (found["questions"], found["accuracy"]) == (4, None)


@pytest.mark.slow("accuracy and its interval, for given answers, stay inside")
def test_accuracy_comes_as_json_with_its_interval(capsys, folder):
    found = json.loads(run(capsys, *EVALUATE, "--json")[1])
    assert (found["variant"], found["total"]) == ("vanilla", 4)
    assert found["accuracy"] == found["correct"] / 4
    assert found["interval"][0] <= found["accuracy"] <= found["interval"][1]


@pytest.mark.slow("that answers write over nothing that is read stays inside")
def test_what_else_the_answers_show_is_written_where_it_is_wanted(capsys, folder):
    """Asks twelve persons, and draws the figures of the answers."""
    # Twelve persons: fewer have no bins of confidence.
    (folder / "dev.tsv").write_text((folder / "train.tsv").read_text() + (folder / "dev.tsv").read_text())
    shown = folder / "shown/deep"
    shown.mkdir(parents=True)
    (folder / "dev.tsv").rename(shown / "attention_of_dev.tsv")
    there = [shown / name for name in ("attention_of_dev.tsv", "curves.json", "learning_curves.csv")]
    for path in there:
        path.touch()
    asking = with_(EVALUATE, "--eval_corpus_path", "shown/deep/attention_of_dev.tsv")
    code, _, err = run(capsys, *asking, "--out", "shown/deep", "--finetune_corpus_path", "train.tsv")
    assert code == 0, err
    assert all(path.exists() for path in there)
    answers = json.loads((shown / "answers.json").read_text())
    assert (answers[0]["name"], answers[0]["group"]) == ("Ada", "held-out")
    names = {path.name for path in shown.iterdir()}
    assert {"estimates.json", "knowledge.svg", "reliability.png"} <= names
    assert "knowledge.json" not in names  # Nothing is judged.


def test_a_question_of_another_kind_is_refused_before_anybody_is_asked(capsys, folder, monkeypatch):
    """The fixture pretrains a small model and finetunes it."""
    monkeypatch.setattr(
        "attnlab_theory.labs.knowledge.predictions.predictions", lambda *asked: pytest.fail("has begun")
    )
    (folder / "odd.tsv").write_text("Where was Ada born?\tBonn\nWho was Bob?\tRome\n")
    code, out, err = run(capsys, *with_(EVALUATE, "--eval_corpus_path", "odd.tsv"), "--out", "shown")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "line 2 of odd.tsv is 'Who was Bob?', not of the form" in err
    assert not (folder / "shown").exists()


def test_a_folder_that_is_a_file_is_refused_before_anybody_is_asked(capsys, folder, monkeypatch):
    monkeypatch.setattr(
        "attnlab_theory.labs.knowledge.predictions.predictions", lambda *asked: pytest.fail("has begun")
    )
    code, out, err = run(capsys, *EVALUATE, "--out", "dev.tsv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "cannot write into dev.tsv: dev.tsv is a file; choose another folder with --out" in err
    assert not (folder / "vanilla.pretrain.dev.predictions").exists()


def with_(arguments, flag, value):
    """The arguments with another value after a flag, or instead of a word."""
    place = arguments.index(flag) + flag.startswith("--")
    return [*arguments[:place], value, *arguments[place + 1 :]]


def without(arguments, flag):
    place = arguments.index(flag)
    return [*arguments[:place], *arguments[place + 2 :]]


NEW = [*with_(PRETRAIN, "--writing_params_path", "new"), *SMALL, *BRIEF]
WRONG = {
    "an unknown variant": (with_(NEW, "vanilla", "vanila"), "did you mean vanilla?"),
    "a missing corpus": (with_(NEW, "wiki.txt", "nowhere.txt"), "there is no file nowhere.txt"),
    "an empty corpus": (with_(NEW, "wiki.txt", "empty"), "empty is empty"),
    "no file to write": (without(NEW, "--writing_params_path"), "--writing-params-path"),
    "a missing folder": (
        with_(NEW, "--writing_params_path", "no/new"),
        "no/new cannot be written: there is no folder no",
    ),
    "a folder to write": (with_(NEW, "--writing_params_path", "."), "is a folder"),
    "a short block": ([*NEW, "--block-size", "8"], "block_size 8"),
    "no epoch": ([*NEW, "--epochs", "0"], "epochs must be positive"),
    "no documents": ([*NEW, "--batch-size", "0"], "batch_size must be positive"),
    "no rate": ([*NEW, "--lr", "nan"], "learning_rate must be positive"),
    "no rows": ([*NEW, "--rows", "0"], "rows must be positive"),
    "no interval": ([*NEW, "--save-every", "nan"], "--save-every"),
    "heads that do not fit": ([*NEW, "--heads", "3"], "width 8 cannot be cut into 3 heads"),
    "no questions to finetune on": (without(FINETUNE, "--finetune_corpus_path"), "--finetune-corpus-path"),
    "questions without places": (with_(FINETUNE, "--finetune_corpus_path", "test.tsv"), "test.tsv has no places"),
    "a line without a tab": (
        with_(FINETUNE, "--finetune_corpus_path", "torn.tsv"),
        "line 2 of torn.tsv has no tab",
    ),
    "an unknown character": (
        with_(FINETUNE, "--finetune_corpus_path", "strange.tsv"),
        "line 2 of strange.tsv holds 'X' (U+0058)",
    ),
    "a question longer than the block": (
        with_(FINETUNE, "--finetune_corpus_path", "long.tsv"),
        "line 1 of long.tsv takes",
    ),
    "a missing model": (with_(FINETUNE, "--reading_params_path", "nothing"), "there is no checkpoint nothing"),
    "a foreign model": (with_(FINETUNE, "--reading_params_path", "foreign"), "somebody else's"),
    "a truncated model": (with_(FINETUNE, "--reading_params_path", "torn"), "torn is not a whole checkpoint"),
    "another variant": (with_(FINETUNE, "vanilla", "rope"), "was trained as vanilla, not as rope"),
    "another size": ([*FINETUNE, "--layers", "3"], "with layers 1, not 3"),
    "another vocabulary": (with_(FINETUNE, "wiki.txt", "other.txt"), "'x' (U+0078) is only in that"),
    "nobody to ask": (without(EVALUATE, "--reading_params_path"), "--reading-params-path"),
    "nothing to ask": (without(EVALUATE, "--eval_corpus_path"), "--eval-corpus-path"),
    "nothing to print": (
        with_(without(EVALUATE, "--outputs_path"), "--eval_corpus_path", "test.tsv"),
        "name a file for the predictions",
    ),
    "predictions in no folder": (with_(EVALUATE, "--outputs_path", "no/where"), "no/where cannot be written"),
    "strangers to ask for": (
        with_(EVALUATE, "--eval_corpus_path", "strange.tsv"),
        "line 2 of strange.tsv holds 'X'",
    ),
    "a long question to ask": (with_(EVALUATE, "--eval_corpus_path", "long.tsv"), "line 1 of long.tsv takes"),
    "no interval of a model": (with_(EVALUATE, "vanilla", "alibi"), "was trained as vanilla, not as alibi"),
}


@pytest.mark.slow("24 of 31 members stay inside", but=24)
@pytest.mark.parametrize("name", WRONG)
def test_bad_input_is_one_line_and_exit_code_2(capsys, folder, name):
    (folder / "empty").write_text("")
    (folder / "torn.tsv").write_text("Where was Ada born?\tBonn\nWhere was Bob born?\n")
    (folder / "strange.tsv").write_text("Where was Ada born?\tBonn\nWhere was Xa born?\tBonn\n")
    (folder / "long.tsv").write_text("Where was Ada who was born in Bonn or in Rome born?\tBonn\n")
    (folder / "other.txt").write_text((folder / "wiki.txt").read_text() + "x")
    whole = (folder / "vanilla.pretrain.params").read_bytes()
    (folder / "torn").write_bytes(whole[: len(whole) // 2])
    safetensors.numpy.save_file(safetensors.numpy.load_file(folder / "vanilla.pretrain.params"), folder / "foreign")
    arguments, said = WRONG[name]
    code, out, err = run(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
    assert not {"new", "new.partial"} & {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--eval_corpus_path", "test.tsv"], "test.tsv has no places"),
        (["--finetune_corpus_path", "nowhere.tsv"], "there is no file nowhere.tsv"),
    ],
    ids=["evaluation", "finetuning"],
)
def test_places_that_out_needs_are_looked_for_before_anybody_is_asked(capsys, folder, change, said):
    files = ["--outputs_path", "early.predictions", "--out", "early"]
    code, out, err = run(capsys, *EVALUATE, *files, *change)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
    assert not {"early", "early.predictions"} & {path.name for path in folder.iterdir()}


def test_parameters_without_measure_are_one_line_with_step_and_rate(capsys, folder, monkeypatch):
    monkeypatch.setattr(bounds, "MOST", dict.fromkeys(bounds.MOST, np.inf))
    code, out, err = run(capsys, *NEW, "--lr", "1e30", "--save-every", "0")
    assert (code, out) == (2, "")
    last = err.splitlines()[-1]
    assert last.startswith("attnlab: loss 3.59345 with a gradient of length 1.06, and parameters of length inf ")
    assert "at step 1, in epoch 0, at learning rate 1e+30: train with a lower rate; no checkpoint" in last


@pytest.mark.slow("what the three commands refuse of invented persons stays inside")
def test_the_real_files_go_through_all_three_commands(capsys, tmp_path, monkeypatch):
    """Pretrains on the whole corpus of the homework, finetunes, and asks."""
    real = shared_data("cs224n_birthplaces")
    wiki = real / "wiki.txt"
    monkeypatch.chdir(tmp_path)
    for name, source, count in (("few.tsv", "birth_places_train.tsv", 64), ("asked.tsv", "birth_dev.tsv", 32)):
        lines = (real / source).read_text().splitlines(keepends=True)
        (tmp_path / name).write_text("".join(lines[:count]))
    small = [
        *("--layers", "1", "--heads", "2", "--width", "8"),
        *("--epochs", "1", "--batch-size", "1024", "--dropout", "0"),
    ]
    pretrain = with_(PRETRAIN, "wiki.txt", str(wiki))
    assert run(capsys, *pretrain, *small, "--rows", "1024")[0] == 0
    finetune = with_(with_(FINETUNE, "wiki.txt", str(wiki)), "--finetune_corpus_path", "few.tsv")
    code, _, err = run(capsys, *finetune, "--epochs", "1", "--rows", "64")
    assert code == 0
    assert "256 characters" in err
    evaluate = with_(with_(EVALUATE, "wiki.txt", str(wiki)), "--eval_corpus_path", "asked.tsv")
    code, out, _ = run(capsys, *evaluate)
    assert (code, out.startswith("vanilla: ")) == (0, True)
    assert len((tmp_path / "vanilla.pretrain.dev.predictions").read_text().splitlines()) == 32


@pytest.mark.parametrize(
    ("line", "written"),
    [
        (with_(PRETRAIN, "--writing_params_path", "./wiki.txt"), "wiki.txt"),
        (with_(FINETUNE, "--writing_params_path", "vanilla.pretrain.params"), "vanilla.pretrain.params"),
        (with_(EVALUATE, "--outputs_path", "vanilla.finetune.params"), "vanilla.finetune.params"),
    ],
    ids=["corpus", "parameters", "model"],
)
def test_nothing_is_written_over_what_is_read(capsys, folder, line, written):
    before = (folder / written).read_bytes()
    code, out, err = run(capsys, *line)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{written} would be read and written over" in err
    assert (folder / written).read_bytes() == before


@pytest.mark.parametrize("line", [PRETRAIN, FINETUNE])
def test_two_runs_do_not_write_one_file(capsys, folder, line):
    with files.held(Path(line[line.index("--writing_params_path") + 1])):
        code, out, err = run(capsys, *line, *SMALL, "--resume")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "another run is writing into" in err


def test_what_is_read_is_not_written_over_by_what_answers_show(capsys, folder):
    (folder / "answers.json").write_bytes((folder / "dev.tsv").read_bytes())
    for line in (with_(EVALUATE, "--eval_corpus_path", "answers.json"), with_(EVALUATE, "--outputs_path", "a.svg")):
        code, out, err = run(capsys, *line, "--out", folder)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "may be written over: choose another folder with --out" in err
