"""A folder's README.md: what a run found, as tables on one page. Its numbers are those of the folder's JSON."""

import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attnlab_theory import files, inputs
from attnlab_theory.claims import Finding, Findings
from attnlab_theory.labs.estimates import Estimate
from attnlab_theory.labs.folders import RUN
from attnlab_theory.labs.terms import of_records
from attnlab_theory.report.formulas import plain
from attnlab_theory.report.record import read_findings
from attnlab_theory.report.table import CUTS, by_control, interval_text, measured_text, tallies
from attnlab_theory.stats import Interval

NAME = "README.md"

MARK = "<!-- Written by attnlab from the JSON files of this folder. Changes are lost. -->"
"""The first line of such a page. A page without it is somebody else's."""

ROWS = 60
"""Nobody reads a longer table of numbers: their least, median and greatest stand for them."""

VERDICTS = (
    "A setting is one case that is judged, for example one model or one head. The column expected has the verdict "
    "that was foreseen, or – if none was. INCONCLUSIVE: the measurements do not decide."
)
"""What a reader must know of the words for verdicts."""

MANY = 16
"""A statement with more settings has only one row, without a row for each setting."""


def write(folder: Path, sentences: Sequence[str] = (), further: Iterable[str] = ()) -> None:
    """Write the page of a folder. A README.md that somebody else wrote stays as it is, and standard error says so.

    Args:
        folder: with the record of each run in it, its findings and its estimates.
        sentences: on how verdicts were made.
        further: names of more files with findings.

    Raises:
        ValueError: if a file is missing or damaged.
        OSError: if the folder cannot be written.
    """
    path = folder / NAME
    if not files.is_ours(path, files.Form.DOCUMENT):
        print(f"{path} is not attnlab's and stays as it is: what was found is in the JSON files", file=sys.stderr)
    else:
        files.write_text(path, text(folder, sentences, further))


def text(folder: Path, sentences: Sequence[str] = (), further: Iterable[str] = ()) -> str:
    """The page of a folder, in Markdown.

    Args:
        folder, sentences, further: as `write` takes them.

    Raises:
        ValueError: if a file is missing or damaged.
    """
    paths = sorted(folder.glob(f"*{RUN}"))
    records = {path.name.removesuffix(RUN): inputs.json_of(path) for path in paths}
    lines = [MARK, "", f"# {_each(records, 'question', ' ') or 'What a run found'}", ""]
    lines += ["```", _each(records, "command", "\n"), "```", ""]
    lines += [
        f"Options, versions, commits and seconds: {', '.join(f'[{path.name}]({path.name})' for path in paths)}."
    ]
    judged, counted = _split(folder, records, further)
    tables: list[str] = []
    if judged:
        tables += ["", "## Verdicts", "", VERDICTS, "", *_of_findings(judged)]
    if sentences:
        tables += ["", *(f"* {plain(each)}" for each in sentences)]
    for name, estimates in counted.items():
        tables += ["", f"## Numbers{f': {name}' if len(counted) > 1 else ''}", *_of_estimates(estimates)]
    for name in records:
        if not (folder / f"{name}.findings.json").exists() and name not in counted:
            tables += _of_search(inputs.json_of(folder / f"{name}.json"))
    lines += [*_terms(records, tables), *tables]
    figures = sorted(folder.glob("*.png"))
    lines += ["", "## Figures"] if figures else []
    lines += [line for path in figures for line in ("", f"![{path.stem.replace('_', ' ')}]({path.name})")]
    return "\n".join(lines) + "\n"


def _terms(records: Iterable[str], tables: Iterable[str]) -> Iterator[str]:
    """What words in the tables mean, as a table of those that occur."""
    said = "\n".join(tables)
    rows = dict.fromkeys(
        (term, meaning)
        for name in records
        for term, meaning in of_records().get(name, {}).items()
        if any(re.search(rf"(?<![\w-]){re.escape(each)}(?![\w])", said) for each in term.split(", "))
    )
    if rows:
        yield from ("", "## Words in the tables", "", *_table(("word", "meaning"), rows))


def _each(records: Mapping[str, Mapping[str, Any]], field: str, between: str) -> str:
    """What the records of a folder say in one field, each answer once. Records of old versions may lack it."""
    said = [about[field] for about in records.values() if field in about]
    if wrong := [each for each in said if not isinstance(each, str)]:
        raise ValueError(f"{field} in the record of a run cannot be {wrong[0]!r:.40}: run it again")
    return between.join(dict.fromkeys(said))


