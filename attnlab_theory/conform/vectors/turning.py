"""ONNX's vectors of RotaryEmbedding, asked of a rotation that takes cosines and sines.

Their tables are random numbers and no rotation, so whoever makes its own cosines cannot be asked.
"""

import dataclasses
import itertools
from typing import NamedTuple

import numpy as np

from attnlab_theory.conform.angles import channels
from attnlab_theory.conform.declarations import DeclaredSuite, suite_of
from attnlab_theory.conform.finding import Trouble, Verdict
from attnlab_theory.conform.kinds.rotary import ROTARY, error
from attnlab_theory.conform.suite import Row
from attnlab_theory.conform.vectors.judging import Compared, Judge, rounds
from attnlab_theory.conform.vectors.reading import Vector, by_head
from attnlab_theory.conform.vectors.saying import Unsayable

WIDTH = 8
"""How wide the vectors of this operator are."""


class Question(NamedTuple):
    """One rotation, and its answer."""

    x: np.ndarray
    """[b h t d]."""
    cos: np.ndarray
    """[b t n], a number for each pair."""
    sin: np.ndarray
    pairs: str
    """One of `angles.PAIRS`."""
    output: np.ndarray
    """[b h t d], in float64."""

    @property
    def turning(self) -> int:
        """How many channels turn: the first ones."""
        return 2 * self.cos.shape[-1]


def question(vector: Vector) -> Question:
    """What a vector asks.

    Source: https://onnx.ai/onnx/operators/onnx__RotaryEmbedding.html, version 23.
    """
    said, given = vector.attributes, vector.inputs
    tables = [given[f"{name}_cache"] for name in ("cos", "sin")]
    if "position_ids" in given:
        tables = [table[given["position_ids"]] for table in tables]
    heads = said.get("num_heads")
    pairs = "interleaved" if said.get("interleaved") else "halves"
    output = by_head(vector.outputs["output"].astype(np.float64), heads)
    return Question(by_head(given["input"], heads), tables[0], tables[1], pairs, output)


def exact(asked: Question) -> np.ndarray:
    """What is right, in float64 [b h t d]."""
    (first, second), y = channels(asked.pairs, asked.turning), asked.x.astype(np.float64)
    cos, sin, a, b = asked.cos[:, None], asked.sin[:, None], y[..., first], y[..., second]
    y[..., first], y[..., second] = a * cos - b * sin, a * sin + b * cos
    return y


