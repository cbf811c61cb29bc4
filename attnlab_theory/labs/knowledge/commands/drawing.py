"""attnlab knowledge draw: the figures of an earlier run, drawn again."""

import dataclasses
from pathlib import Path
from typing import Annotated

import tyro


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
