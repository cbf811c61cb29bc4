"""The arithmetic of a layer's costs: sums against closed forms, crossings against the costs that cross."""

import pytest

from attnlab_theory.theory.cost import layers
from attnlab_theory.theory.cost.layers import Part, Rival


@pytest.mark.parametrize("t", [1, 2, 7, 40])
def test_generation_is_the_sum_of_its_steps(t):
    d = 12
    fixed = layers.projections(1, d) + layers.mlp(1, d)
    assert layers.generation(t, d) == sum(layers.mixing(1, d, sources=i) + fixed for i in range(1, t + 1))
    assert layers.generation_uncached(t, d) == sum(layers.layer(i, d) for i in range(1, t + 1))
    assert layers.generation_padded(t, d, t) == sum(layers.mixing(1, d, sources=t) + fixed for _ in range(t))


def test_everything_grows_with_the_batch_and_only_the_readout_with_the_vocabulary():
    alone = layers.generation(9, 12, vocabulary=50)
    assert layers.generation(9, 12, vocabulary=50, batch=6) == 6 * alone
    assert alone - layers.generation(9, 12) == layers.readout(9, 12, 50)


@pytest.mark.parametrize("rival", Rival)
@pytest.mark.parametrize("cached", [False, True])
def test_costs_are_equal_where_they_cross(rival, cached):
    d = 10
    t = layers.crossing(d, rival, cached=cached)
    mixing = 2 * t * (t + 1) * d if cached else layers.mixing(t, d)
    projections, mlp = layers.projections(t, d), layers.mlp(t, d)
    ours = mixing + (projections if rival == Rival.MODULE else 0)
    theirs = {
        Rival.PROJECTIONS: projections,
        Rival.MLP: mlp,
        Rival.ALL_ELSE: projections + mlp,
        Rival.MODULE: mlp,
    }[rival]
    assert ours == theirs


def test_the_parts_of_a_layer_add_up_to_the_layer():
    parts = [layers.products(part, 7, 12) for part in Part if part != Part.LAYER]
    assert sum(parts) == layers.products(Part.LAYER, 7, 12)
