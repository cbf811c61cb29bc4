"""Every number on the long pages is one that a record holds, or theory gives, rounded as it stands there.

This sees a page that quotes another run than the committed one. It does not see every wrong digit: records hold
so many numbers that three of four wrong ones have a neighbour there by chance. Whole numbers up to twenty are left
out.
"""

import bisect
import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from attnlab_theory.theory.features.estimator import Estimator
from attnlab_theory.theory.features.phase import variance_per_feature
from attnlab_theory.theory.sparse import hearing

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "figures"
SMALL = 20

LABS: Mapping[str, tuple[str, ...]] = {
    "captions": ("captions",),
    "heads": ("heads",),
    "knowledge": ("knowledge", "birthplaces"),
    "mixers": ("mixers",),
    "recurrent": ("recurrent",),
    "reviews": ("reviews",),
}
"""The folders of figures that the long page of a lab tells of."""

OF_LOGARITHMS = ("captions", "heads", "mixers", "recurrent")
"""Pages on which perplexities and products stand, and records hold their logarithms."""

EXCEPTIONS: Mapping[str, Mapping[str, str]] = {
    "captions": {
        "166": "minutes: `seconds` of captions.run.json",
        "768": "the homework's width",
        **dict.fromkeys(("15,000", "15.31", "15.46"), "published"),
    },
    "heads": {"61": "how many of the intervals of heads.estimates.json lie above zero"},
    "knowledge": {
        **dict.fromkeys(("493", "467", "432", "426"), "tests/labs/knowledge/corpora/test_labels.py"),
        "3,290,624": "parameters of the homework's network",
    },
    "mixers": {
        "124": "seconds, with the commit that took them",
        "24": "steps that were timed",
        "71": "how many findings of mixers.json are about no training",
        "61,530": "sentences of the homework's training file, in the homework's own report",
        "12,216": "sentences of the file that the page names",
        "26,602": "tests/language/text/test_words.py",
    },
    "heads of the mathematics": dict.fromkeys(("198", "186"), "of 200: tests/labs/heads/test_own_means.py"),
    "precision of the mathematics": {
        "448": "the largest number of e4m3",
        "29,128": "the least n above 2^10 c (1/w - 1) at c = 256 and w = 0.9",
        "6.914": "the integral beside it, at d = 64",
    },
    "selection of the mathematics": {"131,040": "32 times 4,095"},
    "sharpness of the mathematics": dict.fromkeys(("513", "21,885"), "ln 2 / -ln Phi, at 3 and at 4"),
    "sinks of the mathematics": {"54.6": "e^4"},
    "recurrent": {
        "1,115,394": "characters of the file that the page names",
        "5,887": "characters of the homework's novels, in its report",
        "2.058": "an end of a t interval over three seeds of tuning.json",
        "2.099": "the same",
    },
    "reviews": {
        "6,920": "reviews of the file that the page names",
        "872": "the same",
        "195": "verdicts apart: 192 and 3 in fresh/rmsprop/reviews.run.json",
        "57": "tests/labs/reviews: the shape of the homework's first batch",
        "45": "the same",
        "1,722": "of 1,821, in the homework's report",
        "512": "places of the homework's model",
        **dict.fromkeys(("174,457", "222,720", "297,856", "410,112"), "experiments/labs/review_batches.py"),
        "226": "seconds, beside which the page says how they were taken",
    },
}
"""Numbers of no record, and where they come from."""


def numbers_of(x: Any) -> Iterator[float]:
    """All numbers of a record, those in its texts included."""
    match x:
        case bool() | None:
            return
        case int() | float():
            yield abs(float(x))
        case str():
            yield from (float(each.replace(",", "")) for each in re.findall(r"\d[\d,]*(?:\.\d+)?", x))
        case dict():
            for value in x.values():
                yield from numbers_of(value)
        case list():
            for value in x:
                yield from numbers_of(value)


@cache
def written(folders: tuple[str, ...]) -> list[float]:
    """What the records of some folders hold, in order."""
    found = set[float]()
    for folder in folders:
        for path in (FIGURES / folder).rglob("*"):
            if path.suffix == ".json":
                found.update(numbers_of(json.loads(path.read_text("utf-8"))))
            elif path.name == "README.md":
                found.update(numbers_of(path.read_text("utf-8")))
    return sorted(x for x in found if math.isfinite(x))


