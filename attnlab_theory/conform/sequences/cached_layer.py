"""Attention, or a layer, with a cache: how it is called, and what leaks."""

import dataclasses
import functools
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform.calls import Kept
from attnlab_theory.conform.finding import Trouble, Verdict, misshapen
from attnlab_theory.conform.masks import WORDS
from attnlab_theory.conform.precision import Arrays
from attnlab_theory.conform.sequences.caches import NO_OUTPUT, Fed, Inputs, State
from attnlab_theory.conform.sequences.forms import BATCHES, LAYOUTS, SIZES, form_of
from attnlab_theory.conform.sequences.normal import LOUD, WIDTHS, numbers
from attnlab_theory.conform.sequences.rounding import apart, bound, peak
from attnlab_theory.conform.sequences.steps import StepSuite, styles
from attnlab_theory.conform.sequences.suite import CAUSAL, REMEDY, Distance, named, off
from attnlab_theory.conform.suite import Said, failed


class CachedLayerSuite(StepSuite):
    """Attention, or a layer, with a cache, as it is called."""

    CONVENTIONS = ("framework", "layout", "width", "mask")

    def find(self) -> None:
        """How it is called, its layout and width; whether the whole pass hides the future."""
        self.form = form_of(self.about, self.caller.name)
        self.kind_of_numbers, self.steps_only = "float32", False
        self._trial()
        if not self.form.names and not self.form.start and not self.looks_back():
            why = "has no parameter for a cache, and a token does not look back at an earlier call"
            raise ValueError(f"{self.caller.name} {why}: {REMEDY}")
        if self.framework == "jax":
            self.long = 20
        self._axes()
        if self.form.mask and not self.form.flag and self.leak(6) is not None:
            self.find_mask()
        self.settle()
        keeps = "comes back" if self.form.returns else "is changed in place"
        begun = self.form.start or f"{self.form.position} of 0"
        holds = ", ".join(self.form.names) or f"inside the object, begun by {begun}"
        of = self.form.method or "f"
        self.profile += [
            ("framework", self.framework),
            ("call", f"{of}({', '.join(self.form.inputs)}), whole pass " + ("f" if self.calls_whole else of)),
            ("cache", holds + (f"; it {keeps}" if self.form.names else "")),
            ("layout", " ".join(self.layout) + (" (declared)" if "layout" in self.declared else " (guessed)")),
            ("width", str(self.width)),
        ]
        if self.form.flag:
            more = " at the beginning only: with a past it hides the wrong keys" if self.first_only else ""
            self.profile.append(("hides the future", f"by {self.form.flag}{more}"))
        if self.masks:
            axes = " ".join(self.mask_shape)
            self.profile.append(("hides the future", f"by {self.form.mask} [{axes}]: {WORDS[self.meaning]}"))
        if self.places:
            axes = {"one": "of the first one", "t": "[t]", "bt": "[b t]"}[self.places]
            self.profile.append(("where tokens stand", f"is told by {self.form.position}, {axes}"))

    @property
    def stepwise(self) -> bool:
        """Whether it takes one token at a time and nothing else."""
        return self.form.flat and not self.calls_whole

    @property
    def calls_whole(self) -> bool:
        """Whether the target itself answers all tokens at once."""
        return not self.form.method or (self.about["parameters"] is not None and not self.steps_only)

    def _trial(self) -> None:
        tried: list[str] = []
        three = len(self.form.inputs) == 3
        layouts = ("bhtd", "btd", "td") if three else ("btd", "td")
        if self.declared.get("layout", "td") not in LAYOUTS:
            raise ValueError(f"the layout of a cache is {', '.join(LAYOUTS)}, not {self.declared['layout']}")
        layouts = (self.declared["layout"],) if "layout" in self.declared else layouts
        widths = (self.declared["width"],) if "width" in self.declared else WIDTHS
        # Arrays of the usual width first; a cache that was made beforehand has a width of its own.
        sizes = [(each, width) for width in widths for each in layouts]
        sizes = sizes if three else [(each, width) for each in layouts for width in widths]
        asked = self.form
        starts = [dataclasses.replace(asked, returns=returns) for returns in (True, False)]
        starts = starts[:1] if not asked.start or not asked.names else starts
        for framework in self.frameworks():
            self.framework = framework
            told = styles(asked) if asked.must else ("",)
            for (self.layout, self.width), form, self.places in itertools.product(sizes, starts, told):
                for self.form in (form, dataclasses.replace(form, flat=True))[: 1 + bool(form.method)]:
                    x = self.draw(2, 4, 0)
                    fed = self.run(x, () if not form.method else (1, 2, 3))
                    if not fed.trouble:
                        self._look()
                        return
                    tried.append(str(fed.trouble))
                    if self._hung > 2:
                        raise self.refused(tried, "Say --framework")
        raise self.refused(tried, "Say --layout, --width or --framework")

    def _look(self) -> None:
        """What the first answer shows."""
        x = self.draw(2, 6, 0)
        # A call that raises once is made again, before a cache is said to take one token at a time.
        self.chunked = not self.form.flat and any(not self.run(x, (3,)).trouble for _ in range(2))
        self.explicit = bool(self.form.names)
        # Every module of torch can be called, and says then if it has no `forward`.
        self.steps_only = self.calls_whole and _is_missing(self.whole(x)[1])
        start = self.about.get("methods", {}).get(self.form.start) or ()
        self.capacity = bool(named(start, SIZES))

    def _axes(self) -> None:
        """Which axis is that of tokens: along another one nothing is mixed."""
        if self.layout not in ("bhtd", "btd") or "layout" in self.declared:
            return
        one, two = self.layout.index("t") - 1, self.layout.index("t")
        size = 2 if self.layout == "bhtd" else 3
        x, other = self.draw(size, size, 1), self.draw(size, size, 2)
        base, _ = self.whole(x)
        if base is None:
            return
        mixes = []
        for axis in (one, two):
            moved = False
            for i in (0, x[0].shape[axis] - 1):
                y = tuple(each.copy() for each in x)
                for each, new in zip(y, other, strict=True):
                    np.moveaxis(each, axis, 0)[i] = 3 * np.moveaxis(new, axis, 0)[i]
                came, _ = self.whole(y)
                if came is not None:
                    gap = np.delete(np.moveaxis(apart(base, came), axis, 0), i, 0)
                    moved |= bool(gap.max(initial=0.0) > 1e-5 * peak(base))
            mixes.append(moved)
        if mixes == [True, False]:
            self.layout = {"bhtd": "bthd", "btd": "tbd"}[self.layout]

    # The calls.

    def draw(self, batch: int, tokens: int, seed: int) -> Inputs:
        """q, k and v [b h t d], or x [b t d]."""
        batch = 1 if self.layout == "td" else batch
        if len(self.form.inputs) == 1:
            return (numbers(batch, tokens, self.width, self.kind_of_numbers, seed),)
        heads = 2 if "h" in self.layout else 1
        x = numbers(3 * batch * heads, tokens, self.width, self.kind_of_numbers, seed)
        x = x.reshape(3, batch, *([heads] if "h" in self.layout else []), tokens, self.width)
        return tuple(x)

    def handed(self, x: Inputs) -> list[np.ndarray]:
        """The inputs as the target takes them."""
        return [np.ascontiguousarray(LAYOUTS[self.layout][0](each)) for each in x]

    def back(self, came: np.ndarray) -> np.ndarray:
        """The output as [b h t e] or [b t e]."""
        if self.layout == "td":
            return came[None]
        return LAYOUTS[self.layout][0](came)

    def read(self, came: np.ndarray, x: Inputs) -> tuple[np.ndarray, Trouble | None]:
        """The output in our order, and what is wrong with its shape."""
        expected = self.handed(x)[0].shape
        if came.ndim != len(expected) or came.shape[:-1] != expected[:-1]:
            return NO_OUTPUT, misshapen(came.shape, (*expected[:-1], "e"))
        return self.back(came), None

    def begin(self, batch: int, capacity: int, number: int = 0) -> tuple[State, Trouble | None]:
        """A new cache."""
        if not self.form.start:
            return (), None
        parameters = self.about["methods"][self.form.start]
        plain: dict[str, int] = {}
        if name := named(parameters, BATCHES):
            plain[name] = batch
        if name := named(parameters, SIZES):
            plain[name] = capacity
        reply = self.ask(method=self.form.start, plain=plain, keep=("",), reads=False, number=number)
        call = f"{self.form.start}({', '.join(f'{k}={v}' for k, v in plain.items())})"
        return tuple(reply.kept) if self.form.names else (), reply.trouble and reply.trouble.of(call)

    def feed(
        self, x: Inputs, past: int, state: State, number: int = 0, more: Mapping[str, np.ndarray] | None = None
    ) -> Fed:
        """Some tokens, and the cache before them; `more` is handed over by name."""
        form, given = self.form, self.handed(x)
        tokens = given[0].shape[LAYOUTS[self.layout][1]] if given[0].ndim == len(self.layout) else 1
        if form.flat:
            given = [np.ascontiguousarray(each.squeeze(LAYOUTS[self.layout][1])) for each in given]
        names: dict[str, np.ndarray | Kept] = dict(zip(form.names, state, strict=False))
        plain: dict[str, Any] = {form.flag: True} if form.flag and not (self.first_only and past) else {}
        plain |= {form.asks: True} if form.asks else {}
        stand = self.standing(tokens, past, len(x[0]))
        (plain if self.places == "one" else names).update(stand)
        if form.none and not state:
            plain |= dict.fromkeys(form.names)
        if self.masks:
            names[form.mask] = self.seen(tokens, past)
        names |= more or {}
        keep = range(1, 1 + len(form.names)) if form.returns and form.names else ()
        reply = self.ask(
            *given,
            kind=self.kind_of_numbers,
            named=names,
            plain=plain,
            keep=tuple(keep),
            method=form.method,
            number=number,
        )
        if reply.trouble:
            shapes = ", ".join(f"{n} {[*g.shape]}" for n, g in zip(form.inputs, given, strict=True))
            return Fed(reply.trouble.of(shapes), NO_OUTPUT, state)
        came = reply.arrays[0]
        if form.flat and came.ndim == len(self.layout) - 1:
            came = np.expand_dims(came, LAYOUTS[self.layout][1])
        output, trouble = self.read(came, x)
        self.kinds[self.kind_of_numbers] = reply.kind
        return Fed(trouble, output, tuple(reply.kept) if form.returns and form.names else state)

    def whole(self, x: Inputs, number: int = 0) -> tuple[np.ndarray | None, Trouble | None]:
        """All tokens at once, without a cache; where only steps can be taken, in one step."""
        form = self.form
        if not self.calls_whole:
            fed = self.run(x, range(1, x[0].shape[-2]) if form.flat else (), number)
            return (None, fed.trouble) if fed.trouble else (fed.output, None)
        if not form.method:
            # What lives in the target goes on from the call before, unless it begins anew.
            _, trouble = ((), None) if form.names else self.begin(len(x[0]), max(x[0].shape[-2], self.long), number)
            if trouble:
                return None, trouble
            fed = self.feed(x, 0, ())
            if number:
                fed = self.feed(x, 0, (), number)
            return (None, fed.trouble) if fed.trouble else (fed.output, None)
        flag = named(self.about["parameters"], CAUSAL)
        reply = self.ask(
            *self.handed(x), kind=self.kind_of_numbers, plain={flag: True} if flag else {}, number=number
        )
        if reply.trouble:
            return None, reply.trouble
        output, trouble = self.read(reply.arrays[0], x)
        return (None, trouble) if trouble else (output, None)

    def near(self, one: np.ndarray, other: np.ndarray, x: Inputs) -> Distance:
        """Two answers beside each other, by the rule of `rounding`."""
        error = float(apart(one, other).max(initial=0.0))
        kind = self.kind_of_numbers
        terms = x[0].shape[-2] + x[0].shape[-1]

        def decoded(given: Arrays) -> np.ndarray | None:
            fed = self.run(tuple(given), range(1, given[0].shape[-2]))
            return None if fed.trouble else fed.output

        def tolerance(of: str) -> float:
            return bound(lambda given: self.whole(tuple(given))[0], x, of, terms, error, one, other)

        return self.compared_as(kind, one, other, tolerance, decoded, x)

    @functools.cached_property
    def kinds(self) -> dict[str, str]:
        """The type of the output, by that of the input."""
        return {}

    def leak(self, tokens: int) -> Said | None:
        """A failure of the whole pass to hide the future; None if there is none."""
        x = self.draw(1, tokens, tokens)
        base, trouble = self.whole(x)
        if base is None:
            return failed(trouble, f"{tokens} tokens at once: ")
        for cut in sorted({1, tokens // 2, tokens - 1}):
            for name, loud in LOUD.items():
                y = tuple(each.copy() for each in x)
                for each in y:
                    each[..., cut:, :] = loud(each[..., cut:, :])
                came, trouble = self.whole(y)
                if came is None:
                    return failed(trouble, f"{tokens} tokens, from {cut} on {name}: ")
                verdict = self.near(came[..., :cut, :], base[..., :cut, :], y)
                if verdict.fails:
                    line = f"{tokens} tokens at once: token {verdict.place[-2]} moves when those from {cut} on are"
                    return Said(Verdict.FAILS, f"{line} {name}: {off(verdict)}", 9, None, verdict.ratio)
        return None


def _is_missing(trouble: Trouble | None) -> bool:
    return trouble is not None and trouble.error == "NotImplementedError"
