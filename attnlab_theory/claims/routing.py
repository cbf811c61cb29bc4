"""Matrices K, Q, V for a wanted routing, and what shared keys and queries cannot do (claims E.4, A.11)."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights
from attnlab_theory.claims.claim import Claim, Verdict
from attnlab_theory.construct.routing import Routing, route, shared_route
from attnlab_theory.sampling import orthonormal
from attnlab_theory.stats import Interval, exact, proportion
from attnlab_theory.theory import copying
from attnlab_theory.theory import key_query_value as theory

WIDTH = 4
"""How much wider than their number the inputs are."""

ROUNDING = 1e-8
"""Of what `route` returns: it aims 2^-30 below the tolerance, the enumeration of active sets allows 1e-9, and
frames in float64 add 1e-13."""


@dataclasses.dataclass(frozen=True)
class Problem:
    """n Gaussian inputs, a random routing that leaves one row free, Gaussian outputs in three dimensions."""

    n: int
    tolerance: float


@dataclasses.dataclass(frozen=True)
class Inputs:
    """n unit inputs with equal inner products, routed in a cycle."""

    n: int
    correlation: float


@dataclasses.dataclass(frozen=True)
class Tokens:
    """The homework's three tokens, routed 1 to 3 and 2 to 1, the third row free; every u has norm beta."""

    beta: float


@dataclasses.dataclass(frozen=True)
class Cell:
    """One weight of n orthonormal inputs, each sent to the next, for orthonormal outputs within `tolerance`."""

    n: int
    row: int
    column: int
    tolerance: float


@dataclasses.dataclass(frozen=True)
class Shared:
    """Three Gaussian inputs with Q = K; `routes` names where each attends to."""

    routes: str
    tolerance: float


@dataclasses.dataclass(frozen=True)
class Head:
    """Three orthonormal inputs under a Gaussian W: "free" for W = Q and K = I, "shared" for W = Q = K."""

    kind: str


def _routed(key: PRNGKeyArray, setting: Problem) -> Routing:
    x, y, goals = jax.random.split(key, 3)
    n = setting.n
    inputs = np.asarray(jax.random.normal(x, (n, n + WIDTH)), dtype=np.float64)
    values = np.asarray(jax.random.normal(y, (n, 3)), dtype=np.float64)
    routes = [int(goal) for goal in jax.random.randint(goals, (n,), 0, n)]
    return route(inputs, [*routes[:-1], None], values[routes], tolerance=setting.tolerance)


def _certified(key: PRNGKeyArray, setting: Problem) -> float:
    return _routed(key, setting).certified


def _measured(key: PRNGKeyArray, setting: Problem) -> float:
    return _routed(key, setting).measured


def _frame(key: PRNGKeyArray, n: int, d: int) -> Float[np.ndarray, "n d"]:
    """An orthonormal frame in float64: what `route` computes is compared to eight digits."""
    with jax.enable_x64(True):
        return np.asarray(orthonormal(key, n, d))


def _gram(setting: Inputs) -> np.ndarray:
    return setting.correlation + (1 - setting.correlation) * np.eye(setting.n)


def _cycle(n: int) -> list[int]:
    return [(i + 1) % n for i in range(n)]


def _norm_per_margin(x: Float[np.ndarray, "t d"], routes: list[int | None]) -> float:
    """||W|| over the margin, for outputs that are the first unit vectors."""
    goals = [0 if goal is None else goal for goal in routes]
    found = route(x, routes, np.eye(len(x))[goals], tolerance=1e-3)
    return float(np.linalg.norm(found.w)) / found.margin


def _correlated_norm(key: PRNGKeyArray, setting: Inputs) -> float:
    frame = _frame(key, setting.n, setting.n + WIDTH)
    return _norm_per_margin(np.linalg.cholesky(_gram(setting)) @ frame, [*_cycle(setting.n)])


def _least(setting: Inputs) -> float:
    return theory.least_routing_norm(_gram(setting), _cycle(setting.n), 1.0)


def _least_for_tokens(setting: Tokens) -> float:
    x = setting.beta * theory.tokens("a")
    return theory.least_routing_norm(x @ x.T, [2, 0, None], 1.0)


