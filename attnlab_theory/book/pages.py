"""The pages of the book, as Markdown for Sphinx. What a stranger has written is escaped by the templates."""

import functools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2

from attnlab_theory import __version__, inputs
from attnlab_theory.answers import sheet
from attnlab_theory.book import code, plots
from attnlab_theory.book.catalogue import MISSING, Catalogue, Item, slug, slug_of_stranger
from attnlab_theory.book.documents import Documents
from attnlab_theory.book.formulas import with_mathml
from attnlab_theory.book.markdown import code_of, fenced, page, raw, toctree, words
from attnlab_theory.book.runs import Run
from attnlab_theory.claims import Finding, Findings, Verdict
from attnlab_theory.claims.sources import cited
from attnlab_theory.conform.kinds import KINDS
from attnlab_theory.exits import visible
from attnlab_theory.report import record
from attnlab_theory.report.formulas import plain
from attnlab_theory.report.table import interval_text, measured_text

SCHEMA = 1
"""The version of `claims.json`. A field that changes its meaning, or goes, makes it larger."""

PARTS = (
    *("ledger", "questions/index", "sources/index", "homeworks/index", "labs/index", "conformance", "museum"),
    *("open", "words", "mathematics", "api/index", "documents"),
)
"""The parts of the book, in the order of its navigation."""

MOST_SETTINGS = 400
"""The most settings in the table of a claim's page. The others are in its JSON."""


