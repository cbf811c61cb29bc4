"""What a rotation must answer to a call, and how many tolerances its answer is off."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnlab_theory.conform.finding import Fault, Trouble, Verdict, misshapen
from attnlab_theory.conform.positions import rotary_ways as ways
from attnlab_theory.conform.positions import tolerances
from attnlab_theory.conform.positions.calling import (
    Call,
    Given,
    Parameter,
    PositionSuite,
    Shown,
    coarser_of,
    drawn,
    largest,
    off,
)
from attnlab_theory.conform.positions.frequencies import Fit, unwrapped
from attnlab_theory.conform.positions.rotary_ways import Case, Reading, Way
from attnlab_theory.conform.suite import HUNG, Said, Wrong, failed

SETTLED = (0, 1, 8, 64, 512, 4096, 32768)
"""Positions at which frequencies of no known base are read off."""


class Answer(NamedTuple):
    """What came back."""

    call: Call
    trouble: Trouble | None = None
    outputs: Sequence[np.ndarray] = ()
    """[b h t d] each: of the queries and the keys, or of the one array."""
    kind: str = ""


class Outcome(NamedTuple):
    """What one answer is worth."""

    ratio: float
    why: Wrong | None
    """What is wrong with it."""
    shown: Shown | None = None


class Rotation(PositionSuite):
    """A function that turns queries and keys by their positions."""

    ROLES = ways.ROLES
    CONVENTIONS = ("layout", "framework", "base", "pairs")
    vectors = True
    way: Way
    reading: Reading
    fit: Fit
    why: Wrong | str = ""
    """Why channels turn in no known way; empty if they do."""
    trial: tuple[int, ...]
    """Positions of trial calls."""
    grows_from = 0
    """The position beyond which frequencies depend on the length; 0 if they do not."""
    reached = 0
    """The largest position, of some, that is taken and turned as near ones are; 0 while nobody asked."""
    probes: dict[int, Answer]
    """What ones become at the positions of the trial calls, by their width."""
    settled: dict[int, tuple[np.ndarray, np.ndarray]]
    """Frequencies that were read off, and how far they may be off, by the width."""

    def unnamed(self, parameter: Parameter) -> str:
        """The first parameter is what is turned, whatever its name."""
        return "x" if not self.names and parameter.has_place else ""

    def ask(self, case: Case, way: Way | None = None, given: Sequence[Given] | None = None) -> Answer:
        """Make one call of a case that fits the way."""
        way = way or self.way
        required = [role for role, name in self.names.items() if name in self.required]
        made = ways.asked(case, way, self.names, ways.table_frequencies(case.width), given, required)
        reply = self.make(made)
        if reply.trouble:
            return Answer(made, reply.trouble)
        vectors = [role for role in made.values if role in ("q", "k", "x")]
        if len(reply.arrays) < len(vectors):
            return Answer(made, Trouble(fault=Fault.FEWER, gave=(len(reply.arrays),), wanted=(len(vectors),)))
        for role, came in zip(vectors, reply.arrays, strict=False):
            expected = made.array(role).shape
            if came.shape != expected:
                return Answer(made, misshapen(came.shape, expected))
        outputs = [ways.inward(x, way.layout) for x in reply.arrays[: len(vectors)]]
        return Answer(made, None, outputs, reply.kind)

    @property
    def required(self) -> set[str]:
        """Parameters that have no default."""
        return {each.name for each in self.parameters or () if each.required}

    def probe(self, width: int) -> Answer:
        """What ones of some width become at the positions of the trial calls."""
        if width not in self.probes:
            case = ways.fitted(Case(positions=self.trial, width=width), self.way)
            shapes = [ways.shape_of(case, self.way.layout, h) for h in (case.heads, case.key_heads)]
            self.probes[width] = self.ask(case, given=[drawn(f"np.ones({tuple(s)})", case.kind) for s in shapes])
        return self.probes[width]

    def turning(self, width: int) -> int:
        """How many channels turn of vectors of some width: those of ones that do not stay one."""
        if width == self.way.width:
            return self.reading.turning
        answer = self.probe(width)
        moved = [] if answer.trouble else np.flatnonzero(np.abs(answer.outputs[0][0, 0] - 1).max(0) > 0)
        return 2 * ((int(moved[-1]) + 2) // 2) if len(moved) else 0

    def frequencies(self, width: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Frequencies of the pairs of vectors of some width, and how far they may be off if they were read off."""
        turning = self.turning(width)
        if self.way.told == "table":
            return ways.table_frequencies(width), None
        known = self.fit.frequencies(turning // 2, width)
        if known is not None:
            return known, None
        if width not in self.settled:
            self.settled[width] = self._settled(width, turning)
        return self.settled[width]

    def _settled(self, width: int, turning: int) -> tuple[np.ndarray, np.ndarray]:
        """Frequencies at positions that grow, each read by a call of its own; those that are refused are left."""
        angles, positions = [], []
        for p in SETTLED if self.way.told == "positions" else (0, 1, 8, 64, 512):
            found = self.angles_at(p, width, turning)
            if found is None:
                break
            angles.append(found)
            positions.append(float(p))
        if len(angles) < 2:
            return self.reading.frequencies, self.reading.error
        return unwrapped(np.stack(angles), np.array(positions))

    def angles_at(self, position: int, width: int, turning: int, beside: tuple[int, ...] = ()) -> np.ndarray | None:
        """The angles of all pairs at one position, up to full turns: what becomes of the first of each pair."""
        rows = (position, *beside) if self.way.told == "positions" else tuple(range(position + 1))
        case = ways.fitted(Case(positions=rows, width=width, batch=1, heads=1, key_heads=1), self.way)
        first, second = ways.firsts(self.way.pairs, turning)
        ones = np.zeros(width, int)
        ones[first] = 1
        shape = tuple(ways.shape_of(case, self.way.layout, 1))
        given = drawn(f"np.array({ones.tolist()}) + np.zeros({shape})", case.kind)
        answer = self.ask(case, given=[given, given])
        if answer.trouble:
            return None
        row = answer.outputs[0][0, 0, 0 if self.way.told == "positions" else position]
        return np.arctan2(row[second] * self.way.sign, row[first])

    def exact(self, case: Case, made: Call, part: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
        """The right answer and its tolerance, [b h t d] each."""
        way, turning = self.way, self.turning(case.width)
        role = ("q", "k")[part] if "k" in self.names or "q" in self.names else "x"
        x = ways.inward(made.array(role), way.layout)
        counted = tolerances.angle_kind(kind)
        if way.told == "table":
            cos, sin = (ways.columns_of(way.table, made.array(name), turning) for name in ("cos", "sin"))
            angles: np.ndarray | float = 0.0
        else:
            frequencies, read = self.frequencies(case.width)
            if case.base:
                frequencies, read = self.fit.of_base(case.base, turning // 2, case.width), None
            rows = ways.rows_of(case) + way.shift
            cos, sin = (f(rows[..., None] * frequencies) for f in (np.cos, np.sin))
            angles = tolerances.of_angles(rows, frequencies, counted, read)[:, None]
        right = ways.turned(x, cos, sin, way, turning)
        error = tolerances.of_rotation(ways.sizes(x, way.pairs, turning) * way.scale, angles, kind)
        return right, ways.spread(error, way.pairs, turning, case.width)

    def judge(self, case: Case, kind: str = "") -> Outcome:
        """Ask, and compare with what is right.

        Args:
            case: the call.
            kind: the type in which the target may compute; by default that of the arrays.
        """
        case = ways.fitted(case, self.way)
        answer = self.ask(case)
        if answer.trouble:
            where = Shown(answer.call, None, (), 0.0)
            return Outcome(np.inf, self.trouble(answer), where)
        worst = Outcome(0.0, None)
        for part, given in enumerate(answer.outputs):
            right, most = self.exact(case, answer.call, part, kind or coarser_of(case.kind, answer.kind))
            ratio, place = largest(given, right, most)
            if ratio > max(worst.ratio, 1.0):
                self.saw(given, right, place, ratio)
                axes = dict(zip("bhtd", place, strict=True))
                where = tuple(axes[axis] for axis in self.way.layout)
                several = len(answer.outputs) > 1
                name = f" of the {('queries', 'keys')[part]}" if several else ""
                worst = Outcome(
                    ratio,
                    self.wrong(
                        f"{given[place]:.7g} where {right[place]:.7g} is right{off(ratio)}, at"
                        f" [{' '.join(self.way.layout)}] = {[*where]}{name}",
                        answer.call,
                    ),
                    Shown(answer.call, part if several else None, where, float(right[place])),
                )
            elif ratio <= 1 and not worst.why:
                worst = Outcome(max(worst.ratio, ratio), None)
        if not worst.why and not kind:
            self.largest = max(self.largest, worst.ratio)
        return worst

    def all_of(self, cases: Sequence[Case], kind: str = "") -> Said:
        """Judge several cases."""
        worst, fails = 0.0, []
        for case in cases:
            outcome = self.judge(case, kind)
            worst = max(worst, outcome.ratio)
            if outcome.why:
                fails.append(outcome)
                if self._hung >= HUNG:
                    break
        if not fails:
            return Said(Verdict.HOLDS, f"largest error {worst:.2g} of its tolerance", len(cases), ratio=worst)
        # A call that raises says more than a number of any size, if all do.
        most = max(fails, key=lambda each: each.ratio if np.isfinite(each.ratio) else 0.0)
        assert most.why is not None
        said = failed(most.why, f"{len(fails)} of {len(cases)}: ", len(cases), failures=len(fails))
        return said._replace(counterexample=most.shown, ratio=max(each.ratio for each in fails))