@cache
def computed() -> list[float]:
    """What the records of experiments hold, and what theory gives of it in other units."""
    found = {x for path in FIGURES.glob("*.json") for x in numbers_of(json.loads(path.read_text("utf-8")))}
    found |= {x for path in (FIGURES / "heads").rglob("*.json") for x in numbers_of(json.loads(path.read_text()))}
    found |= {variance_per_feature(e, square, 0.0, d=16) for e in Estimator for square in (4.0, 8.0)}
    heard = json.loads((FIGURES / "bigbird_reach.json").read_text("utf-8"))
    for blocks, links, layers in ((64, 2, 2), (1500, 1, 6), (4096, 2, 5)):
        found.add(hearing.most_heard(links, layers))
        found |= {blocks * x for x in hearing.share_heard(blocks, links, layers)}
        found.add(blocks * hearing.share_heard_if_all_meet_by_chance(blocks, links, layers))
        found |= {
            blocks * x
            for finding in heard
            if finding["setting"].get("blocks") == blocks and finding["claim"] == "random-heard"
            for x in finding["measured"]
        }
    return sorted(x for x in found if math.isfinite(x))


def stands_in(number: str, known: list[float], *, logarithms: bool = False) -> bool:
    """Whether a number is some record's, rounded as it stands there.

    Args:
        number: as the page writes it; with a % after it, a share of one may be meant, or what is missing of it.
        known: what the records hold, in order.
        logarithms: whether its logarithm may be what was recorded.
    """
    plain = number.removesuffix("%").replace(",", "")
    decimals = len(plain.partition(".")[2])
    zeros = len(plain) - len(plain.rstrip("0")) if not decimals else 0
    x, half = float(plain), 0.5 * 10.0 ** (zeros - decimals) + 1e-9
    ends = [(x - half, x + half)]
    if number.endswith("%"):
        ends += [((x - half) / 100, (x + half) / 100), (1 - (x + half) / 100, 1 - (x - half) / 100)]
    if logarithms and x > half:
        low, high = sorted((math.log(x - half), math.log(x + half)), key=abs)
        ends.append((abs(low), abs(high)))
    return any((at := bisect.bisect_left(known, low)) < len(known) and known[at] <= high for low, high in ends)


def numbers_in(text: str) -> Iterator[str]:
    """The numbers of a page, but for those in code, formulas, links and dates; with a % where shares are told."""
    text = re.sub(r"\]\([^)]*\)|```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|commit \w+", "", text, flags=re.DOTALL)
    for part in re.split(r"(?<=\|)\n|\n\n|\.\s", text):
        share = "%" if "%" in part or "point" in part else ""
        for found in re.findall(r"(?<![\w.-])\d[\d,]*(?:\.\d+)?", part):
            number = found.rstrip(",")
            if "." in number or not (
                int(number.replace(",", "")) <= SMALL or 1900 <= int(number.replace(",", "")) < 2100
            ):
                yield number + share


@pytest.mark.slow("how a number is compared as it is rounded stays inside")
def test_numbers_of_a_labs_long_page_stand_in_its_records(subtests):
    for lab in LABS:
        with subtests.test(lab):
            known, exceptions = written(LABS[lab]), EXCEPTIONS.get(lab, {})
            numbers = {
                n
                for n in numbers_in((ROOT / "docs" / "labs" / f"{lab}.md").read_text("utf-8"))
                if not stands_in(n, known, logarithms=lab in OF_LOGARITHMS)
            }
            assert {n.removesuffix("%") for n in numbers} == exceptions.keys()


PAGES = sorted((ROOT / "docs" / "mathematics").glob("*.md"))


@pytest.mark.slow("how a number is compared as it is rounded stays inside")
def test_numbers_beside_the_mathematics_stand_in_a_record(subtests):
    for page in PAGES:
        with subtests.test(page.stem):
            numbers = {n for n in numbers_in(page.read_text("utf-8")) if not stands_in(n, computed())}
            assert numbers == EXCEPTIONS.get(f"{page.stem} of the mathematics", {}).keys()


@pytest.mark.parametrize(
    ("number", "known", "right"),
    [
        ("0.497", [0.4968], True),
        ("0.497", [0.497 / 100], False),
        ("0.497", [0.4961], False),
        ("93.8%", [0.9381], True),
        ("93.8%", [0.0619], True),
        ("178,000", [177_600.0], True),
        ("178,000", [178_600.0], False),
        ("0.640", [0.4463], True),
        ("481", [6.1758], True),
        ("481", [6.19], False),
    ],
)
def test_a_number_is_compared_as_it_is_rounded(number, known, right):
    assert stands_in(number, known, logarithms=True) == right


def test_code_formulas_and_dates_hold_no_findings():
    text = "`0.123` $4.56$ [page](0.789) 2019 commit 46184c0 17 heads, 0.25 of 1,821"
    assert [*numbers_in(text)] == ["0.25", "1,821"]
