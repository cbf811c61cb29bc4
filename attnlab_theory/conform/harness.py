"""The far side of a call: loads a target, hands it arrays of its own framework, and says what came back.

In a child this file is loaded by its path, so it imports nothing of this package. It never lets a stranger's error
through. Whatever goes wrong is a word in the report, one of `finding.Fault`, and what there is to say about it.
"""

import contextlib
import importlib
import importlib.util
import io
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

SLOW = "hung"
"""The fault of a call, or of an import, that took too long."""

RESETS = ("reset", "reset_cache", "reset_kv_cache", "clear_cache")
"""Methods that make a cache of a target empty."""

METHODS = ("step", "init_cache", *RESETS, "reorder_cache", "_reorder_cache")
"""Methods of an object that may be called beside itself."""


def _beside(name: str) -> Any:
    """A file, by its path from this folder. It gets a name that no stranger's module has."""
    own = f"attnlab_harness_{os.path.basename(name)}"
    spec = importlib.util.spec_from_file_location(own, os.path.join(os.path.dirname(__file__), f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    sys.modules[own] = found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


exchange, frameworks, limits, memory, watching = map(
    _beside, ("exchange", "frameworks", "../sandbox/limits", "memory", "watching")
)


class Host:
    """A target in this process.

    Args:
        target: the function, or a class that is made without arguments.
        first: the number of the first object that is kept. Lower ones were kept by a process that is gone.
    """

    def __init__(self, target: Any, first: int = 0) -> None:
        self._class = target if isinstance(target, type) else None
        self._target: Callable[..., Any] = frameworks.made(target)
        self._objects: list[Any] = [self._target]
        self._first = first
        self._kept: list[Any] = []
        self._at: dict[Any, int] = {}
        """The number of the first kept object at each place of memory."""

    def about(self) -> dict[str, Any]:
        """What can be seen of the target without a call, as `frameworks.about` has it, and of its methods."""
        methods = {name: getattr(self._target, name, None) for name in METHODS}
        return {
            **frameworks.about(self._target),
            "class": self._class is not None,
            "methods": {name: frameworks.parameters(x) for name, x in methods.items() if callable(x)},
        }

    def call(self, plan: dict[str, Any], arrays: Sequence[np.ndarray]) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Make one call.

        Args:
            plan: `framework`, `kind`, `seconds`, `strided` as `exchange.lain` has it, the names of the arrays, and
                plain keyword arguments. Also, where there are any: `method`, `keep`, the places of what is kept for
                later calls, and `places` and `kept`, which hand it over by place and by name. `object` numbers the
                objects of a class. `part` names where the output is found in an object that is returned. `reads` is
                false if no numbers are expected, and `gradients` if torch need not keep track of them; `tracked`
                wants those of all arrays, or of some by their places. With `cotangent` the last array is one, and
                the gradients come back in place of the output, end to end. `shared` hands over q in every place,
                and `times` makes the call again, and compares. `overwrites` calls with twice the arrays, and looks
                whether the first output stays. `random` names sources of randomness: `frameworks.generators`.
                `watched` tells as `narrow` which types narrower than float64 take part. `here` is true in the
                process of the user, who may interrupt. `rows` puts the rows of what was kept in another order: by a
                method, or its arrays of `batch` rows. `forms` makes something else of an array that is named: by
                the array's name in code, and the code. `of` is the place of the output in a tuple that is returned.
            arrays: q, k, v by their place, then those that are named.

        Returns:
            What happened, and the output and the weights in float64; empty where there are none.
        """
        # A pair has gone through JSON, which knows lists only.
        plain = {name: tuple(x) if isinstance(x, list) else x for name, x in plan["plain"].items()}
        plan = plan | {"plain": plain | frameworks.generators(plan.get("random", {}))}
        handed = [exchange.handed(x, plan["framework"], plan["kind"]) for x in arrays]
        handed = [exchange.lain(x, plan["strided"]) for x in handed]
        if wanted := plan.get("tracked"):
            handed = [frameworks.tracked(x) if wanted is True or i in wanted else x for i, x in enumerate(handed)]
        if plan.get("watched"):
            handed = [watching.watched(x) for x in handed]
        cotangent = handed.pop() if plan.get("cotangent") else None
        # Of what was handed over: jax makes float32 of float64.
        kept = [exchange.back(x).copy() for x in handed]
        places = len(handed) - len(plan["names"])

        def called(handed: Sequence[Any]) -> Any:
            named = dict(zip(plan["names"], handed[places:], strict=True)) | plan["plain"]
            named |= {name: self._again(number) for name, number in plan.get("kept", {}).items()}
            for name, (array, code) in plan.get("forms", {}).items():
                named[name] = eval(code, {array: named[name]})
            placed = [handed[0]] * places if plan.get("shared") else [*handed[:places]]
            for place, number in sorted(plan.get("places", {}).items(), key=lambda each: int(each[0])):
                placed.insert(int(place), self._again(number))
            target = self._object(plan.get("object", 0))
            target = getattr(target, plan["method"]) if plan.get("method") else target
            return self._reordered(plan, target, placed) if plan.get("rows") else target(*placed, **named)

        told: dict[str, Any] = {"trouble": "", "kind": "", "printed": "", "changed": [], "shape": None, "kept": []}
        told["one"] = []
        returned: list[np.ndarray] = []
        printed = io.StringIO()
        try:
            with limits.silenced(printed), limits.in_time(plan["seconds"]), frameworks.mode(plan):
                if plan.get("watched"):
                    with watching.watching(plan["framework"]) as met:
                        came = called(handed)
                    watching.note(met, came)
                    told["narrow"] = sorted(met)
                elif cotangent is None:
                    came = called(handed)
                else:
                    came = frameworks.pulled_back(plan["framework"], called, handed, cotangent, exchange.back)
                if plan.get("overwrites"):
                    first = exchange.read(came)[0][0].copy()
                    called([2 * x if i < places else x for i, x in enumerate(handed)])
                    told["overwritten"] = not np.array_equal(exchange.read(came)[0][0], first, equal_nan=True)
                for number in range(1, plan.get("times", 1)):
                    again, first = (exchange.read(each)[0][0] for each in (called(handed), came))
                    if not np.array_equal(again, first, equal_nan=True):
                        told["differs"] = number + 1
                        break
            for place in plan.get("keep", ()):
                found = exchange.part(came, place)
                where = memory.place(found)
                told["kept"].append(self._first + len(self._kept))
                told["one"].append(-1 if where is None else self._at.get(where, -1))
                self._at.setdefault(where, told["kept"][-1])
                self._kept.append(found)
            came = exchange.part(came, plan["of"]) if "of" in plan else came
            if plan.get("reads", True):
                returned, told["kind"], told["several"] = exchange.read(
                    exchange.named_part(came, plan.get("part", ()))
                )
                told["shape"] = list(returned[0].shape)
        except limits.Slow:
            told |= {"trouble": SLOW, "about": {"seconds": plan["seconds"]}}
        except SystemExit as error:
            told |= {"trouble": "exited", "about": {"code": f"{error.code!r:.20}"}}
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and plan.get("here"):
                raise
            told |= fault(error)
        told["printed"] = _line(printed.getvalue(), 60)
        after = [exchange.back(x) for x in handed]
        told["changed"] = [i for i, pair in enumerate(zip(kept, after, strict=True)) if not exchange.same(*pair)]
        return told, returned

    def _reordered(self, plan: dict[str, Any], method: Any, placed: list[Any]) -> Any:
        """What was kept, with its rows in another order. Who changes it in place gives nothing back."""
        rows = exchange.handed(np.array(plan["rows"]), plan["framework"], plan["kind"])
        if not plan.get("method"):
            return memory.reordered(placed[0], rows, plan["batch"])
        came = method(*placed, rows)
        return placed[0] if came is None and placed else came

    def _object(self, number: int) -> Any:
        """An object of the class, made when it is first asked for."""
        while number >= len(self._objects):
            if self._class is None:
                raise TypeError("it is no class, so there is one of it")
            self._objects.append(frameworks.made(self._class))
        return self._objects[number]

    def _again(self, number: int) -> Any:
        """What an earlier call gave."""
        if not 0 <= number - self._first < len(self._kept):
            raise LookupError("what an earlier call gave is gone, for the process was started again")
        return self._kept[number - self._first]


def load(folder: str, file: str, module: str, names: str) -> Any:
    """The target that a file or a module has.

    Args:
        folder: where its neighbours are imported from.
        file: of the target; empty for a module.
        module: its name.
        names: of the function, with dots inside a class.
    """
    with contextlib.suppress(ValueError):
        sys.path.remove(os.path.dirname(os.path.abspath(__file__)))
    sys.path.insert(0, folder)
    if file:
        spec = importlib.util.spec_from_file_location(module, file)
        if spec is None or spec.loader is None:
            raise ImportError(f"{os.path.basename(file)} is no Python file")
        found: Any = importlib.util.module_from_spec(spec)
        sys.modules[module] = found
        spec.loader.exec_module(found)
    else:
        found = importlib.import_module(module)
    for name in names.split("."):
        if not hasattr(found, name):
            others = [n for n, x in vars(found).items() if callable(x) and not n.startswith("_")]
            raise AttributeError(f"there is no {name} in it; there are {', '.join(others[:8]) or 'no functions'}")
        found = getattr(found, name)
    if not callable(found):
        raise TypeError(f"{names} is of type {type(found).__name__}, and cannot be called")
    return found


_hosts: list[Host] = []


def answer(told: str, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """What the child calls: a request as JSON, then arrays; the report as bytes, the output and the weights."""
    request = json.loads(told)
    returned: list[np.ndarray] = []
    if "plan" in request:
        report, returned = _hosts[0].call(request["plan"], arrays)
        report["given"] = len(returned)
    else:
        seconds, kept = (request["load"].pop(name, 0) for name in ("seconds", "kept"))
        try:
            with limits.silenced(io.StringIO()), limits.in_time(seconds):
                _hosts.append(Host(load(**request["load"]), kept))
            report = _hosts[0].about()
        except limits.Slow:
            report = {"trouble": SLOW, "about": {"seconds": seconds}}
        except BaseException as error:
            report = fault(error)
    written = np.frombuffer(json.dumps(report).encode(), np.uint8)
    return (written, *returned, *[np.zeros(0)] * (2 - len(returned)))


def fault(error: BaseException) -> dict[str, Any]:
    """An exception, with the last place outside of this file."""
    if isinstance(error, frameworks.Unfit):
        return {"trouble": "unfit", "about": {"message": str(error)}}
    own = os.path.dirname(__file__)
    frames = traceback.extract_tb(error.__traceback__)
    frames = [each for each in frames if os.path.dirname(each.filename) != own]
    frames = [each for each in frames if "importlib" not in each.filename]
    about: dict[str, Any] = {}
    if frames:
        about |= {"file": os.path.basename(frames[-1].filename), "line": frames[-1].lineno or 0}
    if isinstance(error, SystemExit):
        return {"trouble": "exited", "about": about | {"code": f"{error.code!r:.20}"}}
    about |= {"error": type(error).__name__, "message": _line(str(error), 160)}
    return {"trouble": "raised", "about": about}


def _line(text: str, most: int) -> str:
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(text.split()))
    return line if len(line) <= most else line[: most - 3] + "..."
