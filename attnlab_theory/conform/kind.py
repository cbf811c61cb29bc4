"""What a promise is made of: what a target takes, what it should give, and how far off is too far."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.case import Case
from attnlab_theory.conform.finding import Finding
from attnlab_theory.conform.operands import OPERANDS

Chosen = Mapping[str, Any]
"""Conventions of a kind, by name."""

Law = Callable[[Any], Finding]
"""An identity: what it finds of a `judge.Judge`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kind:
    """One promise, declared."""

    operands: tuple[str, ...]
    """The roles that a target may have parameters for, of `operands.OPERANDS`."""
    unnamed: tuple[str, ...] = ()
    """The roles of parameters whose names say nothing, in their order."""
    promised: Callable[[Case], bool]
    """Whether anything is promised at the sizes of a case."""
    choices: Mapping[str, Sequence[Any]]
    """Conventions that are searched, the likeliest first. `axes` is one: letters, and 1 for a length of one."""
    trials: Sequence[tuple[int, ...]]
    """Sizes of trial calls. No two of a trial are equal that could be taken for each other."""
    numbers: Callable[[np.ndarray, Case, Chosen], np.ndarray]
    """What no formula gives, and is read off an answer."""
    reference: Callable[[Case, Chosen, np.ndarray], np.ndarray]
    """The right answer. What is NaN is not judged."""
    tolerance: Callable[[Case, Chosen, np.ndarray, str], np.ndarray]
    """How far a right answer in a type may be from it, from the numbers that were read off, and the type."""
    origin: Callable[[Case, Chosen], np.ndarray]
    """The entry of each row from which the row counts: a constant that is added to a row says nothing."""
    known: Callable[[np.ndarray, Case, Chosen], dict[str, Any]]
    """Conventions that are read off a trial answer, by the others. An empty value is none that is known."""
    own: Callable[[Any, Case], np.ndarray]
    """The numbers by which the answer to a case is judged, of a `judge.Judge`."""
    laws: Mapping[str, Law]
    """Its identities, in the order in which they are tried. Where the first fails, nothing else is tried."""

    @property
    def sized(self) -> tuple[str, ...]:
        """The roles that a case has a number for."""
        return tuple(role for role in self.operands if OPERANDS[role].axis)

    @property
    def axes(self) -> str:
        """The axes of an answer, by the letters of those roles."""
        return "".join(OPERANDS[role].axis for role in self.sized)
