"""Targets that no kind can judge: modules that project, and functions that draw random numbers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform.attention.asking import Answer, ask
from attnlab_theory.conform.attention.cases import Case
from attnlab_theory.conform.attention.conventions import Conventions
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.kinds import Kind


def projects(caller: Caller, about: Mapping[str, Any]) -> str:
    """What is said of a module that projects."""
    return (
        f"{caller.name} is a module that projects, by {', '.join(about['learns'])}. Write an adapter that makes it "
        "for any width, with identity projections: attnlab conform --template torch"
    )


def refuse_unsettled(
    caller: Caller, kind: Kind, way: Conventions, about: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """Refuse a module of one width, and a target that draws random numbers: another seed, another answer.

    A call that fails is made again. That one failed where the same call was answered is returned, to be told.
    """
    case = fitted(Case(queries=6, keys=6, width=16, value_width=16), kind, way)

    def called(seed: int) -> Answer:
        return ask(caller, way, case, more={"random": {"": ["int", seed]}})

    seeds = (1, 1, 2, 3)
    answers = [called(seed) for seed in seeds]
    if about.get("learns") and answers[0].trouble:
        raise ValueError(projects(caller, about))
    died = next((answer.trouble for answer in answers if answer.trouble), None)
    answers = [called(seed) if answer.trouble else answer for seed, answer in zip(seeds, answers, strict=True)]
    if any(answer.trouble for answer in answers):
        # What is refused each time is told by the identities.
        return []
    one, same, *others = (answer.output for answer in answers)
    if np.array_equal(one, same, equal_nan=True) and any(
        not np.array_equal(one, other, equal_nan=True) for other in others
    ):
        raise ValueError(
            f"{caller.name} draws random numbers: the same call gives another answer. Switch dropout off: .eval() "
            "on a module, or a function that hands over 0"
        )
    return [("the same call", f"failed once, and was answered when it was made again: {died}")] if died else []
