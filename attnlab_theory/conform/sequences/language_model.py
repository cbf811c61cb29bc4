"""A model, token ids [b t] to logits [b t vocabulary], with or without a cache: how it is called."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab_theory.conform.calls import Kept, Reply
from attnlab_theory.conform.finding import Trouble, Verdict, misshapen
from attnlab_theory.conform.harness import RESETS
from attnlab_theory.conform.sequences.caches import NO_OUTPUT, CacheSuite, Fed, Inputs, State
from attnlab_theory.conform.sequences.forms import CACHES, OFFSETS
from attnlab_theory.conform.sequences.rounding import apart, of_logits
from attnlab_theory.conform.sequences.suite import (
    COMPILED,
    REMEDY,
    Distance,
    first_places,
    named,
    unsaid,
)
from attnlab_theory.conform.suite import Row

if TYPE_CHECKING:
    from attnlab_theory.conform.callers import Caller

IDS = ("input_ids", "ids", "tokens", "token_ids", "idx", "input", "x")
"""What token ids are called."""

LOGITS = ("logits", "last_hidden_state", "output", "outputs")
"""Where the logits are, in an object that is returned."""

MODEL_CACHES = (*CACHES, "cache_params", "past_keys_values")

LEAST = 10
"""By so many tolerances the last logits must move when the token before is another."""

BLIND = ("lengths", "same result", "inputs unchanged")
"""Identities that need no model that looks back."""

SPARED = 4
"""The first ids are not drawn, for some models take one of them for padding."""

SIZES = (1, 2, 12, 15, 16, 17, 33, 63, 64, 65)
"""Tokens of a call."""


class LanguageModelSuite(CacheSuite):
    """A language model, as it is called."""

    axis = -1
    long, far = 66, 300
    CONVENTIONS = ("framework", "vocabulary")

    def find(self) -> None:
        """How it is called, its vocabulary, and whether it has a cache."""
        parameters = self.about["parameters"]
        places = first_places(parameters)
        self.ids = named(parameters, IDS[:4]) or (places or ["ids"])[0]
        self.by_name = bool(parameters) and self.ids in {each[0] for each in parameters} and self.ids != places[0]
        self.start, self.lives = named(parameters, OFFSETS), False
        self.cache = named(parameters, MODEL_CACHES)
        methods = () if self.cache or self.start else self.about.get("methods", ())
        self.reset = next((each for each in RESETS if each in methods), "")
        if more := unsaid(parameters, self.ids, self.start):
            raise ValueError(
                f"{self.caller.name}: it must be given {', '.join(more)}, but is called as f(ids): {REMEDY}"
            )
        self.mask = named(parameters, ("attention_mask",))
        self.positions = named(parameters, ("position_ids",))
        self.use_cache = named(parameters, ("use_cache",))
        self.keep: tuple[int | str, ...] = ()
        self.number_kind, self.flat, self.spread = "float32", False, 1.0
        self.rival: LanguageModelSuite | None = None
        self._trial()
        self._vocabulary()
        if self.framework == "jax":
            self.long = 18
        if self.cache:
            self._cached()
        elif self.start or self.reset:
            self.lives = True
            # If a later token does not look back, where it stands is told for the sake of its position alone.
            self.lives = self.looks_back()
            self.chunked = not self.feed(self.part(self.draw(2, 4, 3), 2, 4), 2, ()).trouble
        self.explicit = bool(self.keep)
        self._measured()
        said = "declared" if "vocabulary" in self.declared else "found by trial"
        self.profile += [
            ("framework", self.framework),
            ("ids", f"{self.ids} " + ("[t]" if self.flat else "[b t]") + ", int64"),
            ("vocabulary", f"{self.vocabulary} ({said})"),
            ("logits", self.number_kind),
            ("cache", self._told()),
            ("looks back", f"another token before moves the last logits by {self.power:,.2g} tolerances"),
            ("padding", self.mask + (f" and {self.positions}" if self.positions else "") if self.mask else "none"),
        ]

    def _trial(self) -> None:
        tried: list[str] = []
        ids = np.array([[1, 0, 1, 1, 0], [0, 1, 1, 0, 0]])
        for framework in self.frameworks():
            self.framework = framework
            for self.flat in (False, True):
                first = ids[:1] if self.flat else ids
                came, trouble = self.whole((first,))
                if came is not None:
                    self.vocabulary = self.declared.get("vocabulary", came.shape[-1])
                    self.refuse_chance(self.all(first), self.all(first))
                    return
                tried.append(f"{self.ids} {[*(first[0] if self.flat else first).shape]}: {trouble}")
        raise self.refused(tried, "Say --framework")

    def _vocabulary(self) -> None:
        """The largest id that is taken: the width of the logits, unless that is padded."""
        if "vocabulary" in self.declared:
            return

        def taken(id: int) -> bool:
            return self.whole((np.full((1, 3), id),))[0] is not None

        low, high = 1, self.vocabulary - 1
        while low < high and not taken(high):
            low, high = (middle, high - 1) if taken(middle := (low + high) // 2) else (low, middle - 1)
        self.vocabulary = max(high, low) + 1

    def _cached(self) -> None:
        """Where the cache comes back: as an attribute, or in a tuple."""
        x, why, came = self.draw(2, 4, 0), None, ()
        for keep in ((self.cache,), ("past_key_values",), (1,), ("cache",), ("state",)):
            self.keep = keep
            fed = self.feed(self.part(x, 0, 2), 0, ())
            if not fed.trouble and fed.state:
                came = came or keep
                if not self.feed(self.part(x, 2, 3), 2, fed.state).trouble:
                    again = self.feed(self.part(x, 0, 2), 0, ())
                    self.chunked = not self.feed(self.part(x, 2, 4), 2, again.state).trouble
                    return
            why = why or fed.trouble
        # A cache that came back, and with which no step can be taken, fails where steps are judged.
        self.keep = came
        if not came:
            self.profile.append((self.cache, f"cannot be used: {why}"))

    @property
    def caches(self) -> bool:
        """Whether there is a cache: one that is handed over, or one that lives in the model."""
        return bool(self.keep) or self.lives

    def _measured(self) -> None:
        """The spread of the logits, and by how many tolerances the last move when the token before is another."""
        (ids,) = self.draw(2, 12, 1)
        other = ids.copy()
        other[:, -2] = self.draw(2, 12, 2)[0][:, -2]
        other[:, -2] += other[:, -2] == ids[:, -2]
        other[:, -2] %= self.vocabulary
        (one, trouble), (two, more) = self.whole((ids,)), self.whole((other,))
        if one is None or two is None:
            raise ValueError(f"{self.caller.name} is given {self.ids} {[*ids.shape]}: {trouble or more}")
        self.spread = float(np.nan_to_num(one).std())
        self.loose = bool((of_logits(self.number_kind, one, self.spread) >= np.ptp(one)).all())
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = apart(one, two)[:, -1] / of_logits(self.number_kind, one, self.spread)[:, -1]
        self.power = float(np.nan_to_num(moved).max())

    def _told(self) -> str:
        if self.lives:
            return f"in the model, begun by {self.reset or f'{self.start} of 0'}"
        return f"{self.cache}, which comes back {self.back}" if self.keep else "none"

    @property
    def back(self) -> str:
        """Where the cache comes back, in words."""
        return f"as .{self.keep[0]}" if isinstance(self.keep[0], str) else "after the logits"

    def against(self, caller: "Caller") -> None:
        """Compare with another model that has as many ids.

        Raises:
            ValueError: if it has not.
        """
        self.rival = type(self)(self.recorded(caller), self.name, self.declared)
        if self.rival.vocabulary != self.vocabulary:
            raise ValueError(
                f"{self.caller.name} has {self.vocabulary} token ids, and {caller.name} {self.rival.vocabulary}: "
                "--against compares models of one vocabulary"
            )
        self.profile.append(("against", caller.name))

    # The calls.

    def draw(self, batch: int, tokens: int, seed: int) -> Inputs:
        """Token ids."""
        first = SPARED if self.vocabulary > 2 * SPARED else 0
        batch = 1 if self.flat else batch
        return (np.random.default_rng(seed).integers(first, self.vocabulary, (batch, tokens)),)

    def all(self, ids: np.ndarray, number: int = 0, **more: Any) -> Reply:
        """One call of all tokens."""
        ids = ids[0] if self.flat else ids
        names: dict[str, np.ndarray | Kept] = dict(more.pop("named", {}))
        goes_on = more.pop("goes_on", False)
        if self.reset and not goes_on:
            self.ask(method=self.reset, reads=False, number=number)
        asks = bool(more.get("keep")) or (self.lives and goes_on)
        plain: dict[str, Any] = {self.use_cache: asks} if self.use_cache else {}
        plain |= {self.start: more.pop("past", 0)} if self.start else {}
        given = () if self.by_name else (ids,)
        if self.by_name:
            names = {self.ids: ids, **names}
        return self.ask(*given, named=names, plain=plain, number=number, part=LOGITS, **more)

    def read(self, reply: Reply, ids: np.ndarray) -> tuple[np.ndarray | None, Trouble | None]:
        """The logits [b t v], and what is wrong with them."""
        if reply.trouble:
            return None, reply.trouble
        came, expected = reply.arrays[0], ids.shape[1:] if self.flat else ids.shape
        if came.ndim != len(expected) + 1 or came.shape[:-1] != expected:
            return None, misshapen(came.shape, (*expected, "vocabulary"))
        self.number_kind = reply.kind
        return (came[None] if self.flat else came), None

    def whole(self, x: Inputs, number: int = 0) -> tuple[np.ndarray | None, Trouble | None]:
        """All tokens at once."""
        return self.read(self.all(x[0], number), x[0])

    def begin(self, batch: int, capacity: int, number: int = 0) -> tuple[State, Trouble | None]:
        """A new cache is none at all; one that lives in the model is made empty."""
        del batch, capacity
        if not self.reset:
            return (), None
        return (), self.ask(method=self.reset, reads=False, number=number).trouble

    def feed(self, x: Inputs, past: int, state: State, number: int = 0, **more: Any) -> Fed:
        """Some tokens, and the cache before them."""
        named = dict(more.get("named", {})) | ({self.cache: state[0]} if state else {})
        place: dict[str, Any] = {"past": past} if self.start else {}
        place |= {"goes_on": True} if self.lives else {}
        reply = self.all(x[0], number, named=named, keep=self.keep, **place)
        output, trouble = self.read(reply, x[0])
        if output is None:
            assert trouble is not None
            return Fed(trouble.of(f"{self.ids} {[*x[0].shape]}"), NO_OUTPUT, state)
        return Fed(None, output, tuple(reply.kept))

    def near(self, one: np.ndarray, other: np.ndarray, x: Inputs) -> Distance:
        """Two logits beside each other."""
        del x
        return self.compared(one, other, of_logits(self.number_kind, other, self.spread))

    def row(self, name: str) -> Row | None:
        """As of any suite; nothing is judged where the rule is wider than the logits."""
        if self.loose and name not in ("same result", "inputs unchanged"):
            line = f"tolerances of {self.number_kind} exceed the range of the logits"
            return Row(name=name, verdict=Verdict.NOT_JUDGED, line=line, tried=0)
        row = super().row(name)
        if row is not None and row.verdict is Verdict.HOLDS and self.power < LEAST and name not in BLIND:
            line = f"it hardly looks back ({self.power:.2g} tolerances): give it larger weights"
            return dataclasses.replace(row, verdict=Verdict.NOT_JUDGED, line=line)
        return row

    def taken(self, wanted: Sequence[int]) -> list[int]:
        """Those lengths that it takes."""
        return [n for n in wanted if self.whole(self.draw(1, n, n))[0] is not None]

    @property
    def lengths(self) -> Sequence[int]:
        """Those to try."""
        return COMPILED if self.framework == "jax" else SIZES
