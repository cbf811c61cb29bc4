"""Sentences that sum up the verdicts on heads."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attnlab_theory.claims import Findings, Verdict
from attnlab_theory.report.table import by_control

Tell = Callable[[str], None]
"""A function that is called with a line about what is being done."""


def counted(
    findings: Findings, claims: Sequence[tuple[str, str]], of: Mapping[str, int] | None = None
) -> tuple[str, ...]:
    """A sentence for each claim that was judged: for how many heads it holds, and for how many it does not.

    Args:
        findings: the verdicts.
        claims: the name of each claim, and what it is about and says, as in "heads: scores are normal".
        of: how many there are of each kind, such as {"heads": 12}. Then those without a verdict are counted too.
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


def of_controls(controls: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
    """A sentence that says what a model has to exceed."""
    if not controls:
        return ("Nothing is shown without controls (--controls): an untrained model may pass as well.",)
    many = ", ".join(
        name if len(drawn) == 1 else f"{name} ({len(drawn)} models)" for name, drawn in controls.items()
    )
    return (f"Shown means: beyond the controls, too. These are {many}.",)


def counts(findings: Findings, claim: str) -> tuple[int, int, int]:
    """How often a claim is SUPPORTED, REFUTED and INCONCLUSIVE."""
    found = [finding.verdict for finding in judged_of(findings, claim)]
    return found.count(Verdict.SUPPORTED), found.count(Verdict.REFUTED), found.count(Verdict.INCONCLUSIVE)


def told(findings: Findings) -> tuple[str, ...]:
    """A sentence for each verdict, with what was measured, and one more where the control decides."""
    return tuple(
        f"{each.verdict}: {each.statement} Measured: {each.measured.low:.3g} to {each.measured.high:.3g}."
        + (f" But {said}." if (said := by_control(each)) else "")
        for each in findings
    )


def judged_of(findings: Findings, claim: str) -> Findings:
    """The verdicts on one claim; none where the text says nothing about it."""
    return Findings(finding for finding in findings if finding.claim == claim)
