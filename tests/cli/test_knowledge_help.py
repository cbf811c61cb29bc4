"""The help of attnlab knowledge: what it says of variants and recipes is what they are."""

import re

import pytest

from attnlab_theory.cli import main
from attnlab_theory.labs.knowledge import arms


def shown_help(capsys, command):
    with pytest.raises(SystemExit):
        main(["knowledge", command, "-h"])
    return " ".join(capsys.readouterr().out.replace("│", "").split())


def test_help_names_every_variant(capsys):
    assert {*arms.PRETRAINED} <= {*re.findall(r"[\w-]+", shown_help(capsys, "pretrain"))}


@pytest.mark.parametrize(
    ("command", "recipes"),
    [
        ("pretrain", [arms.PRETRAINING[2024]]),
        ("finetune", [arms.FINETUNING, arms.FINETUNING_FROM_SCRATCH]),
        ("store", [arms.STORING]),
    ],
)
def test_help_gives_the_numbers_of_the_recipes(capsys, command, recipes):
    said = shown_help(capsys, command).partition("By default it takes")[2].partition("A micro-batch")[0]
    numbers = [float(word) for word in re.findall(r"\d[\d.e-]*\d|\d", said)]
    assert numbers == [*(recipe.epochs for recipe in recipes), recipes[0].batch, recipes[0].rate]
    assert all((recipe.batch, recipe.rate) == (recipes[0].batch, recipes[0].rate) for recipe in recipes)