class Pages:
    """The writer of all pages.

    Args:
        catalogue: everything that is told of.
        documents: the repository's own.
        command: that makes the book.
    """

    def __init__(self, catalogue: Catalogue, documents: Documents, command: str) -> None:
        self._all, self._documents, self._command = catalogue, documents, command
        self._parts: Any = _environment().get_template("fragments.html").module
        self.figures: dict[str, Path] = {}
        """Figures of runs, by their paths in the book."""
        self.problems: list[str] = []
        """A line for each damaged file beside the findings of a lab. What it should show is left out."""
        self.data: dict[str, str] = {}
        """JSON of the book, by its path."""

    def every(self) -> Iterator[tuple[str, str]]:
        """The path of each page, and its Markdown."""
        yield from self.of_findings()
        yield from self._questions()
        yield from self._sources()
        yield from self._homeworks()
        yield from self._labs()
        yield "conformance.md", self._conformance()
        yield "museum.md", self._museum()
        yield from self._api()
        yield from self._of_documents()
        told = [self._told(item) for item in self._all.items]
        self.data["claims.json"] = _compact({"schema": SCHEMA, "attnlab": __version__, "claims": told})

    def of_findings(self) -> Iterator[tuple[str, str]]:
        """The pages that tell of every claim, those of strangers among them."""
        yield "index.md", self._front()
        yield "ledger.md", page("Every claim", raw(self._parts.ledger([*map(self._row, self._all.items)])))
        yield "open.md", self._open()
        for item in self._all.items:
            yield f"claims/{item.page}.md", self._claim(item)

    def _of_documents(self) -> Iterator[tuple[str, str]]:
        names = self._documents.names
        topics = [name for name in names if name.startswith("docs/mathematics/")]
        yield "mathematics.md", page("Mathematics", toctree(topics))
        body = self._read("docs/words.md").partition("\n")[2].strip()
        yield "words.md", page("Words", self._documents.moved(body, "docs/words.md", "words.md"))
        others = [name for name in names if not name.startswith(("docs/mathematics/", "figures/"))]
        yield "documents.md", page("Documents", toctree(others))
        for name in names:
            text = self._documents.text(name)
            yield name, f"---\norphan: true\n---\n{text}" if name.startswith("figures/") else text

    def _read(self, name: str) -> str:
        return (self._all.root / name).read_text("utf-8")

    def _row(self, item: Item) -> tuple[Item, list[str], list[str]]:
        return item, self._all.answering(item), self._all.keys(item)

    def _front(self) -> str:
        every = self._all
        counts = Counter(item.verdict if item.verdict in (*Verdict, MISSING) else "mixed" for item in every.items)
        run = every.runs.every.get("two_heads_hedge")
        told = run or next(iter(every.runs.every.values()), None)
        missing = [(e.name, f"attnlab run {e.name}") for e in every.experiments if e.name not in every.runs.every]
        missing += [(lab, f"attnlab {lab} run") for lab in every.labs if lab not in every.runs.every]
        figure, alternative = self._figure(run, "two_heads_hedge") or ("", "")
        head = self._parts.front(
            alternative=alternative,
            figure=figure,
            counts={
                **{word: 0 for word in (*map(str, Verdict), MISSING, "mixed")},
                **counts,
                "total": len(every.items),
            },
            unexpected=sum(not item.tally.as_expected for item in every.items if item.tally),
            missing_runs=missing,
            problems=every.runs.problems,
        )
        doors = _section(self._read("README.md"), "Three doors") if (every.root / "README.md").is_file() else ""
        about = [f"This book was made by attnlab {__version__}:", fenced(self._command)]
        about += [raw(self._parts.provenance(told))] if told else []
        return page(
            "attnlab",
            raw(head),
            "## Three doors\n\n" + self._documents.moved(doors, "README.md", "index.md"),
            "## How it was made\n\n" + "\n\n".join(about),
            toctree([f"{name}.md" for name in PARTS], hidden=True),
        )

    def _figure(self, run: Run | None, name: str) -> tuple[str, str] | None:
        """The figure of a run: its path in the book and what it shows, in words."""
        path = None if run is None else run.file(f"{name}.svg")
        if path is None or run is None:
            return None
        # A document may show the committed figure, too: one file serves both.
        whole, root = path.resolve(), self._all.root.resolve()
        inside = whole.is_relative_to(root)
        place = whole.relative_to(root).as_posix() if inside else f"figures/{slug_of_stranger(str(path))}.svg"
        self.figures[place] = path
        return place, alternative_of(path)

    def _questions(self) -> Iterator[tuple[str, str]]:
        names = []
        for experiment in self._all.experiments:
            items = [
                item for item in self._all.items if not item.lab and item.claim and item.asks == experiment.name
            ]
            run = self._all.runs.every.get(experiment.name)
            command = f"attnlab run {experiment.name}"
            figure = self._figure(run, experiment.name)
            parts = [raw(self._parts.figures([(f"../{figure[0]}", figure[1])]))] if figure else []
            parts += [raw(self._parts.short_table(items, "../", "Claims"))]
            parts += [raw(self._parts.provenance(run)) if run else raw(self._parts.missing(command))]
            yield f"questions/{experiment.name}.md", page(experiment.question, *parts, fenced(command), orphan=True)
            names.append((experiment.question, f"{experiment.name}.md"))
        listed = "\n".join(f"* [{words(question)}]({name})" for question, name in names)
        yield (
            "questions/index.md",
            page("Questions", "Each question is an experiment: its claims, its figure, its run.", listed),
        )

    def _claim(self, item: Item) -> str:
        parts, every = self._parts, self._all
        original = (
            None if item.claim is None or item.claim.foil_of is None else every.by_name.get(item.claim.foil_of.name)
        )
        sections = [raw(parts.lead(item, every.answering(item), every.keys(item), original))]
        section = every.sections.get(item.section) if item.section else None
        document = f"docs/mathematics/{section.topic}.md" if section else ""
        here = f"claims/{item.page}.md"
        if section:
            sections.append(
                "## What it is about\n\n" + self._documents.moved(intuition(section.text), document, here)
            )
        if item.claim is not None:
            held = "\n".join(f"* {code_of(name)}" for name in item.claim.hypotheses)
            sections.append(f"## Hypotheses\n\n{held or 'None beside what the sentence says.'}")
        elif item.stated:
            sections.append(
                "## What is measured\n\n" + "\n".join(dict.fromkeys(f"* {words(s.quantity)}" for s in item.stated))
            )
        if item.worst:
            shown = plots.picture(item.findings, self._shown(item))
            sections.append("## Predicted and measured\n\n" + raw(parts.measured(item, shown)))
            few = Findings(list(item.findings)[:MOST_SETTINGS])
            tables = "\n".join(parts.settings(item, group) for group in _alike(few))
            left = len(item.findings) - len(few)
            note = f"\n\n{left} more settings are in the JSON below." if left else ""
            sections.append(f"## At every setting\n\n{raw(tables)}{note}")
        else:
            sections.append(
                "## Predicted and measured\n\n" + raw(parts.missing(item.command, item.run is not None))
            )
        sections.append("## Rival and foils\n\n" + raw(parts.rivals(item, every.foils(item))))
        if section:
            link = f"From [{section.topic}: {section.title}](../{document}#{section.anchor})."
            text = self._documents.moved(re.sub(r"^#", "##", section.text, flags=re.MULTILINE), document, here)
            sections.append(f"## Derivation\n\n{link}\n\n{text}")
        if item.claim is not None:
            shown = "\n\n".join(
                f"**{heading}**, `{path}`:\n\n{fenced(lines)}"
                for heading, path, lines in code.pieces(item.claim, every.root)
            )
            sections.append(f"## Source code\n\n{shown}")
        sections.append(f"## The command\n\n{fenced(item.command)}")
        sections.append("## How to cite it\n\n" + raw(parts.cite(item, bibtex(item), self._findings(item))))
        return page(item.name, *sections, orphan=True)

    def _shown(self, item: Item) -> str:
        """What the picture of a claim shows, in words."""
        worst = item.worst
        assert worst is not None
        said = f"predicted {interval_text(worst.predicted)}, measured {measured_text(worst.measured)}"
        return f"{visible(plain(item.statement))} {item.verdict}: at the setting that decides, {said}."

    def _findings(self, item: Item) -> str:
        """Where the JSON of an item lies, told from its page."""
        if not item.findings:
            return ""
        self.data[f"claims/{item.page}.json"] = _compact(self._told(item))
        return f"{item.page}.json"

    def _told(self, item: Item) -> dict[str, Any]:
        """An item as `claims.json` has it."""
        claim = item.claim
        same = ("experiment", "claim", "statement", "source", "expect")
        return {
            "id": f"attnlab:{item.page}",
            "page": f"claims/{item.page}.html",
            "topic": item.topic,
            "asked_by": item.asks,
            "statement": item.statement,
            "source": item.source,
            "questions": self._all.answering(item),
            "expect": item.expect and str(item.expect),
            "foil_of": claim.foil_of.name if claim and claim.foil_of else None,
            "verdict": item.verdict,
            "command": item.command,
            "findings": [
                {name: value for name, value in record.as_json(f).items() if name not in same}
                for f in item.findings
            ],
        }

    def _sources(self) -> Iterator[tuple[str, str]]:
        every = self._all
        rows = sorted(every.sources.values(), key=lambda source: source.title.lower())
        yield (
            "sources/index.md",
            page(
                "Sources",
                "What of a paper or a homework was checked, and what came of it.",
                raw(self._parts.sources_index([(source, every.citing[source.key]) for source in rows])),
            ),
        )
        for source in rows:
            found = [(item, every.words(item, source.key)) for item in every.citing[source.key]]
            identities = [each for each in every.identities.values() if _names(each.source, source.key)]
            about = self._documents.moved(source.text, "docs/sources.md", f"sources/{slug(source.key)}.md")
            link = f"\n\n[arXiv:{source.arxiv}](https://arxiv.org/abs/{source.arxiv})" if source.arxiv else ""
            checked = f"What of {'arXiv ' + source.arxiv if source.arxiv else 'it'} was checked"
            yield (
                f"sources/{slug(source.key)}.md",
                page(
                    source.title,
                    f"{about}{link}",
                    f"## {checked}",
                    raw(self._parts.of_source(found, identities)),
                    orphan=True,
                ),
            )

    @functools.cached_property
    def _answers(self) -> list[sheet.Answer]:
        every = self._all
        labs = [run for name, run in every.runs.every.items() if name in every.labs]
        known = {item.name: item for item in every.items if item.claim is not None}
        return list(
            sheet.answered(
                every.questions.values(),
                lambda name: known[name].findings or None,
                recorded=Findings(f for run in labs for f in run.findings),
                fresh=Findings(f for run in labs for f in run.fresh),
                undecidable=every.undecidable,
                tried_before=self._tried(),
                options={name: lab.option for name, lab in every.labs.items()},
            )
        )

    def _tried(self) -> dict[str, Verdict]:
        """The verdicts of identities, from the committed answers: to try them here would take half a minute."""
        path = self._all.root / "figures" / "answers" / "answers.json"
        told = inputs.json_of(path) if path.is_file() else []
        identities = [each for answer in told for each in answer["evidence"] if each["kind"] == "identity"]
        return {each["name"]: Verdict(each["verdict"]) for each in identities}

    def _homeworks(self) -> Iterator[tuple[str, str]]:
        every = self._all
        by_homework: dict[str, list[sheet.Answer]] = {}
        for answer in self._answers:
            by_homework.setdefault(answer.id.split("/")[0], []).append(answer)
        listed = []
        for homework, answers in by_homework.items():
            about = self._documents.moved(
                every.sources[homework].text, "docs/sources.md", f"homeworks/{homework}.md"
            )
            parts = [about, words(sheet.reason(answers)) + "."]
            for answer in answers:
                entry = every.questions[answer.id]
                rows = [
                    (e, item := every.evidence(entry, e.name), self._said(e.name, item)) for e in answer.evidence
                ]
                told = {"status_text": sheet.status_text(answer), "contradicted": answer.contradicted}
                told |= {"question": answer.question, "texts": answer.submitted or {"": answer.answer}}
                number = answer.id.split("/", 1)[1]
                parts.append(f"({slug(answer.id)})=\n## {words(number)}\n\n" + raw(self._parts.answer(told, rows)))
            yield f"homeworks/{homework}.md", page(homework, *parts, orphan=True)
            listed.append(f"* [{homework}]({homework}.md): {words(sheet.reason(answers))}")
        yield (
            "homeworks/index.md",
            page(
                "Homeworks",
                "Questions, answers and the evidence of each, in the order of the course.",
                "\n".join(listed),
            ),
        )

    def _said(self, name: str, item: Item | None) -> str:
        if item is not None:
            return item.statement
        return self._all.identities[name].statement if name in self._all.identities else ""

    def _labs(self) -> Iterator[tuple[str, str]]:
        every = self._all
        listed = []
        for lab, declares in every.labs.items():
            run = every.runs.every.get(lab)
            items = [item for item in every.items if item.lab == lab]
            parts = [
                f"[What was found, in one screen](../docs/{lab}.md). [How to ask for more](../docs/labs/{lab}.md)."
            ]
            parts += [raw(self._parts.short_table(items, "../", "Statements"))]
            parts += self._seen(run) if run else [raw(self._parts.missing(f"attnlab {lab} run"))]
            if run:
                parts += [
                    "## How it was made",
                    fenced(str(run.record["command"])),
                    raw(self._parts.provenance(run)),
                ]
            yield f"labs/{lab}.md", page(declares.question, *parts, orphan=True)
            listed.append(f"* [{lab}]({lab}.md): {words(declares.question)}")
        yield "labs/index.md", page("Labs", "What trained models do, over seeds.", "\n".join(listed))

    def _seen(self, run: Run) -> Iterator[str]:
        """What a lab shows beside its verdicts."""
        pictures = [self._figure(run, path.stem) for path in sorted(run.folder.glob("*.svg"))]
        shown = [(f"../{figure[0]}", figure[1]) for figure in pictures if figure]
        if shown:
            yield "## Figures\n\n" + raw(self._parts.figures(shown))
        if curves := self._curves(run):
            yield f"## Learning curves\n\n{curves}"
        if (path := run.file("samples.txt")) and (groups := samples_of(path)):
            yield "## Samples, side by side\n\n" + raw(self._parts.samples(groups))
        if (path := run.file("attention.json")) and (heads := heads_of(self._listed(path))):
            yield "## Attention\n\nA head is chosen in the grid. A token shows what it reads.\n\n" + raw(
                self._parts.attention(heads)
            )

    def _curves(self, run: Run) -> str:
        """The learning curves of a run, with bands over seeds."""
        path = run.file("curves.json")
        points = self._listed(path) if path else []
        shown = []
        for up in ("loss", "training", "validation accuracy", "training accuracy"):
            series: dict[str, dict[float, list[float]]] = {}
            for point in points:
                arm, across = point.get("arm", point.get("variant")), point.get("epoch", point.get("step"))
                if isinstance(arm, str) and plots.is_number(across) and plots.is_number(point.get(up)):
                    series.setdefault(arm, {}).setdefault(across, []).append(point[up])
            several = {arm: places for arm, places in series.items() if len(places) > 1}
            few = dict(list(several.items())[: plots.MOST_SERIES])
            if few:
                least = {arm: places[max(places)] for arm, places in few.items()}
                ends = ", ".join(f"{arm} {min(some):.3g} to {max(some):.3g}" for arm, some in least.items())
                across = "epoch" if any("epoch" in point for point in points) else "step"
                shown.append(
                    plots.curves(few, across, up, f"The {up} of each arm, over seeds. At the end: {ends}.")
                )
        return raw("\n".join(shown)) if shown else ""

    def _listed(self, path: Path) -> list[dict[str, Any]]:
        try:
            value = inputs.json_of(path)
        except ValueError as error:
            self.problems.append(str(error))
            return []
        return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []

    def _conformance(self) -> str:
        board = "figures/conformance/README.md"
        parts = ["What other people's attention keeps of its promises, judged from outside."]
        if board in self._documents.names:
            parts.append(f"* [The board]({board}): every entry point, and a snippet for each failure")
        parts.append(
            "* [How to read the board](docs/peers.md)\n"
            "* [Does the command find what is wrong?](docs/conform_calibration.md)"
        )
        rows = [(name, kind.promise) for name, kind in KINDS.items()]
        return page("Conformance", "\n".join(parts), "## What each kind promises", raw(self._parts.kinds(rows)))

    def _museum(self) -> str:
        from attnlab_theory.museum import BUGS

        found: dict[str, list[Any]] = {}
        path = self._all.root / "figures" / "museum" / "museum.json"
        told = inputs.json_of(path)["bugs"] if path.is_file() else []
        for bug in told:
            found[bug["name"]] = [(each, self._all.by_name.get(each["check"])) for each in bug["evidence"]]
        parts = [
            "Well-known bugs, planted on purpose, and the checks that catch them.",
            fenced("attnlab museum --json"),
        ]
        for bug in BUGS:
            parts.append(
                f"## {words(bug.name)}\n\n"
                + raw(self._parts.bug(bug, found.get(bug.name, [])))
                + "\n\n"
                + fenced(bug.source, "python")
            )
        return page("Museum", *parts)

    def _open(self) -> str:
        every = self._all
        rows = []
        for item in every.items:
            undecided = [f for f in item.findings if f.verdict == Verdict.INCONCLUSIVE]
            covered = {each for f in undecided for each in every.undecidable if each.covers(item.lab, f)}
            why = [
                f"{each.runs} training runs would decide; there are {each.seeds}. {each.why}"
                for each in sorted(covered, key=str)
            ]
            if item.expect is None:
                rows.append((item, ["A conjecture: nobody knows what to expect.", *why], ""))
            elif undecided or item.verdict == MISSING:
                several = f"{len(undecided)} of {len(item.findings)} settings are undecided." if undecided else ""
                asked = (
                    "More draws or more training runs may decide it." if undecided else "No run has asked it yet."
                )
                rows.append((item, why or [asked], several))
        return page(
            "Open", "What is not decided, why, and the command that asks again.", raw(self._parts.opened(rows))
        )

    def _api(self) -> Iterator[tuple[str, str]]:
        package = Path(__file__).parents[1]
        rooms = sorted(
            path.parent.name for path in package.glob("*/__init__.py") if "__all__" in path.read_text("utf-8")
        )
        yield (
            "api/index.md",
            page("API", "Every public name, with its example.", toctree([f"{room}.md" for room in rooms])),
        )
        for room in rooms:
            module = f"attnlab_theory.{room}"
            told = f"````{{eval-rst}}\n.. automodule:: {module}\n   :members:\n   :imported-members:\n````"
            yield f"api/{room}.md", page(module, told)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"


