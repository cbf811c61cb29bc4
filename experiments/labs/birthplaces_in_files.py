"""How good are the answers in files, beside what others have published?

attnlab knowledge score birth_dev.tsv one.predictions other.predictions --json > scored.json
python experiments/labs/birthplaces_in_files.py scored.json --published rope --figure rope.svg
"""

import dataclasses
import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from attnlab_theory import exits, inputs
from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.options import parsed_in_one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True)
class Published:
    """Accuracies on the homework's development set that others reached."""

    median: float
    lowest: float
    highest: float
    models: int
    told: bool = False
    """Whether the highest number is only reported in a README, without its answers."""


PUBLISHED = {
    "none": Published(0.014, 0.000, 0.028, 32),
    "vanilla": Published(0.211, 0.124, 0.272, 28),
    "rope": Published(0.293, 0.122, 0.404, 6, told=True),
    "synthesizer": Published(0.102, 0.038, 0.262, 15),
}
"""What others reached on birth_dev.tsv, 500 questions, by variant; none: without pretraining.

Source: the `.predictions` files of 75 public repositories of Stanford's CS224n (assignment 5 of 2021 to 2023,
assignment 4 from 2024), counted on 2026-11-21, and one number that a README reports. Other numbers that are only
reported are left out.
"""

EPOCHS = re.compile(r"(\d+) epochs")
"""Names that are numbers of epochs lie on a scale."""

PANEL = ": "
"""The text between the name of a panel and the name of a file, in a label."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Draw:
    """Draw the accuracy of each file of predictions with its interval, beside the published range."""

    scored: Annotated[Path, tyro.conf.Positional]
    """What `attnlab knowledge score ... --json` printed. Labels of the form PANEL: NAME lie in one panel for each
    PANEL."""
    figure: Path
    """File for the figure, .svg or .png."""
    published: Literal["none", "vanilla", "rope", "synthesizer"] | None = None
    """Show what public repositories reach on birth_dev.tsv with this variant."""

    def run(self) -> int:
        """Read and draw."""
        from attnlab_theory.report import style

        style.refuse_path(self.figure, self.scored)
        found = inputs.parsed(
            self.scored,
            lambda rows: Estimates(map(Estimate.from_json, rows)),
            remedy="score the predictions again, with --json",
        )
        style.write(functools.partial(accuracy_of_files, found, self.published), self.figure)
        return 0


def accuracy_of_files(estimates: Estimates, published: str | None = None) -> "Figure":
    """The accuracy of each file of predictions with its interval, in their order.

    If every label has the form "PANEL: NAME", there is one panel for each PANEL. So models that were trained in
    different ways stand side by side, not in one row.

    Args:
        estimates: of `labs.knowledge.scores.scored`.
        published: the variant whose published range on the same questions is drawn in the background.
    """
    from matplotlib.ticker import PercentFormatter

    from attnlab_theory.report import style

    found = estimates.of("accuracy")
    panels = _panels(found)
    title = f"{_said(panels)}\nof {found[0].draws} birthplace questions right"
    widths = [max(4.2 if len(panels) > 1 else 5.6, 0.9 * len(row) + 1.6) for row in panels.values()]
    figure, axes = style.panels(title, 1, len(panels), size=(sum(widths), 4.4))
    for ax, (panel, row) in zip(axes, panels.items(), strict=True):
        _draw(ax, panel, row, published)
    top = max(ax.get_ylim()[1] for ax in axes)
    for ax in axes:
        ax.set_ylim(-0.02 * top, top)
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes[0].set_ylabel("birthplaces named right")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=1, fontsize=8)
    return figure


def _panels(found: Estimates) -> dict[str, dict[str, Any]]:
    """The estimates by panel and name. Unless every label names a panel, there is one panel without a name."""
    labels = [e.setting["label"] for e in found]
    split = [label.split(PANEL, 1) for label in labels]
    if not all(len(parts) == 2 and all(map(str.strip, parts)) for parts in split):
        split = [["", label] for label in labels]
    panels: dict[str, dict[str, Any]] = {}
    for (panel, name), estimate in zip(split, found, strict=True):
        panels.setdefault(panel, {})[name] = estimate
    return panels


def _said(panels: dict[str, dict[str, Any]]) -> str:
    """The models of the title: the last of every panel, or the first and the last of a single panel.

    If the last of all panels have one name, such as "650 epochs", it stands first.
    """
    from attnlab_theory.labs.plots import as_written

    told = []
    for panel, row in panels.items():
        rows = [(", ".join(filter(None, map(as_written, (panel, name)))), e) for name, e in row.items()]
        told += rows[-1:] if len(panels) > 1 else rows[:1] + rows[1:][-1:]
    last = {list(row)[-1] for row in panels.values()}
    if len(panels) > 1 and len(last) == 1:
        told = [(as_written(panel), e) for panel, (_, e) in zip(panels, told, strict=True)]
        name = last.pop()
        training = " of pretraining" if EPOCHS.fullmatch(name) else ""
        return f"After {as_written(name)}{training}, models answer {_listed(told)}"
    return f"Models answer {_listed(told)}"


def _listed(told: "Sequence[tuple[str, Any]]") -> str:
    return " and ".join(f"{e.value:.1%} ({name})" for name, e in told)


def _draw(ax: "Axes", panel: str, row: dict[str, Any], published: str | None) -> None:
    from attnlab_theory.labs.knowledge.figures import in_words
    from attnlab_theory.labs.plots import as_written, bars, interval

    if published:
        range_of = PUBLISHED[published]
        highest = "; the highest accuracy stands in a README, without its answers" if range_of.told else ""
        label = f"range of {range_of.models} published models, {in_words(published)}{highest}"
        ax.axhspan(range_of.lowest, range_of.highest, color="#e6e6e6", linewidth=0, label=label)
        ax.axhline(range_of.median, color="#555555", linewidth=1.2, label="their median")
    found, labels = Estimates(row.values()), [*map(as_written, row)]
    epochs = [EPOCHS.fullmatch(name) for name in row]
    if all(epochs) and len(row) > 1:
        # At their places on a scale: a model is seldom asked after equal numbers of epochs.
        places, labels = zip(*((float(each[1]), each[1]) for each in epochs if each), strict=True)
        room = 0.08 * (max(places) - min(places))
        ends = min(places) - room, max(places) + room
        ax.set(xlabel="epochs of pretraining")
    else:
        places, ends = [float(x) for x in range(len(found))], (-0.5, len(found) - 0.5)
    bars(ax, found, places, series=0, label=interval(found[0], "of the accuracy, Clopper-Pearson"))
    crowded = max(map(len, labels)) * len(labels) > 60
    ax.set_xticks(places, labels, rotation=30 if crowded else 0, ha="right" if crowded else "center")
    ax.grid(visible=False, axis="x")
    ax.set(xlim=ends, title=as_written(panel))


if __name__ == "__main__":
    raise SystemExit(exits.exit_code(lambda: parsed_in_one_line(lambda: tyro.cli(Draw)).run()))
