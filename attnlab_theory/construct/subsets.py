"""A query for the subset of keys that is wanted (docs/mathematics/selecting.md)."""

import dataclasses
import math
import operator
from collections.abc import Sequence

import numpy as np
from jaxtyping import Array, Float

from attnlab_theory import refuse
from attnlab_theory.construct import faces


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class SubsetQuery:
    """A direction in which all keys of a subset lead, together, by the largest margin.

    Attributes:
        keys: as given, in float64.
        subset: the wanted keys, in ascending order.
        query: the query of length 1 (2-norm) with the largest margin; zero if all keys are wanted.
        margin: lowest wanted score minus highest other score under `query`; infinite exactly if all are wanted.
        spread: highest minus lowest wanted score under `query`. It would be 0 without rounding, and strength
            multiplies it. So for keys that are themselves rounded there may be no strength that averages them.

    Example:
        `query_for_subset` makes it. The keys are e1, e2 and 0, and the first two are wanted.

        >>> found = query_for_subset(np.eye(3, 2), [0, 1])
        >>> found.subset, round(found.margin, 3)
        ((0, 1), 0.707)

        How strong must the query be for an error of at most 0.01? At the strength found, the bound on the error is
        at most 0.01, and the measured error is smaller.

        >>> strength = found.strength(0.01)
        >>> found.measured_error(strength) < found.error_bound(strength) <= 0.01
        True
        >>> print(faces.measured_weights(found.scaled(strength), found.keys).round(1))
        [0.5 0.5 0. ]
    """

    keys: Float[np.ndarray, "s d"]
    subset: tuple[int, ...]
    query: Float[np.ndarray, " d"]
    margin: float
    spread: float

    def scaled(self, strength: float) -> Float[np.ndarray, " d"]:
        """The query with this strength, for attention at scale 1."""
        return strength * self.query

    def strength(self, tolerance: float) -> float:
        """A length of the query at which the weights are certified to `tolerance` (see `error_bound`).

        Raises:
            ValueError: if the tolerance does not lie between 0 and 1, or is out of reach of the precision
                in which attention computes now.
        """
        if not 0 < tolerance < 1:
            raise ValueError(f"tolerance must lie between 0 and 1, not {tolerance}")
        if math.isinf(self.margin):
            return 0.0
        # Half of the tolerance is for the weight that leaks, the other half for rounding, which grows with
        # strength.
        rivals = (len(self.keys) - len(self.subset)) / len(self.subset)
        strength = max(0.0, math.log(rivals * (2 - tolerance) / tolerance) / self.margin)
        if math.isinf(strength):
            raise ValueError(
                f"keys are too small or too close together: their margin {self.margin:.3g} needs a query longer "
                "than double precision holds; scale the keys up"
            )
        certified = self.error_bound(strength)
        if not certified <= tolerance:
            raise ValueError(
                f"a tolerance of {tolerance:g} cannot be certified: at the strength {strength:.3g} that it needs, "
                f"rounding to {faces.precision().name} alone allows an error of {certified:.2g}; "
                "choose a larger tolerance"
                + ("" if faces.precision() == np.float64 else ", or enable 64-bit numbers in jax")
            )
        return strength

    def error_bound(self, strength: float) -> float:
        """Certified bound on the total variation between the weights and an equal share of the subset.

        It bounds the weight off the subset, the error of every single weight, and, times the largest
        distance between two values, the error of the output. Say that wanted scores are within s of each other and
        the rest at least m below. Then the bound is 1 - 1 / (e^s + (n - |S|)/|S| e^{-m}), the leak bound of a copy
        where |S| = 1. s and m include what the scores can lose by rounding to the precision that attention computes
        in now: (d + 3) eps times the largest sum_j |k_ij q_j|.

        Raises:
            ValueError: if `strength` is negative or not finite.
        """
        refuse.negative(strength=strength)
        refuse.non_finite(strength=strength)
        n, d = self.keys.shape
        eps = float(np.finfo(faces.precision()).eps)
        moved = strength * (d + 3) * eps * float(np.max(np.abs(self.keys) @ np.abs(self.query)))
        apart = strength * self.spread + 2 * moved
        rivals = (n - len(self.subset)) / len(self.subset)
        leak = rivals * math.exp(min(0.0, 2 * moved - strength * self.margin)) if rivals else 0.0
        # expm1 keeps the digits of a small error; beyond 700 the bound is 1 anyway.
        excess = math.expm1(min(apart, 700.0)) + leak
        return min(1.0, excess / (1 + excess) + (n + 8) * eps)

    def measured_error(self, strength: float) -> float:
        """The same total variation, measured on the weights that attention itself returns.

        Raises:
            ValueError: if `strength` is negative or not finite.
        """
        refuse.negative(strength=strength)
        refuse.non_finite(strength=strength)
        weights = faces.measured_weights(self.scaled(strength), self.keys)
        wanted = np.zeros(len(weights))
        wanted[list(self.subset)] = 1 / len(self.subset)
        return float(np.sum(np.abs(weights - wanted)) / 2)


