"""What a part of the lab found, as sentences, a table and files."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from attnlab_theory import files
from attnlab_theory.claims import Findings, Verdict
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.heads.parts import PartName
from attnlab_theory.report import record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Tell = Callable[[str], None]
"""Is told what is being done."""

Draw = Callable[[], "Figure"]
"""Draws a figure."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Results:
    """What one part found."""

    part: PartName
    estimates: Estimates
    findings: Findings
    table: Table
    sentences: tuple[str, ...]
    """What the verdicts come to."""
    figures: Mapping[str, Draw | None]
    """How each is drawn, by name; None: the text says nothing of it, and one of an earlier run goes."""
    reasons: Table | None = None
    """Verdicts on what the sentences rest on."""
    types: tuple[str, ...] = ()
    """The frequent words that keys were looked at of, most frequent first."""

    def as_json(self) -> dict[str, Any]:
        """All but tables, sentences and figures."""
        tables: dict[str, Any] = {
            "findings": [record.as_json(finding) for finding in self.findings],
            "estimates": [estimate.as_json() for estimate in self.estimates],
        }
        return {**tables, "types": list(self.types)} if self.types else tables


def counted(
    findings: Findings, claims: Sequence[tuple[str, str]], of: Mapping[str, int] | None = None
) -> tuple[str, ...]:
    """A sentence for each claim that was judged: of how many it holds, of how many it does not.

    Args:
        findings: the verdicts.
        claims: names, each with what it says of what, as in "heads: scores are normal".
        of: how many there are of what, as in heads: 12; those without a verdict are counted too then.
    """
    lines = []
    for claim, sentence in claims:
        if judged_of(findings, claim):
            supported, refuted, undecided = counts(findings, claim)
            many, _, said = sentence.partition(": ")
            judged = supported + refuted + undecided
            there = max(judged, (of or {}).get(many, 0))
            left = f", not judged in {there - judged}" * (there > judged)
            lines.append(
                f"Shown in {supported} of {there} {many}, refuted in {refuted}, undecided in {undecided}{left}: "
                f"{said}."
            )
    return tuple(lines)


def counts(findings: Findings, claim: str) -> tuple[int, int, int]:
    """How often a claim is SUPPORTED, REFUTED and INCONCLUSIVE."""
    found = [finding.verdict for finding in judged_of(findings, claim)]
    return found.count(Verdict.SUPPORTED), found.count(Verdict.REFUTED), found.count(Verdict.INCONCLUSIVE)


def told(findings: Findings) -> tuple[str, ...]:
    """A sentence for each verdict, with what was measured."""
    return tuple(
        f"{each.verdict}: {each.statement} Measured: {each.measured.low:.3g} to {each.measured.high:.3g}."
        for each in findings
    )


def judged_of(findings: Findings, claim: str) -> Findings:
    """The verdicts on one claim; none where the text says nothing about it."""
    return Findings(finding for finding in findings if finding.claim == claim)


def write(found: Results, folder: Path, about: Mapping[str, Any]) -> None:
    """Write the tables and draw the figures, each file whole or not at all; figures of an earlier run do not stay.

    Args:
        found: of one part; every file bears its name, or that of the figure.
        folder: where.
        about: what was run.

    Raises:
        OSError: if the folder cannot be written.
    """
    from attnlab_theory.report import style

    for name, rows in found.as_json().items():
        files.write_text(folder / f"{found.part}.{name}.json", record.to_text(rows))
    files.write_text(folder / f"{found.part}.run.json", record.to_text(dict(about)))
    for name, draw in found.figures.items():
        if draw is None:
            for suffix in (".svg", ".png"):
                (folder / name).with_suffix(suffix).unlink(missing_ok=True)
            continue
        with files.replacing_all(folder / name, (".svg", ".png")) as written:
            style.save(draw, list(written.values()))
