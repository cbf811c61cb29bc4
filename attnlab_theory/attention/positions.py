"""Where a token stands: sinusoids that are added, and rotations that are applied to queries and keys.

Learned positions need no function: they are a table of one row per position, added to the tokens. The
homework's table starts at zero, so before training it tells no two positions apart.
"""

from typing import Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Complex, Float, Int, Real

from attnlab_theory import refuse
from attnlab_theory.axes import Scalar

Layout = Literal["interleaved", "half"]
"""Which coordinates turn together: (2j, 2j + 1), as in the paper, or (j, j + d/2), as in GPT-NeoX and Llama."""


def rotary(
    x: Float[Array, "t d"],
    positions: Real[Array, " t"],
    *,
    base: Scalar = 10000.0,
    layout: Layout = "interleaved",
    frequencies: Float[Array | np.ndarray, " half"] | None = None,
) -> Float[Array, "t d"]:
    """Rotary positions: pair j of the coordinates of row t turns by positions[t] * base**(-2j/d) radians.

    Apply it to queries and to keys, in the same layout, before their scores: lengths are kept and the
    score depends on the difference of the two positions only. Angles are rounded relative to their size: in
    float32 the score of position 1e6 is good to two or three decimals, and of 1e7 to none.

    Args:
        x: queries or keys, one row per position.
        positions: where each row stands, in tokens; any real numbers, negative ones too.
        base: the angular frequencies fall as its powers; dimensionless.
        layout: which coordinates form a pair.
        frequencies: of the pairs, in radians per token, instead of those of the base (`frequencies.py`). With n of
            them the first 2n coordinates turn in their layout, and the others stay as they are: partial rotary.

    Returns:
        The rotated rows. Under `jit`, a base that is not positive and finite gives NaN.

    Raises:
        ValueError: if the width is odd, there is not one position per row, or the layout is unknown. Or if `base`
            is not a positive number of the floating type. Or if an array is not finite or has the wrong number of
            axes, x is not of a floating type, or the positions are not real. Or if there are more frequencies than
            pairs, or none.

    Example:
        With base 1 a pair turns by its position in radians. A quarter turn takes e1 to e2, half a turn takes it to
        -e1.

        >>> x = jnp.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
        >>> turned = rotary(x, jnp.array([0.0, np.pi / 2, np.pi]))
        >>> print(np.asarray(turned).round(2) + 0.0)
        [[ 1.  0.]
         [ 0.  1.]
         [-1.  0.]]

        Two vectors that stand one position apart have the same product wherever they stand: cos 1 = 0.54.

        >>> turned = rotary(x, jnp.arange(3))
        >>> print(np.asarray(turned @ turned.T).round(2))
        [[ 1.    0.54 -0.42]
         [ 0.54  1.    0.54]
         [-0.42  0.54  1.  ]]

    Source: Su et al. 2021 (RoFormer), eq. (34); the blog's equations (6) and (7).
    """
    if layout not in get_args(Layout):
        raise ValueError(f"layout must be one of {', '.join(get_args(Layout))}, not {layout!r}")
    x, angles = _with_angles(x, positions, base, frequencies)
    cos, sin = jnp.cos(angles).astype(x.dtype), jnp.sin(angles).astype(x.dtype)
    turning = 2 * angles.shape[1]
    x, rest = x[:, :turning], x[:, turning:]
    even, odd = (x[:, 0::2], x[:, 1::2]) if layout == "interleaved" else jnp.split(x, 2, axis=1)
    turned = (even * cos - odd * sin, even * sin + odd * cos)
    if layout == "half":
        return jnp.concatenate((*turned, rest), axis=1)
    turned = jnp.stack(turned, axis=2).reshape(x.shape)
    return jnp.concatenate((turned, rest), axis=1) if rest.shape[1] else turned


