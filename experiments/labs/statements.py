"""Write the words of today into what is committed: the statements of findings, and the titles of figures.

Numbers and verdicts stay as they are. `python experiments/labs/statements.py figures` does so for all experiments.
It also writes the statements of the lab of heads, whose runs nobody judges again, and the pages of its folders.
`attnlab LAB judge FOLDER` does the same for every other lab.
"""

import dataclasses
import functools
import importlib.util
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attnlab_theory import files
from attnlab_theory.labs import page
from attnlab_theory.labs.heads.claims import STATEMENTS
from attnlab_theory.report import record, style


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
            found[path] = {claim.name: claim.statement for claim in _experiment(script).claims}
    return found


def draw(folder: Path) -> None:
    """Draw the figures of all experiments again, from the findings in a folder."""
    for script in Path(__file__).parents[1].glob("*.py"):
        path = folder / f"{script.stem}.json"
        if path.exists():
            findings = record.read_findings(path)
            findings = type(findings)(map(_with_tuples, findings))
            with files.replacing_all(path.with_suffix(""), (".svg", ".png")) as written:
                style.save(functools.partial(_experiment(script).draw_figure, findings), list(written.values()))


def _with_tuples(finding: Any) -> Any:
    """A finding as it was before JSON, which knows lists alone."""
    setting = {name: tuple(value) if isinstance(value, list) else value for name, value in finding.setting.items()}
    return dataclasses.replace(finding, setting=setting)


def _experiment(script: Path) -> Any:
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.EXPERIMENT


if __name__ == "__main__":
    figures = Path(sys.argv[1])
    for path, statements in stated(figures).items():
        files.write_text(path, record.to_text(renewed(json.loads(path.read_text("utf-8")), statements)))
    for run in (figures / "heads", figures / "heads" / "all_reviews"):
        page.write(run)
    draw(figures)
