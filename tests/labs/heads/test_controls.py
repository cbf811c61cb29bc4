"""Controls: models and texts in random order, differences from what they reach, and baselines that know no key."""

import functools
import itertools
import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from attnlab_theory.claims import Verdict
from attnlab_theory.cli import main
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.heads import collapse, families, fitting, quantities
from attnlab_theory.labs.heads.calibration import Calibration
from attnlab_theory.labs.heads.claims import BEYOND_LENGTH, STATEMENTS, beyond
from attnlab_theory.labs.heads.controls import (
    RANDOM,
    SHUFFLED,
    beside_controls,
    compared,
    controls_of,
    random_weights,
)
from attnlab_theory.labs.heads.families import Banded, Family, Unshown, by_group
from attnlab_theory.labs.heads.fitting import AWAY, PLACES, distance_of, fitted, place_of
from attnlab_theory.labs.heads.measuring import measured
from attnlab_theory.labs.heads.plan import Plan, planned
from attnlab_theory.labs.heads.traces import softmax
from attnlab_theory.language.checkpoint import save_model
from attnlab_theory.language.models.gpt import GPT, GPTConfig
from attnlab_theory.stats.groups import Bands, bands
from tests.labs.heads.classifiers import TEXT, before_reviews, classifier
from tests.labs.heads.synthetic import ERROR_RATE, LAYERS, LIMIT, Given

STRETCH, SHIFT, ERROR = "variance explained by the stretch", "shift of scores", "relative error"
GROUPS = 20


def stated(quantity):
    (found,) = (each for each in STATEMENTS if each.quantity == quantity)
    return found


def test_random_weights_are_those_of_the_model_in_another_order():
    model = {"w": jnp.arange(60.0).reshape(5, 12), "n": jnp.arange(7), "name": "a model", "none": None}
    one, other = (random_weights(model, rng) for rng in [np.random.default_rng(0)] * 2)
    for each in (one, other):
        assert each["w"].shape == (5, 12)
        np.testing.assert_array_equal(np.sort(each["w"], axis=None), np.arange(60.0))
        # Of 60 entries one stays in its place on average.
        assert np.mean(each["w"] == model["w"]) < 0.2
        assert each["n"] is model["n"]
        assert (each["name"], each["none"]) == ("a model", None)
    assert np.mean(one["w"] == other["w"]) < 0.2


def test_controls_are_models_and_texts_in_random_order():
    """Makes a classifier, and compiles what draws its weights."""
    reading, _ = before_reviews(classifier(), 30)
    found = controls_of(reading, models=3)
    assert {name: len(drawn) for name, drawn in found.items()} == {RANDOM: 3, SHUFFLED: 1}
    for one, other in itertools.combinations([reading, *found[RANDOM]], 2):
        assert other.tokens is reading.tokens
        assert other.model is other.classifier.encoder
        differ = 0
        for a, b in zip(*map(jax.tree.leaves, (one.classifier, other.classifier)), strict=True):
            np.testing.assert_array_equal(np.sort(a, axis=None), np.sort(b, axis=None))
            differ += not np.array_equal(a, b)
        assert differ > 20
    (shuffled,) = found[SHUFFLED]
    assert (shuffled.model, shuffled.classifier) == (reading.model, reading.classifier)
    moved = 0
    for own, other in zip(reading.tokens, shuffled.tokens, strict=True):
        np.testing.assert_array_equal(own.special, other.special)
        np.testing.assert_array_equal(own.ids[own.special], other.ids[own.special])
        assert sorted(own.ids) == sorted(other.ids)
        moved += np.sum(own.ids != other.ids)
    assert moved > sum(len(each.ids) for each in reading.tokens) / 2


