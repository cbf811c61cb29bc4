"""Numbers of every head against their definitions, summed up one by one."""

import dataclasses
import functools
from types import SimpleNamespace

import numpy as np
import pytest

from attnlab_theory.labs.heads.calibration import Calibration, Predictions, of_heads
from attnlab_theory.labs.heads.fitting import AWAY, BASELINES, PLACES, Baselines, Fit, Moments
from attnlab_theory.labs.heads.gambling import gamble
from attnlab_theory.labs.heads.normality import Normality
from attnlab_theory.labs.heads.own_means import OwnMeans, chances
from attnlab_theory.labs.heads.plan import Plan
from attnlab_theory.labs.heads.stretch import Stretch, contrasts
from attnlab_theory.labs.heads.traces import Tokens, Trace, softmax

GROUPS, TYPES, D, QUERIES = 10, 3, 2, 5


def fit_of(rng):
    """Two heads of one layer: means, covariances and queries without any order."""
    roots = rng.normal(size=(1, 2, TYPES, D, D))
    plan = Plan(types=np.arange(TYPES), counts=np.full(TYPES, 100), fitting=(), judging=(), groups=GROUPS)
    return Fit(
        plan=plan,
        means=rng.normal(size=(1, 2, TYPES, D)),
        covariances=roots @ np.swapaxes(roots, 3, 4) + np.eye(D),
        weights=np.ones((1, 2, TYPES)),
        baselines=Baselines(*(np.ones((1, 2, n)) for n in (TYPES, PLACES, 2 * AWAY + 1))),
        queries=rng.normal(size=(1, 2, QUERIES, D)) * np.array([1.0, 3.0]),
        varies=np.ones((1, 2), bool),
    )


@functools.cache
def judged():
    """A fit, the keys [group, type] -> [head n d] that judge it, and what the lab makes of them."""
    rng = np.random.default_rng(0)
    fit = fit_of(rng)
    parts, keys = (Stretch(fit, GROUPS), OwnMeans(fit, GROUPS)), {}
    for group in range(GROUPS):
        moments = Moments(1, 2, TYPES, D)
        for kind in range(TYPES):
            own = fit.means[0, :, kind, None] + 0.3 + rng.normal(size=(2, int(rng.integers(2, 5)), D))
            keys[group, kind] = own
            moments.add((own - fit.means[0, :, kind, None])[None], np.full(own.shape[1], kind))
        for part in parts:
            part.add(group, moments)
    found = {name: values for part in parts for name, values in part.replicates()._asdict().items()}
    return fit, keys, SimpleNamespace(**found)


def of_groups(head, left_out):
    """The keys of each type by group: [kind][group]."""
    _, keys, _ = judged()
    return [[keys[g, kind][head] for g in range(GROUPS) if g != left_out] for kind in range(TYPES)]


def covariance_of(head, kind, left_out):
    """Around the mean over all groups, also where one is left out: to first order that changes nothing."""
    around = np.mean(np.concatenate(of_groups(head, None)[kind]), axis=0)
    keys = np.concatenate(of_groups(head, left_out)[kind]) - around
    return keys.T @ keys / len(keys)


def by_pairs(groups, origin, of_pair):
    """The mean of `of_pair` over pairs of keys of different groups, as seen from the origin."""
    found = [
        of_pair(k - origin, other - origin)
        for g, own in enumerate(groups)
        for h, others in enumerate(groups)
        if g != h
        for k in own
        for other in others
    ]
    return np.mean(found)


@pytest.mark.slow("two of six members stay inside", but=2)
@pytest.mark.parametrize("head", [0, 1])
@pytest.mark.parametrize("left_out", [None, 0, 4])
def test_the_share_is_the_slope_times_what_squared_mean_scores_are_of_the_variance(head, left_out):
    fit, _, found = judged()
    row = 0 if left_out is None else 1 + left_out
    queries, origin = fit.queries[0, head], np.mean(fit.means[0, head], axis=0)
    shares, distances = [], []
    for kind, groups in enumerate(of_groups(head, left_out)):
        covariance = covariance_of(head, kind, left_out)
        v = np.mean([q @ covariance @ q for q in queries])
        x = [by_pairs(groups, origin, lambda k, other, q=q: (q @ k) * (q @ other)) for q in queries]
        shares.append(np.mean(x) / v)
        distances.append(by_pairs(groups, origin, lambda k, other: k @ other))
    share = found.slope[row, 0, head] * np.mean(shares)
    assert found.share[row, 0, head] == pytest.approx(share)
    assert found.distance[row, 0, head] == pytest.approx(np.mean(distances))


