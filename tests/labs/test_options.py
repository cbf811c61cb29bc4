"""The options that all labs share."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from attnlab_theory.labs.knowledge.training import PretrainChanges
from attnlab_theory.labs.options import ModelSizes, RecipeChanges, WholeRun
from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.labs.texts import Texts


def test_what_is_left_out_stays_as_the_recipe_has_it():
    recipe = Recipe(epochs=3, batch=8, rate=1e-3, fall=200, shuffled=True)
    assert RecipeChanges().of(recipe) == recipe
    assert PretrainChanges().of(recipe) == recipe
    changed = PretrainChanges(epochs=5, lr=0.1, rows=2, seed=7, micro_batches="packed", schedule="2021").of(recipe)
    told = {"epochs": 5, "rate": 0.1, "rows": 2, "seed": 7, "micro_batches": "packed"}
    assert changed == dataclasses.replace(recipe, **told)
    assert RecipeChanges(batch_size=5).of(recipe) == dataclasses.replace(recipe, batch=5)


def test_only_given_sizes_are_told():
    assert ModelSizes().given == {}
    assert ModelSizes(layers=2, block_size=64).given == {"layers": 2, "block": 64}


def test_seeds_are_counted_from_the_first():
    assert WholeRun(seeds=3, seed=5, out=Path("lab")).every_seed() == (5, 6, 7)
    with pytest.raises(ValueError, match="--seeds is how many seeds there are, at least 1, not 0"):
        WholeRun(seeds=0, out=Path("lab")).every_seed()


@pytest.mark.slow("one of four members stays inside", but=1)
@pytest.mark.parametrize("module", ["options", "recipes", "training", "progress"])
def test_what_the_command_line_reads_first_imports_no_jax(module):
    code = f"import sys, attnlab_theory.labs.{module}; sys.exit('jax' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("seed", [-1, -(10**9), 2**63 - 1])
def test_a_first_seed_that_is_none_is_refused_before_anything_is_trained(seed):
    with pytest.raises(ValueError, match=f"--seed is the first seed, from 0 to .*, not {seed}"):
        WholeRun(out=Path("x"), seed=seed).every_seed()


def test_words_cannot_be_rarer_than_never():
    with pytest.raises(ValueError, match="--least is a number of words, at least 0, not -5"):
        Texts(least=-5).material(0)
