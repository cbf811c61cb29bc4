"""A snippet of one case: its lines, the call, and the number that is wrong. It needs the target and numpy.

What takes several calls is shown by `replays`.
"""

from collections.abc import Sequence

from attnlab_theory.conform.callers import Place
from attnlab_theory.conform.case import Case, word
from attnlab_theory.conform.codes import GENERATORS, begun, framed, lain
from attnlab_theory.conform.finding import Fault, Finding
from attnlab_theory.conform.judge import Judge

MOST_LINES = 15
"""A snippet of more lines is not shown."""


def snippet(place: Place, judge: Judge, finding: Finding) -> list[str]:
    """Lines of Python that show what was found; none if that takes too many."""
    assert finding.case is not None
    if judge.convention.steps is not None:
        # What is told of steps is no part of a case: its calls are made again.
        return []
    lines, target = begun(place, judge.convention.framework), place.names
    if judge.caller.about().get("class"):
        lines, target = [*lines, f"target = {target}()"], "target"
    made = finding.case.lines()
    if statistic := finding.about.get("statistic"):
        lines += [*made, *_drawn(target, judge, finding)]
        assert finding.number is not None
        return [*lines, f"print(float({statistic}), 'where {finding.number.right:.9g} is right')"]
    if finding.beside is not None:
        first = finding.beside.lines()
        lines += [*first, *_called("right", target, judge, finding.beside)]
        # What is as before is not drawn again.
        made = made[len(first) :] if made[: len(first)] == first else made
    lines += [*made, *_called("out", target, judge, finding.case)]
    if finding.number is None:
        is_shape = finding.trouble is not None and finding.trouble.fault is Fault.SHAPE
        lines.append("print(getattr(out, 'shape', type(out)))" if is_shape else "print(out)")
    else:
        number, heads = finding.number, finding.case["heads"]
        entry = _entry("out", number.place, judge, heads)
        entry += f" - {_entry('out', number.origin, judge, heads)}" if number.origin else ""
        right = f"{number.right:.9g} is right'"
        if finding.beside is not None:
            right = f"', float({_entry('right', number.place, judge, heads)}), 'is right'"
        lines.append(f"print(float({entry}), 'where {right})".replace("where ',", "where',"))
    return lines if len(lines) <= MOST_LINES else []


def _drawn(target: str, judge: Judge, finding: Finding) -> list[str]:
    """The line of the calls of many draws: of a case, or of two of the same arrays that stand beside each other."""
    calls, count = [], finding.about["draws"]
    for case in filter(None, (finding.case, finding.beside)):
        (line,) = _called("out", target, judge, case.replaced(draw="i"))
        calls.append(f"np.asarray({line.removeprefix('out = ')})")
    seeds = "" if "source" in judge.convention.names else "np.random.seed(i) or "
    if seeds and judge.convention.framework == "torch":
        seeds += "torch.manual_seed(i) and "
    made = calls[0] if len(calls) == 1 else f"[{', '.join(calls)}]"
    return [f"draws = np.array([{seeds}{made} for i in range({count})])"]


def _called(name: str, target: str, judge: Judge, case: Case) -> list[str]:
    """The lines of the calls of a case: one, or one for each part."""
    found, axes = judge.convention, dict(case.arrays)
    arrays = {found.names[role]: axes[role] for role in axes if axes[role] and role in found.names}
    given = []
    for parameter, code in found.codes(case, case["queries"] or 0).items():
        if array := word(found.functions.get(parameter, "")):
            code = code.replace(array, framed(array, found.framework))
        elif parameter in arrays:
            code = lain(code, case["memory"] or "", [case.lengths[axis] for axis in arrays[parameter]])
            code = framed(code, found.framework, case.type == "bfloat16")
        is_placed = parameter in [found.names[role] for role in found.placed]
        given.append(code if is_placed else f"{parameter}={code}")
    given += [
        f"{source}={GENERATORS[style].format(n)}" for source, (style, n) in found.random(case).items() if source
    ]
    parts = case["parts"] or ()
    first = "[0]" * (judge.several.get(bool(parts), False) and len(_returned(judge)) < 2)
    first = first if found.part is None else f"[{found.part}]"
    if len(parts) < 2:
        return [*([f"a, b = 0, {parts[0]}"] if parts else []), f"{name} = {target}({', '.join(given)}){first}"]
    given = [each for each in given if not each.startswith(f"{found.names['state']}=")]
    ends = [sum(parts[: i + 1]) for i in range(len(parts))]
    return [
        "outs, state = [], None",
        f"for a, b in {[*zip([0, *ends], ends, strict=False)]}:",
        f"    part, state = {target}({', '.join(given)}, {found.names['state']}=state)[:2]",
        "    outs.append(np.asarray(part))",
        f"{name} = np.concatenate(outs, {found.gives(judge.kind.axes).index('t')})",
    ]


def _entry(name: str, place: Sequence[int], judge: Judge, heads: int) -> str:
    """An entry of what came, whose axes are the target's own."""
    where = dict(zip(judge.kind.axes, place, strict=True))
    own, returned = judge.convention.gives(judge.kind.axes), _returned(judge)
    if len(returned) > 1:
        # Several answers are judged as one, in which the heads of one follow those of the other.
        part = int(where["h"] >= heads)
        name, where["h"] = f"{name}[{part}]", where["h"] - part * heads
    return f"{name}[{', '.join(str(where.get(axis, 0)) for axis in own)}]"


def _returned(judge: Judge) -> list[str]:
    """The roles that have an answer of their own."""
    return [role for role in judge.kind.returns if role in judge.convention.names]
