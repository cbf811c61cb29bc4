"""The command about deliberate bugs: museum."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro

from attnlab_theory.options import Budget

PER_FAMILY: dict[Budget, int | None] = {"quick": 1, "full": None}
"""How many identities of one family a bug is planted under, by budget."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Museum:
    """Show well-known bugs of attention, and which checks catch them."""

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[NAME]")] = ""
    """One bug: its code, where it happened, what catches it. Without it, a table of all bugs."""
    budget: Budget = "quick"
    """How many checks each bug meets. quick: one of each group of similar checks. full: all."""
    out: Path | None = None
    """Draw pictures into this folder. It is made if it does not exist. Without it, nothing is written."""
    force: bool = False
    """Write over files that attnlab has not written, but never over a file that is read."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Plant, catch, print and draw."""
        from attnlab_theory import interrupts

        with interrupts.remembered() as pressed:
            return self._plant(pressed)

    def _plant(self, pressed: Sequence[int]) -> int:
        from attnlab_theory.report import progress

        with progress.said("loading the bugs", quiet=self.json):
            from attnlab_theory import files
            from attnlab_theory.cli import library
            from attnlab_theory.museum import BUGS, catalogue, figures, kill_matrix
            from attnlab_theory.report.table import show

            by_name = {bug.name: bug for bug in BUGS}
            if self.name and self.name not in by_name:
                raise library.unknown("bug", self.name, by_name, "attnlab museum")
            if self.out is not None:
                drawn = self.name or "kill_matrix"
                files.make_folder(self.out, f"{drawn}.svg", f"{drawn}.png")
        bugs = [by_name[self.name]] if self.name else BUGS
        per_family = None if self.name else PER_FAMILY[self.budget]
        what = "bug" if self.name else "bugs"
        with progress.Progress("planting and catching", len(bugs), what, quiet=self.json) as shown:

            def say(line: str) -> None:
                shown.advance()
                if pressed:
                    raise KeyboardInterrupt

            found = kill_matrix(bugs, per_family=per_family, say=say)
        paths = []
        if self.out is not None:
            paths = (
                figures.write_bug(bugs[0], found, self.out) if self.name else figures.write_matrix(found, self.out)
            )
        if self.json:
            print(json.dumps(catalogue.as_json(bugs, found), indent=1, ensure_ascii=False))
            return catalogue.exit_code(found)
        if self.name:
            print(catalogue.bug_text(bugs[0], found))
        else:
            show(catalogue.matrix_table(found))
            print(catalogue.legend(found, everywhere=per_family is None))
            print("\nWhat each bug is; attnlab museum NAME shows its lines and where it happened:\n")
            for story in catalogue.stories(bugs):
                show(story)
        if paths:
            print("\n" + "\n".join(str(path) for path in paths))
        return catalogue.exit_code(found)
