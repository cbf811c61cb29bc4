"""Which width a head needs to give all wanted attention weights (docs/mathematics/limits.md)."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
import scipy.special
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval
from attnlab_theory.theory.limits import low_rank as theory

EPS = float(np.finfo(np.float64).eps)
MOST = 128.0
"""No score here is larger: neither a logarithm of a wanted weight nor a score of a strong query on a circle."""


class WantedWeights(Setting):
    """n by n random weights that a head of width d should give: e^normal, with rows normalized. `trial` is the
    number of the draw."""

    n: int
    d: int
    trial: int

    @property
    def weights(self) -> np.ndarray:
        """The wanted weights. `trial` alone decides them, so that prediction and measurement use the same ones."""
        key = jax.random.fold_in(key_for(0, "wanted weights"), self.trial)
        raw = np.exp(np.asarray(jax.random.normal(key, (self.n, self.n)), dtype=np.float64))
        return raw / np.sum(raw, axis=1, keepdims=True)


@jax.jit
def _weights(q: Float[Array, "t d"], k: Float[Array, "s d"]) -> Float[Array, "t s"]:
    return attention_weights(q, k, scale=1.0)


def _centred(matrix: np.ndarray) -> np.ndarray:
    """Every row minus its mean. This removes what the normalizer adds to a row of scores."""
    return matrix @ (np.eye(matrix.shape[1]) - 1 / matrix.shape[1])


def _measured(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """The weights of the real operator, in float64. Columns of zeros are added, so that all widths share one
    program."""
    q, k = (np.pad(x, ((0, 0), (0, len(x) - x.shape[1]))) for x in (q, k))
    with jax.enable_x64(True):
        return np.asarray(_weights(jnp.asarray(q), jnp.asarray(k)))


def _reached(setting: WantedWeights) -> np.ndarray:
    """The weights of the best queries and keys of width d, which the largest singular values of the wanted scores
    give."""
    left, sizes, right = np.linalg.svd(_centred(np.log(setting.weights)))
    roots = np.sqrt(sizes[: setting.d])
    return _measured(left[:, : setting.d] * roots, right[: setting.d].T * roots)


def _furthest(key: PRNGKeyArray, setting: WantedWeights) -> Scalar:
    del key
    return float(np.max(np.abs(_reached(setting) - setting.weights)))


TURNS = 300
"""Steps of least squares: many more than are needed for the gaps between the singular values here."""


def _turns_are_enough(setting: WantedWeights) -> bool:
    """Whether alternating least squares tells the d-th singular direction from the next.

    A turn shrinks what is left of the next one by the square of their ratio. The distance errs by the square of
    what is left.
    """
    sizes = np.linalg.svd(_centred(np.log(setting.weights)), compute_uv=False)
    return bool((sizes[setting.d] / sizes[setting.d - 1]) ** (2 * TURNS) <= 1e-8)


def _distance(key: PRNGKeyArray, setting: WantedWeights) -> Scalar:
    """The Frobenius distance between the centred log weights that are reached and those that are wanted.

    Alternating least squares starts at random keys: it finds the best queries for these keys, then the best keys
    for these queries, and so on.
    """
    wanted = _centred(np.log(setting.weights))
    keys = np.asarray(jax.random.normal(key, (setting.n, setting.d)), np.float64)
    for _ in range(TURNS):
        # Only the span of the fixed factor counts. With an orthonormal basis of it, least squares is a matrix
        # product.
        queries = np.linalg.qr(wanted @ np.linalg.qr(_centred(keys.T).T)[0])[0]
        keys = wanted.T @ queries
    reached = _measured(wanted @ np.linalg.pinv(keys.T), keys)
    return float(np.linalg.norm(_centred(np.log(reached)) - wanted))


def _from_the_singular_values(setting: WantedWeights) -> float:
    """The largest error of a weight under the head that the largest singular values give."""
    left, sizes, right = np.linalg.svd(_centred(np.log(setting.weights)))
    scores = (left[:, : setting.d] * sizes[: setting.d]) @ right[: setting.d]
    return float(np.max(np.abs(scipy.special.softmax(scores, axis=1) - setting.weights)))


STARTS = 3


def _nearest_found(key: PRNGKeyArray, setting: WantedWeights) -> Scalar:
    """The least, over the heads that a search finds, of the largest error of a weight."""
    left, sizes, right = np.linalg.svd(_centred(np.log(setting.weights)))
    roots = np.sqrt(sizes[: setting.d])
    start = np.stack([left[:, : setting.d] * roots, right[: setting.d].T * roots])
    steps = np.asarray(jax.random.normal(key, (STARTS, *start.shape)), np.float64)
    found = (_downhill(setting.weights, start + 0.3 * i * step) for i, step in enumerate(steps))
    return min(float(np.max(np.abs(_measured(q, k) - setting.weights))) for q, k in found)


def _downhill(weights: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Queries and keys near `start` whose largest error is least, by sequential quadratic programming."""
    n, d = start.shape[1:]

    def errors(free: np.ndarray) -> np.ndarray:
        q, k = free[:-1].reshape(2, n, d)
        return (scipy.special.softmax(q @ k.T, axis=1) - weights).ravel()

    def slopes(free: np.ndarray) -> np.ndarray:
        q, k = free[:-1].reshape(2, n, d)
        p = scipy.special.softmax(q @ k.T, axis=1)
        of_score = p[:, :, None] * (np.eye(n)[None] - p[:, None, :])
        by_queries = np.einsum("ijk,ia,kl->ijal", of_score, np.eye(n), k)
        by_keys = np.einsum("ijk,il->ijkl", of_score, q)
        return np.concatenate([by_queries.reshape(n * n, -1), by_keys.reshape(n * n, -1)], axis=1)

    def slack(free: np.ndarray) -> np.ndarray:
        return np.concatenate([free[-1] - errors(free), free[-1] + errors(free)])

    def slopes_of_slack(free: np.ndarray) -> np.ndarray:
        ones = np.ones((n * n, 1))
        return np.block([[-slopes(free), ones], [slopes(free), ones]])

    free = np.append(start.ravel(), 0.0)
    free[-1] = np.max(np.abs(errors(free)))
    last = np.append(np.zeros(free.size - 1), 1.0)
    found = scipy.optimize.minimize(
        lambda free: free[-1],
        free,
        jac=lambda free: last,
        constraints={"type": "ineq", "fun": slack, "jac": slopes_of_slack},
        method="SLSQP",
        options={"maxiter": 60, "ftol": 1e-9},
    )
    return found.x[:-1].reshape(2, n, d)


