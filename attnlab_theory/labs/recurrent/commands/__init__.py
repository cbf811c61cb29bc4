"""attnlab recurrent: recurrent networks against attention, and what the homework's report guesses of them."""

import dataclasses
from typing import Annotated

from tyro.conf import subcommand

from attnlab_theory.labs.judged_again import JudgeAgain
from attnlab_theory.labs.recurrent.commands.lab import RunLab
from attnlab_theory.labs.recurrent.commands.tuning import Tune


@dataclasses.dataclass(frozen=True, kw_only=True)
class Judge(JudgeAgain):
    """Judge a finished run again, from the numbers in its folder. Nothing is trained.

    Findings are written anew, and the numbers over seeds that they rest on. The record of the run keeps the commit
    that trained it, and names the one that judged it.
    """

    def run(self) -> int:
        """Read, judge, write; 1 if a verdict is not the expected one."""
        from attnlab_theory.labs.recurrent.results import again

        return self.judge("recurrent", again)


@dataclasses.dataclass(frozen=True)
class Recurrent:
    """Compare recurrent networks with attention on the same sentences."""

    task: (
        Annotated[RunLab, subcommand("run")]
        | Annotated[Judge, subcommand("judge")]
        | Annotated[Tune, subcommand("tune")]
    )

    def run(self) -> int:
        """Do the task."""
        return self.task.run()
