"""The questions that code can answer, as a list."""

from collections.abc import Iterable
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from attnlab_theory.grader.contract import Contract
from attnlab_theory.grader.contracts import CONTRACTS


def as_json(contracts: Iterable[Contract] | None = None) -> list[dict[str, Any]]:
    """A value for each question: its id, what it asks for, the function to write and the tolerance.

    Args:
        contracts: of the questions; by default all of the lab.
    """
    return [
        {
            "question": contract.question,
            "asks": contract.asks,
            "signature": contract.signature,
            "tolerance": contract.tolerance,
            "unit": contract.unit,
        }
        for contract in contracts or CONTRACTS.values()
    ]


def table(contracts: Iterable[Contract] | None = None) -> RenderableType:
    """The questions as a table for a terminal.

    Args:
        contracts: of the questions; by default all of the lab.
    """
    rows = Table(box=None, pad_edge=False)
    for heading in ("question", "asks for", "function"):
        rows.add_column(heading, no_wrap=heading == "question", overflow="fold")
    for contract in contracts or CONTRACTS.values():
        names = ", ".join(parameter.split(":")[0] for parameter in contract.parameters)
        rows.add_row(contract.question, Text(contract.asks.rstrip(".")), f"{contract.function}({names})")
    how = "attnlab check --template QUESTION > mine.py prints a file to fill in."
    return Group(rows, Text(how))