def _rounding(n: int) -> float:
    # The rounding of a singular value decomposition and of sums of n products, for n by n scores of at most MOST.
    return 16 * n**2 * EPS * MOST


TRIED = at_least(d=1, trial=0)

ANY_WEIGHTS = exact_claim(
    name="width-n-minus-1-reaches-any-weights",
    statement=r"Queries and keys of width $n - 1$ give $n$ tokens any positive weights exactly.",
    source="mathematics/limits.md#which-weights-a-narrow-head-can-have; Bhojanapalli et al. 2020, theorem 1",
    hypotheses=TRIED | {"d = n - 1": lambda s: s.d == s.n - 1},
    predict=Interval.point(0.0),
    draw=_furthest,
    rounding=lambda s: _rounding(s.n),
    settings=tuple(WantedWeights(n=n, d=n - 1, trial=trial) for n in (4, 16) for trial in range(2)),
    rival=Rival(
        statement="Some weight is off by a thousandth at least.",
        source="the smallest error that would matter; a head of width n - 2 errs by more",
        predict=Interval.at_least(1e-3),
    ),
)

ONE_LESS = foil(
    ANY_WEIGHTS,
    name="width-n-minus-2-reaches-any-weights",
    statement=r"Queries and keys of width $n - 2$ give $n$ tokens any positive weights.",
    source="mathematics/limits.md#which-weights-a-narrow-head-can-have, one width less",
    hypotheses=TRIED | {"d = n - 2": lambda s: s.d == s.n - 2},
    settings=tuple(WantedWeights(n=n, d=n - 2, trial=trial) for n in (4, 16) for trial in range(2)),
)

NARROW = exact_claim(
    name="no-narrow-head-comes-near",
    statement="A search finds no head of width $n - 2$ whose largest error of a weight is below the $e$ with "
    r"$\sum_{ij}\ln^2(1 - e/P_{ij}) = \sigma^2$. Here $\sigma$ is the $(n - 1)$-th singular value of the "
    r"row-centred $\log P$.",
    source="mathematics/limits.md#which-weights-a-narrow-head-can-have; Eckart and Young 1936",
    hypotheses=TRIED | {"d = n - 2": lambda s: s.d == s.n - 2},
    predict=lambda s: Interval.at_least(theory.error_at_least(s.weights, s.d)),
    draw=_nearest_found,
    rounding=lambda s: _rounding(s.n),
    settings=tuple(WantedWeights(n=n, d=n - 2, trial=trial) for n in (3, 4) for trial in range(3)),
    rival=Rival(
        statement="None comes nearer than the head of the largest singular values.",
        source="Eckart and Young 1936, whose best matrix is best for log weights in Frobenius norm",
        predict=lambda s: Interval.at_least(_from_the_singular_values(s)),
    ),
)

