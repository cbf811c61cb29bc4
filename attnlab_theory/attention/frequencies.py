"""How fast each pair of coordinates turns, in radians per token, where rotary positions are stretched.

A model that was trained on `original` positions reads further ones if its pairs turn more slowly. Which pairs, and
by how much, is what the methods differ in. All tables are made in float64; `rotary` takes them as `frequencies`.
"""

import math
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

from attnlab_theory import refuse

Ramp = Literal["index", "rotations"]
"""The axis along which YaRN's ramp is straight. index: the number of a pair, as in its published code. rotations:
the turns that a pair makes within the original length, as in the paper."""


def rotary_frequencies(width: int, *, base: float = 10000.0) -> Float[np.ndarray, " half"]:
    """The frequencies that `rotary` has by itself: base**(-2j/width) of pair j.

    >>> rotary_frequencies(4)
    array([1.  , 0.01])

    Args:
        width: how many coordinates turn, an even number. It is less than the vectors' width if only a part turns.
        base: the frequencies fall as its powers; dimensionless.

    Raises:
        ValueError: if the width is odd or not positive, or the base is not positive and finite.

    Source: Su et al. 2021 (RoFormer), section 3.2.2.
    """
    refuse.not_whole(width=width)
    if not (width > 0 and width % 2 == 0):
        raise ValueError(f"the width must be even and positive, not {width}: coordinates turn in pairs")
    refuse.not_positive(base=base)
    refuse.non_finite(base=base)
    return float(base) ** (-np.arange(0, width, 2) / width)


def interpolated_frequencies(width: int, *, factor: float, base: float = 10000.0) -> Float[np.ndarray, " half"]:
    """All pairs turn `factor` times more slowly: positions are squeezed into the original length.

    Args:
        width: how many coordinates turn, an even number. It is less than the vectors' width if only a part turns.
        factor: how many times longer the texts are, at least 1.
        base: the frequencies fall as its powers; dimensionless.

    Raises:
        ValueError: if the width is odd or not positive, the base is not positive and finite, or the factor is below
            1 or not finite.

    Example:
        Texts are twice as long, so both pairs turn half as fast.

        >>> interpolated_frequencies(4, factor=2.0)
        array([0.5  , 0.005])

    Source: Chen et al. 2023, "Positional interpolation", eq. (4).
    """
    return rotary_frequencies(width, base=base) / _factor(factor)


def ntk_frequencies(width: int, *, factor: float, base: float = 10000.0) -> Float[np.ndarray, " half"]:
    """A larger base: the slowest pair turns `factor` times more slowly, the fastest as before.

    Args:
        width: how many coordinates turn, an even number. It is less than the vectors' width if only a part turns.
        factor: how many times longer the texts are, at least 1.
        base: the frequencies fall as its powers; dimensionless.

    Raises:
        ValueError: if the width is odd or not positive, there is one pair only, the base is not positive and
            finite, or the factor is below 1 or not finite.

    Example:
        The first pair turns as before, the last one half as fast.

        >>> ntk_frequencies(4, factor=2.0)
        array([1.   , 0.005])

    Source: Peng et al. 2024, "YaRN", section 3.1, there called NTK-aware interpolation.
    """
    refuse.not_whole(width=width)
    if width < 4:
        raise ValueError(f"a width of {width} has one pair, the fastest and the slowest: give two at least")
    stretched = base * _factor(factor) ** (width / (width - 2))
    return rotary_frequencies(width, base=stretched)


