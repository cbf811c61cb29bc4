"""The parts of pages in HTML: one template, which escapes whatever a stranger has written."""

import functools
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import jinja2

from attnlab_theory.book.catalogue import slug
from attnlab_theory.book.formulas import with_mathml
from attnlab_theory.book.plots import short
from attnlab_theory.book.runs import Run
from attnlab_theory.exits import visible
from attnlab_theory.report.table import interval_text, measured_text


@functools.cache
def parts() -> Any:
    """The macros of `templates/fragments.html`, by their names."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("attnlab_theory.book"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    made.filters |= {
        "mathml": with_mathml,
        "interval": interval_text,
        "measured": measured_text,
        "number": lambda value: f"{value:.4g}",
        "short": lambda value: visible(short(value)),
        "setting": lambda setting: ", ".join(f"{name} = {short(value)}" for name, value in setting.items()),
        "slug": slug,
        "provenance": _provenance,
        "urlencode": lambda text: quote(text, safe=""),
    }
    return made.get_template("fragments.html").module


def _provenance(run: Run) -> list[tuple[str, str]]:
    told = {**run.record, "seed": run.seed}
    if isinstance(versions := told.get("versions"), Mapping):
        told["versions"] = ", ".join(f"{name} {version}" for name, version in versions.items())
    shown = ("seed", "budget", "commit", "versions", "processor", "command", "seconds")
    return [(name, visible(str(told[name]))) for name in shown if told.get(name) is not None]
