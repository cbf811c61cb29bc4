"""The pages of sources: what of a paper or a homework was checked, and what came of it."""

from collections.abc import Iterator

from attnlab_theory.book.catalogue import slug
from attnlab_theory.book.desk import Desk
from attnlab_theory.book.markdown import page, raw
from attnlab_theory.claims.sources import cited


def written(desk: Desk) -> Iterator[tuple[str, str]]:
    """The page of each source, and the list of them."""
    every = desk.all
    rows = sorted(every.sources.values(), key=lambda source: source.title.lower())
    table = desk.parts.sources_index([(source, every.citing[source.key]) for source in rows])
    about = "What of a paper or a homework was checked, and what came of it."
    yield "sources/index.md", page("Sources", about, raw(table))
    for source in rows:
        found = [(item, every.words(item, source.key)) for item in every.citing[source.key]]
        identities = [each for each in every.identities.values() if _names(each.source, source.key)]
        about = desk.documents.moved(source.text, "docs/sources.md", f"sources/{slug(source.key)}.md")
        link = f"\n\n[arXiv:{source.arxiv}](https://arxiv.org/abs/{source.arxiv})" if source.arxiv else ""
        checked = f"What of {'arXiv ' + source.arxiv if source.arxiv else 'it'} was checked"
        said = [(each, [every.by_name[name] for name in each.judged_by]) for each in every.said.get(source.key, ())]
        parts = [f"{about}{link}", f"## {checked}", raw(desk.parts.said(said)) if said else ""]
        parts += ["### Claims and foils that name it" if said else "", raw(desk.parts.of_source(found, identities))]
        yield f"sources/{slug(source.key)}.md", page(source.title, *parts, orphan=True)


def _names(source: str, key: str) -> bool:
    return any(named.split("/")[0] == key for named, _ in cited(source))