def yarn_frequencies(
    width: int,
    *,
    factor: float,
    original: int,
    base: float = 10000.0,
    fast: float = 32.0,
    slow: float = 1.0,
    ramp: Ramp = "index",
) -> Float[np.ndarray, " half"]:
    """Pairs that turn often within the original length turn as before, others `factor` times more slowly.

    Between the two, frequencies are mixed along a straight ramp. Scores are scaled, too: `yarn_scale`.

    Args:
        width: how many coordinates turn, an even number.
        factor: how many times longer the texts are, at least 1.
        original: positions that the model was trained on.
        base: the frequencies fall as its powers; above 1, dimensionless.
        fast: a pair that makes at least this many turns within the original length is left alone.
        slow: a pair that makes at most this many turns is slowed down in full.
        ramp: the axis along which the ramp is straight.

    Raises:
        ValueError: if the width is odd or not positive, the base is not above 1, or the factor is below 1 or not
            finite. Or if `original` is not a positive whole number, `slow` is not positive and smaller than `fast`,
            or the ramp is unknown.

    Example:
        Within 1,000 positions the first pair turns 159 times and stays. The second turns once or twice: it lies
        halfway along the ramp.

        >>> yarn_frequencies(4, factor=2.0, original=1000).round(4)
        array([1.    , 0.0075])

    Source: Peng et al. 2024, "YaRN", section 3.2; its published code for the ramp along indices.
    """
    if ramp not in get_args(Ramp):
        raise ValueError(f"ramp must be one of {', '.join(get_args(Ramp))}, not {ramp!r:.60}")
    _check_ends(original, slow=slow, fast=fast)
    if not base > 1:
        raise ValueError(f"base must be above 1, not {base}: else pairs do not slow down one after the other")
    before = rotary_frequencies(width, base=base)
    if ramp == "rotations":
        kept = np.clip((original * before / (2 * math.pi) - slow) / (fast - slow), 0, 1)
    else:
        first, last = (_pair_that_turns(turns, width, base, original) for turns in (fast, slow))
        first, last = max(math.floor(first), 0), min(math.ceil(last), width - 1)
        # If both ends of the ramp are one pair, the ramp is a step, as in the published code.
        kept = 1 - np.clip((np.arange(width // 2) - first) / (last - first or 1e-3), 0, 1)
    return before * (kept + (1 - kept) / _factor(factor))


def yarn_scale(factor: float) -> float:
    """The factor of YaRN on queries and on keys: 0.1 ln(factor) + 1. Scores are multiplied by its square.

    >>> yarn_scale(1.0)
    1.0

    Raises:
        ValueError: if the factor is below 1 or not finite.

    Source: Peng et al. 2024, "YaRN", section 3.3.
    """
    return 0.1 * math.log(_factor(factor)) + 1


def llama3_frequencies(
    width: int,
    *,
    factor: float = 8.0,
    original: int = 8192,
    base: float = 500000.0,
    fast: float = 4.0,
    slow: float = 1.0,
) -> Float[np.ndarray, " half"]:
    """The frequencies of Llama 3.1: those of YaRN with a ramp along rotations, but with other limits and no scale.

    Args:
        width: how many coordinates turn, an even number.
        factor: how many times longer the texts are, at least 1.
        original: positions that the model was trained on.
        base: the frequencies fall as its powers; above 1, dimensionless.
        fast: a pair that makes at least this many turns within the original length is left alone.
        slow: a pair that makes at most this many turns is slowed down in full.

    Raises:
        ValueError: if `yarn_frequencies` refuses the arguments.

    Example:
        The second pair turns less than once within the original length, so it is slowed down eight times.

        >>> llama3_frequencies(4, original=1000, base=1e6).round(6).tolist()
        [1.0, 0.000125]

    Source: Grattafiori et al. 2024, "The Llama 3 herd of models"; its published code.
    """
    return yarn_frequencies(
        width, factor=factor, original=original, base=base, fast=fast, slow=slow, ramp="rotations"
    )


def _pair_that_turns(turns: float, width: int, base: float, original: int) -> float:
    """The index of the pair that makes this many turns within the original length; not a whole number."""
    return width * math.log(original / (2 * math.pi * turns)) / (2 * math.log(base))


def _factor(factor: float) -> float:
    refuse.not_positive(factor=factor)
    refuse.non_finite(factor=factor)
    if factor < 1:
        raise ValueError(f"factor must be at least 1, not {factor}: texts become longer")
    return float(factor)


def _check_ends(original: int, *, slow: float, fast: float) -> None:
    refuse.not_a_size(original=original)
    refuse.not_positive(slow=slow, fast=fast)
    refuse.non_finite(slow=slow, fast=fast)
    if not slow < fast:
        raise ValueError(f"fast must be above slow, but they are {fast} and {slow}")
