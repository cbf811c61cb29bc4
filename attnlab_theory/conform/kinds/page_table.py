"""Attention over a paged cache: a table names the pages of each sequence, and lengths say how many tokens count.

Axes: b batch, h heads, t queries, d width, e width of values; g heads of keys, p pages, z tokens of a page, m pages
of a sequence. Key j of a sequence is token j % z of the page that stands at j // z in its row of the table. The
queries are the last tokens of the sequence. Source: Kwon et al. 2023, "Efficient Memory Management for Large
Language Model Serving with PagedAttention", section 4.

What is right is gathered and attended to, and may be off by what softmax attention may: `softmax.tolerances`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.case import Case, word
from attnlab_theory.conform.finding import Finding, Verdict
from attnlab_theory.conform.identities import Covering, RightAt, again, explained, right_in, untouched
from attnlab_theory.conform.judge import Judge
from attnlab_theory.conform.kind import Chosen, Kind, Right, Stage
from attnlab_theory.conform.kinds.softmax.reference import Problem, attend, shared
from attnlab_theory.conform.kinds.softmax.tolerances import tolerance


def right(case: Case, chosen: Chosen, made: Mapping[str, Any]) -> Right:
    """Softmax attention to the tokens that the table and the lengths name, [b h t e]."""
    q, table, own = np.asarray(made["q"], np.float64), made["block_table"], dict(case.arrays)
    keys = []
    for role, axes in (("key pages", "pzgd"), ("value pages", "pzge")):
        x = made[word(role)].transpose([own[role].index(axis) for axis in axes])[table]
        x = x.reshape(len(table), -1, *x.shape[3:]).swapaxes(1, 2).astype(np.float64)
        keys.append(shared(x, q.shape[1], interleaved=chosen["sharing"] == "interleaved"))
    k, v = keys
    s, t = k.shape[2], q.shape[2]
    lengths = np.asarray(made.get("lengths", np.full(len(q), s)))[:, None, None, None]
    last = lengths - t + np.arange(t)[:, None] if case["causal"] else lengths - 1
    scale = case["scale"] or scales.factor(chosen["scale"], q.shape[-1])
    given = Problem(q, k, v, scale, np.arange(s) <= last)
    exact = attend(given)

    def within(kind: str, accumulate: str) -> np.ndarray:
        bound = tolerance(given, exact, kind, accumulate, cast=True)
        return np.where(bound.loose, np.nan, bound.output)

    return Right(exact.output, within)


def promised(case: Case, chosen: Chosen) -> bool:
    """A page belongs to one sequence, unless all of them share it; and all queries are in the cache."""
    pages = case["pages_each"] * (1 if case["block table"] == "shared" else case["batch"])
    is_whole = case["heads"] % max(case["groups"], 1) == 0
    return pages <= case["pages"] and case["queries"] <= case["pages_each"] * case["page_size"] and is_whole


def unused(judge: Judge) -> Finding:
    """Whether NaN where nothing was written yet reaches an output, which is told: memory may hold anything."""
    case = judge.cases([{"seed": 8}])[0]
    p, z, m = (case[role] for role in ("pages", "page_size", "pages_each"))
    edits = [f"used = np.zeros(({p}, {z}), bool)"]
    lengths = "lengths" if "lengths" in judge.convention.names else f"[{m * z}] * {case['batch']}"
    edits.append(f"for row, n in zip(block_table, {lengths}): used[row] = np.arange({m * z}).reshape({m}, {z}) < n")
    for role in ("key pages", "value pages"):
        axes = judge.convention.axes_of(role)
        edits.append(f"np.moveaxis({word(role)}, {[axes.index(x) for x in 'pz']}, [0, 1])[~used] = np.nan")
    answer = judge.ask(case.replaced(edits=edits))
    if answer.trouble or not np.isfinite(answer.numbers).all():
        return Finding(verdict=Verdict.CONVENTION, trouble=answer.trouble, fact="" if answer.trouble else "unused")
    return Finding(verdict=Verdict.HOLDS)


def caches(*sizes: tuple[int, int, int]) -> list[dict[str, Any]]:
    """Cases by the size of a page, the pages of each sequence, and queries."""
    return [{"page_size": z, "pages_each": m, "pages": 3 * m + 2, "queries": t} for z, m, t in sizes]


GROUPS = [{"heads": h, "groups": g} for h, g in ((4, 4), (4, 1), (6, 2), (6, 3), (8, 2), (16, 4), (32, 8), (9, 3))]
SIZES = [
    {},
    {"batch": 4, "pages": 14},  # as many elements as heads
    {"batch": 1, "pages": 3},
    *caches((1, 6, 1), (16, 2, 1), (16, 9, 1), (64, 3, 2), (4, 5, 4), (3, 3, 9)),
    {"width": 80, "value_width": 48},
    {"width": 128, "value_width": 160},
]

COLUMNS = {
    "sizes": SIZES,
    "groups": [{}, *GROUPS[1:4]],
    "types": [{}, {"type": "float64"}, {"type": "float16"}, {"type": "bfloat16"}],
    "lengths": [{}, {"lengths": "full"}, {"lengths": "edges"}],
    "tables": [{}, {"block table": "shared"}],
    "scale": [{}, {"scale": 0.3}],
    "memory": [{}, {"memory": "rows"}],
    "values": [{}, {"edits": ("q = 4 * q",)}],
}
"""What is set beside each other. A flag that hides the future is tried both ways with each of them."""


NEGATIVE = ("q, key_pages = 20 * (1 + abs(q)), -20 * (1 + abs(key_pages))",)
"""All scores far below zero: who hides a key by a number that is not small enough does not hide it."""

OF_TYPES = ({"seed": 5}, {"seed": 17, "lengths": "edges"}, {"edits": ("q = 4 * q",)})
"""What is asked in a type."""

PAGED = Kind(
    operands=("q", "key pages", "value pages", "block table", "lengths", "causal", "scale", "page_size", "groups"),
    gives="bhte",
    telling=("block table", "q"),
    usual={"batch": 3, "heads": 4, "queries": 2, "width": 8, "value_width": 7, "groups": 2, "pages": 11}
    | {"page_size": 6, "pages_each": 3, "shared": True},
    few=8,
    promised=promised,
    stages=(
        Stage(
            forms={"same width": (False, True), "layout": ("bhtd", "bthd", "bhd")},
            choices={"scale": ("rsqrt", "one", "inverse"), "causal": ("always", "never")}
            | {"sharing": ("neighbours", "interleaved")},
            trials=({"queries": 5, "seed": 4},),
            identity="weights",
        ),
    ),
    right=right,
    columns=COLUMNS,
    compiled={"sizes": COLUMNS["sizes"][:2]},
    laws={
        "weights": explained,
        "plain": RightAt({"seed": seed} for seed in range(6)),
        "one query": RightAt({"queries": 1, "seed": seed} for seed in range(3)),
        "lengths": RightAt({"lengths": word, "seed": seed} for word in ("edges", "full") for seed in range(3)),
        "page sizes": RightAt(caches((1, 6, 1), (2, 4, 3), (5, 3, 2), (16, 2, 1), (17, 2, 2), (64, 3, 1))),
        "shared pages": RightAt({"block table": "shared", "seed": seed} for seed in range(2)),
        "groupings": RightAt(GROUPS),
        "odd widths": RightAt(
            {"width": d, "value_width": e} for d, e in ((7, 5), (3, 9), (17, 9), (80, 48), (1, 1))
        ),
        "large": RightAt({"edits": x, "seed": seed} for seed in range(3) for x in (("q = 20 * q",), NEGATIVE)),
        "scale": RightAt({"scale": 0.3, "seed": seed} for seed in range(2)),
        "float64": right_in("float64", OF_TYPES),
        "float16": right_in("float16", OF_TYPES),
        "bfloat16": right_in("bfloat16", OF_TYPES),
        "pairs": Covering(),
        "unused pages": unused,
        "same result": again({"seed": 11}, [{"seed": 11, "page_size": 16}, {"seed": 11, "type": "float64"}]),
        "inputs unchanged": untouched([{}, {"memory": "rows"}]),
    },
)
