"""Matrices K, Q, V for a wanted routing (docs/mathematics/routing.md)."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from attnlab_theory.attention import attention, attention_weights
from attnlab_theory.claims.claim import Claim, Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting
from attnlab_theory.construct.routing import Routing, route
from attnlab_theory.sampling import orthonormal
from attnlab_theory.stats import Interval, exact
from attnlab_theory.theory.routing import key_query_value as theory

WIDTH = 4
"""n inputs are n + WIDTH wide."""

MISSED_ROUNDING = 64 * 64 * float(np.finfo(np.float64).eps)
"""The rounding of an output's distance from the wanted one: sums of fewer than 64 products of numbers below 64, in
float64."""

ROUNDING = 1e-8
"""The rounding of what `route` returns. It aims 2^-30 below the tolerance. The enumeration of active sets allows
1e-9, and frames in float64 add 1e-13."""


class RandomRouting(Setting):
    """n Gaussian inputs, a random routing that leaves one row free, Gaussian outputs in three dimensions."""

    n: int
    tolerance: float


class CorrelatedCycle(Setting):
    """n unit inputs with equal inner products, routed in a cycle."""

    n: int
    correlation: float


class HomeworkTokens(Setting):
    """The homework's three tokens, routed 1 to 3 and 2 to 1, the third row free; every u has norm beta."""

    beta: float


class RoutedWeight(Setting):
    """One attention weight for n orthonormal inputs that each attend to the next. Outputs are orthonormal and met
    within `tolerance`."""

    n: int
    row: int
    column: int
    tolerance: float


@dataclasses.dataclass(frozen=True, eq=False)
class Asked:
    """A wanted routing: inputs, which of them each row should attend to (None if the row is free), and the wanted
    outputs of all other rows."""

    inputs: Float[np.ndarray, "t d"]
    routes: list[int | None]
    wanted: Float[np.ndarray, "t v"]

    @property
    def routed(self) -> list[tuple[int, int]]:
        """The rows that are not free, each with the input that it should attend to."""
        return [(i, goal) for i, goal in enumerate(self.routes) if goal is not None]


def certificate(asked: Asked, found: Routing) -> float:
    """The largest error that attention's own weights allow. The margins that `route` reports are not used.

    The leak is the weight on unwanted inputs, if every one of them weighed as much as the heaviest. The certificate
    is the leak times the largest distance of a value from the wanted one, plus the error of the wanted value
    itself.
    """
    with jax.enable_x64(True):
        q, k = (jnp.asarray(asked.inputs @ matrix.T) for matrix in (found.q, found.k))
        weights = np.asarray(attention_weights(q, k, scale=1.0))
    values = asked.inputs @ found.v.T
    leak = furthest = off = 0.0
    for i, goal in asked.routed:
        others = (len(weights) - 1) * np.max(np.delete(weights[i], goal), initial=0.0)
        leak = max(leak, others / (weights[i, goal] + others))
        furthest = max(furthest, np.max(np.linalg.norm(values - values[goal], axis=1)))
        off = max(off, np.linalg.norm(values[goal] - asked.wanted[i]))
    return float(leak * furthest + off)


def missed(asked: Asked, found: Routing) -> float:
    """The largest distance between an output of attention with K, Q and V and the wanted output, in float64."""
    with jax.enable_x64(True):
        q, k, v = (jnp.asarray(asked.inputs @ matrix.T) for matrix in (found.q, found.k, found.v))
        outputs = np.asarray(attention(q, k, v, scale=1.0))
    return max(float(np.linalg.norm(outputs[i] - asked.wanted[i])) for i, _ in asked.routed)


def _routed(key: PRNGKeyArray, setting: RandomRouting) -> tuple[Asked, Routing]:
    x, y, goals = jax.random.split(key, 3)
    n = setting.n
    inputs = np.asarray(jax.random.normal(x, (n, n + WIDTH)), dtype=np.float64)
    values = np.asarray(jax.random.normal(y, (n, 3)), dtype=np.float64)
    routes = [int(goal) for goal in jax.random.randint(goals, (n,), 0, n)]
    asked = Asked(inputs, [*routes[:-1], None], values[routes])
    return asked, route(asked.inputs, asked.routes, asked.wanted, tolerance=setting.tolerance)


def _share_of_certificate(key: PRNGKeyArray, setting: RandomRouting) -> float:
    asked, found = _routed(key, setting)
    return missed(asked, found) / found.certified


def _frame(key: PRNGKeyArray, n: int, d: int) -> Float[np.ndarray, "n d"]:
    """An orthonormal frame in float64: what `route` computes is compared to eight digits."""
    with jax.enable_x64(True):
        return np.asarray(orthonormal(key, n, d))


