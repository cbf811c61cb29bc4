"""Where was X born? The questions, what finetuning sees of them, and the score of one answer to all of them.

Source: Stanford CS224n, assignment 5 of 2021 (assignment 4 from 2024), `NameDataset`, `evaluate_places` and
`london_baseline.py`.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int32

from attnlab_theory import refuse
from attnlab_theory.language.corpora.batches import Batch
from attnlab_theory.language.corpora.text_files import decoded, read_text
from attnlab_theory.language.text.characters import MASK, PAD, PAD_ID, Characters
from attnlab_theory.plurals import several
from attnlab_theory.stats import Interval, proportion

QUESTION = "Where was {name} born?"


def vocabulary(corpus: str, *, source: str = "the corpus") -> Characters:
    """The characters of a pretraining corpus, and of the question's frame (the homework's corpus has them)."""
    return Characters.of(corpus + QUESTION.format(name=""), where=source)


def name_in(question: str, *, where: str = "the question") -> str:
    """Who is asked about.

    Raises:
        ValueError: if this is not a question of that frame, saying where.
    """
    before, after = QUESTION.split("{name}")
    name = question.removeprefix(before).removesuffix(after)
    if before + name + after != question or not name.strip():
        raise ValueError(f"{where} is {question!r}, not of the form {QUESTION.format(name='X')!r}: it names nobody")
    return name


@dataclasses.dataclass(frozen=True)
class Questions:
    """Questions, and the places that answer them where these are known."""

    texts: tuple[str, ...]
    places: tuple[str, ...] | None
    source: str = "the questions"
    """The name of the questions in error messages: as a rule the file."""

    def __len__(self) -> int:
        return len(self.texts)

    def split(self, size: int, *, seed: int) -> tuple["Questions", "Questions"]:
        """The questions to learn, and `size` random ones that are held back. Both keep the order of the file.

        If a question that is held back occurs again in the file, the second one is in neither part. So nothing
        that is held back is learned.

        Raises:
            ValueError: if there are not more questions than that, or size or seed is negative.
        """
        if seed < 0:
            raise ValueError(f"seed must not be negative, but is {seed}")
        if not 0 <= size < len(self):
            raise ValueError(
                f"of the {len(self)} questions of {self.source}, {size} cannot be held back: at most "
                f"{len(self) - 1} can"
            )
        back = np.isin(np.arange(len(self)), np.random.default_rng(seed).permutation(len(self))[:size])
        kept = self._where(back)
        held_back = set(kept.texts)
        given = self._where(np.array([question not in held_back for question in self.texts], bool))
        return given, dataclasses.replace(kept, source=f"{size} questions of {self.source}")

    def _where(self, chosen: Bool[np.ndarray, " n"]) -> "Questions":
        asked = tuple(itertools.compress(self.texts, chosen))
        places = None if self.places is None else tuple(itertools.compress(self.places, chosen))
        return Questions(asked, places, self.source)

    @property
    def answers(self) -> tuple[str, ...]:
        """The places.

        Raises:
            ValueError: if they are not known.
        """
        if self.places is None:
            raise ValueError(
                f"{self.source} has no places, its line 1 no tab; lines of question, tab and place are needed"
            )
        return self.places

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the persons.

        Raises:
            ValueError: if a question is no "Where was X born?". The message has its line.
        """
        lines = enumerate(self.texts, 1)
        return tuple(name_in(question, where=f"line {number} of {self.source}") for number, question in lines)


def read_questions(path: Path) -> Questions:
    """The questions of a file, one on each line. Either all have a tab and the place after them, or none.

    Raises:
        ValueError: if the file is missing, empty or not UTF-8, or a line has another form. The message has the
            line.
    """
    return parse_questions(read_text(path), source=str(path))


def parse_questions(text: str, *, source: str = "the questions") -> Questions:
    """The questions of a text. An empty last line is no question, so the text may end with a newline or not.

    Raises:
        ValueError: if a line is empty, or lacks its question or its place. The message has the line.
    """
    lines = text.removesuffix("\n").split("\n")
    with_places = "\t" in lines[0]
    asked, places = [], []
    for number, line in enumerate(lines, 1):
        question, *rest = line.split("\t")
        where = f"line {number} of {source}"
        if not question.strip():
            raise ValueError(f"{where} has no question; it needs one, or must go")
        if len(rest) != with_places:
            wanted = "one tab, between question and place" if with_places else "no tab, for line 1 has none"
            raise ValueError(f"{where} has {len(rest) or 'no'} tab{'s' * (len(rest) > 1)}, but needs {wanted}")
        if with_places and not rest[0].strip():
            raise ValueError(f"{where} has no place after its tab")
        asked.append(question)
        places += [place.strip() for place in rest]
    return Questions(tuple(asked), tuple(places) if with_places else None, source)