def bibtex(item: Item) -> str:
    """How to cite a claim."""
    said = re.sub(r"[{}\\]", "", visible(plain(item.statement)))
    seed = f", seed {item.run.seed}, commit {item.run.record.get('commit')}" if item.run else ""
    return (
        f"@misc{{attnlab-{item.page},\n  title = {{{{{said}}}}},\n  author = {{{{the attnlab founders}}}},\n"
        f"  note = {{attnlab:{item.page}, {item.verdict}{seed}}},\n  version = {{{__version__}}}\n}}"
    )


def intuition(text: str) -> str:
    """The first two sentences of a section."""
    first = text.split("\n\n")[0].split("$$")[0]
    return " ".join(re.split(r"(?<=[.:?!])\s+(?=[A-Z*])", " ".join(first.split()))[:2])


def alternative_of(path: Path) -> str:
    """What a figure shows, in words: the title that it was drawn with."""
    text = path.read_text("utf-8", "replace")
    groups = re.findall(r'^  <g id="text_\d+">\n(.*?)^  </g>', text, flags=re.MULTILINE | re.DOTALL)
    titles = [" ".join(re.findall("<!-- (.*?) -->", group)) for group in groups]
    shown = [title for title in titles if not title.startswith(("line: ", "interval: "))]
    return visible(plain(shown[0])) if shown else path.stem.replace("_", " ")


