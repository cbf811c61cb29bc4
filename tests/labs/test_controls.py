"""Every statement of a lab has a control, and a page lists them all."""

import itertools
from pathlib import Path

import pytest

from attnlab_theory.claims import Beyond, Identity, Instead, Paired
from attnlab_theory.cli import library

PAGE = Path(__file__).parents[2] / "docs" / "mathematics" / "judging.md"
LABS = {**library.labs(), "heads": library.heads()}
MOST = 5
"""So many statements of all labs together may be identities, which need no control."""


def told(control):
    """What the page says of a control, and of what tells it from the measured number."""
    match control:
        case Identity(why):
            return f"none: {why}", "–"
        case Paired(what):
            return what, "the statement's own number is the difference"
        case Instead(what):
            return what, "the control has a number of its own"
        case Beyond(what, quantity, above=above):
            return what, f"*{quantity}*" + (f" above {above:g}" if above else "")


def rows():
    """The rows of the table: statements share a row if their control is the same."""
    for lab, declared in LABS.items():
        names = {}
        for stated in declared.statements:
            what, by = told(stated.control)
            names.setdefault((what, by), {})[f"`{stated.name}`"] = None
        for (what, by), each in names.items():
            yield f"| {lab} | {', '.join(each)} | {what} | {by} |"


def test_the_page_lists_the_control_of_each_statement():
    text = PAGE.read_text("utf-8")
    head = "| lab | statements | control | what tells them apart |\n|---|---|---|---|\n"
    (table,) = [part.partition("\n\n")[0] for part in text.split(head)[1:]]
    assert table.splitlines() == [*rows()], "\n".join(rows())


def test_at_most_five_statements_are_identities():
    stated = itertools.chain.from_iterable(each.statements for each in LABS.values())
    identities = [each.name for each in stated if isinstance(each.control, Identity)]
    assert len(identities) <= MOST
    assert all(each.control.why for lab in LABS.values() for each in lab.statements if each.name in identities)


@pytest.mark.parametrize("lab", LABS)
def test_the_number_of_a_control_is_not_the_statements_own(lab):
    """Else the statement would be compared with itself."""
    for stated in LABS[lab].statements:
        if isinstance(stated.control, Beyond):
            where = stated.control.where
            assert stated.control.quantity != stated.quantity or callable(where) or where != stated.where