@pytest.mark.parametrize("head", [0, 1])
def test_the_slope_is_a_ratio_of_contrasts_with_pairs_of_different_groups(head):
    """F(y) / F(x), with the weights of the fitting half; x is free of the mean's own noise."""
    fit, _, found = judged()
    queries, origin = fit.queries[0, head], np.mean(fit.means[0, head], axis=0)
    c = contrasts(fit)[0, head]
    y, x = np.zeros((2, TYPES, QUERIES))
    for kind, groups in enumerate(of_groups(head, None)):
        covariance = covariance_of(head, kind, None)
        y[kind] = [q @ covariance @ q for q in queries]
        x[kind] = [by_pairs(groups, origin, lambda k, other, q=q: (q @ k) * (q @ other)) for q in queries]
    v = np.mean(y, axis=1)
    contrast = []
    for each in (y, x):
        relative = each / v[:, None]
        others = (np.sum(relative, axis=0) - relative) / (TYPES - 1)
        contrast.append(np.sum(v[:, None] * c * (relative - others)))
    assert found.slope[0, 0, head] == pytest.approx(contrast[0] / contrast[1])


@pytest.mark.parametrize("head", [0, 1])
def test_the_excess_is_of_variances_relative_to_those_of_the_other_types(head):
    """All three types are of similar count. The metric is the mean covariance of the others, scaled by scores."""
    fit, _, found = judged()
    queries, means = fit.queries[0, head], fit.away[0, head]
    scaled = [c / np.mean([q @ c @ q for q in queries]) for c in fit.covariances[0, head]]
    excess = []
    for kind in range(TYPES):
        others = [of for of in range(TYPES) if of != kind]
        pooled = np.mean([scaled[of] for of in others], axis=0)
        z = np.linalg.solve(pooled, means.T).T
        covariance = covariance_of(head, kind, None)
        r = [along @ covariance @ along / (along @ pooled @ along) for along in z]
        excess.append((r[kind] - np.mean([r[of] for of in others])) / np.mean(r))
    assert found.excess[0, 0, head] == pytest.approx(np.mean(excess))


@pytest.mark.parametrize("head", [0, 1])
@pytest.mark.parametrize("left_out", [None, 4])
def test_the_plain_number_is_what_a_fitted_regression_on_the_own_component_explains(head, left_out):
    fit, _, found = judged()
    queries, row = fit.queries[0, head], 0 if left_out is None else 1 + left_out
    explained = []
    for kind, mean in enumerate(fit.away[0, head]):
        fitted, covariance = fit.covariances[0, head, kind], covariance_of(head, kind, left_out)
        slopes = [q @ fitted @ mean / (mean @ fitted @ mean) for q in queries]
        left = [(q - b * mean) @ covariance @ (q - b * mean) for q, b in zip(queries, slopes, strict=True)]
        explained.append(1 - np.mean(left) / np.mean([q @ covariance @ q for q in queries]))
    assert found.plain[row, 0, head] == pytest.approx(np.mean(explained))


def test_what_lies_along_own_means_is_not_known_of_a_head_whose_keys_do_not_vary():
    rng = np.random.default_rng(5)
    fit = fit_of(rng)
    still = np.array([1.0, 0.0]).reshape(1, 2, 1, 1, 1)
    fit = dataclasses.replace(fit, covariances=fit.covariances * still, varies=np.array([[True, False]]))
    part = OwnMeans(fit, GROUPS)
    for group in range(GROUPS):
        moments = Moments(1, 2, TYPES, D)
        moments.add(rng.normal(size=(1, 2, 12, D)) * still[..., 0], np.repeat(np.arange(TYPES), 4))
        part.add(group, moments)
    for each in (*part.replicates(), chances(part.relative())[None]):
        assert np.all(np.isfinite(each[:, 0, 0]))
        assert np.all(np.isnan(each[:, 0, 1]))


