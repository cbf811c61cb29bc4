"""The pages of the book as Markdown: what stands on them, in which order, and what if a run is missing."""

import dataclasses
import json
import re
from pathlib import Path

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser

from attnlab_theory.answers.declarations import declared
from attnlab_theory.book import claim_page, formulas, lab_pages, pages, plots, runs, source_pages, sphinx
from attnlab_theory.book.catalogue import Catalogue
from attnlab_theory.book.desk import Desk, alternative_of
from attnlab_theory.book.documents import Documents
from attnlab_theory.claims import CLAIMS, Findings
from attnlab_theory.cli import library
from attnlab_theory.museum import BUGS
from attnlab_theory.report.record import read_findings
from attnlab_theory.stats import Interval
from tests.report.test_record import FINDING

ROOT = Path(__file__).parents[2]


def book_of(found):
    labs = {**library.labs(), "heads": library.heads()}
    catalogue = Catalogue(ROOT, library.experiments(), labs, found)
    documents = Documents(ROOT, {item.name: item.page for item in catalogue.items}.get)
    return catalogue, Desk(catalogue, documents, "attnlab report")


@pytest.fixture(scope="module")
def book():
    """The committed results."""
    names = [experiment.name for experiment in library.experiments()]
    return book_of(runs.read([ROOT / "figures"], names, [*library.labs(), "heads"], declared()[0]))


def test_the_page_of_a_claim_tells_everything_in_this_order(book):
    """Loads every experiment and lab."""
    catalogue, desk = book
    page = claim_page.written(desk, catalogue.by_name["two-heads-error"])
    assert re.findall("^## (.+)$", page, flags=re.MULTILINE) == [
        *("What it is about", "Hypotheses", "Predicted and measured", "At every setting", "Rival and foils"),
        *("Derivation", "Source code", "The command", "How to cite it"),
    ]
    derivation = catalogue.sections["noisy_keys", "two-heads-hedge"].text
    for part in (
        "predicted 0.02468, measured 0.0247 ± 0.0025",
        "bounded: draws lie in [0, 1.5001]",
        "They err half as much as one head of the same strength.",
        derivation.split(". ")[0],
        "def two_heads_error(",
        "attnlab run two_heads_hedge::two-heads-error --budget full --seed 0",
        "attnlab:two-heads-error",
        "@misc{attnlab-two-heads-error",
    ):
        assert part in page
    told = json.loads(desk.data["claims/two-heads-error.json"])
    assert len(told["findings"]) == len(catalogue.by_name["two-heads-error"].findings) == 9


def test_a_run_that_is_missing_is_shown_as_missing_with_its_command():
    catalogue, desk = book_of(runs.Runs(every={}))
    page = claim_page.written(desk, catalogue.by_name["two-heads-error"])
    assert "attnlab run two_heads_hedge::two-heads-error</code> makes what is missing" in page
    front = pages.front(desk)
    assert "two_heads_hedge: <code>attnlab run two_heads_hedge</code>" in front
    assert "knowledge: <code>attnlab knowledge run</code>" in front


def test_damaged_curves_and_weights_of_a_lab_are_named_and_left_out(book, tmp_path):
    catalogue, desk = book
    for name in ("curves.json", "attention.json"):
        (tmp_path / name).write_text("[{")
    run = dataclasses.replace(catalogue.runs.every["knowledge"], folder=tmp_path)
    shown = "".join(lab_pages.seen(desk, run))
    assert "Learning curves" in "".join(lab_pages.seen(desk, catalogue.runs.every["knowledge"]))
    assert (shown, [line.split(" is not JSON")[0] for line in desk.problems]) == (
        "",
        [str(tmp_path / name) for name in ("curves.json", "attention.json")],
    )


def test_the_viewer_has_every_head_that_was_measured_and_the_maps_that_were_kept():
    place = {"variant": "rope", "layer": 2}
    maps = [{**place, "head": 1, "characters": "ab", "weights": [[1.0], [0.5, 0.5]]}, {"head": []}]
    told = [{"quantity": lab_pages.LOOKED_UP, "setting": {**place, "head": h}, "value": 0.25 * h} for h in (1, 2)]
    strange = [{"quantity": lab_pages.LOOKED_UP, "setting": 1}, {"quantity": "accuracy", "setting": place}, {}]
    first, second, unknown = lab_pages.heads_of(maps, [*told, *strange])
    (kept,) = first["maps"]
    assert (first["mean"], kept["tokens"], kept["weights"]) == (0.25, ["a", "b"], [[1.0], [0.5, 0.5]])
    assert (second["head"], second["mean"], "maps" in second) == ("2", 0.5, False)
    twice = lab_pages.heads_of([{**maps[0], "name": name} for name in ("Ada", "Bo")], [])
    assert [[kept["name"] for kept in head["maps"]] for head in twice] == [["Ada", "Bo"]]
    assert (unknown["head"], unknown["mean"]) == ("[]", None)


