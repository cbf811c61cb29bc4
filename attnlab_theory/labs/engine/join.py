"""`attnlab LAB join`: runs of several machines as one. Imports no jax: the command line reads it first."""

import abc
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro

from attnlab_theory import files
from attnlab_theory.labs import folders
from attnlab_theory.labs.engine.run import report
from attnlab_theory.labs.options import WithJson

if TYPE_CHECKING:
    from attnlab_theory.labs.engine.record import Results


@dataclasses.dataclass(frozen=True, kw_only=True)
class JoinLab(WithJson, abc.ABC):
    """Join runs that used the same files, with other seeds or other models. Nothing is trained.

    All comparisons are made again, over all seeds. The folders of the runs stay as they are.
    """

    name: ClassVar[str]
    """The lab's command, and the name of its findings."""
    shared: ClassVar[tuple[str, ...]]
    """The fields that the records of the runs must have in common."""
    folders: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER ...")]
    """Folders of finished runs, two or more."""
    out: Path
    """Folder for JSON and figures. It is made if it does not exist."""

    @abc.abstractmethod
    def results(self) -> "Results":
        """Judge the numbers of all folders together.

        Raises:
            ValueError: if a file is missing or damaged, or the runs do not belong together.
        """

    def run(self) -> int:
        """Read, compare, judge, write, report; 1 if a verdict is not the expected one.

        Raises:
            ValueError: in one line, if the folders cannot be joined.
        """
        from attnlab_theory.labs import page
        from attnlab_theory.labs.engine.record import read, usable
        from attnlab_theory.report import provenance, record

        if len(self.folders) < 2:
            raise ValueError(f"join needs at least two folders, not {len(self.folders)}")
        for folder in (*self.folders, self.out):
            if sum(files.is_one(folder, other) for other in (*self.folders, self.out)) > 1:
                raise ValueError(f"{folder} is named twice; name each folder once, and another one with --out")
        runs = [read(folder / f"{self.name}{folders.RUN}", dict) for folder in self.folders]
        self._refuse_others(runs)
        with usable(*self.folders, to="joined"):
            found = self.results()
        about = {key: runs[0].get(key) for key in ("question", *self.shared, "error_rate")}
        about |= {**provenance.of_this_process(), "runs": runs, **found.counted()}
        # Only a figure looks into every table.
        with folders.begun(self.out, self.name), usable(*self.folders, to="joined"):
            found.write(self.name, self.out)
            files.write_text(self.out / f"{self.name}{folders.RUN}", record.to_text(about))
            page.write(self.out, found.verdicts.sentences(), found.further)
        return report(found, about, self.out, json=self.json)

    def _refuse_others(self, runs: Sequence[Mapping[str, Any]]) -> None:
        for run, folder in zip(runs, self.folders, strict=True):
            for key in self.shared:
                if run.get(key) != runs[0].get(key):
                    told = f"{runs[0].get(key)} in {self.folders[0]} and {run.get(key)} in {folder}"
                    raise ValueError(f"runs that differ in their {key} cannot be joined: {told}")
