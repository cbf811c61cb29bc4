"""The progress of training, on standard error: a bar on a terminal, else a line every ten seconds."""

import contextlib
import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

if TYPE_CHECKING:
    from attnlab_theory.language.train import Metrics

EVERY = 10.0
"""Seconds between two lines."""

RECENT = 0.9
"""The weight of the past in the loss and speeds that are shown: means over about ten steps."""


class Progress(contextlib.AbstractContextManager["Progress"]):
    """The progress of one run. Some steps may have been done in an earlier process.

    Without `bar` there are lines on a terminal too, for several runs at once.
    """

    def __init__(self, name: str, steps: int, *, begun: int = 0, bar: bool = True) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._with_bar = bar and self._console.is_terminal
        self._name, self._steps, self._begun = name, steps, begun
        self._speeds = _Speeds()
        self._told = time.monotonic()
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(bar_width=10),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speeds]}"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=self._console,
            transient=True,
        )
        self._task = self._bar.add_task(name, total=steps, completed=begun, speeds="compiling")

    def __enter__(self) -> "Progress":
        if self._with_bar:
            self._bar.start()
        return self

    def __exit__(self, *leaving: object) -> None:
        if self._with_bar:
            self._bar.stop()

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self._console.print(text, markup=False)

    def advance(self, metrics: "Metrics") -> None:
        """Show one more step."""
        self._speeds.add(metrics)
        if self._with_bar:
            self._bar.update(self._task, completed=metrics.step, speeds=str(self._speeds))
            return
        now = time.monotonic()
        if now - self._told >= EVERY or metrics.step == self._begun + 1 or metrics.step == self._steps:
            self._told = now
            left = self._speeds.seconds * (self._steps - metrics.step)
            said = f", {left:.0f} s left" if self._speeds.seconds else ""
            self.say(f"{self._name}: step {metrics.step} of {self._steps}, {self._speeds}{said}")


class _Speeds:
    """Running means over steps. The time of the first step is left out, because it is mostly compilation."""

    def __init__(self) -> None:
        self._loss = self._targets = self._documents = self.seconds = 0.0
        self._steps = 0

    def add(self, metrics: "Metrics") -> None:
        self._steps += 1
        # The mean over all steps until there are ten of them, then one that forgets.
        new = max(1 - RECENT, 1 / self._steps)
        self._loss += new * (metrics.loss - self._loss)
        if self._steps > 1:
            new = max(1 - RECENT, 1 / (self._steps - 1))
            self._targets += new * (metrics.targets - self._targets)
            self._documents += new * (metrics.documents - self._documents)
            self.seconds += new * (metrics.seconds - self.seconds)

    def __str__(self) -> str:
        if not self.seconds:
            return f"loss {self._loss:.3f}"
        targets, documents = (x / self.seconds for x in (self._targets, self._documents))
        return f"loss {self._loss:.3f}, {targets:,.0f} targets/s, {documents:,.0f} texts/s"
