"""What a question promises to whoever answers it with code: givens, quantifiers, tolerance."""

import dataclasses
import textwrap
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from hypothesis.strategies import SearchStrategy

Answer = tuple[np.ndarray, ...]
"""The arrays that came back, in float64."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measurement:
    """How far one answer is from what was wanted, on one case."""

    error: float
    """In the contract's measure; infinite where the answer overflows."""
    seen: dict[str, str]
    """What a person wants to see of it, label to text."""
    undecided: bool = False
    """Whether the error is measured by draws that decide neither for the tolerance nor against it."""
    remark: str = ""
    """What a person should know of an answer even if it is right."""


@runtime_checkable
class Case(Protocol):
    """One choice of the givens, with what is hidden from the answer."""

    @property
    def arguments(self) -> tuple[np.ndarray | int, ...]:
        """What the function is given, in the order of its signature."""
        ...

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each array that must come back."""
        ...

    def shown(self) -> dict[str, str]:
        """The givens for a person to read, label to text."""
        ...

    def measure(self, answer: tuple[np.ndarray, ...]) -> Measurement:
        """Judge an answer of the right shapes, all finite, in float64."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Contract:
    """A question that code can answer, and what counts as right."""

    question: str
    """Its id, HOMEWORK/QUESTION."""
    asks: str
    function: str
    """A name for the template; any name is accepted."""
    parameters: dict[str, str]
    """Name with annotation -> what it is."""
    returns: dict[str, str]
    """Name of each returned array -> its shape and meaning."""
    quantified: str
    """For all what."""
    measure: str
    """What the error is."""
    unit: str
    """What the error is counted in, to stand after a number."""
    tolerance: float
    case: Callable[..., Case]
    """Makes a case from its fields, and refuses what is not promised with a ValueError."""
    cases: Callable[[], SearchStrategy[Case]]
    remarks: tuple[str, ...] = ()
    examples: int = 100
    """How many cases are drawn."""
    besides: tuple[Case, ...] = ()
    """Cases that are asked after those, for what a hundred draws would leave out."""
    misread: Callable[[Case, Answer], tuple[Answer, str] | None] = lambda case, answer: None
    """A well-known mistake that has another shape: the answer in the right shape, and what is wrong with it."""

    @property
    def signature(self) -> str:
        """The function to write, with types, as Python source; broken over lines where it is long."""
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
        "Tolerance": f"{contract.measure} It must be at most {contract.tolerance:g} {contract.unit} in every case.",
        "Remarks": " ".join(
            (*contract.remarks, "The function runs in a process of its own; --show-output shows what it prints.")
        ),
    }
    lines = [f'"""{contract.question}: {contract.asks}', ""]
    for heading, text in paragraphs.items():
        lines += [*textwrap.wrap(f"{heading}. {text}", width=96), ""]
    lines += [
        f"Judge it with: attnlab check THIS_FILE.py::{contract.function} --question {contract.question}",
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
