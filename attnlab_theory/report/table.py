"""Verdicts as a terminal table, and as plain text where there is no terminal."""

import dataclasses
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any, assert_never

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from attnlab_theory.claims import Finding, Findings, Verdict, judge
from attnlab_theory.exits import visible
from attnlab_theory.plurals import several
from attnlab_theory.report.formulas import plain
from attnlab_theory.stats import Interval, VarianceState

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
    worst: Finding
    """The finding at the setting that decides. It speaks most against the expected verdict."""


def tallies(findings: Iterable[Finding]) -> list[Tally]:
    """One line for each claim, in order. If its settings have different verdicts, the line counts them."""
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
                worst=_worst(group),
            )
        )
    return lines


def _worst(group: Sequence[Finding]) -> Finding:
    """The finding that is farthest from what is expected. For a foil: the one nearest to support.

    Where all is as expected, only settings count that the sentence names.
    """

    def against(finding: Finding) -> tuple[bool, bool, bool, float]:
        beyond = _beyond(finding) / finding.resolution
        foil = finding.expect == Verdict.REFUTED
        is_decided = finding.verdict != Verdict.INCONCLUSIVE
        return not finding.as_expected, finding.stated, is_decided, -beyond if foil else beyond

    return max(group, key=against)


def _beyond(finding: Finding) -> float:
    """How far the middle of the measured interval lies outside the prediction. Negative inside it."""
    middle, predicted = finding.measured.centre, finding.predicted
    return max(predicted.low - middle, middle - predicted.high)


def claim_text(tally: Tally) -> RenderableType:
    """One claim for people: its name and verdict, what it says, and the numbers at the setting that decides."""
    worst = tally.worst
    setting = ", ".join(f"{name}={_short(value)}" for name, value in worst.setting.items())
    which = f"worst of {tally.settings} settings" if tally.settings > 1 else "setting"
    if worst.stated and tally.as_expected and tally.settings > 1:
        which = f"as stated, one of {tally.settings} settings"
    draws = several(worst.draws, "draw") if worst.draws > 1 else "one computation"
    lines = (
        plain(worst.statement),
        f"{which}: {setting}",
        f"predicted {interval_text(worst.predicted)}, measured {measured_text(worst.measured)} ({draws})",
    )
    if worst.compared is not None:
        what, number = worst.compared
        lines += (f"to compare: {number:.4g} for {what}",)
    head = Text.assemble((tally.claim, "bold"), "  ", (tally.verdict, style_of(tally)), _note(tally))
    return Group(head, *(Padding(Text(line), (0, 0, 0, 2)) for line in lines))