def test_a_paper_lists_the_claims_that_name_it_and_where(book):
    _, desk = book
    page = dict(source_pages.written(desk))["sources/choromanski-et-al-2021.md"]
    assert "What of arXiv 2009.14794 was checked" in page
    named = [claim.name for claim in CLAIMS if "Choromanski et al. 2021" in claim.source]
    assert named
    assert all(f"../claims/{name}.html" in page for name in named)


def test_every_claim_and_statement_has_a_page_of_its_own(book):
    catalogue, _ = book
    pages = [item.page for item in catalogue.items]
    assert len(pages) == len(set(pages))
    assert {claim.name for claim in CLAIMS} <= set(pages)


def test_what_fresh_seeds_decide_is_told_by_them(book):
    catalogue, _ = book
    (item,) = [item for item in catalogue.items if item.earlier and item.lab == "captions"][:1]
    assert all(f in item.run.fresh for f in item.findings if f.setting in [e.setting for e in item.earlier])
    unexpected = [f for each in catalogue.items for f in each.findings if not f.as_expected]
    assert {f.verdict for f in unexpected} <= {"INCONCLUSIVE"}


def test_every_formula_of_claims_and_of_the_mathematics_is_drawn(subtests):
    texts = {claim.name: claim.statement for claim in CLAIMS}
    texts |= {path.name: path.read_text("utf-8") for path in (ROOT / "docs" / "mathematics").glob("*.md")}
    for name, text in texts.items():
        with subtests.test(name):
            found = re.findall(
                r"\$\$(.+?)\$\$|\$([^$\n]+?)\$", re.sub("```.*?```|`[^`]*`", "", text, flags=re.DOTALL), re.DOTALL
            )
            assert [f for f in map("".join, found) if not formulas.mathml(f).startswith("<math")] == []


def test_the_alternative_text_of_a_figure_is_the_finding_that_its_title_states():
    figures = ROOT / "figures"
    assert alternative_of(figures / "two_heads_hedge.svg") == (
        "Two heads hedge: their output is near the wanted average in 89 % of problems, that of one head in 1.5 %"
    )
    short = [path.name for path in figures.glob("*.svg") if len(alternative_of(path).split()) < 4]
    assert short == []


def test_a_picture_has_a_line_for_what_was_predicted_and_an_interval_for_each_measurement():
    found = read_findings(ROOT / "figures" / "two_heads_hedge.json").of("two-heads-error")
    picture = plots.picture(found, "<what> it shows")
    assert (picture.count('class="line"'), picture.count('class="interval"')) == (1, len(found))
    assert 'aria-label="&lt;what&gt; it shows"' in picture


@pytest.mark.parametrize(
    "value", [10**400, -1e308, True, "x", None], ids=["huge", "low", "bool", "text", "nothing"]
)
def test_a_picture_is_drawn_of_whatever_a_file_holds(value):
    wide = dataclasses.replace(FINDING, predicted=Interval(-1e308, 1e308), setting={"x": value, "y": 1.0})
    assert "<svg" in plots.picture(Findings([wide, dataclasses.replace(FINDING, setting={"x": 2.0, "y": 3})]), "")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[a](limits.md#bounded-scores-disperse)", "[a](../docs/mathematics/limits.md#bounded-scores-disperse)"),
        ("[a](#two-heads-hedge)", "[a](../docs/mathematics/noisy_keys.md#two-heads-hedge)"),
        ("`two-heads-error`", "[`two-heads-error`](two-heads-error.md)"),
        ("`not-a-claim`", "`not-a-claim`"),
        ("![a](../../figures/copying.png)", '<img class="figure" src="../figures/copying.svg" alt="a">'),
        ("[a](../../figures/knowledge)", "[a](../figures/knowledge/README.md)"),
        ("[a](../../attnlab_theory/axes.py)", '<a href="../attnlab_theory/axes.py">a</a>'),
        ("[a](../../absent.py)", "a"),
        ("```\n[a](limits.md)\n```", "```\n[a](limits.md)\n```"),
        ("[a](https://arxiv.org)", "[a](https://arxiv.org)"),
    ],
)
def test_links_of_a_document_lead_to_pages_of_the_book(text, told):
    documents = Documents(ROOT, {"two-heads-error": "two-heads-error"}.get)
    assert documents.moved(text, "docs/mathematics/noisy_keys.md", "claims/x.md") == told