def test_explained_shares_and_the_ratio_of_variances_are_what_they_are_called():
    rng, groups = np.random.default_rng(1), 10
    weight, mean, noiseless, variance = rng.random((4, 30, 1, 2))
    baselines = rng.random((30, len(BASELINES), 1, 2))
    group = np.arange(30) % groups
    rows = Predictions(group, group, np.ones(30, bool), mean, variance, weight, baselines, noiseless, weight)
    found = of_heads(rows, groups)
    for left_out in (None, 3):
        kept, row = group != (-1 if left_out is None else left_out), 0 if left_out is None else 1 + left_out
        own = weight[kept]
        spread = np.mean((own - np.mean(own, axis=0)) ** 2, axis=0)
        missed = np.mean((own - mean[kept]) ** 2, axis=0)
        np.testing.assert_allclose(found.explained[row], 1 - missed / spread)
        known = [(found.by_baseline[:, at], baselines[:, at]) for at in range(len(BASELINES))]
        for values, instead in (*known, (found.without_noise, noiseless)):
            np.testing.assert_allclose(values[row], 1 - np.mean((own - instead[kept]) ** 2, axis=0) / spread)
        np.testing.assert_array_equal(found.of_best_baseline[row], np.max(found.by_baseline[row], axis=0))
        np.testing.assert_allclose(found.variance_ratio[row], missed / np.mean(variance[kept], axis=0))


def test_without_noise_the_mean_scores_take_the_place_of_the_random_ones():
    """The weights that are handed in say which query asked, and for which keys."""
    rng = np.random.default_rng(4)
    fit = fit_of(rng)
    calibration = Calibration(fit, fit.plan)
    q, k = rng.normal(size=(2, 1, 2, 4, D))
    trace = Trace(tokens=Tokens(ids=np.array([0, 9, 1, 2]), special=np.zeros(4, bool)), q=q, k=k, v=k, causal=False)
    places = np.broadcast_to(np.arange(16.0).reshape(4, 4), (1, 2, 4, 4))
    calibration.add(trace, trace.scores(), places, 0)
    found = calibration.predictions()
    rows, columns = np.divmod(found.weight[:, 0, 0].astype(int), 4)
    assert len(columns) >= 2
    for head in (0, 1):
        scores = k[0, head] @ q[0, head, rows[0]]
        scores[columns] = fit.means[0, head, [{0: 0, 2: 1, 3: 2}[at] for at in columns]] @ q[0, head, rows[0]]
        np.testing.assert_allclose(found.noiseless[:, 0, head], softmax(scores)[columns])
    assert np.all(np.abs(found.noiseless / found.mean - 1) > 1e-3)


def test_a_squared_mean_of_splits_is_a_mean_of_products_of_different_sentences():
    """Ten sentences are few: the square of their mean would be another number."""
    rng = np.random.default_rng(2)
    sentence = np.repeat(np.arange(10), rng.integers(1, 4, 10))
    split = rng.random(len(sentence))
    found = gamble(split, sentence, sentence, np.zeros_like(sentence), 10)
    for left_out in (None, 3):
        kept = np.flatnonzero(sentence != (-1 if left_out is None else left_out))
        products = [split[i] * split[j] for i in kept for j in kept if sentence[i] != sentence[j]]
        squared = np.mean(products)
        index = (np.mean(split[kept] ** 2) - squared) / (np.mean(split[kept]) - squared)
        assert found[0 if left_out is None else 1 + left_out] == pytest.approx(index)


def test_the_measured_distance_from_normal_moves_as_far_as_mcdiarmid_says():
    """With each type once in each of n sentences, one of them moves the mean distance by 1/n."""
    rng, sentences, error_rate = np.random.default_rng(3), 400, 0.05
    fit = fit_of(rng)
    normality = Normality(fit)
    for _ in range(sentences):
        normality.add(rng.normal(size=(1, 2, TYPES, D)), np.arange(TYPES))
    found = normality.bands(error_rate)
    # Two heads share the error rate, and either side of an interval has half of it.
    radius = np.sqrt(np.log(2 * 2 / error_rate) / 2 / sentences)
    np.testing.assert_allclose(found.high, np.minimum(found.values + radius, 1))
    np.testing.assert_allclose(found.low, np.maximum(found.values - radius - 0.889 / np.sqrt(sentences), 0))
    assert np.all(found.high < 1)
    assert np.all(found.low > 0)
