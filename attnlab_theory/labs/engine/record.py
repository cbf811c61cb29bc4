"""The results of a run as files: numbers, findings, tables, texts and figures. And how they are read again."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attnlab_theory import files, inputs
from attnlab_theory.claims import Statement
from attnlab_theory.labs.estimates import OVER_SEEDS, Estimate, Estimates
from attnlab_theory.labs.folders import RUN
from attnlab_theory.labs.verdicts import Verdicts, verdicts_on
from attnlab_theory.report import record

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

T = TypeVar("T")

Draw = Callable[[], "Figure"]
"""Draws a figure."""

OLDER = "student: close to normal: accuracies of training runs that differ in the seed"
"""The old name of the interval over seeds, though not all numbers are accuracies."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Results:
    """The results of a run."""

    estimates: Estimates
    verdicts: Verdicts
    tables: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Values for further JSON files, by name. None: there is no such file, and one of an earlier run is removed."""
    texts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Text files, by their whole name."""
    figures: Mapping[str, Draw | None] = dataclasses.field(default_factory=dict)
    """Figures by name, as functions that draw them. None: such a figure of an earlier run is removed."""
    about: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Further fields of the record of the run."""
    shown: "Sequence[RenderableType]" = ()
    """The tables that are printed before the verdicts."""
    further: Mapping[str, Verdicts] = dataclasses.field(default_factory=dict)
    """Verdicts on other numbers, apart from these, by the names of their JSON files."""

    @property
    def as_expected(self) -> bool:
        """Whether every verdict is the expected one."""
        return all(each.as_expected for each in (self.verdicts, *self.further.values()))

    def counted(self) -> dict[str, Any]:
        """What the record of a run says of its verdicts and its estimates, by name."""
        return {"estimates": len(self.estimates), **self.verdicts.as_json()}

    def rows(self, name: str) -> dict[str, Any]:
        """The values of the JSON files, by their names.

        Args:
            name: of the findings.
        """
        findings = {name: self.verdicts, **self.further}
        return {
            **{name: [record.as_json(each) for each in found.findings] for name, found in findings.items()},
            "estimates": [estimate.as_json() for estimate in self.estimates],
            **self.tables,
        }

    def write(self, name: str, folder: Path, *, prefix: str = "") -> None:
        """Write all files, each whole or not at all.

        Args:
            name: of the findings.
            folder: an existing folder.
            prefix: the beginning of the names of JSON files.

        Raises:
            OSError: if the folder cannot be written.
        """
        for table, rows in self.rows(name).items():
            path = folder / f"{prefix}{table}.json"
            if rows is None:
                path.unlink(missing_ok=True)
            else:
                files.write_text(path, record.to_text(rows))
        for name, text in self.texts.items():
            files.write_text(folder / name, text)
        draw(self.figures, folder)


def judged(lab: str, statements: Sequence[Statement], measured: Estimates, **told: Any) -> Results:
    """Numbers, and the verdicts of a lab on them.

    Args:
        lab: that states something.
        statements: what it states.
        measured: all of its numbers.
        told: further fields of `Results`.
    """
    return Results(estimates=measured, verdicts=verdicts_on(statements, measured, experiment=lab), **told)


def draw(figures: Mapping[str, Draw | None], folder: Path) -> None:
    """Draw figures as .svg and .png, each file whole or not at all. Figures that are None are removed.

    Raises:
        OSError: if the folder cannot be written.
    """
    from attnlab_theory.report import style

    for name, figure in figures.items():
        if figure is None:
            for suffix in (".svg", ".png"):
                (folder / f"{name}{suffix}").unlink(missing_ok=True)
            continue
        with files.replacing_all(folder / name, (".svg", ".png")) as written:
            style.save(figure, list(written.values()))


def stored(folder: Path) -> Estimates:
    """The numbers of a run. Intervals over seeds that an older version wrote get the name that they have now.

    Raises:
        ValueError: if the file is missing or damaged.
    """
    now = f"{OVER_SEEDS.name}: {OVER_SEEDS.assumption}"

    def made(rows: Sequence[dict[str, Any]]) -> Estimates:
        every = [*map(Estimate.from_json, rows)]
        names = {(each.quantity, repr(sorted(each.setting.items()))) for each in every}
        if len(names) < len(every):
            raise ValueError("it holds an estimate twice")
        # Of what is cut, nobody sees that something is missing: a record says how many there were.
        if len(every) < (written := max(map(_written, sorted(folder.glob(f"*{RUN}"))), default=0)):
            raise ValueError(f"it holds {len(every)} estimates, and the run wrote {written}")
        return Estimates(dataclasses.replace(e, bound=now) if e.bound == OLDER else e for e in every)

    return read(folder / "estimates.json", made)


def _written(record_of_run: Path) -> int:
    """How many estimates a run wrote. An older version did not say so."""
    return read(record_of_run, lambda about: int(about.get("estimates", 0)))


def renewed(old: Estimates, new: Estimates) -> Estimates:
    """The old numbers, each replaced by the new one of its quantity and setting. New numbers that replace none
    follow.
    """
    left = {(each.quantity, str(each.setting)): each for each in new}
    kept = [left.pop((each.quantity, str(each.setting)), each) for each in old]
    return Estimates((*kept, *left.values()))


def read(path: Path, made: Callable[[Any], T]) -> T:
    """The value of a JSON file.

    Raises:
        ValueError: if it is missing or damaged.
    """
    if not path.exists():
        raise ValueError(f"{path} is missing: name a folder that a run of the lab wrote")
    return inputs.parsed(path, made, remedy="run the lab again")


@contextlib.contextmanager
def usable(*folders: Path, to: str) -> Iterator[None]:
    """Turn errors about the numbers of folders, in the block, into one line.

    Args:
        folders: whose numbers are used in the block.
        to: what cannot be done with such numbers, for the message.

    Raises:
        ValueError: naming the folders, if a number is missing or has another form.
    """
    try:
        yield
    except inputs.DAMAGED as error:
        if type(error) is ValueError:
            raise
        told = f"hold numbers that cannot be {to}" if len(folders) > 1 else f"holds numbers that cannot be {to}"
        raise ValueError(f"{', '.join(map(str, folders))} {told}: {inputs.reason_in(error)}") from error


def drawing(module: Any, names: Sequence[str], *arguments: Any) -> dict[str, Draw]:
    """The figures of a module by the names of its functions, which all take the same arguments."""
    return {name: functools.partial(getattr(module, name), *arguments) for name in names}
