"""Which calls are not made: those like others that hung or ended the process."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.finding import LOST, Fault, Trouble

MOST_KNOWN = 2
"""So many calls may hang or end the process before those that are like them are left out."""

MOST_UNKNOWN = 4
"""So many may where nothing tells them from calls that were answered. Then nothing more is called."""

MOST = 8
"""So many may in all."""


class Costly:
    """Learns from calls what they have in common that hung or ended the process."""

    def __init__(self) -> None:
        self.count = 0
        """How many did."""
        self.is_lost = False
        """Whether one left the accelerator unusable. Only another process reaches it again."""
        self._common: set[str] = set()
        """What all of them had, and no call that was answered: lengths of axes, a type, names."""
        self._good: set[str] = set()
        self._largest_good = 0
        self._least = 0
        """The longest axis of queries and keys in the smallest of them."""

    def answered(self, plan: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> None:
        """Learn from a call that was answered, or refused in words."""
        self._good |= _traits(plan, arrays)
        self._largest_good = max(self._largest_good, _longest(arrays))
        self._common -= self._good

    def cost(self, plan: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> None:
        """Learn from a call that hung, or ended the process."""
        sizes, longest = _traits(plan, arrays), _longest(arrays)
        self._common = (sizes if not self.count else self._common & sizes) - self._good
        self._least = min(self._least, longest) if self.count else longest
        self.count += 1

    def refusal(self, plan: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> Trouble | None:
        """Why a call is not made; None if it is."""
        if self.is_lost:
            return Trouble(fault=Fault.NOT_CALLED, error=LOST)
        if self.count < MOST_KNOWN:
            return None
        like = ""
        if self.count >= MOST:
            leave = True
        elif self._common:
            like, leave = "such as this", bool(self._common & _traits(plan, arrays))
        elif self._least > self._largest_good:
            like, leave = "as large as this", _longest(arrays) >= self._least
        else:
            leave = self.count > MOST_UNKNOWN
        return Trouble(fault=Fault.NOT_CALLED, count=self.count, like=like) if leave else None


def _traits(plan: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> set[str]:
    """The lengths of the axes of a call, its type and the names of what is handed over."""
    sizes = {str(size) for x in arrays for size in x.shape}
    return sizes | {str(plan.get("kind")), *plan.get("names", ()), *plan.get("plain", ())}


def _longest(arrays: Sequence[np.ndarray]) -> int:
    return max((size for x in arrays[:2] for size in x.shape), default=0)
