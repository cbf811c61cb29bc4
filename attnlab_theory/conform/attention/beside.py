"""What a target gives beside its output: weights are judged with it, and a log-sum-exp here."""

from collections.abc import Iterator

import numpy as np

from attnlab_theory.conform.attention.asking import Answer, call_of
from attnlab_theory.conform.attention.cases import Case, arrays
from attnlab_theory.conform.attention.features import SMALL, case_of, columns_of
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.judging import Judge
from attnlab_theory.conform.attention.layouts import laid_out, weights_layout
from attnlab_theory.conform.attention.reference import attend
from attnlab_theory.conform.finding import Verdict
from attnlab_theory.conform.kinds import Kind
from attnlab_theory.conform.recording import saw
from attnlab_theory.conform.suite import CALL, NOTHING, Said, Wrong, failed

NEAR = 1e-3
"""How far a sum may be off to be known for what it is: what rounds in half precision is off by more."""

NAMED = "the logarithm of the sum of exponentials"

APART = ("sizes", "types", "memory", "values")
"""Features that change no sum, or make it too large to be known."""

HIDING = ("mask", "padding", "lengths", "window", "segments")
"""Features that are asked beside the flag that hides the future, too."""

Reading = tuple[str, float, bool]
"""The layout of a sum, the logarithm of its base, and whether a sink is a part of it."""


def second_output(judge: Judge, kind: Kind) -> Said:
    """The log-sum-exp of what is seen, in base e or 2, under each feature; what else it is is not judged."""
    known: set[tuple[str, float]] = set()
    tried = 0
    for case in _cases(judge, kind):
        answer = judge.ask(case)
        if answer.trouble or answer.beside is None:
            if not tried:
                return NOTHING
            continue
        tried += 1
        found = {each[:2] for each, (given, right) in _read(judge, case, answer).items() if _near(given, right)}
        if tried == 1 and not found and not _read(judge, case, answer, hidden=True, near=True):
            said = f"{[*answer.beside.shape]} is neither weights nor a logarithm of the sum of exponentials"
            return Said(Verdict.NOT_JUDGED, said)
        known = found if tried == 1 else known & found or known
        if known & found:
            continue
        given, right = next(iter(_read(judge, case, answer).values()))
        gap = np.where(np.isfinite(right), np.abs(given - right), 0)
        saw(judge.caller, given, right, np.nan_to_num(gap, nan=np.inf) / NEAR)
        whole = next(iter(_read(judge, case, answer, hidden=True).values()))[1]
        sees = np.isfinite(right)
        hides = bool(((given > right - NEAR) & (given < whole + NEAR))[sees].all())
        call = call_of(judge.way, case)
        why = "counts hidden keys" if hides else f"is off by {gap.max():.3g}"
        wrong = Wrong(f"{NAMED} {why}; {CALL}{call}", case=call)
        return failed(wrong, tried=tried, counterexample=case, ratio=float(gap.max() / NEAR))
    if not known:
        return NOTHING
    if any(base == 1.0 for _, base in known):
        return Said(Verdict.HOLDS, NAMED, tried)
    return Said(Verdict.CONVENTION, f"{NAMED}, in base 2", tried)


def _cases(judge: Judge, kind: Kind) -> Iterator[Case]:
    """A plain call, each feature alone, and those that hide beside the flag that hides the future."""
    way = judge.way
    columns = {name: values for name, values in columns_of(kind, way).items() if name not in APART}
    asked = [{name: value} for name, values in columns.items() for value in values[1:]]
    asked += [
        {name: columns[name][1], "causal": columns["causal"][1]}
        for name in HIDING
        if name in columns and "causal" in columns
    ]
    yield fitted(Case(seed=21), kind, way)
    for seed, values in enumerate(asked):
        yield case_of(kind, way, {"sizes": SMALL._asdict()} | values, seed)


def _read(
    judge: Judge, case: Case, answer: Answer, *, hidden: bool = False, near: bool = False
) -> dict[Reading, tuple[np.ndarray, np.ndarray]]:
    """What came beside the output and what it should be, for every reading that has its shape.

    Args:
        judge: of the target.
        case: that was asked.
        answer: to it.
        hidden: whether hidden keys count.
        near: whether only those are wanted that agree.
    """
    assert answer.beside is not None
    problem = judge.way.problem(arrays(case), case)
    exact = attend(problem).scores
    seen = np.broadcast_to(problem.visible, exact.shape)
    scores = np.where(seen | hidden, exact, -np.inf)
    found: dict[Reading, tuple[np.ndarray, np.ndarray]] = {}
    for sink in (True, False) if case.sinks else (False,):
        some = scores[..., : exact.shape[-1] - (bool(case.sinks) and not sink)]
        natural = np.logaddexp.reduce(some, -1, keepdims=True)
        for layout in dict.fromkeys((weights_layout(judge.way.layout), judge.way.layout)):
            right = laid_out(natural, layout)
            if answer.beside.shape in (right.shape, right.shape[:-1]):
                for base in (1.0, float(np.log(2))):
                    pair = answer.beside.reshape(right.shape), right / base
                    if not near or _near(*pair):
                        found[layout, base, sink] = pair
    return found


def _near(given: np.ndarray, right: np.ndarray) -> bool:
    """Whether sums agree, where something is seen."""
    sees = np.isfinite(right)
    return bool(np.allclose(given[sees], right[sees], atol=NEAR))