def test_controls_follow_from_the_seed_and_one_model_is_refused():
    reading, _ = before_reviews(classifier(), 30)
    one, again, other = (controls_of(reading, models=2, seed=seed)[SHUFFLED][0].tokens for seed in (0, 0, 1))
    same, differ = (
        [np.array_equal(a.ids, b.ids) for a, b in zip(one, each, strict=True)] for each in (again, other)
    )
    assert all(same)
    assert not all(differ)
    assert controls_of(reading, models=0) == {}
    with pytest.raises(ValueError, match="--controls must be 0 or at least 2, not 1"):
        controls_of(reading, models=1)


def replicates(mean, seed, spread=0.1):
    """Means over groups of numbers around a mean [*m], with each group left out."""
    mean = np.asarray(mean, float)
    return by_group(mean[..., None] + spread * np.random.default_rng(seed).normal(size=(*mean.shape, 100)), 0)


def family(quantity, mean, seed, **how):
    """Two heads of a layer, with these means."""
    return Family(quantity, replicates([mean], seed, how.pop("spread", 0.1)), 100, **how)


SIDES = {
    "at least": (family(STRETCH, [0.5, 0.2], 0), family(STRETCH, [0.1, 0.4], 1), lambda x: x),
    "at most": (
        family(ERROR, [0.5, 0.2], 0, setting={"budget": 9}),
        family(ERROR, [0.1, 0.4], 1, setting={"budget": 9}),
        np.negative,
    ),
    "between": (family(SHIFT, [-0.5, 0.2], 0), family(SHIFT, [0.1, -0.4], 1), lambda x: -np.abs(x)),
    "between, by logarithms": (
        family("features measured over predicted", [-0.9, 0.2], 0, logarithms=True),
        family("features measured over predicted", [0.3, 0.5], 1, logarithms=True),
        lambda x: -np.abs(x),
    ),
}


@pytest.mark.parametrize(("own", "other", "side"), SIDES.values(), ids=SIDES)
def test_a_number_counts_by_how_far_it_lies_on_the_side_of_its_statement(own, other, side):
    """The middle of 4/5 and 5/4 is 1, whose logarithm is 0."""
    found = [*compared([own], {"other": [[other]]})]
    wanted = bands(side(own.replicates) - side(other.replicates), ERROR_RATE / 2)
    assert [each.setting for each in found] == [
        {"layer": 1, "head": head, **own.setting, "control": "other"} for head in (1, 2)
    ]
    for head, each in enumerate(found):
        assert each.quantity == beyond(stated(own.quantity).name)
        value, interval = wanted.at(0, head)
        assert (each.value, each.interval.low, each.interval.high) == pytest.approx(
            (value, interval.low, interval.high)
        )
    assert found[0].value * found[1].value < 0, "one head is better than the control, one worse"


def test_only_what_is_stated_of_a_setting_is_compared():
    other = [family(ERROR, [0.1, 0.4], 1, setting={"budget": budget}) for budget in (9, 10)]
    assert {each.setting["budget"] for each in compared(other, {"other": [other]})} == {9}
    # A number at another setting is no control of this one.
    assert not [*compared(other[:1], {"other": [other[1:]]})]


@functools.cache
def beside(*names):
    """One model beside controls of the first, of the second and of no head."""
    means = {"strong of the first": [0.4, 0.1], "strong of the second": [0.0, 0.3], "weak": [-1.0, -1.0]}
    own, others = family(STRETCH, [0.5, 0.5], 0), [family(STRETCH, means[name], 1) for name in names]
    return [*compared([own], {name: [[other]] for name, other in zip(names, others, strict=True)})]


def test_of_each_number_the_control_that_comes_nearest_decides_and_all_intervals_hold_together():
    names = ("weak", "strong of the first", "strong of the second")
    found = beside(*names)
    assert [each.setting["control"] for each in found] == list(names[1:])
    for head, each in enumerate(found):
        assert each.value == beside(names[1 + head])[head].value
        assert each.interval.width > beside(names[1 + head])[head].interval.width