def tokens(key: PRNGKeyArray, beta: float) -> Asked:
    """The homework's three tokens, every u of norm beta, and the outputs that it wants: u_b - u_c, u_b, and
    anything."""
    u_a, u_b, u_c, u_d = beta * _frame(key, 4, 8)
    inputs = np.stack([u_d + u_b, u_a, u_c + u_b])
    return Asked(inputs, [2, 0, None], np.stack([u_b - u_c, u_b, np.full_like(u_b, np.nan)]))


def _gram(setting: CorrelatedCycle) -> np.ndarray:
    return setting.correlation + (1 - setting.correlation) * np.eye(setting.n)


def _cycle(n: int) -> list[int]:
    return [(i + 1) % n for i in range(n)]


def _norm_per_margin(x: Float[np.ndarray, "t d"], routes: list[int | None]) -> float:
    """||W|| over the margin, for outputs that are the first unit vectors."""
    goals = [0 if goal is None else goal for goal in routes]
    found = route(x, routes, np.eye(len(x))[goals], tolerance=1e-3)
    return float(np.linalg.norm(found.w)) / found.margin


def _correlated_norm(key: PRNGKeyArray, setting: CorrelatedCycle) -> float:
    frame = _frame(key, setting.n, setting.n + WIDTH)
    return _norm_per_margin(np.linalg.cholesky(_gram(setting)) @ frame, [*_cycle(setting.n)])


@functools.cache
def _least(setting: CorrelatedCycle) -> float:
    return theory.least_routing_norm(_gram(setting), _cycle(setting.n), 1.0)


def _least_for_tokens(setting: HomeworkTokens) -> float:
    x = setting.beta * theory.tokens(theory.Middle.A)
    return theory.least_routing_norm(x @ x.T, [2, 0, None], 1.0)


def _token_norm(key: PRNGKeyArray, setting: HomeworkTokens) -> float:
    asked = tokens(key, setting.beta)
    return _norm_per_margin(asked.inputs, asked.routes)


def _cell(key: PRNGKeyArray, setting: RoutedWeight) -> float:
    inputs, outputs = jax.random.split(key)
    x = _frame(inputs, setting.n, setting.n + WIDTH)
    y = _frame(outputs, setting.n, setting.n)
    found = route(x, [*_cycle(setting.n)], y, tolerance=setting.tolerance)
    return float(found.weights[setting.row - 1, setting.column - 1])


def _cell_of_leak(setting: RoutedWeight, leak: float) -> float:
    # For orthonormal inputs all unwanted scores are equal.
    return 1 - leak if setting.column - 1 == _cycle(setting.n)[setting.row - 1] else leak / (setting.n - 1)


def _scores_one_or_zero(setting: CorrelatedCycle) -> float:
    """||W|| whose scores are 1 where they are wanted and 0 elsewhere."""
    inverse = np.linalg.inv(np.linalg.cholesky(_gram(setting)))
    return float(np.linalg.norm(inverse @ np.eye(setting.n)[_cycle(setting.n)] @ inverse.T))


TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8)


def _a_tenth(setting: RandomRouting) -> Interval:
    return Interval.at_most(0.1 * setting.tolerance)


CLOSE = at_least(tolerance=1e-8) | at_most(tolerance=0.2)

CERTIFIED = Claim(
    name="route-certifies",
    statement="`route` uses up its tolerance. Suppose that every unwanted key weighed as much as the heaviest of "
    "them. Then the weight on unwanted keys, times the largest distance of a value from the wanted one, would be "
    "the tolerance.",
    source="mathematics/routing.md#any-routing-by-linear-algebra; Lawson and Hanson 1974, chapter 23; "
    "practical4/2e.2",
    hypotheses=at_least(n=2) | CLOSE,
    predict=lambda s: Interval.point(s.tolerance),
    draw=lambda key, s: certificate(*_routed(key, s)),
    bound=lambda s: exact(ROUNDING * s.tolerance + MISSED_ROUNDING),
    resolution=lambda s: 0.01 * s.tolerance,
    settings=tuple(RandomRouting(n=n, tolerance=tolerance) for n in (4, 8) for tolerance in TOLERANCES),
    rival=Rival(
        statement="They certify $n/(n-1)$ times the tolerance.",
        source="all $n$ inputs leak, in the place of the $n - 1$ that are not wanted",
        predict=lambda s: Interval.point(s.tolerance * s.n / (s.n - 1)),
    ),
    stream="route",
)

MEASURED = dataclasses.replace(
    CERTIFIED,
    name="route-errs-less",
    statement="Attention with the matrices of `route` misses no wanted output by more than the tolerance.",
    source="mathematics/routing.md#any-routing-by-linear-algebra; practical4/2e.2",
    predict=lambda s: Interval.at_most(s.tolerance),
    draw=lambda key, s: missed(*_routed(key, s)),
    bound=exact(MISSED_ROUNDING),
    rival=Rival(
        statement="The tolerance is idle: the largest error is at most a tenth of it.",
        source="a bound by the farthest value, taken for a loose one",
        predict=_a_tenth,
    ),
)

