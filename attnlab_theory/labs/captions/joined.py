"""Runs of the lab joined: other seeds or other models of one preset on the same files, trained apart."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from attnlab_theory import inputs
from attnlab_theory.labs.captions import findings, verdicts
from attnlab_theory.labs.captions.findings import Summary
from attnlab_theory.labs.captions.results import ABOUT, Results
from attnlab_theory.labs.captions.sweep import Row
from attnlab_theory.labs.estimates import Estimate, Estimates

SHARED = ("preset", "decodings", "count", "generations")
"""What runs must agree on."""

OF_REAL = ("commonest opening of real sentences", "openings of real sentences")
"""Numbers of the test sentences: runs on one text have the same ones."""

OF_ONE_MODEL = ("worth of a head",)
"""Numbers that no other model changes."""


class Part(NamedTuple):
    """What one run left behind."""

    folder: Path
    about: dict[str, Any]
    models: tuple[Summary, ...]
    rows: tuple[Row, ...]
    curves: tuple[dict[str, Any], ...]
    estimates: Estimates


def read(folder: Path) -> Part:
    """The JSON files of a run.

    Raises:
        ValueError: if one is missing or damaged.
    """
    return Part(
        folder,
        _parsed(folder / ABOUT, dict),
        _parsed(folder / "models.json", lambda rows: tuple(map(Summary.from_json, rows))),
        _parsed(folder / "sweep.json", lambda rows: tuple(map(Row.from_json, rows))),
        _parsed(folder / "curves.json", tuple),
        _parsed(folder / "estimates.json", lambda rows: Estimates(map(Estimate.from_json, rows))),
    )


def joined(parts: Sequence[Part]) -> Results:
    """Everything as if one run had trained all models: comparisons are made anew, over all seeds.

    Raises:
        ValueError: if runs differ in what they must share, or two have a model of one arm and seed.
    """
    first = parts[0]
    owners: dict[tuple[str, int], Path] = {}
    for part in parts:
        _refuse_other_kind(first, part)
        for model in part.models:
            before = owners.setdefault((model.arm, model.seed), part.folder)
            if before is not part.folder:
                raise ValueError(f"{before} and {part.folder} both hold the model {model.arm} of seed {model.seed}")
    models = tuple(sorted((m for part in parts for m in part.models), key=lambda model: model.seed))
    rows = tuple(sorted((row for part in parts for row in part.rows), key=lambda row: row.seed))
    apart = [e for part in parts for e in part.estimates if e.quantity in OF_ONE_MODEL]
    real = [e for e in first.estimates if e.quantity in OF_REAL]
    measured = Estimates((*findings.measure(models), *findings.compare(rows), *real, *apart))
    return Results(
        estimates=measured,
        verdicts=verdicts.verdicts(measured),
        rows=rows,
        curves=tuple(point for part in parts for point in part.curves),
        models=models,
        captions={},
        samples="",
    )


def left_out(parts: Sequence[Part]) -> tuple[str, ...]:
    """A line for each number that some models of an arm have and others lack, as those of an older run do."""
    models = [model for part in parts for model in part.models]
    lines = []
    for name in dict.fromkeys(model.arm for model in models):
        of_arm = [model.numbers for model in models if model.arm == name]
        for quantity in dict.fromkeys(quantity for numbers in of_arm for quantity in numbers):
            count = sum(quantity in numbers for numbers in of_arm)
            if count < len(of_arm):
                lines.append(f"{name}: only {count} of {len(of_arm)} runs have the {quantity}, which is left out")
    return tuple(lines)


def _refuse_other_kind(first: Part, part: Part) -> None:
    for name in SHARED:
        if part.about.get(name) != first.about.get(name):
            told = f"{first.about.get(name)} in {first.folder} and {part.about.get(name)} in {part.folder}"
            raise ValueError(f"runs of another {name} cannot be joined: {told}")
    for quantity in OF_REAL:
        if _value(part, quantity) != _value(first, quantity):
            raise ValueError(f"{first.folder} and {part.folder} have other test sentences: they cannot be joined")


def _value(part: Part, quantity: str) -> float | None:
    return next((e.value for e in part.estimates if e.quantity == quantity), None)


def _parsed(path: Path, made: Callable[[Any], Any]) -> Any:
    if not path.exists():
        raise ValueError(f"{path} is missing: name folders that captions run wrote")
    return inputs.parsed(path, made, remedy="run the lab again")