def test_a_control_that_is_shown_to_be_better_decides_whatever_others_leave_open():
    own, better = family(STRETCH, [0.5, 0.5], 0), family(STRETCH, [0.7, 0.7], 1)
    unsure = family(STRETCH, [0.4, 0.4], 2, spread=20.0)
    for each in compared([own], {"unsure": [[unsure]], "better": [[better]]}):
        assert each.setting["control"] == "better"
        assert each.interval.high < 0


def test_of_several_draws_the_next_one_is_the_control():
    """For one number, and without noise of sentences: a prediction interval of Student's, at half of the rate."""
    drawn = np.array([0.1, 0.2, 0.15, 0.3, 0.05])
    own, *others = (
        Family(STRETCH, replicates([[mean]], seed, 1e-7), 100) for seed, mean in enumerate((0.5, *drawn))
    )
    (found,) = compared([own], {RANDOM: [[each] for each in others]})
    reach = scipy.stats.t(4).isf(ERROR_RATE / 4) * np.std(drawn, ddof=1) * np.sqrt(1 + 1 / 5)
    middle = 0.5 - np.mean(drawn)
    assert (found.value, found.interval.low, found.interval.high) == pytest.approx(
        (middle, middle - reach, middle + reach), abs=1e-5
    )
    assert found.setting["control"] == RANDOM


def nan(told):
    return told._replace(replicates=told.replicates * np.array([np.nan, 1.0]))


def test_a_number_that_one_control_lacks_is_compared_with_the_others():
    own, other, last = (family(STRETCH, [mean] * 2, seed) for seed, mean in enumerate((0.5, 0.3, 0.1)))
    first, second = compared([own], {"lacking": [[nan(other)]], "other": [[last]]})
    assert [each.setting["control"] for each in (first, second)] == ["other", "lacking"]
    assert first.value == pytest.approx(own.replicates[0, 0, 0] - last.replicates[0, 0, 0])
    # Nobody has it: there is no difference, and no verdict rests on it.
    (only,) = compared([own], {"lacking": [[nan(other)]]})
    assert only.setting["head"] == 2


def test_of_draws_that_lack_a_number_the_others_count_and_one_is_no_law():
    own = family(STRETCH, [0.5, 0.5], 0)
    drawn = [family(STRETCH, [mean] * 2, seed) for seed, mean in enumerate((0.1, 0.2, 0.15), 1)]
    found = [*compared([own], {RANDOM: [[nan(drawn[0])], *([each] for each in drawn[1:])]})]
    two = [each.replicates[0, 0, 0] for each in drawn[1:]]
    assert found[0].value == pytest.approx(own.replicates[0, 0, 0] - np.mean(two))
    assert math.isfinite(found[0].interval.low)
    assert found[0].interval.width > found[1].interval.width
    alone, _ = compared([own], {RANDOM: [*([nan(each)] for each in drawn[:2]), [drawn[2]]], "weak": [[drawn[0]]]})
    assert (alone.setting["control"], alone.interval.low, alone.interval.high) == (RANDOM, -math.inf, math.inf)


def test_without_a_control_nothing_is_shown():
    """Beyond controls the same numbers are shown."""
    own = [family(STRETCH, [0.5, 0.5], 0)]
    for controls, verdict in (({}, Verdict.INCONCLUSIVE), ({"other": [0.1]}, Verdict.SUPPORTED)):
        found = beside_controls(own, controls, lambda mean, _: [family(STRETCH, [mean] * 2, 1)])
        judged = families.verdicts(found).findings
        assert [each.verdict for each in judged] == [verdict] * 2
        assert [each.control.number is None for each in judged] == [not controls] * 2
        assert found.of(STRETCH) == Estimates(own[0].estimates())


def test_a_control_that_does_better_refutes():
    own = [family(STRETCH, [0.5, 0.5], 0)]
    found = beside_controls(own, {"other": [0.9]}, lambda mean, _: [family(STRETCH, [mean] * 2, 1)])
    assert [each.verdict for each in families.verdicts(found).findings] == [Verdict.REFUTED] * 2


