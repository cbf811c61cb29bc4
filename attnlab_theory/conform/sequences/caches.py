"""What a target with a cache must keep, whatever it is fed: numbers or token ids.

A suite of it draws inputs, feeds a few tokens to a cache, and answers all tokens at once. Decoding must give what
the whole gives. Whether an old cache can be used again is a convention.
"""

import abc
import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnlab_theory.conform.calls import Kept
from attnlab_theory.conform.finding import Trouble, Verdict
from attnlab_theory.conform.sequences.suite import Distance, SequenceSuite, off
from attnlab_theory.conform.suite import Said, failed

Inputs = tuple[np.ndarray, ...]
State = tuple[Kept, ...]


REORDERS = ("reorder_cache", "_reorder_cache")
"""Methods of a target that put the rows of a cache in another order."""


class Fed(NamedTuple):
    """What some tokens gave."""

    trouble: Trouble | None
    output: np.ndarray
    """[... t e]."""
    state: State
    at: int = 0
    """How many tokens had been taken when the trouble came."""


NO_OUTPUT = np.zeros((0, 0, 0))


class CacheSuite(SequenceSuite):
    """A target with a cache."""

    axis = -2
    """That of tokens, in the inputs."""
    long = 132
    """Tokens of the longest sequence."""
    far = 600
    """Tokens of a sequence that is fed in few calls: more than most windows hold."""
    capacity = False
    """Whether the size of a new cache can be asked for."""
    chunked = True
    """Whether several tokens can be fed at once."""
    stepwise = False
    """Whether it takes one token at a time and nothing else, so that there is no whole."""
    explicit = True
    """Whether a cache is handed over, so that there can be two of them."""

    @abc.abstractmethod
    def draw(self, batch: int, tokens: int, seed: int) -> Inputs:
        """Inputs."""

    @abc.abstractmethod
    def begin(self, batch: int, capacity: int, number: int = 0) -> tuple[State, Trouble | None]:
        """A new cache, and what went wrong."""

    @abc.abstractmethod
    def feed(self, x: Inputs, past: int, state: State, number: int = 0) -> Fed:
        """Feed some tokens to a cache that holds `past`."""

    @abc.abstractmethod
    def whole(self, x: Inputs, number: int = 0) -> tuple[np.ndarray | None, Trouble | None]:
        """All tokens at once, and what went wrong."""

    @abc.abstractmethod
    def near(self, one: np.ndarray, other: np.ndarray, x: Inputs) -> Distance:
        """Two answers beside each other."""

    def reordered(self, state: State, rows: Sequence[int], batch: int) -> tuple[State, Trouble | None]:
        """A cache of some of its rows, and what went wrong: by a method of the target, or by its arrays."""
        methods = self.about.get("methods", {})
        method = next((each for each in REORDERS if each in methods), "")
        found: list[Kept] = []
        for kept in state or (None,):
            given = () if kept is None else (kept,)
            reply = self.ask(*given, method=method, rows=rows, batch=batch, keep=("",), reads=False)
            if reply.trouble:
                return state, reply.trouble
            found += reply.kept
        return tuple(found) if state else (), None

    def looks_back(self) -> bool:
        """Whether a token that comes later looks back at an earlier call, though no cache is handed over."""
        x, other = self.draw(2, 5, 3), self.draw(2, 5, 4)
        lasts = []
        for begun in (x, other, x):
            self.begin(2, 5)
            first = self.feed(self.part(begun, 0, 4), 0, ())
            last = self.feed(self.part(x, 4, 5), 4, ())
            if first.trouble or last.trouble:
                return False
            lasts.append(last.output)
        return np.array_equal(lasts[0], lasts[2]) and not np.array_equal(lasts[0], lasts[1])

    @functools.cached_property
    def is_one(self) -> bool:
        """Whether two caches that are handed over are the same place, so that one cache lives in the target."""
        found: list[State] = []
        for seed in (5, 6):
            state, trouble = self.begin(2, self.long)
            fed = self.feed(self.part(self.draw(2, 1, seed), 0, 1), 0, state) if not trouble else None
            if fed is None or fed.trouble or not fed.state:
                return False
            found.append(fed.state)
        numbers = [[self.places_of.get(kept.number, kept.number) for kept in state] for state in found]
        return numbers[0] == numbers[1]

    @property
    def reorders(self) -> bool:
        """Whether there is a cache whose rows can be put in another order."""
        return self.explicit or any(each in self.about.get("methods", {}) for each in REORDERS)

    def part(self, x: Inputs, first: int, last: int) -> Inputs:
        """Some of the tokens."""
        return tuple(np.take(each, range(first, last), self.axis) for each in x)

    def run(self, x: Inputs, cuts: Sequence[int], number: int = 0, capacity: int = 0) -> Fed:
        """Feed a sequence in parts, and put the outputs together."""
        tokens = x[0].shape[self.axis]
        state, trouble = self.begin(x[0].shape[0], capacity or max(tokens, self.long), number)
        if trouble:
            return Fed(trouble, NO_OUTPUT, ())
        outputs = []
        for first, last in zip((0, *cuts), (*cuts, tokens), strict=True):
            fed = self.feed(self.part(x, first, last), first, state, number)
            if fed.trouble:
                done = np.concatenate(outputs, -2) if outputs else NO_OUTPUT
                return Fed(fed.trouble, done, state, first)
            outputs.append(fed.output)
            state = fed.state
        return Fed(None, np.concatenate(outputs, -2), state, tokens)

    def cut(self, tokens: int, *tries: Sequence[int], seed: int = 0) -> Said | None:
        """A failure of a sequence that is cut in several ways; None if there is none."""
        x = self.draw(2, tokens, seed)
        right, trouble = self.whole(x)
        if right is None:
            return failed(trouble, f"{tokens} tokens at once: ", len(tries))
        for cuts in tries:
            fed = self.run(x, cuts)
            said = self.judge(fed, right, x, cuts, seed)
            if said is not None:
                return said
        return None

    def judge(self, fed: Fed, right: np.ndarray, x: Inputs, cuts: Sequence[int], seed: int) -> Said | None:
        """A failure of one decoded sequence; what was right until it was refused is none."""
        tokens = x[0].shape[self.axis]
        n = fed.output.shape[-2]
        if n:
            verdict = self.near(fed.output, right[..., :n, :], x)
            if verdict.fails:
                first = self.first_wrong(fed.output, right[..., :n, :], x)
                where = next(i for i, last in enumerate((*cuts, tokens)) if first < last)
                line = f"{told(cuts, tokens)}: token {first}, of call {where + 1}: {off(verdict)}"
                return Said(Verdict.FAILS, line, 1, ratio=verdict.ratio)
        if fed.trouble:
            return failed(fed.trouble, f"{told(cuts, tokens)}: after {fed.at} tokens: ", 1)
        return None

    def first_wrong(self, one: np.ndarray, other: np.ndarray, x: Inputs) -> int:
        """The first token whose outputs are too far apart."""
        for t in range(one.shape[-2]):
            if self.near(one[..., t : t + 1, :], other[..., t : t + 1, :], x).fails:
                return t
        return one.shape[-2] - 1


def told(cuts: Sequence[int], tokens: int) -> str:
    """How a sequence was cut, in words."""
    if [*cuts] == [*range(1, tokens)]:
        return f"{tokens} tokens, one after the other"
    if len(cuts) > 3 and [*cuts[1:]] == [*range(cuts[0] + 1, tokens)]:
        return f"{cuts[0]} tokens, then {tokens - cuts[0]} one after the other"
    return f"{tokens} tokens, cut at {', '.join(map(str, cuts))}"
