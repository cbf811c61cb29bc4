"""Answers that a rule finds in a corpus, so that training can have a question about every person in it.

A line of the homework's corpus is a name, a full stop and sentences about the person. A rule picks a place from
these sentences. There are two rules:

* `capitalised` looks at letters only. It takes the first capitalised words that are no part of the name and no
month,
  and do not begin a sentence.
* `known` is distant supervision. It takes the first words that are an answer to some question of the training file.

Source of the distinction: Mintz et al. 2009, "Distant supervision for relation extraction without labeled data".
"""

import datetime
import re
from collections.abc import Callable, Iterable

from attnlab_theory.labs.knowledge.corpora.birthplaces import QUESTION, Questions

Rule = Callable[[str, str], str | None]
"""A function of a name and the sentences about the person, to a place. None if the rule finds none."""

# A full stop after an initial or a title does not end the name. Neither does one after a surname of two letters,
# which looks like a title: such lines, 6 of the homework's 2,938, name nobody.
HEADER = re.compile(r"(.+?)(?<!\b[A-Z])(?<!\b[A-Z][a-z])\. ")
WORDS = re.compile(r"[^\W\d_]+")
SPAN = re.compile(r"[^\W\d_a-zß-öø-ÿ][^\W\d_]*(?:[ -][^\W\d_a-zß-öø-ÿ][^\W\d_]*)*")
MONTHS = frozenset(f"{datetime.date(1900, month, 1):%B}" for month in range(1, 13))


def persons(text: str) -> dict[str, str]:
    """The sentences of a corpus about each name, without the name before them. Of several lines, the first."""
    lines = (HEADER.match(line) for line in text.split("\n"))
    entries: dict[str, str] = {}
    for found in filter(None, lines):
        entries.setdefault(found.group(1), found.string[found.end() :])
    return entries


def capitalised(name: str, entry: str) -> str | None:
    """The first capitalised words that are no part of the name and no month, and do not begin a sentence."""
    own = set(WORDS.findall(name)) | MONTHS
    for span in SPAN.finditer(entry):
        before = entry[: span.start()].rstrip()
        if before and not before.endswith(".") and own.isdisjoint(WORDS.findall(span.group())):
            return span.group()
    return None


def known(places: Iterable[str]) -> Rule:
    """The rule that finds the first of these places. If two begin at the same character, the longer.

    Raises:
        ValueError: if there are no places.
    """
    longest_first = sorted(set(places), key=len, reverse=True)
    if not longest_first:
        raise ValueError("a rule that knows no place finds none; give the answers of the training questions")
    # Not word boundaries: after the last full stop of "Washington, D.C." there is none.
    anywhere = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")

    def rule(name: str, entry: str) -> str | None:
        found = anywhere.search(entry.replace(name, "", 1))
        return None if found is None else found.group()

    return rule


def labelled(text: str, rule: Rule, given: Questions) -> Questions:
    """A question about everybody in the corpus. The training file answers it, or else the rule.

    Args:
        text: one person on each line.
        rule: finds a place. Persons for whom it finds none are left out.
        given: the training questions, which are all kept. Of two answers to one question, the last counts.

    Raises:
        ValueError: if the training questions have no places.
    """
    answers = dict(zip(given.texts, given.answers, strict=True))
    for name, entry in persons(text).items():
        asked = QUESTION.format(name=name)
        place = None if asked in answers else rule(name, entry)
        if place is not None:
            answers[asked] = place
    return Questions(tuple(answers), tuple(answers.values()), f"{given.source} and what a rule adds")
