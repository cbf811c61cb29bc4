"""What a promise is made of: what a target takes, what it should give, and how far off is too far."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, NamedTuple, ParamSpec

import numpy as np

from attnlab_theory.conform.case import Case
from attnlab_theory.conform.finding import Finding
from attnlab_theory.conform.operands import OPERANDS

Chosen = Mapping[str, Any]
"""Conventions of a kind, by name."""

Law = Callable[[Any], Finding]
"""An identity: what it finds of a `judge.Judge`."""

P = ParamSpec("P")


def law(found: Callable[Concatenate[Any, P], Finding]) -> Callable[P, Law]:
    """What makes laws: of the arguments that a function takes after a judge."""

    @functools.wraps(found)
    def of(*arguments: P.args, **named: P.kwargs) -> Law:
        return lambda judge: found(judge, *arguments, **named)

    return of


Spec = Mapping[str, Any] | tuple[int, ...] | Case
"""A case in short: what is unlike the usual one, or all sizes."""


class Right(NamedTuple):
    """What is right."""

    output: np.ndarray
    """What is NaN is not judged."""
    within: Callable[[str, str], np.ndarray]
    """How far a right answer may be from it, by its type and that of its sums. NaN says nothing."""
    about: Mapping[str, Any] = {}
    """What else is known of it, for the laws of the kind."""
    loose: Callable[[str, str], np.ndarray] | None = None
    """Which entries would be right with any number in the range of the values."""
    second: tuple[str, np.ndarray, Callable[[str, str], np.ndarray]] | None = None
    """What may come beside it: its axes in letters, the right numbers, and how far off those may be."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stage:
    """Conventions that are searched together, by the trial call that answers to them."""

    forms: Mapping[str, Sequence[Any] | Callable[[Any], Sequence[Any]]] = dataclasses.field(default_factory=dict)
    """Those that change the call, the likeliest first. `layout` and `same width` are two. Some follow from the
    parameters, which a `calling.Convention` has."""
    choices: Mapping[str, Sequence[Any]] = dataclasses.field(default_factory=dict)
    """Those that change what an answer means. `axes` is one: letters of the answer, and 1 for a length of one."""
    trials: Sequence[Spec] | Callable[[Mapping[str, Any]], Sequence[Spec]]
    """Trial calls, maybe by what is declared, one after the other until one is explained. No two of their sizes are
    equal that could be taken for each other."""
    needs: str = ""
    """The role whose meanings are searched, where a target has a parameter for it."""
    identity: str = ""
    """What fails where no value explains the trial call."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kind:
    """One promise, declared."""

    operands: tuple[str, ...]
    """The roles that a target may have parameters for, of `operands.OPERANDS`."""
    unnamed: tuple[str, ...] = ()
    """The roles of parameters whose names say nothing, in their order."""
    placed: tuple[str, ...] = ()
    """The roles of the first parameters, whatever they are called."""
    gives: str = ""
    """The axes of an answer, by letters; by default those of all lengths that are handed over."""
    part: int | None = None
    """Which of several arrays that come back is the answer; by default the only one, or the first."""
    returns: tuple[str, ...] = ()
    """The roles of arrays each of which has an answer of its own. Their heads stand beside each other."""
    instead: Callable[[Sequence[str]], "Kind | None"] = lambda names: None
    """The declaration that stands for this one, by the names of a target's parameters in small letters."""
    must: tuple[str, ...] = ()
    """The roles without which there is nothing to judge."""
    unseen: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Further parameters, by their roles, of a target whose parameters cannot be seen."""
    ways: tuple[str, ...] = ()
    """The roles by which one answer can be had in two ways. A target that has none needs another one beside it."""
    binds: Callable[[Mapping[str, Any]], Any] | None = None
    """The `calling.Convention` to begin with, from what `Caller.about` says; by default parameters alone say it."""
    usual: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """The sizes and switches of a case in short."""
    few: int | None = None
    """The cases of so many shapes of an identity at most where each shape is compiled."""
    promised: Callable[[Case, Chosen], bool] = lambda case, chosen: True
    """Whether anything is promised at a case."""
    stages: Sequence[Stage] = ()
    """What is searched, one after the other."""
    is_quiet: bool = False
    """Whether a flag that is false by default is handed over only where it is true."""
    stands: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Roles that a kind is about, and those whose parameters are for them where they have none."""
    aliases: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Conventions that are declared by another name."""
    declares: Sequence[str] = ()
    """What a user may declare beside the conventions that are searched."""
    columns: Mapping[str, Sequence[Any]] = dataclasses.field(default_factory=dict)
    """Features that may stand beside each other. The first value asks for nothing; of a tuple the first that can be
    asked counts."""
    compiled: Mapping[str, Sequence[Any]] = dataclasses.field(default_factory=dict)
    """Those of them that have other values where each shape is compiled."""
    triples: Sequence[str] = ()
    """The features of which every three are asked, at one small shape."""
    near: float = 0.02
    """A trial call is explained if its largest error, over the largest number, is at most this."""
    declare: str = ""
    """The convention that has to be declared where none explains the trial call. Without one, the identity of the
    first stage fails, and nothing else is tried."""
    numbers: Callable[[np.ndarray, Case, Chosen], Any] | None = None
    """What no formula gives, and is read off an answer; by default the arrays of the case."""
    own: Callable[[Any, Case], Any] | None = None
    """The numbers by which the answer to a case is judged, of a `judge.Judge`."""
    right: Callable[[Case, Chosen, Any], Right] | None = None
    """The right answer, from those numbers. Without one a target is compared with itself."""
    rule: Callable[[Case, Right, np.ndarray], float] | None = None
    """The error of an answer in half precision over what another rule allows, which is told."""
    score: Callable[[Callable[[Case], Any], Case, Any, Chosen], float] | None = None
    """How badly a trial answer fits, where no right one says that: of what asks another case, the case, the answer
    and the conventions."""
    origin: Callable[[Case, Chosen], np.ndarray] | None = None
    """The entry of each row from which the row counts, where a constant that is added to a row says nothing."""
    known: Callable[[np.ndarray, Case, Chosen], dict[str, Any]] | None = None
    """Conventions that are read off a trial answer, by the others. An empty value is none that is known, and
    `is doubtful` says that a better explanation is searched."""
    reads: Sequence[Callable[[Any], dict[str, Any]]] = ()
    """Conventions that are read by calls of their own, of a `judge.Judge`."""
    tolerance: Callable[..., Callable[[str], Any]] | None = None
    """How far two right answers may be apart, by their type, without a right one: of a `judge.Judge`, a pair, both
    answers, and how far they are apart."""
    refuses_lengths: bool = False
    """Whether lengths may be refused. The law `lengths` tells that, and the other laws leave them out."""
    laws: Mapping[str, Law]
    """Its identities, in the order in which they are tried."""
    telling: tuple[str, ...] = ()
    """The roles whose parameters, all of them, no other kind has."""

    @property
    def sized(self) -> tuple[str, ...]:
        """The roles that a case has a number for."""
        arrays = {axis for role in self.operands for axis in "".join(OPERANDS[role].axes)} | {*self.gives}
        arrays -= {"g"} if "groups" not in self.operands else set()
        return tuple(role for role, x in OPERANDS.items() if x.axis and (role in self.operands or x.axis in arrays))

    @property
    def axes(self) -> str:
        """The axes of an answer, by the letters of their roles."""
        return self.gives or "".join(OPERANDS[role].axis for role in self.sized)

    def is_told_by(self, parameters: Sequence[Sequence[Any]] | None) -> bool:
        """Whether a target has the parameters that no other kind has."""
        names = {each[0].lower().strip("_") for each in parameters or ()}
        return bool(self.telling) and all(names & {*OPERANDS[role].spellings} for role in self.telling)

    def case(self, spec: Spec) -> Case:
        """A case from what is said of it in short."""
        if isinstance(spec, Case):
            return spec
        if isinstance(spec, tuple):
            return Case.of(self.sized, spec)
        return Case.of(self.sized, (0,) * len(self.sized)).replaced(**self.usual).replaced(**spec)
