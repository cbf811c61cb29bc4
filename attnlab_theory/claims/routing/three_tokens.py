"""Three tokens under plain self-attention: no mixture of them is what is wanted (docs/mathematics/routing.md)."""

import dataclasses
import functools
import math
from typing import NamedTuple, assert_never

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention, attention_weights
from attnlab_theory.claims.claim import Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting
from attnlab_theory.sampling import orthonormal
from attnlab_theory.stats import Interval
from attnlab_theory.theory.routing import key_query_value as theory
from attnlab_theory.theory.routing.key_query_value import Head, Middle

D = 8
"""Width of the tokens; the four directions are random in it."""

EPS = float(np.finfo(np.float64).eps)

NEAR = 0.1
"""An output is called near the wanted vector if it is off by less than this share of its norm."""


class SecondToken(Setting):
    """The second token is u_a, or u_a + u_d, or u_a + u_c (`middle`); every u has norm beta."""

    middle: Middle
    beta: float


def leak_rtol(beta: float) -> float:
    """Relative rounding of a weight in float64.

    Four Householder columns of length D err by 8 D eps (Higham 2002, theorem 19.4), inner products of length D by D
    eps each, and Q holds two more of them. Together that is 16 D eps, relative to scores of 2 beta^2. The error of
    a weight is that of its own score plus that of the normaliser.
    """
    return 2 * 16 * D * EPS * 2 * beta**2 + 8 * EPS


def output_atol(beta: float, leak: float) -> float:
    """Absolute rounding of an output's norm: from the leaked weight, and from the tokens and values themselves."""
    return beta * (4 * leak * leak_rtol(beta) + 32 * D * EPS)


class Attended(NamedTuple):
    """The four directions, the tokens made of them, and what one head does with the tokens."""

    u: Float[np.ndarray, "4 d"]
    x: Float[np.ndarray, "t d"]
    queries: Float[np.ndarray, "t d"]
    values: Float[np.ndarray, "t d"]
    weights: Float[np.ndarray, "t s"]
    outputs: Float[np.ndarray, "t v"]


def attended(key: PRNGKeyArray, beta: float, *, middle: Middle, head: Head) -> Attended:
    """One head over the three tokens, in float64: at beta = 3 only a 4000th of the weight is not on one token."""
    with jax.enable_x64(True):
        return Attended(*map(np.asarray, _attended(key, jnp.float64(beta), middle=middle, head=head)))


def returned(queries: np.ndarray, keys: np.ndarray, values: np.ndarray) -> Float[np.ndarray, "t v"]:
    """What attention returns in float64, at scale 1."""
    with jax.enable_x64(True):
        return np.asarray(attention(jnp.asarray(queries), jnp.asarray(keys), jnp.asarray(values), scale=1.0))


@functools.partial(jax.jit, static_argnames=("middle", "head"))
def _attended(key: PRNGKeyArray, beta: Float[Array, ""], *, middle: Middle, head: Head) -> tuple[Array, ...]:
    u = beta * orthonormal(key, 4, D)
    u_a, u_b, u_c, u_d = u
    second = {Middle.A: u_a, Middle.A_AND_D: u_a + u_d, Middle.A_AND_C: u_a + u_c}[middle]
    x = jnp.stack([u_d + u_b, second, u_c + u_b])
    q, v = _matrices(head, u, beta)
    queries, values = x @ q.T, x @ v.T
    weights, outputs = attention_weights(queries, x, scale=1.0), attention(queries, x, values, scale=1.0)
    return u, x, queries, values, weights, outputs


def _matrices(head: Head, u: Float[Array, "4 d"], beta: Float[Array, ""]) -> tuple[Array, Array]:
    """Q and V; K is the identity in every head."""
    u_a, u_b, u_c, u_d = u
    identity = jnp.eye(D, dtype=u.dtype)
    values = (jnp.outer(u_b, u_b) - jnp.outer(u_c, u_c)) / beta**2
    match head:
        case Head.PLAIN:
            return identity, identity
        case Head.VALUES:
            return identity, values
        case Head.OTHER_VALUES:
            return identity, (jnp.outer(u_b - u_c, u_d) + jnp.outer(u_b, u_a)) / beta**2
        case Head.CONSTRUCTED:
            return (jnp.outer(u_d, u_a) + jnp.outer(u_c, u_d)) / beta**2, values
        case _:
            assert_never(head)


