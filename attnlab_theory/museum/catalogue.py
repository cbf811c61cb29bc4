"""The museum in words: the kill matrix as a table, one bug in full, and both as JSON."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from attnlab_theory.museum.bug import Bug
from attnlab_theory.museum.trial import Evidence, idle_checks, idle_families, survivors
from attnlab_theory.plurals import agree, all_of, several

CAUGHT, MISSED, ABSENT = "●", "○", "·"


def columns(found: Sequence[Evidence]) -> list[str]:
    """Families of identities and claims, in order of first appearance."""
    return list(dict.fromkeys(evidence.column for evidence in found))


def cells(found: Sequence[Evidence]) -> dict[str, dict[str, bool]]:
    """Whether each bug was caught, as {bug: {column: caught}}. Pairs that were not tried are absent."""
    table: dict[str, dict[str, bool]] = {}
    for evidence in found:
        row = table.setdefault(evidence.bug, {})
        row[evidence.column] = row.get(evidence.column, False) or evidence.caught
    return table


def matrix_table(found: Sequence[Evidence]) -> Table:
    """A line per bug: a mark for every family of identities and every claim, numbered as in the legend."""
    heads = columns(found)
    numbers = [f"{i:>2}" for i in range(1, len(heads) + 1)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("bug", no_wrap=True)
    table.add_column("".join(n[0] for n in numbers) + "\n" + "".join(n[1] for n in numbers), no_wrap=True)
    table.add_column("caught", justify="right", no_wrap=True)
    for bug, row in cells(found).items():
        tried = [e for e in found if e.bug == bug]
        marks = "".join(_mark(row.get(head)) for head in heads)
        count = f"{sum(e.caught for e in tried)} of {len(tried)}"
        table.add_row(escape(bug), marks, count if any(row.values()) else f"[red]{count}[/]")
    return table


def legend(found: Sequence[Evidence], *, everywhere: bool) -> str:
    """What the numbers and marks of the matrix mean, and whether every bug is caught.

    Args:
        found: what every check says of every bug.
        everywhere: whether every bug was planted wherever it can be.
    """
    lines = [f"{CAUGHT} caught   {MISSED} planted, not seen   {ABSENT} does not apply", ""]
    sources = {evidence.column: evidence.source for evidence in reversed(found)}
    kills = {head: len({e.bug for e in found if e.column == head and e.caught}) for head in columns(found)}
    for number, head in enumerate(columns(found), 1):
        lines.append(f"{number:>2}  {head}: catches {several(kills[head], 'bug')} ({sources[head].split(';')[0]})")
    alive, lazy = survivors(found), idle_families(found)
    names = {evidence.check for evidence in found}
    beside = idle_checks(evidence for evidence in found if evidence.column not in lazy)
    lines.append("")
    lines.append(
        f"Not caught: {', '.join(alive)}."
        if alive
        else f"{all_of(len(cells(found)), 'bug is', 'bugs are')} caught."
    )
    lines.append(
        f"Caught nothing: {', '.join(lazy)}."
        if lazy
        else f"{all_of(len(kills), 'check catches', 'checks catch')} something."
    )
    if beside:
        lines.append(
            f"Of {several(len(names), 'identity or claim', 'identities and claims')} tried, these caught nothing, "
            f"though others of their family did: {', '.join(beside)}."
        )
    elif not lazy:
        all_tried = all_of(len(names), "identity or claim", "identities and claims").lower()
        lines.append(f"So {agree(len(names), 'does', 'do')} {all_tried} of theirs.")
    if (lazy or beside) and not everywhere:
        lines.append("--budget full plants every bug wherever it can be.")
    return "\n".join(lines)


def stories(bugs: Sequence[Bug]) -> Iterable[Text]:
    """What each bug is."""
    return (Text.assemble((bug.name, "bold"), f": {bug.story}") for bug in bugs)


def bug_text(bug: Bug, found: Sequence[Evidence]) -> str:
    """One bug in full: its story, its lines, and what every check says of it."""
    wide = max(len(evidence.check) for evidence in found)
    said = [f"  {_mark(e.caught)} {e.check:<{wide}}  {e.says}" for e in found]
    code = "\n".join(f"    {line}".rstrip() for line in bug.source.splitlines())
    parts = (bug.name, bug.story, f"Where: {bug.where}", code, "\n".join(said))
    return "\n\n".join(parts)


def as_json(bugs: Sequence[Bug], found: Sequence[Evidence]) -> dict[str, Any]:
    """Bugs, evidence, and the bugs and checks that are left over, as plain values."""
    return {
        "bugs": [
            {
                "name": bug.name,
                "story": bug.story,
                "where": bug.where,
                "code": bug.source,
                "evidence": [_plain(e) for e in found if e.bug == bug.name],
            }
            for bug in bugs
        ],
        "survivors": survivors(found),
        "idle_families": idle_families(found),
        "idle_checks": idle_checks(found),
    }


def exit_code(found: Sequence[Evidence]) -> int:
    """0 if every bug is caught, else 1."""
    return 1 if survivors(found) else 0


def _plain(evidence: Evidence) -> dict[str, Any]:
    return {
        "check": evidence.check,
        "statement": evidence.statement,
        "source": evidence.source,
        "caught": evidence.caught,
        "observed": evidence.observed if math.isfinite(evidence.observed) else None,
        "allowed": evidence.allowed if math.isfinite(evidence.allowed) else None,
        "cases": evidence.cases,
        "says": evidence.says,
    }


def _mark(caught: bool | None) -> str:
    return ABSENT if caught is None else CAUGHT if caught else MISSED
