"""Which sets of keys a query can select (docs/mathematics/selecting.md)."""

import contextlib
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, Verdict, exact_claim
from attnlab_theory.claims.hypotheses import at_least
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.construct import query_for_subset, query_for_weights
from attnlab_theory.sampling import orthonormal
from attnlab_theory.stats import Interval, exact, proportion
from attnlab_theory.theory.selecting import selection as theory

EPS = float(np.finfo(np.float32).eps)

KEYS = ((-2.0, -1.0), (-0.4, -1.0), (2.0, -1.0), (2.6, 0.8), (0.9, 2.0), (-1.7, 1.5), (0.3, 0.5), (1.4, 0.2))
"""Eight keys in the plane: five corners, key 1 on the edge from 0 to 2, keys 6 and 7 inside."""

FACES = ((0,), (2,), (3,), (4,), (5,), (0, 1, 2), (2, 3), (3, 4), (4, 5), (0, 5), tuple(range(len(KEYS))))
"""What can be selected: all the keys on a corner or an edge of their hull, and all keys together."""

TRIPLES = ((2, 3, 4), (0, 2, 4), (5, 6, 7))
"""Corners in a row, corners not in a row, and a corner with two keys inside: no face holds just these."""

OTHERS = (
    *(s for size in (1, 2) for s in itertools.combinations(range(len(KEYS)), size) if s not in FACES),
    *TRIPLES,
)


class SubsetOfKeys(Setting):
    """Some of the eight keys and of copies of them, numbered from 8, and where they lie."""

    members: tuple[int, ...]
    copies: tuple[int, ...]
    places: tuple[tuple[float, ...], ...]

    @property
    def keys(self) -> np.ndarray:
        """All the keys, the copies last."""
        return np.array((*KEYS, *(KEYS[i] for i in self.copies)))

    @property
    def face(self) -> tuple[int, ...]:
        """All the keys, copies too, on the smallest face that holds these."""
        twins = [(len(KEYS) + place, i) for place, i in enumerate(self.copies)]
        faces = [(*face, *(twin for twin, i in twins if i in face)) for face in FACES]
        return min((face for face in faces if set(self.members) <= set(face)), key=len)


def _subset(members: tuple[int, ...], copies: tuple[int, ...] = ()) -> SubsetOfKeys:
    places = (*KEYS, *(KEYS[i] for i in copies))
    return SubsetOfKeys(members=members, copies=copies, places=tuple(places[i] for i in members))


def _are_numbers_of_keys(setting: SubsetOfKeys) -> bool:
    counts = (setting.copies, len(KEYS)), (setting.members, len(KEYS) + len(setting.copies))
    rising = setting.members == tuple(sorted(set(setting.members)))
    return rising and len(setting.members) > 0 and all(0 <= i < count for some, count in counts for i in some)


OF_THE_KEYS = {
    "members are numbers of keys": _are_numbers_of_keys,
    "places are the members'": lambda s: s == _subset(s.members, s.copies),
}

TOLERANCE = 1e-3
"""How close a query for a face must come to equal weights, in total variation."""


