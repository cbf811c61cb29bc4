"""The figures of a run, drawn from its numbers: when they are measured, or later from their JSON files."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attnlab_theory import files, inputs
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.knowledge.lookup import Map


def draw(
    estimates: Estimates, curves: Sequence[Mapping[str, Any]], maps: Sequence[Map], folder: Path
) -> frozenset[str]:
    """Draw every figure as .svg and .png, each file whole or not at all.

    Args:
        estimates: what was measured.
        curves: rows for `figures.learning_curves`; none where nothing was trained.
        maps: of attention heads.
        folder: for the files.

    Returns:
        The names of the figures.

    Raises:
        OSError: if the folder cannot be written.
    """
    from attnlab_theory.labs.knowledge import figures
    from attnlab_theory.report import style

    drawn = {name: functools.partial(each, estimates) for name, each in figures.FIGURES.items()}
    drawn["knowledge"] = drawn.pop("accuracy_by_variant")
    if curves:
        drawn["learning_curves"] = functools.partial(figures.learning_curves, curves)
    for each in maps:
        head = f"{each.variant}, layer {each.layer}, head {each.head}"
        drawn[f"attention_of_{each.variant}"] = functools.partial(
            figures.attention_map, each.weights, each.characters, name=each.name, head=head
        )
    for name, figure in drawn.items():
        with files.replacing_all(folder / name, (".svg", ".png")) as written:
            style.save(figure, list(written.values()))
    return frozenset(drawn)


def redraw(folder: Path) -> frozenset[str]:
    """Draw the figures of a folder again, from the JSON files in it. Nothing is trained or measured.

    Raises:
        ValueError: if the folder holds no estimates, or a file is damaged.
        OSError: if the folder cannot be written.
    """
    if not (folder / "estimates.json").is_file():
        raise ValueError(f"{folder} holds no estimates.json: name a folder that `run` or `evaluate --out` wrote")
    try:
        estimates = Estimates(Estimate.from_json(row) for row in _rows(folder / "estimates.json"))
        maps = [Map.from_json(row) for row in _rows(folder / "attention.json")]
        return draw(estimates, _rows(folder / "curves.json"), maps, folder)
    except inputs.DAMAGED as error:
        raise ValueError(f"a JSON file in {folder} is damaged: {inputs.told(error)}; run the lab again") from error


def _rows(path: Path) -> list[Any]:
    """The rows of a JSON file; none if there is no such file."""
    return inputs.json_of(path) if path.exists() else []
