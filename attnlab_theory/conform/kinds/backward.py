r"""A backward pass that a target brings: f(dout, q, k, v, ...) gives (dq, dk, dv), each a declaration.

How the target is called is found of its own answers; the backward pass must mean the same. So a scale, a mask, a
window or a hidden future that only one of the two has is wrong, and no convention. Gradients are held against the
reference, as far off as `softmax.slopes` derives, and against differences of the target's own answers.

Tolerance of differences. For a direction delta, L(h) = sum(dout * f(x + h delta)). The slope is near
D(h) = (L(h) - L(-h)) / 2h. An answer may be off by `within`, so D(h) by sum(|dout| within) / h. What D(h) leaves
out is h^2 / 6 of a third derivative, and D(2h) leaves out four times that: |D(2h) - D(h)| is three times what is
left out, and is granted. The product of delta and the gradient errs by sum(|delta| room).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform import show
from attnlab_theory.conform.callers import Caller, Place
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.finding import NOT_TRIED, Finding, Verdict
from attnlab_theory.conform.identities import Covering, RightAt, again, right_in, untouched
from attnlab_theory.conform.judge import Judge
from attnlab_theory.conform.kind import Chosen, Kind, Right, Stage
from attnlab_theory.conform.kinds.softmax.problems import problem
from attnlab_theory.conform.kinds.softmax.reference import attend
from attnlab_theory.conform.kinds.softmax.slopes import of_role, room, slopes
from attnlab_theory.conform.report import as_one, refused_in_words, rows_of
from attnlab_theory.conform.suite import Row

GRADIENTS = {"q": "bhtd", "k": "bgsd", "v": "bgse"}
"""What is given, in this order, with its axes."""

STEPS = {"float64": 1e-4, "float32": 2e-2}
"""h, by the type in which the target computes."""

DIRECTIONS = 4


def right_of(name: str) -> Any:
    """What is right of the gradient of an operand, as `Kind.right` wants it."""

    def right(case: Case, chosen: Chosen, made: Mapping[str, Any]) -> Right:
        given = problem(case, chosen, made)
        exact, interleaved = attend(given), chosen["interleaved"]
        # Of a row that sees nothing no output is right, and so no gradient.
        c = np.where(given.visible.any(-1, keepdims=True), np.asarray(made["dout"], np.float64), 0.0)

        def within(kind: str, accumulate: str) -> np.ndarray:
            return of_role(room(given, exact, c, kind, accumulate, cast=True), name, case, interleaved)

        return Right(of_role(slopes(given, exact, c), name, case, interleaved), within)

    return right


class Differences:
    """The law that a gradient is the slope of the target's own answers."""

    def __init__(self, name: str, forward: Judge) -> None:
        self.name, self.forward = name, forward

    def __call__(self, judge: Judge) -> Finding:
        """Try it."""
        tried, worst = 0, 0.0
        for case in judge.cases(
            {"type": "float64", "seed": seed, "length": n} for seed, n in ((0, 6), (1, 3), (2, 9))
        ):
            kind = self.forward.kind
            same = kind.case({**dict(case.sizes), **dict(case.switches), "seed": case.seed})
            own = self.forward.convention.fitted(kind, same)
            answer = judge.ask(case)
            if own is None or answer.trouble:
                continue
            kind = "float32" if self.forward.is_narrow(own) else "float64"
            for seed in range(DIRECTIONS):
                found = self.slope(own, judge.operands(case), kind, seed)
                if found is None:
                    continue
                delta, slope, most = found
                most += float((np.abs(delta) * judge.within(case, kind)).sum())
                given, tried = float((delta * answer.numbers).sum()), tried + 1
                worst = max(worst, abs(given - slope) / most)
                if not worst <= 1:
                    about = {"given": given, "slope": slope, "off": worst, "operand": self.name}
                    return Finding(
                        verdict=Verdict.FAILS, fact="slope", about=about, tried=tried, ratio=worst, failures=1
                    )
        return Finding(verdict=Verdict.HOLDS, tried=tried, ratio=worst) if tried else NOT_TRIED

    def slope(
        self, case: Case, made: Mapping[str, Any], kind: str, seed: int
    ) -> tuple[np.ndarray, float, float] | None:
        """A direction, the slope along it, and how far off that may be; None if the target refuses a call."""
        h, x, dout = STEPS[kind], made[self.name], np.asarray(made["dout"], np.float64)
        delta = np.random.RandomState(seed).choice([-1.0, 1.0], x.shape)

        def total(step: float) -> float:
            answer = self.forward.ask(case, {**made, self.name: x + step * delta})
            return np.nan if answer.trouble else float((dout * answer.numbers).sum())

        near, far = ((total(step) - total(-step)) / (2 * step) for step in (h, 2 * h))
        if not np.isfinite([near, far]).all():
            return None
        rounds = float((np.abs(dout) * self.forward.within(case, kind)).sum()) / h
        return delta, near, 2 * rounds + abs(far - near)


