"""The lab book: one HTML page beside the figures, which opens from disk with no network."""

import collections
import html
import importlib.resources
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from attnlab_theory import exits, files, inputs
from attnlab_theory.claims import Finding, Findings, Verdict
from attnlab_theory.report import record
from attnlab_theory.report.table import interval_text, tallies


def write(folder: Path) -> Path:
    """Write FOLDER/index.html about every experiment whose findings lie in the folder.

    Raises:
        ImportError: if the extra `report` (jinja2, latex2mathml) is not installed.
        ValueError: if a file in the folder does not hold what its name says.
        OSError: if one cannot be read, or the page cannot be written.
    """
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined)
    source = importlib.resources.files("attnlab_theory.book").joinpath("book.html").read_text("utf-8")
    every: list[Finding] = []
    chapters = []
    for path in sorted(folder.glob("*.run.json")):
        stem = path.name.removesuffix(".run.json")
        if (run := _run_of(path)) is None or not (folder / f"{stem}.json").exists():
            continue
        findings = record.read_findings(folder / f"{stem}.json")
        every += findings
        chapters.append({"name": stem, "claims": _claims(findings), **run})
    counts = collections.Counter(str(finding.verdict) for finding in every)
    page = environment.from_string(source).render(
        experiments=chapters,
        counts={str(v): counts[v] for v in Verdict},
        unexpected=sum(not finding.as_expected for finding in every),
    )
    # Somebody else's findings may hold what no page may, and what a terminal would obey.
    files.write_text(folder / "index.html", exits.visible(page))
    return folder / "index.html"


def _run_of(path: Path) -> dict[str, Any] | None:
    """The question of a run, and how to repeat it. None for a training run, which has no budget."""
    try:
        run = inputs.json_of(path)
        inputs.refuse_other_fields(run, {"question": str})
        if "budget" not in run:
            return None
        inputs.refuse_other_fields(run, {"question": str, "budget": str, "seed": int})
        return {name: run[name] for name in ("question", "budget", "seed")}
    except inputs.DAMAGED as error:
        said = inputs.reason_in(error)
        raise ValueError(f"{path} does not say how it was run: {said}; run it again or delete it") from None


def _claims(findings: Findings) -> list[dict[str, Any]]:
    described = []
    for tally in tallies(findings):
        own = findings.of(tally.claim)
        described.append(
            {
                "name": tally.claim,
                "verdict": tally.verdict,
                "foil": tally.expect == Verdict.REFUTED,
                "statement": _with_mathml(own[0].statement),
                "source": own[0].source,
                "bound": own[0].bound,
                "rows": [_row(finding) for finding in own],
            }
        )
    return described


def _row(finding: Finding) -> dict[str, Any]:
    return {
        "setting": ", ".join(f"{name} = {_short(value)}" for name, value in finding.setting.items()),
        "predicted": interval_text(finding.predicted),
        "measured": interval_text(finding.measured),
        "draws": f"{finding.draws:,}",
        "error_rate": f"{finding.error_rate:.1g}",
        "resolution": f"{finding.resolution:.2g}",
        "verdict": str(finding.verdict),
        "as_expected": finding.as_expected,
    }


def _short(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _with_mathml(text: str) -> Any:
    """A statement with its $formulas$ as native MathML; everything else is escaped."""
    from markupsafe import Markup, escape

    parts = re.split(r"\$([^$]+)\$", text)
    return Markup("").join(_formula(part) if i % 2 else escape(part) for i, part in enumerate(parts))


OF_PAGES = ("href", "style", "class")
"""What in a formula could change the page around it."""


def _formula(source: str) -> Any:
    """A formula as MathML, in which all text is escaped; its source where it is broken."""
    import latex2mathml.converter
    from markupsafe import Markup, escape

    try:
        tree = latex2mathml.converter.convert_to_element(source)
    except Exception:  # each mistake has a class of its own there, without a common one
        return escape(f"${source}$")
    for element in tree.iter():
        # Symbols come as references to characters; `convert` writes them, and whatever a text holds, unescaped.
        element.text, element.tail = (html.unescape(words or "") for words in (element.text, element.tail))
        for name in OF_PAGES:
            element.attrib.pop(name, None)
    return Markup(ElementTree.tostring(tree, encoding="unicode"))
