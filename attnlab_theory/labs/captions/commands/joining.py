"""attnlab captions join: one set of findings of several runs."""

import dataclasses
import sys
from pathlib import Path
from typing import Annotated, Any

import tyro

from attnlab_theory import files
from attnlab_theory.labs.folders import make_folder


@dataclasses.dataclass(frozen=True, kw_only=True)
class Join:
    """Join runs on the same files that trained other seeds or other models. Nothing is trained or generated.

    All comparisons are made anew, over all seeds. The folders of the runs stay as they are.
    """

    folders: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER ...")]
    """Folders that `captions run` wrote, two or more."""
    out: Path = Path("lab/captions_joined")
    """Folder for JSON and figures. It is made if it does not exist."""
    json: bool = False
    """Print one JSON value on standard output and nothing else."""

    def run(self) -> int:
        """Read, compare, judge, draw; 1 if a verdict is not the expected one."""
        from attnlab_theory.labs.captions import joined, results
        from attnlab_theory.labs.verdicts import report
        from attnlab_theory.report import record
        from attnlab_theory.report.table import show

        if len(self.folders) < 2:
            raise ValueError(f"join needs at least two folders, not {len(self.folders)}")
        for folder in (*self.folders, self.out):
            if [*self.folders, self.out].count(folder) > 1:
                raise ValueError(f"{folder} is named twice; each folder is named once, and --out is another one")
        parts = [joined.read(folder) for folder in self.folders]
        found = joined.joined(parts)
        about = {**self._about([part.about for part in parts]), **found.verdicts.as_json()}
        for line in joined.left_out(parts):
            print(line, file=sys.stderr)
        make_folder(self.out, "captions")
        with files.held(self.out):
            results.write(found, self.out)
            files.write_text(self.out / results.ABOUT, record.to_text(about))
        if not self.json:
            show(found.table())
            show(f"{len(found.models)} models of {len(parts)} runs.")
        report(found.verdicts, found.estimates, about, self.out, json=self.json)
        return 0 if found.as_expected else 1

    def _about(self, runs: list[dict[str, Any]]) -> dict[str, Any]:
        """What was joined; the records of the runs stand in it whole."""
        from attnlab_theory.labs.captions.joined import SHARED
        from attnlab_theory.report import provenance

        first = runs[0]
        shared = {name: first.get(name) for name in ("question", *SHARED, "error_rate")}
        return {**shared, **provenance.of_this_process(), "runs": runs}
