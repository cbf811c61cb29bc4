"""attnlab knowledge run: from generated persons to verdicts, and to the same bytes after every stop."""

import dataclasses
import json
import shutil
import signal

import pytest

from attnlab_theory import files
from attnlab_theory.cli import main
from attnlab_theory.labs.knowledge.arms import PRESETS
from attnlab_theory.labs.knowledge.corpora import biographies
from attnlab_theory.labs.knowledge.corpora.birthplaces import Questions
from attnlab_theory.labs.knowledge.lab import Knowledge
from attnlab_theory.labs.knowledge.material import generated
from attnlab_theory.labs.progress import Progress
from attnlab_theory.report import provenance, record, style
from tests.labs.knowledge.people import run, write_people
from tests.labs.titles import titled

FEW = [
    *("--finetuned", "6", "--held-out", "6", "--never-seen", "4", "--places", "3"),
    *("--wordings", "1", "2", "--statements", "2"),
]
"""A small world, in which half of the persons are spoken of in two ways."""

SMALL = ["--layers", "1", "--heads", "2", "--width", "8", "--epochs", "3"]
RUN = ["run", "--seeds", "1", "--variants", "none", "vanilla", *FEW, *SMALL]
TABLES = {"answers", "estimates", "curves", "attention", "knowledge"}
FIGURES = {"knowledge", "reliability", "abstention", "confidences", "learning_curves", "attention_of_vanilla"}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The folder of a whole run, in a checkout that is clean as long as nothing is in the folder."""
    folder = tmp_path_factory.mktemp("lab")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(style, "save", titled)
        patch.setattr(provenance, "commit", lambda: "dirty" if list(folder.iterdir()) else "clean")
        assert main(["knowledge", *RUN, "--out", str(folder), "--json"]) == 0
    return folder


@pytest.fixture
def undrawn(monkeypatch):
    monkeypatch.setattr(style, "save", lambda draw, paths: None)


def tables(folder):
    return {name: (folder / f"{name}.json").read_bytes() for name in TABLES}


@pytest.mark.slow("the map, held-out persons and folders of this run stay inside")
def test_a_run_writes_models_tables_and_figures(done):
    """The fixture runs the whole lab, and trains three small models."""
    written = {f"{name}.json" for name in TABLES | {"knowledge.run"}}
    written |= {f"{name}{suffix}" for name in FIGURES for suffix in (".svg", ".png")}
    assert {path.name for path in done.iterdir()} == written | {"models", "README.md"}
    assert {path.name for path in (done / "models" / "seed-0").iterdir()} == {
        "none.finetuned",
        "vanilla.finetuned",
        "vanilla.pretrained",
    }


@pytest.mark.slow("one or two models, which are no verdict, stay inside")
def test_one_seed_finds_nothing_and_says_what_it_takes(done):
    assert record.read_findings(done / "knowledge.json") == ()
    about = json.loads((done / "knowledge.run.json").read_text())
    assert {each["claim"] for each in about["not_judged"]} >= {
        "untrained-is-ignorant",
        "pretraining-is-recalled",
        "pretraining-raises-accuracy",
        "nobody-knows-the-never-seen",
    }
    assert {(each["runs"], each["needs"]) for each in about["not_judged"]} == {(1, 3)}
    assert (about["preset"], about["seed"], about["seeds"], about["variants"]) == (
        "tiny",
        0,
        1,
        ["none", "vanilla"],
    )
    assert set(about) >= {"commit", "versions", "processor", "command", "seconds", "error_rate"}
    assert about["commit"] == "clean"


@pytest.mark.slow("held-out persons of this run, counted by their wordings, stay inside")
def test_everybody_is_asked_by_every_model(done):
    answers = json.loads((done / "answers.json").read_text())
    counts = {group: sum(a["group"] == group for a in answers) for group in ("finetuned", "held-out", "never-seen")}
    assert counts == {"finetuned": 12, "held-out": 12, "never-seen": 8}


def test_held_out_persons_are_counted_by_their_wordings(done):
    """The fixture runs the whole lab, and trains three small models."""
    estimates = json.loads((done / "estimates.json").read_text())
    settings = [e["setting"] for e in estimates if e["quantity"] == "accuracy by exposure"]
    assert settings == [{"variant": "vanilla", "wordings": wordings, "statements": 2} for wordings in (1, 2)]
    left = json.loads((done / "knowledge.run.json").read_text())["not_judged"]
    (wordings,) = [each for each in left if each["claim"] == "more-wordings-are-recalled-better"]
    assert wordings["setting"]["fewest_wordings"] == 1


def test_the_first_map_is_of_the_head_with_most_weight_on_the_name_and_all_heads_have_one(done):
    maps = json.loads((done / "attention.json").read_text())
    shown = maps[0]
    heads = [e for e in json.loads((done / "estimates.json").read_text()) if e["quantity"] == "weight on the name"]
    best = max(heads, key=lambda e: e["value"])["setting"]
    assert (shown["layer"], shown["head"]) == (best["layer"], best["head"])
    assert len(heads) == 2
    places = {(each["layer"], each["head"], each["name"]) for each in maps}
    assert len(places) == len(maps) == len(heads) * len({each["name"] for each in maps}) == 4
    for each in maps:
        assert [len(row) for row in each["weights"]] == [*range(1, len(each["characters"]) + 1)]
        assert all(abs(sum(row) - 1) < 2e-2 for row in each["weights"])


@pytest.mark.slow("a single training that goes on to the same bytes stays inside")
@pytest.mark.usefixtures("undrawn")
def test_a_run_stopped_in_any_stage_comes_to_the_same_bytes(done, tmp_path, capsys, monkeypatch):
    """Runs the lab once more, in four parts, and trains three small models."""
    advance, stops = Progress.advance, iter((2, 149, 5))
    left = [next(stops)]

    def press(progress, metrics):
        advance(progress, metrics)
        left[0] -= 1
        if left[0] == 0:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Progress, "advance", press)
    again = [*RUN, "--out", tmp_path / "lab"]
    assert run(capsys, *again)[0] == 130
    code, _, err = run(capsys, *again)
    assert (code, err.count("\n")) == (2, 1)
    assert "none.finetuned.partial is left of a stopped run: go on with --resume" in err
    for stop in stops:
        left[0] = stop
        code, _, err = run(capsys, *again, "--resume")
        assert code == 130
    assert "finetune takes 150 steps" not in err
    assert run(capsys, *again, "--resume")[0] == 0
    assert tables(tmp_path / "lab") == tables(done)


@pytest.mark.slow("another recipe in a finished run's folder, which is refused, stays inside")
@pytest.mark.usefixtures("undrawn")
def test_what_is_finished_is_not_trained_again(done, capsys, monkeypatch):
    """Measures a whole run again."""
    monkeypatch.setattr(Progress, "advance", None)
    before = tables(done)
    assert run(capsys, *RUN, "--out", done, "--resume", "--json")[0] == 0
    assert tables(done) == before


def test_another_recipe_in_the_same_folder_is_refused(done, capsys):
    code, out, err = run(capsys, *RUN, "--epochs", "4", "--out", done, "--resume")
    assert (code, out) == (2, "")
    assert "belongs to another run, with other epochs (3, not 4)" in err


@pytest.mark.slow("another recipe of the run itself, which is refused, stays inside")
def test_another_recipe_of_the_model_that_is_read_is_told_apart(done, tmp_path, capsys):
    """Trains a model of a finished run again, by another recipe."""
    shutil.copytree(done, tmp_path, dirs_exist_ok=True)
    (tmp_path / "models" / "seed-0" / "vanilla.pretrained").unlink()
    only = [*RUN[:4], "vanilla", *RUN[6:]]
    code, _, err = run(capsys, *only, "--epochs", "4", "--out", tmp_path, "--resume")
    assert code == 2
    assert "epochs of the model to go on from (3, not 4)" in err.splitlines()[-1]


def test_two_runs_at_once_do_not_share_a_folder(tmp_path, capsys):
    with files.held(tmp_path):
        code, out, err = run(capsys, *RUN, "--out", tmp_path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"another run is writing into {tmp_path}: wait for it, or choose another folder with --out" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("undrawn")
def test_figures_and_tables_of_other_variants_go(done, tmp_path, capsys):
    shutil.copytree(done, tmp_path, dirs_exist_ok=True)
    somebody_elses = [tmp_path / name for name in ("attention_of_me.png", "attention_of_vanilla.csv", "notes.json")]
    for path in somebody_elses:
        path.touch()
    code, _, _ = run(capsys, *RUN[:4], "none", *RUN[6:], "--out", tmp_path, "--resume")
    assert code in (0, 1)
    assert all(path.exists() for path in somebody_elses)
    left = {path.stem for path in tmp_path.iterdir() if path not in somebody_elses}
    assert not left & {"attention", "curves", "attention_of_vanilla", "learning_curves"}
    assert (tmp_path / "models" / "seed-0" / "vanilla.finetuned").exists()


def test_evaluating_one_model_leaves_a_whole_run_alone(done, tmp_path, capsys, monkeypatch):
    write_people(tmp_path)
    monkeypatch.chdir(tmp_path)
    model = ["--reading_params_path", done / "models" / "seed-0" / "none.finetuned"]
    asked = ["--eval_corpus_path", "dev.tsv", "--out", done]
    code, out, err = run(capsys, "evaluate", "vanilla", "wiki.txt", *model, *asked)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{done} holds what a whole run found: choose another folder with --out" in err


@pytest.mark.slow("questions that come from files, and who is asked, stay inside")
@pytest.mark.usefixtures("undrawn")
def test_files_of_ones_own_take_the_place_of_generated_persons(tmp_path, capsys, monkeypatch):
    """Trains a model, and measures it."""
    write_people(tmp_path)
    monkeypatch.chdir(tmp_path)
    files = ["wiki.txt", "--finetune_corpus_path", "train.tsv", "--eval_corpus_path", "dev.tsv"]
    code, out, _ = run(
        capsys,
        "run",
        *files,
        "--preset",
        "homework",
        "--variants",
        "none",
        "--seeds",
        "1",
        *SMALL,
        *("--block-size", "32"),
        "--json",
    )
    found = json.loads(out)
    assert code == (0 if all(f["verdict"] == "SUPPORTED" for f in found["findings"]) else 1)
    assert list(found) == ["findings", "estimates", "run"]
    assert {e["setting"].get("group") for e in found["estimates"] if e["quantity"] == "accuracy"} == {
        "finetuned",
        "held-out",
    }
    assert (tmp_path / "lab" / "knowledge" / "models" / "seed-0" / "none.finetuned").exists()


def test_who_is_learned_and_asked_is_told(tmp_path, capsys, monkeypatch):
    write_people(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "both.tsv").write_text("Where was Ada born?\tRome\nWhere was Lou born?\tBonn\n")
    code, _, err = run(capsys, "run", *FILES, "both.tsv", "--variants", "vanila")
    assert code == 2
    monkeypatch.setattr("attnlab_theory.labs.engine.run.train", lambda *_, **__: None)
    code, _, err = run(capsys, "run", *FILES, "both.tsv", "--variants", "none")
    assert code == 130
    assert "1 of 2 questions for evaluation is in the file for finetuning too, 'Where was Ada born?' first" in err


def test_questions_of_every_seed_are_good_before_anything_is_trained(tmp_path):
    good = generated(dataclasses.replace(biographies.PRESETS["tiny"], seed=0))
    long = Questions((f"Where was {'a' * 80} born?",), ("Rome",), "the persons of seed 1")
    bad = dataclasses.replace(good, by_group={**good.by_group, "never-seen": long})
    lab = Knowledge(
        preset=PRESETS["tiny"],
        arms=("none",),
        seeds=(0, 1),
        material=lambda seed: bad if seed else good,
        folder=tmp_path,
    )
    with pytest.raises(ValueError, match="line 1 of the persons of seed 1 takes 97 characters"):
        next(lab.waves())
    assert list(dataclasses.replace(lab, seeds=(0,)).waves()) == [[("none", 0)]]


@pytest.mark.parametrize("option", ["--arms", "--variants"])
def test_the_models_are_called_arms_or_variants(option, capsys):
    code, _, err = run(capsys, "run", option, "rope", "rope")
    assert (code, err) == (2, "attnlab: arm rope is named twice; once is enough\n")


FILES = [*("wiki.txt", "--finetune_corpus_path", "train.tsv"), *SMALL, "--eval_corpus_path"]
BAD = {
    "an unknown variant": (["--variants", "vanila"], "did you mean vanilla?"),
    "a variant twice": (["--variants", "rope", "rope"], "arm rope is named twice"),
    "no variant": (["--variants"], "needs at least one arm"),
    "no seed": (["--seeds", "0"], "--seeds"),
    "a negative seed": (["--seed", "-1"], "--seed is the first seed, from 0 to"),
    "no epoch": (["--epochs", "0"], "--epochs must be at least 1, not 0"),
    "nobody held out": (["--held-out", "0"], "held_out is 0"),
    "more wordings than there are": (["--wordings", "5"], "wordings must lie between 1 and the 4 templates"),
    "heads that do not fit": (["--heads", "3", "--width", "8"], "width 8 cannot be cut into 3 heads"),
    "the homework's year": (["--year", "2024"], "add --preset homework"),
    "one file of three": (["wiki.txt"], "--finetune-corpus-path and --eval-corpus-path is missing"),
    "persons beside files": (
        [*("wiki.txt", "--finetune_corpus_path", "train.tsv", "--eval_corpus_path", "dev.tsv"), "--wordings", "1"],
        "--wordings is for generated persons",
    ),
    "questions without places": (
        ["wiki.txt", "--finetune_corpus_path", "train.tsv", "--eval_corpus_path", "test.tsv"],
        "test.tsv has no places",
    ),
    "a stranger to ask for": ([*FILES, "strange.tsv"], "line 2 of strange.tsv holds 'X' (U+0058)"),
    "no question of the kind": ([*FILES, "other.tsv"], "line 1 of other.tsv is 'Who was Ada?'"),
    "a stranger to learn": (
        [
            *("wiki.txt", "--finetune_corpus_path", "foreign.tsv"),
            *("--eval_corpus_path", "dev.tsv", "--variants", "rope"),
        ],
        "line 2 of foreign.tsv holds 'Z' (U+005A)",
    ),
    "a long question": ([*FILES, "dev.tsv", "--block-size", "16"], "line 1 of train.tsv takes 20 characters"),
    "sums over packed rows": (["--variants", "vanilla", "features"], "features cannot keep apart the documents"),
    "no interval": (["--save-every", "nan", *FEW, *SMALL], "--save-every"),
    "a folder that is a file": (["--out", "wiki.txt", *FEW], "wiki.txt"),
}


@pytest.mark.slow("ten of 20 members stay inside", but=10)
@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_exit_code_2(name, tmp_path, capsys, monkeypatch):
    write_people(tmp_path)
    (tmp_path / "strange.tsv").write_text("Where was Lou born?\tBonn\nWhere was Xa born?\tBonn\n")
    (tmp_path / "foreign.tsv").write_text("Where was Ada born?\tBonn\nWhere was Bob born?\tZons\n")
    (tmp_path / "other.tsv").write_text("Who was Ada?\tBonn\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Progress, "advance", None)  # Nothing is trained before it is refused.
    arguments, said = BAD[name]
    code, out, err = run(capsys, "run", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