def backward(name: str, forward: Judge) -> Kind:
    """The declaration of the gradient of an operand, of a target that is judged."""
    own, chosen = forward.kind, forward.convention.chosen
    forms = {x: (chosen[x],) for x in own.stages[0].forms if x in chosen}
    sizes = [
        {},
        *({"queries": t, "keys": s} for t, s in ((4, 7), (17, 17), (65, 65))),
        {"width": 80},
        {"heads": 12},
        {"batch": 6},
    ]
    # Every query sees a key: of a row that sees none nothing is promised.
    masks = own.columns["mask"][:2]
    features = [
        {"window": 3},
        {"shared": True, "heads": 4},
        {"softcap": 2.0},
        {"bias": "normal"},
        {"sinks": "normal"},
    ]
    return Kind(
        operands=("dout", *own.operands),
        placed=("dout", "q", "k", "v"),
        gives=GRADIENTS[name],
        part=[*GRADIENTS].index(name),
        usual=own.usual,
        few=6,
        promised=lambda case, found: own.promised(case, {**chosen, **found}),
        is_quiet=True,
        stages=(
            Stage(
                forms=forms,
                choices={x: (y,) for x, y in chosen.items() if x not in forms},
                trials=({"length": 5, "seed": 4},),
                identity="plain",
            ),
        ),
        right=right_of(name),
        columns={x: y for x, y in own.columns.items() if x in FEATURES} | {"sizes": sizes, "mask": masks},
        compiled={"sizes": sizes[:2]},
        laws={
            "plain": RightAt({"seed": seed} for seed in range(3)),
            "differences": Differences(name, forward),
            "masks": RightAt({"pair mask": "random", "seed": seed} for seed in range(3)),
            "features": RightAt({**each, "seed": seed} for each in features for seed in range(2)),
            "large": RightAt({"values": "large", "seed": seed} for seed in range(2)),
            "float64": right_in("float64"),
            "float16": right_in("float16"),
            "pairs": Covering(),
            "same result": again({"seed": 11}, [{"seed": 11, "length": 17}]),
            "inputs unchanged": untouched([{}, {"memory": "rows"}]),
        },
    )


FEATURES = (
    "mask",
    "types",
    "causal",
    "groups",
    "window",
    "softcap",
    "bias",
    "segments",
    "sinks",
    "slopes",
    "scale",
)
"""What is set beside each other, as far as the target takes it."""


class Backward:
    """The gradients of a target that brings its backward pass, as a row for each.

    Raises:
        ValueError: if the backward pass can be called in no way, or no convention explains the target.
    """

    def __init__(self, forward: Judge, caller: Caller) -> None:
        if not forward.explained:
            raise ValueError(f"{forward.caller.name} is not what --as promises: leave --backward away")
        own = {"framework": forward.convention.framework}
        self.judges = dict[str, Judge]()
        for name in GRADIENTS:
            with refused_in_words(caller, kind := backward(name, forward)):
                self.judges[f"gradient of {name}"] = Judge(kind, caller, own)

    def rows(self) -> Iterator[Row]:
        """Try them."""
        for name, judge in self.judges.items():
            yield as_one(name, rows_of(judge))

    def snippet(self, place: Place, rows: Sequence[Row]) -> list[str]:
        """A snippet of the first that is wrong, with the call of the backward pass alone."""
        for row in rows:
            if row.name in self.judges and isinstance(row.counterexample, Finding):
                return show.snippet(place, self.judges[row.name], row.counterexample)
        return []
