"""The figures of a run, drawn from its numbers: when they are measured, or later from their JSON files."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attnlab_theory import files, inputs
from attnlab_theory.labs.estimates import Estimate, Estimates


def draw(estimates: Estimates, curves: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Draw every figure as .svg and .png, each file whole or not at all.

    Raises:
        OSError: if the folder cannot be written.
    """
    from attnlab_theory.labs.captions import figures
    from attnlab_theory.report import style

    drawn = {
        "quality_and_diversity": functools.partial(figures.quality_and_diversity, estimates),
        "openings": functools.partial(figures.openings, estimates),
    }
    if any(estimate.quantity == "test loss" for estimate in estimates):
        drawn["perplexities"] = functools.partial(figures.perplexities, estimates)
        drawn["validation"] = functools.partial(figures.validation, curves)
        drawn["heads"] = functools.partial(figures.heads, estimates)
    for name, figure in drawn.items():
        with files.replacing_all(folder / name, (".svg", ".png")) as written:
            style.save(figure, list(written.values()))


def redraw(folder: Path) -> None:
    """Draw the figures of a folder again, from the JSON files in it.

    Raises:
        ValueError: if the folder holds no estimates, or a file is damaged.
    """
    if not (folder / "estimates.json").is_file():
        raise ValueError(f"{folder} holds no estimates.json: name a folder that a run wrote")
    try:
        estimates = Estimates(map(Estimate.from_json, inputs.json_of(folder / "estimates.json")))
        curves = folder / "curves.json"
        draw(estimates, inputs.json_of(curves) if curves.exists() else (), folder)
    except inputs.DAMAGED as error:
        raise ValueError(f"a JSON file in {folder} is damaged: {inputs.told(error)}; run the lab again") from error
