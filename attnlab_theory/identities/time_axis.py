"""Which axis of somebody's arrays is time? A trial with axes of different lengths tells.

Layers disagree on the order of axes: [batch, time, width] in most papers, [time, batch, width] in torch by default,
[batch, width, time] in convolutions. With a batch of one, attention over [1, 12, 8] that reads time first sees one
step of twelve sequences, and can leak nothing. So several different sequences are handed over, and one place of an
axis is replaced: an axis is time if outputs at its other places move. They do not along a batch.
"""

import dataclasses
import enum
from collections.abc import Callable, Sequence

import numpy as np

Call = Callable[[np.ndarray], np.ndarray]
"""Somebody's function, on an array whose axes are in its own order."""

BATCHES = (3, 2, 5, 4)
"""How many sequences a trial has: the first of these that is no length of another axis."""


class Order(enum.StrEnum):
    """An order of the axes b (batch), t (time) and c (width). Token numbers have no width."""

    TC = "tc"
    BTC = "btc"
    TBC = "tbc"
    BCT = "bct"
    CT = "ct"


@dataclasses.dataclass(frozen=True)
class Handing:
    """How sequences are handed over, and outputs taken back."""

    order: Order
    numbers: bool = False
    """Whether the sequence is one of token numbers, without a width."""

    @property
    def axes(self) -> str:
        """The letters of the axes of what is handed over."""
        return self.order.replace("c", "") if self.numbers else str(self.order)

    @property
    def named(self) -> str:
        """The axes in words."""
        return f"[{' '.join({'b': 'batch', 't': 'time', 'c': 'width'}[axis] for axis in self.axes)}]"

    @property
    def batched(self) -> bool:
        """Whether there is a batch."""
        return "b" in self.axes

    def array(self, sequences: Sequence[np.ndarray]) -> np.ndarray:
        """Sequences [time width], or [time], as one array; the first alone if there is no batch."""
        stacked = np.stack(sequences)
        own = "bt" if self.numbers else "btc"
        if not self.batched:
            stacked, own = stacked[0], own[1:]
        return np.ascontiguousarray(np.transpose(stacked, [own.index(axis) for axis in self.axes]))

    def fits(self, given: np.ndarray, output: np.ndarray) -> bool:
        """Whether an output has the axes of batch and time of what was given, and one or more numbers at each."""
        kept = [i for i, axis in enumerate(self.axes) if axis in "bt"]
        dims = max(given.ndim, len(kept) + 1)
        return output.ndim == dims and bool(output.size) and all(output.shape[i] == given.shape[i] for i in kept)

    def is_cut(self, given: np.ndarray, output: np.ndarray) -> bool:
        """Whether an output has another length along time, and else the axes of what was given."""
        at = self.axes.index("t")
        cut = tuple(np.delete(given.shape, at))
        return (
            output.ndim == given.ndim
            and output.shape[at] != given.shape[at]
            and (tuple(np.delete(output.shape, at)) == cut)
        )

    def rows(self, output: np.ndarray) -> np.ndarray:
        """The rows of the first sequence of an output, [time numbers]."""
        front = np.moveaxis(output, self.axes.index("t"), 0)
        if self.batched:
            front = np.take(front, 0, self.axes.replace("t", "").index("b") + 1)
        return front.reshape(len(front), -1)

    def mixes(self, call: Call, given: np.ndarray, axis: str, other: np.ndarray) -> bool:
        """Whether outputs move at places of an axis that were not replaced.

        Args:
            call: the function.
            given: what it is given.
            axis: a letter of `axes`.
            other: an array like it, with other numbers.
        """
        at = self.axes.index(axis)
        if given.shape[at] < 2:
            return False
        before = np.moveaxis(call(given), at, 0)
        for place in (0, -1):
            replaced = np.moveaxis(given, at, 0).copy()
            replaced[place] = np.moveaxis(other, at, 0)[place]
            after = np.moveaxis(call(np.moveaxis(replaced, 0, at)), at, 0)
            rest = slice(1, None) if place == 0 else slice(None, -1)
            # Bit for bit: places that do not see each other share no rounding either.
            if not np.array_equal(before[rest], after[rest], equal_nan=True):
                return True
        return False


class Found(enum.StrEnum):
    """What a trial shows of one order."""

    TIME = "time"
    """The axis of time mixes, and nothing contradicts it."""
    BATCH = "batch"
    """The axis called batch mixes alone. It is the time, or the batch leaks."""
    NOTHING = "nothing"
    """Neither mixes: each place is by itself."""
    LENGTH = "length"
    """There are more or fewer outputs than inputs, so which of them sees the future is not known."""
    WIDTH = "width"
    """The axis called time has a length of its own, and that called width has any: they are the other way round."""


def tried(
    call: Call, handing: Handing, sequences: Callable[[int, int, int], np.ndarray], sizes: tuple[int, int, int]
) -> Found:
    """Try one order.

    Args:
        call: the function.
        handing: the order, which the function takes at these sizes.
        sequences: from a number of sequences, a time and a width to sequences, other ones at each call.
        sizes: such numbers. A batch of one does not show whether it mixes.
    """
    given, other = (handing.array([*sequences(*sizes)]) for _ in range(2))
    if handing.mixes(call, given, "t", other):
        return Found.WIDTH if "c" in handing.axes and _is_turned(call, handing, sequences, sizes) else Found.TIME
    if handing.batched and handing.mixes(call, given, "b", other):
        return Found.BATCH
    return Found.NOTHING


def batch_of(t: int, c: int) -> int:
    """How many sequences a trial has."""
    return next(each for each in BATCHES if each not in (t, c))


def _is_turned(
    call: Call, handing: Handing, sequences: Callable[[int, int, int], np.ndarray], sizes: tuple[int, int, int]
) -> bool:
    """Whether the time has one length only, and the width any."""
    b, t, c = sizes

    def takes(t: int, c: int) -> bool:
        given = handing.array([*sequences(b, t, c)])
        try:
            return handing.fits(given, call(given))
        except ValueError:
            return False

    # Windows take whole ones only, and a table of positions ends.
    others = (t - 1, 2 * t, t - t // 3, t // 2)
    return not any(takes(n, c) for n in others) and c > 1 and takes(t, c - 1)
