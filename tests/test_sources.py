"""Every source resolves: to a section of the mathematics, to an entry of the sources, or to a homework question."""

import re
from pathlib import Path

import pytest

from attnlab_theory.answers.questions import chosen
from attnlab_theory.claims import CLAIMS, Verdict
from attnlab_theory.claims.sources import sentences
from attnlab_theory.identities import IDENTITIES
from tests.test_documents import anchors

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

SECTION = re.compile(r"mathematics/(\w+)\.md#([\w-]+)")
CITED = re.compile(r"docs/(mathematics/\w+\.md)(?:#([\w-]+))?")
UNRESOLVED = re.compile(
    r"\b[Cc]laims? [A-J]\.\d|\b(?:bound|section) [A-J](?:\.\d+| of the claims)|\((?:[A-J]\.\d+(?:, )?)+\)"
    r"|\bseed 00\d|\bblog (?:one|two|three|four|five|multi|single|variance)\b"
)
"""References to texts that are not in this repository."""


def papers() -> set[str]:
    return set(re.findall(r"^## (.+)$", (DOCS / "sources.md").read_text("utf-8"), flags=re.MULTILINE))


def sections(topic: str) -> dict[str, str]:
    """Anchor to text, of one file of the mathematics."""
    text = (DOCS / "mathematics" / f"{topic}.md").read_text("utf-8")
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", h.strip().lower()).replace(" ", "-"): t
        for h, t in zip(parts[1::2], parts[2::2], strict=True)
    }


PAPERS = papers()
QUESTIONS = {entry.id for entry in chosen("")}


def unresolved(source: str) -> list[str]:
    """The parts of a source that name nothing that can be looked up."""
    wrong = []
    for part in source.split("; "):
        named = part.split(",")[0].strip()
        section = SECTION.fullmatch(named)
        if section:
            topic, anchor = section.groups()
            known = (DOCS / "mathematics" / f"{topic}.md").exists() and anchor in sections(topic)
        else:
            known = named in PAPERS or named in QUESTIONS
        if not known:
            wrong.append(part)
    return wrong


def test_every_part_of_every_source_resolves():
    sources = {each.name: each.source for each in [*CLAIMS, *IDENTITIES]}
    assert len(sources) == len(CLAIMS) + len(IDENTITIES)
    found = [f"{name}: {part}" for name, source in sources.items() for part in unresolved(source)]
    assert not found, "\n".join(found)


def test_a_claim_is_stated_in_the_section_that_it_names(subtests):
    for claim in CLAIMS:
        with subtests.test(claim.name):
            (named,) = [SECTION.match(part) for part in claim.source.split("; ") if part.startswith("mathematics/")]
            assert named is not None
            topic, anchor = named.groups()
            assert f"`{claim.name}`" in sections(topic)[anchor]
            assert topic == claim.kind.__module__.split(".")[2]


def listed(section: str) -> tuple[set[str], set[str]]:
    """The claims and the foils that a section lists."""
    names = re.search(r"^(Claims|Foils): .*?(?=^Sources:|\Z)", section, flags=re.MULTILINE | re.DOTALL)
    assert names is not None
    claims, _, foils = re.sub("^Foils:", "Claims: foils:", names[0]).partition("foils:")
    return set(re.findall(r"`([\w-]+)`", claims)), set(re.findall(r"`([\w-]+)`", foils))


def test_a_section_lists_claims_as_claims_and_foils_as_foils(subtests):
    for claim in CLAIMS:
        with subtests.test(claim.name):
            named = SECTION.match(claim.source)
            assert named is not None
            claims, foils = listed(sections(named[1])[named[2]])
            assert (claim.name in claims, claim.name in foils) == (
                claim.expect == Verdict.SUPPORTED,
                claim.expect == Verdict.REFUTED,
            )


def test_every_foil_stands_beside_the_sentence_of_its_source_that_it_judges():
    """`docs/sources.toml` has a sentence for each foil with a source, and claims that name the source judge it."""
    said = sentences(DOCS / "sources.toml")
    named = {c.name: {part.split(",")[0].split("/")[0].strip() for part in c.source.split("; ")} for c in CLAIMS}
    lost = [
        (each.source, name) for each in said for name in each.judged_by if each.source not in named.get(name, ())
    ]
    assert lost == []
    judged = {name for each in said for name in each.judged_by}
    foils = {claim.name for claim in CLAIMS if claim.expect == Verdict.REFUTED and named[claim.name] & PAPERS}
    assert foils - judged == set()


def test_a_sentence_whose_words_are_nobodys_is_refused(tmp_path):
    path = tmp_path / "sources.toml"
    strange = ('wording = "rumour"', 'wording = "reading", page = 3', 'wording = "reading", compared = "copy"')
    for wrong in strange:
        path.write_text(f'said = [{{source = "Hu", text = "So.", judged_by = [], {wrong}}}]')
        told = r"sources\.toml does not say what sources say: .*(rumour|page|a reading)"
        with pytest.raises(ValueError, match=told):
            sentences(path)


def test_a_source_that_leads_nowhere_is_noticed():
    assert unresolved("mathematics/selecting.md#no-such-section; Nobody 1900, p. 3; cs224n/9z; claims B.2") == [
        "mathematics/selecting.md#no-such-section",
        "Nobody 1900, p. 3",
        "cs224n/9z",
        "claims B.2",
    ]


FOLDERS = ("attnlab_theory", "board", "experiments", "tests", "benchmarks", "docs")


def texts() -> dict[str, str]:
    """Every text that people read, by its path, but for this file."""
    paths = [*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))]
    written = [p for p in paths if p.suffix in {".py", ".toml", ".md"} and p != Path(__file__)]
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in written}


def test_nothing_cites_what_is_not_in_the_repository():
    """Reads every text of the repository."""
    found = {path: UNRESOLVED.findall(text) for path, text in texts().items()}
    assert {path: names for path, names in found.items() if names} == {}


def test_every_section_that_a_docstring_names_exists():
    wrong = []
    for path, text in texts().items():
        for document, anchor in CITED.findall(text):
            if "TOPIC" in document:
                continue
            if not (DOCS / document).exists() or (anchor and anchor not in anchors(DOCS / document)):
                wrong.append(f"{path}: {document}#{anchor}")
    assert wrong == []
