"""`attnlab list --source` finds claims by paper: every paper of the sources by its number, and nothing else."""

import json
import re
from pathlib import Path

import pytest

from attnlab_theory.claims import CLAIMS
from attnlab_theory.claims.sources import cited
from attnlab_theory.cli import citations, main

SOURCES = (Path(__file__).parents[2] / "docs" / "sources.md").read_text("utf-8")


def found(capsys, name):
    """The names of the claims that cite it."""
    assert main(["list", "--json", "--source", name]) == 0
    return {claim["name"] for experiment in json.loads(capsys.readouterr().out) for claim in experiment["claims"]}


@pytest.mark.parametrize("name", ["arxiv:2505.06708", "arXiv:2505.06708v2", "Qiu et al. 2025", "qiu et al. 2025"])
def test_a_paper_is_found_by_its_number_and_by_its_heading(capsys, name):
    assert found(capsys, name) == {"a-gate-adds-no-dimension", "the-gate-lifts-the-rank"}


def test_a_question_is_found_as_it_is_cited(capsys):
    cite = {claim.name for claim in CLAIMS if "cs224n/1a.ii" in dict(cited(claim.source))}
    assert cite <= found(capsys, "cs224n/1a.ii")
    assert cite


def test_every_number_in_the_sources_leads_to_its_heading():
    known = citations.headings()
    for section in SOURCES.split("\n## ")[1:]:
        for number in re.findall(r"arXiv:(\d{4}\.\d{4,5})", section):
            assert known[f"arxiv:{number}"] == section.partition("\n")[0]


def test_a_paper_that_no_claim_cites_gives_one_line(capsys, monkeypatch):
    monkeypatch.setattr(citations, "headings", lambda: {"nobody 1900": "Nobody 1900"})
    assert main(["list", "--source", "Nobody 1900"]) == 0
    assert capsys.readouterr().out == "no claim cites Nobody 1900\n"


@pytest.mark.parametrize(
    ("name", "nearest"), [("arxiv:2505.06709", "arxiv:2505.06708"), ("Qiu et al 2025", "Qiu et al. 2025")]
)
def test_an_unknown_source_ends_with_two_and_the_nearest(capsys, name, nearest):
    assert main(["list", "--source", name]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"no source is called {name!r}; did you mean {nearest}?" in err
