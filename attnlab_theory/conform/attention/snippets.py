"""A counterexample as a few lines of Python, for those who do not have attnlab."""

import re

from attnlab_theory.conform.attention import masks
from attnlab_theory.conform.attention.cases import ROLES, Case, arrays, asks, lines, storage
from attnlab_theory.conform.attention.conventions import Conventions
from attnlab_theory.conform.attention.judging import Outcome
from attnlab_theory.conform.attention.layouts import LAYOUTS, weights_layout
from attnlab_theory.conform.callers import Place
from attnlab_theory.conform.codes import lain

LITERAL = 24
"""So many numbers at most are written out; more are drawn."""


def snippet(place: Place, way: Conventions, case: Case, outcome: Outcome, call: str = "{}") -> list[str]:
    """At most 15 lines of Python that show a counterexample. They need the target and numpy.

    Args:
        place: of the target.
        way: to call it.
        case: the counterexample.
        outcome: what came back.
        call: what is called, of its name: `{}()` where a class is named.
    """
    given = arrays(case)
    numbers = sum(x.size for x in given if x is not None)
    if numbers <= LITERAL:
        named = zip(given._fields, given, strict=True)
        drawn = [f"{name} = np.array({x.tolist()}, '{x.dtype}')" for name, x in named if x is not None]
        drawn = [line.replace("nan", "np.nan").replace("inf", "np.inf") for line in drawn]
    else:
        drawn = lines(case)
    operands = [f"{name}=" for name in way.by_name] or [""] * 3
    handed = [name + LAYOUTS[way.layout].format(x=x) for name, x in zip(operands, way.operands, strict=True)]
    plain, names = way.plan(case)
    roles = [role for role in ROLES if asks(case, role)]
    # What must be given says nothing here.
    t, s, kind = case.queries, case.keys, storage(case.kind)
    idle = {
        "mask": f"np.ones(({t}, {s}), bool)",
        "bias": f"np.zeros(({case.heads}, {t}, {s}), '{kind}')",
        "padding": f"np.ones(({case.batch}, {s}), bool)",
        "lengths": f"np.full({case.batch}, {s})",
        "segments": f"np.zeros(({case.batch}, {s}), int)",
        "sinks": f"np.full({case.heads}, -np.inf, '{kind}')",
        "slopes": f"np.zeros({case.heads}, '{kind}')",
    }
    added = [role for role in idle if way.adds(case, role)]
    drawn += [f"{role} = {idle[role]}" for role in added]
    roles = [role for role in idle if role in (*roles, *added)]
    for name, role in zip(names, roles, strict=True):
        spread = role == "bias" and "h" not in way.layout and not case.bias_by_element
        shown = "bias[0]" if spread else role
        if role == "bias" and case.bias_by_element:
            shown = LAYOUTS[weights_layout(way.layout)].format(x="bias")
        if role == "mask":
            whole = case.by_head or case.mask.startswith("element")
            x = masks.spelt(way.mask_shape, way.layout, case.batch, whole=whole)
            shown = masks.CODE.get(way.mask, "{x}").format(x=x, kind=kind)
        if role == "padding":
            shown = masks.CODE.get(way.padding, "{x}").format(x="padding")
        if role == "bias" and way.whole_bias and not case.bias_by_element:
            shown = LAYOUTS[weights_layout(way.layout)].format(x=f"np.repeat(bias[None], {case.batch}, 0)")
        handed.append(f"{name}={shown}")
    if case.memory:
        shape = (case.batch, case.heads)
        drawn.append(f"lay = lambda x: {lain('x', case.memory, shape)}")
        laid = (re.sub(r"^(\w+=)?(.*)$", r"\1lay(\2)", x) for x in handed)
        handed = [x if x.endswith("lengths") else y for x, y in zip(handed, laid, strict=True)]
    handed = [_framed(x, way.framework, case.kind) for x in handed]
    inside = ", ".join([*handed, *(f"{name}={x!r}" for name, x in plain.items())])
    found = ["import sys", "import numpy as np", *(["import torch"] if way.framework == "torch" else [])]
    found += ["torch.set_grad_enabled(False)"] if way.framework == "torch" else []
    found += [
        f"sys.path.insert(0, {place.folder!r})",
        f"from {place.module} import {place.names.partition('.')[0]}",
    ]
    found += [*drawn, f"out = {call.format(place.names)}({inside})"]
    if outcome.place and not outcome.of_weights:
        axes = dict(zip("bhtd", outcome.place, strict=True))
        index = ", ".join(str(axes[axis]) for axis in way.layout)
        first = "out[0]" if outcome.answer.several else "out"
        return [*found, f"print({first}[{index}], 'where {outcome.right:.9g} is right')"]
    return [*found, f"print(out)  # {outcome.why}"]


def _framed(x: str, framework: str, kind: str) -> str:
    if framework != "torch":
        return x
    named = re.fullmatch(r"(\w+=)(.*)", x)
    name, value = named.groups() if named else ("", x)
    is_numbers = not re.search(r"\b(mask|padding|lengths|segments)\b", value) or "astype('float" in value
    return f"{name}torch.from_numpy({value})" + ".bfloat16()" * (kind == "bfloat16" and is_numbers)
