"""ONNX's vectors of attention, asked of a function of queries, keys and values by its own arguments."""

import dataclasses
import functools
from typing import NamedTuple

import numpy as np

from attnlab_theory.conform.declarations import judged
from attnlab_theory.conform.finding import Trouble, Verdict
from attnlab_theory.conform.kinds.softmax.conventions import ALIKE, NEAR
from attnlab_theory.conform.kinds.softmax.declaration import SOFTMAX
from attnlab_theory.conform.kinds.softmax.reference import attend
from attnlab_theory.conform.kinds.softmax.tolerances import tolerance
from attnlab_theory.conform.operands import Bound
from attnlab_theory.conform.rounding import HALF_EPS, coarser
from attnlab_theory.conform.suite import CALL, Row, Said, Wrong, failed, refused, row_of, suite_class
from attnlab_theory.conform.vectors.judging import Judge
from attnlab_theory.conform.vectors.questions import Question, question
from attnlab_theory.conform.vectors.reading import Vector, vectors
from attnlab_theory.conform.vectors.saying import Part, Speech, Unsayable

OPERATORS = ("Attention", "FlexAttention")


@functools.cache
def asked() -> dict[str, Question | None]:
    """What the vectors ask, by their names; None where no attention gives it."""
    return {each.name: question(each) for each in vectors() if each.operator in OPERATORS}


class Found(NamedTuple):
    """An answer beside that of a vector."""

    ratio: float
    """The largest error per tolerance, rows that see nothing aside."""
    theirs: float
    """The same by ONNX's own tolerance, those rows included."""
    blind: str
    """What became of rows that see nothing: empty if they are zeros, as ONNX has them, or there are none."""
    trouble: Trouble | None
    """What went wrong; then there is nothing else."""
    said: str
    """The largest error in words."""
    loose: bool
    """Whether any mean of the values would pass."""
    narrow: float
    """The ratio if the target may compute in float32."""
    last: Part
    """The last call."""


class Attending(Judge):
    """A function of queries, keys and values, and the answers that ONNX expects."""

    OPERATORS = OPERATORS
    CONVENTIONS = suite_class("softmax").CONVENTIONS

    def open(self) -> None:
        """Search the conventions of softmax attention; what else it takes is found with them."""
        judge, self.profile = judged(SOFTMAX, self.caller, self.declared, "onnx")
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

    def answer(self, vector: Question, *, flags: bool = True) -> Found:
        """Ask one vector.

        Raises:
            Unsayable: if the target has no argument for something.
        """
        parts = (self.speech if flags else self.speech.without_flags).parts(vector)
        output, kind = np.full(vector.output.shape, np.nan), vector.kind
        for part in parts:
            self.calls += 1
            came = part.ask(self.caller)
            if came.trouble:
                used = part.case["causal"] or part.case["window"] is not None
                if flags and used and {"pair_mask", "bias"} & {*part.given}:
                    # Some take a flag or a mask, and not both.
                    return self.answer(vector, flags=False)
                return Found(np.inf, np.inf, "", came.trouble, "", False, np.inf, part)
            kind = came.kind
            output[part.members, part.heads] = came.numbers
        return self._compared(vector, output, kind, parts[-1])

    def _compared(self, vector: Question, output: np.ndarray, kind: str, last: Part) -> Found:
        """Either side errs by its rounding."""
        problem = vector.problem()
        exact = attend(problem)
        narrow = coarser(vector.kind, kind) if kind in HALF_EPS else vector.kind
        mine, theirs = tolerance(problem, exact, narrow, self.accumulate), tolerance(problem, exact, vector.kind)
        most = mine.output + theirs.output
        sees = np.broadcast_to(problem.visible.any(-1, keepdims=True), output.shape)
        with np.errstate(invalid="ignore"):
            off = np.where(np.isfinite(output), np.abs(output - vector.output), np.inf)
        ratio = np.where(sees, off / most, 0.0)
        place = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
        own = off / (vector.atol + vector.rtol * np.abs(vector.output))
        blind = ""
        if not sees.all() and np.any(output[~sees] != 0):
            blind = f"{output[~sees][0]:.3g}" if np.isfinite(output[~sees]).all() else "no number"
        said = f"{output[place]:.7g} where {vector.output[place]:.7g} is right, at [b h t e] = {[*map(int, place)]}"
        wide = tolerance(problem, exact, coarser(narrow, "float32")).output + theirs.output
        loose = bool((mine.loose | ~sees).all() and sees.any())
        return Found(
            float(ratio.max()),
            float(own.max()),
            blind,
            None,
            said,
            loose,
            float((np.where(sees, off, 0.0) / wide).max()),
            last,
        )

    def judged(self, vector: Vector) -> Row:
        """Try one vector."""
        asks = asked()[vector.name]
        if asks is None:
            raise Unsayable("weights are changed after the softmax")
        found = self.answer(asks)
        self.trouble = found.trouble
        said = self._verdict(asks, found)
        ratio = 0.0 if found.trouble else found.ratio
        row = row_of(vector.name, said._replace(ratio=ratio))
        assert row is not None
        return row

    def _verdict(self, vector: Question, found: Found) -> Said:
        call = found.last.call
        blind = not vector.visible.any(-1).all()
        if found.trouble:
            if vector.kind not in ("float32", "float64"):
                return refused(found.trouble)
            if blind:
                return refused(found.trouble, "a row that sees nothing is refused: ")
            return failed(Wrong(f"{found.trouble}; {CALL}{call}", found.trouble, call))
        own = f"{found.theirs:.2g} of ONNX's"
        if found.ratio > 1:
            if vector.kind == "float64" and found.narrow <= 1:
                line = f"computed in float32: {found.ratio:,.2g} tolerances of float64"
                return Said(Verdict.CONVENTION, line)
            line = f"{found.said}, {found.ratio:,.3g} tolerances off, {own}; {CALL}{call}"
            return failed(Wrong(line, case=call))
        if found.blind:
            return Said(Verdict.CONVENTION, f"a row that sees nothing is {found.blind}, and zero to ONNX")
        if found.loose:
            return Said(Verdict.NOT_JUDGED, "the tolerance exceeds the range of the values")
        self.largest = max(self.largest, found.ratio)
        return Said(Verdict.HOLDS, f"error {found.ratio:.2g} of its tolerance, {own}")