CERTIFICATE_HOLDS = dataclasses.replace(
    CERTIFIED,
    name="route-errs-less-than-certified",
    statement="Attention with the matrices of `route` misses no wanted output by more than `route` certifies.",
    source="mathematics/routing.md#any-routing-by-linear-algebra; practical4/2e.2",
    predict=Interval.at_most(1.0),
    draw=_share_of_certificate,
    bound=lambda s: exact(ROUNDING + MISSED_ROUNDING / s.tolerance),
    resolution=0.01,
    settings=tuple(RandomRouting(n=n, tolerance=tolerance) for n in (4, 8) for tolerance in (1e-1, 1e-4, 1e-8)),
    rival=Rival(
        statement="The certificate is idle: the largest error is at most a tenth of it.",
        source="a bound by the farthest value, taken for a loose one",
        predict=Interval.at_most(0.1),
    ),
)

LEAST_NORM = exact_claim(
    name="route-least-norm",
    statement="The $W = K^TQ$ of `route` has the least norm of all with its margin, as trying every active set "
    "shows.",
    source="mathematics/routing.md#the-shortest-matrix-for-a-routing; Lawson and Hanson 1974, chapter 23; Karush "
    "1939; Kuhn and Tucker 1951; practical4/2e.2",
    hypotheses=at_least(n=2) | at_most(n=4) | {"inputs are independent": lambda s: 0 <= s.correlation <= 0.99},
    predict=lambda s: Interval.point(_least(s)),
    draw=_correlated_norm,
    rounding=lambda s: ROUNDING * _least(s),
    settings=(
        *(CorrelatedCycle(n=3, correlation=correlation) for correlation in (0.0, 0.2, 0.4, 0.6, 0.8, 0.9)),
        *(CorrelatedCycle(n=n, correlation=correlation) for n in (2, 4) for correlation in (0.0, 0.6)),
    ),
    rival=Rival(
        statement="It is the one whose scores are 1 where they are wanted and 0 elsewhere, times the margin.",
        source="linear algebra alone: a matrix of scores that does it, in the place of the best",
        predict=lambda s: Interval.point(_scores_one_or_zero(s)),
    ),
)

TOKENS_LEAST_NORM = exact_claim(
    name="shortest-homework-solution",
    statement=r"The least norm of a $W$ that routes the homework's tokens at margin 1 is $\sqrt{0.9}/\beta^2$.",
    source="mathematics/routing.md#the-shortest-matrix-for-a-routing; practical4/2e.2",
    hypotheses=at_least(beta=0.1) | at_most(beta=10),
    predict=lambda s: Interval.point(_least_for_tokens(s)),
    draw=_token_norm,
    rounding=lambda s: ROUNDING * _least_for_tokens(s),
    settings=tuple(HomeworkTokens(beta=beta) for beta in (1.0, 2.0, 3.0)),
    stream="token-norm",
)

HOMEWORK_IS_LEAST = foil(
    TOKENS_LEAST_NORM,
    name="homework-solution-is-shortest",
    statement=r"At margin 1 the homework's $Q$ has norm $\sqrt2/\beta^2$, and no $W$ of smaller norm routes the "
    "homework's tokens.",
    source="mathematics/routing.md#the-shortest-matrix-for-a-routing; practical4/2e.2, there are many solutions",
    predict=lambda s: Interval.at_least(np.sqrt(2) / s.beta**2),
)

CELLS = exact_claim(
    name="routed-weights",
    statement="Where orthogonal inputs are routed in a cycle, the $W$ of least norm gives all unwanted keys "
    "the same score.",
    source="mathematics/routing.md#any-routing-by-linear-algebra; practical4/2e.2",
    hypotheses=at_least(n=2)
    | CLOSE
    | {"1 <= row <= n": lambda s: 1 <= s.row <= s.n, "1 <= column <= n": lambda s: 1 <= s.column <= s.n},
    # Orthonormal values lie sqrt(2) apart.
    predict=lambda s: Interval.point(_cell_of_leak(s, s.tolerance / np.sqrt(2))),
    draw=_cell,
    rounding=ROUNDING,
    settings=(
        *(
            RoutedWeight(n=5, row=row, column=column, tolerance=0.2)
            for row in range(1, 6)
            for column in range(1, 6)
        ),
        *(RoutedWeight(n=n, row=1, column=column, tolerance=1e-3) for n in (3, 8) for column in (1, 2, n)),
    ),
    rival=Rival(
        statement="The leak is the tolerance itself.",
        source=r"the distance $\sqrt2$ between two values left out",
        predict=lambda s: Interval.point(_cell_of_leak(s, s.tolerance)),
    ),
)

CLAIMS = (
    CERTIFIED,
    MEASURED,
    CERTIFICATE_HOLDS,
    LEAST_NORM,
    TOKENS_LEAST_NORM,
    HOMEWORK_IS_LEAST,
    CELLS,
)
