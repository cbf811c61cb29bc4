"""Which estimator to choose for a problem, why, and how many features it needs."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from attnlab_theory.estimators import errors
from attnlab_theory.estimators.catalogue import FittedFeatures, estimators_for
from attnlab_theory.estimators.errors import COUPLINGS, Measured
from attnlab_theory.estimators.problem import Problem
from attnlab_theory.sampling import Coupling
from attnlab_theory.seeds import key_for
from attnlab_theory.theory.features.estimator import Estimator

LEAST_ERROR = 1e-150

REACH = 0.1
"""The delta method is for small errors of the weights. Predictions up to this size are within a fifth of the
measured error, unless one key has all the weight and the normaliser is noise. Larger predictions may be wrong by
any factor.
"""

APART = 0.25
"""A prediction is not trusted if it differs from the measurement by more than this share, noise aside."""

SURE = 3.0
"""A measurement decides if the error is smaller by this many standard errors. Else the prediction decides."""

REASONS = {
    Estimator.TRIGONOMETRIC: "the error of trigonometric features grows as cosh D - 1, that of all others with L",
    Estimator.POSITIVE: "the error of positive features is exp(L) - 1, with one feature per projection",
    Estimator.HYPERBOLIC: "for short L hyperbolic features have the least error that grows with L, cosh L - 1",
    Estimator.GENERALIZED: "for long L generalized exponential features have the least error that grows with L",
    Estimator.DENSE: "for long L dense exponential features, fitted to these queries and keys, have the least "
    "error that grows with L",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Line:
    """One estimator at the wanted number of features: relative root mean square errors of a row."""

    estimator: Estimator
    parameter: str
    projections: int
    kernel: float
    """The prediction for independent projections, which is exact."""
    kernel_orthogonal: float | None
    """The prediction for orthogonal projections, if it is known."""
    weights: float
    """The prediction for independent projections by the delta method. It can be trusted up to `REACH`."""
    measured: dict[Coupling, Measured]
    """The measured errors, by coupling."""
    features_needed: float
    """The predicted number of features for the wanted error of the weights: errors fall as the root of the number.
    """

    @property
    def trusted(self) -> bool:
        """Whether the prediction of the weights' error is in the range of the delta method, and was not refuted."""
        found = self.measured[Coupling.INDEPENDENT]
        return self.weights <= REACH and _agree(self.weights, found.weights, found.weights_deviation)

    @property
    def kernel_met(self) -> bool:
        """Whether the draws met the predicted error of the kernel. Rare projections, if they make it up, do not."""
        found = self.measured[Coupling.INDEPENDENT]
        return _agree(self.kernel, found.kernel, found.kernel_deviation)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Advice:
    """The predicted and measured errors of all estimators on a problem, and which estimator to choose."""

    problem: Problem
    features: int
    draws: int
    error: float
    lines: tuple[Line, ...]
    chosen: Line
    coupling: Coupling
    by_measurement: bool
    """Whether the least measured error decided, because the predictions cannot be trusted."""

    @property
    def needed(self) -> float:
        """How many features of the chosen estimator give the wanted error.

        Where no prediction is trusted, it is what the measured error asks for. That is no more than a lower bound,
        because errors that rare projections make up fall more slowly than as the root.
        """
        if not self.by_measurement:
            return self.chosen.features_needed
        with np.errstate(over="ignore"):
            return float(np.ceil(self.features * np.square(self._found.weights / self.error)))

    @property
    def exact_is_cheaper(self) -> bool:
        """Whether no fewer features are needed than there are keys: exact attention costs no more, without an
        error."""
        return self.needed > 0 and not self.needed < self.problem.given[1]

    @property
    def _found(self) -> Measured:
        return self.chosen.measured[self.coupling]

    @property
    def reason(self) -> str:
        """Why this estimator was chosen, in one sentence."""
        features = f"{self.chosen.estimator} features with {self.coupling} projections"
        choose = (
            f"If it has to be random features, choose {features}" if self.exact_is_cheaper else f"Choose {features}"
        )
        total = self.problem.typical(self.problem.sum_squares)
        difference = self.problem.typical(self.problem.difference_squares)
        if self.chosen.weights == 0:
            lengths = f"L = |q + k|^2 = {total:.3g} and D = |q - k|^2 = {difference:.3g}"
            return f"Choose any: no estimator makes an error in a row with {lengths}."
        if self.by_measurement:
            return (
                f"{choose}: they have the least measured error. Predictions say nothing here, as most of the error "
                "comes from rare projections."
            )
        relation = "far below" if 4 * total < difference else "far above" if total > 4 * difference else "close to"
        return (
            f"{choose}: where the attention is, "
            f"L = |q + k|^2 is {total:.3g} and {relation} D = |q - k|^2 = {difference:.3g}, and "
            f"{REASONS[self.chosen.estimator]}."
        )

    @property
    def amount(self) -> str:
        """How many features the chosen estimator needs, and whether exact attention is the better choice."""
        needed, keys = self.needed, self.problem.given[1]
        if needed == 0:
            return "Any number of features will do: the predicted error of a row is zero."
        about = "at least" if self.by_measurement else "about"
        count = (
            f"an error of {self.error:g} needs {about} {needed:,.0f} {self.chosen.estimator} features"
            if math.isfinite(needed)
            else f"no number of features gives an error of {self.error:g}"
        )
        found = f"{self.features:,} of them err by {self._found.weights:.3g} ± {self._found.weights_deviation:.2g}"
        if self.exact_is_cheaper:
            measured = f" ({found})" if self.by_measurement else ""
            return f"Use exact attention: {count}{measured}, and there are {keys:,} keys."
        if self.by_measurement:
            if needed <= self.features:
                return f"{self.features:,} features do: they err by {self._found.weights:.3g}, as measured."
            return f"{count[0].upper()}{count[1:]}: {found}. Try again with --features {_even(needed):.0f}."
        if self.error > REACH:
            count += f", roughly: predictions can be trusted up to an error of {REACH:g}"
        return f"{count[0].upper()}{count[1:]} (independent projections; errors fall as the root of the number)."


