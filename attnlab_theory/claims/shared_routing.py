"""What a head with one matrix for keys and queries can route, and what it cannot (claims A.11, E.3)."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights
from attnlab_theory.claims.claim import Claim, Verdict
from attnlab_theory.construct.routing import shared_route
from attnlab_theory.sampling import orthonormal
from attnlab_theory.stats import Interval, exact, proportion
from attnlab_theory.theory import key_query_value as theory

CYCLE = (1, 2, 0)
"""Where each of three rows attends to."""


@dataclasses.dataclass(frozen=True)
class Shared:
    """Three Gaussian inputs with Q = K; `routes` names where each attends to."""

    routes: str
    tolerance: float


@dataclasses.dataclass(frozen=True)
class Head:
    """Three orthonormal inputs under a Gaussian W: "free" for W = Q and K = I, "shared" for W = Q = K."""

    kind: str


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
    led = weights[jnp.arange(3), jnp.asarray(CYCLE)] > jnp.max(others, axis=1)
    return jnp.all(led).astype(float)


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

CLAIMS = (SHARED, FREE_CYCLES, SHARED_CYCLES, SHARED_FOIL)