def _leak(key: PRNGKeyArray, setting: SecondToken) -> float:
    weights = attended(key, setting.beta, middle=setting.middle, head=Head.PLAIN).weights
    # Not 1 - weight: beyond beta = 4 that difference is rounding alone.
    return float(weights[1, 0] + weights[1, 2])


def _separation(key: PRNGKeyArray, setting: SecondToken) -> float:
    """How far every value stays below u_b, measured along the direction from the best mixture to u_b."""
    found = attended(key, setting.beta, middle=setting.middle, head=Head.PLAIN)
    values, wanted = found.values, found.u[1]
    towards = wanted - theory.nearest_mixture(setting.middle)[0] @ values
    return float(np.min((wanted - values) @ towards) / np.linalg.norm(towards))


def _nearest(key: PRNGKeyArray, setting: SecondToken, logits: Float[np.ndarray, "t s"]) -> float:
    """Least distance from u_b of attention's outputs for queries that give the tokens these scores."""
    found = attended(key, setting.beta, middle=setting.middle, head=Head.PLAIN)
    # The tokens are independent: x^+ makes a query for any scores.
    outputs = returned(logits @ np.linalg.pinv(found.x).T, found.x, found.values)
    return float(np.min(np.linalg.norm(outputs - found.u[1], axis=1)))


NONE = -60.0
"""The score of a token whose share is 0, beside scores about 0: float64 does not see e^-60."""


def _best_mixture_distance(key: PRNGKeyArray, setting: SecondToken) -> float:
    mixture, _ = theory.nearest_mixture(setting.middle)
    return _nearest(key, setting, np.log(mixture, out=np.full((1, 3), NONE), where=mixture[None] > 0))


def _random_mixture_distance(key: PRNGKeyArray, setting: SecondToken) -> float:
    frame, mixtures = jax.random.split(key)
    return _nearest(frame, setting, np.log(np.asarray(jax.random.exponential(mixtures, (4096, 3)), dtype=float)))


def _mixture_atol(setting: SecondToken) -> float:
    """Scores reach 60; the pseudo-inverse of tokens whose condition is below 3 errs by 3 * 32 D eps relative."""
    return setting.beta * 32 * D * EPS * (3 * 60 + 1)


def _distance_to_span(setting: SecondToken) -> Interval:
    """The distance of u_b from all linear combinations of the tokens."""
    (squared,) = np.linalg.lstsq(theory.tokens(setting.middle).T, theory.U_B, rcond=None)[1]
    return Interval.point(setting.beta * math.sqrt(squared))


def _distance_of_the_nearest_token(setting: SecondToken) -> float:
    apart = np.linalg.norm(theory.tokens(setting.middle) - theory.U_B, axis=1)
    return setting.beta * float(np.min(apart))


def _leak_to_strangers(setting: SecondToken) -> Interval:
    return Interval.point(2 / (math.exp(2 * setting.beta**2) + 2))


BETAS = (1.0, 1.5, 2.0, 2.5, 3.0)
SEEN_BETA = 2.0
"""The norm at which the heat maps are drawn: large enough to be clear, small enough for the leak to be seen."""
POSITIVE = at_least(beta=0.1) | at_most(beta=10)

SUMS = (Middle.A_AND_D, Middle.A_AND_C)

SELF_COPY = exact_claim(
    name="plain-attention-copies-itself",
    statement=r"With $Q=K=V=I$, $c_2 \approx x_2 = u_a$: the weight elsewhere is $2/(e^{\beta^2}+2)$.",
    source="mathematics/routing.md#a-token-copies-itself; practical4/2e.1",
    hypotheses=POSITIVE,
    predict=lambda s: Interval.point(theory.self_leak(s.middle, s.beta)),
    draw=_leak,
    rounding=lambda s: theory.self_leak(s.middle, s.beta) * leak_rtol(s.beta),
    settings=tuple(SecondToken(middle=Middle.A, beta=beta) for beta in BETAS),
    rival=Rival(
        statement=r"It is $2e^{-\beta^2}$.",
        source="the two other tokens left out of the normaliser",
        predict=lambda s: Interval.point(2 * math.exp(-(s.beta**2))),
    ),
    stream="key-query-value",
)

