"""What a run shows while it judges: the current claim, the time left, and each verdict as soon as it is there."""

import contextlib
from collections.abc import Iterator

from attnlab_theory.claims import Findings
from attnlab_theory.report.progress import Progress
from attnlab_theory.report.table import claim_text, show, tallies


class Board:
    """Progress of a run, on standard error.

    Args:
        claims: how many are judged.
        quiet: show nothing.
        prints: whether every claim is printed on standard output as soon as it is judged.
        title: printed before the first of them.
    """

    def __init__(self, claims: int, *, quiet: bool = False, prints: bool = False, title: str = "") -> None:
        self._progress = Progress("judging", claims, "claims" if claims != 1 else "claim", quiet=quiet)
        self._prints, self._title = prints and not quiet, title

    @contextlib.contextmanager
    def shown(self) -> Iterator["Board"]:
        """Show the board while the block runs."""
        with self._progress:
            yield self

    def cleared(self) -> contextlib.AbstractContextManager[None]:
        """Take the board away while the block prints."""
        return self._progress.cleared()

    def begin(self, experiment: str, claim: str) -> None:
        """Say what is being judged now."""
        self._progress.begin(f"{experiment}: {claim}")

    def end(self, findings: Findings) -> None:
        """Count the claim that has just been judged, and print it."""
        self._progress.advance()
        if not self._prints:
            return
        with self.cleared():
            if self._title:
                show(f"{self._title}\n")
                self._title = ""
            for tally in tallies(findings):
                show(claim_text(tally))
