"""The names by which people call a question: other spellings, and the numbers of other years."""

import re

from attnlab_theory.answers import questions
from attnlab_theory.grader.contract import Contract
from attnlab_theory.grader.contracts import CONTRACTS

OTHER_YEARS = {
    # Handouts with another section before this one, or with the matrices as its last part.
    **{f"cs224n/2{part}": f"cs224n/1{part}" for part in ("b.i", "b.ii", "c.i", "c.ii", "d.i", "d.ii")},
    **{f"practical4/1{part}": f"practical4/2{part}" for part in ("b", "c.1", "c.2", "d.1", "d.2", "e.1", "e.2")},
    "cs224n/1e": "practical4/2e.2",
    "cs224n/1e.ii": "practical4/2e.2",
    "cs224n/2e.ii": "practical4/2e.2",
    "practical4/2b.i": "cs224n/1b.i",
    "practical4/2b.ii": "practical4/2b",
}
"""Numbers of other years' handouts, and our number for the same question. None of them is also a number of ours."""


def contract_of(question: str) -> Contract:
    """The contract of a question.

    Raises:
        ValueError: if the question has no contract. The message says why, or names the nearest question that has
            one.
    """
    known = _by_spelling({*CONTRACTS, *(entry.id for entry in questions.entries())})
    asked = question if question in known.values() else known.get(_spelling(question), "")
    if not asked:
        asked = _by_spelling(OTHER_YEARS).get(_spelling(question), "")
        asked = OTHER_YEARS.get(asked, "")
    if asked in CONTRACTS:
        return CONTRACTS[asked]
    listed = ", ".join(CONTRACTS)
    if asked:
        raise ValueError(
            f"{asked} asks for an answer in words, which code cannot judge; attnlab answers {asked} shows what is "
            f"measured; attnlab check can judge {listed}"
        )
    parts = [name for name in CONTRACTS if name.startswith(f"{question}.")]
    if len(parts) > 1:
        asked = ", ".join(f"{name} ({CONTRACTS[name].asks.rstrip('.')})" for name in parts)
        raise ValueError(f"{question} has parts here: {asked}; say which one")
    near = questions.nearest(question, [*CONTRACTS])
    meant = f"the nearest that can is {' or '.join(near)} (of {listed})" if near else f"those that can are {listed}"
    raise ValueError(f"no question '{question}' can be checked; {meant}")


def _by_spelling(names: "set[str] | dict[str, str]") -> dict[str, str]:
    return {_spelling(name): name for name in names}


def _spelling(question: str) -> str:
    """One spelling for 2(c)(ii), 2.c.2, 2c_ii and 2C.2."""
    homework, _, rest = question.lower().partition("/")
    parts = re.findall(r"\d+|iv|i{1,3}(?![a-z])|[a-z]+", rest)
    return f"{homework}/{'.'.join(str(questions.ROMAN.get(part, part)) for part in parts)}"
