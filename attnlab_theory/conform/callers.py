"""How a call is made: in this process, or in a child with limits, which may die and is then started again."""

import importlib.util
import io
import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from attnlab_theory.conform import testimony
from attnlab_theory.conform.costly import Costly
from attnlab_theory.conform.finding import Fault, Trouble, trouble_of
from attnlab_theory.conform.frameworks import Unfit
from attnlab_theory.conform.harness import Host, fault, load
from attnlab_theory.sandbox import limits
from attnlab_theory.sandbox.fences import FENCES, Fence, warning
from attnlab_theory.sandbox.reasons import BrokenAnswer, Reason, plain
from attnlab_theory.sandbox.submission import Reply, Submission, of_call, patience

HARNESS = Path(__file__).with_name("harness.py")

USUAL = 5.0
"""Seconds that a call may take."""

COMPILING = 30.0
"""Seconds that a call may take at least where it may have to be compiled."""

LOADING = 60.0
"""Seconds that the import of a target may take, and the making of its object."""

GRACE = 5.0
"""Seconds after which an import is ended that hears no alarm."""

PATIENCE = 120.0
"""Seconds of processor time of one child, imports included."""


class Back(NamedTuple):
    """What came back from one call."""

    report: dict[str, Any]
    """As `harness.Host.call` says it. `trouble` is for `finding.trouble_of`."""
    arrays: list[np.ndarray]
    """The output and the weights, in float64, as far as there are any."""


class Caller(Protocol):
    """Makes calls of one target."""

    name: str
    """What the user calls it."""

    def about(self) -> dict[str, Any]:
        """Parameters and frameworks, as `harness.Host.about`."""
        ...

    def call(self, plan: dict[str, Any], arrays: list[np.ndarray]) -> Back:
        """Make one call."""
        ...


class Direct:
    """Calls a function of this process. What ends the process ends the caller, too.

    Args:
        target: the function.
        name: what to call it.
        seconds: how long one call may take, as in `Fenced`; 0 is no limit. A call outside of Python hears of it
            when it comes back.
    """

    def __init__(self, target: Any, name: str = "", *, seconds: float = 0.0) -> None:
        self._host, self._seconds, self._costly = Host(target), seconds, Costly()
        self.name = name or getattr(target, "__name__", type(target).__name__)

    def about(self) -> dict[str, Any]:
        """Parameters and frameworks."""
        return self._host.about()

    def call(self, plan: dict[str, Any], arrays: list[np.ndarray]) -> Back:
        """Make one call."""
        if refusal := self._costly.refusal(plan, arrays):
            return Back({"trouble": refusal}, [])
        seconds = _limit(self._seconds, plan) if self._seconds else 0
        told, came = self._host.call(plan | {"seconds": seconds, "here": True}, [x.copy() for x in arrays])
        (self._costly.cost if told["trouble"] == Fault.HUNG else self._costly.answered)(plan, arrays)
        trouble = trouble_of(told)
        self._costly.is_lost = trouble is not None and trouble.loses_device
        return Back(told, came)


class Local(Direct):
    """Calls a named target in this process, without any fence. For a `with` block, as `Fenced`.

    Args:
        target: FILE.py::FUNCTION or PACKAGE.MODULE:FUNCTION.
        seconds: how long one call may take, as in `Fenced`.

    Raises:
        ValueError: if the target has neither form, there is no such file, or it cannot be loaded.
    """

    missing = "--in-process puts up no fence: the target can do what you can, and may end the judge"
    absent = FENCES
    killed = ""

    def __init__(self, target: str, *, seconds: float = USUAL) -> None:
        place = place_of(target)
        # Another file of that name may be somebody's module here, even ours.
        module = f"target_{place.module}" if place.file and place.module in sys.modules else place.module
        try:
            with limits.silenced(io.StringIO()), limits.in_time(LOADING):
                found = load(place.folder, place.file, module, place.names)
                super().__init__(found, target, seconds=seconds)
        except KeyboardInterrupt:
            raise
        except limits.Slow:
            raise _unloadable(target, Trouble(fault=Fault.HUNG, seconds=LOADING)) from None
        except BaseException as error:
            trouble = trouble_of(fault(error))
            raise _unloadable(target, trouble) from None

    def __enter__(self) -> "Local":
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Place(NamedTuple):
    """Where a target lies."""

    folder: str
    """From which its neighbours are imported."""
    file: str
    """Empty for a module."""
    module: str
    names: str
    sees: Path
    """What the child must be able to read, beside its neighbours."""