def _token_norm(key: PRNGKeyArray, setting: Tokens) -> float:
    u_a, u_b, u_c, u_d = setting.beta * _frame(key, 4, 8)
    return _norm_per_margin(np.stack([u_d + u_b, u_a, u_c + u_b]), [2, 0, None])


def _cell(key: PRNGKeyArray, setting: Cell) -> float:
    inputs, outputs = jax.random.split(key)
    x = _frame(inputs, setting.n, setting.n + WIDTH)
    y = _frame(outputs, setting.n, setting.n)
    found = route(x, [*_cycle(setting.n)], y, tolerance=setting.tolerance)
    return float(found.weights[setting.row - 1, setting.column - 1])


def _predicted_cell(setting: Cell) -> float:
    # Orthonormal values lie sqrt(2) apart, and orthonormal inputs tie all scores but the wanted ones.
    margin = copying.strength_needed(setting.n, setting.tolerance / np.sqrt(2))
    leak = copying.leak_bound(setting.n, margin)
    return 1 - leak if setting.column - 1 == _cycle(setting.n)[setting.row - 1] else leak / (setting.n - 1)


def _shared_error(key: PRNGKeyArray, setting: Shared) -> float:
    x, y = jax.random.split(key)
    routes = [int(goal) for goal in setting.routes.split(",")]
    inputs = np.asarray(jax.random.normal(x, (3, 5)), dtype=np.float64)
    values = np.asarray(jax.random.normal(y, (3, 2)), dtype=np.float64)
    return shared_route(inputs, routes, values[routes], tolerance=setting.tolerance).measured


def _routes_the_cycle(key: PRNGKeyArray, setting: Head) -> Float[Array, ""]:
    frame, matrix = jax.random.split(key)
    x = orthonormal(frame, 3, 3)
    keys = x @ jax.random.normal(matrix, (3, 3))
    weights = attention_weights(keys if setting.kind == "shared" else x, keys, scale=1.0)
    others = jnp.where(jnp.asarray(np.roll(np.eye(3), 1, axis=1) > 0), -1.0, weights)
    led = weights[jnp.arange(3), jnp.asarray(_cycle(3))] > jnp.max(others, axis=1)
    return jnp.all(led).astype(float)


def _ends_in_itself(routes: tuple[int, ...]) -> bool:
    """Whether every chain of routes ends at a row that attends to itself."""
    row = np.arange(len(routes))
    for _ in routes:
        row = np.asarray(routes)[row]
    return bool(np.all(np.asarray(routes)[row] == row))


ACYCLIC = tuple(routes for routes in itertools.product(range(3), repeat=3) if _ends_in_itself(routes))
"""The 16 routings of three rows in which every chain ends at a row that attends to itself."""

TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8)
SOURCE = "claims E.4; practical4 2e.2"

CERTIFIED = Claim(
    name="route-certifies",
    statement=r"`route` finds $K, Q, V$ whose certificate by the copy bound is within the tolerance.",
    source=SOURCE,
    hypotheses={"tolerance > 0": lambda s: s.tolerance > 0},
    predict=lambda s: Interval.at_most(s.tolerance),
    draw=_certified,
    bound=lambda s: exact(0.0),
    resolution=lambda s: 0.01 * s.tolerance,
    settings=tuple(Problem(n, tolerance) for n in (4, 8) for tolerance in TOLERANCES),
    stream="route",
)

MEASURED = dataclasses.replace(
    CERTIFIED,
    name="route-errs-less",
    statement="Attention with the matrices of `route` misses no wanted output by more than the tolerance.",
    draw=_measured,
)

LEAST_NORM = Claim(
    name="route-least-norm",
    statement=r"The $W = K^TQ$ of `route` is the shortest with its margin: as found by trying every active set.",
    source=SOURCE,
    hypotheses={"inputs are independent": lambda s: 0 <= s.correlation < 1},
    predict=lambda s: Interval.point(_least(s)),
    draw=_correlated_norm,
    bound=lambda s: exact(ROUNDING * _least(s)),
    resolution=lambda s: 4 * ROUNDING * _least(s),
    settings=tuple(Inputs(3, correlation) for correlation in (0.0, 0.2, 0.4, 0.6, 0.8, 0.9)),
)

