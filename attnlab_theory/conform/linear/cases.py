"""One call of linear attention, as a short description. The lines that draw its arrays are those it prints."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from attnlab_theory.conform.attention.cases import rounded, storage

VALUES: Mapping[str, str] = {
    "plain": "",
    "whole": "q, k, v = np.round(q), np.round(k), np.round(v)",
    "large": "q, k = {loud} * q, {loud} * k",
    "low": "q, k = -3 - abs(q), -3 - abs(k)",
    "zeros": "q, k = 0 * q, 0 * k",
    "dominant": "k[:, :, -1] = {loud}",
    "offset": "v = v + {offset}",
    "constant": "v = np.ones_like(v)",
}
"""What is done to standard normal queries, keys and values."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """One call."""

    batch: int = 2
    heads: int = 2
    queries: int = 6
    keys: int = 6
    width: int = 4
    value_width: int = 3
    kind: str = "float32"
    values: str = "plain"
    """One of `VALUES`."""
    padded: bool = False
    """Whether a mask hides the last third of the keys, of every second batch element the first third."""
    causal: bool = False
    strided: bool = False
    seed: int = 0


def lines(case: Case) -> list[str]:
    """The lines of numpy that draw `q`, `k`, `v` [b h t d] and `mask` [b s] of a case."""
    half = case.kind in ("float16", "bfloat16")
    words = {"loud": 4 if half else 20, "offset": 256 if half else 1e4}
    b, h, t, s = case.batch, case.heads, case.queries, case.keys
    found = [f"r = np.random.default_rng({case.seed})"]
    for name, shape in (("q", (t, case.width)), ("k", (s, case.width)), ("v", (s, case.value_width))):
        found.append(f"{name} = r.standard_normal({(b, h, *shape)})")
    if VALUES[case.values]:
        found.append(VALUES[case.values].format(**words))
    if case.padded:
        found.append(
            f"mask = np.where(np.arange({b})[:, None] % 2, np.arange({s}) >= {s // 3}, "
            f"np.arange({s}) < {s - s // 3})"
        )
    return [*found, f"q, k, v = (x.astype('{storage(case.kind)}') for x in (q, k, v))"]


def arrays(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """The arrays of a case."""
    names: dict[str, np.ndarray] = {}
    with np.errstate(over="ignore"):
        exec("\n".join(lines(case)), {"np": np}, names)
    q, k, v = (rounded(names[name], case.kind) for name in "qkv")
    return q, k, v, names.get("mask")