def measured_weights(query: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Weights of the real operator, with the query's length as its scale."""
    strength = float(np.linalg.norm(query)) or 1.0
    direction = jnp.asarray(query[None, :] / strength, jnp.float32)
    weights = attention_weights(direction, jnp.asarray(keys, jnp.float32), scale=strength)
    return np.asarray(weights[0], dtype=np.float64)


def _least_share(key: PRNGKeyArray, setting: SubsetOfKeys) -> Scalar:
    del key
    keys, members = setting.keys, list(setting.members)
    found = query_for_subset(keys, members)
    weights = measured_weights(found.scaled(found.strength(TOLERANCE)), keys)
    return float(len(members) * np.min(weights[members]))


FACES_SELECTABLE = Claim(
    name="faces-can-be-averaged",
    statement="For each face of the keys' convex hull, one query averages all keys on it, copies included, as "
    "closely as one likes. One query also averages all the keys.",
    source="mathematics/selecting.md#which-sets-can-be-averaged; Rockafellar 1970, section 18; practical4/2b",
    hypotheses=OF_THE_KEYS | {"the subset is a face": lambda s: s.members == s.face},
    # Total variation at most TOLERANCE: each weight is off by no more.
    predict=lambda s: Interval(1 - len(s.members) * TOLERANCE, 1.0),
    draw=_least_share,
    bound=exact(64 * EPS),
    resolution=256 * EPS,
    settings=(*map(_subset, FACES), *(_subset(members, (2,)) for members in ((2, 8), (2, 3, 8), (0, 1, 2, 8)))),
    rival=Rival(
        statement="One key more, near the others, gets as much weight as each of them.",
        source="softmax gives every key some weight",
        predict=lambda s: Interval.at_most(len(s.members) / (len(s.members) + 1)),
    ),
)


def _best_query(setting: SubsetOfKeys, wanted: np.ndarray) -> np.ndarray:
    """The query with the least divergence, or one far out on the ray along which the least divergence is
    approached."""
    keys, face = setting.keys, list(setting.face)
    out = query_for_subset(keys, face)
    # Along an edge the query is shorter than 8, its scores below 32: the ray overrules it from 64 on.
    return query_for_weights(keys[face], wanted[face]).query + 64 / out.margin * out.query


def _fidelity(key: PRNGKeyArray, setting: SubsetOfKeys) -> Scalar:
    del key
    keys, members = setting.keys, list(setting.members)
    wanted = np.zeros(len(keys))
    wanted[members] = 1 / len(members)
    weights = measured_weights(_best_query(setting, wanted), keys)
    return float(np.exp(np.mean(np.log(len(members) * weights[members]))))


ROUNDING = 8 * EPS * 128
"""The relative rounding of a weight: scores stay below 128 and are rounded in float32, a few times each."""

OTHERS_NOT = exact_claim(
    name="other-sets-fall-short",
    statement="A set that is not all of a face is averaged by no query: the geometric mean of its weights is at "
    r"most $1/|S|$ times $e^{-(H_{\max} - \ln |S|)}$, where $H_{\max}$ is the largest entropy of weights with the "
    "same mean key.",
    source="mathematics/selecting.md#which-sets-can-be-averaged; Rockafellar 1970, section 18; practical4/2b",
    hypotheses=OF_THE_KEYS | {"the subset is not a face": lambda s: s.members != s.face},
    predict=lambda s: Interval.point(theory.subset_fidelity(s.keys, s.members)),
    draw=_fidelity,
    rounding=ROUNDING,
    settings=(*map(_subset, OTHERS), *(_subset(members, (2,)) for members in ((0, 8), (3, 8), (0, 1, 2)))),
    rival=Rival(
        statement="It shares the weight evenly with all the keys on the smallest face that holds it.",
        source="what a query far out on the face's ray alone does",
        predict=lambda s: Interval.point(len(s.members) / len(s.face)),
    ),
)


ON_BOUNDARY = len({key for face in FACES[:-1] for key in face})


class SubsetSize(Setting):
    """All sets of so many of the eight keys."""

    size: int


def _answered(key: PRNGKeyArray, setting: SubsetSize) -> Scalar:
    """How many of the sets get a query and are not refused."""
    del key
    answered = 0
    for members in itertools.combinations(range(len(KEYS)), setting.size):
        with contextlib.suppress(ValueError):
            query_for_subset(np.array(KEYS), members)
            answered += 1
    return float(answered)


FACES_ONLY = Claim(
    name="only-faces-get-a-query",
    statement="Of eight keys exactly those sets get a query that are faces; all other sets are refused.",
    source="mathematics/selecting.md#which-sets-can-be-averaged; Rockafellar 1970, section 18; practical4/2b",
    hypotheses=at_least(size=1),
    predict=lambda s: Interval.point(float(sum(len(face) == s.size for face in FACES))),
    draw=_answered,
    bound=exact(0.0),
    # A count.
    resolution=0.25,
    settings=tuple(SubsetSize(size=size) for size in (1, 2, 3, len(KEYS))),
    rival=Rival(
        statement="Any keys on the boundary of the hull get a query.",
        source="the hull taken for its faces",
        predict=lambda s: Interval.point(float(math.comb(ON_BOUNDARY, s.size))),
    ),
)

BETWEEN = exact_claim(
    name="ends-of-a-line-can-be-averaged",
    statement="Of three keys on one line, the outer two can be averaged to weights of 0.49.",
    source="mathematics/selecting.md#which-sets-can-be-averaged; Rockafellar 1970, section 18; practical4/2b, "
    "the reading that any two corners can be averaged",
    hypotheses=OF_THE_KEYS,
    predict=Interval.at_least(0.98),
    draw=_fidelity,
    rounding=ROUNDING,
    settings=(_subset((0, 2)),),
    expect=Verdict.REFUTED,
)


class MixtureOfKeys(Setting):
    """A key that is a mixture of the first three of 2 + `others` keys, of two of them if `third` is 0."""

    others: int
    d: int
    share: Traced[float]
    third: float = 0.0

    @property
    def shares(self) -> tuple[float, float, float]:
        """The three weights of the mixture."""
        return self.share, 1 - self.share - self.third, self.third


def _traced_shares(setting: MixtureOfKeys) -> Float[Array, " 3"]:
    first, third = jnp.asarray(setting.share), jnp.asarray(setting.third)
    return jnp.stack([first, 1 - first - third, third])


def _weight_of_mixture(key: PRNGKeyArray, setting: MixtureOfKeys) -> Float[Array, ""]:
    """The weight of the mixture under a random query, near the best one or far from it.

    The other keys are orthonormal, so that queries can give them any scores.
    """
    for_keys, for_scores, for_distance = jax.random.split(key, 3)
    others = orthonormal(for_keys, 2 + setting.others, setting.d)
    shares = _traced_shares(setting).astype(others.dtype)
    shares = jnp.concatenate([shares, jnp.zeros(setting.others - 1, others.dtype)])
    best = jnp.where(shares > 0, jnp.log(jnp.where(shares > 0, shares, 1.0)), -8.0)
    distance = jnp.exp(2 * jax.random.normal(for_distance))
    scores = best + distance * jax.random.normal(for_scores, shares.shape)
    q = jnp.einsum("s,sd->d", scores, others)[None, :]
    mixed = jnp.einsum("s,sd->d", shares, others)[None, :]
    return attention_weights(q, jnp.concatenate([others, mixed]), scale=1.0)[0, -1]


def above_cap(share: float, key: PRNGKeyArray, setting: MixtureOfKeys) -> Float[Array, ""]:
    """Whether the mixture gets more than this share of its cap."""
    cap = 1 / (1 + jnp.exp(jnp.sum(jax.scipy.special.entr(_traced_shares(setting)))))
    return jnp.where(_weight_of_mixture(key, setting) > share * cap, 1.0, 0.0)


def _cap_broken(key: PRNGKeyArray, setting: MixtureOfKeys) -> Float[Array, ""]:
    # Where scores are near the best ones rounding moves a weight by some eps; far from them it moves nothing.
    return above_cap(1.001, key, setting)


PROPER = at_least(others=1) | {
    "2 + others <= d": lambda s: 2 + s.others <= s.d,
    "a mixture of two or three keys": lambda s: min(s.shares[:2]) >= 0.001 and (s.third == 0 or s.third >= 0.001),
}
THREE = (MixtureOfKeys(others=2, d=4, share=1 / 3, third=1 / 3), MixtureOfKeys(others=2, d=4, share=0.2, third=0.3))
"""The middle of three keys, and a mixture of unequal shares."""

CAP_NEVER_BROKEN = Claim(
    name="no-query-lifts-a-mixture-over-its-cap",
    statement=r"No query gives the key $\sum_i \lambda_i k_i$, a mixture of two or three others, more weight than "
    r"$1/(1+e^{H(\lambda)})$.",
    source="mathematics/selecting.md#a-key-that-is-a-mixture-of-others; practical4/2a; cs224n/1a.ii",
    hypotheses=PROPER,
    predict=Interval.point(0.0),
    draw=_cap_broken,
    bound=proportion(),
    resolution=2e-3,
    settings=(*(MixtureOfKeys(others=2, d=4, share=share) for share in (0.05, 0.2, 0.5)), *THREE),
    rival=Rival(
        statement="One query in five does.",
        source="as many as lift it over 99 % of the cap, and more",
        predict=Interval.at_least(0.2),
    ),
)


def _most_weight_of_mixture(key: PRNGKeyArray, setting: MixtureOfKeys) -> Scalar:
    """The weight of the mixture under the best query.

    The query gives the mixed keys weights in proportion to the mixture, and pushes the other keys away.
    """
    del key
    keys = np.eye(2 + setting.others, setting.d)
    mixed = [i for i, share in enumerate(setting.shares) if share]
    shares = np.array(setting.shares)[mixed]
    with_mixture = np.vstack([keys, shares @ keys[mixed]])
    query = query_for_weights(keys[mixed], shares).query
    away = query_for_subset(with_mixture, [*mixed, len(keys)])
    query = query + 64 / away.margin * away.query
    return float(measured_weights(query, with_mixture)[-1])


CAP_REACHED = exact_claim(
    name="best-query-reaches-the-mixture-cap",
    statement=r"The cap $1/(1+e^{H(\lambda)})$ on a mixture's weight is reached: the middle of two keys gets 1/3, "
    r"of three 1/4.",
    source="mathematics/selecting.md#a-key-that-is-a-mixture-of-others; practical4/2a; cs224n/1a.ii",
    hypotheses=PROPER,
    predict=lambda s: Interval.point(theory.mixture_cap(s.shares)),
    draw=_most_weight_of_mixture,
    rounding=ROUNDING,
    settings=(
        *(MixtureOfKeys(others=2, d=4, share=share) for share in (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)),
        *THREE,
    ),
    rival=Rival(
        statement=r"The best query gives it $e^{-H(\lambda)}$.",
        source="its own weight left out of the normaliser",
        predict=lambda s: Interval.point(1 / (1 / theory.mixture_cap(s.shares) - 1)),
    ),
)

ANY_KEY = exact_claim(
    name="any-key-can-be-copied",
    statement="Some query gives any one key, a mixture of others among them, at least 99 % of the weight.",
    source="mathematics/selecting.md#a-key-that-is-a-mixture-of-others; practical4/2a; cs224n/1a.ii, without its "
    "condition on the keys",
    hypotheses=PROPER,
    predict=Interval.at_least(0.99),
    draw=_most_weight_of_mixture,
    rounding=ROUNDING,
    settings=tuple(MixtureOfKeys(others=2, d=4, share=share) for share in (0.05, 0.2, 0.5)),
    expect=Verdict.REFUTED,
)


CLAIMS = (
    FACES_SELECTABLE,
    OTHERS_NOT,
    FACES_ONLY,
    BETWEEN,
    CAP_NEVER_BROKEN,
    CAP_REACHED,
    ANY_KEY,
)
