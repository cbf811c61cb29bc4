r"""How far a right answer may be from the exact one: derived from the roundings that any program must make.

Let u be half of the eps of the type of the vectors or the output, and w that of the type of the angles. Angles are
counted in float32 at least: bfloat16 cannot tell position 256 from 257, and no promise is kept there.

Angles. A frequency is exp(-i ln(base) / n), or a power. The exponent is rounded up to four times (i / n, the
logarithm, their product, its negative or reciprocal), which moves the frequency by 4 |ln f| w. An exponential errs
by 4 w, the factor of the positions by 1 w, the product with position p by 1 w, and the store by 1 w. So the angle
a = p f is off by at most p f (4 |ln f| + 7) w, and its sine and cosine by that and 4 w more. The reference makes
the same roundings in float64, so its own bound is added. The angle has to be a product. A program that multiplies
one rotation by the next errs by p w in every pair, however slow the pair is. This bound does not hold for it.

If frequencies are known only because they were read off, they carry the error of the reading, p times.

Rotations. y = x_1 cos a - x_2 sin a. The table is stored in the type of the vectors, each product and the sum are
rounded: 4 u (|x_1| + |x_2|) beside the error of the table. So each entry is off by at most

    (|x_1| + |x_2|) (min(p f (4 |ln f| + 7) w, 2) + 4 w + 4 u) + 4 tiny.

Where two answers of one target are compared, its frequencies are whatever they are: only the product and its store
stay of the angle, 2 p f w.

Sinusoids are entries of the table: min(p f (4 |ln f| + 7) w, 2) + 4 w + u.
"""

import numpy as np

from attnlab_theory.conform.kinds.softmax.tolerances import HALF_EPS, TINY


def angle_kind(kind: str) -> str:
    """The type in which angles are counted at least."""
    return "float64" if kind == "float64" else "float32"


def of_angles(
    positions: np.ndarray, frequencies: np.ndarray, kind: str, read: np.ndarray | None = None
) -> np.ndarray:
    """The largest error of angles, [..., pairs].

    Args:
        positions: in tokens, [...].
        frequencies: in radians per token, [pairs].
        kind: the type in which they are counted.
        read: how far the frequencies may be off, where they were read off.
    """
    p = np.abs(np.asarray(positions, float))[..., None]
    logs = np.abs(np.log(np.maximum(np.abs(frequencies), 1e-300)))
    both = HALF_EPS[kind] + HALF_EPS["float64"]
    error = p * np.abs(frequencies) * (4 * logs + 7) * both
    return np.minimum(error + (0.0 if read is None else p * read), 2.0) + 4 * both


def of_same_angles(positions: np.ndarray, frequencies: np.ndarray, kind: str) -> np.ndarray:
    """The largest error of angles whose frequencies are exactly what the target has, [..., pairs]."""
    p = np.abs(np.asarray(positions, float))[..., None]
    return np.minimum(2 * p * np.abs(frequencies) * HALF_EPS[kind], 2.0) + 4 * HALF_EPS[kind]


def of_rotation(size: np.ndarray, angles: np.ndarray | float, kind: str) -> np.ndarray:
    """The largest error of a turned pair.

    Args:
        size: |x_1| + |x_2| of each pair.
        angles: the error of the sine and the cosine.
        kind: the type of the vectors.
    """
    return size * (angles + 4 * HALF_EPS[kind]) + 4 * TINY[kind] + 1e-320
