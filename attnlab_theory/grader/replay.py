"""One case by its description. `--json` and counterexamples print the description, and `--replay` reads it."""

import contextlib
import dataclasses
import json
from pathlib import Path
from typing import Any

from attnlab_theory import inputs
from attnlab_theory.grader.contract import Case, Contract
from attnlab_theory.grader.contracts.frames import Frame


def described(case: Case) -> dict[str, Any]:
    """The fields of a case, as plain values."""
    assert dataclasses.is_dataclass(case)
    return dataclasses.asdict(case)


def case_of(contract: Contract, text: str) -> Case:
    """The case that a description names.

    Args:
        contract: of the question.
        text: JSON, or the name of a JSON file: the description, or all that `check --json` prints.

    Raises:
        ValueError: if it describes no case, or a case that the contract does not promise.
    """
    written = text
    if not text.lstrip().startswith("{"):
        try:
            written = inputs.content(Path(text)).decode()
        except ValueError:
            raise ValueError(
                f"--replay takes what a counterexample prints, or a file that holds it, not {text!r}"
            ) from None
    try:
        description = json.loads(written)
        with contextlib.suppress(KeyError):
            description = description["case"]
        with contextlib.suppress(KeyError):
            description = description["replay"]
        fields = dict(description)
        if "frame" in fields:
            frame = fields["frame"]
            fields["frame"] = Frame(frame["n"], frame["d"], tuple(map(tuple, frame["reflections"])))
        return contract.case(**fields)
    except ValueError as error:
        why = "it is not JSON" if isinstance(error, json.JSONDecodeError) else str(error)
    except (TypeError, LookupError, AttributeError, RecursionError):
        why = "it has other fields"
    raise ValueError(
        f"--replay describes no case of {contract.question}: {why}; give it as a counterexample prints it"
    )
