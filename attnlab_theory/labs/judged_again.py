"""A finished run judged again, from the numbers in its folder. Nothing is trained.

The record of the run keeps the commit that trained it. What judged it is written beside that.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import tyro

from attnlab_theory import files, inputs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attnlab_theory.labs.estimates import Estimates
    from attnlab_theory.labs.verdicts import Verdicts

T = TypeVar("T")

Draw = Callable[[], "Figure"]
"""Draws a figure."""

OLDER = "student: close to normal: accuracies of training runs that differ in the seed"
"""What the interval over seeds was called, though not all numbers are accuracies."""


class Again(NamedTuple):
    """A run as its folder has it, judged again."""

    estimates: "Estimates"
    verdicts: "Verdicts"
    figures: Mapping[str, Draw] = MappingProxyType({})
    """Those that tell of verdicts, by name: no other changes."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class JudgeAgain:
    """Judge a finished run again, from the numbers in its folder. Nothing is trained.

    Findings are written anew, and the numbers over seeds that they rest on. The record of the run keeps the commit
    that trained it, and names the one that judged it.
    """

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")]
    """Folder of a finished run."""
    json: bool = False
    """Print one JSON value on standard output and nothing else."""

    def judge(self, lab: str, again: Callable[[Path], Again]) -> int:
        """Read, judge, write, tell; 1 if a verdict is not the expected one.

        Args:
            lab: whose run it is.
            again: judges what the folder holds.

        Raises:
            ValueError: in one line, if the folder lacks what it takes.
        """
        from attnlab_theory.labs.verdicts import report
        from attnlab_theory.report import provenance, record

        about_path = self.folder / f"{lab}.run.json"
        for path in (about_path, self.folder / "estimates.json"):
            if not path.is_file():
                raise ValueError(f"{self.folder} has no {path.name}: name a folder that `attnlab {lab} run` wrote")
        about = read(about_path, dict)
        try:
            found = again(self.folder)
        except inputs.DAMAGED as error:
            if type(error) is ValueError:
                raise
            raise ValueError(f"{self.folder} holds numbers that cannot be judged: {inputs.told(error)}") from error
        process = provenance.of_this_process()
        by = {name: process[name] for name in ("commit", "versions", "command")}
        about |= {**found.verdicts.as_json(), "judged": by}
        with files.held(self.folder):
            write(found, lab, self.folder)
            files.write_text(about_path, record.to_text(about))
        report(found.verdicts, found.estimates, about, self.folder, json=self.json)
        return 0 if found.verdicts.as_expected else 1


def write(found: Again, lab: str, folder: Path) -> None:
    """Write findings and numbers, and draw what tells of verdicts.

    Raises:
        OSError: if the folder cannot be written.
    """
    from attnlab_theory.report import record

    tables = {lab: [record.as_json(each) for each in found.verdicts.findings]}
    tables["estimates"] = [each.as_json() for each in found.estimates]
    for name, rows in tables.items():
        files.write_text(folder / f"{name}.json", record.to_text(rows))
    draw(found.figures, folder)


def draw(figures: Mapping[str, Draw], folder: Path) -> None:
    """Draw figures as .svg and .png, each file whole or not at all.

    Raises:
        OSError: if the folder cannot be written.
    """
    from attnlab_theory.report import style

    for name, figure in figures.items():
        with files.replacing_all(folder / name, (".svg", ".png")) as written:
            style.save(figure, list(written.values()))


def stored(folder: Path) -> "Estimates":
    """The numbers of a run; intervals over seeds that an older version wrote are called what they are now.

    Raises:
        ValueError: if the file is missing or damaged.
    """
    from attnlab_theory.labs.estimates import OVER_SEEDS, Estimate, Estimates

    now = f"{OVER_SEEDS.name}: {OVER_SEEDS.assumption}"

    def made(rows: Sequence[dict[str, Any]]) -> Estimates:
        every = map(Estimate.from_json, rows)
        return Estimates(dataclasses.replace(e, bound=now) if e.bound == OLDER else e for e in every)

    return read(folder / "estimates.json", made)


def renewed(old: "Estimates", new: "Estimates") -> "Estimates":
    """The old numbers, each replaced by the new one of its quantity and setting. New ones without one follow."""
    from attnlab_theory.labs.estimates import Estimates

    left = {(each.quantity, str(each.setting)): each for each in new}
    kept = [left.pop((each.quantity, str(each.setting)), each) for each in old]
    return Estimates((*kept, *left.values()))


def read(path: Path, made: Callable[[Any], T]) -> T:
    """What a JSON file holds.

    Raises:
        ValueError: if it is missing or damaged.
    """
    if not path.exists():
        raise ValueError(f"{path} is missing: name a folder that a run of the lab wrote")
    return inputs.parsed(path, made, remedy="run the lab again")
