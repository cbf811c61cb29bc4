"""Write the words of today into what is committed: statements of findings and rivals, and the titles of figures.

Numbers and verdicts stay as they are. `python experiments/labs/words.py figures` does so for all experiments.
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

import numpy as np

from attnlab_theory import files
from attnlab_theory.labs import page
from attnlab_theory.labs.engine.record import Draw, drawing, stored
from attnlab_theory.labs.engine.record import draw as draw_all
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.heads.claims import STATEMENTS
from attnlab_theory.labs.recurrent import tuning
from attnlab_theory.labs.reviews.arms import BASE
from attnlab_theory.report import record, style

Said = tuple[str, str | None]
"""The statement of a claim, and that of its rival if it has one of its own."""


def renewed(rows: Iterable[Mapping[str, Any]], statements: Mapping[str, Said]) -> list[dict[str, Any]]:
    """Findings with the statements of today.

    Args:
        rows: findings, as a file holds them.
        statements: by the names of claims.

    Raises:
        KeyError: if there is no such claim any more.
    """
    return [_renewed(row, *statements[row["claim"]]) for row in rows]


def _renewed(row: Mapping[str, Any], statement: str, of_rival: str | None) -> dict[str, Any]:
    rival = row.get("rival")
    if rival is None or of_rival is None:
        return {**row, "statement": statement}
    return {**row, "statement": statement, "rival": {**rival, "statement": of_rival}}


def stated(folder: Path) -> dict[Path, dict[str, Said]]:
    """The files with findings of experiments and of heads, each with the statements of today.

    Args:
        folder: of the figures.
    """
    of_heads: dict[str, Said] = {each.name: (each.statement, None) for each in STATEMENTS}
    found = {path: of_heads for path in (folder / "heads").rglob("*.findings.json")}
    for script in Path(__file__).parents[1].glob("*.py"):
        path = folder / f"{script.stem}.json"
        if path.exists():
            claims = _experiment(script).claims
            found[path] = {each.name: (each.statement, each.rival and each.rival.statement) for each in claims}
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


def drawn(folder: Path) -> dict[Path, dict[str, Draw | None]]:
    """How figures of labs are drawn from their numbers, by folder.

    Runs of captions and knowledge have a command for it, `attnlab LAB draw`. What was only evaluated has none.

    Args:
        folder: of the figures.
    """
    from attnlab_theory.labs.knowledge import figures as knowledge

    found: dict[Path, dict[str, Draw | None]] = {}
    for run in {
        path.parent for lab in ("mixers", "recurrent", "reviews") for path in (folder / lab).rglob("*.run.json")
    }:
        found[run] = {**_of_lab(run, run.relative_to(folder).parts[0])}
    for path in (folder / "birthplaces").glob("*/estimates.json"):
        found[path.parent] = {**knowledge.of_run(stored(path.parent), (), ())}
    for part in ("premises", "collapse", "approximations", "ablations"):
        for path in (folder / "heads").rglob(f"{part}.estimates.json"):
            found.setdefault(path.parent, {}).update(_of_heads(path, part))
    return {
        run: {name: draw for name, draw in figures.items() if (run / f"{name}.png").exists()}
        for run, figures in found.items()
    }


def _of_lab(run: Path, lab: str) -> Mapping[str, Draw | None]:
    from attnlab_theory.labs.mixers import figures as mixers
    from attnlab_theory.labs.recurrent import figures as recurrent
    from attnlab_theory.labs.reviews import figures as reviews

    def rows(name: str) -> Any:
        return json.loads((run / f"{name}.json").read_text("utf-8")) if (run / f"{name}.json").exists() else []

    if (run / "search.run.json").exists():
        searched = Estimates(map(Estimate.from_json, rows("search")["estimates"]))
        return {"search": functools.partial(reviews.searches, searched)}
    measured = stored(run)
    match lab:
        case "mixers":
            maps = {name: np.array(each) for name, each in rows("leaks").items()}
            figures = drawing(mixers, ["routing", "honesty"], measured) | drawing(mixers, ["leaks"], maps)
            judged = record.read_findings(run / "mixers.json")
            return figures | drawing(mixers, ["equivalence"], measured, judged)
        case "recurrent":
            figures = drawing(recurrent, ["losses", "growth", "garbled", "gradients"], measured)
            return figures | drawing(recurrent, ["tuning"], rows("tuning"), tuning.last_losses(rows("tuning")))
        case _:
            base = measured.of("accuracy over seeds", part=BASE)[0].setting["variant"]
            figures = drawing(reviews, ["optimizers", "explanations", "errors", "confidence"], measured)
            search = {"search": functools.partial(reviews.searches, measured)}
            return figures | search | drawing(reviews, ["curves"], rows("curves"), base)


def _of_heads(path: Path, part: str) -> Mapping[str, Draw | None]:
    from attnlab_theory.labs.heads import figures

    measured = Estimates(map(Estimate.from_json, json.loads(path.read_text("utf-8"))))
    findings = record.read_findings(path.with_name(f"{part}.findings.json"))
    match part:
        case "premises":
            both = drawing(figures, ["premises", "hedging"], measured, findings)
            return both | drawing(figures, ["habits", "bluntness", "calibration"], measured)
        case "collapse":
            return drawing(figures, ["collapse"], measured)
        case "approximations":
            alone = drawing(figures, ["budgets", "ranks", "replaced"], measured)
            return alone | drawing(figures, ["survival"], measured, findings)
        case _:
            return drawing(figures, ["pairs", "ablations"], measured, findings)


def _with_tuples(finding: Any) -> Any:
    """A finding as it was before JSON, which has lists only."""
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
    for run, each in drawn(figures).items():
        draw_all(each, run)
