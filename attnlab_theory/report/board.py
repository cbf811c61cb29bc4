"""The live board of verdicts: a table that grows while the run goes on; plain lines without a terminal."""

import contextlib
from collections.abc import Iterator

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from attnlab_theory.claims import Findings
from attnlab_theory.report.table import Tally, style_of, tallies


class Board:
    """Progress of a run, on standard error."""

    def __init__(self, claims: int, *, quiet: bool = False) -> None:
        self.console = Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)
        self._lines: list[Text] = []
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self.console,
        )
        self._task = self._bar.add_task("starting", total=claims)
        self._live: Live | None = None

    @contextlib.contextmanager
    def shown(self) -> Iterator["Board"]:
        """Show the board while the block runs, if standard error is a terminal."""
        if not self.console.is_terminal:
            yield self
            return
        with Live(self._bar, console=self.console, refresh_per_second=8, transient=True) as live:
            self._live = live
            yield self

    def begin(self, experiment: str, claim: str) -> None:
        """Say what is being checked now."""
        self._bar.update(self._task, description=f"{experiment}: {claim}")

    def end(self, findings: Findings) -> None:
        """Add the verdict of the claim that has just been judged."""
        self._bar.advance(self._task)
        for line in tallies(findings):
            text = _line(line)
            if self._live is None:
                self.console.print(text)
            else:
                self._lines.append(text)
                self._live.update(Group(*self._lines[-12:], self._bar))


def _line(line: Tally) -> Text:
    note = "" if line.as_expected else f"  (expected {line.expect})"
    return Text.assemble(f"{line.experiment}: {line.claim}  ", (line.verdict, style_of(line)), note)
