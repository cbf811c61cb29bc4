"""How a target with sinusoids is called, what it must answer, and how many tolerances its answer is off."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.finding import Trouble, Verdict, misshapen
from attnlab_theory.conform.kinds.softmax.tolerances import HALF_EPS
from attnlab_theory.conform.positions import tolerances
from attnlab_theory.conform.positions.calling import (
    ADAPTER,
    Call,
    Parameter,
    PositionSuite,
    Shown,
    drawn,
    largest,
    off,
    whole,
)
from attnlab_theory.conform.positions.frequencies import SHORT, TRIAL, Fit, fitted, power, unwrapped
from attnlab_theory.conform.positions.rotary_ways import PAIRS, firsts
from attnlab_theory.conform.suite import HUNG, Said, Wrong, failed, refuses

ROLES: Mapping[str, tuple[str, ...]] = {
    "at": (
        *("positions", "position_ids", "position", "pos", "timesteps", "t", "length", "seq_len", "seqlen", "n"),
        *("max_len", "tokens", "num_positions", "n_positions", "sequence_length", "max_length", "context_length"),
    ),
    "x": ("x", "tensor", "input", "inputs", "hidden", "hidden_states", "embeddings"),
    "width": (
        *("width", "d", "dim", "d_model", "channels", "embed_dim", "hidden_size", "embedding_dim", "depth"),
        *("dimension", "num_channels", "d_hid", "dim_model"),
    ),
    "base": ("base", "max_period", "max_wavelength", "max_timescale", "theta", "temperature"),
}
"""What parameters are for, by their names."""

ARRAYS = ("positions", "position_ids", "position", "pos", "timesteps", "t", "x")
"""Names that say that an array is wanted rather than a number of tokens."""

WIDTH = 8

AXES = ("td", "1td", "t1d", "btd", "11td")
"""The axes of what is given."""


class Answer(NamedTuple):
    """What came back."""

    call: Call
    trouble: Trouble | None = None
    table: np.ndarray = np.zeros((0, 0))
    """[t d]."""
    kind: str = ""
    shape: tuple[int, ...] = ()


class Sinusoids(PositionSuite):
    """A function of a length, or of positions, and of a width."""

    ROLES = ROLES
    CONVENTIONS = ("framework", "base", "pairs")
    reached = 0
    """What `longest` found; 0 while nobody asked."""

    def open(self) -> None:
        """Guess how it is called, and which columns are sines."""
        self.begin()
        self.axes, self.told, self.width = "td", "length", WIDTH
        self.pairs, self.sine_first, self.shift = PAIRS[0], True, 0.0
        self.why: Trouble | str = ""
        self.gives, self.narrow = "float32", ""
        self._settle()
        self._own: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.fit = Fit(1e4, "turning", 1.0, np.zeros(0), np.zeros(0))
        self._read()
        self._say()

    def unnamed(self, parameter: Parameter) -> str:
        """The first parameter says where, and the second how wide, whatever their names."""
        if not parameter.required or len(self.names) > 1:
            return ""
        return "width" if self.names else "at"

    def _settle(self) -> None:
        """What the first parameter is: a number of tokens, an array of positions, or tokens."""
        if "x" in self.names:
            ways = ["x"]
        else:
            ways = ["positions", "length"] if self.names.get("at", "") in ARRAYS else ["length", "positions"]
        said = []
        axes = ("btd", "td") if "x" in self.names else AXES
        for framework, told, shape in itertools.product(self.frameworks(), ways, axes):
            self.framework, self.told, self.axes = framework, told, shape
            answer = self.ask(tuple(range(7)))
            if not answer.trouble:
                self.width = answer.table.shape[1]
                return
            said.append(f"{answer.call.shown(self.names)}: {answer.trouble}")
            self.refuse_hung(said[-1])
        raise ValueError(f"{self.caller.name} answered no trial call, such as {said[0]}. {ADAPTER}")

    def ask(
        self,
        positions: Sequence[int],
        width: int = 0,
        base: float = 0.0,
        filled: float = 0.0,
        kind: str = "float32",
    ) -> Answer:
        """Make one call.

        Args:
            positions: of the rows that are wanted; a target that takes a length gives all rows before, too.
            width: of the rows; 0 is the usual one.
            base: handed over; 0 leaves it to the target.
            filled: the number in the tokens that are handed over to a target that adds.
            kind: their type.
        """
        width = width or self.width
        tokens = max(positions, default=-1) + 1
        values: dict[str, Any] = {}
        match self.told:
            case "positions":
                values["at"] = whole(np.asarray(positions, np.int64))
            case "length":
                values["at"] = tokens
            case "x":
                shape = (2, tokens, width) if self.axes == "btd" else (tokens, width)
                values["x"] = drawn(f"np.full({shape}, {filled:g})", kind)
        if "width" in self.names:
            values["width"] = width
        if base:
            values["base"] = base
        made = Call(values, kind)
        reply = self.make(made)
        if reply.trouble:
            return Answer(made, reply.trouble)
        came = reply.arrays[0]
        rows = len(positions) if self.told == "positions" else tokens
        fixed = "width" not in self.names and self.told != "x"
        sizes = {"t": rows, "d": came.shape[-1] if fixed and came.ndim else width, "1": 1, "b": 2}
        expected = tuple(sizes[axis] for axis in self.axes)
        if came.shape != expected:
            return Answer(made, misshapen(came.shape, expected))
        table = came[0] if self.axes == "btd" else came
        table = table.reshape(rows, sizes["d"])
        table = table if self.told == "positions" else table[np.asarray(positions, int)]
        return Answer(made, None, table, reply.kind, came.shape)

    def split(self, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The sines and the cosines of a table, [t pairs] each."""
        first, second = firsts(self.pairs, table.shape[1] // 2 * 2)
        one, other = table[:, first], table[:, second]
        return (one, other) if self.sine_first else (other, one)

    def _read(self) -> None:
        """Which columns belong together, and how fast their angles grow."""
        rows: tuple[int, ...] = TRIAL
        answer = self.ask(rows)
        if answer.trouble:
            rows = SHORT
            answer = self.ask(rows)
        self.gives = answer.kind if answer.kind in HALF_EPS else "float32"
        if answer.trouble or answer.table.shape[1] < 2:
            self.why = answer.trouble or "gives a single column"
            return
        best: tuple[float, str, bool] = (np.inf, PAIRS[0], True)
        declared = (self.declared["pairs"],) if "pairs" in self.declared else PAIRS
        for pairs, sine_first in itertools.product(declared, (True, False)):
            self.pairs, self.sine_first = pairs, sine_first
            sines, cosines = self.split(answer.table)
            if not np.isfinite(answer.table).all() or np.abs(np.hypot(sines, cosines) - 1).max() > 0.05:
                continue
            angles = np.arctan2(sines, cosines)
            found, _ = unwrapped(angles, np.array(rows, float), self.unit)
            shift = round(float(angles[0, 0] / found[0])) if found[0] else 0
            misfit = np.abs(np.angle(np.exp(1j * (angles[0] - shift * found)))).max() + 10.0 * (found[0] < 0)
            best = min(best, (float(misfit), pairs, sine_first))
        misfit, self.pairs, self.sine_first = best
        if misfit > 0.5:
            self.why = "no two columns are the sine and the cosine of one angle, interleaved or as halves"
            return
        sines, cosines = self.split(answer.table)
        angles = np.arctan2(sines, cosines)
        found, error = unwrapped(angles, np.array(rows, float), self.unit)
        self.shift = float(round(float(angles[0, 0] / found[0]))) if found[0] else 0.0
        base = self.declared.get("base")
        self.fit = fitted(found, error, answer.table.shape[1], base, ("turning", "all but one"))

    def _say(self) -> None:
        told = {
            "length": "a number of tokens",
            "positions": "positions",
            "x": "tokens, and gives them back with more",
        }
        told["x"] = "tokens"
        self.profile = [("framework", self.framework), ("is told", told[self.told])]
        self.profile.append(("gives", f"[{' '.join(self.axes)}], {self.gives}"))
        if self.why:
            return
        columns = {
            ("interleaved", True): "sine, cosine, sine, cosine",
            ("interleaved", False): "cosine, sine, cosine, sine",
            ("halves", True): "all sines, then all cosines",
            ("halves", False): "all cosines, then all sines",
        }
        self.profile.append(("columns", columns[self.pairs, self.sine_first] + self.mark("pairs")))
        self.profile.append(("frequencies", self.fit.words() + self.mark("base")))
        if not self.fit.base and (base := power(self.fit)):
            self.profile.append(("", f"powers of about {base:,.6g}: say --base if you know it"))
        if self.shift:
            self.profile.append(("row 0 stands at", f"{self.shift:g}"))

    def frequencies(self, width: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Frequencies of the pairs of a width, and how far they may be off if they were read off."""
        known = self.fit.frequencies(width // 2, width)
        if known is not None:
            return known, None
        if width not in self._own:
            rows = TRIAL if not self.ask(TRIAL, width).trouble else SHORT
            sines, cosines = self.split(self.ask(rows, width).table)
            self._own[width] = unwrapped(np.arctan2(sines, cosines), np.array(rows, float), self.unit)
        return self._own[width]

    def exact(self, positions: Sequence[int], width: int, base: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """The right table and its tolerance, [t d] each."""
        frequencies, read = self.frequencies(width)
        if base:
            frequencies, read = self.fit.of_base(base, width // 2, width), None
        rows = np.asarray(positions, float) + self.shift
        angles = rows[:, None] * frequencies
        first, second = firsts(self.pairs, width)
        sines, cosines = (first, second) if self.sine_first else (second, first)
        right, most = np.zeros((len(rows), width)), np.zeros((len(rows), width))
        right[:, sines], right[:, cosines] = np.sin(angles), np.cos(angles)
        kind = self.narrow or self.gives
        error = tolerances.of_angles(rows, frequencies, tolerances.angle_kind(kind), read) + 2 * HALF_EPS[kind]
        most[:, sines] = most[:, cosines] = error
        return right, most

    @property
    def unit(self) -> float:
        """Half of the eps of what is given, float32 at least: angles are counted in that by most."""
        return max(HALF_EPS[self.gives], HALF_EPS["float32"])

    def longest(self) -> int:
        """The longest table, of some lengths, that is not refused."""
        if not self.reached:
            self.reached = 7
            for n in (17, 64, 130, 1030):
                if refuses(self.ask(range(n)).trouble):
                    break
                self.reached = n
        return self.reached

    def judge(
        self, positions: Sequence[int], width: int = 0, base: float = 0.0
    ) -> tuple[float, Wrong | None, Shown | None]:
        """Ask, and compare with what is right: how many tolerances it is off, and in words if that is too much."""
        width = width or self.width
        answer = self.ask(positions, width, base)
        if answer.trouble:
            return np.inf, self.trouble(answer), Shown(answer.call, None, (), 0.0)
        right, most = self.exact(positions, width, base)
        ratio, place = largest(answer.table, right, most)
        if ratio <= 1:
            self.largest = max(self.largest, ratio)
            return ratio, None, None
        self.saw(answer.table, right, place, ratio)
        row = positions[place[0]]
        said = f"position {row}, column {place[1]}: {answer.table[place]:.7g} where {right[place]:.7g} is right"
        index = {"t": place[0] if self.told == "positions" else row, "d": place[1]}
        where = tuple(index.get(axis, 0) for axis in self.axes)
        shown = Shown(answer.call, None, where, float(right[place]))
        return ratio, self.wrong(f"{said}{off(ratio)}", answer.call), shown

    def all_of(self, cases: Sequence[tuple[Any, ...]]) -> Said:
        """Judge several calls: the arguments of `judge`, each."""
        worst, fails = 0.0, []
        for case in cases:
            ratio, why, shown = self.judge(*case)
            worst = max(worst, ratio)
            if why:
                fails.append((ratio, why, shown))
                if self._hung >= HUNG:
                    break
        if not fails:
            return Said(Verdict.HOLDS, f"largest error {worst:.2g} of its tolerance", len(cases), ratio=worst)
        ratio, why, shown = max(fails, key=lambda each: each[0] if np.isfinite(each[0]) else 0.0)
        said = failed(why, f"{len(fails)} of {len(cases)}: ", len(cases), counterexample=shown)
        return said._replace(ratio=worst, failures=len(fails))
