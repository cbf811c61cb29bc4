"""What became of code inside the fences, and of its answer: a word for a program, a line for a person."""

import enum

from attnlab_theory.exits import visible


class Reason(enum.StrEnum):
    """What became of a submission."""

    RIGHT = "right"
    """It is within the tolerance at all cases, and gave the same answers twice."""
    WRONG = "wrong"
    """A case shows that it is wrong, or it gave different answers to the same givens."""
    RAISED = "raised"
    """It raised an exception, or its file is not Python."""
    NOT_FINITE = "not finite"
    """It returned NaN or an infinity."""
    WRONG_SHAPE = "wrong shape"
    """It returned no arrays of real numbers, or not of the shapes that the contract names."""
    TIMED_OUT = "timed out"
    """It used up its time in a call, or while the file was loaded."""
    TOO_MUCH_MEMORY = "too much memory"
    """Its processes held too much memory."""
    ENDED = "ended"
    """Its process ended, or had to be ended, without an answer."""
    INCONCLUSIVE = "inconclusive"
    """No counterexample was found, but not every case was judged, or nothing protected the judge.

    Or its file cannot be read or run here, for want of a module or of Jupyter.
    """

    @property
    def exit_code(self) -> int:
        """0 right, 1 not right, 3 not decided. 2 is for mistakes of the caller, and no submission gets it."""
        return {Reason.RIGHT: 0, Reason.INCONCLUSIVE: 3}.get(self, 1)


class BrokenAnswer(ValueError):
    """A submission that gives no answer.

    Args:
        message: one line that says why.
        reason: what became of the submission. None if there is no submission: the caller named it wrongly.
        output: what it had printed by then.
        killed: the signal that ended its process, if by such a one people and systems end processes of others.
        lacks: whether its file has no function of the names that were asked for.
    """

    def __init__(
        self, message: str, reason: Reason | None = None, output: str = "", killed: str = "", *, lacks: bool = False
    ) -> None:
        super().__init__(message)
        self.reason, self.output, self.killed, self.lacks = reason, output, killed, lacks


def plain(text: str, most: int = 400) -> str:
    """A stranger's text as one line, cut at `most` characters, with nothing that a terminal obeys."""
    line = visible(" ".join(text[: 4 * most].split()))
    return line if len(line) <= most else line[: most - 3] + "..."
