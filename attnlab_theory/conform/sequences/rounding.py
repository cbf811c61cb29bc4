r"""How far two answers of one target may be apart, where both are right.

There is no reference. A target is compared with itself: a prefix with the whole, a step with the pass over all
tokens. Each answer is computed in another order, so each has roundings of its own.

Numbers to numbers (mixer, decode). Suppose that a target works in at most S = 8 stages, and that each sums at most
n = tokens + width terms, in any order, a padded Fourier transform included. With u, half of the type's eps, the
roundings of a stage are at most n u of the largest number in it (Higham, Accuracy and Stability, sections 3.1 and
24.1). Such an error either stands in the output, or acts as a change of the stage's input by n u of its size. How
the output answers to such changes is measured. The whole input is changed by a relative h of random signs, where h
is the root of u, of float32 at least. kappa is the largest move of the output over h. Together one answer errs by
S n u (kappa + max |f|), and two answers are apart by at most

    2 S n u (kappa + max |f|).

Both maxima are over all tokens of the louder call. So a Fourier transform that spreads the rounding of a loud
future over the past keeps it, and one that wraps around does not. kappa is measured only if the answers are
further apart than the bound without it. It can be measured in one place alone: a function that jumps there, such as
a sort or a hash, may be accused.

A target may compute in float32 though it is handed float64. Then u is that of float32: see `precision`.

Token ids to logits (model). Ids cannot be changed a little. Here the rule is a calibration, and says so. Two logits
are apart by at most 1e-4 (s + |logit|) in float32, where s is the standard deviation of the logits, and 1 at most.
With s = 1 it gave no false alarm on 41 decoders of transformers 5.23 (token by token, in chunks, padded at either
end, eager against fused), whose weights were random. In a narrower type it grows with u. In float64 it stays, for
models compute softmax and angles in float32 whatever their weights are.

Small random weights make a model that hardly looks back, in which nothing can be seen. So it is measured by how
many tolerances the last logits move when the token before is another. Below ten nothing that holds is said to hold.
"""

import numpy as np

from attnlab_theory.conform.precision import Answers, Arrays, changed

HALF_EPS = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""u, by the name of a type."""

STAGES = 8
"""S, so many sums after each other."""

CALIBRATED = 1e-4
"""Two float32 logits are apart by at most so much of their spread and size."""


def peak(*arrays: np.ndarray) -> float:
    """The largest finite absolute value; 0 of nothing."""
    found = [float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for x in arrays]
    return max(found, default=0.0)


def apart(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The distance, entry by entry: infinite where one is no number and the other is, 0 where both are the same."""
    with np.errstate(invalid="ignore"):
        found = np.abs(one - other)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    return np.where(same, 0.0, np.nan_to_num(found, nan=np.inf))


def sensitivity(answers: Answers, given: Arrays, kind: str) -> float:
    """kappa: the largest move of the output per relative change of the input; infinite if the call fails."""
    h = max(HALF_EPS[kind], HALF_EPS["float32"]) ** 0.5
    one, other = answers(given), answers(changed(given, h))
    if one is None or other is None or one.shape != other.shape:
        return float("inf")
    return float(apart(one, other).max(initial=0.0)) / h


def bound(answers: Answers, given: Arrays, kind: str, terms: int, error: float, *outputs: np.ndarray) -> float:
    """How far two answers may be apart.

    Args:
        answers: the target.
        given: the louder inputs.
        kind: their type.
        terms: n, the tokens and the width.
        error: how far they are apart. Within the bound without kappa nothing is measured.
        outputs: both answers, and whatever else was as loud.
    """
    size = peak(*outputs)
    quick = 2 * STAGES * terms * HALF_EPS[kind] * size
    if error <= quick or not np.isfinite(error):
        return quick
    kappa = sensitivity(answers, given, kind)
    return 2 * STAGES * terms * HALF_EPS[kind] * (kappa + size)


def of_logits(kind: str, logits: np.ndarray, spread: float) -> np.ndarray:
    """How far two logits may be apart, entry by entry.

    Args:
        kind: the type of the logits.
        logits: those of one of the two.
        spread: the standard deviation of all logits of the model.
    """
    wider = max(HALF_EPS.get(kind, HALF_EPS["float32"]), HALF_EPS["float32"])
    return CALIBRATED * (wider / HALF_EPS["float32"]) * (min(spread, 1.0) + np.abs(np.nan_to_num(logits)))
