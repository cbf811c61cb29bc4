"""Claims about counts: whole numbers, from shapes alone, with nothing random in them."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Verdict
from attnlab_theory.stats import Interval, exact

P = TypeVar("P")

WHOLE = 0.25
"""A measured interval of this radius holds one whole number."""


def shape(*sizes: int) -> Any:
    """An array that is never made: counting needs its shape only."""
    return jax.ShapeDtypeStruct(sizes, jnp.float32)


def counted_claim(
    name: str,
    statement: str,
    source: str,
    *,
    predict: Callable[[P], int],
    measure: Callable[[P], int],
    settings: tuple[P, ...],
    expect: Verdict = Verdict.SUPPORTED,
) -> Claim[P]:
    """A claim that what is counted is a whole number known beforehand."""

    def draw(key: PRNGKeyArray, setting: P) -> Scalar:
        del key
        return float(measure(setting))

    return Claim(
        name=name,
        statement=statement,
        source=source,
        hypotheses={},
        predict=lambda s: Interval.point(float(predict(s))),
        draw=draw,
        bound=lambda s: exact(WHOLE),
        resolution=lambda s: 4 * WHOLE,
        settings=settings,
        expect=expect,
    )
