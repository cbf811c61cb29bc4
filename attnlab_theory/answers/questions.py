"""The questions of the answer sheet as they are written: one TOML file for each homework."""

import dataclasses
import difflib
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from attnlab_theory.answers.homework import HOMEWORKS, Homework, Question, of_lab
from attnlab_theory.claims import Statement

ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4}

FIELD = re.compile(r"(\w+)=(?:'([^']*)'|([^\s{}']+))")
PLACEHOLDER = re.compile(rf"\{{([\w-]+)((?:\s+{FIELD.pattern})*)\}}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """One question of the sheet as it is written, before anything is judged."""

    id: str
    question: str
    answer: str
    """At most five sentences, with placeholders."""
    evidence: tuple[str, ...]
    """Names of claims and identities."""
    findings: tuple[str, ...] = ()
    """Names of claims about trained models. An earlier training run has judged them: nothing is trained here."""
    lab: str = "knowledge"
    """The lab whose run judges the `findings`."""
    submitted: dict[str, str] | None = None
    """Where a submitted answer is wrong: what it claimed, what was measured, what is right."""


class Declared(NamedTuple):
    """What a lab declares before any run."""

    statements: Sequence[Statement]
    question: str
    option: str
    """The option of `attnlab LAB run` that names its arms."""


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Every question of the sheet, in order.

    Raises:
        ValueError: if a file lacks a field or has one that is not known.
    """
    return tuple(entry for name in HOMEWORKS for entry in entries_of(of_lab(name)))


def entries_of(homework: Homework) -> tuple[Entry, ...]:
    """The questions of one homework, of the lab or of somebody's own."""
    return tuple(_entry(homework.name, question) for question in homework.questions)


def chosen(selector: str = "", own: Homework | None = None) -> tuple[Entry, ...]:
    """The questions of a homework, or one question, or all of them.

    Args:
        selector: HOMEWORK, HOMEWORK/QUESTION, or nothing. Of one's own homework QUESTION is enough.
        own: a homework of one's own, in place of those of the lab.

    Raises:
        ValueError: if no homework or question has that name. The message gives the nearest name.
    """
    every = entries() if own is None else entries_of(own)
    names = HOMEWORKS if own is None else (own.name,)
    selector = f"{own.name}/{selector}" if own and selector and selector.split("/")[0] != own.name else selector
    found = tuple(e for e in every if not selector or selector in (e.id, e.id.split("/")[0]))
    if not found:
        near = nearest(selector, [*names, *(e.id for e in every)])
        listed = f"it has {', '.join(e.id for e in every)}" if own else "attnlab answers --list lists its questions"
        remedy = f"the nearest is {' or '.join(near)}" if near else listed
        raise ValueError(f"the answer sheet has no '{selector}'; {remedy}")
    return found


def nearest(asked: str, known: Sequence[str]) -> list[str]:
    """The questions that somebody may mean. A number is compared by its meaning, and a word by its spelling.

    Args:
        asked: what was asked for, with a homework or without.
        known: ids of questions, and names of homeworks.

    Returns:
        Those that may be meant; none if a number means none.
    """
    homework, _, rest = asked.lower().rpartition("/")
    if wanted := place(rest):
        places = {each: place(each.rpartition("/")[2]) for each in known if "/" in each}
        for is_meant in (
            lambda there: there == wanted,
            lambda there: _digits(there) == _digits(wanted),  # 1.31 for 1.3.1
            lambda there: there[: len(wanted)] == wanted,  # 2c for 2c.1
        ):
            same = [each for each, there in places.items() if there and is_meant(there)]
            own = [each for each in same if each.startswith(f"{homework}/")]
            if own or (same and not homework):
                return own or same
        return []
    return difflib.get_close_matches(asked, known, n=1, cutoff=0.0)


def place(number: str) -> tuple[int, ...]:
    """What the number of a question means, so that 1c.i, 1(c)(i) and 1.3.1 are one; empty if it is no number."""
    number = re.sub(r"^(question|problem|exercise|q)[\s.:]*(?=\d)", "", number.lower())
    parts = re.findall(r"\d+|iv|i{1,3}(?![a-z])|[a-z]", number)
    if not number[:1].isdigit() or re.search(r"[a-z]{4}", number):
        return ()
    return tuple(int(x) if x.isdigit() else ROMAN.get(x) or ord(x) - ord("a") + 1 for x in parts)


def _digits(found: tuple[int, ...]) -> str:
    return "".join(map(str, found))


def refuse_undeclared(entries: Iterable[Entry], labs: Mapping[str, Declared]) -> None:
    """Refuse answers that rest on findings which no lab states. Nothing is run.

    Args:
        entries: questions of the sheet.
        labs: what each lab declares, by its name.

    Raises:
        ValueError: naming the question, and the lab, statement or setting that does not exist.
    """
    for entry in entries:
        if not entry.findings:
            continue
        if entry.lab not in labs:
            raise ValueError(f"{entry.id} rests on a run of '{entry.lab}', and no lab is called that")
        for name in entry.findings:
            stated = [each for each in labs[entry.lab].statements if each.name == name]
            if not stated:
                raise ValueError(f"{entry.id} rests on '{name}', but attnlab {entry.lab} run has no such claim")
            for claim, fields, *_ in PLACEHOLDER.findall(entry.answer):
                if claim == name and not any(_can_be(each, setting_of(fields)) for each in stated):
                    raise ValueError(
                        f"{entry.id} quotes '{name}' at '{fields.strip()}', but the claim is about other settings"
                    )


def _can_be(stated: Statement, setting: Mapping[str, Any]) -> bool:
    """Whether a statement may be about this setting: no value contradicts what the statement lists."""
    values = {key: wanted if isinstance(wanted, tuple) else (wanted,) for key, wanted in stated.where.items()}
    return all(value in values.get(key, (value,)) for key, value in setting.items())


def _entry(homework: str, question: Question) -> Entry:
    submitted = question.submitted
    # Unmarked, the wrong assertion would be the first thing that is read.
    labelled = [f"{label.capitalize()}: {text}" for label, text in (submitted or {}).items()]
    return Entry(
        id=f"{homework}/{question.id}",
        question=_flat(question.question),
        answer=_flat(" ".join(labelled) if submitted else question.answer),
        evidence=question.evidence,
        findings=question.findings,
        lab=question.lab,
        submitted={label: _flat(text) for label, text in submitted.items()} if submitted else None,
    )


def _flat(text: str) -> str:
    return " ".join(text.split())


def _value(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def setting_of(fields: str) -> dict[str, float | str]:
    """The fields of a setting, written `name=value name='two words'`."""
    return {name: text or _value(word) for name, text, word in FIELD.findall(fields)}
