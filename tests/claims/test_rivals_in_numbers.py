"""What would be believed instead is predicted in the numbers of its statement.

A rival or a foil falls whatever is wrong with its number: nothing else notices that it says another thing than its
statement. Here are those whose statement is a formula in the fields of the setting.
"""

import math

import numpy as np
import pytest

from attnlab_theory.claims import CLAIMS, Claim, Setting
from attnlab_theory.claims.noisy_keys import moments
from attnlab_theory.stats import Interval
from attnlab_theory.theory.selecting.selectable_pairs import share_that_lead_themselves

SAID = {
    "a-causal-mask-favours-the-first": "(stop - start + 1) / n",
    "a-forget-gate-remembers-less-than-its-mean-says": "1 / (1 + theta)",
    "a-mean-of-keys-hides-a-needle": "k / blocks",
    "a-sink-scales-the-output": "n / (n + 1)",
    "a-walk-counts-every-turn-of-a-loop": "2 * d**2",
    "adding-u_d-or-u_c-helps": "beta * sqrt(0.4)",
    "average-share": "exp(beta / size) / (size * exp(beta / size) + n - size)",
    "best-mixture": "beta",
    "best-rank": "(n - r) / n",
    "copy-error-is-tight": "(n - 1) ** -0.5",
    "copy-strength": "log((n - 1) / leak)",
    "copy-weight": "n / (exp(beta) + n)",
    "delta-rule-recall": "(n - 1) / d",
    "dispersal": "exp(peak) / (exp(peak) + n - 1)",
    "dispersal-is-reached": "exp(peak) / (exp(peak) + n - 1)",
    "dot-product-attention-is-not-lipschitz": "size**2 * (n - 1) / n",
    "extraction-gain": "1 / sqrt(1 - cos(angle))",
    "features-are-cheaper-when-fewer-than-tokens": "size + 1",
    "furthest-in-depth": "1 - max(n - 1 - 2 * layers, 0) * max(n - 2 * layers, 0) / (n * (n - 1))",
    "generation-products": "batch * (2 * t * (t - 1) * d + 24 * t * d**2 + 2 * t * d * vocabulary)",
    "generation-with-padding-or-without-a-cache": "2 * t * (t + 1) * d + 24 * t * d**2 if capacity "
    "else 12 * t**2 * d**2 + 4 * t**3 * d // 3",
    "head-2-is-untouched": "1 / (1 + exp(beta * sqrt(0.5) * (6 if end == 'least' else -6)) + (n - 2) * exp(-beta))",
    "how-far-stacked-windows-hear": "(1 - skip) ** (distance / window)",
    "hyperbolic-error-is-half-the-positive": "(exp(L) - 1) / 2 / m",
    "interference-of-random-patterns": "(n - 1) * exp(-strength + strength**2 / (2 * d))",
    "layer-products": "{'projections': 4, 'mixing': 0, 'mlp': 8, 'layer': 12}[part] * t * d**2 "
    "+ (2 * t**2 * d if part in ('mixing', 'layer') else 0)",
    "leak-bound": "exp(-gap) / (1 + exp(-gap))",
    "least-squares-recalls-up-to-d-keys": "(n - 1) / (n - 1 + d)",
    "likeness-turns-long-before-the-slowest-pair": "pi / 2 * base ** ((d - 2) / d)",
    "mean-pooled-keys": "2 * (1 - correlation) * (1 - 1 / heads)",
    "mixer-products": "{'exact': 2 * t**2 * d, 'features': 4 * t * size * (d + 1), 'linformer': 4 * t * size * d, "
    "'causal features': 4 * t * size * (2 * d + 1), 'bigbird': 4 * t * d * (3 + 2 + 1) * size}[kind]",
    "mixer-traffic": "{'exact': 4 * t**2 + 16 * t * d, 'features': 16 * t * (size + d) + 16 * size * d}[kind]",
    "mixing-dominates-from-the-width-on": "d + 1",
    "no-values-do-without-queries": "beta / 10",
    "one-head-is-fair-on-average": "1 / (1 + exp(-(beta**2) / 4))",
    "one-head-share-in-fifths": "high - low",
    "one-head-share-variance": "min(1 / 4, beta**2 * (1 / 2 + 4 * variance) / 16)",
    "operations-of-recurrence-and-attention": "2 * t * d**2 if kind == 'recurrent' else 2 * t**2 * d",
    "other-values-need-no-queries": "sqrt(2) * beta * exp(-(beta**2))",
    "plain-attention-copies-itself": "2 * exp(-(beta**2))",
    "positive-error-is-the-second-moment": "exp(L) / m",
    "power-features": "(n - 1) / comb(d + power - 1, power)",
    "products-that-wait-for-one-another": "log2(t)",
    "projector-noise": "noise**2 * m",
    "random-heard-grows-by-the-branching-rate": "random_blocks + 1",
    "readout-costs-the-same-for-any-batch": "batch * (2 * t * (t + 1) * d + 24 * t * d**2) "
    "+ 2 * t * d * vocabulary",
    "recall-by-attention": "1 / 2 + exp(strength) / (exp(strength) + n - 1) / 2",
    "recall-by-even-weights": "1 / 2 + 1 / (2 * n)",
    "retrieval-error-below-the-copy-bound": "1 / (n - 1)",
    "route-certifies": "tolerance * n / (n - 1)",
    "route-errs-less": "tolerance / 10",
    "sinusoidal-product": "sum(cos(distance * 1e4 ** (-2 * j / (d - 2))) for j in range(d // 2)) / (d // 2)",
    "sketched-matrix": "n / r",
    "skip-connections-stop-the-collapse": "diameter",
    "skips-keep-the-middle-alive": "log(2) ** (layers - 1) / factorial(layers - 1) / n",
    "small-noise-harmless-in-the-window": "variance * beta**2 / 4",
    "spectrum-tail": "sqrt((n - rank) / n)",
    "subspaces-that-meet": "min(m, n)",
    "sum-recall": "(n - 1) / d",
    "sum-token-copies-itself": "2 / (exp(2 * beta**2) + 2)",
    "width-two-picks-any-of-n-tokens": "2 * exp(-strength * (1 - cos(2 * pi / n)))",
    "window-heard": "(2 * layers * (window // 2) + 1) / blocks",
    "window-layers": "ceil((blocks - 1) / (window - 1))",
    "xla-counts-every-turn-of-a-loop": "2 * d**2 * steps",
    "a-bf16-state-never-forgets": "(1 - 2**-halvings) ** steps",
    "a-difference-leaves-the-hull": "lam / sqrt(n)",
    "a-normed-query-finds-itself": "exp(sqrt(d)) / (exp(sqrt(d)) + n - 1)",
    "a-sink-fades-with-length": "exp(sink) / (exp(sink) + n * exp(spread**2 / 2))",
    "a-rotary-head-leads-where-it-likes": "1 - cos(1)",
    "a-threshold-makes-rescaling-rare": "sum(1 / b for b in range(2, blocks + 1))",
    "equal-writes-stop-counting": "(1 - (1 - 2**-halvings) ** steps) * 2**halvings",
    "how-far-stacked-windows-reach": "window - 1",
    "reach-is-L-times-W": "layers * window",
    "yarn-multiplies-scores-by-its-factor": "0.1 * log(factor) + 1",
    "a-sink-slows-mixing": "(1 - w) * (2**layers - 1) / n",
    "a-weak-difference-copies-exactly": "1 / wanted - exp(beta) / (wanted * exp(beta) + n - wanted)",
    "bf16-counts-to-256": "128 * (octaves - 6)",
    "entropy-of-gaussian-scores": "log(n) - spread**2 / 2",
    "evicting-a-sink": "1 / (n - 1)",
    "noise-power-of-a-difference": "((1 + lam**2) * exp(spread**2) - 2 * lam * exp(rho * spread**2)) / n",
    "participation": "min(1, exp(spread**2) / n)",
    "stick-breaking-halves-at-any-temperature": "1 / n",
    "the-strong-difference-hedges-too": "(1 - 1 / n) / 8",
    "weight-of-a-needle": "1 / (1 + n * exp(strength**2 / 2 - strength * lead))",
}
BY_NAME = {claim.name: claim for claim in CLAIMS}


