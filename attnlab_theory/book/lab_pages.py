"""The pages of labs: what is stated of trained models, and what their runs have left to look at."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attnlab_theory.book import plots, runs
from attnlab_theory.book.desk import Desk
from attnlab_theory.book.markdown import fenced, page, raw, words
from attnlab_theory.book.runs import Run

LOOKED_UP = "weight on the name"
"""What the lab of knowledge measures of every head."""

MAPS = "maps"
"""The folder inside that of a run which may have a small run, with the maps of all heads."""


def written(desk: Desk) -> Iterator[tuple[str, str]]:
    """The page of each lab, and the list of them."""
    every = desk.all
    listed = []
    for lab, declares in every.labs.items():
        run = every.runs.every.get(lab)
        items = [item for item in every.items if item.lab == lab]
        about = f"[What was found, in one screen](../docs/{lab}.md). [How to ask for more](../docs/labs/{lab}.md)."
        parts = [about, raw(desk.parts.short_table(items, "../", "Statements"))]
        parts += seen(desk, run) if run else [raw(desk.parts.missing(f"attnlab {lab} run"))]
        if run:
            parts += ["## How it was made", fenced(str(run.record["command"])), raw(desk.parts.provenance(run))]
        yield f"labs/{lab}.md", page(declares.question, *parts, orphan=True)
        listed.append(f"* [{lab}]({lab}.md): {words(declares.question)}")
    yield "labs/index.md", page("Labs", "What trained models do, over seeds.", "\n".join(listed))


def seen(desk: Desk, run: Run) -> Iterator[str]:
    """What a lab shows beside its verdicts."""
    pictures = [desk.figure(run, path.stem) for path in sorted(run.folder.glob("*.svg"))]
    shown = [(f"../{figure[0]}", figure[1]) for figure in pictures if figure]
    if shown:
        yield "## Figures\n\n" + raw(desk.parts.figures(shown))
    if curves := _curves(desk, run):
        yield f"## Learning curves\n\n{curves}"
    if (path := run.file("samples.txt")) and (groups := samples_of(path)):
        yield "## Samples, side by side\n\n" + raw(desk.parts.samples(groups))
    if heads := _heads(desk, run):
        yield "## Attention\n\n" + raw(desk.parts.attention(heads))
    if (inner := runs.inside(run, MAPS, desk.problems)) and (heads := _heads(desk, inner)):
        told = [fenced(str(inner.record["command"])), raw(desk.parts.provenance(inner))]
        yield "\n\n".join(["### Every head, in a run of its own", raw(desk.parts.attention(heads)), *told])


def _heads(desk: Desk, run: Run) -> list[dict[str, Any]]:
    path, beside = run.file("attention.json"), run.file("estimates.json")
    maps = desk.listed(path) if path else []
    return heads_of(maps, desk.listed(beside) if beside else []) if maps else []


def _curves(desk: Desk, run: Run) -> str:
    """The learning curves of a run, with bands over seeds."""
    path = run.file("curves.json")
    points = desk.listed(path) if path else []
    shown = []
    for up in ("loss", "training", "validation accuracy", "training accuracy"):
        series: dict[str, dict[float, list[float]]] = {}
        for point in points:
            arm, across = point.get("arm", point.get("variant")), point.get("epoch", point.get("step"))
            if isinstance(arm, str) and plots.is_number(across) and plots.is_number(point.get(up)):
                series.setdefault(arm, {}).setdefault(across, []).append(point[up])
        several = {arm: places for arm, places in series.items() if len(places) > 1}
        few = dict(list(several.items())[: plots.MOST_SERIES])
        if few:
            least = {arm: places[max(places)] for arm, places in few.items()}
            ends = ", ".join(f"{arm} {min(some):.3g} to {max(some):.3g}" for arm, some in least.items())
            across = "epoch" if any("epoch" in point for point in points) else "step"
            shown.append(plots.curves(few, across, up, f"The {up} of each arm, over seeds. At the end: {ends}."))
    return raw("\n".join(shown)) if shown else ""


def samples_of(path: Path) -> list[tuple[str, list[str]]]:
    """The samples of a run, by what wrote them."""
    groups = [block.splitlines() for block in path.read_text("utf-8").strip().split("\n\n")]
    return [(group[0], [line.strip() for line in group[1:]]) for group in groups if len(group) > 1]


def heads_of(maps: list[dict[str, Any]], estimates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every head that a run has measured, with its maps if any were kept, as the viewer reads them."""
    told = [e for e in estimates if e.get("quantity") == LOOKED_UP and isinstance(e.get("setting"), dict)]
    found: dict[str, dict[str, Any]] = {}
    for head in (*({**each["setting"], "mean": each.get("value")} for each in told), *maps):
        place = {name: str(head.get(name)) for name in ("variant", "layer", "head")}
        cell = found.setdefault(str(place), {**place, "mean": None})
        if plots.is_number(mean := head.get("mean")):
            cell["mean"] = mean
        if isinstance(head.get("weights"), list) and isinstance(head.get("characters"), str):
            kept = {"tokens": list(head["characters"]), "weights": head["weights"]}
            cell.setdefault("maps", []).append({"name": str(head.get("name")), **kept})
    return list(found.values())
