"""Options of other years' homework and of other programs: taken where they mean the same, else named."""

import pytest

from attnlab_theory import cli
from attnlab_theory.cli import main


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("pretrain", "--pretrain_lr"),
        ("pretrain", "--pretrain-lr"),
        ("finetune", "--finetune_lr"),
        ("store", "--lr"),
    ],
)
def test_other_years_names_of_the_learning_rate_are_taken(command, option):
    needed = [] if command == "pretrain" else ["--finetune_corpus_path", "questions"]
    line = ["knowledge", command, "vanilla", "corpus", "--writing_params_path", "model", *needed, option, "0.5"]
    task = cli._parse(line).task
    assert task.recipe.lr == 0.5


@pytest.mark.slow("five of nine members stay inside", but=5)
@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "knowledge pretrain perceiver WIKI --writing_params_path p",
            "the perceiver is the model of the homework of",
        ),
        (
            "knowledge pretrain vanilla WIKI --bottleneck_dim 64 --writing_params_path p",
            "--bottleneck_dim belongs to",
        ),
        (
            "knowledge pretrain vanilla WIKI --finetune_lr 1 --writing_params_path p",
            "rate of finetune; in pretrain it",
        ),
        (
            "knowledge store vanilla WIKI --pretrain-lr 1 --writing_params_path p",
            "--pretrain-lr is the learning rate",
        ),
        ("knowledge pretrain vanilla WIKI --tb_expt_name x --writing_params_path p", "leave it out"),
        (
            "knowledge pretrain --function pretrain --variant vanilla --pretrain_corpus_path WIKI "
            "--writing_params_path p",
            "--function stands without a name here: attnlab knowledge pretrain VARIANT CORPUS",
        ),
        (
            "knowledge pretrain vanilla WIKI --writing_params_path p -d cpu",
            "-d chooses a device, and jax does that",
        ),
        (
            "captions train --learning_rate 1 --foo 2 --n_layer 3",
            "(is it --lr?), --n_layer (is it --layers?); unknown",
        ),
        ("captions train --learning_rate 1", "Missing from attnlab captions train: --writing-params-path"),
        ("knowledge pretrain vanilla WIKI --foo 1 --writing_params_path p", "Unrecognized options: --foo, 1;"),
        ("knowledge pretrain vanilla WIKI --pretrain_lr x --writing_params_path p", "takes a number, not 'x': The"),
    ],
)
def test_options_that_mean_something_else_are_named(capsys, tmp_path, monkeypatch, line, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "WIKI").write_text("a b c\n")
    assert main(line.split()) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("heads minilm t.txt --device=cpu", "--device chooses a device"),
        ("captions train --writing-params-path x --num-workers 4", "--num-workers is for loaders of data"),
        ("reviews train --writing-params-path x --weight_decay 0.1", "--weight_decay belongs to the recipe"),
        ("leaks a.py::f --seq_len 4", "there is no --seq_len (is it --length?)"),
        ("grade . --assignment practical4", "there is no --assignment (is it --rubric?)"),
        ("check a.py::f --problem 2b", "there is no --problem (is it --question?)"),
        ("museum --n_layer 3", "Unrecognized options: --n_layer"),
    ],
)
def test_options_of_other_programs_are_named_and_only_one_that_the_command_has_is_meant(capsys, line, said):
    assert main(line.split()) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err
