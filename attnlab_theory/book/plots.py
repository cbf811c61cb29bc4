"""The picture of one claim: what was predicted as lines or shades, what was measured as intervals.

It is plain SVG and has the colours of the page around it, so it is readable on a dark page, too.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

from markupsafe import Markup, escape

from attnlab_theory.claims import Finding, Findings

WIDTH, HEIGHT = 660, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 12, 44
MOST_SERIES = 6
MOST_ROWS = 30
ROW = 22
LEGEND = "Lines and shades: predicted. Points with intervals: measured."
LARGEST = 1e300
"""No picture reaches further."""


@dataclasses.dataclass(frozen=True)
class Scale:
    """A number to a place, along a line or its logarithm."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool

    def __call__(self, value: float) -> float:
        """The place of a number. What lies beyond an end stands at the end."""
        low, high, at = ((math.log(x) if self.logarithmic else x) for x in (self.low, self.high, self._cut(value)))
        return round(self.start + (self.end - self.start) * (at - low) / (high - low), 1)

    def _cut(self, value: float) -> float:
        return min(max(value, self.low), self.high)

    def ticks(self) -> list[float]:
        """A few round numbers inside."""
        if self.logarithmic:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            found = [10.0**power for power in range(first, last + 1, max(1, (last - first) // 5))]
            return found if len(found) > 1 else [self.low, self.high]
        step = 10.0 ** math.floor(math.log10((self.high - self.low) / 4))
        step = next(step * factor for factor in (1, 2, 5, 10) if (self.high - self.low) / (step * factor) <= 6)
        first = math.ceil(self.low / step - 1e-9)
        return [round((first + i) * step, 12) for i in range(int((self.high - first * step) / step + 1e-9) + 1)]


def scale(values: Iterable[float], start: float, end: float, *, spread: float) -> Scale:
    """A scale that holds all finite numbers: logarithmic if they are positive and spread wider than this ratio."""
    finite = [value for value in values if abs(value) < LARGEST] or [0.0]
    low, high = min(finite), max(finite)
    if low > 0 and high / low > spread:
        return Scale(low / 1.1, high * 1.1, start, end, True)
    margin = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return Scale(low - margin, high + margin, start, end, False)


def picture(findings: Findings, alternative: str) -> Markup:
    """The picture of a claim's findings.

    Args:
        findings: of one claim, at least one.
        alternative: what it shows, in words.
    """
    field = _along(findings)
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    for finding in findings:
        key = tuple(f"{name} = {short(value)}" for name, value in finding.setting.items() if name != field)
        groups.setdefault(key, []).append(finding)
    if field is None or len(groups) > MOST_SERIES:
        return _rows(findings[:MOST_ROWS], alternative)
    return _curves(field, groups, alternative)


def _along(findings: Findings) -> str | None:
    """The field of the settings that takes the most numbers."""
    numbers: dict[str, set[float]] = {}
    for name, value in ((name, value) for f in findings for name, value in f.setting.items()):
        if is_number(value):
            numbers.setdefault(name, set()).add(value)
    shared = [name for name in numbers if all(name in f.setting for f in findings)]
    most = max(shared, key=lambda name: len(numbers[name]), default=None)
    return most if most is not None and len(numbers[most]) > 1 else None


def _curves(field: str, groups: dict[tuple[Any, ...], list[Finding]], alternative: str) -> Markup:
    every = [finding for group in groups.values() for finding in group if is_number(finding.setting[field])]
    x = scale((f.setting[field] for f in every), LEFT, WIDTH - RIGHT, spread=20)
    y = scale(_ends(every), HEIGHT - BOTTOM, TOP, spread=20)
    parts = [_axes(x, y, field)]
    common = set.intersection(*(set(key) for key in groups)) if len(groups) > 1 else set(next(iter(groups)))
    for number, (key, group) in enumerate(groups.items()):
        known = sorted((f for f in group if is_number(f.setting[field])), key=lambda f: f.setting[field])
        shown = [*map(lambda f: x(f.setting[field]), known)]
        lows, highs = [_place(y, f.predicted.low) for f in known], [_place(y, f.predicted.high) for f in known]
        parts.append(f'<g class="series-{number}">')
        if lows != highs:
            outline = [*zip(shown, lows, strict=True), *reversed([*zip(shown, highs, strict=True)])]
            parts.append(f'<polygon class="band" points="{_points(outline)}"/>')
        for ends in [lows] if lows == highs else [lows, highs]:
            parts.append(f'<polyline class="line" points="{_points(zip(shown, ends, strict=True))}"/>')
        for place, finding in zip(shown, known, strict=True):
            low, high, middle = (
                _place(y, v) for v in (finding.measured.low, finding.measured.high, _centre(finding))
            )
            parts.append(
                f'<path class="interval" d="M{place} {low}V{high}"/><circle cx="{place}" cy="{middle}" r="3"/>'
            )
        told = ", ".join(word for word in key if word not in common)
        if told:
            parts.append(
                f'<text x="{WIDTH - RIGHT - 4}" y="{TOP + 14 + 15 * number}" class="end">{escape(told)}</text>'
            )
        parts.append("</g>")
    return _svg(HEIGHT, parts, alternative, f"{', '.join(sorted(common))}. {LEGEND}" if common else LEGEND)


def _rows(findings: Sequence[Finding], alternative: str) -> Markup:
    height = TOP + ROW * len(findings) + BOTTOM
    start = WIDTH // 2
    x = scale(_ends(findings), start, WIDTH - RIGHT, spread=1000)
    parts = [_axis_of(x, height)]
    for row, finding in enumerate(findings):
        y = TOP + ROW * row + ROW / 2
        low, high = _place(x, finding.predicted.low), _place(x, finding.predicted.high)
        told = ", ".join(f"{name} = {short(value)}" for name, value in finding.setting.items())
        told = told if len(told) <= 58 else f"{told[:57]}…"
        parts.append(f'<text x="{start - 10}" y="{y + 4}" class="end">{escape(told)}</text><g class="series-0">')
        parts.append(f'<rect class="band" x="{low}" y="{y - 7}" width="{max(high - low, 0):.1f}" height="14"/>')
        parts.append(f'<path class="line" d="M{low} {y - 7}v14M{high} {y - 7}v14"/>')
        ends = (_place(x, finding.measured.low), _place(x, finding.measured.high), _place(x, _centre(finding)))
        parts.append(
            f'<path class="interval" d="M{ends[0]} {y}H{ends[1]}"/><circle cx="{ends[2]}" cy="{y}" r="3"/></g>'
        )
    return _svg(height, parts, alternative, LEGEND)


def curves(series: dict[str, dict[float, list[float]]], across: str, up: str, alternative: str) -> Markup:
    """Curves with bands from the least to the greatest value, over seeds.

    Args:
        series: by name: the values of all seeds, by the place across.
        across: what is across.
        up: what is up.
        alternative: what the picture shows, in words.
    """
    values = [value for each in series.values() for some in each.values() for value in some]
    x = scale((place for each in series.values() for place in each), LEFT, WIDTH - RIGHT, spread=1e9)
    y = scale(values, HEIGHT - BOTTOM, TOP, spread=30)
    parts = [_axes(x, y, across)]
    for number, (name, each) in enumerate(series.items()):
        places = sorted(each)
        low, high = [(x(p), y(min(each[p]))) for p in places], [(x(p), y(max(each[p]))) for p in places]
        middle = [(x(p), y(sum(each[p]) / len(each[p]))) for p in places]
        parts.append(
            f'<g class="series-{number}"><polygon class="band" points="{_points([*low, *reversed(high)])}"/>'
        )
        parts.append(f'<polyline class="line" points="{_points(middle)}"/>')
        parts.append(
            f'<text x="{WIDTH - RIGHT - 4}" y="{TOP + 14 + 15 * number}" class="end">{escape(name)}</text></g>'
        )
    return _svg(HEIGHT, parts, alternative, f"{up}: the mean over seeds, and a band from the least to the greatest")


def _axes(x: Scale, y: Scale, field: str) -> str:
    lines = [_axis_of(x, HEIGHT)]
    for tick in y.ticks():
        lines.append(f'<path class="grid" d="M{LEFT} {y(tick)}H{WIDTH - RIGHT}"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{y(tick) + 4}" class="end">{tick:g}</text>')
    lines.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" class="middle">{escape(field)}</text>')
    return "".join(lines)


def _axis_of(x: Scale, height: int) -> str:
    lines = [f'<path class="grid" d="M{x(tick)} {TOP}V{height - BOTTOM}"/>' for tick in x.ticks()]
    lines += [
        f'<text x="{x(tick)}" y="{height - BOTTOM + 16}" class="middle">{tick:g}</text>' for tick in x.ticks()
    ]
    return "".join(lines)


def _svg(height: int, parts: Iterable[str], alternative: str, caption: str) -> Markup:
    name = f'role="img" aria-label="{escape(alternative)}"'
    return Markup(
        f'<figure class="picture"><svg viewBox="0 0 {WIDTH} {height}" {name}>'
        f"{''.join(parts)}</svg><figcaption>{escape(caption)}</figcaption></figure>"
    )


def _ends(findings: Iterable[Finding]) -> list[float]:
    return [end for f in findings for i in (f.predicted, f.measured) for end in (i.low, i.high)]


def _centre(finding: Finding) -> float:
    low, high = finding.measured.low, finding.measured.high
    return (
        finding.measured.centre if math.isfinite(finding.measured.width) else high if math.isfinite(high) else low
    )


def _place(axis: Scale, value: float) -> float:
    """Where a number stands. What has no end goes to the edge."""
    return axis(value if math.isfinite(value) else math.copysign(math.inf, value))


def _points(places: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in places)


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a number that can be drawn."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST


def short(value: Any) -> str:
    """A value of a setting, in few digits."""
    return f"{value:.5g}" if isinstance(value, float) else str(value)