def instead(claim: Claim, setting: Setting) -> Interval:
    """What the claim's rival predicts, or the claim itself if it is a foil."""
    return claim.interval(claim.rival.predict if claim.rival else claim.predict, setting)


def test_a_rival_or_a_foil_predicts_the_number_of_its_statement(subtests):
    for name, formula in SAID.items():
        with subtests.test(name):
            claim = BY_NAME[name]
            assert claim.rival is not None or claim.foil_of is not None
            for setting in claim.settings:
                named = vars(math) | setting.fields() | {"L": getattr(setting, "sum_square", None)}
                rival = instead(claim, setting)
                ends = [end for end in (rival.low, rival.high) if math.isfinite(end)]
                np.testing.assert_allclose(ends, eval(formula, named), rtol=1e-12)


def test_a_wider_window_reaches_further_in_every_layer_past_either_end():
    claim = BY_NAME["window-heard"]
    for window, layers in ((5, 1), (7, 3), (9, 8)):
        setting = claim.at(**claim.settings[0].fields() | {"window": window, "layers": layers})
        assert instead(claim, setting) == Interval.point(eval(SAID["window-heard"], vars(math) | setting.fields()))


def test_one_strength_for_sixteen_keys_is_that_of_the_logarithm_among_sixteen():
    claim = BY_NAME["scores-that-grow-like-ln-n-stay-sharp"]
    setting = claim.at(**claim.settings[0].fields() | {"n": 16})
    assert instead(claim, setting) == Interval.point(claim.predicted_at(setting).low)


def test_a_key_that_its_own_query_does_not_copy_is_copied_by_none():
    claim = BY_NAME["share-of-selectable-sets"]
    for setting in claim.settings:
        if setting.size == 1:
            assert instead(claim, setting) == Interval.point(share_that_lead_themselves(setting.n, setting.d))


def test_positive_features_whose_mean_is_forgotten_err_by_their_second_moment():
    claim = BY_NAME["feature-error"]
    for setting in claim.settings:
        if setting.estimator == "positive":
            assert instead(claim, setting).low == pytest.approx(math.exp(setting.sum_square) / setting.m)


def test_weights_of_mean_exponentials_are_a_softmax():
    setting = BY_NAME["moments-under-any-covariances"].at(n=3, d=3, beta=1.0, variance=1.0, power_a=2, power_b=1)
    means, variances = np.array([0.3, -0.2, 0.1]), np.array([0.5, 1.0, 2.0])
    powers = [math.exp(m + v / 2) for m, v in zip(means, variances, strict=True)]
    expected = powers[0] ** 2 * powers[1] / sum(powers) ** 3
    assert moments._of_mean_exponentials((means, variances), setting) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("second-moment-of-a-strong-query", "0.4824 at $\\beta = 32$"),
        ("second-moment-by-gauss-hermite", "0.4877 at 32"),
    ],
)
def test_a_number_in_a_statement_is_what_is_predicted(name, said):
    claim = BY_NAME[name]
    assert said in claim.statement
    (setting,) = (setting for setting in claim.settings if setting.beta == 32)
    assert claim.predicted_at(setting).low == pytest.approx(float(said.split()[0]), abs=5e-5)
