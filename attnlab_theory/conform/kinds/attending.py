"""What kinds of attention share: the calls that are made of them, and the laws that hold of each."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.case import Case
from attnlab_theory.conform.identities import (
    OF_TYPES,
    Covering,
    RightAt,
    again,
    apart,
    empty_batch,
    explained,
    future,
    more_keys,
    right_in,
    sharing,
    sized,
    untouched,
)
from attnlab_theory.conform.kind import Chosen, Kind, Law, Right, Stage
from attnlab_theory.conform.kinds.softmax.reference import shared
from attnlab_theory.conform.rounding import HALF_EPS, TINY

USUAL = {"batch": 2, "heads": 4, "length": 6, "width": 4, "value_width": 3}
"""The sizes of a case in short."""

TRIAL = {"heads": 3, "length": 5, "seed": 4}
"""A first trial call."""

LAYOUTS = {"same width": (False, True), "layout": ("bhtd", "bthd", "btd", "td")}
"""How arrays may be handed over."""

MASKS = (
    Stage(
        needs="pair mask",
        forms={"pair mask axes": ("bhts", "b1ts", "11ts", "bs")},
        trials=({"pair mask": "any", "heads": 3, "seed": 3},),
        identity="masks",
    ),
    Stage(needs="mask", trials=({"mask": "padded", "heads": 3, "seed": 3},), identity="padding"),
)
"""What masks may mean."""

REPLACED: list[dict[str, str]] = [dict.fromkeys(("k", "v", "k1", "k2"), code) for code in ("4 * {x}", "{x} + 1e3")]
"""What becomes of later tokens, of which earlier ones know nothing."""

COLUMNS = {
    "sizes": [
        {},
        *({"batch": n} for n in (6, 4)),  # as many elements as queries, as heads
        *({"heads": n, "length": 5} for n in (9, 16)),
        *sized((1, 130, 8, 5), (4, 7, 4, 4), (7, 4, 2, 3), (17, 33, 16, 8), (5, 5, 128, 80), (1, 1, 1, 1)),
        *({"length": n, "batch": 1} for n in (129, 257)),
    ],
    "groups": [{}, {"shared": True}],
    "types": [{}, {"type": "float64"}, {"type": "float16"}, {"type": "bfloat16"}],
    "masks": [{}, {"pair mask": "any"}],
    "padding": [{}, {"mask": "padded"}],
    "scale": [{}, {"scale": 0.3}],
    "memory": [{}, {"memory": "rows"}],
    "values": [{}, {"values": "large"}, {"values": "offset"}],
}
"""What is set beside each other. A flag is tried both ways with each of them."""


def scored(q: np.ndarray, k: np.ndarray, scale: float) -> tuple[np.ndarray, Callable[[str, str], np.ndarray]]:
    """Scores [b h t s], and how far they may be off by the type of the numbers and that of the sums.

    A score errs by d u' a + 12 u a + 3 u |score|, where a = scale sum_d |q_d k_d|: the sum, the scale, both stores,
    and q and k rounded before. Products below the smallest normal number may be lost.
    """
    scores = scale * np.einsum("bhtd,bhsd->bhts", q, k)
    size = abs(scale) * np.einsum("bhtd,bhsd->bhts", abs(q), abs(k))
    lost = max(1.0, abs(scale)) * (q.shape[-1] + abs(q).sum(-1)[..., None] + abs(k).sum(-1)[..., None, :])

    def off(kind: str, accumulate: str) -> np.ndarray:
        u, sums = HALF_EPS[kind], HALF_EPS[accumulate]
        return (q.shape[-1] * sums + 12 * u) * size + 3 * u * abs(scores) + TINY[kind] * lost

    return scores, off


def promised(case: Case, chosen: Chosen) -> bool:
    """Whether the target takes other lengths of keys than of queries, and fewer heads, where a case has these."""
    takes = chosen.get("shares") and case["heads"] % case["groups"] == 0
    return (case["queries"] == case["keys"] or not chosen.get("more keys")) and (takes or not case["shared"])


def by_heads(right: Callable[[Case, Chosen, Mapping[str, Any]], Right]) -> Callable[..., Right]:
    """What is right where heads of queries share keys and values: it is that of a copy for each."""

    def of_copies(case: Case, chosen: Chosen, made: Mapping[str, Any]) -> Right:
        if case["shared"]:
            order = chosen["interleaved"]
            made = {**made, **{x: shared(made[x], case["heads"], interleaved=order) for x in ("k", "v")}}
        return right(case, chosen, made)

    return of_copies


def bounded(error: Callable[[str, str], np.ndarray], most: np.ndarray) -> Callable[[str, str], np.ndarray]:
    """How far a right answer may be off: by an error, where that is less than the most that says something."""

    def within(kind: str, accumulate: str) -> np.ndarray:
        one = error(kind, accumulate)
        # The reference computes in float64, so its own bound is added.
        return np.where((one >= most) & (most > 0), np.nan, one + error("float64", "float64"))

    return within


def laws(
    more: Mapping[str, Law],
    large: Mapping[str, Any] = {"values": "large"},
    of_types: Sequence[Mapping[str, Any]] = OF_TYPES,
    without: Collection[str] = (),
) -> dict[str, Law]:
    """The laws of a kind.

    Args:
        more: those of its own, which take the place of others that have their names.
        large: what makes scores large.
        of_types: what is asked in each type.
        without: those that say nothing of it.
    """
    of_types = [large if each.get("values") == "large" else each for each in of_types]
    found = {
        "weights": explained,
        "plain": RightAt({"seed": seed} for seed in range(6)),
        "one token": RightAt(sized((1, 1, 4, 3), (1, 1, 1, 1), (6, 6, 1, 1))),
        "odd widths": RightAt(sized((5, 5, 7, 5), (5, 5, 3, 9), (6, 6, 17, 9), (5, 5, 80, 40))),
        "block edges": RightAt({"length": n, "batch": 1} for n in (130, 17, 65, 15, 16, 63, 64, 127, 128, 129)),
        "more keys": RightAt(sized((4, 7, 4, 3), (1, 19, 4, 3), (1, 130, 4, 3))),
        "more queries": RightAt(sized((7, 4, 4, 3), (5, 1, 4, 3))),
        "ties": RightAt({"values": "zeros", "seed": seed} for seed in range(2)),
        "large": RightAt({**large, "seed": seed} for seed in range(3)),
        "offset values": RightAt({"values": "offset", "seed": seed} for seed in range(3)),
        "masks": RightAt({"pair mask": "any", "length": n, "seed": n} for n in (6, 9, 17)),
        "padding": RightAt({"mask": "padded", "length": n, "seed": n} for n in (6, 9, 17)),
        "scale": RightAt({"scale": 0.3, "seed": seed} for seed in range(2)),
        **{kind: right_in(kind, of_types) for kind in ("float64", "float16", "bfloat16")},
        "pairs": Covering(),
        "future": future((5, 17, 65), (5,), REPLACED, batch=1, causal=True),
        "same result": again({"seed": 11}, [{"seed": 11, "length": 17}, {"seed": 11, "type": "float64"}]),
        "elements apart": apart({"batch": 3, "heads": 3, "seed": 7}, ("q", "k", "v", "q1", "q2", "k1", "k2")),
        "empty batch": empty_batch,
        "inputs unchanged": untouched([{}, {"memory": "rows"}]),
        **more,
    }
    return {name: law for name, law in found.items() if name not in without}


def stages(choices: Mapping[str, Sequence[Any]], *trials: Mapping[str, Any]) -> tuple[Stage, ...]:
    """What is searched: the layout, what answers mean, by a first trial call or by others, and masks."""
    return Stage(forms=LAYOUTS, choices=choices, trials=trials or (TRIAL,), identity="weights"), *MASKS


OF_QUERIES = Kind(
    operands=("q", "k", "v", "groups", "pair mask", "mask", "scale"),
    placed=("q", "k", "v"),
    gives="bhte",
    usual={**USUAL, "groups": 2},
    few=8,
    promised=promised,
    reads=(more_keys, sharing),
    columns=COLUMNS,
    compiled={"sizes": COLUMNS["sizes"][:2]},
    laws={},
)
"""What kinds of attention have alike. Each of them adds what is right, what is searched and its laws."""
