"""What a question promises to an answer in code: the givens, for which of them it must hold, and the tolerance."""

import dataclasses
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from hypothesis.strategies import SearchStrategy

Answer = tuple[np.ndarray, ...]
"""The arrays that came back, in float64."""

Ask = Callable[..., Answer]
"""The submitted function: arguments to arrays."""


class Undecidable(ValueError):
    """Somebody's own check has raised at an answer, so nobody knows whether the answer is right."""


class Faulty(ValueError):
    """Somebody's own question is at fault, and no answer."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measurement:
    """How far one answer is from right, on one case."""

    error: float
    """In the contract's measure; infinite where the answer overflows."""
    seen: dict[str, str]
    """What a person should see: a text for each label."""
    undecided: bool = False
    """Whether the error comes from random draws that do not decide on which side of the tolerance it lies."""
    remark: str = ""
    """What a person should know about an answer even if it is right."""
    failed: str = ""
    """What does not hold, in words, where that is more than the error. `hint` says what to do about it."""
    hint: str = ""


@runtime_checkable
class Case(Protocol):
    """One choice of the givens, and what is hidden from the answer."""

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of the function, in the order of its signature: arrays and plain values."""
        ...

    @property
    def shapes(self) -> tuple[tuple[int, ...] | None, ...]:
        """The shape of each array that must come back; None for any shape."""
        ...

    def shown(self) -> dict[str, str]:
        """The givens for a person to read: a text for each label."""
        ...

    def measure(self, answer: tuple[np.ndarray, ...]) -> Measurement:
        """Judge an answer of the right shapes, all finite, in float64."""
        ...


HINTS: Mapping[str, str] = {
    "raised": "Call your function yourself with the case that is shown, and read the whole error.",
    "not finite": "Was 0 divided by 0, or did an exponential overflow? Print the largest score.",
    "wrong shape": "Print the shape of what you return, and compare it with the one that is asked for.",
    "timed out": "Look for a loop that does not end, and for one over entries that numpy would do at once.",
    "too much memory": "Look for an array that grows with every call, and for one with too many axes.",
    "ended": "Return the answer: an answer calls no exit(), and closes no file that it has not opened.",
}
"""What to do, by the reason of a verdict, where nobody has written more."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Contract:
    """A question that code can answer, and what counts as right."""

    question: str
    """Its id, HOMEWORK/QUESTION."""
    asks: str
    function: str
    """A name for the template; any name is accepted."""
    parameters: dict[str, str]
    """The meaning of each argument, by its name with annotation."""
    returns: dict[str, str]
    """The shape and meaning of each returned array, by its name."""
    quantified: str
    """The givens for which the answer must be right."""
    measure: str
    """What the error is."""
    unit: str
    """The unit of the error, to stand after a number."""
    tolerance: float
    case: Callable[..., Case]
    """Makes a case from its fields. Raises ValueError if the contract does not promise these."""
    cases: Callable[[], SearchStrategy[Case]]
    remarks: tuple[str, ...] = ()
    examples: int = 100
    """How many cases are drawn."""
    besides: tuple[Case, ...] = dataclasses.field(default=(), repr=False)
    """Cases that are tried after those, because a hundred draws would leave them out."""
    misread: Callable[[Case, Answer], tuple[Answer, str] | None] = lambda case, answer: None
    """Recognises a well-known mistake by its shape. Gives the answer in the right shape, and what is wrong."""
    measured: Callable[[Case, Answer, Ask], Measurement] = lambda case, answer, ask: case.measure(answer)
    """Judges an answer. It may ask the function at other givens."""
    asks_again: bool = False
    """Whether it does. Then no case is sent ahead of another."""
    infinite: Callable[[Case], bool] = lambda case: False
    """Whether an answer to this case may hold infinities."""
    shorter: Callable[[Case], Sequence[Case]] = lambda case: ()
    """Cases no larger than a missed one, with short numbers. They are tried for whoever has to read them."""
    hints: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What to do, by the reason of a verdict. `HINTS` has those that are true of every question."""
    mistake: Callable[[Mapping[Case, Answer]], str] = lambda answers: ""
    """Recognises a typical wrong answer by the answers to several cases. Gives its hint, or nothing."""
    homework: str = ""
    """The file that asks the question, if it is none of the lab."""

    def __hash__(self) -> int:
        return hash(self.question)

    @property
    def expected(self) -> str:
        """What comes back from a right answer, in words, and how far off it may be."""
        returned = "; ".join(f"{name}: {what}" for name, what in self.returns.items())
        return f"{returned}. {self.measure} At most {self.tolerance:g} {self.unit} is allowed."

    @property
    def signature(self) -> str:
        """The function to write, with types, as Python source. Long ones take several lines."""
        result = (
            "np.ndarray" if len(self.returns) == 1 else f"tuple[{', '.join(['np.ndarray'] * len(self.returns))}]"
        )
        line = f"{self.function}({', '.join(self.parameters)}) -> {result}"
        if len(line) <= 90:
            return line
        return (
            "\n    ".join([f"{self.function}(", *(f"{parameter}," for parameter in self.parameters)])
            + f"\n) -> {result}"
        )


def template(contract: Contract) -> str:
    """A Python file to fill in: the contract in its docstring, then the function without its body."""
    paragraphs = {
        "Givens": "; ".join(f"`{name.split(':')[0]}`: {what}" for name, what in contract.parameters.items()) + ".",
        "Return": "; ".join(f"`{name}`: {what}" for name, what in contract.returns.items()) + ".",
        "For all": contract.quantified,
        "Tolerance": f"{contract.measure} The error must be at most {contract.tolerance:g} {contract.unit} in "
        "every case.",
        "Remarks": " ".join(
            (*contract.remarks, "The function runs in a process of its own; --show-output shows what it prints.")
        ),
    }
    lines = [f'"""{contract.question}: {_quoted(contract.asks)}', ""]
    for heading, text in paragraphs.items():
        lines += [*textwrap.wrap(_quoted(f"{heading}. {text}"), width=96), ""]
    own = f" --homework {contract.homework}" if contract.homework else ""
    lines += [
        f"Judge it with: attnlab check THIS_FILE.py::{contract.function} --question {contract.question}{own}",
        '"""',
        "",
        "import numpy as np",
        "",
        "",
        f"def {contract.signature}:",
        "    raise NotImplementedError",
        "",
    ]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """Text that may stand inside a docstring."""
    return text.replace("\\", r"\\").replace('"""', "'''")
