"""Claims about counts: whole numbers, from shapes alone, with nothing random in them."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, exact_claim, foil
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval

P = TypeVar("P", bound=Setting)

WHOLE = 0.25
"""A measured interval of this radius holds one whole number."""


def shape(*sizes: int) -> Any:
    """An array that is never made: counting needs its shape only."""
    return jax.ShapeDtypeStruct(sizes, jnp.float32)


def _whole(number: Callable[[P], int]) -> Callable[[P], Interval]:
    """The prediction of a whole number."""
    return lambda setting: Interval.point(float(number(setting)))


def counted(measure: Callable[[P], int]) -> Callable[[PRNGKeyArray, P], Scalar]:
    """The draw of a counted claim: it ignores its key and returns the count."""

    def draw(key: PRNGKeyArray, setting: P) -> Scalar:
        del key
        return float(measure(setting))

    return draw


def counted_rival(*, statement: str, source: str, predict: Callable[[P], int]) -> Rival[P]:
    """Another whole number that would be believed instead."""
    return Rival(statement=statement, source=source, predict=_whole(predict))


def counted_claim(
    *,
    name: str,
    statement: str,
    source: str,
    hypotheses: Mapping[str, Callable[[P], bool]] | None = None,
    predict: Callable[[P], int],
    measure: Callable[[P], int],
    settings: tuple[P, ...],
    rival: Rival[P] | None = None,
) -> Claim[P]:
    """A claim that what is counted is a whole number known beforehand."""
    return exact_claim(
        name=name,
        statement=statement,
        source=source,
        hypotheses=hypotheses,
        predict=_whole(predict),
        draw=counted(measure),
        rounding=WHOLE,
        settings=settings,
        rival=rival,
    )


def counted_foil(
    claim: Claim[P],
    *,
    name: str,
    statement: str,
    source: str,
    predict: Callable[[P], int],
    settings: tuple[P, ...],
) -> Claim[P]:
    """A counted claim with another number predicted, a wrong one, judged on the very same count."""
    return foil(
        claim,
        name=name,
        statement=statement,
        source=source,
        predict=_whole(predict),
        settings=settings,
        stream=claim,
    )
