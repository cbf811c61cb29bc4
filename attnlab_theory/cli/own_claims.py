"""Claims in somebody's own file: found, guarded, and made into an experiment that the runner can run."""

import contextlib
import dataclasses
import functools
import importlib.util
import os
import signal
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from attnlab_theory import exits, inputs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attnlab_theory.claims import Claim, Findings
    from attnlab_theory.experiment import Experiment

LONGEST = 600.0
"""Seconds that a file may take to load, and each of its functions to answer or to be compiled."""

AGAIN = 5.0
"""Seconds until the process is ended, if its code did not stop."""

MOST_SOURCE = 2**24
"""Bytes of a file with claims."""

GUARDED = ("predict", "draw", "bound", "resolution")
"""Functions of a claim that are the author's own code."""


def is_file(name: str) -> bool:
    """Whether a name on the command line means a file and not an experiment of the lab; ::CLAIM may follow it."""
    name, _, _ = name.partition("::")
    return name.endswith(".py") or "/" in name


class NoClaim(ValueError):
    """A file of Python that can be loaded, and holds no claim."""


def experiment_of(path: Path, taken: set[str]) -> "Experiment":
    """The claims of a file as an experiment of the file's name.

    The file says `CLAIMS = (...)`; without that, every claim that it defines at its top level is judged. If it says
    `EXPERIMENT`, that is run, with its own figure.

    Args:
        path: of a Python file; its folder is importable while it is loaded, as with `python FILE`.
        taken: names of the lab's own experiments, whose result files must not be written over.

    Raises:
        ValueError: in one line, if the file is missing, cannot be loaded, holds no claim or two of one name, or
            has a name that is taken.
    """
    from attnlab_theory.experiment import Experiment

    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    if path.suffix != ".py":
        raise ValueError(f"{path} is no Python file: its name must end in .py")
    inputs.content(path, most=MOST_SOURCE)
    if path.stem in taken:
        raise ValueError(f"{path}: an experiment of the lab is called {path.stem}; rename the file")
    module = _loaded(path)
    given = vars(module).get("EXPERIMENT")
    if given is not None and not isinstance(given, Experiment):
        raise ValueError(f"{path}: EXPERIMENT must be an Experiment, not {type(given).__name__}")
    if given is not None and (not isinstance(given.name, str) or Path(given.name).name != given.name):
        raise ValueError(
            f"{path}: the name of an experiment begins the names of its files, and {given.name!r} cannot"
        )
    claims = _claims(path, module) if given is None else given.claims
    for name, count in Counter(claim.name for claim in claims).items():
        if count > 1:
            raise ValueError(f"{path}: {count} claims are called {name!r}; a claim needs a name of its own")
    guarded = tuple(_guarded(claim, path) for claim in claims)
    if given is not None:
        if given.name in taken:
            raise ValueError(f"{path}: an experiment of the lab is called {given.name}; choose another name")

        def draw_figure(findings: "Findings") -> "Figure":
            return _guarded_call(f"{path}: draw_figure failed", path, given.draw_figure, findings)

        return dataclasses.replace(given, claims=guarded, draw_figure=draw_figure)
    about = module.__doc__.strip() if isinstance(module.__doc__, str) else ""
    question = next(iter(about.splitlines()), f"Do the claims of {path.name} hold?")
    return Experiment(name=path.stem, question=question, claims=guarded, draw_figure=_figure)


def _loaded(path: Path) -> Any:
    name = f"attnlab_own_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.parent.resolve())
    sys.path.insert(0, folder)
    try:
        _guarded_call(f"{path} cannot be loaded", path, spec.loader.exec_module, module)
    finally:
        with contextlib.suppress(ValueError):  # the file may have taken it away
            sys.path.remove(folder)
    return module


def _guarded_call(what: str, path: Path, function: Callable, *arguments: Any) -> Any:
    """The result of somebody's function. Whatever goes wrong in it becomes one line, even an end of this process.

    Raises:
        ValueError: whatever else the function raises.
        KeyboardInterrupt: after Ctrl-C.
    """
    try:
        with _patience(what), _alive():
            return function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise ValueError(f"{what}: {_told(error, path)}") from error


class _Ended(BaseException):
    """Somebody's code called `os._exit`, after which nobody would have learned what became of the run."""


@contextlib.contextmanager
def _alive() -> Iterator[None]:
    def leave(code: int) -> NoReturn:
        raise _Ended(f"os._exit({code})")

    before, os._exit = os._exit, leave
    try:
        yield
    finally:
        os._exit = before


@contextlib.contextmanager
def _patience(what: str) -> Iterator[None]:
    """Stop the block after `LONGEST` seconds, if the system has an alarm."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    rung: list[int] = []
    leave = os._exit  # the true one: nobody has been kept alive yet

    def ring(number: int, frame: Any) -> None:
        rung.append(number)
        if len(rung) > 1:
            # Whoever catches everything that is raised would go on for ever.
            leave(exits.refuse(f"{what}: it does not end, and catches the error that should stop it"))
        raise TimeoutError(f"it has not ended after {LONGEST:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, LONGEST, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _claims(path: Path, module: Any) -> "tuple[Claim, ...]":
    from attnlab_theory.claims import CLAIMS, Claim

    listed = vars(module).get("CLAIMS")
    if listed is None or listed is CLAIMS:
        ours = set(map(id, CLAIMS))
        listed = tuple(x for x in vars(module).values() if isinstance(x, Claim) and id(x) not in ours)
    if not isinstance(listed, tuple | list) or not all(isinstance(claim, Claim) for claim in listed):
        raise ValueError(f"{path}: CLAIMS must be a tuple of claims")
    if not listed:
        raise NoClaim(f"{path} holds no claim: give it a Claim at its top level")
    return tuple({id(claim): claim for claim in listed}.values())


def _guarded(claim: "Claim", path: Path) -> "Claim":
    """The same claim. An error in one of its own functions becomes one line."""

    def guard(what: str, function: Callable) -> Callable:
        @functools.wraps(function)
        def guarded(*arguments: Any) -> Any:
            return _guarded_call(f"{claim.name}: {what} failed", path, function, *arguments)

        return guarded

    values = {what: getattr(claim, what) for what in GUARDED}
    functions = {what: guard(what, value) for what, value in values.items() if callable(value)}
    hypotheses = {name: guard(f"the hypothesis '{name}'", holds) for name, holds in claim.hypotheses.items()}
    rival = claim.rival
    if rival is not None and callable(rival.predict):
        rival = dataclasses.replace(rival, predict=guard("predict of its rival", rival.predict))
    return dataclasses.replace(claim, stream=claim.stream_name, hypotheses=hypotheses, rival=rival, **functions)


def _told(error: BaseException, path: Path) -> str:
    """The error in one line, with the last line of the file that led to it."""
    own = path.resolve()
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).resolve() == own]
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg} ({path.name}, line {error.lineno})"
    try:
        first = next(iter(str(error).strip().splitlines()), "")
    except Exception:  # an error of their own, that cannot even say what it is
        first = ""
    where = f" ({path.name}, line {lines[-1]})" if lines else ""
    return f"{type(error).__name__}{': ' * bool(first)}{first}{where}"


def _figure(findings: "Findings") -> "Figure":
    from attnlab_theory.report import forest

    return forest.draw(findings)