def rotary_by_complex(
    x: Float[Array, "t d"], positions: Real[Array, " t"], *, base: Scalar = 10000.0
) -> Float[Array, "t d"]:
    """Rotary positions in the interleaved layout, as products of complex numbers.

    The second implementation that `rotary` is compared with: coordinates 2j and 2j + 1 are the real and
    the imaginary part of one number, multiplied by exp(i * positions[t] * base**(-2j/d)).

    Args:
        x: queries or keys, one row per position.
        positions: where each row stands, in tokens; any real numbers, negative ones too.
        base: the angular frequencies fall as its powers; dimensionless.

    Raises:
        ValueError: if `rotary` refuses the arguments.

    Example:
        A quarter turn takes the number 1 + 0i to i, half a turn to -1.

        >>> x = jnp.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
        >>> turned = rotary_by_complex(x, jnp.array([0.0, np.pi / 2, np.pi]))
        >>> print(np.asarray(turned).round(2) + 0.0)
        [[ 1.  0.]
         [ 0.  1.]
         [-1.  0.]]

    Source: Su et al. 2021 (RoFormer), eq. (12); the blog's equation (7).
    """
    x, angles = _with_angles(x, positions, base)
    wide = x.astype(angles.dtype)
    pairs: Complex[Array, "t half"] = jax.lax.complex(wide[:, 0::2], wide[:, 1::2])
    turned = pairs * jnp.exp(jax.lax.complex(jnp.zeros_like(angles), angles))
    return jnp.stack((turned.real, turned.imag), axis=2).reshape(x.shape).astype(x.dtype)


def rotation_matrix(
    position: Scalar | int, width: int, *, base: Scalar = 10000.0, dtype: DTypeLike | None = None
) -> Float[Array, "{width} {width}"]:
    """The matrix R with R x = `rotary` of x at one position, interleaved layout.

    It is built entry by entry as in textbooks, and `rotary` is compared with it. Do not use it to compute: it costs
    d**2 products where d are enough.

    Args:
        position: in tokens.
        width: how many numbers a vector has.
        base: the angular frequencies fall as its powers; dimensionless.
        dtype: the type of the result; by default JAX's float.

    Raises:
        ValueError: if `width` is odd or not positive, or `base` is not a positive number of the floating type.

    Example:
        Position pi/2 is a quarter turn, which takes e1 to e2 and e2 to -e1.

        >>> print(np.asarray(rotation_matrix(np.pi / 2, 2)).round(2) + 0.0)
        [[ 0. -1.]
         [ 1.  0.]]

    Source: Su et al. 2021 (RoFormer), eq. (15); the blog's equation (6).
    """
    _check_width(width)
    dtype = jax.dtypes.canonicalize_dtype(float if dtype is None else dtype)
    refuse.non_finite(position=position)
    at = jnp.asarray(position, jax.dtypes.canonicalize_dtype(float))
    matrix = jnp.zeros((width, width), dtype)
    for pair, angle in enumerate(_angles(at[None], width, base, dtype)[0]):
        block = jnp.array([[jnp.cos(angle), -jnp.sin(angle)], [jnp.sin(angle), jnp.cos(angle)]]).astype(dtype)
        matrix = matrix.at[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2].set(block)
    return matrix


def half_layout_order(width: int) -> Int[np.ndarray, " {width}"]:
    """The coordinates in the order in which the half-split layout keeps them: 0, 2, 4, … then 1, 3, 5, ….

    With p this order, `rotary(x[:, p], layout="half")` is `rotary(x, layout="interleaved")[:, p]`.

    Args:
        width: numbers in a vector, even.

    Raises:
        ValueError: if `width` is odd or not positive.

    Example:
        The first of each pair, then the second of each.

        >>> print(half_layout_order(6))
        [0 2 4 1 3 5]
    """
    _check_width(width)
    return np.concatenate((np.arange(0, width, 2), np.arange(1, width, 2)))


