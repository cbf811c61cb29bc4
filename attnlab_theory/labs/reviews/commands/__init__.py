"""attnlab reviews: does a sentence of a review praise or blame, and what does an encoder look at?"""

import dataclasses
from typing import Annotated

from tyro.conf import subcommand

from attnlab_theory.labs.reviews.commands.asking import Evaluate, Predict
from attnlab_theory.labs.reviews.commands.explaining import Explain
from attnlab_theory.labs.reviews.commands.lab import Judge, RunLab
from attnlab_theory.labs.reviews.commands.searching import Search
from attnlab_theory.labs.reviews.commands.training import Train


@dataclasses.dataclass(frozen=True)
class Reviews:
    """Train an encoder to tell favourable reviews from unfavourable ones, and ask what it learned."""

    task: (
        Annotated[Train, subcommand("train")]
        | Annotated[Evaluate, subcommand("evaluate")]
        | Annotated[Predict, subcommand("predict")]
        | Annotated[Explain, subcommand("explain")]
        | Annotated[Search, subcommand("search")]
        | Annotated[RunLab, subcommand("run")]
        | Annotated[Judge, subcommand("judge")]
    )

    def run(self) -> int:
        """Do the task."""
        return self.task.run()
