"""Which sets of keys a query can select (claims B.3)."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Verdict
from attnlab_theory.construct import query_for_subset, query_for_weights
from attnlab_theory.stats import Interval, exact, proportion
from attnlab_theory.theory import selection as theory

EPS = float(np.finfo(np.float32).eps)

KEYS = ((-2.0, -1.0), (-0.4, -1.0), (2.0, -1.0), (2.6, 0.8), (0.9, 2.0), (-1.7, 1.5), (0.3, 0.5), (1.4, 0.2))
"""Eight keys in the plane: five corners, key 1 on the edge from 0 to 2, keys 6 and 7 inside."""

FACES = ((0,), (2,), (3,), (4,), (5,), (0, 1, 2), (2, 3), (3, 4), (4, 5), (0, 5))
"""All the keys on a corner or an edge of their hull: what can be selected."""

OTHERS = tuple(s for size in (1, 2) for s in itertools.combinations(range(len(KEYS)), size) if s not in FACES)


@dataclasses.dataclass(frozen=True)
class Subset:
    """Some of the eight keys, and where they lie."""

    members: tuple[int, ...]
    places: tuple[tuple[float, ...], ...]


def _subset(members: tuple[int, ...]) -> Subset:
    return Subset(members, tuple(KEYS[i] for i in members))


TOLERANCE = 1e-3
"""What is asked of a query for a face, in total variation of the weights."""


def measured_weights(query: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Weights of the real operator, at the scale that the query's length says."""
    strength = float(np.linalg.norm(query)) or 1.0
    direction = jnp.asarray(query[None, :] / strength, jnp.float32)
    weights = attention_weights(direction, jnp.asarray(keys, jnp.float32), scale=strength)
    return np.asarray(weights[0], dtype=np.float64)


def _least_share(key: PRNGKeyArray, setting: Subset) -> Scalar:
    del key
    keys, members = np.array(KEYS), list(setting.members)
    found = query_for_subset(keys, members)
    weights = measured_weights(found.scaled(found.strength(TOLERANCE)), keys)
    return float(len(members) * np.min(weights[members]))


FACES_SELECTABLE = Claim(
    name="faces-can-be-averaged",
    statement=r"All the keys on a face of the hull can be averaged by one query, as closely as one likes.",
    source="claims B.3",
    hypotheses={"the subset is a face": lambda s: s.members in FACES},
    # Total variation at most TOLERANCE: each weight is off by no more.
    predict=lambda s: Interval(1 - len(s.members) * TOLERANCE, 1.0),
    draw=_least_share,
    bound=lambda s: exact(64 * EPS),
    resolution=lambda s: 256 * EPS,
    settings=tuple(map(_subset, FACES)),
)


