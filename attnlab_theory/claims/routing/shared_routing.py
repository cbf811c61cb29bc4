"""What a head with one matrix for keys and queries can route, and what it cannot (claims A.11, E.3)."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights
from attnlab_theory.claims.claim import Claim, Verdict
from attnlab_theory.claims.routing.routing import MISSED_ROUNDING, Asked, missed, tokens
from attnlab_theory.construct.routing import shared_route
from attnlab_theory.sampling import orthonormal
from attnlab_theory.stats import Interval, exact, proportion
from attnlab_theory.theory.routing import key_query_value as theory

HOMEWORK = "2,0,free"
"""Where the homework's tokens attend to."""


@dataclasses.dataclass(frozen=True)
class Shared:
    """Three inputs with Q = K, "Gaussian" or "tokens" of the homework; `routes` names where each attends to."""

    inputs: str
    routes: str
    tolerance: float


@dataclasses.dataclass(frozen=True)
class Head:
    """Three orthonormal inputs under a Gaussian W: "free" for W = Q and K = I, "shared" for W = Q = K.

    The first `length` of them, 2.0 or 3.0, are to attend each to the next, in a cycle; the others are free.
    """

    kind: str
    length: float


def _asked(key: PRNGKeyArray, setting: Shared) -> Asked:
    if setting.inputs == "tokens":
        assert setting.routes == HOMEWORK, setting.routes
        return tokens(key, 1.0)
    x, y = jax.random.split(key)
    goals = [int(goal) for goal in setting.routes.split(",")]
    inputs = np.asarray(jax.random.normal(x, (3, 5)), dtype=np.float64)
    values = np.asarray(jax.random.normal(y, (3, 2)), dtype=np.float64)
    return Asked(inputs, [*goals], values[goals])


def _shared_error(key: PRNGKeyArray, setting: Shared) -> float:
    asked = _asked(key, setting)
    found = shared_route(asked.inputs, asked.routes, asked.wanted, tolerance=setting.tolerance)
    return missed(asked, dataclasses.replace(found, q=found.k))


def _routes_the_cycle(key: PRNGKeyArray, setting: Head) -> Float[Array, ""]:
    frame, matrix = jax.random.split(key)
    x = orthonormal(frame, 3, 3)
    keys = x @ jax.random.normal(matrix, (3, 3))
    weights = attention_weights(keys if setting.kind == "shared" else x, keys, scale=1.0)
    rows = jnp.arange(3, dtype=weights.dtype)
    length = jnp.asarray(setting.length, weights.dtype)
    wanted = rows[None, :] == jnp.mod(rows + 1, length)[:, None]
    led = jnp.max(jnp.where(wanted, weights, -1), axis=1) > jnp.max(jnp.where(wanted, -1, weights), axis=1)
    return jnp.all(led | (rows >= length)).astype(float)


def _ends_in_itself(routes: tuple[int, ...]) -> bool:
    """Whether every chain of routes ends at a row that attends to itself."""
    row = np.arange(len(routes))
    for _ in routes:
        row = np.asarray(routes)[row]
    return bool(np.all(np.asarray(routes)[row] == row))


ACYCLIC = tuple(routes for routes in itertools.product(range(3), repeat=3) if _ends_in_itself(routes))
"""The 16 routings of three rows in which every chain ends at a row that attends to itself."""

SHARED = Claim(
    name="shared-routes-every-chain",
    statement=r"$Q = K$ routes three independent inputs, the homework's among them, if no cycle is longer than an "
    r"input attending to itself.",
    source="claims A.11, E.3; practical4 2e.2; uw 2.2.2",
    hypotheses={"tolerance > 0": lambda s: s.tolerance > 0},
    predict=lambda s: Interval.at_most(s.tolerance),
    draw=_shared_error,
    bound=lambda s: exact(MISSED_ROUNDING),
    resolution=lambda s: 0.01 * s.tolerance,
    settings=(
        *(Shared("Gaussian", ",".join(map(str, routes)), 1e-3) for routes in ACYCLIC),
        Shared("tokens", HOMEWORK, 1e-3),
    ),
)

CYCLES = {"two or three rows": lambda s: s.length in (2, 3)}

FREE_CYCLES = Claim(
    name="free-heads-route-cycles",
    statement=r"A random head with $Q$ and $K$ apart routes $1\to2\to3\to1$ with probability $1/27$, and "
    r"$1\to2\to1$ with $1/9$.",
    source="claims A.11, E.4",
    hypotheses={"Q and K are apart": lambda s: s.kind == "free"} | CYCLES,
    predict=lambda s: Interval.point(theory.random_cycle_share(round(s.length))),
    draw=_routes_the_cycle,
    bound=lambda s: proportion(),
    resolution=lambda s: 0.3 * theory.random_cycle_share(round(s.length)),
    settings=(Head("free", 3.0), Head("free", 2.0)),
    stream="cycles",
)

SHARED_CYCLES = dataclasses.replace(
    FREE_CYCLES,
    name="shared-heads-route-no-cycle",
    statement=r"No head with $Q = K$ routes $1\to2\to3\to1$, as its scores are symmetric, nor $1\to2\to1$, as they "
    r"are positive semidefinite.",
    source="claims A.11; uw 2.2.2",
    hypotheses={"Q is K": lambda s: s.kind == "shared"} | CYCLES,
    predict=lambda s: Interval.point(0.0),
    resolution=lambda s: 1e-3,
    settings=(Head("shared", 3.0), Head("shared", 2.0)),
)

SHARED_FOIL = dataclasses.replace(
    SHARED_CYCLES,
    name="shared-heads-route-anything",
    statement=r"$Q = K$ can realise any routing: it routes a cycle as often as $Q$ and $K$ apart.",
    predict=FREE_CYCLES.predict,
    expect=Verdict.REFUTED,
)

CLAIMS = (SHARED, FREE_CYCLES, SHARED_CYCLES, SHARED_FOIL)
