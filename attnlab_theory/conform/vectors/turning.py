"""ONNX's vectors of RotaryEmbedding, asked of a rotation that takes cosines and sines.

Their tables are random numbers and no rotation, so whoever makes its own cosines cannot be asked.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from attnlab_theory.conform.finding import Fault, Trouble, Verdict, misshapen
from attnlab_theory.conform.layouts import has_batch, has_heads
from attnlab_theory.conform.positions import rotary_ways as ways
from attnlab_theory.conform.positions import tolerances
from attnlab_theory.conform.positions.calling import Call, Given
from attnlab_theory.conform.positions.rotary import RotarySuite
from attnlab_theory.conform.suite import Row
from attnlab_theory.conform.vectors.judging import Compared, Judge, rounds
from attnlab_theory.conform.vectors.reading import Vector, by_head
from attnlab_theory.conform.vectors.saying import Unsayable

FLAGS = ("interleaved", "is_interleaved", "rotary_interleaved")
"""What a parameter is called that says which channels turn together: True is 2i and 2i + 1."""

WIDTH = 8
"""How wide the vectors of this operator are."""

PLACED = {
    "td": lambda x: x[0],
    "btd": lambda x: x,
    "1td": lambda x: x,
    "11td": lambda x: x[:, None],
    "b1td": lambda x: x[:, None],
    "t1d": lambda x: x[0][:, None],
    "bt1d": lambda x: x[:, :, None],
}
"""A table [b t n] as a target takes it; b is 1 where it takes one for all."""


class Question(NamedTuple):
    """One rotation, and its answer."""

    x: np.ndarray
    """[b h t d]."""
    cos: np.ndarray
    """[b t n], a number for each pair."""
    sin: np.ndarray
    pairs: str
    """One of `rotary_ways.PAIRS`."""
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
    return ways.turned(asked.x, asked.cos, asked.sin, ways.Way(pairs=asked.pairs), asked.turning)


class Turning(Judge):
    """A rotation, and the answers that ONNX expects."""

    OPERATORS = ("RotaryEmbedding",)
    CONVENTIONS = RotarySuite.CONVENTIONS

    def open(self) -> None:
        """Guess how it is called, as `--as rotary` does. What fails there, as no rotation, fails here."""
        self.suite = RotarySuite(self.caller, "rotary", self.declared)
        self.profile = list(self.suite.profile)
        self.way, self.why = self.suite.way, ""
        if self.way.told != "table":
            self.why = "it makes its own cosines, and those of ONNX are random numbers"
        elif self.way.width != WIDTH:
            self.why = f"its vectors are {self.way.width} wide, and not {WIDTH}"
        elif self.way.scale != 1:
            self.why = "it multiplies vectors by a number of its own"
        elif not self.suite.why and (turning := self.suite.reading.turning) != WIDTH:
            self.why = f"it turns {turning} channels where a table has columns for {WIDTH}"
        self.broken = self.suite.why
        flag = next((each.name for each in self.suite.parameters or () if each.name.lower() in FLAGS), "")
        if flag:
            self.suite.names["flag"] = flag
            self.profile.append(("pairs are told by", flag))
        asks = not self.why and not self.broken
        self.partial = asks and self._partial()
        if asks:
            how = "is taken" if self.partial else "is not taken: the channels that turn are handed over alone"
            self.profile.append(("a table of fewer pairs", how))
        self.calls = self.suite.calls

    def _partial(self) -> bool:
        """Whether it takes a table of fewer pairs than there are."""
        x = np.random.default_rng(0).standard_normal((1, 1, 3, WIDTH)).astype("float32")
        half = np.full((1, 3, WIDTH // 4), 0.5, "float32")
        _, trouble, _ = self._turned(Question(x, half, half, self.way.pairs, x), x)
        return not trouble

    def judged(self, vector: Vector) -> Row:
        """Ask one vector."""
        if self.why:
            raise Unsayable(self.why)
        if self.broken:
            return Row(name=vector.name, verdict=Verdict.FAILS, line=str(self.broken), tried=1, ratio=np.inf)
        asked = question(vector)
        if asked.pairs != self.way.pairs and "flag" not in self.suite.names:
            raise Unsayable(f"its channels turn in pairs that are {self.way.pairs}")
        kind, turning = str(asked.x.dtype), asked.turning
        whole = self.partial or turning == WIDTH
        call = f"x {[*asked.x.shape]}, cos {[*asked.cos.shape]}, {asked.pairs}, {kind}"
        outputs, trouble, answered = self._turned(asked, asked.x if whole else asked.x[..., :turning])
        self.calls = self.suite.calls
        if trouble:
            return self.refused(vector, kind, trouble, call)
        rests = [each if whole else np.concatenate([each, asked.x[..., turning:]], -1) for each in outputs]
        size = ways.sizes(np.abs(asked.x.astype(np.float64)), asked.pairs, turning)
        # The bound is for cosines of at most one.
        size = size * np.maximum(1, np.maximum(np.abs(asked.cos), np.abs(asked.sin)))[:, None]
        most = sum(tolerances.of_rotation(size, 0.0, each) for each in (kind, rounds(kind, answered)))
        most = ways.spread(np.asarray(most), asked.pairs, turning, WIDTH) + 1e-320
        return self.compared(vector, [Compared("", x, asked.output, most, vector) for x in rests], call)

    def _turned(self, asked: Question, x: np.ndarray) -> tuple[list[np.ndarray], Trouble | None, str]:
        """The answers [b h t d] of one array, or of it as queries and as keys; what went wrong; the type."""
        roles = [role for role in ("q", "k", "x") if role in self.suite.names]
        outputs, answered = [np.full(x.shape, np.nan) for _ in roles], ""
        for members, heads in self._parts(*x.shape[:2]):
            made = self._call(asked, x[members, heads], members, roles)
            reply = self.suite.make(made)
            if reply.trouble:
                return [], reply.trouble, ""
            shape = made.array(roles[0]).shape
            if (count := len(reply.arrays)) < len(roles):
                return [], Trouble(fault=Fault.FEWER, gave=(count,), wanted=(len(roles),)), ""
            if odd := [y.shape for y in reply.arrays[: len(roles)] if y.shape != shape]:
                return [], misshapen(odd[0], shape), ""
            answered = reply.kind
            for output, came in zip(outputs, reply.arrays, strict=False):
                output[members, heads] = ways.inward(came, self.way.layout)
        return outputs, None, answered

    def _call(self, asked: Question, x: np.ndarray, members: slice, roles: list[str]) -> Call:
        """One call, of some members and heads [b h t d]."""
        table = self.way.table
        flagged = "flag" in self.suite.names
        values: dict[str, Given | int | float] = {
            role: Given(np.ascontiguousarray(ways.outward(x, self.way.layout)), "") for role in roles
        }
        for name, columns in (("cos", asked.cos), ("sin", asked.sin * self.way.sign)):
            columns = columns[members].astype(x.dtype)
            if table.full:
                pairs = asked.pairs if flagged else table.pairs
                columns = np.repeat(columns, 2, -1) if pairs == "interleaved" else np.concatenate([columns] * 2, -1)
            values[name] = Given(np.ascontiguousarray(PLACED[table.axes](columns)), "")
        if flagged:
            values["flag"] = asked.pairs == "interleaved"
        return Call(values, str(x.dtype))

    def _parts(self, batch: int, heads: int) -> Iterator[tuple[slice, slice]]:
        """The calls, as few as the target allows: a table without batch is one for all members."""
        together = has_batch(self.way.layout) and "b" in self.way.table.axes
        members = [slice(0, batch)] if together else [slice(i, i + 1) for i in range(batch)]
        several = has_heads(self.way.layout)
        return itertools.product(members, [slice(0, heads)] if several else [slice(i, i + 1) for i in range(heads)])