def sinusoidal(positions: Real[Array, " t"], width: int, *, base: Scalar = 10000.0) -> Float[Array, "t {width}"]:
    """Sinusoidal position vectors, to be added to the tokens.

    Coordinates 2j and 2j + 1 are the sine and the cosine of positions[t] * base**(-2j/width). So moving by
    a fixed distance is a fixed rotation. The product of two rows depends on their distance only.

    Args:
        positions: in tokens; any real numbers.
        width: how many numbers a vector has.
        base: the angular frequencies fall as its powers; dimensionless.

    Returns:
        One row per position, in the dtype of the positions if that is a float, else in JAX's float.

    Raises:
        ValueError: if the width is odd or not positive, `base` is not a positive number of the floating type,
            or the positions are not real, not finite or not a vector.

    Example:
        Width 2 has one pair of coordinates: the sine and the cosine of the position.

        >>> print(np.asarray(sinusoidal(jnp.array([0.0, np.pi / 2, np.pi]), 2)).round(2) + 0.0)
        [[ 0.  1.]
         [ 1.  0.]
         [ 0. -1.]]

    Source: Vaswani et al. 2017, section 3.5.
    """
    refuse.wrong_rank(1, positions=positions)
    refuse.not_real(positions=positions)
    refuse.non_finite(positions=positions)
    is_float = jnp.issubdtype(positions.dtype, jnp.floating)
    dtype = jax.dtypes.canonicalize_dtype(positions.dtype if is_float else float)
    angles = _angles(positions, width, base, dtype)
    waves = jnp.stack((jnp.sin(angles), jnp.cos(angles)), axis=2)
    return waves.reshape(positions.shape[0], width).astype(dtype)


def _angles(positions: Array, width: int, base: Scalar, dtype: DTypeLike) -> Float[Array, "t half"]:
    """positions[t] * base**(-2j/width), in at least float32: half precision cannot count beyond 2048."""
    _check_width(width)
    dtype = dtype if np.dtype(dtype).itemsize >= 4 else np.dtype(np.float32)
    _check_base(base, dtype)
    exponents = jnp.asarray(-2 * np.arange(width // 2) / width, dtype)
    base = jnp.asarray(base, dtype)
    # Not `refuse.nan_unless_positive`: NaN to the power zero is one.
    frequencies = jnp.where((base > 0) & (base < jnp.inf), base**exponents, jnp.nan)
    return positions.astype(dtype)[:, None] * frequencies[None, :]


def _with_angles(
    x: Array, positions: Array, base: Scalar, frequencies: Array | np.ndarray | None = None
) -> tuple[Float[Array, "t d"], Float[Array, "t half"]]:
    refuse.wrong_rank(2, x=x)
    refuse.wrong_rank(1, positions=positions)
    refuse.not_floating(x=x)
    refuse.not_real(positions=positions)
    refuse.different_axes("positions", x=x.shape[0], positions=positions.shape[0])
    refuse.non_finite(x=x, positions=positions)
    x = jnp.asarray(x)
    if frequencies is None:
        return x, _angles(positions, x.shape[1], base, x.dtype)
    refuse.wrong_rank(1, frequencies=frequencies)
    refuse.not_floating(frequencies=frequencies)
    refuse.non_finite(frequencies=frequencies)
    pairs = frequencies.shape[0]
    if not 0 < pairs <= x.shape[1] // 2:
        raise ValueError(f"{pairs} frequencies do not fit a width of {x.shape[1]}: one for each pair that turns")
    wide = x.dtype if x.dtype.itemsize >= 4 else np.dtype(np.float32)
    return x, positions.astype(wide)[:, None] * jnp.asarray(frequencies, wide)[None, :]


def _check_width(width: int) -> None:
    refuse.not_whole(width=width)
    if not (width > 0 and width % 2 == 0):
        raise ValueError(f"the width must be even and positive, not {width}: coordinates turn in pairs")


def _check_base(base: Scalar, dtype: DTypeLike) -> None:
    """Refuse a base that is no positive number, or that the floating type would round to zero or infinity."""
    refuse.not_positive(base=base)
    refuse.non_finite(base=base)
    info = jnp.finfo(dtype)
    if refuse.is_concrete(base) and not float(info.tiny) <= float(base) <= float(info.max):
        raise ValueError(f"base must lie between {info.tiny:.3g} and {info.max:.3g} in {info.dtype}, not {base}")
