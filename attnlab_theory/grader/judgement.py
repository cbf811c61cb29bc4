"""What became of one submission, for a program and for a person."""

import dataclasses
import json
import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from attnlab_theory.exits import visible
from attnlab_theory.grader import replay
from attnlab_theory.grader.contract import Case, Contract
from attnlab_theory.grader.contracts.frames import numbers
from attnlab_theory.sandbox import fences
from attnlab_theory.sandbox.reasons import Reason

STYLES = {Reason.RIGHT: "green", Reason.INCONCLUSIVE: "yellow"}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Counterexample:
    """Givens at which an answer is wrong, or breaks."""

    error: float | None
    """The error in the contract's measure. None if no number came back."""
    case: Case
    given: Mapping[str, np.ndarray]
    """The answer there, by the contract's names. Empty if there is none."""
    seen: dict[str, str]
    failed: str = ""
    """What does not hold, in words. Empty if the error says it."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Judgement:
    """What became of one submission."""

    contract: Contract
    where: str
    reason: Reason
    said: str
    """A line that says why it is not right. Empty if it is right, or if the counterexample says it."""
    cases: int
    """How many different cases it was judged on."""
    worst: float | None
    """The largest error of all cases judged; None if there was none."""
    counterexample: Counterexample | None
    """The smallest case at which it is wrong, or the case at which it broke. None if there is neither."""
    seed: int = 0
    """The seed from which the cases were drawn."""
    hint: str = ""
    """What to do. Empty if nobody has written a hint for this way to fail."""
    notes: tuple[str, ...] = ()
    output: str = ""
    """The beginning of what the submission printed."""
    missing: tuple[fences.Fence, ...] = ()
    """The fences that could not be put up."""

    @property
    def right(self) -> bool:
        """Whether it is right, and could not have forged that."""
        return self.reason == Reason.RIGHT

    @property
    def exit_code(self) -> int:
        """0 right, 1 not right, 3 inconclusive."""
        return self.reason.exit_code

    @property
    def again(self) -> str:
        """The command that tries the counterexample alone, for a shell. Empty if there is none."""
        if self.counterexample is None:
            return ""
        case = json.dumps(replay.described(self.counterexample.case), separators=(",", ":"))
        words = ["attnlab", "check", self.where, "--question", self.contract.question, "--replay", case]
        own = ["--homework", self.contract.homework] if self.contract.homework else []
        # A name that a terminal would not show as it is cannot be copied: the case is enough.
        return shlex.join([*words, *own] if visible(self.where, lines=False) == self.where else words[-2:])

    def as_json(self) -> dict[str, Any]:
        """The judgement as plain values. An infinite error becomes None."""
        found = self.counterexample
        case = None
        if found is not None:
            case = {
                "givens": _by_name(self.contract, found.case),
                "answer": {name: _plain(part) for name, part in found.given.items()},
                "shown": found.case.shown() | found.seen,
                "replay": replay.described(found.case),
            }
        return {
            "question": self.contract.question,
            "answer": self.where,
            "right": self.right,
            "reason": str(self.reason),
            "said": self.said,
            "asks": self.contract.asks,
            "expected": self.contract.expected,
            "failed": found.failed if found else "",
            "hint": self.hint,
            "case": case,
            "error": _finite(found.error if found else None),
            "worst": _finite(self.worst),
            "tolerance": self.contract.tolerance,
            "unit": self.contract.unit,
            "cases": self.cases,
            "seed": self.seed,
            "notes": list(self.notes),
            "output": visible(self.output),
            "fences": [fence.name for fence in self.missing],
        }


def _by_name(contract: Contract, case: Case) -> dict[str, Any]:
    names = (parameter.split(":")[0] for parameter in contract.parameters)
    return {name: _plain(argument) for name, argument in zip(names, case.arguments, strict=True)}


def _plain(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value.item() if isinstance(value, np.generic) else value
    # JSON has no NaN and no infinity.
    return np.where(np.isfinite(value), value.astype(object), np.array(None)).tolist()


def _finite(number: float | None) -> float | None:
    return float(number) if number is not None and np.isfinite(number) else None


def judgement_text(judgement: Judgement, *, show_output: bool = False) -> RenderableType:
    """A judgement for the terminal. What could not be enforced comes first."""
    found, contract, reason = judgement.counterexample, judgement.contract, judgement.reason
    unenforced = [Text(fences.warning(judgement.missing))] if judgement.missing else []
    name = f"{contract.question}  {judgement.where}  "
    verdict = Text.assemble(name, (str(reason).upper(), STYLES.get(reason, "red")))
    cases = f"{judgement.cases} case{'s' if judgement.cases != 1 else ''} of seed {judgement.seed}"
    lines: list[RenderableType] = [*unenforced, verdict]
    if judgement.said:
        lines.append(Text(judgement.said))
    if reason != Reason.RIGHT:
        lines += [Text(f"question: {contract.asks}"), Text(f"expected: {contract.expected}")]
    if reason in (Reason.RIGHT, Reason.INCONCLUSIVE) and judgement.worst is not None:
        lines.append(
            Text(
                f"largest error {judgement.worst:.2g} on {cases}; {contract.tolerance:g} {contract.unit} is allowed"
            )
        )
    if found is not None:
        lines += _counterexample(judgement, found, cases)
    if judgement.hint:
        lines.append(Text(f"hint: {judgement.hint}", style="bold"))
    lines += [Text(note) for note in judgement.notes]
    if show_output:
        lines += [Text("what it printed", style="bold"), Text(judgement.output or "nothing")]
    return Group(*lines)


def _counterexample(judgement: Judgement, found: Counterexample, cases: str) -> list[RenderableType]:
    contract, error = judgement.contract, found.error
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    heading = "where it happened" if error is None else "the smallest counterexample found"
    answer = {name: numbers(part) for name, part in found.given.items()}
    for title, entries in {heading: found.case.shown(), "the answer there": answer, "": found.seen}.items():
        if title and entries:
            table.add_row(Text(title, style="bold"), "")
        for label, text in entries.items():
            table.add_row(f"  {label}", Text(text.replace(") (", ")\n(")))
    by: list[RenderableType] = []
    if found.failed:
        by = [Text(f"does not hold: {found.failed}")]
    if error is not None and np.isfinite(error):
        off = f"off by {error:.6g} {contract.unit} where {contract.tolerance:g} is allowed; judged on {cases}"
        by.append(Text(off))
    return [*by, table]