LEAST_ERROR = exact_claim(
    name="least-error-of-a-narrow-head",
    statement=r"The best head of width $d$ misses the row-centred $\log P$ by the root of the sum of its "
    "squared singular values beyond the $d$-th. Alternating least squares from random keys finds "
    "that head.",
    source="mathematics/limits.md#which-weights-a-narrow-head-can-have; Eckart and Young 1936",
    hypotheses=TRIED | {"d < n": lambda s: s.d < s.n, f"{TURNS} turns are enough": _turns_are_enough},
    predict=lambda s: Interval.point(theory.least_error(s.weights, s.d)),
    draw=_distance,
    rounding=lambda s: _rounding(s.n),
    settings=tuple(WantedWeights(n=16, d=d, trial=0) for d in range(1, 15, 2)),
    rival=Rival[WantedWeights](
        statement=r"It misses by the singular values beyond the $(d + 1)$-th.",
        source="the normalizers' direction counted as one more dimension of the head",
        predict=lambda s: Interval.point(theory.least_error(s.weights, s.d + 1)),
    ),
)


class RandomHead(Setting):
    """A random head of width d over n tokens, scores of deviation sqrt(d)."""

    n: int
    d: int


def _beyond_width(key: PRNGKeyArray, setting: RandomHead) -> Scalar:
    """The (d + 1)-th singular value of the centred log weights of a real head."""
    whole = np.asarray(jax.random.normal(key, (2, setting.n, setting.n)), np.float64)
    q, k = whole[:, :, : setting.d]
    sizes = np.linalg.svd(_centred(np.log(_measured(q, k))), compute_uv=False)
    return float(sizes[setting.d])


RANK = exact_claim(
    name="log-weights-have-the-rank-of-the-width",
    statement=r"The row-centred log weights of any head of width $d$ have rank $d$ at most.",
    source="mathematics/limits.md#which-weights-a-narrow-head-can-have; Bhojanapalli et al. 2020, theorem 1",
    hypotheses=at_least(d=1) | {"d < n": lambda s: s.d < s.n},
    predict=Interval.point(0.0),
    draw=_beyond_width,
    rounding=lambda s: _rounding(s.n),
    settings=tuple(RandomHead(n=16, d=d) for d in (1, 4, 8, 14)),
    rival=Rival(
        statement="A further singular value is a thousandth at least.",
        source="the smallest that would matter; without centring there is one",
        predict=Interval.at_least(1e-3),
    ),
)


class KeysOnCircle(Setting):
    """n keys spread over a circle. Each query is its own key times `strength`."""

    n: int
    strength: float


def _leak(key: PRNGKeyArray, setting: KeysOnCircle) -> Scalar:
    del key
    angles = 2 * np.pi * np.arange(setting.n) / setting.n
    keys = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return float(1 - np.min(np.diagonal(_measured(setting.strength * keys, keys))))


SHARP = exact_claim(
    name="width-two-picks-any-of-n-tokens",
    statement=r"On a circle, a head of width two lets each of $n$ tokens pick itself: sharp weights need no width, "
    r"exact ones do.",
    source="mathematics/limits.md#sharp-weights-need-no-width",
    hypotheses=at_least(n=2) | more_than(strength=0) | at_most(strength=MOST),
    predict=lambda s: Interval.point(theory.circle_leak(s.n, s.strength)),
    draw=_leak,
    rounding=lambda s: _rounding(s.n),
    settings=tuple(KeysOnCircle(n=16, strength=strength) for strength in (64.0, 128.0)),
    rival=Rival[KeysOnCircle](
        statement=r"The two neighbours take $2e^{-\Delta}$.",
        source="the first order: the normalizer's change left out",
        predict=lambda s: Interval.point(2 * math.exp(-s.strength * (1 - math.cos(2 * math.pi / s.n)))),
    ),
)

NEEDS_WIDTH = foil(
    SHARP,
    name="picking-one-of-n-tokens-needs-width-n-minus-1",
    statement=r"A head narrower than $n - 1$ leaves at least a tenth of the weight off the token it is to pick.",
    source="mathematics/limits.md#sharp-weights-need-no-width, the low-rank bottleneck read as a limit on "
    "sharpness; Bhojanapalli et al. 2020, who state the bottleneck",
    predict=Interval.at_least(0.1),
)

CLAIMS = (ANY_WEIGHTS, ONE_LESS, NARROW, LEAST_ERROR, RANK, SHARP, NEEDS_WIDTH)
