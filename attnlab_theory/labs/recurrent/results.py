"""Everything that a run of the lab found, as files."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from attnlab_theory import files
from attnlab_theory.labs import judged_again
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.judged_again import Again
from attnlab_theory.labs.recurrent import findings
from attnlab_theory.labs.recurrent.lab import Lab
from attnlab_theory.labs.recurrent.letters import in_a_row
from attnlab_theory.labs.recurrent.tuning import SETTINGS, Tuned, refuse_short, tuned
from attnlab_theory.labs.verdicts import Verdicts
from attnlab_theory.report import record

ABOUT = "recurrent.run.json"
"""The file that says what was run."""

POINTS = 60
"""Points of a curve."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Results:
    """What was found."""

    estimates: Estimates
    verdicts: Verdicts
    tuning: tuple[dict[str, Any], ...]
    """A row for each setting and seed."""

    @property
    def as_expected(self) -> bool:
        """Whether every verdict is the expected one."""
        return self.verdicts.as_expected


def refuse_unmeasurable(lab: Lab) -> None:
    """Refuse, before anything is trained, sentences of which something could not be measured afterwards.

    Raises:
        ValueError: as `findings.refuse_unmeasurable` and `tuning.refuse_short`.
    """
    findings.refuse_unmeasurable(lab)
    if "tuning" in lab.parts:
        refuse_short(len(in_a_row(lab.letters(lab.seeds[0]))), SETTINGS)


def results(lab: Lab, *, windows: int, tell: Callable[[str], None] = lambda _: None) -> Results:
    """Measure and judge; then repeat the homework's tuning runs, if they are among the lab's parts.

    Args:
        lab: whose models are trained.
        windows: of each tuning run.
        tell: is told what is being done.

    Raises:
        ValueError: if a model is missing, or the text is too short.
    """
    measured = findings.measure(lab, tell)
    rows: list[dict[str, Any]] = []
    for seed in lab.seeds if "tuning" in lab.parts else ():
        letters = lab.letters(seed)
        told = {"windows": windows, "seed": seed, "tell": tell}
        rows += tuning_rows(SETTINGS, in_a_row(letters), len(letters.text), **told)
    measured = Estimates((*measured, *findings.curves_of_tuning(rows)))
    return Results(estimates=measured, verdicts=findings.verdicts(measured), tuning=tuple(rows))


def tuning_rows(
    settings: Sequence[Tuned],
    tokens: Int[np.ndarray, " n"],
    vocabulary: int,
    *,
    windows: int,
    seed: int,
    tell: Callable[[str], None],
) -> list[dict[str, Any]]:
    """The curves of settings on one text, a row for each of them."""
    rows = []
    for setting in settings:
        tell(f"tuning {setting.name}, seed {seed}")
        losses = tuned(setting, tokens, vocabulary, steps=windows, seed=seed)
        steps = np.unique(np.linspace(0, windows - 1, POINTS).astype(int))
        told = {"name": setting.name, "cell": setting.cell, "sizes": setting.sizes, "seed": seed}
        told["activation"] = str(setting.activation)
        told["published"] = setting.published
        rows.append({**told, "steps": (steps + 1).tolist(), "losses": [round(float(x), 5) for x in losses[steps]]})
    return rows


def write_tuning(rows: Sequence[dict[str, Any]], folder: Path, name: str) -> Estimates:
    """Write the curves of tuning runs and draw them.

    Returns:
        The last smoothed loss of each setting, over seeds.

    Raises:
        OSError: if the folder cannot be written.
    """
    from attnlab_theory.labs.recurrent import figures
    from attnlab_theory.report import style

    found = findings.curves_of_tuning(rows)
    files.write_text(folder / f"{name}.json", record.to_text(list(rows)))
    with files.replacing_all(folder / name, (".svg", ".png")) as written:
        style.save(functools.partial(figures.tuning, rows, found), list(written.values()))
    return found


def write(found: Results, folder: Path) -> None:
    """Write the tables and draw the figures, each file whole or not at all.

    Raises:
        OSError: if the folder cannot be written.
    """
    from attnlab_theory.labs.recurrent import figures

    tables = {
        "recurrent": [record.as_json(finding) for finding in found.verdicts.findings],
        "estimates": [estimate.as_json() for estimate in found.estimates],
    }
    for name, rows in tables.items():
        files.write_text(folder / f"{name}.json", record.to_text(rows))
    if found.tuning:
        write_tuning(found.tuning, folder, "tuning")
    has = {estimate.quantity for estimate in found.estimates}
    drawn = {name: getattr(figures, name) for name, quantity in figures.DRAWN.items() if quantity in has}
    judged_again.draw({name: functools.partial(each, found.estimates) for name, each in drawn.items()}, folder)


def again(folder: Path) -> Again:
    """A finished run, judged again.

    Raises:
        ValueError: if a file is missing or damaged.
    """
    measured = judged_again.stored(folder)
    return Again(measured, findings.verdicts(measured))
