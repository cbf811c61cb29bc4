r"""Latent attention: keys and values are products of one narrow row for each token with matrices of each head.

Source: DeepSeek-V2 (arXiv 2405.04434), section 2.1. Axes: b batch, h heads, t queries, s keys, d width, e width of
values, r width of latents, x width of the channels that positions turn, which all heads of keys share.

    score_ts = scale (q_t . (A c_s) + q'_t . k'_s)          output_t = sum_s w_ts (B c_s)

A program may make keys and values first, or may absorb A into the queries and B into the output:
q . (A c) = (A^T q) . c, and sum_s w_s (B c_s) = B (sum_s w_s c_s). Both are right.

Tolerance. Let u be half of the type's eps, u' that of the type of the sums, n the number of keys. In either order
no product passes through more than d + r + x sums and 14 products and stores, so a score errs by
((d + r + x) u' + 14 u) a, where a = scale (sum_dr |q_d A_dr c_r| + sum_x |q'_x k'_x|). The weights then err by
factors 1 +- rho_s, and the same factor in all of them cancels, as `softmax.tolerances` says. An output is a sum
of n r products in any order: ((2 n + r) u' + 10 u) of sum_sr w_s |B_er c_sr|.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform.case import Case
from attnlab_theory.conform.identities import RightAt, apart, future, more_keys, sized, visible
from attnlab_theory.conform.kind import Chosen, Kind, Right, Stage
from attnlab_theory.conform.kinds import attending
from attnlab_theory.conform.kinds.softmax.reference import Problem, attend
from attnlab_theory.conform.kinds.softmax.tolerances import span
from attnlab_theory.conform.rounding import HALF_EPS, TINY


@np.errstate(all="ignore")
def right(case: Case, chosen: Chosen, made: Mapping[str, Any]) -> Right:
    """Softmax attention with the keys A c and the values B c, and turned channels beside them, [b h t e]."""
    q, c, own = np.asarray(made["q"], np.float64), np.asarray(made["latents"], np.float64), dict(case.arrays)
    a = made["up_to_keys"].transpose([own["up to keys"].index(axis) for axis in "hdr"]).astype(np.float64)
    b = made["up_to_values"].transpose([own["up to values"].index(axis) for axis in "her"]).astype(np.float64)
    shape = (*q.shape[:2], c.shape[1])
    k, v = np.einsum("bsr,hdr->bhsd", c, a), np.einsum("bsr,her->bhse", c, b)
    sizes = np.einsum("bhtd,hdr,bsr->bhts", abs(q), abs(a), abs(c), optimize=True)
    sizes_of_v = np.einsum("bsr,her->bhse", abs(c), abs(b))
    width = q.shape[-1]
    if "q_turned" in made:
        more, beside = made["q_turned"].astype(np.float64), made["k_turned"].astype(np.float64)
        sizes = sizes + np.einsum("bhtx,bsx->bhts", abs(more), abs(beside))
        q = np.concatenate([q, more], -1)
        k = np.concatenate([k, np.broadcast_to(beside[:, None], (*shape, beside.shape[-1]))], -1)
    scale = case["scale"] or {"rsqrt": q.shape[-1], "content": width, "one": 1}[chosen["scale"]] ** -0.5
    seen = np.broadcast_to(visible(case, chosen, made), (*q.shape[:3], k.shape[2]))
    exact = attend(Problem(q, k, v, scale, seen))
    w, out = exact.weights, np.nan_to_num(exact.output)
    scores = np.where(seen, abs(exact.scores), 0.0)
    mean = np.einsum("bhts,bhse->bhte", w, sizes_of_v)
    far = np.where(seen[..., None], abs(v[:, :, None] - out[..., None, :]), 0.0)

    def error(kind: str, accumulate: str) -> np.ndarray:
        u, sums, tiny = HALF_EPS[kind], HALF_EPS[accumulate], TINY[kind]
        n, terms = k.shape[2], q.shape[-1] + c.shape[-1]
        exponent = (terms * sums + 14 * u) * scale * sizes + 4 * u * (
            scores + scores.max(-1, keepdims=True, initial=0)
        )
        rho = np.where(seen, np.expm1(np.minimum(exponent + 4 * u + tiny * terms * (1 + sizes), 600.0)), 0.0)
        moved = np.einsum("bhts,bhts->bht", w, rho)[..., None]
        one = np.einsum("bhts,bhts,bhtse->bhte", w, rho, far) / np.where(moved < 0.5, 1 - moved, np.nan)
        undivided = 3 * u * (scores.max(-1, keepdims=True, initial=0) + np.log(max(n, 1)))
        rest = ((2 * n + c.shape[-1]) * sums + 10 * u + undivided) * (mean + abs(out)) + 2 * n * tiny
        return np.minimum(np.nan_to_num(one, nan=np.inf), far.max(3, initial=0.0)) + rest

    return Right(exact.output, attending.bounded(error, span(seen, v)))


def promised(case: Case, chosen: Chosen) -> bool:
    """Other lengths of keys than of queries only where the target takes them, and no query before the first key."""
    before = case["causal"] and case["queries"] > case["keys"]
    return case["queries"] == case["keys"] or not (chosen.get("more keys") or before)


SIZES = [
    {},
    *({"batch": n} for n in (6, 4)),  # as many elements as queries, as heads
    *({"heads": n, "length": 5} for n in (9, 16)),
    *sized((1, 130, 8, 5), (4, 7, 4, 4), (17, 33, 16, 8), (5, 5, 80, 48), (1, 1, 1, 1)),
    *({"rank": r, "turned_width": x} for r, x in ((1, 1), (4, 4), (64, 2), (130, 8))),
    {"length": 129, "batch": 1},
]

COLUMNS = {
    "sizes": SIZES,
    "types": [{}, {"type": "float64"}, {"type": "float16"}, {"type": "bfloat16"}],
    "masks": [{}, {"mask": "padded"}],
    "scale": [{}, {"scale": 0.3}],
    "memory": [{}, {"memory": "rows"}],
    "values": [{}, {"edits": ("q = 4 * q",)}, {"edits": ("latents = 4 * latents",)}],
}
"""What is set beside each other. Flags that hide the future and absorb matrices are tried both ways with each."""

NEGATIVE = ("q, latents, up_to_keys = 20 * (1 + abs(q)), -20 * (1 + abs(latents)), abs(up_to_keys)",)
"""All scores far below zero: who hides a key by a number that is not small enough does not hide it."""

OF_TYPES = (
    *({"length": n, "seed": n} for n in (5, 17)),
    *({"edits": (f"{x} = 4 * {x}",)} for x in ("q", "latents")),
)
"""What is asked in a type."""

RANKS = ((1, 1), (5, 5), (16, 4), (64, 2), (130, 8))
"""Ranks of latents, and beside each the width of the channels that are turned."""

LATENT = Kind(
    operands=(
        *("q", "q turned", "latents", "k turned", "up to keys"),
        *("up to values", "causal", "absorbs", "mask", "scale"),
    ),
    gives="bhte",
    telling=("up to keys", "up to values"),
    usual={"batch": 2, "heads": 4, "length": 6, "width": 5, "value_width": 3, "rank": 7, "turned_width": 2},
    few=8,
    promised=promised,
    stages=(
        Stage(
            forms={"same width": (False, True), "layout": ("bhtd", "bthd", "btd", "td")},
            choices={"scale": ("rsqrt", "content", "one"), "causal": ("never", "always")} | {"absorbs": ("never",)},
            trials=({"heads": 3, "length": 5, "width": 8, "value_width": 6, "batch": 4, "seed": 4},),
            identity="weights",
        ),
        Stage(needs="mask", trials=({"mask": "padded", "heads": 3, "seed": 3},), identity="padding"),
    ),
    right=right,
    reads=(more_keys,),
    columns=COLUMNS,
    compiled={"sizes": COLUMNS["sizes"][:2]},
    laws=attending.laws(
        {
            "ranks": RightAt({"rank": rank, "turned_width": width} for rank, width in RANKS),
            "large": RightAt({"edits": x, "seed": seed} for seed in range(3) for x in (("q = 20 * q",), NEGATIVE)),
            "future": future(
                (5, 17), (5,), [{"latents": "4 * {x}"}, {"latents": "{x} + 1e3"}], batch=1, causal=True
            ),
            "elements apart": apart({"batch": 3, "heads": 3, "seed": 7}, ("q",)),
        },
        of_types=OF_TYPES,
        without=("more queries", "ties", "offset values", "masks"),
    ),
)
