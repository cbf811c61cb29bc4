"""Calls of a target whose arguments are found by their names, each kept as lines of numpy that draw its arrays."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from attnlab_theory.conform.asking import ADAPTER as ADAPTER
from attnlab_theory.conform.calls import Reply, call
from attnlab_theory.conform.case import rounded, storage
from attnlab_theory.conform.finding import WROTE, Trouble
from attnlab_theory.conform.kinds.softmax.tolerances import HALF_EPS
from attnlab_theory.conform.recording import Recording, saw
from attnlab_theory.conform.suite import LawSuite, Row, Wrong

if TYPE_CHECKING:
    from attnlab_theory.conform.callers import Place


class Given(NamedTuple):
    """An array, and the line of numpy that gives it."""

    array: np.ndarray
    code: str


def drawn(code: str, kind: str = "") -> Given:
    """The array of an expression of numpy.

    Args:
        code: the expression; `np` is numpy.
        kind: the type of the numbers; empty leaves them as they are.
    """
    if kind:
        code = f"({code}).astype('{storage(kind)}')"
    with np.errstate(all="ignore"):
        return Given(rounded(np.asarray(eval(code, {"np": np})), kind), code)


def normal(shape: Sequence[int], seed: int, kind: str, factor: float = 1.0) -> Given:
    """Standard normal numbers, times a factor."""
    times = "" if factor == 1 else f" * {factor:g}"
    return drawn(f"np.random.default_rng({seed}).standard_normal({tuple(shape)}){times}", kind)


def whole(numbers: Sequence[int] | np.ndarray) -> Given:
    """Whole numbers, as a short expression."""
    x = np.asarray(numbers, np.int64)
    is_range = x.ndim == 1 and len(x) > 3 and (np.diff(x) == 1).all()
    return Given(x, f"np.arange({x[0]}, {x[-1] + 1})" if is_range else f"np.array({x.tolist()}, 'int64')")


class Parameter(NamedTuple):
    """A parameter of a target."""

    name: str
    kind: str
    required: bool

    @property
    def has_place(self) -> bool:
        """Whether it can be given by its place."""
        return self.kind in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")


class Call(NamedTuple):
    """What is handed over: values by the role of a parameter, arrays and plain numbers."""

    values: Mapping[str, Given | int | float]
    kind: str = "float32"
    strided: bool = False

    def array(self, role: str) -> np.ndarray:
        """What a role is given, if that is an array."""
        x = self.values[role]
        assert isinstance(x, Given)
        return x.array

    def shown(self, names: Mapping[str, str]) -> str:
        """The shapes and numbers that are handed over."""
        said = []
        for role, x in self.values.items():
            value = f"={x}"
            if isinstance(x, Given):
                few = x.array.dtype.kind == "i" and x.array.size <= 8
                value = f"={x.array.tolist()}" if few else f" {[*x.array.shape]}"
            said.append(names.get(role, role) + value)
        kind = f", {self.kind}" if any(isinstance(x, Given) for x in self.values.values()) else ""
        return f"{', '.join(said)}{kind}{', strided' * self.strided}"

    def words(self, names: Mapping[str, str]) -> str:
        """What stands after a failure."""
        return f"the call: {self.shown(names)}"


class Shown(NamedTuple):
    """A counterexample: a call, and one number of its answer that is wrong."""

    call: Call
    part: int | None
    """Which of several arrays; None of one."""
    place: tuple[int, ...]
    """In the order of the target's own axes; empty shows all of it."""
    right: float
    less: tuple[int, ...] = ()
    """The place of a number that is subtracted."""
    before: Call | None = None
    """A call that is made first; the number at the same place of its answer is the right one."""


class Answered(Protocol):
    """What came back from a call."""

    @property
    def call(self) -> Call:
        """What was handed over."""
        ...

    @property
    def trouble(self) -> Trouble | None:
        """What went wrong."""
        ...


