"""Every mixer has a recipe."""

from attnlab_theory.claims.cost.mixers import RECIPES, MixerName


def test_every_mixer_has_a_recipe():
    assert list(RECIPES) == list(MixerName)
