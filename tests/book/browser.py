"""What a browser finds in a folder of pages: errors, requests, links that lead nowhere, and what axe finds."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

KINDS = (
    *(
        "index",
        "ledger.html#topic=noisy_keys&verdict=REFUTED",
        "open",
        "conformance",
        "sources/index",
        "homeworks/blog",
    ),
    *("claims/two-heads-error", "questions/two_heads_hedge", "labs/knowledge", "labs/captions", "api/counting"),
    *("sources/choromanski-et-al-2021", "docs/mathematics/positions", "search"),
)
"""One page of each kind, and no longer than its kind needs: axe takes a minute for the whole ledger."""

DARK = ("index", "claims/two-heads-error", "labs/knowledge")
"""Those whose colours are looked at on a dark page, too."""


def address(book: Path, name: str) -> str:
    """The address of a page, by its name without the ending."""
    page, mark, rest = name.partition(".html")
    return f"{(book / f'{page}.html').as_uri()}{rest if mark else ''}"


LINK = re.compile(r'<(?:a|img|link|script)\b[^>]*?\b(?:href|src)="([^"]*)"')
ANCHOR = re.compile(r'\bid="([^"]*)"')


def chromium() -> str:
    """The path of the browser. Where there is none the test is skipped, but CI has to have one."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None and os.environ.get("CI"):
        pytest.fail("CI installs chromium (.ci/run), and there is none: the book was not opened")
    if found is None:
        pytest.skip("NO BROWSER: the pages of the book are not opened; apt-get install chromium")
    return found


FOCUSED = """() => {
  const at = document.activeElement, style = getComputedStyle(at);
  const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  return [at.id || at.name || at.textContent.trim().slice(0, 30), seen, at.matches(".tokens button")];
}"""
"""What has the focus of the keyboard: its name, whether that is to be seen, whether it is a token."""


def walked(page: Page, keys: int) -> list[tuple[str, bool, bool]]:
    """What has the focus after each press of Tab."""
    found = []
    for _ in range(keys):
        page.keyboard.press("Tab")
        found.append(tuple(page.evaluate(FOCUSED)))
    return found


def serious(page: Page) -> list[tuple[str, str]]:
    """The serious violations that axe finds: the rule and the first node that breaks it.

    What passes is not collected, and styles are not loaded a second time.
    """
    found = Axe().run(page, options={"resultTypes": ["violations"], "preload": False}).response["violations"]
    broken = [each for each in found if each["impact"] in ("serious", "critical")]
    return [(each["id"], each["nodes"][0]["html"][:200]) for each in broken]


ASKED = re.compile(
    r'<(?!a\b)\w+\b[^>]*?\b(?:href|src|srcset|data|action)="((?:\w+:)?//[^"]*)"|url\(["\']?((?:\w+:)?//[^)]*)\)'
)


def asking(book: Path) -> Iterator[str]:
    """What pages and styles load from elsewhere, as far as the text tells. A link that somebody clicks is none."""
    for path in (*book.rglob("*.html"), *book.rglob("*.css")):
        for found in ASKED.finditer(path.read_text("utf-8")):
            yield f"{path.relative_to(book)}: {found[1] or found[2]}"


def leading_nowhere(book: Path) -> Iterator[str]:
    """Links inside the book whose page, file or anchor does not exist."""
    texts = {path: path.read_text("utf-8") for path in book.rglob("*.html")}
    anchors = {path: {*ANCHOR.findall(text), ""} for path, text in texts.items()}
    for path, text in texts.items():
        for link in dict.fromkeys(LINK.findall(text)):
            target, _, anchor = link.partition("#")
            target = target.partition("?")[0]
            if re.match(r"[a-z]+:", link):
                continue
            there = Path(os.path.normpath(path.parent / target)) if target else path
            if not there.is_file():
                yield f"{path.relative_to(book)}: {link} leads nowhere"
            elif anchor and "=" not in anchor and there in anchors and anchor not in anchors[there]:
                yield f"{path.relative_to(book)}: {link} names nothing of its page"
