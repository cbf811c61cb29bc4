"""The page of a run says what its JSON says, and a README.md of somebody else stays."""

import re
from pathlib import Path

import pytest

from attnlab_theory.labs import page
from attnlab_theory.labs.estimates import Estimate
from attnlab_theory.labs.terms import of_records
from attnlab_theory.stats import Interval

ROOT = Path(__file__).parents[2]
APART = ("heads", "heads/all_reviews", "reviews/sst2_search")
"""Folders whose runs nobody judges again; `test_committed_verdicts.py` looks at the pages of all others."""


@pytest.mark.slow("the page of the mixers, written again, stays inside")
def test_the_page_of_a_folder_says_what_its_json_says(subtests):
    for name in APART:
        with subtests.test(name):
            folder = ROOT / "figures" / name
            assert (folder / page.NAME).read_text("utf-8") == page.text(folder)


def test_a_page_of_somebody_else_stays(tmp_path, capsys):
    (tmp_path / page.NAME).write_text("# Mine\n")
    page.write(tmp_path)
    assert (tmp_path / page.NAME).read_text() == "# Mine\n"
    assert "stays as it is" in capsys.readouterr().err


def test_a_page_of_attnlab_is_written_again(tmp_path):
    for path in (ROOT / "figures" / "mixers").glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / page.NAME).write_text(f"{page.MARK}\nan earlier run\n")
    page.write(tmp_path, ["Nine statements share one rate."])
    written = (tmp_path / page.NAME).read_text("utf-8")
    assert "an earlier run" not in written
    assert "* Nine statements share one rate." in written
    assert "| additive | 0.0005 ± 0.0024 |" in written


def test_a_long_table_is_its_least_median_and_greatest():
    text = (ROOT / "figures" / "heads" / page.NAME).read_text("utf-8")
    assert "| accuracy lost | layer, head | 72 |" in text
    assert "| `the-head-is-needed` | Without the head fewer labels are right. | 72 | – | INCONCLUSIVE |" in text


def test_every_word_that_is_explained_is_on_a_page():
    pages = [path.read_text("utf-8") for path in (ROOT / "figures").rglob(page.NAME)]
    rows = [(lab, f"| {term} | {said} |") for lab, terms in of_records().items() for term, said in terms.items()]
    assert len(rows) > 100
    missing = [f"{lab}: {row}" for lab, row in rows if not any(row in text for text in pages)]
    assert not missing, "\n".join(missing)


def test_a_share_that_may_have_been_cut_is_printed_by_its_ends():
    text = (ROOT / "figures" / "knowledge" / page.NAME).read_text("utf-8")
    row = "| `pretraining-is-recalled` | variant vanilla, group held-out | ≥ 0.1 | 0.77 … 1 | SUPPORTED |"
    assert row in text
    assert "| none | finetuned | 1 (no interval) |" in text


def columns(path):
    """The cells of every column of numbers on a page."""
    for block in re.findall(r"(?:^\|.*\n)+", path.read_text("utf-8"), flags=re.MULTILINE):
        _, aligned, *rows = [line.strip("|").split("|") for line in block.splitlines()]
        for number, column in enumerate(zip(*(row for row in rows), strict=True)):
            if aligned[number] == "--:":
                yield column


def test_a_column_of_numbers_has_one_notation_for_intervals():
    pages = sorted((ROOT / "figures").rglob(page.NAME))
    assert len(pages) > 10
    told = [
        (path.parent.name, column, {"±" in cell for cell in column if "±" in cell or "…" in cell})
        for path in pages
        for column in columns(path)
    ]
    mixed = [str(each) for each in told if len(each[-1]) > 1]
    assert not mixed, "\n".join(mixed)


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        (0.9333333, 0.8632, 1.0, "0.93 (0.86 … 1)"),
        (0.02, 0.0, 0.04698, "0.020 (0 … 0.047)"),
        (1.825e-14, 1.274e-14, 2.614e-14, "1.8e-14 (1.3e-14 … 2.6e-14)"),
        (0.923, 0.9104, 0.9343, "0.923 (0.910 … 0.934)"),
        (3528.0, 100.0, 107400.0, "3528 (100 … 1.1e+05)"),
    ],
)
def test_an_interval_has_two_digits(value, low, high, said):
    interval = Interval(low, high)
    estimate = Estimate(
        quantity="q", setting={}, value=value, interval=interval, draws=5, bound="t", error_rate=0.05
    )
    assert page._number(estimate, by_ends=True) == said


def test_a_page_says_which_intervals_are_wrong_less_often_than_the_others():
    rates = {"test loss": 0.05, "loss above the grammar": 1e-6}
    measured = [
        Estimate(
            quantity=name, setting={}, value=0.5, interval=Interval(0.0, 1.0), draws=5, bound="t", error_rate=rate
        )
        for name, rate in rates.items()
    ]
    said = "\n".join(page._of_error_rates(measured))
    assert said.endswith("at most 5% of runs. These are wrong in at most 0.0001%: loss above the grammar.")
