"""Verdicts on a hundred synthetic layers that satisfy or violate what they are about, at the stated error rates."""

import functools

import jax
import numpy as np
import pytest

from attnlab_theory.labs.heads import gambling
from attnlab_theory.labs.heads.fitting import Moments, fitted
from attnlab_theory.labs.heads.plan import planned
from attnlab_theory.labs.heads.splits import Splits
from attnlab_theory.labs.heads.stretch import Stretch
from attnlab_theory.stats.groups import bands
from tests.labs.heads.synthetic import ERROR_RATE, LAYERS, LIMIT, Given, families, in_layers, missing
from tests.labs.heads.typed_keys import KeyLaw, LayerLaw, asking_layer, typed_keys

HEADS, GROUPS = 2, 40


@functools.cache
def stretch(law):
    """The replicates of a hundred layers of two heads; each layer is a family of its own."""
    kinds = jax.random.randint(jax.random.key(5), (400, 8), 0, 6)
    for_keys, for_queries = jax.random.split(jax.random.key(1))
    k = in_layers(typed_keys(for_keys, law, kinds, heads=LAYERS * HEADS, d=8), HEADS)
    q = in_layers(jax.random.normal(for_queries, (400, LAYERS * HEADS, 8, 8)), HEADS)
    given = Given(np.asarray(kinds), q, k)
    plan = planned(given.tokens, groups=GROUPS)
    fit = fitted(given.traces(plan.fitting), plan)
    found = Stretch(fit, plan.groups)
    for group in range(plan.groups):
        moments = Moments(*fit.means.shape)
        for trace in given.traces(plan.judging[group :: plan.groups]):
            kinds = plan.kinds(trace.tokens)
            moments.add(trace.k.astype(float) - fit.means[:, :, kinds], kinds)
        found.add(group, moments)
    return found.replicates()


@pytest.mark.slow("how the slope is defined, as a ratio of contrasts, stays inside")
@pytest.mark.parametrize("law", [law for law in KeyLaw if law != KeyLaw.NOISY_LENGTH], ids=str)
def test_no_slope_is_found_where_there_is_none(law):
    """Draws the keys and queries of a hundred synthetic layers, and fits each layer."""
    found = families(stretch(law).slope)
    assert missing(found, 0.0) <= LIMIT
    # A stretch that explains a tenth is excluded, so "no slope" is no lack of data.
    assert sum(bool(np.all(each.high < 0.1)) for each in families(stretch(law).share)) >= LAYERS - LIMIT


@pytest.mark.slow("four heads of the homework, whose slopes are positive, stay inside")
def test_the_homeworks_slope_is_found_and_covered():
    """Draws the keys and queries of a hundred synthetic layers, and fits each layer."""
    found = families(stretch(KeyLaw.NOISY_LENGTH).slope)
    assert sum(bool(np.all(each.low > 0)) for each in found) >= LAYERS - LIMIT
    assert missing(found, 0.5) <= LIMIT
    assert sum(bool(np.all(each.low > 0.1)) for each in families(stretch(KeyLaw.NOISY_LENGTH).share)) >= (
        LAYERS - LIMIT
    )


@pytest.mark.slow("squared means of splits, as products of different sentences, stay inside")
def test_the_mean_keys_length_is_measured_without_its_noise():
    """The squared length of a mean of six types is 5/6; a plug-in would add the motion of whole sentences."""
    for law in (KeyLaw.ISOTROPIC, KeyLaw.COMMON_MOTION):
        found = stretch(law).distance[0]
        assert abs(np.mean(found) - 5 / 6) < 5 * np.std(found) / np.sqrt(found.size)


@functools.cache
def layers(law, heads=HEADS):
    rng = np.random.default_rng(3)
    kinds = np.stack([rng.permutation(5) for _ in range(300)])
    keys = jax.random.split(jax.random.key(7), LAYERS)
    asked = jax.vmap(lambda key: asking_layer(key, law, jax.numpy.asarray(kinds), heads=heads, beta=8.0))
    q, k = (np.moveaxis(np.asarray(part), 0, 1) for part in asked(keys))
    given = Given(kinds, q, k)
    plan = planned(given.tokens, groups=GROUPS, occurrences=100)
    splits = Splits(fitted(given.traces(plan.fitting), plan), plan)
    for group in range(plan.groups):
        for number in plan.judging[group :: plan.groups]:
            (trace,) = given.traces([number])
            splits.add(trace, trace.scores(), number, group)
    return [gambling.of_layer(splits.of_layer(layer), plan.groups) for layer in range(LAYERS)]


def verdicts(law, heads=HEADS):
    """How many layers hedge, and how many do not, by an interval for the mean's index less half of the copies'."""
    found = [bands(each.mean - each.alike / 2, ERROR_RATE, draws=1000) for each in layers(law, heads)]
    return sum(float(each.high) <= 0 for each in found), sum(float(each.low) > 0 for each in found)


@pytest.mark.slow("one head that gambles, told from a steady average, stays inside")
def test_layers_that_hedge_are_said_to():
    """Counts the splits of a hundred synthetic layers in every sentence."""
    hedge, do_not = verdicts(LayerLaw.HEDGING)
    assert hedge >= LAYERS - LIMIT
    assert do_not <= LIMIT


@pytest.mark.slow("one head that gambles, told from a steady average, stays inside")
def test_layers_whose_heads_copy_each_other_are_said_not_to_hedge():
    """Counts the splits of a hundred synthetic layers in every sentence."""
    hedge, do_not = verdicts(LayerLaw.COPYING)
    assert do_not >= LAYERS - LIMIT
    assert hedge <= LIMIT
    assert all(each.correlation[0] == pytest.approx(1) for each in layers(LayerLaw.COPYING))


@pytest.mark.slow("one coin, whose gamble is as large as can be, stays inside")
def test_two_independent_coins_lie_on_the_border_where_either_verdict_is_an_error():
    """Counts the splits of a hundred synthetic layers in every sentence."""
    assert sum(verdicts(LayerLaw.COINS)) <= LIMIT
    assert abs(np.mean([each.correlation[0] for each in layers(LayerLaw.COINS)])) < 0.02


@pytest.mark.slow("theory's share of one head, which is logit-normal, stays inside")
def test_the_index_of_one_head_is_that_of_the_logit_normal_split():
    """Both keys are stretched: the logit is normal with variance beta^2 (1/2 + 1/2 + 4a)."""
    from attnlab_theory.theory.noisy_keys.one_head import logit_normal_variance

    predicted = 4 * logit_normal_variance(8 * np.sqrt(1 + 4e-3))
    found = np.array([each.alike[0] for each in layers(LayerLaw.COPYING)])
    assert abs(np.mean(found) - predicted) < 5 * np.std(found) / np.sqrt(LAYERS) + 1e-3
