"""attnlab knowledge: a small GPT that reads about persons and is asked where they were born."""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, ClassVar

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

    elsewhere: ClassVar[Mapping[str, str]] = {
        "--bottleneck_dim": "belongs to the perceiver of the homework of 2022 and 2023, which is not here",
        "--tb_expt_name": "names a log of TensorBoard, and none is written here: leave it out",
        "--finetune_lr": "is the learning rate of finetune; in pretrain it is --lr",
        "--pretrain_lr": "is the learning rate of pretrain; in finetune it is --lr",
    }
    """Options of other years' homework that no command here has, or another one."""

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
