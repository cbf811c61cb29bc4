"""Python code: an array written out or as its bytes, and statements in lines."""

import base64
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.callers import Place

LITERAL = 24
"""So many numbers of an array at most are written out."""


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
    return ""


def packed(x: np.ndarray) -> str:
    """An array by its bytes, in letters."""
    letters = base64.b85encode(zlib.compress(np.ascontiguousarray(x).tobytes(), 9)).decode()
    inside = f"__import__('zlib').decompress(__import__('base64').b85decode({letters!r}))"
    return f"np.frombuffer({inside}, '{x.dtype}').reshape{x.shape}.copy()"


def begun(place: Place, framework: str) -> list[str]:
    """The first lines of a snippet: what it imports."""
    return [
        "import sys",
        "import numpy as np",
        *([f"import {framework}"] if framework != "numpy" else []),
        f"sys.path.insert(0, {place.folder!r})",
        f"from {place.module} import {place.names.partition('.')[0]}",
    ]


BLOCKS = ("try:", "for ")
"""How statements begin that stand alone."""


def joined(made: Sequence[str], room: int) -> Iterator[str]:
    """Statements, several to a line where there is no room for a line each. A block stands alone."""
    blocks = sum(each.startswith(BLOCKS) for each in made)
    many = max(-(-(len(made) - blocks) // max(room - 4 * blocks, 1)), 1)
    line: list[str] = []
    for each in made:
        if each.startswith(BLOCKS) or len(line) == many:
            yield from ["; ".join(line)] * bool(line)
            line = []
        if each.startswith(BLOCKS):
            yield from each.split("\n")
        else:
            line.append(each)
    yield from ["; ".join(line)] * bool(line)
