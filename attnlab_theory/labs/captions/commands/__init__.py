"""attnlab captions: a small GPT that writes captions, and how good and how varied they are."""

import dataclasses
from typing import Annotated

from tyro.conf import subcommand

from attnlab_theory.labs.captions.commands.asking import Evaluate, Generate
from attnlab_theory.labs.captions.commands.joining import Join
from attnlab_theory.labs.captions.commands.lab import RunLab
from attnlab_theory.labs.captions.commands.scoring import Draw, Judge, Score, Sweep
from attnlab_theory.labs.captions.commands.training import Train


@dataclasses.dataclass(frozen=True)
class Captions:
    """Train a small GPT on captions, let it write its own, and judge those."""

    task: (
        Annotated[Train, subcommand("train")]
        | Annotated[Evaluate, subcommand("evaluate")]
        | Annotated[Generate, subcommand("generate")]
        | Annotated[Score, subcommand("score")]
        | Annotated[Sweep, subcommand("sweep")]
        | Annotated[RunLab, subcommand("run")]
        | Annotated[Join, subcommand("join")]
        | Annotated[Judge, subcommand("judge")]
        | Annotated[Draw, subcommand("draw")]
    )

    def run(self) -> int:
        """Do the task."""
        return self.task.run()