SUM_COPY = dataclasses.replace(
    SELF_COPY,
    name="sum-token-copies-itself",
    statement=r"If $x_2$ becomes $u_a+u_d$ or $u_a+u_c$ it scores $2\beta^2$ with itself, $\beta^2$ with one "
    r"other: $c_2 \approx x_2$ still.",
    source="mathematics/routing.md#a-token-copies-itself; practical4/2e.1",
    settings=tuple(SecondToken(middle=middle, beta=beta) for middle in SUMS for beta in BETAS),
    rival=Rival(
        statement=r"The weight elsewhere is $2/(e^{2\beta^2}+2)$.",
        source=r"the score $\beta^2$ of the token that shares a direction, left out",
        predict=_leak_to_strangers,
    ),
)

NO_MIXTURE = exact_claim(
    name="no-mixture-is-near",
    statement=r"The wanted output $u_b$ is at least $\beta\sqrt{0.4}$ away from every mixture of the three tokens, "
    r"and so from the output $c_2$ of any query with $V=I$. It is $\beta/\sqrt2$ if $u_d$ or $u_c$ is added to "
    "$x_2$. Along one direction all three tokens lie at least that far below $u_b$, which proves it.",
    source="mathematics/routing.md#no-mixture-comes-near; practical4/2e.1",
    hypotheses=POSITIVE,
    predict=lambda s: Interval.point(s.beta * theory.nearest_mixture(s.middle)[1]),
    draw=_separation,
    rounding=lambda s: output_atol(s.beta, 1.0),
    settings=tuple(SecondToken(middle=middle, beta=beta) for middle in theory.MIDDLES for beta in BETAS),
    rival=Rival(
        statement=r"Mixtures come as near as any combination of the tokens: $\beta/\sqrt3$, and $\beta/2$ after "
        "the addition.",
        source="least squares, with weights that need be neither positive nor of sum one",
        predict=_distance_to_span,
    ),
    stream=SELF_COPY,
)

RANDOM_MIXTURES = exact_claim(
    name="no-query-is-near",
    statement=r"Of 4096 queries whose weights are uniform on the simplex none brings $c_2$ nearer to $u_b$ than "
    r"$\beta\sqrt{0.4}$ (with $u_d$ or $u_c$ added: $\beta/\sqrt2$).",
    source="mathematics/routing.md#no-mixture-comes-near; practical4/2e.1",
    hypotheses=POSITIVE,
    predict=lambda s: Interval.at_least(s.beta * theory.nearest_mixture(s.middle)[1]),
    draw=_random_mixture_distance,
    rounding=_mixture_atol,
    settings=tuple(SecondToken(middle=middle, beta=beta) for middle in theory.MIDDLES for beta in BETAS),
    rival=Rival(
        statement="The bound is idle: none of them comes within a twentieth of it.",
        source="the bound, taken for a loose one",
        predict=lambda s: Interval.at_least(1.05 * s.beta * theory.nearest_mixture(s.middle)[1]),
    ),
    stream=SELF_COPY,
)

BEST_MIXTURE = dataclasses.replace(
    RANDOM_MIXTURES,
    name="best-mixture",
    statement=r"A query with weights $(.4,.2,.4)$ (with $u_d$ or $u_c$ added: $(\frac12,0,\frac12)$) reaches the "
    r"distance from $u_b$ that no mixture undercuts: $\beta\sqrt{0.4}$, or $\beta/\sqrt2$.",
    source="mathematics/routing.md#no-mixture-comes-near; practical4/2e.1",
    predict=NO_MIXTURE.predict,
    draw=_best_mixture_distance,
    rival=Rival[SecondToken](
        statement=r"The best is a copy of $x_1$ or $x_3$, which hold $u_b$: $\beta$.",
        source="attention taken for a choice of one token",
        predict=lambda s: Interval.point(_distance_of_the_nearest_token(s)),
    ),
)

ADDING_HELPS = foil(
    NO_MIXTURE,
    name="adding-u_d-or-u_c-helps",
    statement=r"Adding $u_d$ or $u_c$ to $x_2$ lets $c_2$ come nearer to $u_b$ than $\beta\sqrt{0.4}$.",
    source="mathematics/routing.md#no-mixture-comes-near; practical4/2e.1, answered with yes",
    predict=lambda s: Interval.at_most(s.beta * theory.nearest_mixture(Middle.A)[1]),
    settings=tuple(SecondToken(middle=middle, beta=beta) for middle in SUMS for beta in BETAS),
)

CLAIMS = (SELF_COPY, SUM_COPY, NO_MIXTURE, RANDOM_MIXTURES, BEST_MIXTURE, ADDING_HELPS)
