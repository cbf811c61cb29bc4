"""The page of a claim, and the same as JSON."""

import json
import re
from pathlib import Path
from typing import Any

from attnlab_theory import __version__
from attnlab_theory.book import code, plots
from attnlab_theory.book.catalogue import Item
from attnlab_theory.book.desk import Desk
from attnlab_theory.book.markdown import code_of, fenced, page, raw, words
from attnlab_theory.claims import Finding, Findings
from attnlab_theory.exits import visible
from attnlab_theory.report import record
from attnlab_theory.report.formulas import plain
from attnlab_theory.report.table import interval_text, measured_text

SCHEMA = 1
"""The version of `claims.json`. A field that changes its meaning, or goes, makes it larger."""

MOST_SETTINGS = 400
"""The most settings in the table of a claim's page. The others are in its JSON."""


def written(desk: Desk, item: Item) -> str:
    """The page of a claim as Markdown."""
    parts, every = desk.parts, desk.all
    foil_of = item.claim.foil_of if item.claim else None
    original = every.by_name.get(foil_of.name) if foil_of else None
    sections = [raw(parts.lead(item, every.answering(item), every.keys(item), original))]
    section = every.sections.get(item.section) if item.section else None
    document = f"docs/mathematics/{section.topic}.md" if section else ""
    here = f"claims/{item.page}.md"
    if section and section.intuition:
        sections.append("## What it is about\n\n" + desk.documents.moved(section.intuition, document, here))
    if item.claim is not None:
        held = "\n".join(f"* {code_of(name)}" for name in item.claim.hypotheses)
        sections.append(f"## Hypotheses\n\n{held or 'None beside what the sentence says.'}")
    elif item.stated:
        sections.append(
            "## What is measured\n\n" + "\n".join(dict.fromkeys(f"* {words(s.quantity)}" for s in item.stated))
        )
    if item.worst:
        shown = plots.picture(item.findings, _shown(item))
        sections.append("## Predicted and measured\n\n" + raw(parts.measured(item, shown)))
        few = Findings(list(item.findings)[:MOST_SETTINGS])
        tables = "\n".join(parts.settings(item, group) for group in _alike(few))
        left = len(item.findings) - len(few)
        note = f"\n\n{left} more settings are in the JSON below." if left else ""
        sections.append(f"## At every setting\n\n{raw(tables)}{note}")
    else:
        sections.append("## Predicted and measured\n\n" + raw(parts.missing(item.command, item.run is not None)))
    sections.append("## Rival and foils\n\n" + raw(parts.rivals(item, every.foils(item))))
    if section:
        link = f"From [{section.topic}: {section.title}](../{document}#{section.anchor})."
        text = desk.documents.moved(re.sub(r"^#", "##", section.text, flags=re.MULTILINE), document, here)
        sections.append(f"## Derivation\n\n{link}\n\n{text}")
    if item.claim is not None:
        shown = "\n\n".join(
            f"**{heading}**, `{path}`:\n\n{fenced(lines)}"
            for heading, path, lines in code.pieces(item.claim, every.root)
        )
        sections.append(f"## Source code\n\n{shown}")
    sections.append(f"## The command\n\n{fenced(item.command)}")
    sections.append("## How to cite it\n\n" + raw(parts.cite(item, bibtex(item), _findings(desk, item))))
    return page(item.name, *sections, orphan=True)


def _shown(item: Item) -> str:
    """What the picture of a claim shows, in words."""
    worst = item.worst
    assert worst is not None
    said = f"predicted {interval_text(worst.predicted)}, measured {measured_text(worst.measured)}"
    return f"{visible(plain(item.statement))} {item.verdict}: at the setting that decides, {said}."


def _findings(desk: Desk, item: Item) -> str:
    """Where the JSON of an item lies, told from its page."""
    if not item.findings:
        return ""
    desk.data[f"claims/{item.page}.json"] = compact(told(desk, item))
    return f"{item.page}.json"


def told(desk: Desk, item: Item) -> dict[str, Any]:
    """An item as `claims.json` has it."""
    claim = item.claim
    same = ("experiment", "claim", "statement", "source", "expect")
    return {
        "id": f"attnlab:{item.page}",
        "page": f"claims/{item.page}.html",
        "topic": item.topic,
        "asked_by": item.asks,
        "statement": item.statement,
        "source": item.source,
        "questions": desk.all.answering(item),
        "expect": item.expect and str(item.expect),
        "foil_of": claim.foil_of.name if claim and claim.foil_of else None,
        "verdict": item.verdict,
        "command": item.command,
        "findings": [
            {name: value for name, value in record.as_json(f).items() if name not in same} for f in item.findings
        ],
    }


def compact(value: Any) -> str:
    """A value as JSON without a space."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def bibtex(item: Item) -> str:
    """How to cite a claim."""
    said = re.sub(r"[{}\\]", "", visible(plain(item.statement)))
    seed = f", seed {item.run.seed}, commit {item.run.record.get('commit')}" if item.run else ""
    return (
        f"@misc{{attnlab-{item.page},\n  title = {{{{{said}}}}},\n  author = {{{{the attnlab founders}}}},\n"
        f"  note = {{attnlab:{item.page}, {item.verdict}{seed}}},\n  version = {{{__version__}}}\n}}"
    )


def _alike(findings: Findings) -> list[Findings]:
    """Findings whose settings have the same fields, together."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        groups.setdefault(tuple(finding.setting), []).append(finding)
    return [Findings(group) for group in groups.values()]


def tell_all(desk: Desk) -> None:
    """Put `claims.json` and its schema beside the pages."""
    listed = [told(desk, item) for item in desk.all.items]
    desk.data["claims.json"] = compact({"schema": SCHEMA, "attnlab": __version__, "claims": listed})
    desk.data["claims.schema.json"] = (Path(__file__).parent / "claims.schema.json").read_text("utf-8")