class Turning(Judge):
    """A rotation, and the answers that ONNX expects."""

    OPERATORS = ("RotaryEmbedding",)
    CONVENTIONS = suite_of(ROTARY).CONVENTIONS

    def open(self) -> None:
        """Guess how it is called, as `--as rotary` does. What fails there, as no rotation, fails here."""
        self.suite: DeclaredSuite = suite_of(ROTARY)(self.caller, "rotary", self.declared)
        self.rotation, found = self.suite.judge, self.suite.judge.convention
        self.profile, self.why, self.broken = list(self.suite.profile), "", ""
        if "cos" not in found.names:
            self.why = "it makes its own cosines, and those of ONNX are random numbers"
        elif found.chosen["own width"] != WIDTH:
            self.why = f"its vectors are {found.chosen['own width']} wide, and not {WIDTH}"
        elif "scale of all" in found.chosen:
            self.why = "it multiplies vectors by a number of its own"
        elif not self.rotation.explained:
            row = self.suite.row("turning")
            self.broken = row.line if row else ""
        elif (turning := found.chosen["turning"]) != WIDTH:
            self.why = f"it turns {turning} channels where a table has columns for {WIDTH}"
        self.flag = found.names.get("interleaved", "")
        if self.flag:
            self.profile.append(("pairs are told by", self.flag))
        asks = not self.why and not self.broken
        self.partial = asks and self._partial()
        if asks:
            how = "is taken" if self.partial else "is not taken: the channels that turn are handed over alone"
            self.profile.append(("a table of fewer pairs", how))
        self.calls = self.rotation.calls

    def _partial(self) -> bool:
        """Whether it takes a table of fewer pairs than there are."""
        x = np.random.default_rng(0).standard_normal((1, 1, 3, WIDTH)).astype("float32")
        half = np.full((1, 3, WIDTH // 4), 0.5, "float32")
        return not self._turned(Question(x, half, half, self.rotation.convention.chosen["pairs"], x), x)[1]

    def judged(self, vector: Vector) -> Row:
        """Ask one vector."""
        if self.why:
            raise Unsayable(self.why)
        if self.broken:
            return Row(name=vector.name, verdict=Verdict.FAILS, line=self.broken, tried=1, ratio=np.inf)
        asked, own = question(vector), self.rotation.convention.chosen["pairs"]
        if asked.pairs != own and not self.flag:
            raise Unsayable(f"its channels turn in pairs that are {own}")
        kind, turning = str(asked.x.dtype), asked.turning
        whole = self.partial or turning == WIDTH
        call = f"x {[*asked.x.shape]}, cos {[*asked.cos.shape]}, {asked.pairs}, {kind}"
        outputs, trouble, answered = self._turned(asked, asked.x if whole else asked.x[..., :turning])
        self.calls = self.rotation.calls
        if trouble:
            return self.refused(vector, kind, trouble, call)
        rests = [each if whole else np.concatenate([each, asked.x[..., turning:]], -1) for each in outputs]
        first, second = channels(asked.pairs, turning)
        x, most = np.abs(asked.x.astype(np.float64)), np.full(asked.x.shape, 1e-320)
        # The bound is for cosines of at most one.
        size = (x[..., first] + x[..., second]) * np.maximum(1, np.maximum(abs(asked.cos), abs(asked.sin)))[:, None]
        most[..., first] = most[..., second] = sum(
            error(size, 0.0, each) for each in (kind, rounds(kind, answered))
        )
        return self.compared(vector, [Compared("", x, asked.output, most, vector) for x in rests], call)

    def _turned(self, asked: Question, x: np.ndarray) -> tuple[list[np.ndarray], Trouble | None, str]:
        """The answers [b h t d] of one array, or of it as queries and as keys; what went wrong; the type.

        Each member is asked alone, for its table may be its own; and each head, where no axis takes several.
        """
        found, (batch, heads, tokens, width) = self.rotation.convention, x.shape
        roles = [role for role in ROTARY.returns if role in found.names]
        outputs, answered, trouble = [np.full(x.shape, np.nan) for _ in roles], "", None
        columns = found.chosen["cos"]
        if self.flag:
            ways = ("in halves", "interleaved")
            columns = columns.replace(*(ways if asked.pairs == "interleaved" else ways[::-1]))
        self.rotation.convention = dataclasses.replace(found, chosen={**found.chosen, "cos": columns})
        some = [slice(0, heads)] if "h" in found.layout else [slice(i, i + 1) for i in range(heads)]
        for member, part in itertools.product(range(batch), some):
            count = part.stop - part.start
            spec = {"batch": 1, "heads": count, "groups": count, "queries": tokens, "width": width}
            flag = {"interleaved": asked.pairs == "interleaved"} if self.flag else {}
            case = self.rotation.cases([{**spec, **flag, "type": str(x.dtype)}])[0]
            tables = (asked.cos[member], asked.sin[member] * found.chosen["direction"])
            made = dict(zip(("cos", "sin"), (each.astype(x.dtype) for each in tables), strict=True))
            answer = self.rotation.ask(case, made | {role: x[member : member + 1, part] for role in roles})
            if trouble := answer.trouble:
                break
            for i, output in enumerate(outputs):
                output[member, part], answered = answer.numbers[0, i * count : (i + 1) * count], answer.kind
        self.rotation.convention = found
        return outputs, trouble, answered
