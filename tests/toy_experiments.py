"""Experiments on coins, to test the runner with."""

from pathlib import Path

from attnlab_theory.experiment import Experiment
from attnlab_theory.options import RunOptions
from attnlab_theory.report import style
from tests.toys import coin_claim

SUFFIXES = (".json", ".run.json", ".svg", ".png")


def draw_figure(findings):
    figure, (ax,) = style.panels("A coin's mean is its chance")
    style.draw_predicted(ax, findings, "chance", label="predicted")
    style.draw_measured(ax, findings, "chance", label="measured")
    ax.legend()
    return figure


def toy(name: str, *claims, **changes) -> Experiment:
    declared = {
        "name": name,
        "question": "Is a coin's mean its chance?",
        "claims": claims or (coin_claim(),),
        "draw_figure": draw_figure,
        "max_draws": {"quick": 2**12, "full": 2**13},
    }
    return Experiment(**declared | changes)


def options(out: Path, **changes) -> RunOptions:
    return RunOptions(**{"out": out} | changes)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def files_of(*experiments: str) -> set[str]:
    return {name + suffix for name in experiments for suffix in SUFFIXES}


def loaded() -> dict[str, Experiment]:
    """Experiments that another process can load, too: good ones, one that is refused, and one with a mistake."""
    every = (
        toy("coins"),
        toy("more", coin_claim(name="other")),
        toy("broken", coin_claim(resolution=0.0)),
        toy("mistaken", coin_claim(predict=lambda coin: 1 / 0)),
    )
    return {experiment.name: experiment for experiment in every}
