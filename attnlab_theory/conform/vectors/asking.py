"""One case asked of a target: what it is handed, and what came back, in the order [b h t d]."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.finding import Trouble, misshapen, trouble_of
from attnlab_theory.conform.layouts import laid_out, taken_in, weights_layout
from attnlab_theory.conform.vectors.cases import Arrays, Case, arrays
from attnlab_theory.conform.vectors.conventions import Conventions


class Answer(NamedTuple):
    """What came back."""

    trouble: Trouble | None = None
    """What went wrong; then there is nothing else."""
    output: np.ndarray = np.zeros((0, 0, 0, 0))
    """[b h t e], in float64."""
    weights: np.ndarray | None = None
    """[b h t s], where the target gives them too."""
    kind: str = ""
    """The type of the output."""
    printed: str = ""
    changed: tuple[str, ...] = ()
    """The names of inputs that are no longer what they were."""
    several: bool = False
    """Whether the output was the first of several."""
    differs: int = 0
    """The first of several calls in a row that gave other bits; 0 if none did."""
    overwritten: bool = False
    """Whether another call changed the output of this one."""
    beside: np.ndarray | None = None
    """What came after the output, as it came, where it is not the weights."""


def ask(
    caller: Caller,
    way: Conventions,
    case: Case,
    given: Arrays | None = None,
    more: Mapping[str, Any] | None = None,
) -> Answer:
    """Make one call.

    Args:
        caller: of the target.
        way: to call it.
        case: what is asked.
        given: other arrays than those of the case.
        more: of the plan, as `harness.Host.call` has it.
    """
    given = arrays(case) if given is None else given
    plain, named = way.plan(case)
    plan = {"framework": way.framework, "kind": case.kind, "strided": case.memory, "names": named, "plain": plain}
    plan |= {"by_name": [*way.by_name], "gradients": False, **(more or {})}
    report, came = caller.call(plan, way.handed(given, case))
    if (trouble := trouble_of(report)) is not None:
        return Answer(trouble=trouble)
    names = (*way.operands, *named)
    changed = tuple(names[i] for i in report["changed"])
    output, *others = came
    right = (case.batch, case.heads, case.queries, case.value_width)
    expected = laid_out(np.broadcast_to(0.0, right), way.layout).shape
    if output.shape != expected:
        return Answer(trouble=misshapen(output.shape, expected), changed=changed)
    rows = weights_layout(way.layout)
    grid = laid_out(np.broadcast_to(0.0, (*right[:3], case.keys)), rows).shape
    weights = taken_in(others[0], rows) if others and others[0].shape == grid else None
    return Answer(
        output=taken_in(output, way.layout),
        weights=weights,
        kind=report["kind"],
        printed=report["printed"],
        changed=changed,
        several=report["several"],
        differs=report.get("differs", 0),
        overwritten=report.get("overwritten", False),
        beside=others[0] if others and weights is None else None,
    )


def call_of(way: Conventions, case: Case, given: Arrays | None = None) -> str:
    """A call in words: the shapes and arguments that were handed over."""
    given = arrays(case) if given is None else given
    plain, named = way.plan(case)
    shapes = dict(zip((*way.operands, *named), way.handed(given, case), strict=True))
    said = [f"{name} {[*x.shape]}" for name, x in shapes.items()] + [f"{n}={x}" for n, x in plain.items()]
    more = [case.values] * (case.values != "plain") + [f"mask: {case.mask}"] * (case.mask != "none")
    more += [f"{case.garbage} in hidden {case.within}"] * bool(case.garbage) + [case.memory] * bool(case.memory)
    return f"{', '.join(said)}, {case.kind}" + (f" ({'; '.join(more)})" if more else "")
