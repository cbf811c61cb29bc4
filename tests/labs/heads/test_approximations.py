"""Which approximation would a head survive: errors, what theory predicts, and verdicts on synthetic heads."""

import dataclasses
import functools

import jax
import numpy as np
import pytest

from attnlab_theory.claims import Verdict
from attnlab_theory.labs.heads import approximating, claims, families, losses, survival
from attnlab_theory.labs.heads.traces import Tokens, Trace, softmax
from attnlab_theory.language.models.approximations import Coupling, FeatureMap, Linformer, RandomFeatures, Window
from attnlab_theory.theory.features import pair
from attnlab_theory.theory.features.estimator import Estimator
from attnlab_theory.theory.features.rows import delta_method, output_error
from tests.labs.heads.classifiers import before_reviews, classifier
from tests.labs.heads.synthetic import beyond_controls

T, D = 12, 4


def trace(rng, strength, *, offset=0.0, near=False):
    """Two heads of one layer with scores of random directions; or, if `near`, that fall with distance, squared."""
    q, k = rng.normal(size=(2, 1, 2, T, D))
    q, k = (strength * D**0.5 * x / np.linalg.norm(x, axis=3, keepdims=True) for x in (q, k))
    v = rng.normal(size=(1, 2, T, D)) + 1.0
    if near:
        place = np.arange(T)[:, None] / 2
        ones = np.ones((1, 2, 1, 1))
        q, k = 4 * ones * np.hstack([2 * place, -(place**0)]), ones * np.hstack([place, place**2])
    return Trace(tokens=Tokens(ids=np.arange(T), special=np.zeros(T, bool)), q=q, k=k + offset, v=v, causal=False)


class Given:
    """Sentences of heads that are all of one kind."""

    layers, heads = 1, 2

    def __init__(self, n=60, **how):
        self._made = [trace(np.random.default_rng(number), **how) for number in range(n)]
        self.tokens = [each.tokens for each in self._made]

    def traces(self, numbers):
        return (self._made[number] for number in numbers)

    def name_of(self, token):
        return str(token)


KINDS = (FeatureMap.TRIGONOMETRIC, FeatureMap.POSITIVE, FeatureMap.GENERALIZED)
TRIED = [
    *(RandomFeatures(budget=budget, kind=kind) for kind in KINDS for budget in losses.FEATURES),
    Window(budget=9),
    Linformer(budget=9),
]


@functools.cache
def measured(**how):
    return approximating.measured(Given(**how), sentences=40, tried=TRIED)


def judged(**how):
    found = families.estimated(approximating.numbers_of(measured(**how)))
    return found, families.verdicts(beyond_controls(found)).findings


def said(judged, name, budget):
    return [f.verdict for f in judged.of("the-head-survives", approximation=name, budget=budget)]


@pytest.mark.slow("errors of a window over all keys, and over one, stay inside")
def test_heads_of_faint_scores_survive_random_features_and_no_window():
    """Weights are nearly even: any features know them, and a window loses what is far away."""
    _, found = judged(strength=0.2)
    for kind in KINDS:
        assert said(found, f"{kind} features, independent", 256) == [Verdict.SUPPORTED] * 2
    assert said(found, "sliding window", 9) == [Verdict.REFUTED] * 2


@pytest.mark.slow("errors of random features, at once and in turn, stay inside")
def test_heads_of_strong_scores_survive_no_random_features():
    """Measures every approximation in `TRIED` on each of many sentences."""
    _, found = judged(strength=3.0)
    for kind in KINDS:
        assert said(found, f"{kind} features, independent", 256) == [Verdict.REFUTED] * 2


@pytest.mark.slow("errors of a window over all keys, and over one, stay inside")
def test_heads_that_look_around_survive_a_window_and_no_random_features():
    """Measures every approximation in `TRIED` on each of many sentences."""
    _, found = judged(strength=0.0, near=True)
    assert said(found, "sliding window", 9) == [Verdict.SUPPORTED] * 2
    assert said(found, "positive features, independent", 256) == [Verdict.REFUTED] * 2
    assert said(found, "Linformer, pooled", 9) == [Verdict.REFUTED] * 2


@pytest.mark.slow("features for a tenth, interpolated or unknown, stay inside")
def test_theory_knows_the_features_but_for_those_of_rare_large_products():
    """Rare projections make the variance of positive features: what is drawn errs less than the delta method."""
    estimates, found = judged(strength=0.7)
    for kind, right in (
        (FeatureMap.TRIGONOMETRIC, True),
        (FeatureMap.GENERALIZED, True),
        (FeatureMap.POSITIVE, False),
    ):
        verdicts = [f.verdict for f in found.of("theory-predicts-the-features", kind=str(kind))]
        assert len(verdicts) == 2
        assert (Verdict.REFUTED in verdicts) != right
        ratios = [e.value for e in estimates.of("features measured over predicted", kind=str(kind))]
        assert np.all(np.abs(np.log(ratios)) < np.log(1.5)) == right