class PositionSuite(LawSuite):
    """A target whose arguments are told by their names."""

    ROLES: Mapping[str, tuple[str, ...]]
    """What parameters are for, by their names."""

    def begin(self) -> None:
        """Read the parameters. `names` holds those that have a role.

        Raises:
            ValueError: if one must be given whose name says nothing, or there is none.
        """
        about = self.caller.about()
        self.uses: Sequence[str] = about["uses"]
        self.is_class: bool = about.get("class", False)
        self.framework = self.declared.get("framework", "numpy")
        self.changed: Wrong | None = None
        self.printed = ""
        self.kinds: dict[str, str] = {}
        self.number = 0
        found = about["parameters"]
        self.parameters = None if found is None else [Parameter(*each) for each in found]
        self.names: dict[str, str] = {}
        if self.parameters == []:
            raise ValueError(f"{self.caller.name} takes no arguments; {ADAPTER}")
        for each in self.parameters or ():
            role = next((r for r, names in self.ROLES.items() if each.name.lower().strip("_") in names), "")
            role = role or self.unnamed(each)
            if role and role not in self.names:
                self.names[role] = each.name
            elif each.required and not each.kind.startswith("VAR"):
                raise ValueError(f"{self.caller.name}: nobody knows what to give for {each.name}; {ADAPTER}")

    def unnamed(self, parameter: Parameter) -> str:
        """The role of a parameter whose name says nothing; empty for none."""
        del parameter
        return ""

    def frameworks(self) -> Sequence[str]:
        """Whose arrays to try, in this order."""
        return (self.declared["framework"],) if "framework" in self.declared else (*self.uses, "numpy")

    def refuse_hung(self, said: str) -> None:
        """End trial calls at the first that takes too long.

        Raises:
            ValueError: if one did.
        """
        if self._hung:
            raise ValueError(f"{self.caller.name} answered no trial call, such as {said}. {ADAPTER}")

    def arranged(self, asked: Call) -> tuple[list[str], list[str]]:
        """The roles that are given by place, and those by name."""
        if self.parameters is None:
            return [*asked.values], []
        roles = {name: role for role, name in self.names.items()}
        placed, gap = [], False
        for each in self.parameters:
            role = roles.get(each.name, "")
            if each.has_place and not gap and isinstance(asked.values.get(role), Given):
                placed.append(role)
            else:
                gap = True
        return placed, [role for role in asked.values if role not in placed]

    def make(self, asked: Call) -> Reply:
        """Make a call, and note what it did beside answering."""
        placed, named = self.arranged(asked)
        self.calls += 1
        arrays = {role: x.array for role, x in asked.values.items() if isinstance(x, Given)}
        reply = call(
            self.caller,
            *(arrays[role] for role in placed),
            named={self.names[r]: arrays[r] for r in named if r in arrays},
            plain={self.names[r]: asked.values[r] for r in named if r not in arrays},
            framework=self.framework,
            kind=asked.kind,
            strided=asked.strided,
            number=self.number,
        )
        order = [*placed, *(r for r in named if r in arrays)]
        if reply.changed and not self.changed:
            written = ", ".join(self.names.get(order[i], order[i]) for i in reply.changed)
            self.changed = self.wrong(f"the call writes into {written}", asked, WROTE)
        self.printed = self.printed or reply.printed
        self.note(reply.trouble)
        if reply.kind:
            self.kinds.setdefault(asked.kind, reply.kind)
        return reply

    @contextlib.contextmanager
    def anew(self) -> Iterator[bool]:
        """Inside the block the target is one that was not called, as far as there can be another; whether it is.

        A target that is called in a child gets a child of its own, and a class another object. A function of this
        process is the only one.
        """
        usual, first = self.caller, self.callers[0]
        with contextlib.ExitStack() as block:
            again = first.again(block)
            self.caller = Recording(again, self.log)
            self.number = int(again is first.caller and self.is_class)
            try:
                yield again is not first.caller or self.is_class
            finally:
                self.caller, self.number = usual, 0

    def saw(self, given: np.ndarray, right: np.ndarray, place: tuple[int, ...], ratio: float) -> None:
        """Note which number is most wrong, so that the calls that show it can be made again."""
        ratios = np.zeros(given.shape)
        ratios[place] = ratio
        saw(self.caller, given, right, ratios)

    @property
    def narrow_kind(self) -> str:
        """The narrowest type that the framework has."""
        return "float16" if self.framework == "numpy" else "bfloat16"

    def wrong(self, line: str, asked: Call, trouble: Trouble | None = None) -> Wrong:
        """What is wrong with a call: a sentence, at the end of which the call stands."""
        return Wrong(f"{line}; {asked.words(self.names)}", trouble, asked.shown(self.names))

    def trouble(self, answer: Answered) -> Wrong:
        """The trouble of an answer, and its call."""
        return self.wrong(str(answer.trouble), answer.call, answer.trouble)

    def notes(self) -> list[str]:
        """What is neither right nor wrong, and was seen on the way."""
        found = [f"gives {got} for {given}" for given, got in self.kinds.items() if got != given and self.vectors]
        return [*found, *([f"prints while it is called: {self.printed!r}"] if self.printed else [])]

    vectors = False
    """Whether arrays of floating numbers are handed over, so that the type of the answer follows theirs."""

    def mark(self, name: str) -> str:
        """What stands after a convention."""
        return " (declared)" if name in self.declared else " (guessed)"

    def snippet(self, place: "Place", rows: Sequence[Row]) -> list[str]:
        """A snippet of the counterexample with the fewest numbers."""
        found = [row.counterexample for row in rows if isinstance(row.counterexample, Shown)]
        if not found:
            return []
        shown = min(found, key=lambda each: sum(x.array.size for x in _arrays(each.call)))
        lines = ["import sys", "import numpy as np", *(["import torch"] if self.framework == "torch" else [])]
        lines += [
            f"sys.path.insert(0, {place.folder!r})",
            f"from {place.module} import {place.names.partition('.')[0]}",
        ]
        if self.is_class:
            lines.append(f"made = {place.names}()")
        function = "made" if self.is_class else place.names
        if shown.before is not None:
            lines += self._lines("first", function, shown.before)
        return [*lines, *self._lines("out", function, shown.call), _printed(shown)]

    def _lines(self, name: str, function: str, asked: Call) -> list[str]:
        """A call, and the lines that draw its arrays."""
        placed, named = self.arranged(asked)
        lines, handed = [], []
        for role in (*placed, *named):
            x, called = asked.values[role], self.names.get(role, role)
            value = repr(x)
            if isinstance(x, Given):
                lines.append(f"{called} = {_bits(x, asked.kind)}")
                value = self._framed(called, x, asked.kind)
            handed.append(value if role in placed else f"{called}={value}")
        return [*lines, f"{name} = {function}({', '.join(handed)})"]

    def _framed(self, name: str, x: Given, kind: str) -> str:
        if self.framework != "torch":
            return name
        narrow = ".bfloat16()" if kind == "bfloat16" and x.array.dtype.kind == "f" else ""
        return f"torch.from_numpy({name}){narrow}"


