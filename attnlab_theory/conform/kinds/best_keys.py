r"""Softmax attention to the keys of the k largest scores, of those that a query may see.

Source: Gupta et al. 2021, "Memory-efficient Transformers via Top-k Attention" (arXiv 2106.06899), section 3.

Axes: b batch, h heads, t queries, s keys, d width, e width of values.

Tolerance. A score errs by E, as `attending.scored` says. Where a key that is kept has a score less E that is no
larger than that of a key that is not, plus E, a right program may keep either. Such rows are not judged. The
others err as softmax attention to the kept keys does (`softmax/tolerances.py`).

Of equal scores any may be kept, or all of them. The law `ties` tells which, and fails a program that keeps fewer
than k or weighs them unequally.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.finding import Finding, Verdict
from attnlab_theory.conform.identities import RightAt, visible
from attnlab_theory.conform.judge import Judge, answered
from attnlab_theory.conform.kind import Chosen, Right
from attnlab_theory.conform.kinds import attending
from attnlab_theory.conform.kinds.softmax.laws import UNIT
from attnlab_theory.conform.kinds.softmax.reference import Problem, attend
from attnlab_theory.conform.kinds.softmax.tolerances import tolerance


def right(case: Case, chosen: Chosen, made: Mapping[str, Any]) -> Right:
    """The softmax over the keys that are kept, [b h t e]."""
    q, k, v = (np.asarray(made[name], np.float64) for name in "qkv")
    scale = case["scale"] or scales.factor(chosen["scale"], q.shape[-1])
    seen = np.broadcast_to(visible(case, chosen, made), (*q.shape[:3], k.shape[2]))
    scores, errs = attending.scored(q, k, scale)
    order = np.argsort(np.where(seen, -scores, np.inf), -1, kind="stable")
    kept = np.zeros_like(seen)
    np.put_along_axis(kept, order[..., : case["top_k"]], True, -1)
    kept &= seen
    given = Problem(q, k, v, scale, kept)
    exact = attend(given)

    def within(kind: str, accumulate: str) -> np.ndarray:
        off = errs(kind, accumulate)
        least = np.where(kept, scores - off, np.inf).min(-1, initial=np.inf, keepdims=True)
        most = np.where(seen & ~kept, scores + off, -np.inf).max(-1, initial=-np.inf, keepdims=True)
        bound = tolerance(given, exact, kind, accumulate, cast=True)
        return np.where((least <= most) | bound.loose, np.nan, bound.output)

    return Right(exact.output, within)


OF_EQUAL = ("as many as are kept", "all")
"""How many of equal scores are kept."""


def ties(judge: Judge) -> Finding:
    """The law that of equal scores k are kept, and weighed equally; or all of them, which is told."""
    found, tried = {*OF_EQUAL}, 0
    same = {"width": 7} if judge.convention.chosen.get("same width") else {}
    spec = {"batch": 1, "length": 7, "value_width": 7, "values": "ties", "edits": UNIT, **same}
    for case in judge.cases({**spec, "top_k": n} for n in (1, 3, 6)):
        tried += 1
        answer = answered(judge.ask(case), case, tried)
        counts = visible(case, judge.convention.chosen, {}).sum(-1)[..., None]
        shares = zip(OF_EQUAL, (np.minimum(counts, case["top_k"]), counts), strict=True)
        found &= {word for word, n in shares if _shares(answer.numbers[..., : case["keys"]], n)}
        if not found:
            return Finding(verdict=Verdict.FAILS, case=case, fact="ties", tried=tried, failures=1)
    about = {"what": min(found, key=OF_EQUAL.index)}
    return Finding(verdict=Verdict.CONVENTION, fact="tied", about=about, tried=tried)


def _shares(weights: np.ndarray, n: np.ndarray) -> bool:
    """Whether each row has n weights of 1 / n, and no others."""
    is_share = abs(weights * n - 1) < 1e-2
    return bool(((is_share.sum(-1, keepdims=True) == n) & (is_share | (abs(weights) < 1e-6))).all())


def few_keys(judge: Judge) -> dict[str, Any]:
    """Whether fewer keys than should be kept are refused."""
    cases = judge.cases([{"length": 2}])
    return {"fewer keys": judge.ask(cases[0]).trouble} if cases else {}


def promised(case: Case, chosen: Chosen) -> bool:
    """As many keys as are kept at least, where fewer are refused."""
    return attending.promised(case, chosen) and (case["top_k"] <= case["keys"] or not chosen.get("fewer keys"))


TOP_K = dataclasses.replace(
    attending.OF_QUERIES,
    operands=(*attending.OF_QUERIES.operands, "top_k", "causal"),
    must=("top_k",),
    telling=("top_k", "q", "v"),
    usual={**attending.OF_QUERIES.usual, "length": 9, "top_k": 3},
    promised=promised,
    stages=attending.stages({"scale": ("rsqrt", "one", "inverse"), "causal": ("never", "always")}),
    right=attending.by_heads(right),
    reads=(*attending.OF_QUERIES.reads, few_keys),
    columns={**attending.COLUMNS, "kept": [{}, {"top_k": 1}, {"top_k": 6}]},
    laws=attending.laws(
        {
            "ties": ties,
            "kept": RightAt({"top_k": n, "length": 17, "seed": seed} for n in (1, 2, 5, 16, 17) for seed in (0, 1)),
            "fewer keys": RightAt({"top_k": 8, "length": n} for n in (2, 7)),
        }
    ),
)