@pytest.mark.slow("features for a tenth, interpolated or unknown, stay inside")
def test_a_prediction_of_four_times_the_features_is_refuted():
    found = measured(strength=0.7)
    wrong = families.estimated(approximating.numbers_of(dataclasses.replace(found, predicted=4 * found.predicted)))
    verdicts = [f.verdict for f in families.verdicts(wrong).findings.of("theory-predicts-the-features")]
    assert verdicts == [Verdict.REFUTED] * 6


@pytest.mark.slow("that a gauge changes no exact weight and no mask stays inside")
def test_the_gauge_undoes_what_no_weight_depends_on():
    """Keys moved by one vector, and lengths that are shared out unequally."""
    plain, moved = (list(Given(strength=0.5, **how).traces(range(20))) for how in ({}, {"offset": 5.0}))
    gauges = [losses.gauge_of(each) for each in (plain, moved)]
    tried = [RandomFeatures(budget=64, kind=FeatureMap.POSITIVE)]
    key = jax.random.key(0)
    errors = [
        losses.squared_errors(traces[3], tried, gauge, key)
        for traces, gauge in zip((plain, moved), gauges, strict=True)
    ]
    np.testing.assert_allclose(errors[0], errors[1], rtol=1e-3)
    np.testing.assert_allclose(gauges[1].centre - gauges[0].centre, 5.0)
    written = [gauges[1].of(each.q, each.k) for each in moved]
    lengths = np.mean([[np.sum(x**2, axis=(2, 3)) for x in both] for both in written], axis=0)
    np.testing.assert_allclose(lengths[0], lengths[1])


def test_generalised_features_suit_the_sums_of_queries_and_keys_that_matter():
    """The best parameter at the mean of |q + k|^2, by squared weights over keys, in the balanced gauge."""
    traces = list(Given(strength=1.5, n=3).traces(range(3)))
    gauge = losses.gauge_of(traces)
    for head in (0, 1):
        found = []
        for each in traces:
            q, k = (part[0, head] for part in gauge.of(each.q, each.k))
            squares = softmax(each.scores()[0, head]) ** 2
            shares = squares / np.sum(squares, axis=1, keepdims=True)
            found.append(np.mean(np.sum(shares * np.sum((q[:, None] + k[None]) ** 2, axis=2), axis=1)))
        assert gauge.a[0, head] == pytest.approx(pair.best_parameter(float(np.mean(found)), D))


def test_errors_are_relative_and_at_most_one():
    """Compiles a window and a Linformer."""
    each = trace(np.random.default_rng(0), 0.5)
    gauge = losses.gauge_of([each])
    tried = [Window(budget=2 * T + 1), Linformer(budget=T), Window(budget=1)]
    errors = losses.squared_errors(each, tried, gauge, jax.random.key(0))
    weights = softmax(each.scores())
    exact = np.matmul(weights, each.v)
    alone = np.minimum(np.sum((each.v - exact) ** 2, axis=3) / np.sum(exact**2, axis=3), 1)
    np.testing.assert_allclose(errors[:2], 0, atol=1e-9)
    np.testing.assert_allclose(errors[2], np.mean(alone, axis=2), rtol=1e-4)


def test_the_error_of_an_output_is_the_sum_of_those_of_its_coordinates():
    rng = np.random.default_rng(0)
    q, k, v = rng.normal(size=4) / 2, rng.normal(size=(6, 4)) / 2, rng.normal(size=(6, 3))
    covariances = pair.covariances(Estimator.POSITIVE, q, k)
    weights = softmax(k @ q)
    wanted = sum(delta_method(Estimator.POSITIVE, q, k, v[:, at], m=1)[1] for at in range(3))
    assert output_error(covariances, weights, v) == pytest.approx(wanted)
    assert output_error(np.full((6, 6), np.inf), weights, v) == np.inf


def test_features_for_a_tenth_are_interpolated_or_unknown():
    errors = np.array([0.08, 0.02, 0.005, 0.00125])[:, None, None]
    np.testing.assert_allclose(10 ** losses.features_reached(errors), 128.0)
    assert np.isnan(losses.features_reached(np.full((4, 1, 1), 0.5))).all()
    np.testing.assert_allclose(10 ** losses.features_reached(np.full((4, 1, 1), 1e-4)), 16)
    # One row that takes 50 features for an error of 1 takes 5,000 for a tenth.
    np.testing.assert_allclose(10 ** losses.features_needed(np.array([[[50.0]]])), 5000)
    assert np.isnan(losses.features_needed(np.array([[[np.inf]]]))).all()


