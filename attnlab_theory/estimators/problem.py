"""Somebody's queries and keys, made ready: scaled, checked, and few enough to look at every pair."""

import dataclasses
import math

import numpy as np
import scipy.special
from jaxtyping import Float

from attnlab_theory import refuse
from attnlab_theory.seeds import key_for

MAX_QUERIES, MAX_KEYS = 32, 512
"""From larger arrays a random sample is taken, because the prediction looks at every pair of keys of every
query."""

LARGEST_HALF_SQUARE = 700.0
"""The largest |x|^2 / 2 of a scaled vector: beyond it exp(|x|^2 / 2) overflows float64, and trigonometric features
contain that factor."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """Queries and keys multiplied by the root of the scale, in float64, and what is exactly known of them.

    Example:
        `pose` makes it. Here are one query e1, and the keys e1 and -e1. The sum e1 + e1 has the squared length 4.

        >>> problem = pose(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [-1.0, 0.0]]), scale=1.0)
        >>> print(problem.sum_squares, problem.difference_squares)
        [[4. 0.]] [[0. 4.]]

        The weights are e^1 and e^-1 over their sum. Their squares, made to sum to one, say how much each pair
        counts.

        >>> print(problem.weights.round(2), problem.shares.round(2))
        [[0.88 0.12]] [[0.98 0.02]]
        >>> round(problem.typical(problem.sum_squares), 2)
        3.93
    """

    q: Float[np.ndarray, "t d"]
    k: Float[np.ndarray, "s d"]
    scale: float
    given: tuple[int, int]
    """How many queries and keys there were before sampling."""

    @property
    def weights(self) -> Float[np.ndarray, "t s"]:
        """Exact attention over the keys that are looked at."""
        return scipy.special.softmax(self.q @ self.k.T, axis=1)

    @property
    def shares(self) -> Float[np.ndarray, "t s"]:
        """How much each pair counts in its row: the squares of the weights, made to sum to one.

        A row's mean square error of kernel estimates over its mean square kernel value is the mean relative
        variance under these shares.
        """
        squares = self.weights**2
        return squares / np.sum(squares, axis=1, keepdims=True)

    @property
    def sum_squares(self) -> Float[np.ndarray, "t s"]:
        """L = |q + k|^2 of every pair."""
        return _square_distances(self.q, -self.k)

    @property
    def difference_squares(self) -> Float[np.ndarray, "t s"]:
        """D = |q - k|^2 of every pair."""
        return _square_distances(self.q, self.k)

    def typical(self, squares: Float[np.ndarray, "t s"]) -> float:
        """The mean of these squares over rows, and in each row over its pairs, weighted by their shares."""
        return float(np.mean(np.sum(self.shares * squares, axis=1)))


def pose(
    queries: Float[np.ndarray, "t d"], keys: Float[np.ndarray, "s d"], *, scale: float | None = None, seed: int = 0
) -> Problem:
    """Check queries and keys, scale them and draw a sample of each if they are many.

    Args:
        queries, keys: one vector per row.
        scale: inverse temperature of the scores; by default 1 / sqrt(d).
        seed: another seed draws another sample.

    Raises:
        ValueError: if an array is not a matrix, not real or not finite, or widths differ. Or if the scale is not
            positive and finite, or the seed is not valid. Or if a vector is so long that its features overflow, and
            the message names its norm.

    Example:
        At scale 1/4 queries and keys are halved, so that their products are a quarter.

        >>> problem = pose(2 * np.eye(3, 2), 2 * np.eye(3, 2), scale=0.25)
        >>> print(problem.q)
        [[1. 0.]
         [0. 1.]
         [0. 0.]]
        >>> problem.given
        (3, 3)
    """
    refuse.wrong_rank(2, queries=queries, keys=keys)
    refuse.different_axes("width", queries=queries.shape[1], keys=keys.shape[1])
    refuse.not_real(queries=queries, keys=keys)
    refuse.non_finite(queries=queries, keys=keys)
    if not queries.size or not keys.size:
        raise ValueError(f"queries and keys must hold numbers, but have shapes {queries.shape} and {keys.shape}")
    chosen = 1 / math.sqrt(queries.shape[1]) if scale is None else scale
    if not 0 < chosen < math.inf:
        raise ValueError(f"scale must be positive and finite, not {chosen}")
    key_for(seed)
    rng = np.random.default_rng(seed)
    scaled: dict[str, np.ndarray] = {}
    for name, rows, most in (("queries", queries, MAX_QUERIES), ("keys", keys, MAX_KEYS)):
        rows = np.asarray(rows, np.float64)
        _refuse_long(name, rows, chosen)
        if len(rows) > most:
            rows = rows[np.sort(rng.choice(len(rows), most, replace=False))]
        scaled[name] = math.sqrt(chosen) * rows
    return Problem(q=scaled["queries"], k=scaled["keys"], scale=chosen, given=(len(queries), len(keys)))


def _refuse_long(name: str, rows: np.ndarray, scale: float) -> None:
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(rows, axis=1)
        longest = int(np.argmax(norms))
        if not scale * norms[longest] ** 2 / 2 <= LARGEST_HALF_SQUARE:
            limit = math.sqrt(2 * LARGEST_HALF_SQUARE / scale)
            raise ValueError(
                f"row {longest} of the {name} has norm {norms[longest]:.6g}: at scale {scale:.6g} random features "
                f"overflow beyond norm {limit:.6g}; scale the vectors down"
            )


def _square_distances(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    squares = np.sum(x**2, axis=1)[:, None] + np.sum(y**2, axis=1)[None] - 2 * x @ y.T
    return np.maximum(squares, 0.0)