def place_of(target: str) -> Place:
    """The place of `FILE.py::FUNCTION` or `PACKAGE.MODULE:FUNCTION`. Nothing of it is imported.

    Raises:
        ValueError: if the form is another, or there is no such file or package.
    """
    where, _, names = target.rpartition("::") if "::" in target else target.rpartition(":")
    if not where or not all(part.isidentifier() for part in names.split(".")):
        if remedy := of_call(target):
            raise ValueError(remedy)
        raise ValueError(f"TARGET is FILE.py::FUNCTION or PACKAGE.MODULE:FUNCTION, not {plain(target)!r}")
    if "::" in target:
        path = Path(where)
        if path.suffix != ".py":
            raise ValueError(f"{plain(where)} is no Python file: name FILE.py::FUNCTION")
        if not path.is_file():
            raise ValueError(f"there is no file {plain(where)}")
        path = path.resolve()
        module = path.stem if path.stem not in sys.stdlib_module_names else f"target_{path.stem}"
        return Place(str(path.parent), str(path), module, names, path)
    if where.endswith(".py"):
        raise ValueError(f"a function of a file is named with two colons: {plain(where)}::{names}")
    top = where.partition(".")[0]
    if not all(part.isidentifier() for part in where.split(".")):
        raise ValueError(f"{plain(where)!r} names no module: write PACKAGE.MODULE:FUNCTION")
    for place in (Path.cwd() / top, Path.cwd() / f"{top}.py"):
        if place.exists():
            return Place(str(place.parent), "", where, names, place)
    # Of the outermost package alone, which imports nothing.
    spec = importlib.util.find_spec(top)
    if spec is None:
        raise ValueError(f"there is no module {top} here, and none is installed")
    found = [*(spec.submodule_search_locations or [])] or [spec.origin or ""]
    if not os.path.exists(found[0]):
        raise ValueError(f"{top} has no files: attnlab conform wants a module of Python")
    return Place(os.path.dirname(found[0]), "", where, names, Path(found[0]))


def files_of(target: str) -> list[Path]:
    """The files of Python that belong to a target.

    Raises:
        ValueError: as `place_of` does.
    """
    place = place_of(target)
    if place.file:
        return [Path(place.file)]
    return [*place.sees.rglob("*.py")] if place.sees.is_dir() else [place.sees]