def test_more_features_than_a_thousand_have_independent_projections():
    usual, more = (set(losses.approximations(causal=False, most_features=most)) for most in (1024, 20_000))
    assert usual == set(losses.approximations(causal=False)) < more
    assert {(each.budget, each.coupling) for each in more - usual} == {
        (4096, Coupling.INDEPENDENT),
        (16384, Coupling.INDEPENDENT),
    }
    with pytest.raises(ValueError, match="at least 1024 features are tried, not at most 1000"):
        losses.approximations(causal=False, most_features=1000)


@pytest.mark.slow("features for a tenth, interpolated or unknown, stay inside")
def test_features_beyond_a_thousand_are_found_and_held_against_theory():
    """Heads that take more than 1,024 features for a tenth, and fewer than 4,096."""
    few = [RandomFeatures(budget=budget, kind=FeatureMap.TRIGONOMETRIC) for budget in losses.FEATURES]
    more = [*few, RandomFeatures(budget=4096, kind=FeatureMap.TRIGONOMETRIC)]
    for tried, known in ((few, 0), (more, 2)):
        errors = approximating.measured(Given(strength=0.9), sentences=40, tried=tried)
        found = families.estimated(approximating.numbers_of(errors))
        reached = [each.value for each in found if each.quantity == "features for a tenth"]
        assert len(reached) == known
        assert all(1024 < value < 4096 for value in reached)
        assert len([e for e in found if e.quantity == "features measured over predicted"]) == known


def test_heads_that_take_turns_lose_what_they_lose_at_once(monkeypatch):
    """Compiles random features for all heads at once and for heads in turn."""
    each = trace(np.random.default_rng(0), 0.5)
    gauge, tried = losses.gauge_of([each]), [RandomFeatures(budget=64, kind=FeatureMap.POSITIVE)]
    at_once = losses.squared_errors(each, tried, gauge, jax.random.key(0))
    monkeypatch.setattr(losses, "TOGETHER", 64)
    jax.clear_caches()
    np.testing.assert_allclose(losses.squared_errors(each, tried, gauge, jax.random.key(0)), at_once, rtol=1e-5)


def test_the_least_rank_is_that_of_the_outputs_and_no_sketch_does_with_less():
    rng = np.random.default_rng(0)
    each = trace(rng, 0.5)
    low = Trace(
        tokens=each.tokens, q=each.q, k=each.k, v=rng.normal(size=(1, 2, T, 1)) @ np.ones((1, D)), causal=False
    )
    np.testing.assert_array_equal(losses.ranks(low).least, 1)
    found = losses.ranks(each)
    outputs = np.matmul(softmax(each.scores()), each.v)[0, 0]
    values = np.linalg.svd(outputs, compute_uv=False)
    rank = int(found.least[0, 0])
    tails = [np.sqrt(np.sum(values[r:] ** 2) / np.sum(values**2)) for r in (rank - 1, rank)]
    assert tails[0] > claims.TOLERATED >= tails[1]
    assert np.all(found.drawn > found.least)


@pytest.mark.slow("one head of many features, which loses nothing, stays inside")
def test_a_classifier_with_all_heads_replaced_is_compared_on_the_same_sentences():
    """Compiles the classifier anew for each approximation, and reads 120 reviews by each."""
    reading, labels = before_reviews(classifier(), 120)
    gauge = losses.gauge_of(list(reading.traces(range(20))))
    tried = [
        Window(budget=65),
        RandomFeatures(budget=2, kind=FeatureMap.TRIGONOMETRIC, coupling=Coupling.ORTHOGONAL),
    ]
    found = families.estimated(survival.accuracies_of(reading, labels, tried, gauge))
    gains = found.of("accuracy gained")
    assert gains[0].value == 0
    (p,) = found.of("mcnemar p", approximation="sliding window")
    assert (p.value, p.setting["only_first"], p.setting["only_second"]) == (1.0, 0, 0)
    changed = found.of("mcnemar p", budget=2)[0].setting
    assert changed["only_first"] + changed["only_second"] > 0
    assert len(families.verdicts(found).findings) == 2


def test_a_text_of_few_sentences_is_refused():
    with pytest.raises(ValueError, match="12 sentences have two tokens or more, and 15 are needed"):
        approximating.measured(Given(n=12, strength=1.0), sentences=40)
