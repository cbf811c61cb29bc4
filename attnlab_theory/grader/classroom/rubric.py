"""Rubrics: which questions are graded, their points, and the names by which answers are found."""

import dataclasses
import importlib.resources
import itertools
import math
import re
import tomllib
from pathlib import Path

from attnlab_theory import inputs

RUBRICS = ("practical4", "cs224n", "uw")
"""The homeworks with a rubric. Each has a TOML file of its name."""

REFUSED = {
    "ann-hw3": "its questions ask for training runs and for words, which code cannot judge",
    "blog": "its questions ask for words, which code cannot judge",
}
"""The homeworks of the answer sheet that have no rubric, and why."""

MOST_POINTS = 10_000
ROMAN = {"1": "i", "2": "ii", "3": "iii", "4": "iv"}
PREFIXES = ("q", "Q", "question", "question_")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rubric:
    """Points for each question of one homework."""

    homework: str
    points: dict[str, float]
    """The points, by the part of a question's id after its homework."""

    @property
    def total(self) -> float:
        """The points of a submission that is right everywhere."""
        return sum(self.points.values())

    def question(self, part: str) -> str:
        """The id of a question."""
        return f"{self.homework}/{part}"


def rubric_of(name: str) -> Rubric:
    """The rubric of a homework, or of somebody's own TOML file.

    Args:
        name: one of `RUBRICS`, or the path of a file that ends in .toml.

    Raises:
        ValueError: if there is none. For a homework of the answer sheet the message says why.
    """
    if name in RUBRICS:
        place = importlib.resources.files("attnlab_theory.grader.classroom").joinpath(f"rubrics/{name}.toml")
        return _read(tomllib.loads(place.read_text("utf-8")), name)
    have = ", ".join(RUBRICS)
    if name in REFUSED:
        raise ValueError(f"--rubric {name}: {REFUSED[name]}; rubrics exist for {have}")
    if not name.endswith(".toml"):
        raise ValueError(f"--rubric takes {have}, or a file of your own that ends in .toml, not {name!r}")
    try:
        table = tomllib.loads(inputs.content(Path(name)).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{name} is not a TOML file: {error}") from None
    return _checked(_read(table, name), name)


def _read(table: dict[str, object], name: str) -> Rubric:
    points, homework = table.get("points"), table.get("homework")
    if not isinstance(homework, str) or not isinstance(points, dict) or not points:
        raise ValueError(f'{name}: a rubric says homework = "practical4", and below [points] lines like "2b" = 2')
    found: dict[str, float] = {}
    for part, worth in points.items():
        number = isinstance(worth, int | float) and not isinstance(worth, bool)
        if not number or not math.isfinite(worth) or not 0 <= worth <= MOST_POINTS:
            raise ValueError(f"{name}: {part} is worth a number from 0 to {MOST_POINTS}, not {worth!r}")
        found[part] = worth
    return Rubric(homework=homework, points=found)


def _checked(rubric: Rubric, name: str) -> Rubric:
    """The same rubric, if code can answer all of its questions.

    Raises:
        ValueError: if one of its questions has no contract.
    """
    if rubric.homework not in RUBRICS:
        raise ValueError(f"{name}: homework is one of {', '.join(RUBRICS)}, not {rubric.homework!r}")
    known = rubric_of(rubric.homework).points
    for part in rubric.points:
        if part not in known:
            raise ValueError(f"{name}: {rubric.homework} has {', '.join(known)} to be graded, and no {part!r}")
    return rubric


def names_of(part: str) -> tuple[str, ...]:
    """The names of functions that may answer a question. The first is the one to recommend.

    Args:
        part: the question's id after its homework. 2d.2 gives q2d_2, q2d2, q2d_ii and others.
    """
    words = re.findall(r"\d+|[a-z]+", part)
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
    from attnlab_theory.grader.contracts import CONTRACTS

    lines = [f'"""Answers to {rubric.homework}. Leave out what you cannot answer."""', "", "import numpy as np"]
    for part, worth in rubric.points.items():
        contract = CONTRACTS[rubric.question(part)]
        function = dataclasses.replace(contract, function=names_of(part)[0])
        givens = "; ".join(f"{name.split(':')[0]}: {what}" for name, what in contract.parameters.items())
        returns = "; ".join(f"{name}: {what}" for name, what in contract.returns.items())
        lines += [
            *("", "", f"# {part}, {worth:g} point{'' if worth == 1 else 's'}: {contract.asks}"),
            *(f"# Givens. {givens}.", f"# Return. {returns}.", f"def {function.signature}:"),
            "    raise NotImplementedError",
        ]
    return "\n".join([*lines, ""])
