"""Advice on random features: the right estimator in each regime, and predictions that measurements meet."""

import dataclasses
import functools
import re

import numpy as np
import pytest

from attnlab_theory.estimators import Advice, advise, errors, pose
from attnlab_theory.estimators.advice import REACH, Line
from attnlab_theory.theory.features import phase

WIDTH, SCALE = 8, 0.5
GROWING_WITH_LENGTH = {"positive", "hyperbolic", "generalized exponential", "dense exponential"}
CENTRES = {"opposite": (1.6, -1.6), "alike": (1.6, 1.6), "apart": (0.0, 0.0)}
SPREADS = {"opposite": 0.3, "alike": 0.3, "apart": 0.6}


def points(regime: str, queries: int = 12, keys: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Queries and keys around two centres, so that L << D, L >> D or L ~ D, once scaled."""
    rng = np.random.default_rng(0)
    direction = np.eye(WIDTH)[2]
    of_queries, of_keys = (
        (centre * direction + SPREADS[regime] * rng.normal(size=(n, WIDTH)) / WIDTH**0.5) / SCALE**0.5
        for centre, n in zip(CENTRES[regime], (queries, keys), strict=True)
    )
    return of_queries, of_keys


@functools.cache
def advice_on(regime: str) -> Advice:
    return advise(pose(*points(regime), scale=SCALE), features=64, draws=24)


@pytest.mark.slow("the choice where one key takes all the weight stays inside")
@pytest.mark.parametrize(
    ("regime", "right"),
    [
        ("opposite", {"hyperbolic"}),
        ("alike", {"trigonometric"}),
        ("apart", {"trigonometric", *GROWING_WITH_LENGTH}),
    ],
)
def test_the_choice_is_that_of_the_phase_diagram(regime, right):
    """Compiles and measures every estimator."""
    advice = advice_on(regime)
    total, difference = (
        advice.problem.typical(squares)
        for squares in (advice.problem.sum_squares, advice.problem.difference_squares)
    )
    assert advice.chosen.estimator in right
    if regime != "apart":
        assert max(total, difference) > 10 * min(total, difference)
        assert advice.chosen.estimator == phase.winner(total, difference, d=WIDTH)
    assert f"{total:.3g}" in advice.reason


@pytest.mark.slow("one of three members stays inside", but=1)
@pytest.mark.parametrize("regime", CENTRES)
def test_independent_projections_err_as_predicted_where_errors_are_small(regime):
    """Advice measures each estimator on 24 projections of every coupling."""
    small = [line for line in advice_on(regime).lines if line.kernel < 0.2]
    assert small
    for line in small:
        found = line.measured["independent"]
        # Six standard errors, and the next term of the delta method, which is about the square of the error.
        assert abs(found.kernel - line.kernel) < 6 * found.kernel_deviation
        assert abs(found.weights - line.weights) < 6 * found.weights_deviation + 3 * line.weights**2


@pytest.mark.slow("one of three members stays inside", but=1)
@pytest.mark.parametrize("regime", CENTRES)
def test_orthogonal_projections_err_as_predicted_and_no_more_than_independent_ones(regime):
    small = [line for line in advice_on(regime).lines if line.kernel < 0.2]
    known = [(line, line.kernel_orthogonal) for line in small if line.kernel_orthogonal is not None]
    assert known
    for line, predicted in known:
        found = line.measured["orthogonal"]
        assert predicted <= line.kernel
        assert abs(found.kernel - predicted) < 6 * found.kernel_deviation


@pytest.mark.slow("orthogonal projections that err as predicted, in one regime, stay inside")
@pytest.mark.parametrize("difference", [0.0, 1e-9, 1.0, 20.0, 58.0])
def test_orthogonal_projections_are_predicted_at_every_length(difference):
    """One pair, alike or opposite: they save some of the variance, but never nearly all of it."""
    x = np.zeros((1, 16))
    x[0, 0] = difference**0.5 / 2
    for sign in (-1, 1):
        for line in advise(pose(x, sign * x, scale=1.0), features=64, draws=2).lines:
            if line.kernel_orthogonal is not None:
                assert line.kernel / 16 <= line.kernel_orthogonal <= line.kernel * (1 + 1e-6)


@pytest.mark.slow("the number of features where any number will do stays inside")
def test_the_number_of_features_it_asks_for_gives_the_wanted_error():
    """Measures the errors of every estimator on 24 draws, up to twice."""
    problem = pose(*points("apart"), scale=SCALE)
    line = advice_on("apart").chosen
    found = line.measured["independent"]
    wanted = 1.5 * found.weights
    lines = advise(problem, features=64, draws=24, error=wanted).lines
    needed = next(each for each in lines if each.estimator == line.estimator)
    # Errors fall as the root: 64 features err by a factor of 1.5 less, and so 64 / 1.5^2 are enough.
    slack = 12 * found.weights_deviation / found.weights + 2 * line.weights
    assert slack < 0.8
    assert needed.features_needed == pytest.approx(64 / 1.5**2, rel=slack)


def test_dense_features_err_no_more_than_generalized_ones_where_directions_differ():
    advice = advice_on("alike")
    by_name = {line.estimator: line for line in advice.lines}
    ordered = [by_name[name].weights for name in ("dense exponential", "generalized exponential", "positive")]
    assert ordered == sorted(ordered)


def test_many_rows_are_sampled_and_that_is_said():
    rng = np.random.default_rng(0)
    problem = pose(rng.normal(size=(50, 3)), rng.normal(size=(700, 3)))
    assert problem.given == (50, 700)
    assert (problem.q.shape, problem.k.shape) == ((32, 3), (512, 3))
    again = pose(rng.normal(size=(50, 3)), rng.normal(size=(700, 3)), seed=1)
    assert not np.array_equal(problem.k, again.k)


def test_one_key_takes_all_the_weight_whatever_the_features():
    """Advice measures each estimator on 24 projections of every coupling."""
    q, k = points("opposite", keys=1)
    advice = advise(pose(q, k, scale=SCALE), features=64, draws=24)
    assert advice.chosen.estimator == "hyperbolic"
    assert advice.chosen.weights == 0
    assert "Any number" in advice.amount


@pytest.mark.slow("one key that takes all the weight stays inside")
def test_long_vectors_give_an_answer_up_to_the_norm_that_is_refused():
    """Measures the errors of every estimator on 24 draws."""
    longest = (2 * 700 / SCALE) ** 0.5
    q, k = points("apart")
    q[3], k[7] = 0.999 * longest * np.eye(WIDTH)[:2]
    advice = advise(pose(q, k, scale=SCALE), features=64, draws=24)
    assert all(line.weights > 0 for line in advice.lines)
    k[7] *= 1.01
    with pytest.raises(ValueError, match=r"row 7 of the keys has norm 53\.3"):
        pose(q, k, scale=SCALE)


@pytest.mark.slow("one key that takes all the weight stays inside")
def test_keys_that_are_all_alike_need_no_features():
    """Compiles and measures every estimator at shapes that no other test has."""
    q = np.random.default_rng(0).standard_normal((4, 3))
    advice = advise(pose(q, np.zeros((5, 3)), scale=1.0), features=8, draws=2)
    assert advice.chosen.weights == 0
    assert advice.reason.startswith("Choose any: ")
    assert advice.amount == "Any number of features will do: the predicted error of a row is zero."


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize("name", ["queries", "keys"])
def test_complex_vectors_are_refused(name):
    given = {"queries": np.ones((1, 2)), "keys": np.ones((1, 2))} | {name: np.full((1, 2), 1 + 9j)}
    with pytest.raises(ValueError, match=f"{name} must hold real numbers, not complex128"):
        pose(**given)


def test_an_error_whose_square_is_lost_is_refused():
    q = np.ones((2, 3))
    with pytest.raises(ValueError, match="error must be at least 1e-150, not 1e-300"):
        advise(pose(q, q, scale=1.0), error=1e-300)


def test_an_odd_number_of_features_cannot_be_shared_equally():
    q = np.ones((2, 3))
    with pytest.raises(ValueError, match=r"features must be even, .* and at least 2, not 3"):
        advise(pose(q, q, scale=1.0), features=3)


@pytest.mark.slow("predictions that the measurement meets stay inside")
def test_a_prediction_that_the_measurement_refutes_is_not_built_upon():
    """Compiles and measures every estimator at shapes that no other test has."""
    rng = np.random.default_rng(0)
    queries, keys = (25 * x / np.linalg.norm(x, axis=1, keepdims=True) for x in rng.normal(size=(2, 6, WIDTH)))
    advice = advise(pose(queries, keys, scale=1.0), features=64, draws=8)
    refuted = [line for line in advice.lines if line.weights <= REACH and not line.trusted]
    assert refuted
    assert advice.chosen not in refuted or advice.by_measurement


@pytest.mark.slow("the choice where one key takes all the weight stays inside")
@pytest.mark.parametrize("seed", range(2))
def test_ordinary_vectors_of_width_64_are_for_exact_attention(seed):
    """Compiles and measures every estimator at width 64."""
    rng = np.random.default_rng(seed)
    advice = advise(pose(*rng.standard_normal((2, 64, 64))), features=64, draws=4, seed=seed)
    assert advice.exact_is_cheaper
    # Nothing that a refuted prediction says is told: the measured error asks for so many features at least.
    found = advice.chosen.measured[advice.coupling]
    assert advice.by_measurement
    assert advice.needed == np.ceil(64 * (found.weights / 0.05) ** 2)
    assert re.match(
        rf"Use exact attention: an error of 0\.05 needs at least {advice.needed:,.0f} {advice.chosen.estimator} "
        rf"features \(64 of them err by {found.weights:.3g} ± .*\), and there are 64 keys\.$",
        advice.amount,
    )
    assert advice.reason.startswith("If it has to be random features, choose ")
    measured = {line.estimator: min(found.weights for found in line.measured.values()) for line in advice.lines}
    assert measured[advice.chosen.estimator] == min(measured.values())


def measured_by(weights, *, error, keys=10**6, features=64):
    """Advice that no prediction could give, on a problem of so many keys."""
    found = errors.Measured(kernel=1.0, weights=weights, kernel_deviation=0.01, weights_deviation=0.01, failed=0.0)
    measured = dict.fromkeys(errors.COUPLINGS, found)
    line = Line(
        estimator="positive", parameter="", projections=features, kernel=1e9, kernel_orthogonal=None, weights=1e9,
        measured=measured, features_needed=1e30,
    )  # fmt: skip
    problem = dataclasses.replace(pose(np.eye(2), np.eye(2)), given=(2, keys))
    told = {"features": features, "draws": 2, "error": error, "coupling": errors.COUPLINGS[0]}
    return Advice(problem=problem, lines=(line,), chosen=line, by_measurement=True, **told)


@pytest.mark.parametrize(
    ("advice", "said", "needed"),
    [
        (measured_by(0.04, error=0.05), "64 features do: they err by 0.04, as measured.", 41),
        (measured_by(0.2, error=0.05), "needs at least 1,024 positive features: 64 of them err by 0.2", 1024),
        (measured_by(0.2, error=0.05), ". Try again with --features 1024.", 1024),
        (
            measured_by(0.2, error=0.05, keys=1000),
            "Use exact attention: an error of 0.05 needs at least 1,024",
            1024,
        ),
    ],
)
def test_where_no_prediction_is_trusted_there_is_one_answer_and_it_is_measured(advice, said, needed):
    assert not advice.chosen.trusted
    assert not advice.chosen.kernel_met
    assert said in advice.amount
    assert advice.needed == needed
    assert "1e" not in advice.amount + advice.reason
    assert ("exact" in advice.amount) == advice.exact_is_cheaper == advice.reason.startswith("If it has to be")


@pytest.mark.slow("predictions of small errors in one regime stay inside")
@pytest.mark.parametrize(("regime", "scale"), [("opposite", 1.0), ("alike", 1.0), ("apart", 1.0), ("apart", 0.6)])
def test_predictions_within_reach_are_within_a_fifth(regime, scale):
    """Measures every estimator with 256 features, 32 times."""
    q, k = points(regime)
    lines = advise(pose(scale * q, scale * k, scale=SCALE), features=256, draws=32).lines
    within = [line for line in lines if 0 < line.weights <= REACH]
    assert within
    for line in within:
        found = line.measured["independent"]
        assert line.trusted
        assert abs(found.weights / line.weights - 1) < 0.2 + 4 * found.weights_deviation / line.weights


@pytest.mark.slow("the choice where one key takes all the weight stays inside")
def test_what_is_measured_to_be_better_is_chosen(monkeypatch):
    """A prediction that is ten thousand times too low does not choose."""
    right = errors.predicted

    def wrong(estimator, problem):
        found = right(estimator, problem)
        factor = 1e-4 if estimator.name == "positive" else 1.0
        return dataclasses.replace(found, weights=factor**2 * found.weights)

    monkeypatch.setattr(errors, "predicted", wrong)
    advice = advise(pose(*points("alike"), scale=SCALE), features=64, draws=24)
    assert advice.by_measurement
    assert advice.chosen.estimator != "positive"
