"""The pages of the book, as Markdown for Sphinx. What a stranger has written is escaped by the templates."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from attnlab_theory import __version__, inputs
from attnlab_theory.book import claim_page, homework_pages, lab_pages, source_pages
from attnlab_theory.book.catalogue import MISSING
from attnlab_theory.book.desk import Desk
from attnlab_theory.book.markdown import fenced, page, raw, toctree, words
from attnlab_theory.claims import Verdict
from attnlab_theory.conform.kinds import KINDS

PARTS = (
    *("ledger", "questions/index", "sources/index", "homeworks/index", "labs/index", "conformance", "museum"),
    *("open", "words", "mathematics", "api/index", "documents"),
)
"""The parts of the book, in the order of its navigation."""


def every(desk: Desk) -> Iterator[tuple[str, str]]:
    """The path of each page, and its Markdown."""
    yield from of_findings(desk)
    yield from _questions(desk)
    yield from source_pages.written(desk)
    yield from homework_pages.written(desk)
    yield from lab_pages.written(desk)
    yield "conformance.md", _conformance(desk)
    yield "museum.md", _museum(desk)
    yield from _api(desk)
    yield from _of_documents(desk)
    claim_page.tell_all(desk)


def of_findings(desk: Desk) -> Iterator[tuple[str, str]]:
    """The pages that tell of every claim, those of strangers among them."""
    items = desk.all.items
    rows = [(item, desk.all.answering(item), desk.all.keys(item)) for item in items]
    yield "index.md", front(desk)
    yield "ledger.md", page("Every claim", raw(desk.parts.ledger(rows)))
    yield "open.md", _open(desk)
    for item in items:
        yield f"claims/{item.page}.md", claim_page.written(desk, item)


def _of_documents(desk: Desk) -> Iterator[tuple[str, str]]:
    names = desk.documents.names
    topics = [name for name in names if name.startswith("docs/mathematics/")]
    yield "mathematics.md", page("Mathematics", toctree(topics))
    body = (desk.all.root / "docs" / "words.md").read_text("utf-8").partition("\n")[2].strip()
    yield "words.md", page("Words", desk.documents.moved(body, "docs/words.md", "words.md"))
    others = [name for name in names if not name.startswith(("docs/mathematics/", "figures/"))]
    yield "documents.md", page("Documents", toctree(others))
    for name in names:
        text = desk.documents.text(name)
        yield name, f"---\norphan: true\n---\n{text}" if name.startswith("figures/") else text


def front(desk: Desk) -> str:
    """The first page."""
    every = desk.all
    counts = Counter(item.verdict if item.verdict in (*Verdict, MISSING) else "mixed" for item in every.items)
    run = every.runs.every.get("two_heads_hedge")
    told = run or next(iter(every.runs.every.values()), None)
    missing = [(e.name, f"attnlab run {e.name}") for e in every.experiments if e.name not in every.runs.every]
    missing += [(lab, f"attnlab {lab} run") for lab in every.labs if lab not in every.runs.every]
    figure, alternative = desk.figure(run, "two_heads_hedge") or ("", "")
    head = desk.parts.front(
        alternative=alternative,
        figure=figure,
        counts={**dict.fromkeys((*map(str, Verdict), MISSING, "mixed"), 0), **counts, "total": len(every.items)},
        unexpected=sum(not item.tally.as_expected for item in every.items if item.tally),
        missing_runs=missing,
        problems=every.runs.problems,
    )
    readme = every.root / "README.md"
    text = readme.read_text("utf-8") if readme.is_file() else ""
    doors = text.partition("## Three doors\n")[2].partition("\n## ")[0].strip()
    about = [f"This book was made by attnlab {__version__}:", fenced(desk.command)]
    about += [raw(desk.parts.provenance(told))] if told else []
    return page(
        "attnlab",
        raw(head),
        "## Three doors\n\n" + desk.documents.moved(doors, "README.md", "index.md"),
        "## How it was made\n\n" + "\n\n".join(about),
        toctree([f"{name}.md" for name in PARTS], hidden=True),
    )


def _questions(desk: Desk) -> Iterator[tuple[str, str]]:
    names = []
    for experiment in desk.all.experiments:
        items = [item for item in desk.all.items if not item.lab and item.claim and item.asks == experiment.name]
        run = desk.all.runs.every.get(experiment.name)
        command = f"attnlab run {experiment.name}"
        figure = desk.figure(run, experiment.name)
        parts = [raw(desk.parts.figures([(f"../{figure[0]}", figure[1])]))] if figure else []
        parts += [raw(desk.parts.short_table(items, "../", "Claims"))]
        parts += [raw(desk.parts.provenance(run)) if run else raw(desk.parts.missing(command))]
        yield f"questions/{experiment.name}.md", page(experiment.question, *parts, fenced(command), orphan=True)
        names.append((experiment.question, f"{experiment.name}.md"))
    listed = "\n".join(f"* [{words(question)}]({name})" for question, name in names)
    about = "Each question is an experiment: its claims, its figure, its run."
    yield "questions/index.md", page("Questions", about, listed)


def _conformance(desk: Desk) -> str:
    board = "figures/conformance/README.md"
    parts = ["What other people's attention keeps of its promises, judged from outside."]
    if board in desk.documents.names:
        parts.append(f"* [The board]({board}): every entry point, and a snippet for each failure")
    parts.append("* [How to read the board](docs/peers.md)")
    parts.append("* [Does the command find what is wrong?](docs/conform_calibration.md)")
    rows = [(name, kind.promise) for name, kind in KINDS.items()]
    return page("Conformance", "\n".join(parts), "## What each kind promises", raw(desk.parts.kinds(rows)))


def _museum(desk: Desk) -> str:
    from attnlab_theory.museum import BUGS

    path = desk.all.root / "figures" / "museum" / "museum.json"
    told = {bug["name"]: bug["evidence"] for bug in (inputs.json_of(path)["bugs"] if path.is_file() else ())}
    about = "Well-known bugs, planted on purpose, and the checks that catch them."
    parts = [about, fenced("attnlab museum --json")]
    for bug in BUGS:
        found = [(each, desk.all.by_name.get(each["check"])) for each in told.get(bug.name, ())]
        parts += [f"## {words(bug.name)}", raw(desk.parts.bug(bug, found)), fenced(bug.source, "python")]
    return page("Museum", *parts)


def _open(desk: Desk) -> str:
    every = desk.all
    rows = []
    for item in every.items:
        undecided = [f for f in item.findings if f.verdict == Verdict.INCONCLUSIVE]
        covered = {each for f in undecided for each in every.undecidable if each.covers(item.lab, f)}
        told = "{0.runs} training runs would decide; there are {0.seeds}. {0.why}"
        why = [told.format(each) for each in sorted(covered, key=str)]
        if item.expect is None:
            rows.append((item, ["A conjecture: nobody knows what to expect.", *why], ""))
        elif undecided or item.verdict == MISSING:
            several = f"{len(undecided)} of {len(item.findings)} settings are undecided." if undecided else ""
            asked = "More draws or more training runs may decide it." if undecided else "No run has asked it yet."
            rows.append((item, why or [asked], several))
    return page("Open", "What is not decided, why, and the command that asks again.", raw(desk.parts.opened(rows)))


def _api(desk: Desk) -> Iterator[tuple[str, str]]:
    package = Path(__file__).parents[1]
    rooms = sorted(
        path.parent.name for path in package.glob("*/__init__.py") if "__all__" in path.read_text("utf-8")
    )
    every = toctree([f"{room}.md" for room in rooms])
    yield "api/index.md", page("API", "Every public name, with its example.", every)
    for room in rooms:
        module = f"attnlab_theory.{room}"
        told = f"````{{eval-rst}}\n.. automodule:: {module}\n   :members:\n   :imported-members:\n````"
        yield f"api/{room}.md", page(module, told)