def test_a_figure_that_a_document_shows_too_is_one_file_however_its_folder_is_named(monkeypatch):
    monkeypatch.chdir(ROOT)
    committed = runs.read([Path("figures")], ["two_heads_hedge"], [], {})
    _, desk = book_of(committed)
    assert desk.figure(committed.every["two_heads_hedge"], "two_heads_hedge")[0] == "figures/two_heads_hedge.svg"


def test_the_committed_museum_has_every_bug():
    told = json.loads((ROOT / "figures" / "museum" / "museum.json").read_text("utf-8"))
    assert [bug["name"] for bug in told["bugs"]] == [bug.name for bug in BUGS]


def test_nodes_below_come_in_the_order_of_docutils_and_settings_are_nobody_elses():
    """What is made once for all pages may not join two of them: pages of the API once held all before them."""
    tree = publish_doctree("A *b* c\n\n* d\n* e **f**\n\n:g: h\n")
    for kind in (nodes.Node, nodes.Text, nodes.paragraph):
        # A condition that is no class takes the slow way through docutils.
        assert [*sphinx.nodes_below(tree, kind)] == [*tree.findall(lambda node, kind=kind: isinstance(node, kind))]
    settings = sphinx.copied(get_default_settings)
    first, second = settings(Parser), settings(Parser)
    assert vars(first).keys() == vars(get_default_settings(Parser)).keys()
    first.tab_width, first.record_dependencies.list = 3, ["a"]
    assert (second.tab_width, second.record_dependencies.list) == (8, [])


def test_words_before_a_colon_are_no_type_of_a_constant():
    lines = ["Every claim. The list is written by hand: no folder is searched.", ""]
    sphinx.as_it_is(None, "data", "CLAIMS", None, None, lines)
    assert lines == ["Every claim. The list is written by hand:", "no folder is searched.", ""]


def broken(value, schema, whole, at="claims.json"):
    """Where a value is not as a JSON Schema says, for the words that ours uses. It knows no others."""
    schema = whole["$defs"][schema["$ref"].removeprefix("#/$defs/")] if "$ref" in schema else schema
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "null": type(None)}
    for word, told in schema.items():
        match word:
            case "const" | "enum":
                fits = value in (told if word == "enum" else [told])
            case "type":
                known = [kinds.get(name, (int, float)) for name in ([told] if isinstance(told, str) else told)]
                fits = any(isinstance(value, kind) for kind in known) and (value is not True or bool in known)
            case "required":
                fits = set(told) <= set(value)
            case "additionalProperties":
                fits = set(value) <= set(schema["properties"])
            case "properties":
                fits = True
                for name in set(told) & set(value):
                    yield from broken(value[name], told[name], whole, f"{at}.{name}")
            case "items":
                fits = True
                for number, each in enumerate(value):
                    yield from broken(each, told, whole, f"{at}[{number}]")
            case "anyOf":
                fits = any(not [*broken(value, each, whole)] for each in told)
            case "minItems" | "minimum":
                fits = (len(value) if word == "minItems" else value) >= told
            case "maxItems" | "maximum":
                fits = (len(value) if word == "maxItems" else value) <= told
            case "pattern":
                fits = re.search(told, value) is not None
            case _:
                fits = word in {"description", "title", "$schema", "$defs"}
        if not fits:
            yield f"{at} has not the {word} {told!r:.60}"
            if word in {"type", "required"}:
                return


def test_the_claims_as_json_are_what_their_schema_says(book):
    _, desk = book
    claim_page.tell_all(desk)
    told, schema = (json.loads(desk.data[name]) for name in ("claims.json", "claims.schema.json"))
    assert schema["properties"]["schema"]["const"] == told["schema"] == claim_page.SCHEMA
    assert [*broken(told, schema, schema)][:5] == []
    of_labs = next(each for each in told["claims"] if any("control" in f for f in each["findings"]))
    for change in ({"verdict": 1}, {"more": ""}, {"findings": [{}]}, {"expect": "TRUE"}, {"id": "x"}):
        assert [*broken({**told, "claims": [{**of_labs, **change}]}, schema, schema)] != [], change


def test_every_section_of_a_claim_begins_with_two_sentences_of_intuition(book, subtests):
    catalogue, desk = book
    for claim in CLAIMS:
        item = catalogue.by_name[claim.name]
        section = catalogue.sections[item.section]
        with subtests.test(claim.name):
            sentences = re.split(r"(?<=[.?!]) ", section.intuition)
            assert len(sentences) == 2
            assert max(len(sentence.split()) for sentence in sentences) <= 30
            assert "**Intuition" not in section.text
    page = claim_page.written(desk, catalogue.by_name["two-heads-error"])
    assert page.count("Each head asks for one key alone, so noise has nothing to compare.") == 1
