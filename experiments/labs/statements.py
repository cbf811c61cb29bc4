"""Write the statements of today into committed findings. Words change; numbers and verdicts stay as they are.

`python experiments/labs/statements.py figures` does so for all experiments, and for the lab of heads, whose runs
nobody judges again. `attnlab LAB judge FOLDER` does it for every other lab.
"""

import importlib.util
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attnlab_theory import files
from attnlab_theory.labs.heads.claims import STATEMENTS
from attnlab_theory.report import record


def renewed(rows: Iterable[Mapping[str, Any]], statements: Mapping[str, str]) -> list[dict[str, Any]]:
    """Findings with the statements of today.

    Args:
        rows: findings, as a file holds them.
        statements: by the names of claims.

    Raises:
        KeyError: if there is no such claim any more.
    """
    return [{**row, "statement": statements[row["claim"]]} for row in rows]


def stated(folder: Path) -> dict[Path, dict[str, str]]:
    """The files with findings of experiments and of heads, each with the statements of today.

    Args:
        folder: of the figures.
    """
    of_heads = {each.name: each.statement for each in STATEMENTS}
    found = {path: of_heads for path in (folder / "heads").rglob("*.findings.json")}
    for script in Path(__file__).parents[1].glob("*.py"):
        path = folder / f"{script.stem}.json"
        if path.exists():
            found[path] = {claim.name: claim.statement for claim in _module(script).EXPERIMENT.claims}
    return found


def _module(script: Path) -> Any:
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    for path, statements in stated(Path(sys.argv[1])).items():
        files.write_text(path, record.to_text(renewed(json.loads(path.read_text("utf-8")), statements)))
