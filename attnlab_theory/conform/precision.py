"""Whether float64 is computed in float64, or in float32 somewhere inside.

That is a choice. The row `float64` tells it, and every other row judges float64 by the tolerance of float32 then.

Where there is a reference, the answers themselves say it. A target that is compared with itself is asked before it
is accused, in two ways. A call is watched: does an array narrower than float64 take part (`watching`)? And inputs
are changed by 2^-28 and by 2^-16, with the same signs: every output must move in that proportion (`narrower`). A
smooth function bends by 2^-16 of the move, and float64 rounds by n S 2^-25 of it. A step of float32 is 2^-24,
sixteen times the smaller change. Where the proportion is off by a 64th of the larger move, something is rounded to
float32.
"""

from collections.abc import Callable, Sequence

import numpy as np

SLIGHT, FIRM = 2.0**-28, 2.0**-16
"""Relative changes, of which float32 feels the second alone."""

Arrays = Sequence[np.ndarray]
Answers = Callable[[Arrays], "np.ndarray | None"]
"""The output at some inputs; None if the call fails."""


def changed(given: Arrays, size: float) -> list[np.ndarray]:
    """Every number of the inputs times 1 + size or 1 - size, by chance, in the type of the input."""
    r = np.random.default_rng(0)
    return [(x * (1 + size * r.choice([-1.0, 1.0], x.shape))).astype(x.dtype) for x in given]


def narrower(answers: Answers, given: Arrays) -> bool:
    """Whether float64 is answered in a narrower type somewhere, where a slight change acts out of proportion."""
    one, slight, firm = (answers(changed(given, h)) for h in (0.0, SLIGHT, FIRM))
    if one is None or slight is None or firm is None:
        return False
    with np.errstate(invalid="ignore"):
        expected = np.nan_to_num(firm - one) * (SLIGHT / FIRM)
        residual = np.nan_to_num(slight - one) - expected
    return bool(np.abs(residual).max(initial=0.0) > np.abs(expected).max(initial=0.0) / 64)
