"""A page that opens from disk and asks nobody for anything. Text of strangers stays text, and nothing runs."""

import html

from attnlab_theory.exits import visible
from attnlab_theory.files import Form

STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}"
    "td,th{padding:.2em .8em;text-align:left;vertical-align:top;border-bottom:1px solid #ccc}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f4f4f4;padding:.6em}td{overflow-wrap:anywhere}"
)
HEAD = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    '<meta name="generator" content="attnlab {form}"><meta name="viewport" content="width=device-width">\n'
)


def escaped(text: str) -> str:
    """A stranger's text for HTML."""
    return html.escape(visible(text))


def document(title: str, body: str, form: Form) -> str:
    """A whole page.

    Args:
        title: as text.
        body: as HTML.
        form: by which a command knows its own pages: `files.is_ours`.
    """
    heading = escaped(title)
    head = f"{HEAD.format(form=form)}<title>{heading}</title><style>{STYLE}</style></head>"
    return f"{head}\n<body><h1>{heading}</h1>\n{body}\n</body></html>\n"