def advise(
    problem: Problem,
    *,
    features: int = 256,
    error: float = 0.05,
    draws: int = 16,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, planned: None,
) -> Advice:
    """Predict and measure the error of every estimator at one number of features, and choose one.

    The estimator with the least predicted error of the weights is chosen, for a prediction does not depend on luck.
    The least measured error decides instead if the prediction is not trusted, or if other features are measured to
    be better by more than `SURE` standard errors. With a single key all weights are 1, and the error of the kernel
    values decides. The coupling is the best one measured.

    Args:
        problem: from `pose`.
        features: how many features each query and key gets, an even number. Estimators that make two features of
            each projection get half as many projections.
        error: the wanted error of a row of weights, relative to the row's Euclidean norm.
        draws: how many projections are measured for each estimator and coupling.
        seed: another seed draws other projections.
        progress: is called with the numbers of estimators that are done and planned.

    Raises:
        ValueError: if features are odd or fewer than two, draws are fewer than two, or the error is not finite
            or below 1e-150.

    Example:
        Three queries and three keys: e1, e2 and 0. Each of five estimators is judged with six features.

        >>> from attnlab_theory.estimators.problem import pose
        >>> advice = advise(pose(np.eye(3, 2), np.eye(3, 2), scale=1.0), features=6, draws=2)
        >>> len(advice.lines), advice.chosen in advice.lines
        (5, True)

        Three keys are fewer than any number of features that would do, so exact attention is cheaper.

        >>> advice.exact_is_cheaper
        True
        >>> advice.amount
        'Use exact attention: an error of 0.05 needs ... features..., and there are 3 keys.'
    """
    if not features >= 2 or features % 2:
        raise ValueError(
            f"features must be even, because trigonometric ones come in pairs, and at least 2, not {features}"
        )
    if not 0 < error < math.inf:
        raise ValueError(f"error must be positive and finite, not {error}")
    if not error >= LEAST_ERROR:
        raise ValueError(
            f"error must be at least {LEAST_ERROR:g}, not {error}: the number of features needed grows as "
            "1 / error^2 and would overflow float64"
        )
    if not draws >= 2:
        raise ValueError(f"draws must be at least 2, for a standard error, not {draws}")
    key = key_for(seed, "estimators")
    # float64, whatever jax is set to: float32 overflows at a tenth of the exponent.
    with jax.enable_x64(True):
        width = problem.q.shape[1]
        projections = {
            coupling: errors.projections_of(key, coupling=coupling, draws=draws, m=features, d=width)
            for coupling in COUPLINGS
        }
        lines, estimators = [], estimators_for(problem)
        for done, estimator in enumerate(estimators):
            progress(done, len(estimators))
            m = features // estimator.features_per_projection
            measured = {
                # The first rows of a projection are a projection too, under every coupling.
                coupling: errors.measured(estimator, problem, [rows[:m] for rows in drawn])
                for coupling, drawn in projections.items()
            }
            lines.append(_line(estimator, problem, measured, m, error))
    predicted = min(lines, key=lambda line: (line.weights, line.kernel))
    measured = min(lines, key=lambda line: _least(line).weights)
    # Predictions are for independent projections, so they are compared with measurements of those.
    rivals = (line.measured[Coupling.INDEPENDENT] for line in (measured, predicted))
    by_measurement = predicted.weights > 0 and (not predicted.trusted or _is_better(*rivals))
    chosen = measured if by_measurement else predicted
    coupling = min(COUPLINGS, key=lambda name: (chosen.measured[name].weights, chosen.measured[name].kernel))
    return Advice(
        problem=problem,
        features=features,
        draws=draws,
        error=error,
        lines=tuple(lines),
        chosen=chosen,
        coupling=coupling,
        by_measurement=by_measurement,
    )