def _note(tally: Tally) -> Text:
    """A note where the verdict is not the expected one."""
    if tally.expect is None:
        return Text(" (a conjecture)")
    if not tally.as_expected:
        return Text(f" but {tally.expect} was expected", style="red")
    return Text(" (a foil)" if tally.expect == Verdict.REFUTED else "")


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def verdict_table(findings: Findings) -> Table:
    """A line per claim, below the name of its experiment, with the numbers at the setting that decides."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("claim", overflow="fold")
    table.add_column("settings", justify="right", no_wrap=True)
    for column in ("predicted", "measured", "verdict"):
        table.add_column(column, overflow="fold")
    experiment = ""
    for line in tallies(findings):
        if line.experiment != experiment:
            experiment = line.experiment
            table.add_row(f"[bold]{escape(experiment)}[/]")
        verdict = Text.assemble((line.verdict, style_of(line)), _note(line))
        predicted, measured = interval_text(line.worst.predicted), measured_text(line.worst.measured)
        table.add_row(f"  {escape(line.claim)}", str(line.settings), predicted, measured, verdict)
    return table


MOST_NOTES = 10
"""The most verdicts that are explained. The others are in the JSON."""


def notes(findings: Findings) -> list[str]:
    """Notes below the verdicts: a line for each verdict in doubt, then claims whose rival is missing or weak."""
    doubtful = [f for f in findings if f.verdict == Verdict.INCONCLUSIVE or not f.as_expected]
    lines = [_explained(finding) for finding in doubtful[:MOST_NOTES]]
    if len(doubtful) > MOST_NOTES:
        like = "verdict like these is", "verdicts like these are"
        lines.append(f"{several(len(doubtful) - MOST_NOTES, *(f'more {each}' for each in like))} in the JSON.")
    alone = {f.claim: None for f in findings if f.rival is None and f.expect == Verdict.SUPPORTED}
    if alone:
        lines.append(
            f"No rival named: {', '.join(alone)}. SUPPORTED then only means that the number is as predicted."
        )
    beyond = {f.claim: None for f in findings if f.rival is not None and not f.rival.is_possible}
    if beyond:
        lines.append(f"The bound alone excludes the rival of: {', '.join(beyond)}.")
    return lines


def _explained(finding: Finding) -> str:
    """One verdict in doubt: its setting, its numbers, and what to do."""
    setting = ", ".join(f"{name} = {_short(value)}" for name, value in finding.setting.items())
    expected = "" if finding.as_expected else f" ({finding.expect} was expected)"
    return (
        f"{finding.claim} at {setting}: {finding.verdict}{expected}. Predicted {interval_text(finding.predicted)}, "
        f"measured {interval_text(finding.measured)} from {several(finding.draws, 'draw')}. {_remedy(finding)}"
    )


def by_control(finding: Finding) -> str:
    """What a control has to do with a verdict, in words; nothing if the verdict would be the same without it."""
    control = finding.control
    if control is None or finding.verdict == judge(finding.predicted, finding.measured, finding.resolution):
        return ""
    if control.number is None:
        return f"nobody measured the control, {control.what}"
    does = "does better" if control.verdict == Verdict.REFUTED else "may do as well"
    return f"the control, {control.what}, {does}"


def _remedy(finding: Finding) -> str:
    said, variance = by_control(finding), finding.variance
    if said:
        return f"{said[0].upper()}{said[1:]}."
    if variance is not None and variance.state == VarianceState.STRAINED:
        return (
            f"The draws vary more than the bound assumes: {variance.sample:.4g} against {variance.assumed:.4g}. "
            "Assume a larger variance."
        )
    match finding.verdict:
        case Verdict.INCONCLUSIVE if finding.rival is not None and finding.measured.width <= finding.resolution:
            return (
                f"The same draws do not refute the rival, which says {interval_text(finding.rival.predicted)}. "
                "Allow more draws (--budget full), or judge where the two differ by more."
            )
        case Verdict.INCONCLUSIVE:
            return (
                f"The measured interval is wider than the resolution, {finding.resolution:.2g}. Allow more draws "
                "(--budget full), or choose a wider resolution."
            )
        case Verdict.REFUTED:
            return f"Look at the prediction, at the draw, and at what the bound assumes ({finding.bound})."
        case Verdict.SUPPORTED:
            return "The foil may be true: look at what was changed in it."
        case unknown:
            assert_never(unknown)


def style_of(tally: Tally) -> str:
    """The colour of a verdict. It is red where the settings have different verdicts."""
    return {str(verdict): style for verdict, style in STYLES.items()}.get(tally.verdict, "red")


def show(renderable: RenderableType) -> None:
    """Print on standard output. Without a terminal, lines are neither filled with spaces nor cut.

    Control characters are written out, in strings, in texts and in the cells of tables.
    """
    if isinstance(renderable, Group):
        for part in renderable.renderables:
            show(part)
        return
    console = Console(highlight=False)
    renderable = Text(visible(renderable)) if isinstance(renderable, str) else _visible(renderable)
    if console.is_terminal:
        console.print(renderable)
        return
    inner = renderable.renderable if isinstance(renderable, Padding) else renderable
    if isinstance(inner, Table):
        # A file has no edge at which a column had to be cut.
        console.width = max(console.width, Console(width=sys.maxsize).measure(renderable).maximum)
    with console.capture() as captured:
        console.print(renderable)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _visible(renderable: RenderableType) -> RenderableType:
    """The same with control characters written out; a text that had some loses the styles of its parts."""
    match renderable:
        case str():
            return visible(renderable)
        case Text():
            plain = visible(renderable.plain)
            return renderable if plain == renderable.plain else Text(plain, renderable.style)
        case Table():
            for column in renderable.columns:
                column._cells = [_visible(cell) for cell in column._cells]
                column.header = _visible(column.header)
        case Padding():
            renderable.renderable = _visible(renderable.renderable)
        case _:
            pass
    return renderable


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


CUTS = {-1.0, 0.0, 1.0}
"""The ends of what shares, their changes and correlations can be."""


def measured_text(interval: Interval) -> str:
    """A measured number, or a number ± its half-width. It has no more digits than are known.

    An interval that ends at -1, 0 or 1 may have been cut there, at the end of what is possible. Its middle is no
    estimate: it is printed by its ends.
    """
    if not math.isfinite(interval.width) or {interval.low, interval.high} & CUTS:
        return interval_text(interval)
    # Two digits of the half-width say how much is known; beyond four digits of the number nobody reads on.
    scale = max(abs(interval.low), abs(interval.high))
    radius = interval.width / 2
    if radius <= 5e-5 * scale:
        return f"{interval.centre:.4g}"
    decimals = max(0, 1 - int(f"{radius:.1e}".split("e")[1]))
    return f"{interval.centre:.{decimals}f} ± {radius:.{decimals}f}"
