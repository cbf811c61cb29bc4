"""Which weights a query can reach (docs/mathematics/selecting.md, docs/mathematics/limits.md)."""

import math

import jax
import numpy as np
import scipy.special
from jaxtyping import PRNGKeyArray

from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Rival, Verdict, exact_claim
from attnlab_theory.claims.hypotheses import at_least
from attnlab_theory.claims.selecting.four_answers import weights
from attnlab_theory.claims.selecting.selection import EPS, KEYS, ROUNDING, measured_weights
from attnlab_theory.claims.setting import Setting
from attnlab_theory.construct import query_for_weights
from attnlab_theory.stats import Interval
from attnlab_theory.theory.selecting import selection as theory


class ReachableWeights(Setting):
    """Eight rows of random weights that n random keys of width d should get. `trial` is the number of the draw."""

    n: int
    d: int
    trial: int


def _furthest_weight(key: PRNGKeyArray, setting: ReachableWeights) -> Scalar:
    """The largest error of a weight, over several rows of wanted weights, each under the query made for it."""
    for_keys, for_weights = jax.random.split(jax.random.fold_in(key, setting.trial))
    keys = np.asarray(jax.random.normal(for_keys, (setting.n, setting.d)), dtype=np.float64)
    raw = np.exp(np.asarray(jax.random.normal(for_weights, (8, setting.n)), dtype=np.float64))
    errors = []
    for wanted in raw / np.sum(raw, axis=1, keepdims=True):
        query = query_for_weights(keys, wanted).query
        # In float64: two keys that are close to one another need a query that float32 would round too much.
        errors.append(np.max(np.abs(weights(query, 1.0, keys) - wanted)))
    return float(np.max(errors))


MISSED = 0.01
"""A weight that is off by more does not count as reached."""


def _misses(statement: str) -> Rival:
    return Rival(
        statement=statement,
        source="the smallest error that would matter: what one dimension too few leaves, and more",
        predict=Interval.at_least(MISSED),
    )


# For n - 1 independent differences of normal keys, queries shorter than about 64 are enough. Scores are sums of d
# products in float32, and err by (d + 2) eps times that.
def _reach_rounding(setting: ReachableWeights) -> float:
    return 2 * (setting.d + 2) * EPS * 256


EXACT_WEIGHTS = exact_claim(
    name="independent-keys-reach-any-weights",
    statement=r"$n$ affinely independent keys, $n \leq d + 1$, reach any positive weights exactly.",
    source="mathematics/selecting.md#given-weights; Barndorff-Nielsen 1978, section 9.3; Bhojanapalli et al. "
    "2020, for the width that is needed",
    hypotheses=at_least(n=2, trial=0) | {"n <= d + 1": lambda s: s.n <= s.d + 1},
    predict=Interval.point(0.0),
    draw=_furthest_weight,
    rounding=_reach_rounding,
    settings=tuple(ReachableWeights(n=n, d=d, trial=trial) for n, d in ((4, 3), (6, 16)) for trial in range(2)),
    rival=_misses("Some weights are missed by one per cent."),
)

ONE_WIDTH_LESS = exact_claim(
    name="n-keys-of-width-n-minus-2-reach-any-weights",
    statement=r"$n$ keys in $n - 2$ dimensions reach any positive weights to within 1 %.",
    source="mathematics/selecting.md#given-weights, with one dimension too few; Barndorff-Nielsen 1978, section "
    "9.3; Bhojanapalli et al. 2020, for the width that is needed",
    hypotheses=at_least(d=1, trial=0) | {"n = d + 2": lambda s: s.n == s.d + 2},
    predict=Interval.at_most(MISSED),
    draw=_furthest_weight,
    rounding=_reach_rounding,
    settings=tuple(ReachableWeights(n=n, d=n - 2, trial=trial) for n in (4, 6) for trial in range(2)),
    expect=Verdict.REFUTED,
)


class GrowingPower(Setting):
    """Wanted weights of the eight keys in the plane, proportional to (1 + i)^power."""

    power: float

    @property
    def wanted(self) -> np.ndarray:
        """The weights, adding up to one."""
        raw = (1.0 + np.arange(len(KEYS))) ** self.power
        return raw / np.sum(raw)


def _entropy(p: np.ndarray) -> float:
    # That of scipy.stats, whose import would cost every command its time.
    return float(np.sum(scipy.special.entr(p / np.sum(p))))


def _divergence(key: PRNGKeyArray, setting: GrowingPower) -> Scalar:
    del key
    keys = np.array(KEYS)
    weights = measured_weights(query_for_weights(keys, setting.wanted).query, keys)
    return float(np.sum(setting.wanted * np.log(setting.wanted / weights)))


BEST_WEIGHTS = exact_claim(
    name="least-divergence-is-the-entropy-that-is-lacking",
    statement=r"$\min_q \mathrm{KL}(p \| \mathrm{softmax}(Kq))$ is the most entropy that weights with the mean key "
    r"of $p$ can have, minus the entropy of $p$.",
    source="mathematics/selecting.md#given-weights; Barndorff-Nielsen 1978, section 9.3; Bhojanapalli et al. "
    "2020, for the width that is needed",
    hypotheses={"-4 <= power <= 4": lambda s: -4 <= s.power <= 4},
    predict=lambda s: Interval.point(theory.least_divergence(np.array(KEYS), s.wanted)),
    draw=_divergence,
    rounding=ROUNDING,
    settings=tuple(GrowingPower(power=power) for power in (-4.0, -2.0, -1.0, 1.0, 2.0, 4.0)),
    rival=Rival(
        statement=r"It is $\ln n$ minus the entropy of $p$.",
        source="the most entropy of any weights: the condition on the mean key left out",
        predict=lambda s: Interval.point(math.log(len(KEYS)) - _entropy(s.wanted)),
    ),
)


class GivenWeights(Setting):
    """The weights that the eight keys in the plane get from the query (x, y)."""

    x: float
    y: float

    @property
    def weights(self) -> np.ndarray:
        """The weights, adding up to one."""
        return scipy.special.softmax(np.array(KEYS) @ np.array([self.x, self.y]))


def _missed_weight(key: PRNGKeyArray, setting: GivenWeights) -> Scalar:
    """The largest error of a weight under the query that is made for all of them."""
    del key
    keys = np.array(KEYS)
    query = query_for_weights(keys, setting.weights).query
    return float(np.max(np.abs(measured_weights(query, keys) - setting.weights)))


GIVEN_WEIGHTS = exact_claim(
    name="weights-in-the-range-of-the-keys-are-met",
    statement=r"Weights $p$ with $\ln p$ in the range of $[K, 1]$ are met exactly, even by more than $d + 1$ "
    "keys.",
    source="mathematics/selecting.md#given-weights; Barndorff-Nielsen 1978, section 9.3; Bhojanapalli et al. "
    "2020, for the width that is needed",
    hypotheses={"-4 <= x <= 4": lambda s: -4 <= s.x <= 4, "-4 <= y <= 4": lambda s: -4 <= s.y <= 4},
    predict=Interval.point(0.0),
    draw=_missed_weight,
    rounding=ROUNDING,
    settings=(
        GivenWeights(x=0.0, y=0.0),
        GivenWeights(x=1.0, y=-2.0),
        GivenWeights(x=-3.0, y=0.5),
        GivenWeights(x=0.2, y=4.0),
    ),
    rival=_misses("More keys than $d + 1$ miss them by one per cent."),
)

CLAIMS = (EXACT_WEIGHTS, ONE_WIDTH_LESS, BEST_WEIGHTS, GIVEN_WEIGHTS)
