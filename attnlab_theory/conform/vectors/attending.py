"""ONNX's vectors of attention, asked of a function of queries, keys and values by its own arguments."""

import dataclasses
import functools

import numpy as np

from attnlab_theory.conform import judge as engine
from attnlab_theory.conform.finding import Trouble, Verdict
from attnlab_theory.conform.kinds.softmax.conventions import ALIKE, NEAR
from attnlab_theory.conform.kinds.softmax.declaration import SOFTMAX
from attnlab_theory.conform.kinds.softmax.reference import attend
from attnlab_theory.conform.kinds.softmax.tolerances import tolerance
from attnlab_theory.conform.operands import Bound
from attnlab_theory.conform.report import searched
from attnlab_theory.conform.rounding import coarser
from attnlab_theory.conform.suite import Row, suite_class
from attnlab_theory.conform.vectors.judging import Compared, Judge, rounds, row_of
from attnlab_theory.conform.vectors.questions import Question, question
from attnlab_theory.conform.vectors.reading import Vector, vectors
from attnlab_theory.conform.vectors.saying import Speech, Unsayable

OPERATORS = ("Attention", "FlexAttention")


@functools.cache
def asked() -> dict[str, Question | None]:
    """What the vectors ask, by their names; None where no attention gives it."""
    return {each.name: question(each) for each in vectors() if each.operator in OPERATORS}


class Attending(Judge):
    """A function of queries, keys and values, and the answers that ONNX expects."""

    OPERATORS = OPERATORS
    CONVENTIONS = suite_class("softmax").CONVENTIONS

    def open(self) -> None:
        """Search the conventions of softmax attention; what else it takes is found with them."""
        judge, self.profile = searched(SOFTMAX, self.caller, self.declared, "onnx", engine.Judge)
        names = Bound(self.caller.about()["parameters"], ("q", "k", "v", "pair mask", "causal")).names
        name, flag = names.get("pair mask"), names.get("causal")
        chosen, names = {"pair mask": "", "mask": "", **judge.convention.chosen}, {**judge.convention.names}
        if flag and "causal" not in names and chosen["causal"] == "never":
            # So is a flag that hides something else than the future.
            chosen["causal"], names["causal"] = "asked", flag
            self.profile.append((flag, "hides the future (to ONNX; a trial call shows otherwise)"))
        if name and not chosen["pair mask"] and self.declared.get("mask") != "none" and not chosen["mask"]:
            # A mask that nobody can read is taken at its word.
            chosen["pair mask"], names["pair mask"] = "bool-keep", name
            self.profile.append((name, "True keeps (to ONNX; a trial call shows otherwise)"))
        spec = {"pair mask": "every second", "length": 6, **ALIKE}
        adds = name and judge.tried(spec, **{"pair mask": "additive"})[1] <= NEAR
        # In another order they are what ONNX has once they are repeated.
        shares = chosen["shares"] and not chosen["interleaved"]
        convention = dataclasses.replace(judge.convention, names=names, chosen=chosen)
        self.speech = Speech(convention, shares, bool(adds))
        self.calls += judge.calls
        if chosen["pair mask"] not in ("", "additive"):
            self.profile.append(("numbers in place of a mask", "are added" if self.speech.adds else "not taken"))
        if "h" in convention.layout:
            told = "handed over" if shares else "repeated for every head"
            self.profile.append(("keys that heads share", told))

    def judged(self, vector: Vector) -> Row:
        """Ask one vector; either side errs by its rounding."""
        asks = asked()[vector.name]
        if asks is None:
            raise Unsayable("weights are changed after the softmax")
        output, kind, trouble, call = self.answer(asks)
        problem = asks.problem()
        sees = np.broadcast_to(problem.visible.any(-1, keepdims=True), output.shape)
        if trouble and sees.all():
            return self.refused(vector, asks.kind, trouble, call)
        if trouble:
            line = f"a row that sees nothing is refused: {trouble}"
            return row_of(vector, Verdict.CONVENTION, line, trouble=trouble)
        exact, narrow = attend(problem), rounds(asks.kind, kind)
        theirs = tolerance(problem, exact, asks.kind).output

        def beside(most: np.ndarray) -> Compared:
            return Compared("", output, asks.output, np.where(sees, most + theirs, np.inf), vector)

        mine = tolerance(problem, exact, narrow, self.accumulate)
        found, hidden = beside(mine.output), output[~sees]
        if found.ratio > 1 and asks.kind == "float64":
            if beside(tolerance(problem, exact, coarser(narrow, "float32")).output).ratio <= 1:
                line = f"computed in float32: {found.ratio:,.2g} tolerances of float64"
                return row_of(vector, Verdict.CONVENTION, line, ratio=found.ratio)
        elif found.ratio <= 1 and np.any(hidden != 0):
            blind = f"{hidden[0]:.3g}" if np.isfinite(hidden).all() else "no number"
            line = f"a row that sees nothing is {blind}, and zero to ONNX"
            return row_of(vector, Verdict.CONVENTION, line, ratio=found.ratio)
        found.loose = bool((mine.loose | ~sees).all() and sees.any())
        return self.compared(vector, [found], call)

    def answer(self, asks: Question, *, flags: bool = True) -> tuple[np.ndarray, str, Trouble | None, str]:
        """The output [b h t e] and its type; what went wrong; the last call.

        Raises:
            Unsayable: if the target has no argument for something.
        """
        parts = (self.speech if flags else self.speech.without_flags).parts(asks)
        output, kind = np.full(asks.output.shape, np.nan), asks.kind
        for part in parts:
            self.calls += 1
            came = part.ask(self.caller)
            if came.trouble:
                used = part.case["causal"] or part.case["window"] is not None
                if flags and used and {"pair_mask", "bias"} & {*part.given}:
                    # Some take a flag or a mask, and not both.
                    return self.answer(asks, flags=False)
                return output, "", came.trouble, part.call
            kind = came.kind
            output[part.members, part.heads] = came.numbers
        return output, kind, None, parts[-1].call