def samples_of(path: Path) -> list[tuple[str, list[str]]]:
    """The samples of a run, by what wrote them."""
    groups = [block.splitlines() for block in path.read_text("utf-8").strip().split("\n\n")]
    return [(group[0], [line.strip() for line in group[1:]]) for group in groups if len(group) > 1]


def heads_of(listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The weights of heads, as the viewer reads them."""
    found = []
    for head in listed:
        weights, tokens = head.get("weights"), head.get("characters")
        if isinstance(weights, list) and isinstance(tokens, str):
            told = {name: head.get(name) for name in ("variant", "layer", "head")}
            found.append({**told, "tokens": list(tokens), "weights": weights})
    return found


def _alike(findings: Findings) -> list[Findings]:
    """Findings whose settings have the same fields, together."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        groups.setdefault(tuple(finding.setting), []).append(finding)
    return [Findings(group) for group in groups.values()]


def _names(source: str, key: str) -> bool:
    return any(named.split("/")[0] == key for named, _ in cited(source))


def _section(text: str, heading: str) -> str:
    return text.partition(f"## {heading}\n")[2].partition("\n## ")[0].strip()


def _provenance(run: Run) -> list[tuple[str, str]]:
    about = run.record
    told: list[tuple[str, Any]] = [
        ("seed", run.seed),
        ("budget", about.get("budget")),
        ("commit", about.get("commit")),
    ]
    versions = about.get("versions")
    if isinstance(versions, Mapping):
        told.append(("versions", ", ".join(f"{name} {version}" for name, version in versions.items())))
    told += [
        ("processor", about.get("processor")),
        ("command", about.get("command")),
        ("seconds", about.get("seconds")),
    ]
    return [(name, visible(str(value))) for name, value in told if value is not None]


@functools.cache
def _environment() -> jinja2.Environment:
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
        "short": lambda value: f"{value:.5g}" if isinstance(value, float) else visible(str(value)),
        "setting": lambda setting: ", ".join(f"{name} = {_short(value)}" for name, value in setting.items()),
        "slug": slug,
        "provenance": _provenance,
        "urlencode": lambda text: quote(text, safe=""),
    }
    return made


def _short(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
