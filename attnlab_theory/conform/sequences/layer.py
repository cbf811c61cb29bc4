"""A layer, f(x [b t d]) -> [b t e]: how it is called, and what leaks."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.finding import Trouble, Verdict, misshapen
from attnlab_theory.conform.precision import Arrays
from attnlab_theory.conform.sequences.normal import LOUD, WIDTHS, numbers
from attnlab_theory.conform.sequences.rounding import apart, bound, peak
from attnlab_theory.conform.sequences.suite import (
    CAUSAL,
    COMPILED,
    Distance,
    SequenceSuite,
    first_places,
    named,
    off,
    unsaid,
)
from attnlab_theory.conform.suite import Said, failed

LAYOUTS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "btd": lambda x: x,
    "tbd": lambda x: x.swapaxes(0, 1),
    "td": lambda x: x[0],
}
"""From [b t d] to what the target takes."""

GUESSED = (3, 5)
"""Tokens of the calls that tell whether the future is hidden. Longer ones must keep it."""


class LayerSuite(SequenceSuite):
    """A function from a sequence to a sequence of the same length, as it is called."""

    CONVENTIONS = ("framework", "layout", "width", "hides_future")

    def find(self) -> None:
        """The framework, the layout and the width; then whether the future is hidden."""
        parameters = self.about["parameters"]
        if more := unsaid((parameters or ())[1:]):
            raise ValueError(f"{self.caller.name}: it must be given {', '.join(more)}, but is called as f(x)")
        if parameters is not None and not parameters:
            raise ValueError(f"{self.caller.name} takes nothing, but is called as f(x)")
        self.x = (first_places(parameters) or ["x"])[0]
        flag = named(parameters, CAUSAL)
        self.plain = {flag: True} if flag and self.declared.get("hides_future") else {}
        self.layout, self.width = "btd", 0
        self._trial()
        self._axes()
        # Before any short input: a layer may answer otherwise ever after.
        self.early = self.ask(self.sample(), plain=self.plain)
        self.moved = 0.0
        self.causal = bool(self.declared.get("hides_future"))
        hidden = self.causal or all(self._hides(n) for n in GUESSED if self._taken(n))
        said = {True: "hidden, by declaration", False: "hidden (guessed)"}[self.causal]
        self.causal = hidden
        self.profile += [
            ("framework", self.framework),
            ("layout", " ".join(self.layout) + (" (declared)" if "layout" in self.declared else " (guessed)")),
            ("width", f"{self.width} in, {self._out} out"),
            ("what comes after a token", said if hidden else "is seen: say --causal if it should not be"),
            ("tokens in another order", self._order()),
        ]

    def _hides(self, tokens: int) -> bool:
        """Whether the future is hidden at a length. A call that raises says nothing of it, and is made again."""
        said = self.leak(tokens, "float32")
        if said is not None and said.trouble:
            said = self.leak(tokens, "float32")
        return said is None

    def _trial(self) -> None:
        tried: list[str] = []
        widths = [self.declared["width"]] if "width" in self.declared else WIDTHS
        layout = self.declared.get("layout", "")
        if layout and layout not in LAYOUTS:
            raise ValueError(f"the layout of a mixer is {', '.join(LAYOUTS)}, not {layout}")
        for framework in self.frameworks():
            self.framework = framework
            for self.layout in [layout] if layout else ("btd", "td"):
                for self.width in widths:
                    x = numbers(self.batch(3), 5, self.width, "float32")
                    came, trouble = self.f(x)
                    if came is not None:
                        self._out = came.shape[-1]
                        first, again = (self.ask(self.handed(x), plain=self.plain) for _ in range(2))
                        self.refuse_chance(first, again)
                        return
                    tried.append(f"{self.x} {[*self.handed(x).shape]}: {trouble}")
                    if self._hung > 2:
                        break
        raise self.refused(tried, "Say --layout, --width or --framework")

    def _axes(self) -> None:
        """Which of the two axes in front is that of tokens: along the other nothing is mixed."""
        if self.layout != "btd" or "layout" in self.declared:
            return
        x, other = (numbers(4, 5, self.width, "float32", seed) for seed in (1, 2))
        base, _ = self.f(x)
        mixes = []
        for axis in (0, 1):
            moved = False
            for i in (0, x.shape[axis] - 1):
                y = x.copy()
                np.moveaxis(y, axis, 0)[i] = 3 * np.moveaxis(other, axis, 0)[i]
                came, _ = self.f(y)
                others = [j for j in range(x.shape[axis]) if j != i]
                if base is not None and came is not None:
                    gap = np.moveaxis(apart(base, came), axis, 0)[others].max()
                    moved |= bool(gap > 1e-5 * peak(base, came))
            mixes.append(moved)
        if mixes == [True, False]:
            self.layout = "tbd"

    def _order(self) -> str:
        x = numbers(self.batch(2), 9, self.width, "float32", 2)
        order = np.random.default_rng(3).permutation(9)
        (one, _), (other, _) = self.f(x), self.f(x[:, order])
        if one is None or other is None:
            return "refused"
        verdict = self.judged(other, one[:, order], x, "float32")
        return "give the same outputs in that order" if not verdict.fails else "give others: positions matter"

    def sample(self) -> np.ndarray:
        """Five tokens, as the target takes them: they are asked again and again."""
        return self.handed(numbers(self.batch(2), 5, self.width, "float32", 6))

    def batch(self, wanted: int) -> int:
        """The batch elements of a call: one where there is no axis for them."""
        return 1 if self.layout == "td" else wanted

    def handed(self, x: np.ndarray) -> np.ndarray:
        """[b t d] as the target takes it."""
        return np.ascontiguousarray(LAYOUTS[self.layout](x))

    def f(self, x: np.ndarray, kind: str = "float32", **options: Any) -> tuple[np.ndarray | None, Trouble | None]:
        """The output [b t e], or None and the trouble."""
        reply = self.ask(self.handed(x), kind=kind, plain=self.plain, **options)
        if reply.trouble:
            return None, reply.trouble
        came = reply.arrays[0]
        expected = self.handed(x).shape
        if came.ndim != len(expected) or came.shape[:-1] != expected[:-1]:
            return None, misshapen(came.shape, (*expected[:-1], "e"))
        back = came[None] if self.layout == "td" else came.swapaxes(0, 1) if self.layout == "tbd" else came
        self.kinds[kind] = reply.kind
        return back, None

    @functools.cached_property
    def kinds(self) -> dict[str, str]:
        """The type of the output, by that of the input."""
        return {}

    def judged(self, one: np.ndarray, other: np.ndarray, x: np.ndarray, kind: str, *louder: np.ndarray) -> Distance:
        """Two answers beside each other; x is the louder input."""
        error = float(apart(one, other).max(initial=0.0))
        terms = x.shape[1] + max(x.shape[2], one.shape[2])

        def answers(given: Arrays) -> np.ndarray | None:
            return self.f(given[0], kind)[0]

        def tolerance(of: str) -> float:
            return bound(answers, [x], of, terms, error, one, other, *louder)

        return self.compared_as(kind, one, other, tolerance, answers, [x])

    def lengths(self, wanted: Sequence[int], kind: str = "float32") -> list[int]:
        """Those lengths that the target takes; few of a jax target."""
        if self.framework == "jax":
            wanted = COMPILED
        return [n for n in wanted if self._taken(n)] if kind else []

    def _taken(self, n: int) -> bool:
        if n not in self.troubles:
            self.troubles[n] = self.f(numbers(self.batch(2), n, self.width, "float32", n))[1]
        return not self.troubles[n]

    @functools.cached_property
    def troubles(self) -> dict[int, Trouble | None]:
        """What went wrong at each length that was tried; None where nothing did."""
        return {}

    def takes(self, kind: str) -> bool:
        """Whether arrays of a type are answered in that type."""
        if self.framework == "jax" and kind == "float64":
            return False
        came, _ = self.f(numbers(self.batch(2), 5, self.width, kind), kind)
        return came is not None and self.kinds[kind] == kind

    def leak(self, tokens: int, kind: str) -> Said | None:
        """A failure of causality at one length; None if there is none."""
        x = numbers(self.batch(2), tokens, self.width, kind, tokens)
        base, trouble = self.f(x, kind)
        if base is None:
            return failed(trouble, f"{tokens} tokens: ")
        cuts = sorted({1, tokens // 2, tokens - 2, tokens - 1} & set(range(1, tokens)))
        for cut in cuts:
            for name, loud in LOUD.items():
                y = x.copy()
                y[:, cut:] = loud(x[:, cut:])
                came, trouble = self.f(y, kind)
                if came is None:
                    return failed(trouble, f"{tokens} tokens, from {cut} on {name}: ")
                verdict = self.judged(came[:, :cut], base[:, :cut], y, kind, came, base)
                self.moved = max(self.moved, float(apart(came[:, :cut], base[:, :cut]).max()) / peak(y))
                if verdict.fails:
                    line = (
                        f"{tokens} tokens: token {verdict.place[1]} moves when x[{cut}:] is replaced by {name}: "
                        f"{off(verdict)}; {kind}"
                    )
                    return Said(Verdict.FAILS, line, len(cuts) * 3, ratio=verdict.ratio)
        return None
