"""Rubrics: which questions are graded, their points, and the names by which answers are found."""

import dataclasses
import functools
import itertools
import re
from typing import TYPE_CHECKING

from attnlab_theory.answers.homework import Homework, Question, of_file, of_lab

if TYPE_CHECKING:
    from attnlab_theory.grader.contract import Contract

RUBRICS = ("practical4", "cs224n", "uw")
"""The homeworks of the lab that code can grade."""

REFUSED = {
    "ann-hw3": "its questions ask for training runs and for words, which code cannot judge",
    "blog": "its questions ask for words, which code cannot judge",
}
"""The homeworks of the answer sheet that have no rubric, and why."""

ROMAN = {"1": "i", "2": "ii", "3": "iii", "4": "iv"}
PREFIXES = ("q", "Q", "question", "question_")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rubric:
    """Points for each question of one homework."""

    homework: str
    points: dict[str, float]
    """The points, by the part of a question's id after its homework."""
    written: Homework
    """The homework, and its file if it is somebody's own."""

    @property
    def total(self) -> float:
        """The points of a submission that is right everywhere."""
        return sum(self.points.values())

    def question(self, part: str) -> str:
        """The id of a question."""
        return f"{self.homework}/{part}"

    def contract(self, part: str) -> "Contract":
        """What a question promises to an answer.

        Raises:
            ValueError: if it is somebody's own, and a function of theirs does not work.
        """
        own = next((each for each in self.written.questions if each.id == part), None)
        if own is not None and own.signature:
            from attnlab_theory.grader.own_questions import contracts

            return contracts(self.written)[part]
        from attnlab_theory.grader.contracts import CONTRACTS

        found = CONTRACTS[own.contract if own is not None and own.contract else self.question(part)]
        return found if own is None or not own.contract else _asked_again(found, self.written, own)

    def names(self, part: str) -> tuple[str, ...]:
        """The names of functions that may answer a question. The first is the one to recommend."""
        own = next((each for each in self.written.questions if each.id == part and each.signature), None)
        return (own.function.name, *names_of(part)) if own else names_of(part)


@functools.cache
def _asked_again(contract: "Contract", written: Homework, question: Question) -> "Contract":
    """A contract of the lab, for a question of somebody's own."""
    hints = {**contract.hints, **question.hints}
    name = f"{written.name}/{question.id}"
    return dataclasses.replace(contract, question=name, homework=written.path, hints=hints)


def rubric_of(name: str) -> Rubric:
    """The points of a homework, or of somebody's own TOML file.

    Args:
        name: one of `RUBRICS`, or the path of a file that ends in .toml.

    Raises:
        ValueError: if there is none, or the file says something that has no meaning. For a homework of the answer
            sheet the message says why.
    """
    have = ", ".join(RUBRICS)
    if name in REFUSED:
        raise ValueError(f"--rubric {name}: {REFUSED[name]}; rubrics exist for {have}")
    if name not in RUBRICS and not name.endswith(".toml"):
        raise ValueError(f"--rubric takes {have}, or a file of your own that ends in .toml, not {name!r}")
    written = of_lab(name) if name in RUBRICS else of_file(name)
    if not written.points:
        raise ValueError(
            f"{name} has no question with points; write points = 1 below a [[question]] that code judges"
        )
    if any(each.signature for each in written.questions):
        from attnlab_theory.grader.own_questions import contracts

        contracts(written)  # its mistakes are told before anybody is judged
    rubric = Rubric(homework=written.name, points=dict(written.points), written=written)
    owners: dict[str, str] = {}
    for question in written.questions:
        for each in rubric.names(question.id) if question.id in rubric.points else ():
            if (other := owners.setdefault(each, question.id)) != question.id:
                remedy = f"a function {each} would answer {other}, too; rename one of the two"
                raise written.refused(question, "signature" if question.signature else "id", each, remedy)
    return rubric


def names_of(part: str) -> tuple[str, ...]:
    """The names of functions that may answer a question. The first is the one to recommend.

    Args:
        part: the question's id after its homework. 2d.2 gives q2d_2, q2d2, q2d_ii and others.
    """
    words = re.findall(r"\d+|[a-z]+", part.lower())
    roman = {word: number for number, word in ROMAN.items()}
    # The letter of 2b stands next to its number; later words are numbered.
    first = 2 if len(words) > 1 and words[1].isalpha() and words[1] not in roman else 1
    later = [{word} for word in words[first:]]
    if later:
        # The last alone: of 1.2.1 and 1.1.2 nobody could tell iii apart.
        later[-1] |= {ROMAN.get(words[-1], words[-1]), roman.get(words[-1], words[-1])}
    given = ["".join(words[:first]), *words[first:]]
    spelled = ["_".join(given)]
    for choice in itertools.product(*map(sorted, later)):
        heads = {"".join(words[:first]), "_".join(words[:first])}
        spelled += [mark.join([head, *choice]) for head in sorted(heads) for mark in ("_", "")]
    return tuple(f"{prefix}{name}" for prefix in PREFIXES for name in dict.fromkeys(spelled))


def stems_of(part: str, homework: str) -> frozenset[str]:
    """The names of files that answer this question alone, in small letters and without .py: 2d_2, q2d_2."""
    names = {name.removeprefix("q").lower() for name in names_of(part) if name.startswith("q")}
    every = names | {name.lower() for name in names_of(part)} | {part}
    return frozenset(every | {f"{homework}_{name}" for name in every})


def template(rubric: Rubric) -> str:
    """A Python file with all functions to fill in."""
    lines = [f'"""Answers to {rubric.homework}. Leave out what you cannot answer."""', "", "import numpy as np"]
    for part, worth in rubric.points.items():
        contract = rubric.contract(part)
        function = dataclasses.replace(contract, function=rubric.names(part)[0])
        givens = "; ".join(f"{name.split(':')[0]}: {what}" for name, what in contract.parameters.items())
        returns = "; ".join(f"{name}: {what}" for name, what in contract.returns.items())
        lines += [
            *("", "", f"# {part}, {worth:g} point{'' if worth == 1 else 's'}: {contract.asks}"),
            *(f"# Givens. {givens}.", f"# Return. {returns}.", f"def {function.signature}:"),
            "    raise NotImplementedError",
        ]
    return "\n".join([*lines, ""])