def query_for_subset(keys: Float[np.ndarray, "s d"] | Float[Array, "s d"], subset: Sequence[int]) -> SubsetQuery:
    """The query that averages exactly the given keys, with the largest margin in the 2-norm.

    A strong query averages the keys that share its largest score. These are all the keys on one face of the convex
    hull of the keys, or all keys for the query 0. So a subset can be selected if and only if it is all the keys on
    one face, duplicates and keys that are no corners too. The margin decides this: one that is no larger than the
    keys' own rounding counts as 0. For the error message, a separate linear programme finds the smallest face.

    The 2-norm makes the answer scale-free and independent of rotations: shifting all keys leaves the query,
    multiplying them by c multiplies the margin by c. Scores inside the subset must agree to the last digit,
    since strength multiplies any difference (keys rounded to two digits collapse onto one at strength
    1e5). So the query is made orthogonal to all differences twice, and `spread` says how much they still differ.

    Args:
        keys: one row each. Their dtype says how precisely they are known.
        subset: indices of the wanted keys, each once, in any order.

    Raises:
        ValueError: if the subset is not all the keys on a face (with the reason, and the smallest larger set that
            is). Or if it is empty, repeats an index or leaves the range. Or if keys are not a finite matrix or are
            so large that scores overflow.

    Example:
        The average of the keys e1 and e2, without 0: a query along (1, 1).

        >>> found = query_for_subset(np.eye(3, 2), [0, 1])
        >>> print(found.query.round(3), round(found.margin, 3))
        [0.707 0.707] 0.707

        The middle of three keys on a line cannot be selected alone.

        >>> query_for_subset(np.array([[0.0], [1.0], [2.0]]), [1])
        Traceback (most recent call last):
            ...
        ValueError: no query selects exactly {1}: key 1 is the mixture 0.5 key 0 + 0.5 key 2 of the others; ...

    Source: docs/mathematics/selecting.md; faces as maximisers: Rockafellar 1970, "Convex analysis", section 18.
    """
    unit, exact, size = faces.normalised(keys)
    chosen = _checked(subset, len(exact))
    if len(chosen) == len(exact):
        return SubsetQuery(keys=exact, subset=chosen, query=np.zeros(exact.shape[1]), margin=math.inf, spread=0.0)
    rounding = faces.rounding_of(np.asarray(keys)) / size
    query, margin = faces.widest_margin(unit, chosen, rounding)
    if not margin > rounding:
        raise ValueError(_why_not(unit, chosen, rounding))
    scores = (unit - np.mean(unit[list(chosen)], axis=0, keepdims=True)) @ query
    # No score is larger, and no difference of two scores more than twice as large.
    longest = float(np.max(np.abs(unit) @ np.abs(query))) * size
    if math.isinf(2 * longest):
        raise ValueError(f"keys as large as {size:.3g} have scores beyond double precision; scale them down")
    return SubsetQuery(
        keys=exact,
        subset=chosen,
        query=query,
        margin=margin * size,
        spread=float(np.ptp(scores[list(chosen)])) * size,
    )


def _why_not(keys: Float[np.ndarray, "s d"], chosen: tuple[int, ...], rounding: float) -> str:
    """The error message for a subset: which other keys every such query favours too, and why."""
    wanted = keys[list(chosen)]
    face = faces.face_around(keys, np.mean(wanted, axis=0))
    extra = [j for j in face if j not in chosen]
    head = f"no query selects exactly {faces.listed(chosen)}: "
    if not extra:
        return head + "the largest margin is no larger than the rounding of the keys themselves"
    for j in extra:
        mixture, distance = faces.nearest_mixture(wanted, keys[j])
        if distance <= max(rounding, 1e-12):
            same = len(chosen) == 1 or np.max(mixture) > 1 - 1e-9
            what = (
                _alike(keys, j, chosen[int(np.argmax(mixture))], rounding)
                if same
                else f"key {j} is the mixture {_mixed(mixture, chosen)}: a query that favours these favours it"
            )
            break
    else:
        if len(chosen) == 1:
            others = [j for j in range(len(keys)) if j != chosen[0]]
            mixture, _ = faces.nearest_mixture(keys[others], wanted[0])
            what = f"key {chosen[0]} is the mixture {_mixed(mixture, others)} of the others"
        else:
            where = (
                "inside the hull of all keys"
                if len(face) == len(keys)
                else f"on the face of keys {faces.listed(face)}"
            )
            what = f"their mean lies {where}, which a query cannot favour without favouring {faces.listed(extra)}"
    larger = "all the keys" if len(face) == len(keys) else faces.listed(face)
    return f"{head}{what}; the smallest selectable set that holds them is {larger}"


def _alike(keys: Float[np.ndarray, "s d"], j: int, i: int, rounding: float) -> str:
    apart = float(np.linalg.norm(keys[j] - keys[i]))
    if apart == 0:
        return f"key {j} is a copy of key {i}"
    return (
        f"key {j} differs from key {i} by no more than {apart:.3g} times the largest entry of all keys, whose own "
        f"rounding is {rounding:.3g} of it"
    )


def _mixed(mixture: np.ndarray, indices: Sequence[int]) -> str:
    return " + ".join(f"{w:.3g} key {i}" for w, i in zip(mixture, indices, strict=True) if w > 1e-9)


def _checked(subset: Sequence[int], n: int) -> tuple[int, ...]:
    try:
        given = list(subset)
    except TypeError:
        raise ValueError(f"subset must list the numbers of the wanted keys, not {subset!r}") from None
    if any(refuse.is_boolean(i) for i in given):
        raise ValueError(
            f"subset must list the numbers of the wanted keys, not {given}; "
            "numpy.flatnonzero turns a mask into them"
        )
    for i in given:
        refuse.not_whole(**{"each number in subset": i})
    chosen = [operator.index(i) for i in given]
    if not chosen:
        raise ValueError("subset must name at least one key: weights always add up to 1")
    for i in chosen:
        if not 0 <= i < n:
            raise ValueError(f"subset holds {i}, but the keys are numbered 0 to {n - 1}")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"subset must name every key once, not {chosen}")
    return tuple(sorted(chosen))
