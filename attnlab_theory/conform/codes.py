"""Python code: an array written out, drawn again by its seed or as its bytes, and statements in lines."""

import base64
import functools
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.callers import Place

LITERAL = 24
"""So many numbers of an array at most are written out."""

DIGITS = 600
"""So many numbers of one digit at most are written out."""

SEEDS, LONGEST = 140, 1 << 14
"""The seeds and the length of the streams in which an array is looked for."""


def framed(code: str, framework: str, narrow: bool = False) -> str:
    """The code of an array of a framework, in bfloat16 if it is narrow."""
    if framework == "torch":
        return f"torch.from_numpy({code})" + ".bfloat16()" * narrow
    return f"jax.numpy.asarray({code}{', jax.numpy.bfloat16' * narrow})" if framework == "jax" else code


GENERATORS = {
    "int": "{}",
    "numpy": "np.random.default_rng({})",
    "torch": "torch.Generator().manual_seed({})",
    "jax": "jax.random.PRNGKey({})",
}
"""How a source of randomness is made of a number."""

LAIN = {
    "": "{x}",
    "rows": "np.repeat({x}, 2, -2)[..., 1::2, :]",
    "transposed": "np.ascontiguousarray({x}.swapaxes(-1, -2)).swapaxes(-1, -2)",
    "expanded": "np.broadcast_to({x}[{first}], {x}.shape)",
}
"""How numpy writes an array that lies in memory as `exchange.lain` has it."""


def lain(code: str, memory: str, shape: Sequence[int]) -> str:
    """The code of an array of numpy of some shape that lies in memory as `exchange.lain` has it."""
    axis = next((i for i, n in enumerate(shape) if n > 1), 0)
    return LAIN[memory if len(shape) > 1 else ""].format(x=code, first=":, " * axis + ":1")


def plain(value: Any) -> str:
    """A number or a flag."""
    text = repr(value)
    return f"float('{text}')" if text in ("inf", "-inf", "nan") else text


def equal(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays have the same bits."""
    return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()


def short(x: np.ndarray) -> str:
    """An array of few numbers, or of one number everywhere."""
    if x.size <= LITERAL or (x.dtype.kind in "iu" and x.size <= 4 * LITERAL):
        code = f"np.array({x.tolist()}, '{x.dtype}')".replace("nan", "np.nan").replace("inf", "np.inf")
        return code if x.size else f"np.zeros({x.shape}, '{x.dtype}')"
    if np.all(x == x.flat[0]):
        return f"np.full({x.shape}, {plain(x.flat[0].item())}, '{x.dtype}')"
    if x.size <= DIGITS and x.dtype.kind in "fb" and set(np.unique(x.astype(float))) <= set(range(10)):
        digits = "".join(str(int(each)) for each in x.ravel())
        kind = "int" if x.dtype.kind == "b" else x.dtype
        return f"np.array([*'{digits}'], '{kind}'){'.astype(bool)' * (kind == 'int')}.reshape{x.shape}"
    return ""


def packed(x: np.ndarray) -> str:
    """An array by its bytes, in letters."""
    letters = base64.b85encode(zlib.compress(np.ascontiguousarray(x).tobytes(), 9)).decode()
    inside = f"__import__('zlib').decompress(__import__('base64').b85decode({letters!r}))"
    return f"np.frombuffer({inside}, '{x.dtype}').reshape{x.shape}.copy()"


def steps_of(shape: Sequence[int]) -> list[int]:
    """The steps of the axes of an array that lies in one piece, in numbers."""
    return [int(np.prod(shape[i + 1 :], dtype=int)) for i in range(len(shape))]


@functools.cache
def _stream(seed: int, kind: str, maker: str) -> np.ndarray:
    return getattr(np.random, maker)(seed).standard_normal(LONGEST).astype(kind)


def within(x: np.ndarray, seed: int, maker: str) -> tuple[int, list[int]] | None:
    """Where an array begins in a stream, and the step of each of its axes; None if it is no part of it."""
    stream = _stream(seed, x.dtype.str, maker)
    begin = np.flatnonzero(stream == x.flat[0])
    if len(begin) != 1 and x.dtype.itemsize > 2:
        return None
    for first in begin:
        steps = []
        for axis, n in enumerate(x.shape):
            if n < 2:
                steps.append(0)
                continue
            near = np.flatnonzero(stream == x[tuple(int(i == axis) for i in range(x.ndim))])
            if not len(near):
                return None
            steps.append(int(near[0] - first))
        places = int(first) + sum(
            np.arange(n).reshape([-1] + [1] * (x.ndim - 1 - axis)) * step
            for axis, (n, step) in enumerate(zip(x.shape, steps, strict=True))
        )
        places = np.broadcast_to(places, x.shape)
        if min(steps, default=0) >= 0 and places.max() < LONGEST and np.array_equal(stream[places], x):
            full = [step if n > 1 else own for step, n, own in zip(steps, x.shape, steps_of(x.shape), strict=True)]
            return int(first), full
    return None


def begun(place: Place, framework: str) -> list[str]:
    """The first lines of a snippet: what it imports."""
    return [
        "import sys",
        "import numpy as np",
        *([f"import {framework}"] if framework != "numpy" else []),
        f"sys.path.insert(0, {place.folder!r})",
        f"from {place.module} import {place.names.partition('.')[0]}",
    ]


def joined(made: Sequence[str], room: int) -> Iterator[str]:
    """Statements, several to a line where there is no room for a line each. A block stands alone."""
    blocks = sum(each.startswith("try:") for each in made)
    many = max(-(-(len(made) - blocks) // max(room - 4 * blocks, 1)), 1)
    line: list[str] = []
    for each in made:
        if each.startswith("try:") or len(line) == many:
            yield from ["; ".join(line)] * bool(line)
            line = []
        if each.startswith("try:"):
            yield from each.split("\n")
        else:
            line.append(each)
    yield from ["; ".join(line)] * bool(line)
