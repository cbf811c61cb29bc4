"""flash-attention's rule for half precision: at most twice the error of a plain path in that type.

The plain path takes products in float32, and rounds what each step gives: scores, scaled scores, weights, output.
As in flash-attention's tests the rule allows beside that twice the rounding of the output plus .3 minus .3.
The rule is told, and nobody fails for it: a tolerance is derived, and this one is a comparison.
"""

import numpy as np

from attnlab_theory.conform.case import rounded
from attnlab_theory.conform.kinds.softmax.reference import Attended, Problem


def share(given: Problem, exact: Attended, output: np.ndarray, kind: str) -> float:
    """The largest error of an output [b h t e] over what the rule allows in half precision."""
    sees = np.isfinite(exact.output) & np.isfinite(output)
    if not sees.any():
        return 0.0
    right = exact.output[sees]
    with np.errstate(all="ignore"):
        plain = np.nan_to_num(_plain(given, kind), nan=np.inf)[sees]
        moved = np.abs(_near(_near(right + 0.3, kind) - 0.3, kind) - right).max()
    allowed = 2 * np.abs(plain - right).max() + 2 * moved
    return float(np.abs(output[sees] - right).max() / allowed) if allowed > 0 else 0.0


def _near(x: np.ndarray, kind: str) -> np.ndarray:
    """The nearest numbers of a type, in float64."""
    return rounded(x.astype(np.float32 if kind == "bfloat16" else kind), kind).astype(np.float64)


def _plain(given: Problem, kind: str) -> np.ndarray:
    q, k, v = (
        np.nan_to_num(np.asarray(x, np.float64), posinf=0.0, neginf=0.0) for x in (given.q, given.k, given.v)
    )
    scores = _near(_near(np.einsum("bhtd,bhsd->bhts", q, k), kind) * given.scale, kind)
    if given.softcap is not None:
        scores = _near(given.softcap * np.tanh(scores / given.softcap), kind)
    if given.bias is not None:
        scores = _near(scores + given.bias, kind)
    scores = np.where(given.visible, scores, -np.inf)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    weights = _near(raised / raised.sum(-1, keepdims=True), kind)
    return _near(np.einsum("bhts,bhse->bhte", weights, v), kind)
