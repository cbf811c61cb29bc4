"""Everything that the lab found, as sentences, a table and files."""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from rich.table import Table

from attnlab_theory import files
from attnlab_theory.claims import Findings, Verdict
from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.heads import calibration, findings
from attnlab_theory.labs.heads.measuring import measured
from attnlab_theory.labs.heads.plan import planned
from attnlab_theory.labs.heads.traces import Reading
from attnlab_theory.report import record

ABOUT = "heads.run.json"
"""The file that says what was run."""

Curve = tuple[Float[np.ndarray, "bins layers"], Float[np.ndarray, "bins layers"]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Results:
    """What was found."""

    estimates: Estimates
    findings: Findings
    types: tuple[str, ...]
    """The frequent words, most frequent first."""
    curve: Curve | None
    """Predicted and measured weights by tenths of the predictions, for each layer."""

    def table(self) -> Table:
        """One line for each layer: means over heads, and how many heads a verdict speaks of."""
        shown = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("layer", "keys used", "stretch explains", "heads stretched", "gamble index", "layer hedges"):
            shown.add_column(column, justify="right", no_wrap=True)
        for layer in sorted({e.setting["layer"] for e in self.estimates.of("share of keys")}):
            told = [
                self._mean(quantity, layer)
                for quantity in ("share of keys", "variance explained by the stretch", "gamble index")
            ]
            stretched = self._heads("keys-have-a-noisy-length", layer)
            hedges = [f.verdict for f in self.findings.of("the-layer-hedges") if f.setting["layer"] == layer]
            shown.add_row(
                str(layer), told[0], told[1], stretched, told[2], str(hedges[0]) if hedges else "no pairs"
            )
        return shown

    def sentences(self) -> tuple[str, ...]:
        """What the verdicts come to, in five sentences or fewer."""
        told = (
            (
                "keys-have-a-noisy-length",
                "heads: variance rises with the mean score, as a noisy length would have it",
            ),
            ("the-noisy-length-matters", f"heads: that explains at least {findings.EXPLAINED:.0%} of the variance"),
            ("scores-are-normal", "heads: scores of one query are normal within a type"),
            ("the-layer-hedges", "layers: the mean of the heads gambles at most half as much as copies of one"),
            (
                "theory-beats-the-mean-weight",
                "heads: theory predicts weights better than a type's mean weight does",
            ),
        )
        lines = []
        for claim, sentence in told:
            found = self.findings.of(claim)
            if found:
                counts = {v: sum(f.verdict == v for f in found) for v in Verdict}
                lines.append(
                    f"In {counts[Verdict.SUPPORTED]} of {len(found)} {sentence}; "
                    f"not in {counts[Verdict.REFUTED]}, undecided in {counts[Verdict.INCONCLUSIVE]}."
                )
        return tuple(lines)

    def _mean(self, quantity: str, layer: int) -> str:
        values = [e.value for e in self.estimates if e.quantity == quantity and e.setting["layer"] == layer]
        return f"{np.mean(values):.3f}" if values else "none"

    def _heads(self, claim: str, layer: int) -> str:
        found = [f.verdict for f in self.findings.of(claim) if f.setting["layer"] == layer]
        return f"{sum(v == Verdict.SUPPORTED for v in found)} of {len(found)}"


def results(
    reading: Reading,
    *,
    occurrences: int,
    predicted: int,
    seed: int,
    source: str,
    tell: Callable[[str], None] = lambda _: None,
) -> Results:
    """Measure and judge.

    Args:
        reading: the model with its text.
        occurrences: how many a frequent type must have.
        predicted: sentences whose weights theory predicts.
        seed: of the dealing of sentences and the choice of queries.
        source: what a complaint calls the text.
        tell: is told what is being done.

    Raises:
        ValueError: as `planned` and `measured`.
    """
    plan = planned(reading.tokens, occurrences=occurrences, seed=seed, source=source)
    found = measured(reading, plan, calibrated=predicted, seed=seed, tell=tell)
    tell("intervals")
    estimates = findings.measure(found)
    return Results(
        estimates=estimates,
        findings=findings.verdicts(estimates),
        types=tuple(reading.name_of(int(token)) for token in plan.types),
        curve=calibration.curve(found.calibration.predictions()) if found.calibration.made else None,
    )


def write(found: Results, folder: Path) -> None:
    """Write the tables and draw the figures, each file whole or not at all.

    Raises:
        OSError: if the folder cannot be written.
    """
    from attnlab_theory.labs.heads import figures
    from attnlab_theory.report import style

    tables: dict[str, Any] = {
        "heads": [record.as_json(finding) for finding in found.findings],
        "estimates": [estimate.as_json() for estimate in found.estimates],
        "types": list(found.types),
    }
    for name, rows in tables.items():
        files.write_text(folder / f"{name}.json", record.to_text(rows))
    drawn = {
        "premises": functools.partial(figures.premises, found.estimates, found.findings),
        "habits": functools.partial(figures.habits, found.estimates),
        "bluntness": functools.partial(figures.bluntness, found.estimates),
    }
    if found.findings.of("the-layer-hedges"):
        drawn["hedging"] = functools.partial(figures.hedging, found.estimates, found.findings)
    if found.curve is not None:
        drawn["calibration"] = functools.partial(figures.calibration, found.curve, found.estimates)
    for name, figure in drawn.items():
        with files.replacing_all(folder / name, (".svg", ".png")) as written:
            style.save(figure, list(written.values()))
