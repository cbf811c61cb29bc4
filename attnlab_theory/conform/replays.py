"""Calls that show a failure as a few lines of Python, for those who do not have attnlab.

What one case alone shows is written by `show`. Here the calls of a log are made again, whatever the kind. The lines
of a case make its arrays. An array that is another one is written out if it is small, and else handed over as its
bytes. So what is made again is what was called.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.callers import Place
from attnlab_theory.conform.codes import GENERATORS, equal, framed, joined, lain, packed, plain, short
from attnlab_theory.conform.finding import trouble_of
from attnlab_theory.conform.recording import Log, Made, Shown, Spot

LINES = 15
"""So many at most."""

LETTERS = 16_000
"""So many at most: nobody reads more."""

MOST_CALLS = 60
"""So many calls at most."""

PART = (
    "part = lambda o, *ns: next((x for n in ns for x in "
    "[o.get(n) if isinstance(o, dict) else getattr(o, n, None)] if x is not None), o)"
)


def snippet(
    log: Log, shown: Shown, calls: Sequence[int], places: Sequence[Place], about: Sequence[dict[str, Any]]
) -> list[str]:
    """At most 15 lines of Python that make calls again and show what is wrong; none if that takes more.

    Args:
        log: of all calls.
        shown: what is wrong.
        calls: which to make.
        places: of the target, and of the one that it is compared with.
        about: what is known of each, as `harness.Host.about` has it.
    """
    # Nobody has written the lines that put the rows of a cache in another order.
    if len(calls) > MOST_CALLS or any(log.made[i].plan.get("rows") for i in calls):
        return []
    script = _Script(log, places, about)
    for i in calls:
        end = i == calls[-1]
        script.call(i, end=end, watched=shown.written if end else None)
    return script.lines(_printed(log, shown, calls[-1]))


def _printed(log: Log, shown: Shown, last: int) -> str:
    made = log.made[last]
    if shown.written is not None:
        return f"print(abs(x{last} - y{last}).max(), 'where 0 is right')"
    if shown.wrong is not None:
        right = shown.right
        if right is None:
            return f"print({_at(log, shown.wrong)}, 'is no number')"
        said = (
            f"'where {right:.9g} is right'"
            if not isinstance(right, Spot)
            else f"'where', {_at(log, right)}, 'is right'"
        )
        return f"print({_at(log, shown.wrong)}, {said})"
    if made.back.report.get("differs"):
        one, first = _read(made, "o"), _read(made, f"o{last}[0]")
        return f"print(max(float(abs({one} - {first}).max()) for o in o{last}), 'where 0 is right')"
    if made.back.report.get("overwritten"):
        return f"print(float(abs({_read(made, f'o{last}')} - y{last}).max()), 'where 0 is right')"
    trouble = trouble_of(made.back.report)
    return f"print(getattr(o{last}, 'shape', type(o{last})))  # {str(trouble or '')[:80]}"


def _at(log: Log, spot: Spot) -> str:
    """A number of an output."""
    made = log.made[spot.call]
    if made.plan.get("cotangent"):
        return _slope(made, spot)
    out = _read(made, f"o{spot.call}", spot.array)
    return f"float({out}[{', '.join(map(str, spot.place))}])" if spot.place else f"float({out})"


def _read(made: Made, out: str, array: int = 0) -> str:
    """An array of what a call gave."""
    if named := made.plan.get("part"):
        out = f"part({out}, {', '.join(map(repr, named))})"
    return f"{out}[{array}]" if made.back.report.get("several") else out


def _slope(made: Made, spot: Spot) -> str:
    """A number among gradients, which come end to end."""
    flat = spot.place[0]
    floats = _tracked(made)
    for n, i in enumerate(floats):
        x = made.arrays[i]
        if flat < x.size:
            index = ", ".join(str(int(each)) for each in np.unravel_index(flat, x.shape))
            return f"float(o{spot.call}[{n if made.plan['framework'] == 'torch' else i}][{index}])"
        flat -= x.size
    raise AssertionError("a gradient lies in one of the arrays")


def _tracked(made: Made) -> list[int]:
    """The places of the arrays whose gradients were wanted."""
    some = made.plan["tracked"]
    return [i for i, x in enumerate(made.arrays[:-1]) if x.dtype.kind == "f" and (some is True or i in some)]


class _Script:
    """Lines that grow by a call."""

    def __init__(self, log: Log, places: Sequence[Place], about: Sequence[dict[str, Any]]) -> None:
        self.log, self.places, self.about = log, places, about
        self.drawn: list[str] = []
        """The lines that made arrays last."""
        self.objects: dict[tuple[int, int], str] = {}
        self.named: list[tuple[str, np.ndarray]] = []
        """The arrays that are written out, and have a name."""
        self.made: list[str] = []
        """What makes arrays and calls."""
        self.kept: dict[tuple[int, int], str] = {}
        self.parts = self.compared = False
        self.tracks = True
        self.frameworks: set[str] = set()

    def call(self, i: int, *, end: bool, watched: int | None) -> None:
        """Make a call again, maybe the last one. The array that it writes into is watched."""
        made = self.log.made[i]
        plan = made.plan
        self.frameworks |= {plan["framework"]} - {"numpy"}
        if plan["framework"] == "torch" and self.tracks != plan.get("gradients", True):
            self.tracks = not self.tracks
            self.made.append(f"torch.set_grad_enabled({self.tracks})")
        names, values = plan["names"], self._arrays(made)
        cotangent = values.pop() if plan.get("cotangent") else ""
        first = len(values) - len(names)
        if watched is not None:
            copied = ".clone()" if plan["framework"] == "torch" else ".copy()"
            self.made.append(f"x{i} = {values[watched]}; y{i} = x{i}{copied}")
            values[watched] = f"x{i}"
        if plan.get("tracked") and not cotangent and plan["framework"] == "torch":
            floats = [x.dtype.kind == "f" for x in made.arrays]
            values = [x + ".requires_grad_()" * is_float for x, is_float in zip(values, floats, strict=True)]
        placed, by_name = values[:first], values[first:]
        if plan.get("shared"):
            self.made.append(f"x{i} = {placed[0]}")
            placed = [f"x{i}"] * first
        random = self._thrown(plan)
        for place, number in sorted(plan.get("places", {}).items(), key=lambda each: int(each[0])):
            placed.insert(int(place), self.kept[made.who, number])
        forms = plan.get("forms", {})
        by_name = [
            re.sub(rf"\b{forms[name][0]}\b", lambda _, x=value: x, forms[name][1]) if name in forms else value
            for name, value in zip(names, by_name, strict=True)
        ]
        said = [f"{name}={value}" for name, value in zip(names, by_name, strict=True)]
        said += [f"{name}={self.kept[made.who, k]}" for name, k in plan.get("kept", {}).items()]
        said += [f"{name}={plain(value)}" for name, value in plan["plain"].items()] + random
        function = self._function(made)
        if cotangent:
            self._pulled(i, function, [*placed, *by_name], names, said[len(names) :], cotangent, made)
            return
        asked = f"{function}({', '.join([*placed, *said])})"
        if made.back.report.get("differs"):
            asked = f"[{asked} for _ in range({plan['times']})]"
        refused = made.back.report["trouble"] and not end
        self.made.append(
            f"try:\n    {asked}\nexcept Exception as e:\n    print(e)" if refused else f"o{i} = {asked}"
        )
        if made.back.report.get("overwritten"):
            copied = "clone" if plan["framework"] == "torch" else "copy"
            twice = [f"2 * {value}" for value in placed]
            self.made.append(f"y{i} = {_read(made, f'o{i}')}.{copied}(); {function}({', '.join([*twice, *said])})")
        for place, number in zip(plan.get("keep", ()), made.back.report.get("kept", ()), strict=False):
            self.kept[made.who, number] = f"o{i}" if place == "" else f"o{i}[{place}]"
            if isinstance(place, str) and place:
                self.parts = True
                self.kept[made.who, number] = f"part(o{i}, {place!r})"
        self.parts |= bool(plan.get("part"))

    def _pulled(
        self, i: int, function: str, values: list[str], names: list[str], said: list[str], c: str, made: Made
    ) -> None:
        """The gradients of sum(c * output)."""
        plan, first = made.plan, len(values) - len(names)
        inputs = [f"a{n}" for n in range(len(values))]
        handed = [
            *inputs[:first],
            *(f"{name}={a}" for name, a in zip(names, inputs[first:], strict=True)),
            *said,
        ]
        several = "[0]" if made.back.report.get("several") else ""
        called = f"lambda {', '.join(inputs)}: {function}({', '.join(handed)}){several}"
        floats = _tracked(made)
        if plan["framework"] == "torch":
            self.made.append(f"a = [{', '.join(values)}]")
            wanted = f"[a[n].requires_grad_() for n in {floats}]"
            self.made.append(f"f = {called}")
            ends = f"w, {c}, materialize_grads=True"
            self.made.append(f"o{i} = torch.autograd.grad((w := {wanted}) and f(*a), {ends})")
        else:
            self.made.append(f"o{i} = jax.vjp({called}, {', '.join(values)})[1]({c})")

    def _function(self, made: Made) -> str:
        place, about = self.places[made.who], self.about[made.who]
        top, dot, inner = place.names.partition(".")
        function = ("other" if made.who else top) + dot + inner
        self.compared |= bool(made.who)
        if about.get("class"):
            number = made.plan.get("object", 0)
            name = f"{'target' if made.who == 0 else 'rival'}{number}"
            mode = ".eval()" if about.get("mode") else ""
            self.objects.setdefault((made.who, number), f"{name} = {function}(){mode}")
            function = name
        return f"{function}.{made.plan['method']}" if made.plan.get("method") else function

    def _thrown(self, plan: dict[str, Any]) -> list[str]:
        found = []
        for name, (style, seed) in plan.get("random", {}).items():
            if not name:
                shared = f"; torch.manual_seed({seed})" if plan["framework"] == "torch" else ""
                self.made.append(f"np.random.seed({seed}){shared}")
                continue
            self.frameworks |= {style} & {"jax", "torch"}
            found.append(f"{name}={GENERATORS[style].format(seed)}")
        return found

    def _arrays(self, made: Made) -> list[str]:
        """The code of each array: that of its case, or of another array that is the same, or its numbers."""
        recipe, found, lines = made.recipe, list[str](), list[str]()
        drawn = recipe.arrays() if recipe else []
        made_by = [j for j, x in enumerate(drawn) if x is not None]
        for i, x in enumerate(made.arrays):
            own = [j for j in (i, *made_by) if j in made_by and equal(x, drawn[j])]
            if recipe and own:
                lines = recipe.case.lines() + [f"a, b = {recipe.begin}, {recipe.end}"] * bool(recipe.case["parts"])
                code = str(recipe.codes[own[0]])
                code = code if drawn[own[0]].flags.c_contiguous else f"np.ascontiguousarray({code})"
            else:
                code = self._literal(x)
            narrow = made.plan["kind"] == "bfloat16" and x.dtype == np.float32
            found.append(framed(lain(code, made.plan["strided"], x.shape), made.plan["framework"], narrow))
        if lines and lines != self.drawn:
            # Of the same case other tokens may follow.
            self.made += lines[-1:] if lines[:-1] == self.drawn[:-1] else lines
            self.drawn = lines
        return found

    def _literal(self, x: np.ndarray) -> str:
        code = short(x) or next((name for name, y in self.named if equal(x, y)), "")
        if not code:
            code = f"x{len(self.named)}_"
            self.made.append(f"{code} = {packed(x)}")
            self.named.append((code, x))
        return code

    def lines(self, last: str) -> list[str]:
        """All lines, with the last one; none if they are too many."""
        found = ["import sys", "import numpy as np", *(f"import {each}" for each in sorted(self.frameworks))]
        for who, place in enumerate(self.places[: 1 + self.compared]):
            name = place.names.partition(".")[0] + " as other" * who
            found += [f"sys.path.insert(0, {place.folder!r})", f"from {place.module} import {name}"]
        found += [PART] * self.parts
        found += ["; ".join(self.objects.values())] * bool(self.objects)
        calls = [*joined(self.made, LINES - len(found) - 1)]
        found += [*calls, last]
        return found if len(found) <= LINES and sum(map(len, found)) <= LETTERS else []
