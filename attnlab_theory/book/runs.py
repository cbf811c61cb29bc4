"""What runs have left in folders: findings, records and figures. A damaged file is named, and the rest is read."""

import dataclasses
import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from attnlab_theory import inputs
from attnlab_theory.answers.declarations import Fresh
from attnlab_theory.claims import Findings
from attnlab_theory.report import record

BESIDE = {"reviews": ("tested",)}
"""Files of findings beside a lab's own. They are about models that another command of the lab has trained."""

RECORD: Mapping[str, type] = {"question": str, "command": str, "versions": dict}
"""What every record of a run says."""


NONE = Findings()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """One experiment or lab, as its files have it."""

    name: str
    folder: Path
    record: Mapping[str, Any]
    """How it was made. A lab of several parts has the record of the first."""
    findings: Findings
    fresh: Findings = NONE
    """What runs of fresh seeds found of the statements that they decide."""

    def file(self, name: str) -> Path | None:
        """A file of the run; None if there is none of this name."""
        return path if (path := self.folder / name).is_file() else None

    @property
    def seed(self) -> str:
        """The seed, or the seeds, in words."""
        first, number = self.record.get("seed", 0), self.record.get("seeds", 1)
        several = isinstance(first, int) and isinstance(number, int) and number > 1
        return f"{first} to {first + number - 1}" if several else str(first)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Runs:
    """All runs of some folders."""

    every: Mapping[str, Run]
    """By the names of experiments and labs."""
    own: tuple[str, ...] = ()
    """Those that are not the lab's: somebody's own files of claims."""
    problems: tuple[str, ...] = ()
    """A line for each file that is damaged. Its run is missing."""


def read(
    folders: Sequence[Path], experiments: Collection[str], labs: Collection[str], fresh: Sequence[Fresh] = ()
) -> Runs:
    """Read folders. The first folder that has a run gives it, even if its files are damaged.

    Args:
        folders: where runs have written; a lab may lie in a folder of its name inside.
        experiments: names of the lab's experiments.
        labs: names of the labs.
        fresh: the runs of fresh seeds that are declared. They lie beside the lab's run.

    Raises:
        ValueError: if a folder is missing.
    """
    for folder in folders:
        if not folder.is_dir():
            raise ValueError(f"there is no folder {folder}: make it with attnlab run --out {folder}")
    every: dict[str, Run] = {}
    problems: list[str] = []
    own: list[str] = []

    def keep(name: str, run: Callable[[], Run]) -> None:
        try:
            every[name] = run()
        except ValueError as error:
            problems.append(str(error))

    for name in experiments:
        there = [folder for folder in folders if any((folder / f"{name}{end}").exists() for end in ENDS)]
        if there:
            keep(name, functools.partial(_experiment, there[0], name))
    for lab in labs:
        places = [place for folder in folders for place in (folder / lab, folder)]
        there = [place for place in places if _records(place, lab)]
        if there:
            keep(lab, functools.partial(_lab, there[0], lab, fresh))
    for path in (path for folder in folders for path in sorted(folder.glob("*.run.json"))):
        name = path.name.removesuffix(".run.json")
        if name not in {*experiments, *labs, *every} and not any(_records(path.parent, lab) for lab in labs):
            own.append(name)
            keep(name, functools.partial(_experiment, path.parent, name))
    return Runs(every=every, own=tuple(name for name in own if name in every), problems=tuple(problems))


ENDS = (".json", ".run.json")


def _experiment(folder: Path, name: str) -> Run:
    about = _record(folder / f"{name}.run.json", {"question": str, "budget": str, "seed": int})
    return Run(name=name, folder=folder, record=about, findings=record.read_findings(folder / f"{name}.json"))


def _records(folder: Path, lab: str) -> list[Path]:
    """The records of a lab's run in a folder. The lab of heads has one for each part."""
    return sorted(folder.glob("*.run.json")) if lab == "heads" == folder.name else [*folder.glob(f"{lab}.run.json")]


def _lab(folder: Path, lab: str, fresh: Sequence[Fresh]) -> Run:
    records = _records(folder, lab)
    names = [f"{path.name.removesuffix('.run.json')}.findings.json" for path in records]
    names = names if lab == "heads" else [f"{lab}.json", *(f"{name}.json" for name in BESIDE.get(lab, ()))]
    found = [
        record.read_findings(folder / name) for name in names if name == f"{lab}.json" or (folder / name).exists()
    ]
    later = [
        finding
        for run in fresh
        if run.lab == lab and (path := folder / "fresh" / run.name / f"{lab}.json").is_file()
        for finding in record.read_findings(path)
        if finding.claim in run.decides
    ]
    return Run(
        name=lab,
        folder=folder,
        record=_record(records[0], RECORD),
        findings=Findings(finding for each in found for finding in each),
        fresh=Findings(later),
    )


def inside(run: Run, name: str, problems: list[str]) -> Run | None:
    """A small run of the same lab in a folder inside, without its findings; None if there is none.

    Args:
        run: of the lab.
        name: of the folder inside.
        problems: a line is added if its record is damaged.
    """
    path = run.folder / name / f"{run.name}.run.json"
    if not path.is_file():
        return None
    try:
        return Run(name=run.name, folder=path.parent, record=_record(path, RECORD), findings=NONE)
    except ValueError as error:
        problems.append(str(error))
        return None


def _record(path: Path, fields: Mapping[str, type]) -> Mapping[str, Any]:
    try:
        about = inputs.json_of(path)
        inputs.refuse_other_fields(about, fields)
        return about
    except inputs.DAMAGED as error:
        said = inputs.reason_in(error)
        raise ValueError(f"{path} does not say how it was run: {said}; run it again or delete it") from None