def _agree(predicted: float, measured: float, deviation: float) -> bool:
    """Whether a measurement bears a prediction out."""
    return abs(measured - predicted) <= APART * predicted + 4 * deviation


def _even(needed: float) -> float:
    return 2 * math.ceil(needed / 2)


def _least(line: Line) -> Measured:
    """The least errors, over the couplings."""
    return min((line.measured[name] for name in COUPLINGS), key=lambda found: (found.weights, found.kernel))


def _is_better(first: Measured, second: Measured) -> bool:
    noise = math.hypot(first.weights_deviation, second.weights_deviation)
    return first.weights < second.weights - SURE * noise


def _line(
    estimator: FittedFeatures, problem: Problem, measured: dict[Coupling, Measured], m: int, error: float
) -> Line:
    predicted = errors.predicted(estimator, problem)
    orthogonal = errors.orthogonal_kernel(estimator, problem, m)
    needed = estimator.features_per_projection * predicted.weights / error / error
    return Line(
        estimator=estimator.name,
        parameter=estimator.parameter,
        projections=m,
        kernel=math.sqrt(predicted.kernel / m),
        kernel_orthogonal=None if orthogonal is None else math.sqrt(orthogonal),
        weights=math.sqrt(predicted.weights / m),
        measured=measured,
        features_needed=float(np.ceil(needed)),
    )


def as_json(advice: Advice) -> dict[str, Any]:
    """Everything as plain values; infinity is null.

    Args:
        advice: from `advise`.

    Example:
        The advice as plain values, as a file has them.

        >>> from attnlab_theory.estimators.problem import pose
        >>> advice = advise(pose(np.eye(3, 2), np.eye(3, 2), scale=1.0), features=6, draws=2)
        >>> as_json(advice)["given"]
        {'queries': 3, 'keys': 3, 'width': 2}
        >>> as_json(advice)["choice"]["exact_attention"]
        True
    """

    def plain(x: float) -> float | None:
        return float(x) if math.isfinite(x) else None

    problem = advice.problem
    looked_at = {"queries": len(problem.q), "keys": len(problem.k), "pairs": len(problem.q) * len(problem.k)}
    return {
        "given": {"queries": problem.given[0], "keys": problem.given[1], "width": problem.q.shape[1]},
        "looked_at": looked_at,
        "scale": problem.scale,
        "features": advice.features,
        "draws": advice.draws,
        "sum_square": _spread(problem, problem.sum_squares),
        "difference_square": _spread(problem, problem.difference_squares),
        "estimators": [
            {
                "estimator": line.estimator,
                "parameter": line.parameter,
                "projections": line.projections,
                "kernel_predicted": plain(line.kernel),
                "kernel_predicted_orthogonal": line.kernel_orthogonal,
                "weights_predicted": plain(line.weights),
                "trusted": line.trusted,
                "kernel_met": line.kernel_met,
                "measured": {
                    coupling: {
                        "kernel": plain(found.kernel),
                        "kernel_deviation": plain(found.kernel_deviation),
                        "weights": plain(found.weights),
                        "weights_deviation": plain(found.weights_deviation),
                        "normalisers_not_positive": found.failed,
                    }
                    for coupling, found in line.measured.items()
                },
                "features_needed": plain(line.features_needed),
            }
            for line in advice.lines
        ],
        "error": advice.error,
        "choice": {
            "exact_attention": advice.exact_is_cheaper,
            "by_measurement": advice.by_measurement,
            "estimator": advice.chosen.estimator,
            "coupling": advice.coupling,
            "features_needed": plain(advice.needed),
            "reason": advice.reason,
            "amount": advice.amount,
        },
    }


def _spread(problem: Problem, squares: np.ndarray) -> dict[str, float]:
    low, middle, high = np.quantile(squares, [0.25, 0.5, 0.75])
    return {
        "where_attention_is": problem.typical(squares),
        "lower_quartile": float(low),
        "median": float(middle),
        "upper_quartile": float(high),
    }