def _best_query(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The query with the least divergence, or one far out on the ray along which that is approached."""
    try:
        return query_for_weights(keys, wanted).query
    except ValueError:
        # The mean key lies on a face: only the edge 0-1-2 has keys that are no corner.
        edge = [0, 1, 2]
        out = query_for_subset(keys, edge)
        # Along the edge the query is shorter than 8, its scores below 32: the ray overrules it from 64 on.
        return query_for_weights(keys[edge], wanted[edge]).query + 64 / out.margin * out.query


def _fidelity(key: PRNGKeyArray, setting: Subset) -> Scalar:
    del key
    keys, members = np.array(KEYS), list(setting.members)
    wanted = np.zeros(len(keys))
    wanted[members] = 1 / len(members)
    weights = measured_weights(_best_query(keys, wanted), keys)
    return float(np.exp(np.mean(np.log(len(members) * weights[members]))))


ROUNDING = 8 * EPS * 128
"""Of a weight, relative: scores stay below 128 and are rounded in float32, a few times each."""

OTHERS_NOT = Claim(
    name="other-sets-fall-short",
    statement=r"A set that is not all of a face is averaged by no query: the geometric mean of its weights stays "
    r"below $1/|S|$ by the factor $e^{-(H_{\max} - \ln |S|)}$, $H_{\max}$ the most entropy with the same mean key.",
    source="claims B.3",
    hypotheses={"the subset is not a face": lambda s: s.members not in FACES},
    predict=lambda s: Interval.point(theory.subset_fidelity(np.array(KEYS), s.members)),
    draw=_fidelity,
    bound=lambda s: exact(ROUNDING),
    resolution=lambda s: 4 * ROUNDING,
    settings=tuple(map(_subset, OTHERS)),
)

BETWEEN = Claim(
    name="ends-of-a-line-can-be-averaged",
    statement="Of three keys on one line, the outer two can be averaged to weights of 0.49.",
    source="a foil: the reading that any two corners can be averaged",
    hypotheses={},
    predict=lambda s: Interval.at_least(0.98),
    draw=_fidelity,
    bound=lambda s: exact(ROUNDING),
    resolution=lambda s: 4 * ROUNDING,
    settings=(_subset((0, 2)),),
    expect=Verdict.REFUTED,
)


@dataclasses.dataclass(frozen=True)
class Mixture:
    """A key that lies between two others, `share` of the way from the second to the first; `others` more keys."""

    others: int
    d: int
    share: float

    @property
    def shares(self) -> tuple[float, float]:
        """The two weights of the mixture."""
        return self.share, 1 - self.share


def _weight_of_mixture(key: PRNGKeyArray, setting: Mixture) -> Float[Array, ""]:
    """Its weight under a random query of a random strength, near the best one or far from it."""
    for_keys, for_query, for_strength = jax.random.split(key, 3)
    others = jax.random.normal(for_keys, (2 + setting.others, setting.d))
    first = jnp.asarray(setting.share, others.dtype)
    mixed = first * others[0] + (1 - first) * others[1]
    q = jax.random.normal(for_query, (1, setting.d))
    strength = jnp.exp(3 * jax.random.normal(for_strength))
    weights = attention_weights(q, jnp.concatenate([others, mixed[None, :]]), scale=strength)
    return weights[0, -1]


def _cap_broken(key: PRNGKeyArray, setting: Mixture) -> Float[Array, ""]:
    first = jnp.asarray(setting.share)
    cap = 1 / (1 + jnp.exp(-first * jnp.log(first) - (1 - first) * jnp.log(1 - first)))
    # One part in a hundred above the cap is far beyond rounding and far below what a wrong cap would show.
    return jnp.where(_weight_of_mixture(key, setting) > 1.01 * cap, 1.0, 0.0)


PROPER = {"0 < share < 1": lambda s: 0 < s.share < 1}

CAP_NEVER_BROKEN = Claim(
    name="no-query-lifts-a-mixture-over-its-cap",
    statement=r"No query gives the key $\lambda k_1 + (1-\lambda) k_2$ more weight than $1/(1+e^{H(\lambda)})$.",
    source="claims B.3",
    hypotheses=PROPER,
    predict=lambda s: Interval.point(0.0),
    draw=_cap_broken,
    bound=lambda s: proportion(),
    resolution=lambda s: 2e-3,
    settings=tuple(Mixture(2, 4, share) for share in (0.05, 0.2, 0.5)),
)


def _most_weight_of_mixture(key: PRNGKeyArray, setting: Mixture) -> Scalar:
    """Its weight under the best query: ends weighted by the mixture, the other keys pushed away."""
    del key
    keys = np.eye(2 + setting.others, setting.d)
    with_mixture = np.vstack([keys, setting.share * keys[0] + (1 - setting.share) * keys[1]])
    query = query_for_weights(keys[:2], np.array(setting.shares)).query
    line = [0, 1, len(keys)]
    away = query_for_subset(with_mixture, line)
    query = query + 64 / away.margin * away.query
    return float(measured_weights(query, with_mixture)[-1])


CAP_REACHED = Claim(
    name="best-query-reaches-the-mixture-cap",
    statement=r"The cap $1/(1+e^{H(\lambda)})$ on a mixture's weight is reached: a midpoint gets 1/3.",
    source="claims B.3",
    hypotheses=PROPER,
    predict=lambda s: Interval.point(theory.mixture_cap(s.shares)),
    draw=_most_weight_of_mixture,
    bound=lambda s: exact(ROUNDING),
    resolution=lambda s: 4 * ROUNDING,
    settings=tuple(Mixture(2, 4, share) for share in (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)),
)

ANY_KEY = Claim(
    name="any-key-can-be-copied",
    statement="Some query gives any one key, a mixture of others among them, at least 99 % of the weight.",
    source="the reading of practical4 2a and cs224n 1a.ii without its condition on the keys",
    hypotheses=PROPER,
    predict=lambda s: Interval.at_least(0.99),
    draw=_most_weight_of_mixture,
    bound=lambda s: exact(ROUNDING),
    resolution=lambda s: 4 * ROUNDING,
    settings=tuple(Mixture(2, 4, share) for share in (0.05, 0.2, 0.5)),
    expect=Verdict.REFUTED,
)


CLAIMS = (
    FACES_SELECTABLE,
    OTHERS_NOT,
    BETWEEN,
    CAP_NEVER_BROKEN,
    CAP_REACHED,
    ANY_KEY,
)
