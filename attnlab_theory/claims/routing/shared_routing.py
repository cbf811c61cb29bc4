"""What a head with one matrix for keys and queries can route, and what it cannot.

See docs/mathematics/identities.md, docs/mathematics/routing.md.
"""

import dataclasses
import enum
import itertools
from typing import assert_never

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.routing.routing import MISSED_ROUNDING, ROUNDING, Asked, certificate, tokens
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.construct.routing import shared_route
from attnlab_theory.sampling import orthonormal
from attnlab_theory.stats import Interval, exact, proportion
from attnlab_theory.theory.routing import key_query_value as theory

FREE = -1
"""In routes: a row that may attend anywhere."""

HOMEWORK = (2, 0, FREE)
"""Where the homework's tokens attend to."""


class ThreeInputs(enum.StrEnum):
    """Gaussian inputs, or the three tokens of the homework."""

    GAUSSIAN = "Gaussian"
    TOKENS = "tokens"


class Matrices(enum.StrEnum):
    """W = Q and K = I, or W = Q = K."""

    FREE = "free"
    SHARED = "shared"


class SharedRouting(Setting):
    """Three inputs with Q = K; `routes` says where each of them attends to."""

    inputs: ThreeInputs
    routes: tuple[int, ...]
    tolerance: float


class RandomMatrix(Setting):
    """Three orthonormal inputs under a Gaussian W.

    Each of the first `length` inputs (2 or 3) should attend to the next one, in a cycle. The others are free.
    """

    kind: Matrices
    length: Traced[int]


def _asked(key: PRNGKeyArray, setting: SharedRouting) -> Asked:
    match setting.inputs:
        case ThreeInputs.TOKENS:
            assert setting.routes == HOMEWORK, setting.routes
            return tokens(key, 1.0)
        case ThreeInputs.GAUSSIAN:
            return _gaussian(key, [*setting.routes])
        case _:
            assert_never(setting.inputs)


def _gaussian(key: PRNGKeyArray, goals: list[int]) -> Asked:
    x, y = jax.random.split(key)
    inputs = np.asarray(jax.random.normal(x, (3, 5)), dtype=np.float64)
    values = np.asarray(jax.random.normal(y, (3, 2)), dtype=np.float64)
    return Asked(inputs, [*goals], values[goals])


def _shared_certificate(key: PRNGKeyArray, setting: SharedRouting) -> float:
    asked = _asked(key, setting)
    found = shared_route(asked.inputs, asked.routes, asked.wanted, tolerance=setting.tolerance)
    return certificate(asked, dataclasses.replace(found, q=found.k))


def _routes_the_cycle(key: PRNGKeyArray, setting: RandomMatrix) -> Float[Array, ""]:
    frame, matrix = jax.random.split(key)
    x = orthonormal(frame, 3, 3)
    keys = x @ jax.random.normal(matrix, (3, 3))
    weights = attention_weights(keys if setting.kind is Matrices.SHARED else x, keys, scale=1.0)
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


def _reads_in_chains(setting: SharedRouting) -> bool:
    """Whether the routes are those of the homework's inputs, or chains for normal ones."""
    tokens = setting.inputs is ThreeInputs.TOKENS
    return setting.routes == HOMEWORK if tokens else setting.routes in ACYCLIC


SHARED = Claim(
    name="shared-routes-every-chain",
    statement="$Q = K$ routes three independent inputs, the homework's among them, unless two or more of them "
    "are to read each other in a cycle. The largest error that attention's weights allow is the tolerance.",
    source="mathematics/routing.md#shared-keys-and-queries-route-every-chain; practical4/2e.2",
    hypotheses=at_least(tolerance=1e-8) | at_most(tolerance=0.2) | {"no rows read each other": _reads_in_chains},
    predict=lambda s: Interval.point(s.tolerance),
    draw=_shared_certificate,
    bound=lambda s: exact(ROUNDING * s.tolerance + MISSED_ROUNDING),
    resolution=lambda s: 0.01 * s.tolerance,
    settings=(
        *(SharedRouting(inputs=ThreeInputs.GAUSSIAN, routes=routes, tolerance=1e-3) for routes in ACYCLIC),
        *(
            SharedRouting(inputs=ThreeInputs.TOKENS, routes=HOMEWORK, tolerance=tolerance)
            for tolerance in (1e-1, 1e-3, 1e-6)
        ),
    ),
    rival=Rival(
        statement="The weights certify half as much again.",
        source="all three inputs leak, in the place of the two that are not wanted",
        predict=lambda s: Interval.point(1.5 * s.tolerance),
    ),
)

CYCLES = {"two or three rows": lambda s: s.length in (2, 3)}

FREE_CYCLES = Claim(
    name="free-heads-route-cycles",
    statement=r"A random head with $Q$ and $K$ apart routes $1\to2\to3\to1$ with probability $1/27$, and "
    r"$1\to2\to1$ with $1/9$.",
    source="mathematics/routing.md#shared-keys-and-queries-route-no-cycle",
    hypotheses={"Q and K are apart": lambda s: s.kind is Matrices.FREE} | CYCLES,
    predict=lambda s: Interval.point(theory.random_cycle_share(s.length)),
    draw=_routes_the_cycle,
    bound=proportion(),
    resolution=lambda s: 0.3 * theory.random_cycle_share(s.length),
    settings=(RandomMatrix(kind=Matrices.FREE, length=3), RandomMatrix(kind=Matrices.FREE, length=2)),
    rival=Rival(
        statement="It does with probability $1/8$ and $1/4$.",
        source="each input reads one of the two others, itself left out",
        predict=lambda s: Interval.point(2.0**-s.length),
    ),
    stream="cycles",
)

SHARED_CYCLES = dataclasses.replace(
    FREE_CYCLES,
    name="shared-heads-route-no-cycle",
    statement=r"No head with $Q = K$ routes $1\to2\to3\to1$, as its scores are symmetric, nor $1\to2\to1$, as they "
    r"are positive semidefinite.",
    source="mathematics/routing.md#shared-keys-and-queries-route-no-cycle",
    hypotheses={"Q is K": lambda s: s.kind is Matrices.SHARED} | CYCLES,
    predict=Interval.point(0.0),
    resolution=1e-3,
    settings=(RandomMatrix(kind=Matrices.SHARED, length=3), RandomMatrix(kind=Matrices.SHARED, length=2)),
)

SHARED_FOIL = foil(
    SHARED_CYCLES,
    name="shared-heads-route-anything",
    statement=r"$Q = K$ can realise any routing: it routes a cycle as often as $Q$ and $K$ apart.",
    source="mathematics/routing.md#shared-keys-and-queries-route-no-cycle",
    predict=FREE_CYCLES.predict,
)

CLAIMS = (SHARED, FREE_CYCLES, SHARED_CYCLES, SHARED_FOIL)
