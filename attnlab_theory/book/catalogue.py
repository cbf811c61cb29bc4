"""Everything that the book tells of, joined: claims and statements with their findings, sources and questions."""

import dataclasses
import functools
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from attnlab_theory.answers.declarations import declared
from attnlab_theory.answers.questions import Declared, Entry, entries
from attnlab_theory.book.runs import Run, Runs
from attnlab_theory.claims import Claim, Finding, Findings, Statement, Verdict
from attnlab_theory.claims.sources import cited, listed, sentences
from attnlab_theory.experiment import Experiment
from attnlab_theory.identities import IDENTITIES
from attnlab_theory.report.table import Tally, tallies

SECTION = re.compile(r"mathematics/(\w+)\.md#([\w-]+)")
INTUITION = re.compile(r"(?:\*\*Intuition\.\*\* (.+?)\n\n)?(.*)", re.DOTALL)
MISSING = "MISSING"
"""In the place of a verdict where nobody has run it."""


@dataclasses.dataclass(frozen=True)
class Section:
    """A section of the mathematics."""

    topic: str
    anchor: str
    title: str
    intuition: str
    """Its first paragraph, if that is marked as the intuition."""
    text: str
    """The rest of its Markdown."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Item:
    """One claim, or one statement of a lab, and all that is known of it."""

    name: str
    page: str
    """The name of its page, which is its permanent id."""
    statement: str
    source: str
    expect: Verdict | None
    topic: str
    asks: str
    """The experiment or the lab."""
    lab: str
    """The lab; empty for a claim of theory."""
    question: str
    claim: Claim | None = None
    stated: tuple[Statement, ...] = ()
    run: Run | None = None

    @functools.cached_property
    def findings(self) -> Findings:
        """At every setting. Where fresh seeds decide, theirs; the earlier one too, if it contradicts the claim."""
        if self.run is None:
            return Findings()
        fresh = [f for f in self.run.fresh if f.claim == self.name]
        again = [f.setting for f in fresh]
        return Findings((*(f for f in self._first if f.setting not in again or _contradicts(f)), *fresh))

    @property
    def _first(self) -> Findings:
        return Findings(f for f in (self.run.findings if self.run else ()) if f.claim == self.name)

    @property
    def earlier(self) -> Findings:
        """What the first run found where fresh seeds decide."""
        if self.run is None or not self.run.fresh:
            return Findings()
        return Findings(f for f in self._first if f not in self.findings)

    @functools.cached_property
    def tally(self) -> Tally | None:
        """Its findings in a line; None if there are none."""
        return next(iter(tallies(self.findings)), None)

    @property
    def verdict(self) -> str:
        """The verdict, or how many settings have which."""
        return MISSING if self.tally is None else self.tally.verdict

    @property
    def worst(self) -> Finding | None:
        """The finding that decides."""
        return None if self.tally is None else self.tally.worst

    @property
    def is_foil(self) -> bool:
        """Whether it is wrong on purpose."""
        return self.expect == Verdict.REFUTED

    @property
    def command(self) -> str:
        """The one command that judges it."""
        if self.lab:
            return str(self.run.record["command"]) if self.run else f"attnlab {self.lab} run"
        budget = f" --budget {self.run.record['budget']} --seed {self.run.record['seed']}" if self.run else ""
        return f"attnlab run {self.asks}::{self.name}{budget}"

    @property
    def cited(self) -> list[tuple[str, str]]:
        """The parts of its source: what is named, and the free words after it."""
        return cited(self.source)

    @property
    def section(self) -> tuple[str, str] | None:
        """The topic and the anchor of its section of the mathematics."""
        found = (SECTION.fullmatch(named) for named, _ in self.cited)
        return next(((match[1], match[2]) for match in found if match), None)


def _contradicts(finding: Finding) -> bool:
    return finding.verdict != Verdict.INCONCLUSIVE and not finding.as_expected


def slug(words: str) -> str:
    """A name for a page: it has letters, digits and hyphens alone."""
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def slug_of_stranger(words: str) -> str:
    """The same for words that nobody has checked; two of them never share a page."""
    return f"own.{slug(words)[:60]}.{hashlib.sha256(words.encode('utf-8', 'replace')).hexdigest()[:8]}"


class Catalogue:
    """All items, and what points to them.

    Args:
        root: the folder with `docs`.
        experiments: of the lab, in the order of the book.
        labs: what each lab declares, by its name.
        runs: what was found.
    """

    def __init__(
        self, root: Path, experiments: Sequence[Experiment], labs: Mapping[str, Declared], runs: Runs
    ) -> None:
        self.root, self.experiments, self.labs, self.runs = root, tuple(experiments), labs, runs
        self.items = (*self._of_theory(), *self._of_labs(), *self._of_strangers())
        self.by_name = {item.name: item for item in reversed(self.items)}
        self.identities = {identity.name: identity for identity in IDENTITIES}
        self.sources = {source.key: source for source in listed(root / "docs" / "sources.md")}
        every = sentences(root / "docs" / "sources.toml")
        self.said = {key: [each for each in every if each.source == key] for key in self.sources}
        self.questions = {entry.id: entry for entry in entries()}
        self.sections = {
            (path.stem, section.anchor): section
            for path in sorted((root / "docs" / "mathematics").glob("*.md"))
            for section in _sections(path)
        }
        self.fresh, self.undecidable = declared()

    def _of_theory(self) -> Iterable[Item]:
        told: list[Claim] = []
        known = self.runs.every
        # A claim of two experiments is told of once, by one that somebody has run.
        for experiment in sorted(self.experiments, key=lambda experiment: experiment.name not in known):
            for claim in experiment.claims:
                if claim in told:
                    continue
                told.append(claim)
                topic = claim.kind.__module__.split(".")[2]
                yield Item(
                    name=claim.name,
                    page=claim.name,
                    statement=claim.statement,
                    source=claim.source,
                    expect=claim.expect,
                    topic=topic,
                    asks=experiment.name,
                    lab="",
                    question=experiment.question,
                    claim=claim,
                    run=known.get(experiment.name),
                )

    def _of_labs(self) -> Iterable[Item]:
        for lab, declares in self.labs.items():
            for name in dict.fromkeys(each.name for each in declares.statements):
                stated = tuple(each for each in declares.statements if each.name == name)
                yield Item(
                    name=name,
                    page=f"{lab}.{name}",
                    statement=stated[0].statement,
                    source=stated[0].source,
                    expect=stated[0].expect,
                    topic="trained models",
                    asks=lab,
                    lab=lab,
                    question=declares.question,
                    stated=stated,
                    run=self.runs.every.get(lab),
                )

    def _of_strangers(self) -> Iterable[Item]:
        for name in self.runs.own:
            run = self.runs.every[name]
            for tally in tallies(run.findings):
                yield Item(
                    name=tally.claim,
                    page=slug_of_stranger(f"{name}/{tally.claim}"),
                    statement=tally.worst.statement,
                    source=tally.worst.source,
                    expect=tally.expect,
                    topic="somebody's own",
                    asks=name,
                    lab="",
                    question=str(run.record["question"]),
                    run=run,
                )

    def answering(self, item: Item) -> list[str]:
        """The homework questions that an item answers, by its source or as evidence of the sheet."""
        named = [name for name, _ in item.cited if name in self.questions]
        return list(dict.fromkeys((*named, *self._evidence.get((item.lab, item.name), ()))))

    @functools.cached_property
    def _evidence(self) -> dict[tuple[str, str], list[str]]:
        found: dict[tuple[str, str], list[str]] = {}
        for entry in self.questions.values():
            for key in (*(("", name) for name in entry.evidence), *((entry.lab, name) for name in entry.findings)):
                found.setdefault(key, []).append(entry.id)
        return found

    def evidence(self, entry: Entry, name: str) -> Item | None:
        """The item that an answer names; None for an identity."""
        lab = entry.lab if name in entry.findings else ""
        return next((item for item in self.items if (item.lab, item.name) == (lab, name)), None)

    def keys(self, item: Item) -> list[str]:
        """The papers and homeworks that an item names, its rival included."""
        rival = "" if item.claim is None or item.claim.rival is None else item.claim.rival.source
        named = [name for name, _ in (*item.cited, *cited(rival))]
        keys = [name if name in self.sources else name.split("/")[0] for name in named]
        return list(dict.fromkeys(key for key in keys if key in self.sources))

    @functools.cached_property
    def citing(self) -> dict[str, list[Item]]:
        """The items that name a source, by its key."""
        found: dict[str, list[Item]] = {key: [] for key in self.sources}
        for item in self.items:
            for key in self.keys(item):
                found[key].append(item)
        return found

    def words(self, item: Item, key: str) -> str:
        """Which place of a source an item names: a theorem, a page."""
        return "; ".join(words for name, words in item.cited if words and key in (name, name.split("/")[0]))

    def foils(self, item: Item) -> list[Item]:
        """The foils of a claim."""
        return [
            other
            for other in self.items
            if other.claim is not None and other.claim.foil_of is item.claim is not None
        ]


def _sections(path: Path) -> Iterable[Section]:
    parts = re.split(r"^## (.+)$", path.read_text("utf-8"), flags=re.MULTILINE)
    for heading, text in zip(parts[1::2], parts[2::2], strict=True):
        found = INTUITION.fullmatch(text.strip())
        assert found is not None
        yield Section(path.stem, anchor(heading), heading.strip(), found[1] or "", found[2])


def anchor(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