def test_numbers_with_intervals_of_another_kind_are_compared_once():
    """They are shown with exact intervals, and compared by groups of sentences."""
    of_groups = Unshown(family("accuracy lost", [0.3, 0.4], 0))
    shown = families.estimated([family("accuracy lost", [0.3, 0.4], 0)])
    found = beside_controls([*shown, of_groups], {"other": [0.0]}, lambda _, __: [*shown, of_groups])
    assert len(found.of("accuracy lost")) == 2
    # Two statements are about the number.
    assert len(found) == 6


def banded(values, radius, asked):
    """Distances from normal of two heads, within a radius at any error rate. Rates that are asked for are kept."""
    values = np.array([values])

    def at(rate):
        asked.append(rate)
        return Bands(values, values - radius, values + radius)

    return Banded("distance from normal", at, 100, "McDiarmid")


def test_differences_of_numbers_with_intervals_of_their_own_hold_together():
    """A quarter of the error rate is the model's, a quarter all controls'; half is for the law of several draws."""
    own_rates, rates = [], []
    own = banded([0.1, 0.5], 0.02, own_rates)
    controls = {"one": [[banded([0.4, 0.3], 0.05, rates)]], "two": [[banded([0.6, 0.25], 0.05, rates)]]}
    first, second = compared([own], controls)
    assert (first.setting["control"], second.setting["control"]) == ("one", "two")
    for each, value in ((first, 0.3), (second, -0.25)):
        assert (each.value, each.interval.low, each.interval.high) == pytest.approx(
            (value, value - 0.07, value + 0.07)
        )
    assert own_rates == [ERROR_RATE / 4]
    assert rates == [ERROR_RATE / 8] * 2


def test_the_next_of_several_draws_is_asked_for_with_intervals_of_their_own_too():
    drawn = np.array([[0.4, np.nan], [0.5, np.nan], [0.3, 0.2]])
    own = banded([0.1, 0.1], 0.02, [])
    first, second = compared([own], {RANDOM: [[banded(each, 0.05, [])] for each in drawn]})
    # The family has two numbers.
    reach = scipy.stats.t(2).isf(ERROR_RATE / 8) * 0.1 * np.sqrt(1 + 1 / 3) + 0.07
    assert (first.value, first.interval.low, first.interval.high) == pytest.approx((0.3, 0.3 - reach, 0.3 + reach))
    assert (second.value, second.interval.low, second.interval.high) == pytest.approx((0.1, -math.inf, math.inf))


def same_law(quantity, draws, seed):
    """Numbers of a model and of controls by the same law, for six heads of each layer: what differs is chance.

    Half of what makes a sentence's number is common to all models. What differs between models stays with them.
    """
    rng = np.random.default_rng(seed)
    shared = rng.exponential(size=(1, LAYERS, 6, 60))
    own = 3 * rng.normal(size=(1 + draws, LAYERS, 6, 1)) + rng.exponential(size=(1 + draws, LAYERS, 6, 60))
    setting = {"budget": 9} if quantity == ERROR else {}
    logarithms = quantity == "features measured over predicted"
    each = np.moveaxis(by_group(shared + own, seed), 1, 0)
    return [
        [Family(quantity, model[:, layer, None], 60, setting=setting, logarithms=logarithms) for model in each]
        for layer in range(LAYERS)
    ]


@pytest.mark.slow("of several draws, the interval of the next by hand stays inside")
@pytest.mark.parametrize("quantity", [STRETCH, ERROR, SHIFT, "features measured over predicted"])
def test_a_model_drawn_like_its_controls_is_beyond_them_at_the_stated_rate(quantity):
    """Compares `LAYERS` layers with five draws. The best of six would be beyond the others in half of them."""
    shown = 0
    for own, *others in same_law(quantity, 5, 0):
        shown += any(each.interval.low > 0 for each in compared([own], {RANDOM: [[other] for other in others]}))
    assert shown <= LIMIT


