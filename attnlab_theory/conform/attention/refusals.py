"""Targets that no kind can judge: modules that project, and functions that draw random numbers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform.attention.asking import ask
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


def refuse_unsettled(caller: Caller, kind: Kind, way: Conventions, about: Mapping[str, Any]) -> None:
    """Refuse a module of one width, and a target that draws random numbers: another seed, another answer."""
    case = fitted(Case(queries=6, keys=6, width=16, value_width=16), kind, way)
    answers = [ask(caller, way, case, more={"random": {"": ["int", seed]}}) for seed in (1, 1, 2, 3)]
    if about.get("learns") and answers[0].trouble:
        raise ValueError(projects(caller, about))
    one, same, *others = (answer.output for answer in answers)
    if np.array_equal(one, same, equal_nan=True) and any(
        not np.array_equal(one, other, equal_nan=True) for other in others
    ):
        raise ValueError(
            f"{caller.name} draws random numbers: the same call gives another answer. Switch dropout off: .eval() "
            "on a module, or a function that hands over 0"
        )
