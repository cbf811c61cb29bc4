"""How a target with biases is called, what it must answer, and how many tolerances its answer is off."""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from attnlab_theory.conform.attention.tolerances import HALF_EPS
from attnlab_theory.conform.finding import Trouble, Verdict, misshapen
from attnlab_theory.conform.positions import tolerances
from attnlab_theory.conform.positions.calling import ADAPTER, Call, Parameter, PositionSuite, Shown, largest, off
from attnlab_theory.conform.suite import HUNG, Said, Wrong, failed

ROLES: Mapping[str, tuple[str, ...]] = {
    "heads": (
        "heads",
        "num_heads",
        "n_heads",
        "h",
        "nheads",
        "n_head",
        "num_attention_heads",
        "nh",
        "total_num_heads",
    ),
    "queries": (
        "queries",
        "q_len",
        "query_length",
        "query_len",
        "seq_len_q",
        "num_queries",
        "n_queries",
        "tq",
        "i",
    ),
    "keys": ("keys", "k_len", "key_length", "key_len", "seq_len_k", "num_keys", "n_keys", "tk", "kv_len", "j", "s"),
    "length": (
        *("length", "seq_len", "seqlen", "n", "t", "max_len", "tokens", "sequence_length", "seq_length", "size"),
        *("max_seq_len", "max_length", "context_length", "l"),
    ),
}
"""What parameters are for, by their names."""

AXES = ("hts", "1hts", "h1s", "1h1s", "hs", "1hs")
"""The axes of what is given: h heads, t queries, s keys."""

NEAR = 0.05
"""Slopes this near to the published ones, in relative terms, are meant to be those; what is wrong is judged."""

FUTURES = {
    "-inf": "hidden (-inf)",
    "finite": "hidden by a finite number",
    "ramp": "higher still: a causal mask has to hide them",
    "symmetric": "lower with the distance, as past ones",
    "zero": "no bias",
}
"""What becomes of keys that come after the query."""


def published(heads: int) -> np.ndarray:
    """The slopes of the paper, [heads]: a geometric progression from 2**(-8 / h) to 2**-8.

    A number of heads that is no power of two gets those of the next lower power first, then every other one of the
    next higher power.

    Source: Press et al. 2022, section 3 and its published code.
    """
    lower = 2 ** (heads.bit_length() - 1)
    one, more = (2.0 ** (-8 * np.arange(1, n + 1) / n) for n in (lower, 2 * lower))
    return np.concatenate((one, more[::2][: heads - lower]))


class Size(NamedTuple):
    """What is asked for."""

    heads: int
    queries: int
    keys: int


class Answer(NamedTuple):
    """What came back."""

    call: Call
    trouble: Trouble | None = None
    bias: np.ndarray = np.zeros((0, 0, 0))
    """[h t s], or [h 1 s] where all rows are one."""