def _printed(shown: Shown) -> str:
    first = "out" if shown.part is None else f"out[{shown.part}]"
    if not shown.place:
        return f"print({first})"
    if shown.before is not None:
        index = ", ".join(map(str, shown.place))
        return f"print({first}[{index}], 'where', {first.replace('out', 'first')}[{index}], 'is right')"
    wrong, less = (f"{first}[{', '.join(map(str, place))}]" for place in (shown.place, shown.less))
    return f"print({wrong}{f' - {less}' if shown.less else ''}, 'where {shown.right:.9g} is right')"


def _bits(x: Given, kind: str) -> str:
    """The code of an array; of bfloat16 the nearest numbers below, which is near enough to see a failure."""
    if kind != "bfloat16" or x.array.dtype.kind != "f":
        return x.code
    return f"({x.code}.view('u4') & 0xFFFF0000).view('f4')"


def _arrays(asked: Call) -> list[Given]:
    return [x for x in asked.values.values() if isinstance(x, Given)]


def coarser_of(kind: str, answered: str) -> str:
    """The type that rounds more of that of the inputs and that of the output."""
    return max((each for each in (kind, answered) if each in HALF_EPS), key=lambda each: HALF_EPS[each])


def largest(given: np.ndarray, right: np.ndarray, most: np.ndarray) -> tuple[float, tuple[int, ...]]:
    """The largest error over its tolerance, and where; what is no number is infinitely wrong."""
    if not given.size:
        return 0.0, ()
    with np.errstate(all="ignore"):
        ratio = np.abs(given - right) / most
        ratio = np.where(given == right, 0.0, np.where(np.isfinite(ratio), ratio, np.inf))
    place = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    return float(ratio[place]), tuple(int(i) for i in place)


def off(ratio: float) -> str:
    """How many tolerances, in words."""
    return "" if np.isinf(ratio) else f", {ratio:,.3g} tolerances off"
