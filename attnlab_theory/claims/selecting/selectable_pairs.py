"""How often a random set of keys can be selected (docs/mathematics/selecting.md)."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, Verdict, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.construct import query_for_subset
from attnlab_theory.construct.leads import query_for_first
from attnlab_theory.stats import Interval, exact, proportion
from attnlab_theory.theory.selecting import selectable_pairs as theory

MOST_KEYS, MOST_DIMENSIONS = 32, 8


class NormalKeys(Setting):
    """n standard normal keys in d dimensions; is the set of the first `size` selectable?

    MOST_KEYS keys of MOST_DIMENSIONS coordinates are drawn, and the first n and d of them are kept: all settings of
    one size share a compilation and their draws.
    """

    size: int
    n: Traced[int]
    d: Traced[int]


STRENGTH = 12.0
"""Lead of the selected set over every other key: 32 keys then leak less than 2e-4."""


def _is_selected(key: PRNGKeyArray, setting: NormalKeys) -> Float[Array, ""]:
    """Whether attention gives each of the first keys nearly its share, under the best query there is."""
    keys = jax.random.normal(key, (MOST_KEYS, MOST_DIMENSIONS))
    keys = jnp.where(jnp.arange(MOST_DIMENSIONS, dtype=keys.dtype)[None, :] < setting.d, keys, 0.0)
    # Keys beyond the n-th become copies of it, which changes no hull and selects nothing else.
    keys = keys[jnp.minimum(jnp.arange(MOST_KEYS, dtype=jnp.int32), jnp.asarray(setting.n).astype(jnp.int32) - 1)]
    query, lead = query_for_first(keys, setting.size)
    # A length over 1e5 would drown in the rounding of float32.
    strength = jnp.where(lead > 0, jnp.minimum(STRENGTH / jnp.where(lead > 0, lead, 1.0), 1e5), 0.0)
    query = strength * query
    weights = attention_weights(query[None, :], keys, scale=1.0)[0]
    return jnp.where(jnp.min(weights[: setting.size]) > 0.9 / setting.size, 1.0, 0.0)


ROOM = (
    at_least(size=1, d=1)
    | at_most(size=2)
    | {
        f"d <= {MOST_DIMENSIONS}": lambda s: s.d <= MOST_DIMENSIONS,
        f"size < n <= {MOST_KEYS}": lambda s: s.size < s.n <= MOST_KEYS,
    }
)


def _share(setting: NormalKeys) -> float:
    return theory.share_of_faces(setting.n, setting.d, setting.size)


def _share_instead(setting: NormalKeys) -> Interval:
    if setting.size == 1:
        return Interval.point(theory.share_that_lead_themselves(setting.n, setting.d))
    return Interval.at_least(theory.least_share_of_corner_pairs(setting.n, setting.d))


SHARE_SELECTABLE = Claim(
    name="share-of-selectable-sets",
    statement="Some query averages $k$ given keys of $n$ Gaussian keys in $d$ dimensions with the probability "
    r"that they are a face of the keys' hull: $2 \sum_{m = d, d-2, \ldots} \binom{n-k}{m-k} \beta(k, m) \gamma(m, "
    r"n)$, where $\beta(k, m)$ is an internal and $\gamma(m, n)$ an external angle of a regular simplex.",
    source="mathematics/selecting.md#how-often-random-keys-can-be-averaged; Baryshnikov and Vitale 1994; "
    "practical4/2b; cs224n/1b.ii",
    hypotheses=ROOM,
    predict=lambda s: Interval.point(_share(s)),
    draw=_is_selected,
    bound=proportion(),
    # Proportional to a draw's standard deviation, so that every setting needs as many draws.
    resolution=lambda s: 0.115 * (_share(s) * (1 - _share(s))) ** 0.5,
    # Dimensions in which some sets can be selected and some cannot.
    settings=(
        *(NormalKeys(size=1, n=16, d=d) for d in (2, 3, 4, 6)),
        *(NormalKeys(size=2, n=8, d=d) for d in (2, 3, 4)),
        *(NormalKeys(size=2, n=16, d=d) for d in (2, 3, 4, 6)),
        *(NormalKeys(size=2, n=32, d=d) for d in (2, 3, 4, 6, 8)),
    ),
    rival=Rival(
        statement="A key is copied by its own query or by none; two keys can be averaged if each can be copied.",
        source="uw/1.2.1, for any keys; practical4/2b, corners taken for edges",
        predict=_share_instead,
    ),
    stream="normal-keys",
    chunk=64,
)

FIRST_TABLE = {2: 0.07, 3: 0.14, 4: 0.44, 8: 0.97}
"""For each dimension, the share of the pairs of 16 keys in the first table, where 2**14 draws can refute it."""

AS_FIRST_TABLED = foil(
    SHARE_SELECTABLE,
    name="share-of-selectable-pairs-as-first-tabled",
    statement="Of the pairs of 16 Gaussian keys one query can average 7 % in two dimensions, 14 % in three, 44 % "
    "in four and 97 % in eight.",
    source="mathematics/selecting.md#how-often-random-keys-can-be-averaged, an earlier table of the lab",
    hypotheses={"a pair of 16 keys": lambda s: (s.size, s.n) == (2, 16), "tabled": lambda s: s.d in FIRST_TABLE},
    predict=lambda s: Interval.point(FIRST_TABLE[s.d]),
    resolution=0.02,
    # As many settings as the claim below: the compiled draw is shared.
    settings=tuple(NormalKeys(size=2, n=16, d=d) for d in FIRST_TABLE),
)

ANY_PAIR = Claim(
    name="any-random-pair-can-be-averaged",
    statement="Any two of n > d + 1 Gaussian keys in two or three dimensions can be averaged.",
    source="mathematics/selecting.md#how-often-random-keys-can-be-averaged; Baryshnikov and Vitale 1994; "
    "practical4/2b; cs224n/1b.ii, without the condition that keys are orthonormal",
    hypotheses={**ROOM, "n > d + 1": lambda s: s.n > s.d + 1},
    predict=Interval.point(1.0),
    draw=_is_selected,
    bound=proportion(),
    resolution=0.16,
    settings=tuple(NormalKeys(size=2, n=n, d=d) for n in (8, 16) for d in (2, 3)),
    expect=Verdict.REFUTED,
    stream=SHARE_SELECTABLE,
    chunk=64,
)


class KeysOnCurve(Setting):
    """n keys spread evenly over the curve (cos t, sin t, cos 2t, sin 2t), the corners of a cyclic polytope."""

    n: int
    d: int


def _share_of_pairs(key: PRNGKeyArray, setting: KeysOnCurve) -> Scalar:
    """The share of all pairs for which attention can give both keys a weight of at least 0.49."""
    del key
    angles = 2 * np.pi * np.arange(setting.n)[:, None] / setting.n * np.arange(1, setting.d // 2 + 1)[None, :]
    keys = np.hstack([np.cos(angles), np.sin(angles)])
    return float(np.mean([_is_averaged(keys, pair) for pair in itertools.combinations(range(setting.n), 2)]))


def _is_averaged(keys: np.ndarray, pair: tuple[int, int]) -> bool:
    try:
        found = query_for_subset(keys, pair)
    except ValueError:
        return False
    # The tolerance is in total variation: no weight is off by more.
    strength = found.strength(0.01)
    q = jnp.asarray(found.scaled(strength)[None, :])
    weights = np.asarray(attention_weights(q, jnp.asarray(keys), scale=1.0)[0])
    return bool(np.min(weights[list(pair)]) >= 0.49)


ON_THE_CURVE = at_least(d=2) | {"d is even": lambda s: s.d % 2 == 0, "n > d": lambda s: s.n > s.d}

ALWAYS_SOME_PAIR = Claim(
    name="beyond-d-plus-1-keys-some-pair-cannot-be-averaged",
    statement=r"Of more than $d + 1$ keys there is always a pair that no query averages.",
    source="mathematics/selecting.md#cyclic-polytopes; Gale 1963, whose cyclic polytopes refute it",
    hypotheses=ON_THE_CURVE | {"n > d + 1": lambda s: s.n > s.d + 1},
    predict=lambda s: Interval.at_most(1 - 2 / (s.n * (s.n - 1))),
    draw=_share_of_pairs,
    bound=exact(1e-6),
    resolution=4e-6,
    settings=(KeysOnCurve(n=7, d=4), KeysOnCurve(n=9, d=4)),
    expect=Verdict.REFUTED,
)

NEIGHBOURLY = Claim(
    name="every-pair-of-a-cyclic-polytope",
    statement=r"For the corners of a cyclic polytope every pair can be averaged from $d = 4$ on, and at $d = 2$ "
    r"only the $n$ neighbours.",
    source="mathematics/selecting.md#cyclic-polytopes; Gale 1963",
    hypotheses=ON_THE_CURVE,
    predict=lambda s: Interval.point(1.0 if s.d >= 4 else 2 / (s.n - 1)),
    draw=_share_of_pairs,
    bound=exact(1e-6),
    resolution=4e-6,
    settings=(KeysOnCurve(n=9, d=2), KeysOnCurve(n=7, d=4), KeysOnCurve(n=9, d=4), KeysOnCurve(n=9, d=6)),
    rival=Rival(
        statement="As many pairs can be averaged as of Gaussian keys.",
        source="Baryshnikov and Vitale 1994, their points in the place of these",
        predict=lambda s: Interval.point(theory.share_of_faces(s.n, s.d, 2)),
    ),
)

CLAIMS = (SHARE_SELECTABLE, AS_FIRST_TABLED, ANY_PAIR, ALWAYS_SOME_PAIR, NEIGHBOURLY)