def _split(
    folder: Path, names: Iterable[str], further: Iterable[str]
) -> tuple[Findings, dict[str, list[Estimate]]]:
    """The findings of a folder, and the estimates of each run in it.

    Args:
        folder: of one run, or of several parts, which begin the names of their files with their own.
        names: of the records in it.
        further: names of more files with findings.
    """
    findings: list[Finding] = []
    counted: dict[str, list[Estimate]] = {}
    for name in names:
        whole = (folder / "estimates.json").exists()
        of_findings = folder / (f"{name}.json" if whole else f"{name}.findings.json")
        of_estimates = folder / ("estimates.json" if whole else f"{name}.estimates.json")
        if of_findings.exists() and of_estimates.exists():
            findings += read_findings(of_findings)
            counted[name] = [*map(Estimate.from_json, inputs.json_of(of_estimates))]
    for name in further:
        findings += read_findings(folder / f"{name}.json")
    return Findings(findings), counted


def _of_findings(findings: Findings) -> Iterator[str]:
    """A row for each statement; then one for each setting, where these are not too many."""
    lines = tallies(findings)
    rows = [
        (f"`{each.claim}`", plain(each.worst.statement), str(each.settings), each.expect or "–", each.verdict)
        for each in lines
    ]
    yield from _table(("name", "statement", "settings", "expected", "verdict"), rows)
    rows = [
        (
            f"`{each.claim}`",
            _setting(finding),
            interval_text(finding.predicted),
            _range(finding.measured),
            f"{finding.verdict}: {said}" if (said := by_control(finding)) else finding.verdict,
        )
        for each in lines
        if each.settings <= MANY
        for finding in findings
        if finding.claim == each.claim
    ]
    if rows:
        more = any(each.settings > MANY for each in lines)
        yield from ("", f"Every setting{f', where there are at most {MANY}' if more else ''}:", "")
        yield from _table(("name", "setting", "predicted", "measured", "verdict"), rows)


def _setting(finding: Finding) -> str:
    return ", ".join(f"{name} {_cell(value)}" for name, value in finding.setting.items())


def _of_estimates(estimates: Sequence[Estimate]) -> Iterator[str]:
    """A table for all quantities whose settings have the same fields: a row for each setting."""
    yield from _of_error_rates(estimates)
    if any(_unknown(each) for each in estimates):
        yield from (
            "",
            '"No interval": the seeds give equal numbers, or are too few. Then their spread is unknown.',
        )
    groups: dict[tuple[str, ...], list[Estimate]] = {}
    for each in estimates:
        groups.setdefault(tuple(each.setting), []).append(each)
    for fields, group in groups.items():
        quantities = list(dict.fromkeys(each.quantity for each in group))
        by_setting: dict[tuple[str, ...], dict[str, Estimate]] = {}
        for each in group:
            by_setting.setdefault(tuple(map(_cell, each.setting.values())), {})[each.quantity] = each
        yield ""
        if len(by_setting) <= ROWS:
            by_ends = {each.quantity for each in group if not _around(each)}
            rows = [
                (*setting, *(_number(found.get(each), by_ends=each in by_ends) for each in quantities))
                for setting, found in by_setting.items()
            ]
            yield from _table((*fields, *quantities), rows, words=len(fields))
            continue
        rows = []
        for quantity in quantities:
            values = [each.value for each in group if each.quantity == quantity]
            told = (f"{x:.4g}" for x in (min(values), float(np.median(values)), max(values)))
            rows.append((_called(quantity), ", ".join(map(_called, fields)), str(len(values)), *told))
        yield from _table(("quantity", "for each", "how many", "least", "median", "greatest"), rows, words=2)


def _of_error_rates(estimates: Iterable[Estimate]) -> Iterator[str]:
    """How often intervals are wrong: at most at the greatest rate, and some quantities less often."""
    rates: dict[str, float] = {}
    for each in estimates:
        if 0 < each.interval.width < math.inf:
            rates[each.quantity] = max(rates.get(each.quantity, 0.0), each.error_rate)
    if not rates:
        return
    most = max(rates.values())
    lines = [f"Intervals stand in brackets or after ±. Each is wrong in at most {_percent(most)} of runs."]
    for rate in sorted({*rates.values()} - {most}, reverse=True):
        names = ", ".join(_called(name) for name, own in rates.items() if own == rate)
        lines.append(f"These are wrong in at most {_percent(rate)}: {names}.")
    yield from ("", " ".join(lines))


