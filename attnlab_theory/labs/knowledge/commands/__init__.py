"""attnlab knowledge: a small GPT that reads about persons and is asked where they were born."""

import dataclasses
from typing import Annotated

from tyro.conf import subcommand

from attnlab_theory.labs.knowledge.commands.asking import Baseline, Evaluate
from attnlab_theory.labs.knowledge.commands.data import Data
from attnlab_theory.labs.knowledge.commands.drawing import Draw, Judge
from attnlab_theory.labs.knowledge.commands.lab import RunLab
from attnlab_theory.labs.knowledge.commands.scoring import Score
from attnlab_theory.labs.knowledge.commands.training import Finetune, Pretrain, Store


@dataclasses.dataclass(frozen=True)
class Knowledge:
    """Train a small GPT on a text about persons, and ask it where they were born."""

    task: (
        Annotated[Pretrain, subcommand("pretrain")]
        | Annotated[Finetune, subcommand("finetune")]
        | Annotated[Evaluate, subcommand("evaluate")]
        | Annotated[Score, subcommand("score")]
        | Annotated[Store, subcommand("store")]
        | Annotated[Baseline, subcommand("baseline")]
        | Annotated[RunLab, subcommand("run")]
        | Annotated[Judge, subcommand("judge")]
        | Annotated[Draw, subcommand("draw")]
        | Annotated[Data, subcommand("data")]
    )

    def run(self) -> int:
        """Do the task."""
        return self.task.run()
