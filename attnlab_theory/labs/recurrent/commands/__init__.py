"""attnlab recurrent: recurrent networks against attention, and what the homework's report guesses of them."""

import dataclasses
from typing import Annotated

from tyro.conf import subcommand

from attnlab_theory.labs.recurrent.commands.lab import RunLab
from attnlab_theory.labs.recurrent.commands.tuning import Tune


@dataclasses.dataclass(frozen=True)
class Recurrent:
    """Compare recurrent networks with attention on the same sentences."""

    task: Annotated[RunLab, subcommand("run")] | Annotated[Tune, subcommand("tune")]

    def run(self) -> int:
        """Do the task."""
        return self.task.run()
