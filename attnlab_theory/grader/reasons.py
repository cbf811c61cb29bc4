"""Why a submission is what it is: one word for a program, one line for a person."""

import enum


class Reason(enum.StrEnum):
    """What became of a submission."""

    RIGHT = "right"
    """It is within the tolerance in all the cases that its contract promises, and gave the same answers twice."""
    WRONG = "wrong"
    """A counterexample stands beside it, or it gave different answers to the same givens."""
    RAISED = "raised"
    """It raised an exception, or its file is no Python."""
    NOT_FINITE = "not finite"
    """It returned NaN or an infinity."""
    WRONG_SHAPE = "wrong shape"
    """It returned no arrays of real numbers, or not of the shapes that the contract names."""
    TIMED_OUT = "timed out"
    """One call, or loading the file, took longer than all of it may take."""
    TOO_MUCH_MEMORY = "too much memory"
    """Its processes held more than they may."""
    ENDED = "ended"
    """Its process ended, or had to be ended, without an answer."""
    INCONCLUSIVE = "inconclusive"
    """No counterexample was found, but not every case was judged, or nothing protected the judge."""

    @property
    def exit_code(self) -> int:
        """0 right, 1 not right, 3 not decided. 2 is for what the caller did wrong, and no submission's."""
        return {Reason.RIGHT: 0, Reason.INCONCLUSIVE: 3}.get(self, 1)


class BrokenAnswer(ValueError):
    """A submission whose answer cannot be had. One line.

    Args:
        message: the line.
        reason: what became of the submission; None if what the caller named is no submission at all.
        output: what it had printed by then.
    """

    def __init__(self, message: str, reason: Reason | None = None, output: str = "") -> None:
        super().__init__(message)
        self.reason, self.output = reason, output


def plain(text: str, most: int = 400) -> str:
    """Somebody else's words as one line that a terminal shows as they are."""
    line = "".join(
        c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(text[: 4 * most].split())
    )
    return line if len(line) <= most else line[: most - 3] + "..."