class Biases(PositionSuite):
    """A function of a number of heads and of one or two lengths."""

    ROLES = ROLES
    CONVENTIONS = ("framework",)

    def open(self) -> None:
        """Guess the axes, the alignment, and what becomes of the future."""
        self.begin()
        if "keys" in self.names and "length" in self.names and "queries" not in self.names:
            self.names["queries"] = self.names.pop("length")
        if "queries" in self.names and "keys" not in self.names and "length" in self.names:
            self.names["keys"] = self.names.pop("length")
        self.two = "queries" in self.names and "keys" in self.names
        self.axes, self.shift, self.future, self.heads = "hts", 0, "", 4
        self.why: Trouble | str = ""
        self.gives, self.narrow, self.alignment = "float32", "", "end"
        self._slopes: dict[int, np.ndarray | None] = {}
        self._settle()
        self._align()
        self._say()

    def unnamed(self, parameter: Parameter) -> str:
        """Heads come first and a length after them, whatever their names."""
        if not parameter.required:
            return ""
        return next((r for r in ("heads", "length") if r not in self.names and "keys" not in self.names), "")

    @property
    def one_row(self) -> bool:
        """Whether all rows are one, so that only differences within it count."""
        return "t" not in self.axes

    def ask(self, size: Size) -> Answer:
        """Make one call."""
        named = {"heads": size.heads, "queries": size.queries, "keys": size.keys, "length": size.keys}
        made = Call({role: named[role] for role in self.names})
        reply = self.make(made)
        if reply.trouble:
            return Answer(made, reply.trouble)
        came = reply.arrays[0]
        self.gives = reply.kind if reply.kind in HALF_EPS else self.gives
        heads = self.heads if "heads" not in self.names else size.heads
        sizes = {"h": heads, "t": size.queries, "s": size.keys, "1": 1}
        expected = tuple(sizes[axis] for axis in self.axes)
        if came.shape != expected:
            return Answer(made, misshapen(came.shape, expected))
        return Answer(made, None, came.reshape(heads, 1 if self.one_row else size.queries, size.keys))

    def _settle(self) -> None:
        size, said = Size(4, 5, 7) if self.two else Size(4, 6, 6), []
        numbers = (4,) if "heads" in self.names else (4, 8, 12, 16, 32, 2, 1)
        for framework, heads, axes in itertools.product(self.frameworks(), numbers, AXES):
            self.framework, self.heads, self.axes = framework, heads, axes
            answer = self.ask(size)
            if not answer.trouble:
                return
            said.append(f"{answer.call.shown(self.names)}: {answer.trouble}")
            self.refuse_hung(said[-1])
        raise ValueError(f"{self.caller.name} answered no trial call, such as {said[0]}. {ADAPTER}")

    def _align(self) -> None:
        """Where queries stand among the keys: where a row turns, or ends."""
        size = Size(self.heads, 5, 7) if self.two else Size(self.heads, 6, 6)
        answer = self.ask(size)
        if answer.trouble:
            self.why = answer.trouble
            return
        found = []
        for alignment, shift in (("end", size.keys - size.queries), ("start", 0)):
            wrong = self._misfit(answer.bias, shift)
            found.append((wrong, alignment))
            if not self.two or self.one_row:
                break
        wrong, self.alignment = min(found, key=lambda each: each[0])
        if wrong > 0.02:
            first = np.array2string(answer.bias[0, -1], precision=3, max_line_width=200)
            self.why = f"a row does not fall in proportion to the distance: head 0, last query: {first}"
            return
        self.future = self.future_of(answer.bias, self.own(size))

    def _misfit(self, bias: np.ndarray, shift: int) -> float:
        """How far the past is from a straight line, and the future from any that is known, over the slope."""
        own = shift + np.arange(bias.shape[1]) if bias.shape[1] > 1 else np.array([bias.shape[2] - 1])
        slopes = self.slopes(bias, own)
        if not np.isfinite(slopes).all():
            return np.inf
        past, distance = self.past(bias, own)
        with np.errstate(invalid="ignore"):
            wrong = (
                np.abs(past + slopes[:, None, None] * distance) / np.maximum(np.abs(slopes), 1e-9)[:, None, None]
            )
        wrong = np.where(distance >= 0, wrong, 0.0)
        return float(np.nan_to_num(wrong, nan=np.inf).max()) + (0 if self.future_of(bias, own) else np.inf)

    def own(self, size: Size) -> np.ndarray:
        """The key at which each query stands, [t], or that of the one row."""
        if self.one_row:
            return np.array([size.keys - 1])
        return np.arange(size.queries) + (size.keys - size.queries if self.alignment == "end" else 0)

    @staticmethod
    def past(bias: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each entry from that of its own key, [h t s], and how far its key lies in the past, [t s]."""
        with np.errstate(invalid="ignore"):
            from_own = bias - bias[:, np.arange(len(own)), own][:, :, None]
        return from_own, own[:, None] - np.arange(bias.shape[2])

    def slopes(self, bias: np.ndarray, own: np.ndarray) -> np.ndarray:
        """What a head takes off for each token, [h]: over the longest distance, for that is most exact."""
        row, n = len(own) - 1, int(own[-1])
        if n == 0:
            return np.full(len(bias), np.nan)
        return (bias[:, row, n] - bias[:, row, 0]) / n

    def future_of(self, bias: np.ndarray, own: np.ndarray) -> str:
        """A key of `FUTURES`; empty if it is none."""
        from_own, distance = self.past(bias, own)
        slopes = self.slopes(bias, own)[:, None, None]
        after = np.broadcast_to(distance < 0, bias.shape)
        if not after.any():
            return "ramp"
        step = np.abs(slopes) * 0.02 + 1e-6
        with np.errstate(invalid="ignore"):
            fits = {
                "-inf": np.isneginf(bias),
                "finite": from_own < -5e3,
                "ramp": np.abs(from_own + slopes * distance) < step,
                "symmetric": np.abs(from_own - slopes * distance) < step,
                "zero": (np.abs(from_own) < 1e-6) | (bias == 0),
            }
        return next((name for name, fit in fits.items() if fit[after].all()), "")

    def _say(self) -> None:
        self.profile = [("framework", self.framework), ("gives", f"[{' '.join(self.axes)}], {self.gives}")]
        words = [f"{name} ({role})" for role, name in self.names.items()]
        self.profile.append(("arguments by name", ", ".join(words)))
        if self.why:
            return
        if self.two and not self.one_row:
            more = {"end": "last query stands at the last key", "start": "query 0 stands at key 0"}
            self.profile.append(("more keys than queries", f"{self.alignment}: {more[self.alignment]}"))
        self.profile.append(("keys after the query", FUTURES.get(self.future, "")))
        if "heads" not in self.names:
            self.profile.append(("heads", f"{self.heads}"))

    def judge(self, size: Size, slopes: np.ndarray | None = None) -> tuple[float, Wrong | None, Shown | None]:
        """Ask, and compare with the published slopes: how many tolerances it is off, and in words.

        Args:
            size: of the bias.
            slopes: others, [heads].
        """
        answer = self.ask(size)
        if answer.trouble:
            return np.inf, self.trouble(answer), Shown(answer.call, None, (), 0.0)
        own = self.own(size)
        slopes = published(len(answer.bias)) if slopes is None else slopes
        from_own, distance = self.past(answer.bias, own)
        past = distance >= 0
        right = np.where(past, -slopes[:, None, None] * distance, 0.0)
        kind = self.narrow or self.gives
        most = tolerances.of_bias(slopes[:, None, None], distance, size.keys, kind)
        ratio, place = largest(np.where(past, from_own, 0.0), right, most)
        if ratio <= 1:
            self.largest = max(self.largest, ratio)
            return ratio, None, None
        h, t, j = place
        said = f"head {h}, query {t}: key {j} gets {from_own[place]:.7g} less what its own key gets, and not"
        said = self.wrong(f"{said} {right[place]:.7g}{off(ratio)}", answer.call)
        where = tuple({"h": h, "t": t, "s": j}.get(axis, 0) for axis in self.axes)
        back = tuple({"h": h, "t": t, "s": int(own[t])}.get(axis, 0) for axis in self.axes)
        return ratio, said, Shown(answer.call, None, where, float(right[place]), back)

    def all_of(self, sizes: Sequence[Size]) -> Said:
        """Judge several sizes by the published slopes."""
        worst, fails = 0.0, []
        for size in sizes:
            ratio, why, shown = self.judge(size, self.read(size.heads))
            worst = max(worst, ratio)
            if why:
                fails.append((ratio, why, shown))
                if self._hung >= HUNG:
                    break
        if not fails:
            return Said(Verdict.HOLDS, f"largest error {worst:.2g} of its tolerance", len(sizes), ratio=worst)
        ratio, why, shown = max(fails, key=lambda each: each[0] if np.isfinite(each[0]) else 0.0)
        said = failed(why, f"{len(fails)} of {len(sizes)}: ", len(sizes), counterexample=shown)
        return said._replace(ratio=worst, failures=len(fails))

    def read(self, heads: int) -> np.ndarray | None:
        """The slopes of a number of heads, where they are not the published ones; None where they are."""
        if heads not in self._slopes:
            size = Size(heads, 33, 33)
            answer = self.ask(size)
            found = None
            if not answer.trouble:
                slopes, right = self.slopes(answer.bias, self.own(size)), published(len(answer.bias))
                with np.errstate(invalid="ignore"):
                    good = np.abs(slopes / right - 1).max() < NEAR or not np.isfinite(slopes).all()
                found = None if good else slopes
            self._slopes[heads] = found
        return self._slopes[heads]
