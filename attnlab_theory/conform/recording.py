"""The calls of a target as they were made, so that those which show a failure can be made again without attnlab."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.callers import Back, Caller
from attnlab_theory.conform.case import Recipe
from attnlab_theory.conform.finding import Fault, Trouble, trouble_of

MOST_BYTES = 1 << 26
"""So much of inputs and outputs is remembered; then nothing more is."""

NEAR = 40
"""So many calls at the end of an identity are looked at for two that are equal."""

PLACED = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")
"""Kinds of parameters that can be given by place."""

GONE = 1 << 30
"""The number of a kept object that there is not."""


class Made(NamedTuple):
    """A call that was made."""

    who: int
    """0 for the target, 1 for the one that it is compared with."""
    plan: dict[str, Any]
    arrays: Sequence[np.ndarray]
    back: Back
    recipe: Recipe | None = None
    """How the arrays are made, where it is known."""

    @property
    def is_plain(self) -> bool:
        """Whether it was answered, and needed nothing that an earlier call had left."""
        needs = (self.plan.get(name) for name in ("places", "kept", "keep", "rows", "random", "method", "object"))
        return self.who == 0 and not self.back.report["trouble"] and not any(needs)


class Spot(NamedTuple):
    """A number of an output: of which call, of which of its arrays, and where."""

    call: int
    array: int
    place: tuple[int, ...]


class Shown(NamedTuple):
    """What shows a failure: some calls, and the number that is wrong, or what became of the last of them."""

    tries: Sequence[Sequence[int]]
    """Calls that may be enough: those that the last one needs; all of the identity; all."""
    wrong: Spot | None = None
    right: Spot | float | None = None
    written: int | None = None
    """The array that the last call changed."""


class Log:
    """Calls in the order in which they were made, of one target or of two."""

    def __init__(self) -> None:
        self.made: list[Made] = []
        self.left_out = 0
        """How many calls were not made, for such as they had hung or ended the process."""
        self.killed: list[str] = []
        """The signals by which somebody else ended the process, one for each call that met one."""
        self.begun = 0
        """Where the calls of the identity begin."""
        self._bytes = 0
        self._seen: tuple[float, float, tuple[int, ...]] | None = None
        self._known: dict[str, Shown] = {}
        """What trial calls showed before any identity was tried, by the identity that they contradict."""

    def begin(self) -> None:
        """Begin an identity."""
        self.begun, self._seen = len(self.made), None

    def note(self, made: Made) -> None:
        """Remember a call."""
        trouble = trouble_of(made.back.report)
        self.left_out += trouble is not None and trouble.fault is Fault.NOT_CALLED
        self.killed += [made.back.report["killed"]] if made.back.report.get("killed") else []
        self._bytes += sum(x.nbytes for x in (*made.arrays, *made.back.arrays))
        if self._bytes <= MOST_BYTES:
            self.made.append(made)

    def saw(self, given: float, right: float, place: tuple[int, ...] = ()) -> None:
        """Remember what was found wrong last, what stood where it should, and where, in some order of the axes."""
        self._seen = given, right, place

    def remember(self, identity: str) -> None:
        """Keep the calls that show what was found wrong last until the identity is tried that it contradicts."""
        if self._seen is not None and (wrong := self._spot(self._seen[0], at=self._seen[2])) is not None:
            self._known.setdefault(identity, self._of([wrong.call], wrong, self._seen[1]))
        self._seen = None

    def shown(self, identity: str, trouble: Trouble | None) -> Shown | None:
        """The calls that show why this identity fails; None if they cannot be told."""
        if trouble is None and identity in self._known:
            return self._known[identity]
        # What was found while the target was tried has no calls of its own.
        own = range(self.begun, len(self.made)) or range(len(self.made))
        for i in reversed(own):
            if trouble is not None and trouble.is_that_of(trouble_of(self.made[i].back.report)):
                return self._of([i])
        if trouble is not None and trouble.fault is Fault.WROTE:
            for i, each in enumerate(self.made):
                if changed := each.back.report.get("changed"):
                    return self._of([i], written=changed[0])
        if self._seen is not None and (wrong := self._spot(self._seen[0], at=self._seen[2])) is not None:
            # Zeros and ones stand everywhere: they are right by themselves.
            right = None if self._seen[1] in (0.0, 1.0) else self._spot(self._seen[1], wrong)
            return self._of([wrong.call, *([right.call] if right else [])], wrong, right or self._seen[1])
        for i in own:
            if self.made[i].back.report.get("differs") or self.made[i].back.report.get("overwritten"):
                return self._of([i])
        return self._unlike(own) or (self._odd(trouble) if trouble else None)

    def _of(
        self,
        calls: Sequence[int],
        wrong: Spot | None = None,
        right: Spot | float | None = None,
        written: int | None = None,
    ) -> Shown:
        last = max(calls)
        # What a target keeps of a call, it may keep for all calls of the same shapes.
        alike = [j for j in range(min(calls)) if _alike_calls(self.made[j], self.made[min(calls)])][:1]
        own = range(min(self.begun, *calls, last), last + 1)
        tries = [self._needed(each) for each in (calls, [*alike, *calls], own)]
        tries.append([*range(last + 1)])
        return Shown([each for i, each in enumerate(tries) if each not in tries[:i]], wrong, right, written)

    def _odd(self, trouble: Trouble) -> Shown | None:
        """The last call whose output has the wrong shape, or holds what is no number."""
        for i in reversed(range(len(self.made))):
            for n, x in enumerate(self.made[i].back.arrays):
                if trouble.fault is Fault.SHAPE and trouble.gave == x.shape:
                    return self._of([i])
                if trouble.fault is Fault.NOT_FINITE and not np.isfinite(x).all():
                    place = np.argwhere(~np.isfinite(x))[0]
                    return self._of([i], Spot(i, n, tuple(int(each) for each in place)))
        return None

    def _unlike(self, own: range) -> Shown | None:
        """Two equal calls with other answers, and all between them."""
        for j in reversed(own[-NEAR:]):
            for i in own[-NEAR:]:
                if i >= j:
                    break
                if _same_call(self.made[i], self.made[j]):
                    found = _apart(self.made[i].back, self.made[j].back)
                    if found is not None:
                        array, place = found
                        return self._of([*range(i, j + 1)], Spot(j, array, place), Spot(i, array, place))
        return None

    def _spot(self, value: float, other: Spot | None = None, at: tuple[int, ...] = ()) -> Spot | None:
        """The last place where a number stands that came back; not that of another one.

        Args:
            value: the number.
            other: a place that it is not.
            at: where it stands in another order of the axes, of which the last is the last. Of several places that
                is the one, if there is such a place.
        """
        for i in reversed(range(len(self.made))):
            for n, x in enumerate(self.made[i].back.arrays):
                places = np.argwhere(np.isnan(x) if np.isnan(value) else x == value)
                if at and x.ndim:
                    alike = [place for place in places.tolist() if _alike(place, at)]
                    places = np.array(alike[:1]) if alike else places
                for place in places[: 1 + (other is not None and other.call == i)]:
                    spot = Spot(i, n, tuple(int(each) for each in place))
                    if spot != other:
                        return spot
        return None

    def _needed(self, wanted: Sequence[int]) -> list[int]:
        """Some calls, and those from which they follow: that gave or were handed what these are handed."""
        gave = {(m.who, k): i for i, m in enumerate(self.made) for k in m.back.report.get("kept", ())}
        needed: set[int] = set()
        todo = [*wanted]
        while todo:
            i = todo.pop()
            if i in needed:
                continue
            needed.add(i)
            made = self.made[i]
            handed = _handed(made)
            todo += [gave[made.who, k] for k in handed if (made.who, k) in gave]
            # A cache may be changed in place by each call that it is handed to.
            todo += [j for j in range(i) if self.made[j].who == made.who and handed & _handed(self.made[j])]
            if made.plan.get("method") and not handed and made.plan.get("reads", True):
                todo += self._since_begin(i)
        return sorted(needed)

    def _since_begin(self, last: int) -> list[int]:
        """The calls of an object that keeps its cache, since it began."""
        found = []
        for j in reversed(range(last)):
            made = self.made[j]
            if (made.who, made.plan.get("object")) == (self.made[last].who, self.made[last].plan.get("object")):
                found.append(j)
                if not made.plan.get("reads", True):
                    break
        return found


class Recording:
    """A caller whose calls are remembered: of the target, who is 0, or of another one, who is 1."""

    def __init__(self, caller: Caller, log: Log, who: int = 0) -> None:
        self.caller, self.log, self.who, self.name = caller, log, who, caller.name
        self._passed: dict[str, set[str]] = {}
        self._about: dict[str, Any] = {}
        self.recipe: Recipe | None = None
        """How the arrays of the next call are made."""

    def about(self) -> dict[str, Any]:
        """Parameters and frameworks."""
        self._about = self._about or self.caller.about()
        return self._about

    def call(self, plan: dict[str, Any], arrays: list[np.ndarray]) -> Back:
        """Make one call, and remember it."""
        back = self.caller.call(plan, arrays)
        self.log.note(Made(self.who, plan, arrays, back, self.recipe))
        self.recipe = None
        if trouble_of(back.report) is None:
            self._passes(plan, len(arrays))
        return back

    def _passes(self, plan: dict[str, Any], arrays: int) -> None:
        """Remember which parameters of a method were handed over: by name, and those in front by place."""
        method, kept, named = plan.get("method", ""), plan.get("kept", {}), len(plan["names"])
        named += bool(plan.get("cotangent"))
        places = arrays - named + len(plan.get("places", {}))
        front = [name for name, kind, _ in self._parameters(method) if kind in PLACED][:places]
        names = {*front, *plan["names"], *plan["plain"], *plan.get("random", {}), *kept}
        self._passed.setdefault(method, set()).update(names)

    def _parameters(self, method: str) -> Sequence[Sequence[Any]]:
        about = self.about()
        return (about.get("methods", {}).get(method) if method else about.get("parameters")) or ()

    @property
    def never_passed(self) -> list[str]:
        """Parameters of what was called that no call which was answered has handed over."""
        passed = set().union(*self._passed.values())
        called = [each for method in self._passed for each in self._parameters(method)]
        left = [name for name, kind, _ in called if name not in passed and not kind.startswith("VAR")]
        return [*dict.fromkeys(left)]

    def again(self, block: ExitStack) -> Caller:
        """A caller of the same target, in a child of its own where there are children."""
        another = getattr(self.caller, "another", None)
        return self.caller if another is None else block.enter_context(another())


def holds_again(log: Log, shown: Shown, calls: Sequence[int], callers: Sequence[Caller]) -> bool:
    """Whether some calls, made again by callers as if these had not been called, show the failure."""
    kept: dict[tuple[int, int], int] = {}
    back: dict[int, Back] = {}
    for i in calls:
        made = log.made[i]
        plan = dict(made.plan)
        for name in ("places", "kept"):
            plan[name] = {k: kept.get((made.who, x), GONE) for k, x in plan.get(name, {}).items()}
        back[i] = callers[made.who].call(plan, [*made.arrays])
        again = back[i].report.get("kept", ())
        kept |= {(made.who, k): x for k, x in zip(made.back.report.get("kept", ()), again, strict=False)}
    first, last = log.made[calls[-1]].back.report, back[calls[-1]].report
    if shown.written is not None:
        return shown.written in last["changed"]
    if shown.wrong is None:
        return all(bool(last.get(name)) == bool(first.get(name)) for name in ("trouble", "differs", "overwritten"))

    def numbers(of: Callable[[int], Back]) -> list[float]:
        both = (shown.wrong, shown.right)
        return [float(of(x.call).arrays[x.array][x.place]) if isinstance(x, Spot) else float(x or 0) for x in both]

    try:
        new = numbers(lambda i: back[i])
    except (KeyError, IndexError):
        return False
    old = numbers(lambda i: log.made[i].back)
    if not np.isfinite(old).all():
        return not np.isfinite(new).all() and str(new[0]) != str(new[1])
    return not abs(new[0] - new[1]) <= 0.1 * abs(old[0] - old[1])


def saw(caller: Caller, given: Any, right: Any, ratio: Any) -> None:
    """Tell a caller that records what it is that was found wrong: the entry with the largest ratio.

    Args:
        caller: of the target.
        given: what came back, in any order of the axes.
        right: what it should be, in the same.
        ratio: how wrong each entry is; above 1 counts.
    """
    if isinstance(caller, Recording) and np.size(ratio):
        wrong = np.nan_to_num(ratio, nan=np.inf, posinf=np.inf)
        place = np.unravel_index(int(np.argmax(wrong)), np.shape(wrong))
        if np.asarray(wrong)[place] > 1:
            one, other = (float(np.broadcast_to(x, np.shape(wrong))[place]) for x in (given, right))
            caller.log.saw(one, other, tuple(int(i) for i in place))


def _alike(place: Sequence[int], at: Sequence[int]) -> bool:
    """Whether two places are the same but for the order of the axes before the last, and axes of one."""
    return place[-1] == at[-1] and sorted(filter(None, place[:-1])) == sorted(filter(None, at[:-1]))


def remembered(caller: Caller, identity: str) -> None:
    """Tell a caller that records that what a trial call gave wrong last contradicts an identity."""
    if isinstance(caller, Recording):
        caller.log.remember(identity)


def _handed(made: Made) -> set[int]:
    return {*made.plan.get("places", {}).values(), *made.plan.get("kept", {}).values()}


SHAPED = ("method", "object", "kind", "names")
"""What two calls have alike for which a target may keep the same thing, beside the shapes of arrays."""


def _same_call(one: Made, other: Made) -> bool:
    fields = ("kept", "places", "strided", "plain", "random")
    return (
        _alike_calls(one, other, *fields)
        and not _handed(one)
        and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(one.arrays, other.arrays, strict=True))
    )


def _alike_calls(one: Made, other: Made, *fields: str) -> bool:
    """Whether two calls hand over arrays of the same names and shapes."""
    return (
        one.who == other.who
        and all(one.plan.get(name) == other.plan.get(name) for name in (*SHAPED, *fields))
        and [x.shape for x in one.arrays] == [x.shape for x in other.arrays]
    )


def _apart(one: Back, other: Back) -> tuple[int, tuple[int, ...]] | None:
    """Where two answers differ most."""
    for n, (a, b) in enumerate(zip(one.arrays, other.arrays, strict=False)):
        if a.shape == b.shape and not np.array_equal(a, b, equal_nan=True):
            gap = np.nan_to_num(np.abs(a - b), nan=np.inf)
            place = np.unravel_index(int(gap.argmax()), gap.shape)
            return n, tuple(int(i) for i in place)
    return None