class Fenced:
    """Calls a target in a child, within the fences of the sandbox. For a `with` block.

    Args:
        target: FILE.py::FUNCTION or PACKAGE.MODULE:FUNCTION.
        seconds: how long one call may take; at least `COMPILING` where the target is not numpy's.

    Raises:
        ValueError: if the target has neither form or there is no such file. Entering the block raises it if the
            target cannot be loaded.
    """

    def __init__(self, target: str, *, seconds: float = USUAL) -> None:
        self.name, self._place, self._seconds = target, place_of(target), seconds
        self._child: Submission | None = None
        self._about: dict[str, Any] = {}
        self._costly = Costly()
        self.missing = ""
        """The fences that this system did not put up, and what the target can do without them."""
        self.absent: tuple[Fence, ...] = FENCES
        """The same fences. Both are known inside the block."""
        self.killed = ""
        """The signal by which somebody else ended the process, so that a call has no answer."""
        self._signal = ""
        self._late, self._allowed = False, seconds
        self._kept = self._lost = 0
        """How many objects were kept for later calls, and how many of them went with a process that was killed."""

    def another(self) -> "Fenced":
        """One of the same target, that has not been called."""
        return Fenced(self.name, seconds=self._seconds)

    def __enter__(self) -> "Fenced":
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def about(self) -> dict[str, Any]:
        """Parameters and frameworks."""
        return self._about

    def call(self, plan: dict[str, Any], arrays: list[np.ndarray]) -> Back:
        """Make one call.

        What ends the child is a trouble like any other, and the next call gets a new child. If somebody else ended
        it, the call is made once more; `killed` in the report has the signal.
        """
        if refusal := self._costly.refusal(plan, arrays):
            return Back({"trouble": refusal}, [])
        needs = min((*plan.get("kept", {}).values(), *plan.get("places", {}).values()), default=self._kept)
        self._allowed = _limit(self._seconds, plan)
        asked = json.dumps({"plan": plan | {"seconds": self._allowed}})
        killed = ""
        for _ in range(2):
            if needs < self._lost:
                return self._unanswered()
            try:
                report, *returned = self._asked(asked, arrays)
                break
            except BrokenAnswer as error:
                if not error.killed:
                    return self._ended(error, plan, arrays)
                self._signal = killed = error.killed
                self._lost = self._kept
        else:
            # It may be the target that kills itself: that nobody can tell, and a third time would not.
            self._costly.cost(plan, arrays)
            return self._unanswered()
        shown = [each.array for each in returned]
        try:
            reads = plan.get("reads", True)
            told = testimony.of_call(report.array, shown, handed=len(arrays), kept=self._kept, reads=reads)
        except testimony.Misfit as misfit:
            # Nothing that this process says can be believed.
            self._stop()
            self._lost = self._kept
            return self._ended(BrokenAnswer(f"its process {misfit}", Reason.ENDED), plan, arrays)
        if killed:
            told["killed"] = killed
        self._kept = max(self._kept, *(number + 1 for number in told.get("kept", ())), 0)
        (self._costly.cost if told["trouble"] == Fault.HUNG else self._costly.answered)(plan, arrays)
        return Back(told, shown[: told["given"]])

    def _asked(self, asked: str, arrays: list[np.ndarray]) -> tuple[Reply, ...]:
        """Ask the child, or a new one. If it breaks, there is none.

        A target can switch off the alarm that ends a call. Then this clock ends it, later: the machine may be busy.
        """
        self._late = False
        try:
            if self._child is None:
                self._start()
            assert self._child is not None
            whole = self._child.wall_limit
            self._child.wall_limit = limit = min(whole, self._child.waited + patience(self._allowed))
            try:
                return self._child.call(asked, *arrays, parts=3)
            finally:
                self._late = self._child.waited >= limit
                self._child.wall_limit = whole
        except BrokenAnswer:
            self._stop()
            raise

    def _ended(self, error: BrokenAnswer, plan: dict[str, Any], arrays: list[np.ndarray]) -> Back:
        self._costly.cost(plan, arrays)
        fault = Fault.HUNG if error.reason is Reason.TIMED_OUT else Fault.ENDED
        if fault is Fault.HUNG and self._late:
            return Back({"trouble": Trouble(fault=fault, seconds=_limit(self._seconds, plan))}, [])
        message = str(error).removeprefix(plain(self.name)).lstrip(": ")
        return Back({"trouble": Trouble(fault=fault, message=message)}, [])

    def _unanswered(self) -> Back:
        self.killed = self._signal
        return Back({"trouble": Trouble(fault=Fault.KILLED, code=self.killed), "killed": self.killed}, [])

    def _start(self) -> None:
        self._child = Submission(f"{HARNESS}::answer", time_limit=PATIENCE, sees=self._place.sees, searched=True)
        self._child.where = self.name
        self._child.__enter__()
        self.absent = self._child.missing
        self.missing = warning(self.absent)
        asked = {key: value for key, value in self._place._asdict().items() if key != "sees"}
        asked |= {"seconds": LOADING, "kept": self._kept}
        # Who hears no alarm is ended from outside, a little later.
        whole, self._child.wall_limit = self._child.wall_limit, LOADING + GRACE
        try:
            self._about = testimony.of_target(self._child.call(json.dumps({"load": asked}), parts=3)[0].array)
        except testimony.Misfit as misfit:
            self._stop()
            raise ValueError(f"{self.name} is not judged: its process {misfit}") from None
        except BrokenAnswer as error:
            self._stop()
            if error.killed:
                killed = Trouble(fault=Fault.KILLED, code=error.killed)
                raise BrokenAnswer(
                    f"{self.name} was not loaded: {killed}; run it again", error.reason, killed=error.killed
                ) from None
            if error.reason is Reason.TIMED_OUT:
                raise _unloadable(self.name, Trouble(fault=Fault.HUNG, seconds=LOADING)) from None
            raise ValueError(f"{error} while it was loaded") from None
        self._child.wall_limit = whole
        if self._about.get("trouble") and (trouble := trouble_of(self._about)):
            self._stop()
            raise _unloadable(self.name, trouble)

    def _stop(self) -> None:
        if self._child is not None:
            self._child.__exit__(None, None, None)
            self._child = None


def _unloadable(name: str, trouble: Trouble | None) -> ValueError:
    """The error of a target that cannot be loaded: an adapter may be the remedy."""
    assert trouble is not None
    said = f"{name} cannot be loaded: {'its import ' * (trouble.fault is Fault.HUNG)}{trouble}"
    return Unfit(said) if trouble.fault is Fault.UNFIT else ValueError(said)


def _limit(seconds: float, plan: dict[str, Any]) -> float:
    """Seconds of one call: more where it may have to be compiled."""
    return seconds if plan["framework"] == "numpy" else max(seconds, COMPILING)