@pytest.mark.slow("differences from one control, by hand, stay inside")
@pytest.mark.parametrize("quantity", [STRETCH, ERROR, SHIFT])
def test_a_model_that_differs_from_its_control_by_sentences_alone_is_beyond_it_at_the_stated_rate(quantity):
    """Compares `LAYERS` layers with a control whose numbers have the same law, sentence by sentence."""
    rng, shown = np.random.default_rng(1), 0
    setting = {"budget": 9} if quantity == ERROR else {}
    for _ in range(LAYERS):
        own, other = (
            Family(quantity, by_group(rng.exponential(size=(1, 2, 100)), 0), 100, setting=setting) for _ in range(2)
        )
        shown += any(each.interval.low > 0 for each in compared([own], {SHUFFLED: [[other]]}))
    assert shown <= LIMIT


def uneven(n, strength, rng, longest=12, layers=1, heads=2, causal=False):
    """Sentences of 2 words to the longest, of four types, with queries of this strength."""
    lengths = rng.integers(2, longest + 1, n)
    kinds = [rng.integers(0, 4, t) for t in lengths]
    means = rng.normal(size=(layers, heads, 4, 3))
    k = [means[:, :, row] + 0.5 * rng.normal(size=(layers, heads, len(row), 3)) for row in kinds]
    q = [strength * rng.normal(size=(layers, heads, len(row), 3)) for row in kinds]
    return Given(kinds, q, k, causal=causal)


@pytest.mark.parametrize("causal", [True, False])
def test_baselines_are_means_of_weights_times_the_number_of_keys_summed_up_one_by_one(causal, monkeypatch):
    """Few places are told apart, so that some sentences have more. Type 9 occurs nowhere."""
    monkeypatch.setattr(fitting, "PLACES", 6)
    given = uneven(12, 1.0, np.random.default_rng(0), longest=AWAY + 4, causal=causal)
    plan = Plan(types=np.array([2, 0, 3]), counts=np.ones(3, int), fitting=(*range(12),), judging=(), groups=10)
    fit = fitted(given.traces(plan.fitting), plan)
    types, found = plan.types.tolist(), {}
    for trace in given.traces(plan.fitting):
        weights = softmax(trace.scores())
        for query, key in np.argwhere(trace.visible):
            share = trace.visible[query].sum() * weights[0, :, query, key]
            kind = int(trace.tokens.ids[key])
            for name, column in (
                ("words", types.index(kind) if kind in types else None),
                ("places", min(key, 5)),
                ("distances", max(-AWAY, min(AWAY, key - query)) + AWAY),
            ):
                found.setdefault((name, column), []).append(share)
    for name, columns in (("words", 3), ("places", 6), ("distances", 2 * AWAY + 1)):
        values = getattr(fit.baselines, name)
        # A causal query sees no later key. Of what nobody sees an equal share is expected.
        wanted = [np.mean(found.get((name, column), [np.ones(2)]), axis=0) for column in range(columns)]
        np.testing.assert_allclose(values[0], np.transpose(wanted))


def test_far_places_share_a_column_and_so_do_distances():
    assert place_of(np.array([0, 1, PLACES - 1, PLACES, 500])).tolist() == [
        0,
        1,
        PLACES - 1,
        PLACES - 1,
        PLACES - 1,
    ]
    assert distance_of(np.array([-99, -AWAY, -1, 0, 1, AWAY, 99])).tolist() == [
        *(0, 0, AWAY - 1, AWAY, AWAY + 1, 2 * AWAY, 2 * AWAY)
    ]


