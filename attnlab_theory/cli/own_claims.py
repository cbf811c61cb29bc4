"""Claims in somebody's own file: found, guarded, and made into an experiment that the runner can run."""

import dataclasses
import functools
import importlib.util
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attnlab_theory.claims import Claim, Findings
    from attnlab_theory.experiment import Experiment

GUARDED = ("predict", "draw", "bound", "resolution")
"""Functions of a claim that are the author's own code."""


def is_file(name: str) -> bool:
    """Whether a name on the command line means a file and not an experiment of the lab."""
    return name.endswith(".py") or "/" in name


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
    if path.stem in taken:
        raise ValueError(f"{path}: an experiment of the lab is called {path.stem}; rename the file")
    module = _loaded(path)
    given = getattr(module, "EXPERIMENT", None)
    if given is not None and not isinstance(given, Experiment):
        raise ValueError(f"{path}: EXPERIMENT must be an Experiment, not {type(given).__name__}")
    claims = _claims(path, module) if given is None else given.claims
    for name, count in Counter(claim.name for claim in claims).items():
        if count > 1:
            raise ValueError(f"{path}: {count} claims are called {name!r}; a claim needs a name of its own")
    guarded = tuple(_guarded(claim, path) for claim in claims)
    if given is not None:
        if given.name in taken:
            raise ValueError(f"{path}: an experiment of the lab is called {given.name}; choose another name")
        return dataclasses.replace(given, claims=guarded)
    question = (module.__doc__ or f"Do the claims of {path.name} hold?").strip().splitlines()[0]
    return Experiment(name=path.stem, question=question, claims=guarded, draw_figure=_figure)


def _loaded(path: Path) -> Any:
    name = f"attnlab_own_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"{path} cannot be loaded: {_told(error, path)}") from error
    finally:
        sys.path.pop(0)
    return module


def _claims(path: Path, module: Any) -> "tuple[Claim, ...]":
    from attnlab_theory.claims import CLAIMS, Claim

    listed = getattr(module, "CLAIMS", None)
    if listed is None or listed is CLAIMS:
        ours = set(map(id, CLAIMS))
        listed = tuple(x for x in vars(module).values() if isinstance(x, Claim) and id(x) not in ours)
    if not isinstance(listed, tuple | list) or not all(isinstance(claim, Claim) for claim in listed):
        raise ValueError(f"{path}: CLAIMS must be a tuple of claims")
    if not listed:
        raise ValueError(f"{path} holds no claim: give it a Claim at its top level")
    return tuple({id(claim): claim for claim in listed}.values())


def _guarded(claim: "Claim", path: Path) -> "Claim":
    """The claim, whose own functions say in one line what went wrong in them."""

    def guard(what: str, function: Callable) -> Callable:
        @functools.wraps(function)
        def guarded(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except Exception as error:
                raise ValueError(f"{claim.name}: {what} failed: {_told(error, path)}") from error

        return guarded

    values = {what: getattr(claim, what) for what in GUARDED}
    functions = {what: guard(what, value) for what, value in values.items() if callable(value)}
    hypotheses = {name: guard(f"the hypothesis '{name}'", holds) for name, holds in claim.hypotheses.items()}
    rival = claim.rival
    if rival is not None and callable(rival.predict):
        rival = dataclasses.replace(rival, predict=guard("predict of its rival", rival.predict))
    return dataclasses.replace(claim, stream=claim.stream_name, hypotheses=hypotheses, rival=rival, **functions)


def _told(error: Exception, path: Path) -> str:
    """The error in one line, with the last line of the file that led to it."""
    own = path.resolve()
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).resolve() == own]
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg} ({path.name}, line {error.lineno})"
    first = next(iter(str(error).strip().splitlines()), "")
    where = f" ({path.name}, line {lines[-1]})" if lines else ""
    return f"{type(error).__name__}: {first}{where}"


def _figure(findings: "Findings") -> "Figure":
    from attnlab_theory.report import forest

    return forest.draw(findings)