def read_predictions(path: Path, questions: Questions) -> tuple[str, ...]:
    """The predictions of a file, one on each line. An empty line is an empty prediction.

    Raises:
        ValueError: if the file is missing or not UTF-8, or its number of lines is not that of the questions.
    """
    text = decoded(path)
    predictions = tuple(text.removesuffix("\n").split("\n")) if text else ()
    if len(predictions) != len(questions):
        raise ValueError(
            f"{path} has {several(len(predictions), 'line')} for the {several(len(questions), 'question')} of "
            f"{questions.source}; "
            "it needs one prediction for each, in their order"
        )
    return predictions


class NameDataset:
    """Questions for finetuning: "Where was X born?⁇place⁇". Only "⁇place⁇" is a target.

    Args:
        questions: with their places.
        block_size: characters of a padded line; x and y are one shorter.
        characters: the vocabulary, always that of pretraining.
        ascii_only: leave out characters that are not ASCII, as the homework does: "Håvard" becomes "Hvard".
        whole: make all characters targets, also those of the question.

    Raises:
        ValueError: if there are no places, a line is too long for the block, or a character is not in the
            vocabulary. The message has the line.
    """

    def __init__(
        self,
        questions: Questions,
        block_size: int = 128,
        *,
        characters: Characters,
        ascii_only: bool = True,
        whole: bool = False,
    ):
        refuse.not_a_size(block_size=block_size)
        self.characters = characters
        self.block_size = block_size
        self.questions = questions
        self._tokens = np.zeros((len(questions), block_size), np.int32)
        self._ignored = np.zeros((len(questions), block_size), bool)
        for row, (question, place) in enumerate(zip(questions.texts, questions.answers, strict=True)):
            where = f"line {row + 1} of {questions.source}"
            for mark in (MASK, PAD):
                if mark in question + place:
                    raise ValueError(f"{where} holds {mark!r}, which stands for no text; take it out")
            if ascii_only:
                question, place = _ascii(question), _ascii(place)
            if not place.strip():
                raise ValueError(f"{where} has a place without a character of ASCII: nothing is left to learn")
            full = f"{question}{MASK}{place}{MASK}"
            if len(full) > block_size:
                raise ValueError(
                    f"{where} takes {len(full)} characters with its two marks, more than the block size "
                    f"{block_size}; take a longer block"
                )
            self._tokens[row, : len(full)] = characters.encode(full, where=where)
            self._ignored[row, : len(question)] = not whole

    def __len__(self) -> int:
        return len(self.questions)

    def __getitem__(self, index: int) -> tuple[Int32[np.ndarray, " t"], Int32[np.ndarray, " t"]]:
        """x and y of one question.

        Raises:
            IndexError: if there is no such question.
        """
        if not 0 <= index < len(self):
            raise IndexError(f"no question is numbered {index}, only 0 to {len(self) - 1}")
        batch = self._rows(slice(index, index + 1))
        return np.asarray(batch.x[0]), np.asarray(batch.y[0])

    def epoch(self, epoch: int = 0) -> Batch:
        """All questions in the order of the file, the same in every epoch."""
        return self._rows(slice(None))

    def _rows(self, rows: slice) -> Batch:
        tokens = self._tokens[rows]
        targets = np.where(self._ignored[rows], PAD_ID, tokens)
        return Batch(x=np.ascontiguousarray(tokens[:, :-1]), y=np.ascontiguousarray(targets[:, 1:]))


def _ascii(text: str) -> str:
    return text.encode("ascii", errors="ignore").decode("ascii")


@dataclasses.dataclass(frozen=True)
class Score:
    """How many answers are right."""

    correct: int
    total: int

    @property
    def accuracy(self) -> float:
        """The share of right answers."""
        return self.correct / self.total

    def interval(self, error_rate: float = 0.05) -> Interval:
        """Clopper and Pearson's interval for the accuracy on such questions."""
        return proportion().interval(np.arange(self.total) < self.correct, error_rate)


def score(predictions: Sequence[str], questions: Questions) -> Score:
    """The number of exact matches, as in the homework: all characters of the place, and no others.

    Raises:
        ValueError: if the questions have no places, or there is not one prediction for each.
    """
    answers = questions.answers
    if not answers:
        raise ValueError(f"{questions.source}: there are none, and so no accuracy")
    if len(predictions) != len(answers):
        raise ValueError(
            f"{several(len(predictions), 'prediction')} for the {several(len(answers), 'question')} of "
            f"{questions.source}; give one each"
        )
    return Score(sum(map(str.__eq__, predictions, answers)), len(answers))


def always(place: str, questions: Questions) -> Score:
    """The score of one place as the answer to every question. The homework's baseline is "London".

    Raises:
        ValueError: if the questions have no places.
    """
    return score([place] * len(questions), questions)
