"""What width a head needs for weights that are given in full (claims J.3)."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Verdict
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval, exact
from attnlab_theory.theory.limits import low_rank as theory

EPS = float(np.finfo(np.float64).eps)
MOST = 128.0
"""Bounds the scores of every setting here: logarithms of the wanted weights, and of strong queries on a circle."""


@dataclasses.dataclass(frozen=True)
class Wanted:
    """n by n random weights, e^normal with rows normalised, wanted of a head of width d; `trial` names the draw."""

    n: int
    d: int
    trial: int

    @property
    def weights(self) -> np.ndarray:
        """The weights: of a key of their own, so that prediction and measurement speak of the same ones."""
        key = jax.random.fold_in(key_for(0, "wanted weights"), self.trial)
        raw = np.exp(np.asarray(jax.random.normal(key, (self.n, self.n)), dtype=np.float64))
        return raw / np.sum(raw, axis=1, keepdims=True)


@jax.jit
def _weights(q: Float[Array, "t d"], k: Float[Array, "s d"]) -> Float[Array, "t s"]:
    return attention_weights(q, k, scale=1.0)


def _centred(matrix: np.ndarray) -> np.ndarray:
    """Every row's mean taken off: what a normaliser adds to a row of scores is gone."""
    return matrix @ (np.eye(matrix.shape[1]) - 1 / matrix.shape[1])


def _measured(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """The weights of the real operator, in float64; columns of zeros give all widths one program."""
    q, k = (np.pad(x, ((0, 0), (0, len(x) - x.shape[1]))) for x in (q, k))
    with jax.enable_x64(True):
        return np.asarray(_weights(jnp.asarray(q), jnp.asarray(k)))


def _reached(setting: Wanted) -> np.ndarray:
    """The weights of the best queries and keys of width d: the largest singular values of the wanted scores."""
    left, sizes, right = np.linalg.svd(_centred(np.log(setting.weights)))
    roots = np.sqrt(sizes[: setting.d])
    return _measured(left[:, : setting.d] * roots, right[: setting.d].T * roots)


def _furthest(key: PRNGKeyArray, setting: Wanted) -> Scalar:
    del key
    return float(np.max(np.abs(_reached(setting) - setting.weights)))


def _distance(key: PRNGKeyArray, setting: Wanted) -> Scalar:
    """Between centred log weights, reached and wanted, in Frobenius norm."""
    del key
    return float(np.linalg.norm(_centred(np.log(_reached(setting)) - np.log(setting.weights))))


def _rounding(n: int) -> float:
    # A singular value decomposition and a product of n terms, on scores of at most MOST; n rows and columns.
    return 16 * n**2 * EPS * MOST


ANY_WEIGHTS = Claim(
    name="width-n-minus-1-reaches-any-weights",
    statement=r"Queries and keys of width $n - 1$ give $n$ tokens any positive weights exactly.",
    source="claims J.3; Bhojanapalli et al. 2020",
    hypotheses={"d = n - 1": lambda s: s.d == s.n - 1},
    predict=lambda s: Interval.point(0.0),
    draw=_furthest,
    bound=lambda s: exact(_rounding(s.n)),
    resolution=lambda s: 4 * _rounding(s.n),
    settings=tuple(Wanted(n, n - 1, trial) for n in (4, 16) for trial in range(2)),
)

ONE_LESS = dataclasses.replace(
    ANY_WEIGHTS,
    name="width-n-minus-2-reaches-any-weights",
    statement=r"Queries and keys of width $n - 2$ give $n$ tokens any positive weights.",
    source="a foil: one width less; log weights of width d have rank d once their rows are centred",
    hypotheses={"d = n - 2": lambda s: s.d == s.n - 2},
    settings=tuple(Wanted(n, n - 2, trial) for n in (4, 16) for trial in range(2)),
    expect=Verdict.REFUTED,
)

LEAST_ERROR = Claim(
    name="least-error-of-a-narrow-head",
    statement=r"The best head of width $d$ misses the row-centred $\log P$ by the root of the sum of its squared "
    r"singular values beyond the $d$-th.",
    source="claims J.3; Eckart and Young 1936",
    hypotheses={"d < n": lambda s: s.d < s.n},
    predict=lambda s: Interval.point(theory.least_error(s.weights, s.d)),
    draw=_distance,
    bound=lambda s: exact(_rounding(s.n)),
    resolution=lambda s: 4 * _rounding(s.n),
    settings=tuple(Wanted(16, d, 0) for d in range(1, 16, 2)),
)


@dataclasses.dataclass(frozen=True)
class Head:
    """A random head of width d over n tokens, scores of deviation sqrt(d)."""

    n: int
    d: int


def _beyond_width(key: PRNGKeyArray, setting: Head) -> Scalar:
    """The (d + 1)-th singular value of the centred log weights of a real head."""
    whole = np.asarray(jax.random.normal(key, (2, setting.n, setting.n)), np.float64)
    q, k = whole[:, :, : setting.d]
    sizes = np.linalg.svd(_centred(np.log(_measured(q, k))), compute_uv=False)
    return float(sizes[setting.d])


RANK = Claim(
    name="log-weights-have-the-rank-of-the-width",
    statement=r"The row-centred log weights of any head of width $d$ have rank $d$ at most.",
    source="claims J.3",
    hypotheses={"d < n": lambda s: s.d < s.n},
    predict=lambda s: Interval.point(0.0),
    draw=_beyond_width,
    bound=lambda s: exact(_rounding(s.n)),
    resolution=lambda s: 4 * _rounding(s.n),
    settings=tuple(Head(16, d) for d in (1, 4, 8, 14)),
)


@dataclasses.dataclass(frozen=True)
class Circle:
    """n keys spread over a circle, each its own query, times `strength`."""

    n: int
    strength: float


def _leak(key: PRNGKeyArray, setting: Circle) -> Scalar:
    del key
    angles = 2 * np.pi * np.arange(setting.n) / setting.n
    keys = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return float(1 - np.min(np.diagonal(_measured(setting.strength * keys, keys))))


CIRCLES = (Circle(16, 64.0), Circle(16, 128.0))

SHARP = Claim(
    name="width-two-picks-any-of-n-tokens",
    statement=r"On a circle, a head of width two lets each of $n$ tokens pick itself: sharp weights need no width, "
    r"exact ones do.",
    source="claims J.3 beside B.3: every corner of a polygon can be selected",
    hypotheses={"strength > 0": lambda s: s.strength > 0},
    predict=lambda s: Interval.point(theory.circle_leak(s.n, s.strength)),
    draw=_leak,
    bound=lambda s: exact(_rounding(s.n)),
    resolution=lambda s: 4 * _rounding(s.n),
    settings=CIRCLES,
)

NEEDS_WIDTH = dataclasses.replace(
    SHARP,
    name="picking-one-of-n-tokens-needs-width-n-minus-1",
    statement=r"A head narrower than $n - 1$ leaves a tenth of the weight off the token it is to pick.",
    source="a foil: the low-rank bottleneck, read as a limit on sharpness",
    predict=lambda s: Interval.at_least(0.1),
    expect=Verdict.REFUTED,
)

CLAIMS = (ANY_WEIGHTS, ONE_LESS, LEAST_ERROR, RANK, SHARP, NEEDS_WIDTH)