TOKENS_LEAST_NORM = Claim(
    name="shortest-homework-solution",
    statement=r"The homework's tokens are routed by $W$ of norm $\sqrt{0.9}$ at margin $\beta^2$, none shorter.",
    source=SOURCE,
    hypotheses={"beta > 0": lambda s: s.beta > 0},
    predict=lambda s: Interval.point(_least_for_tokens(s)),
    draw=_token_norm,
    bound=lambda s: exact(ROUNDING * _least_for_tokens(s)),
    resolution=lambda s: 4 * ROUNDING * _least_for_tokens(s),
    settings=tuple(Tokens(beta) for beta in (1.0, 2.0, 3.0)),
    stream="token-norm",
)

HOMEWORK_IS_LEAST = dataclasses.replace(
    TOKENS_LEAST_NORM,
    name="homework-solution-is-shortest",
    statement=r"No $W$ shorter than the homework's $Q$, of norm $\sqrt2$ at margin $\beta^2$, routes its tokens.",
    source=f"{SOURCE}: there are many solutions",
    predict=lambda s: Interval.at_least(np.sqrt(2) / s.beta**2),
    expect=Verdict.REFUTED,
)

CELLS = Claim(
    name="routed-weights",
    statement="Orthogonal inputs sent in a cycle: the least W ties every score but the wanted one.",
    source=SOURCE,
    hypotheses={"tolerance > 0": lambda s: s.tolerance > 0},
    predict=lambda s: Interval.point(_predicted_cell(s)),
    draw=_cell,
    bound=lambda s: exact(ROUNDING),
    resolution=lambda s: 4 * ROUNDING,
    settings=tuple(Cell(5, row, column, 0.2) for row in range(1, 6) for column in range(1, 6)),
)

SHARED = Claim(
    name="shared-routes-every-chain",
    statement=r"$Q = K$ routes three independent inputs if no cycle is longer than an input attending to itself.",
    source="claims A.11, E.3; practical4 2e.2; uw 2.2.2",
    hypotheses={"tolerance > 0": lambda s: s.tolerance > 0},
    predict=lambda s: Interval.at_most(s.tolerance),
    draw=_shared_error,
    bound=lambda s: exact(0.0),
    resolution=lambda s: 0.01 * s.tolerance,
    settings=tuple(Shared(",".join(map(str, routes)), 1e-3) for routes in ACYCLIC),
)

FREE_CYCLES = Claim(
    name="free-heads-route-cycles",
    statement=r"A random head with $Q$ and $K$ apart routes $1\to2\to3\to1$ with probability $1/27$.",
    source="claims A.11, E.4",
    hypotheses={"Q and K are apart": lambda s: s.kind == "free"},
    predict=lambda s: Interval.point(theory.random_cycle_share()),
    draw=_routes_the_cycle,
    bound=lambda s: proportion(),
    resolution=lambda s: 0.01,
    settings=(Head("free"),),
    stream="cycles",
)

SHARED_CYCLES = dataclasses.replace(
    FREE_CYCLES,
    name="shared-heads-route-no-cycle",
    statement=r"No head with $Q = K$ routes $1\to2\to3\to1$: its scores are symmetric.",
    source="claims A.11; uw 2.2.2",
    hypotheses={"Q is K": lambda s: s.kind == "shared"},
    predict=lambda s: Interval.point(0.0),
    resolution=lambda s: 1e-3,
    settings=(Head("shared"),),
)

SHARED_FOIL = dataclasses.replace(
    SHARED_CYCLES,
    name="shared-heads-route-anything",
    statement=r"$Q = K$ can realise any routing: it routes $1\to2\to3\to1$ as often as $Q$ and $K$ apart.",
    predict=lambda s: Interval.point(theory.random_cycle_share()),
    expect=Verdict.REFUTED,
)

CLAIMS = (
    CERTIFIED,
    MEASURED,
    LEAST_NORM,
    TOKENS_LEAST_NORM,
    HOMEWORK_IS_LEAST,
    CELLS,
    SHARED,
    FREE_CYCLES,
    SHARED_CYCLES,
    SHARED_FOIL,
)