def test_predictions_stand_beside_the_baselines_of_their_own_query_and_keys():
    """The weights that are handed in say which query asked, and for which keys."""
    given = uneven(40, 1.0, np.random.default_rng(0), causal=True)
    plan = Plan(types=np.array([2, 0, 3]), counts=np.ones(3, int), fitting=(*range(40),), judging=(), groups=10)
    fit = fitted(given.traces(plan.fitting), plan)
    number = max(range(40), key=lambda each: len(given.kinds[each]))
    (trace,) = given.traces([number])
    t, calibration = len(trace.tokens.ids), Calibration(fit, plan, seed=1)
    places = np.broadcast_to(np.arange(float(t * t)).reshape(t, t), (1, 2, t, t))
    calibration.add(trace, trace.scores(), places, 0)
    found = calibration.predictions()
    assert len(found.weight) > 2
    for weight, each in zip(found.weight[:, 0, 0].astype(int), found.baselines[:, :, 0], strict=True):
        row, key = divmod(weight, t)
        kind, n = plan.kinds(trace.tokens)[key], row + 1
        words, positions, apart = (part[0] for part in fit.baselines)
        wanted = (
            fit.weights[0, :, kind],
            np.full(2, 1 / n),
            positions[:, min(key, PLACES - 1)] / n,
            apart[:, max(key - row, -AWAY) + AWAY] / n,
            words[:, kind] / n,
        )
        np.testing.assert_allclose(each, wanted)


def test_of_even_attention_theory_explains_what_the_length_explains_and_no_more():
    """Beyond a word's mean weight, which knows no length, it explains nearly all."""
    given = uneven(300, 1e-3, np.random.default_rng(0))
    told = quantities.measure(measured(given, planned(given.tokens, occurrences=100), calibrated=30))
    named = {each.quantity: each for each in told}
    for head in (0, 1):
        theory, word, length, further = (
            named[name].replicates[0, 0, head]
            for name in (
                "weights explained by theory",
                "weights explained by the type",
                "weights explained by length",
                BEYOND_LENGTH,
            )
        )
        assert min(theory, length) > 0.999
        assert word < 0.5
        assert further < 1e-4


@pytest.mark.slow("a classifier with random weights, taken apart by collapse, stays inside")
@pytest.mark.usefixtures("unpainted")
@pytest.mark.parametrize("noise", [0.0, 0.5], ids=["as initialised", "noisy"])
def test_the_command_shows_nothing_of_a_gpt_with_random_weights(noise, tmp_path, capsys):
    """Measures two parts of the lab on a GPT that has learned nothing, and on its six controls."""
    net = GPT(GPTConfig(vocabulary=len(TEXT), block=32, layers=2, heads=2, width=16), key=jax.random.key(0))
    net = jax.tree.map(lambda x: x + noise * jax.random.normal(jax.random.key(x.size), x.shape), net)
    save_model(tmp_path / "gpt", net, TEXT, {})
    asked = ["--parts", "premises", "collapse", "--sentences", "400", "--occurrences", "100", "--predicted", "10"]
    asked += ["--few", "60", "--out", str(tmp_path / "heads"), "--json"]
    assert main(["heads", str(tmp_path / "gpt"), *asked]) == 0
    told = json.loads(capsys.readouterr().out)
    findings = [each for part in told.values() for each in part["findings"]]
    assert len(findings) > 15
    assert not [(each["claim"], each["setting"]) for each in findings if each["verdict"] == "SUPPORTED"]
    # Nor is it for want of controls.
    assert {
        each["control"]["number"] is None for each in findings if each["claim"] == "the-model-does-not-collapse"
    } == {False}


def test_nothing_is_shown_of_a_classifier_with_random_weights():
    """Takes a tiny classifier apart on few reviews, and two with the same weights in another order."""
    reading, _ = before_reviews(classifier(strength=0.0), 24)
    found = collapse.results(reading, controls_of(reading, models=2), sentences=24)
    findings = found.verdicts.findings
    assert len(findings) == 5
    assert any(each.predicted.contains(each.measured) for each in findings), "its own number would be shown"
    assert all(each.verdict != Verdict.SUPPORTED for each in findings)
    assert all(each.control.number is not None for each in findings)
    assert found.shown[-1] == (
        "Shown means: beyond the controls, too. These are random weights (2 models), shuffled tokens."
    )
