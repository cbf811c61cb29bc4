"""What the documents promise: their code runs, their links lead somewhere, and the README is short."""

import html
import importlib.util
import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from attnlab_theory.cli import main
from attnlab_theory.report.record import read_findings
from attnlab_theory.report.table import claim_text, show, tallies

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")])

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def python_of(document: str) -> str:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / document).read_text("utf-8"), flags=re.DOTALL)
    return block


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("README.md", {"alike": "SUPPORTED"}),
        (
            "CONTRIBUTING.md",
            {
                "keys-that-are-alike-share-the-weight": "SUPPORTED",
                "a-strong-query-prefers-the-first-key": "REFUTED",
            },
        ),
    ],
)
def test_the_claims_that_a_document_shows_run_as_it_says(tmp_path, monkeypatch, capsys, document, expected):
    """Judges the claims of a document and draws their figures."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(python_of(document), "utf-8")
    assert main(["run", "mine.py", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {f["claim"]: f["verdict"] for f in found} == expected


@pytest.mark.slow("what is kept and replaced inside a model stays inside")
def test_the_code_that_looks_inside_a_model_prints_what_its_comments_say(capsys):
    """Makes a GPT and calls it twice, one operation of jax after the other."""
    code = python_of("docs/labs/heads.md")
    exec(code, {})
    promised = re.findall(r"^print\(.*\)  # (True|\([\d, ]+\))", code, flags=re.MULTILINE)
    assert len(promised) == 2
    assert capsys.readouterr().out.split("\n")[:-1] == promised


def test_the_claim_in_the_readme_takes_twelve_lines():
    assert len(python_of("README.md").strip().splitlines()) <= 12


def test_the_readme_shows_what_a_run_prints(capsys):
    (shown,) = re.findall(r"```\n(two-heads-.*?)```", (ROOT / "README.md").read_text("utf-8"), flags=re.DOTALL)
    # A quick run sees the same draws as the committed one as long as its verdicts fall as early.
    found = read_findings(ROOT / "figures" / "two_heads_hedge.json").of(shown.split()[0])
    (tally,) = tallies(found)
    show(claim_text(tally))
    assert capsys.readouterr().out == shown


def printed(experiment, claim, capsys):
    """What `attnlab run EXPERIMENT::CLAIM` prints of a claim."""
    (tally,) = tallies(read_findings(ROOT / "figures" / f"{experiment}.json").of(claim))
    show(claim_text(tally))
    return " ".join(capsys.readouterr().out.split())


def test_the_command_beside_a_finding_of_the_readme_prints_its_numbers(capsys, subtests):
    text = (ROOT / "README.md").read_text("utf-8")
    findings = text.partition("## Five findings")[2].partition("##")[0].split("\n* ")[1:]
    page = (ROOT / "docs" / "findings.md").read_text("utf-8")
    assert len(findings) == 5
    for said in findings:
        ((experiment, claim),) = re.findall(r"`attnlab run (\w+)::([\w-]+)`", said)
        with subtests.test(claim):
            numbers = re.findall(r"\d+\.\d+", said)
            assert numbers
            assert set(numbers) <= set(re.findall(r"\d+\.\d+", printed(experiment, claim, capsys)))
            assert set(numbers) <= {*re.findall(r"\d+\.\d+", page)} | {"0.3774"}
            # Each has a rival that is refuted, or is one.
            for finding in read_findings(ROOT / "figures" / f"{experiment}.json").of(claim):
                rival = finding.rival.verdict if finding.rival else finding.verdict
                assert rival == "REFUTED"


def words():
    """The script that writes the words of today into what is committed."""
    spec = importlib.util.spec_from_file_location("words", ROOT / "experiments" / "labs" / "words.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_committed_findings_say_what_their_claims_say_today():
    script = words()
    found = script.stated(ROOT / "figures")
    assert len(found) > 30
    for path, stated in found.items():
        rows = json.loads(path.read_text("utf-8"))
        assert rows == script.renewed(rows, stated), path


def test_committed_figures_of_labs_have_the_titles_of_today():
    """Those of heads take too long to draw, and titles with formulas are no text in an SVG file."""
    compared = 0
    for folder, figures in words().drawn(ROOT / "figures").items():
        for name, draw in figures.items():
            if draw is None or "heads" in folder.parts:
                continue
            figure = draw()
            title = " ".join(figure.get_suptitle().split())
            plt.close(figure)
            comments = re.findall(r"<!-- (.*?) -->", (folder / f"{name}.svg").read_text("utf-8"), flags=re.DOTALL)
            if "$" not in title:
                assert html.escape(title, quote=False) in " ".join(" ".join(comments).split()), (folder, name)
                compared += 1
    assert compared > 30


def test_the_readme_has_at_most_800_words():
    assert len((ROOT / "README.md").read_text("utf-8").split()) <= 800


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text("utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def test_every_link_inside_the_repository_leads_somewhere():
    assert len(DOCUMENTS) > 30
    wrong = []
    for document in DOCUMENTS:
        for link in LINK.findall(document.read_text("utf-8")):
            if link.startswith(("http://", "https://", "mailto:")):
                continue
            path, _, anchor = link.partition("#")
            target = document if not path else document.parent / path
            if not target.exists():
                wrong.append(f"{document.relative_to(ROOT)}: {link} leads nowhere")
            elif anchor and anchor not in anchors(target):
                wrong.append(f"{document.relative_to(ROOT)}: {link} names no heading of {target.name}")
    assert not wrong, "\n".join(wrong)
