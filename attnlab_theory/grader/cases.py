"""Cases of a contract, drawn and shrunk by Hypothesis: the same ones for the same seed."""

import contextlib
import functools
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import hypothesis.configuration
from hypothesis.errors import NoSuchExample

from attnlab_theory.grader.contract import Case, Contract

SETTINGS = hypothesis.settings(
    derandomize=True,
    database=None,
    deadline=None,
    phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
    verbosity=hypothesis.Verbosity.quiet,
)


@functools.cache
def drawn_cases(contract: Contract, seed: int = 0) -> tuple[Case, ...]:
    """The cases that Hypothesis draws if an answer is right at all of them. They are the same for all such answers.

    Args:
        contract: of the question.
        seed: of the cases; 0 has those that `attnlab check` asks.
    """
    cases: list[Case] = []
    with no_litter():
        finds(contract, lambda case: cases.append(case) or False, seed)
    return tuple(cases)


def finds(contract: Contract, misses: Callable[[Case], bool], seed: int = 0) -> bool:
    """Whether Hypothesis finds a case at which an answer is wrong. The last one that it tries is the smallest."""
    settings = hypothesis.settings(SETTINGS, max_examples=contract.examples)
    # Without a source of its own the cases follow from the code of the contract.
    source = random.Random(seed) if seed else None
    try:
        hypothesis.find(contract.cases(), misses, settings=settings, random=source)
    except NoSuchExample:
        return False
    return True


@contextlib.contextmanager
def no_litter() -> Iterator[None]:
    """Let Hypothesis leave no files in the current folder."""
    # Hypothesis caches what it reads of the source in the working folder, which is the user's.
    with tempfile.TemporaryDirectory(prefix="attnlab-") as folder:
        hypothesis.configuration.set_hypothesis_home_dir(Path(folder))
        try:
            yield
        finally:
            hypothesis.configuration.set_hypothesis_home_dir(None)