def _percent(rate: float) -> str:
    return f"{100 * rate:.2g}%"


def _of_search(found: dict[str, Any]) -> Iterator[str]:
    """The trials of a search, the best first, and what it was worth."""
    trials = sorted(found["trials"], key=lambda trial: -(trial["validation"] or 0))
    fields = [name for name in trials[0] if any(trial[name] is not None for trial in trials)]
    yield from ("", "## Trials", "")
    yield from _table(fields, [[_cell(trial[name]) for name in fields] for trial in trials], words=0)
    yield from ("", "## Numbers", *_of_estimates([*map(Estimate.from_json, found["estimates"])]))


def _number(estimate: Estimate | None, *, by_ends: bool) -> str:
    """The value with its interval, and alone where there is none.

    Args:
        estimate: the number. Without one the cell is empty.
        by_ends: whether the interval is printed by its ends; else as ±. A column has one of the two.
    """
    if estimate is None:
        return ""
    value, interval = estimate.value, estimate.interval
    if _unknown(estimate):
        return f"{value:.4g} (no interval)"
    if not math.isfinite(interval.width) or interval.width == 0:
        return f"{value:.4g}"
    if by_ends and _range(interval).count(" "):
        return f"{_rounded(value, interval)} ({_ends(interval)})"
    return _range(interval)


def _around(estimate: Estimate) -> bool:
    """Whether the value is the middle of its interval, so that ± says all."""
    value, interval = estimate.value, estimate.interval
    if _unknown(estimate) or not math.isfinite(interval.width) or interval.width == 0:
        return True
    middle = _range(interval)
    digits = len(middle.partition(" ")[0].partition(".")[2])
    return abs(value - interval.centre) <= 0.01 * interval.width and middle.startswith(f"{value:.{digits}f} ±")


def _ends(interval: Interval) -> str:
    return " … ".join(_rounded(end, interval) for end in (interval.low, interval.high))


def _rounded(x: float, interval: Interval) -> str:
    """A number with two digits of the width of its interval, and at least two of its own."""
    if x == 0 or x in CUTS & {interval.low, interval.high}:
        return f"{x:g}"
    lead = int(f"{abs(x):.1e}".split("e")[1])
    places = max(1 - int(f"{interval.width:.1e}".split("e")[1]), 1 - lead)
    return f"{x:.{places + lead}e}" if not -4 <= lead < 5 else f"{x:.{max(0, places)}f}"


def _unknown(estimate: Estimate) -> bool:
    """Whether the interval holds all possible values, and these have ends."""
    return estimate.interval == estimate.within and math.isfinite(estimate.within.width)


def _range(interval: Interval) -> str:
    """What was measured: as `measured_text`, but not with zeros or digits that nobody reads."""
    if 0 < max(abs(interval.low), abs(interval.high)) < 1e-4:
        return f"{interval.centre:.2g} ± {interval.width / 2:.1g}"
    if 0 < interval.width < math.inf and CUTS & {interval.low, interval.high}:
        return _ends(interval)
    return measured_text(interval)


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _called(name: str) -> str:
    """A quantity, or a field of a setting, in words for people.

    A loss that is "gained" in a file has changed. A number "over seeds" is their mean.
    """
    words = name.replace("_", " ").replace(" less ", " minus ")
    if words.endswith(" over seeds"):
        words = f"mean {words.removesuffix(' over seeds')}"
    for end, begin in ((" gained", "change"), (", less", "difference")):
        if words.endswith(end):
            return f"{begin} of {words.removesuffix(end)}"
    return words


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], words: int | None = None) -> Iterator[str]:
    """A table in Markdown.

    Args:
        columns: its headings.
        rows: its cells.
        words: how many columns, from the left, hold words; the others hold numbers. None: all.
    """
    words = len(columns) if words is None else words
    yield _row(map(_called, columns))
    yield f"|{'---|' * words}{'--:|' * (len(columns) - words)}"
    yield from map(_row, rows)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |"
