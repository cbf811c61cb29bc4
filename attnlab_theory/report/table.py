"""Verdicts as a terminal table, and as plain text where there is no terminal."""

import dataclasses
import math
import sys
from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from attnlab_theory.claims import Finding, Findings, Verdict
from attnlab_theory.stats import Interval

STYLES = {Verdict.SUPPORTED: "green", Verdict.REFUTED: "magenta", Verdict.INCONCLUSIVE: "yellow"}


@dataclasses.dataclass(frozen=True)
class Tally:
    """One claim's findings in a line."""

    experiment: str
    claim: str
    settings: int
    draws: int
    verdict: str
    expect: Verdict | None
    as_expected: bool


def tallies(findings: Iterable[Finding]) -> list[Tally]:
    """One line per claim, in order; a claim that is not of one mind says how its settings split."""
    grouped: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        grouped.setdefault((finding.experiment, finding.claim), []).append(finding)
    lines = []
    for (experiment, claim), group in grouped.items():
        counts = {v: sum(f.verdict == v for f in group) for v in Verdict}
        present = [(v, c) for v, c in counts.items() if c]
        verdict = str(present[0][0]) if len(present) == 1 else ", ".join(f"{c} {v}" for v, c in present)
        lines.append(
            Tally(
                experiment=experiment,
                claim=claim,
                settings=len(group),
                draws=sum(f.draws for f in group),
                verdict=verdict,
                expect=group[0].expect,
                as_expected=all(f.as_expected for f in group),
            )
        )
    return lines


def verdict_table(findings: Findings) -> Table:
    """The table that `attnlab run` ends with: a line per claim, below the name of its experiment."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("claim", overflow="fold")
    for column in ("settings", "draws"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("verdict", overflow="fold")
    experiment = ""
    for line in tallies(findings):
        if line.experiment != experiment:
            experiment = line.experiment
            table.add_row(f"[bold]{escape(experiment)}[/]")
        verdict = f"[{style_of(line)}]{line.verdict}[/]"
        if line.expect is None:
            verdict += " (a conjecture)"
        elif line.expect != Verdict.SUPPORTED and line.as_expected:
            verdict += " (a foil)"
        elif not line.as_expected:
            verdict += f" [red]but {line.expect} was expected[/]"
        table.add_row(f"  {escape(line.claim)}", str(line.settings), f"{line.draws:,}", verdict)
    return table


def style_of(tally: Tally) -> str:
    """The colour of a verdict; red where the settings are not of one mind."""
    return {str(verdict): style for verdict, style in STYLES.items()}.get(tally.verdict, "red")


def show(renderable: RenderableType) -> None:
    """Print on standard output, strings as they are; without a terminal, no spaces fill the lines."""
    console = Console(highlight=False)
    if isinstance(renderable, str):
        renderable = Text(renderable)
    if console.is_terminal:
        console.print(renderable)
        return
    if isinstance(renderable, Table):
        # A file has no edge at which a column had to be cut.
        console.width = max(console.width, Console(width=sys.maxsize).measure(renderable).minimum)
    with console.capture() as captured:
        console.print(renderable)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def interval_text(interval: Interval, digits: int = 4) -> str:
    """An interval for people: a point as a number, a half-line as an inequality."""
    low, high = interval.low, interval.high
    if low == high:
        return f"{low:.{digits}g}"
    if math.isinf(low) and math.isinf(high):
        return "anything"
    if math.isinf(low):
        return f"≤ {high:.{digits}g}"
    if math.isinf(high):
        return f"≥ {low:.{digits}g}"
    return f"{low:.{digits}g} … {high:.{digits}g}"


def measured_text(interval: Interval) -> str:
    """A measured number for people, with no more digits than are known: a number, or a number ± its half-width."""
    if not math.isfinite(interval.width):
        return interval_text(interval)
    # Two digits of the half-width say how much is known; beyond four digits of the number nobody reads on.
    scale = max(abs(interval.low), abs(interval.high))
    radius = interval.width / 2
    if radius <= 5e-5 * scale:
        return f"{interval.centre:.4g}"
    decimals = max(0, 1 - int(f"{radius:.1e}".split("e")[1]))
    return f"{interval.centre:.{decimals}f} ± {radius:.{decimals}f}"
