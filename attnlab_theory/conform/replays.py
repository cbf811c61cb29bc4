"""Calls that show a failure as a few lines of Python, for those who do not have attnlab.

There is one writer for all kinds: it makes the calls of a log again. Small arrays are written out. An array that is
a part of a stream of normal numbers is drawn again by its seed. What differs from another one in a block is a copy
of it. Anything else is handed over as its bytes, so what is made again is what was called.
"""

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.callers import Place
from attnlab_theory.conform.codes import (
    GENERATORS,
    LITERAL,
    SEEDS,
    equal,
    framed,
    joined,
    lain,
    packed,
    plain,
    short,
    steps_of,
    within,
)
from attnlab_theory.conform.finding import trouble_of
from attnlab_theory.conform.recording import Log, Made, Shown, Spot

LINES = 15
"""So many at most."""

LETTERS = 16_000
"""So many at most: nobody reads more."""

MOST_CALLS = 60
"""So many calls at most."""

STREAM = "{letter}{seed}{kind} = np.random.{maker}({seed}).standard_normal(SIZE).astype('{kind}')"

VIEW = "view = lambda r, p, n, by: np.lib.stride_tricks.as_strided(r[p:], n, [r.itemsize * i for i in by]).copy()"

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
        self.drawn: dict[str, int] = {}
        """Streams, and how long they are."""
        self.objects: dict[tuple[int, int], str] = {}
        self.named: list[tuple[str, np.ndarray]] = []
        """The arrays that have a name."""
        self.made: list[str] = []
        """What makes arrays and calls."""
        self.kept: dict[tuple[int, int], str] = {}
        self.views = self.parts = self.compared = False
        self.tracks = True
        self.frameworks: set[str] = set()

    def call(self, i: int, *, end: bool, watched: int | None) -> None:
        """Make a call again, maybe the last one. The array that it writes into is watched."""
        made = self.log.made[i]
        plan = made.plan
        arrays = [*made.arrays]
        self.frameworks |= {plan["framework"]} - {"numpy"}
        if plan["framework"] == "torch" and self.tracks != plan.get("gradients", True):
            self.tracks = not self.tracks
            self.made.append(f"torch.set_grad_enabled({self.tracks})")
        cotangent = arrays.pop() if plan.get("cotangent") else None
        names = plan["names"]
        first = len(arrays) - len(names)
        values = [self._framed(self._array(x, plan["strided"]), x, plan) for x in arrays]
        if watched is not None:
            copied = ".clone()" if plan["framework"] == "torch" else ".copy()"
            self.made.append(f"x{i} = {values[watched]}; y{i} = x{i}{copied}")
            values[watched] = f"x{i}"
        if plan.get("tracked") and cotangent is None and plan["framework"] == "torch":
            values = [
                f"{v}.requires_grad_()" if x.dtype.kind == "f" else v for v, x in zip(values, arrays, strict=True)
            ]
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
        if cotangent is not None:
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
        self, i: int, function: str, values: list[str], names: list[str], said: list[str], c: np.ndarray, made: Made
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
        weights = self._framed(self._array(c, ""), c, plan)
        floats = _tracked(made)
        if plan["framework"] == "torch":
            self.made.append(f"a = [{', '.join(values)}]")
            wanted = f"[a[n].requires_grad_() for n in {floats}]"
            self.made.append(f"f = {called}")
            ends = f"w, {weights}, materialize_grads=True"
            self.made.append(f"o{i} = torch.autograd.grad((w := {wanted}) and f(*a), {ends})")
        else:
            self.made.append(f"o{i} = jax.vjp({called}, {', '.join(values)})[1]({weights})")

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

    def _framed(self, code: str, x: np.ndarray, plan: dict[str, Any]) -> str:
        return framed(code, plan["framework"], plan["kind"] == "bfloat16" and x.dtype == np.float32)

    def _array(self, x: np.ndarray, memory: str) -> str:
        """The code of an array."""
        code = short(x) or next((name for name, y in self.named if equal(x, y)), "") or self._view(x)
        if not code:
            code = self._block(x) or packed(x)
            name = f"x{len(self.named)}_"
            self.made.append(f"{name} = {code}" if not code.startswith("copy:") else code[5:].replace("NAME", name))
            self.named.append((name, x))
            code = name
        return lain(code, memory, x.shape)

    def _view(self, x: np.ndarray) -> str:
        """A part of a stream of normal numbers, by its seed."""
        if x.dtype.kind != "f":
            return ""
        for seed, (letter, maker) in itertools.product(range(SEEDS), (("r", "default_rng"), ("s", "RandomState"))):
            found = within(x, seed, maker)
            if found is None:
                continue
            begin, steps = found
            end = begin + sum(step * (n - 1) for step, n in zip(steps, x.shape, strict=True)) + 1
            line = STREAM.format(letter=letter, maker=maker, seed=seed, kind=x.dtype.str[1:])
            self.drawn[line] = max(self.drawn.get(line, 0), end)
            name = f"{letter}{seed}{x.dtype.str[1:]}"
            if end - begin == x.size and [*steps] == steps_of(x.shape):
                code = f"{name}[{begin}:{end}].reshape{x.shape}" if x.ndim > 1 else f"{name}[{begin}:{end}]"
            else:
                self.views = True
                code = f"view({name}, {begin}, {x.shape}, {steps})"
            if x.size > 4 * LITERAL:
                self.made.append(f"x{len(self.named)}_ = {code}")
                self.named.append((code := f"x{len(self.named)}_", x))
            return code
        return ""

    def _block(self, x: np.ndarray) -> str:
        """A copy of an array that has a name, in which a block is another one."""
        for name, y in self.named:
            if y.shape != x.shape or y.dtype != x.dtype:
                continue
            places = np.argwhere(~((x == y) | (np.isnan(x) & np.isnan(y)) if x.dtype.kind == "f" else x == y))
            if not len(places):
                continue
            low, high = places.min(0), places.max(0) + 1
            box = tuple(slice(int(a), int(b)) for a, b in zip(low, high, strict=True))
            index = ", ".join(f"{a}:{b}" for a, b in zip(low, high, strict=True))
            for code, there in (("*= 4", 4 * y), ("*= -4", -4 * y), ("+= 1000", y + y.dtype.type(1e3))):
                if np.array_equal(x[box], there[box]):
                    return f"copy:NAME = {name}.copy(); NAME[{index}] {code}"
            if np.all(x[box] == x[box].flat[0]):
                return f"copy:NAME = {name}.copy(); NAME[{index}] = {plain(x[box].flat[0].item())}"
        return ""

    def lines(self, last: str) -> list[str]:
        """All lines, with the last one; none if they are too many."""
        found = ["import sys", "import numpy as np", *(f"import {each}" for each in sorted(self.frameworks))]
        for who, place in enumerate(self.places[: 1 + self.compared]):
            name = place.names.partition(".")[0] + " as other" * who
            found += [f"sys.path.insert(0, {place.folder!r})", f"from {place.module} import {name}"]
        found += [line.replace("SIZE", str(size)) for line, size in self.drawn.items()]
        found += [VIEW] * self.views + [PART] * self.parts
        found += ["; ".join(self.objects.values())] * bool(self.objects)
        calls = [*joined(self.made, LINES - len(found) - 1)]
        found += [*calls, last]
        return found if len(found) <= LINES and sum(map(len, found)) <= LETTERS else []
