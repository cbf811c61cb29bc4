"""A case as a target can be asked it: with the axes that it has, and the features that its kind promises."""

import dataclasses

from attnlab_theory.conform.attention.cases import Case
from attnlab_theory.conform.attention.conventions import Conventions
from attnlab_theory.conform.attention.layouts import has_batch, has_heads
from attnlab_theory.conform.kinds import Kind

WIDE = 1000
"""A window that hides nothing in any case."""

CAP = 3.0
"""A cap that scores of normal queries and keys do feel."""


def fitted(case: Case, kind: Kind, way: Conventions) -> Case:
    """A case with the axes that a target has, and the features that its kind promises."""
    heads = case.heads if has_heads(way.layout) else 1
    if kind.grouped and heads > 1:
        # Two groups of two: with fewer of either no order of heads can be seen.
        heads = 4
    groups = max(heads // 2, 1) if kind.grouped else heads
    window, softcap = case.window, case.softcap
    if kind.wants == "window" and "window" in way.names and window is None:
        window = WIDE
    if kind.wants == "softcap" and "softcap" in way.names and softcap is None:
        softcap = CAP
    return dataclasses.replace(
        case,
        width=way.wide(case.width),
        value_width=way.wide(case.width if way.same_width else case.value_width),
        batch=case.batch if has_batch(way.layout) else 1,
        heads=heads,
        groups=groups,
        causal=kind.causal if case.causal is None else case.causal,
        window=window,
        softcap=softcap,
        bias=kind.wants == "bias" or case.bias,
    )
