"""The help of attnlab knowledge: what it says of variants and recipes is what they are."""

import pytest

from attnlab_theory.cli import main
from attnlab_theory.labs.knowledge import arms


def shown_help(capsys, command):
    with pytest.raises(SystemExit):
        main(["knowledge", command, "-h"])
    return " ".join(capsys.readouterr().out.replace("│", "").split())


def test_help_names_every_variant(capsys):
    assert ", ".join(arms.PRETRAINED) in shown_help(capsys, "pretrain")


@pytest.mark.parametrize("command", ["pretrain", "finetune", "store"])
def test_help_gives_the_numbers_of_the_recipes(capsys, command):
    shown = shown_help(capsys, command)
    new = arms.FINETUNING_FROM_SCRATCH
    each = pretrain, finetune, store = arms.PRETRAINING[2024], arms.FINETUNING, arms.STORING
    epochs = f"{finetune.epochs} in finetune after pretraining, {new.epochs} in finetune from scratch"
    assert f"{pretrain.epochs} in pretrain, {store.epochs} in store, {epochs}" in shown
    assert f"{pretrain.batch} in pretrain, {finetune.batch} in finetune, {store.batch} in store" in shown
    rates = shown.partition("Learning rate: ")[2].split(".")[0]
    assert [float(word) for word in rates.split() if word[0].isdigit()] == [recipe.rate for recipe in each]
