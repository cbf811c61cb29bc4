"""attnlab knowledge draw: the figures of an earlier run, drawn again."""

import dataclasses
from pathlib import Path
from typing import Annotated

import tyro

from attnlab_theory.labs.judged_again import JudgeAgain


@dataclasses.dataclass(frozen=True, kw_only=True)
class Judge(JudgeAgain):
    """Judge a finished run again, from the answers in its folder. Nothing is trained.

    Findings are written anew, and the numbers over seeds that they rest on. The record of the run keeps the commit
    that trained it, and names the one that judged it.
    """

    def run(self) -> int:
        """Read, judge, write; 1 if a verdict is not the expected one."""
        from attnlab_theory.labs.knowledge.results import again

        return self.judge("knowledge", again)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Draw:
    """Draw the figures of an earlier run again, from its JSON files. Nothing is trained."""

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")]
    """Folder that `knowledge run` or `knowledge evaluate --out` wrote."""

    def run(self) -> int:
        """Read and draw."""
        from attnlab_theory.labs.knowledge.drawing import redraw

        drawn = redraw(self.folder)
        print(f"{len(drawn)} figures are drawn in {self.folder}")
        return 0
