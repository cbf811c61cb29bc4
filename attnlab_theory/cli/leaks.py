"""attnlab leaks: the outputs of somebody's function that change with later inputs."""

import dataclasses
import functools
import json
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import tyro

from attnlab_theory import exits

if TYPE_CHECKING:
    import numpy as np

    from attnlab_theory.identities import edges, leaks, time_axis
    from attnlab_theory.sandbox.submission import Submission

MOST = 3
"""Arrays that a function may return, of which the first is judged."""

Axes = Literal["tc", "btc", "tbc", "bct", "ct"]


class Way(NamedTuple):
    """How a function gets its tokens and gives its outputs."""

    handing: "time_axis.Handing"
    parts: int
    """How many arrays it returns. The outputs come first."""
    mixes: bool
    """Whether an output moves with an input at another time."""

    @property
    def said(self) -> str:
        """What a person should know of it: a batch, other axes, several arrays. Empty if there is nothing."""
        said = ["a batch of one"] * self.handing.batched
        if self.handing.order not in ("tc", "btc"):
            said.append(f"the axes {self.handing.named}")
        return " and ".join(said + [f"the first of {self.parts} arrays"] * (self.parts > 1))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Leaks:
    """Find the outputs of your function that change when future inputs change.

    It also calls the function with the first part of the input only. This shows whether an output depends on the
    input's whole length. Then it tries lengths of 17, 65 and 130, just above the usual block sizes.

    A class is called without arguments, and the instance is the function. A torch module is put into evaluation
    mode. A first trial finds the axis of time. A function that wants a batch gets a batch of one. If it returns
    several arrays, the first one counts. If it returns a dictionary, the array with a row for each position counts.
    """

    function: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE.py::FUNCTION")]
    """A file, and a function in it, in numpy, jax or torch. It maps [length width] to [length anything]."""
    axes: Axes | None = None
    """The order of its axes: t for time, b for a batch, c for the width. By default a trial finds it."""
    length: int = 12
    """How many positions the input has."""
    width: int = 8
    """Width of one input."""
    tokens: int | None = None
    """For a model that reads token numbers: the size of its vocabulary. The function gets integers, [length]."""
    time_limit: float = 60.0
    """Seconds for everything the function does, its imports included."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Intervene and print the matrix."""
        from attnlab_theory.cli.problems import refuse_time_limit
        from attnlab_theory.conform.finding import draws
        from attnlab_theory.identities import edges, leaks
        from attnlab_theory.identities.prefixes import prefixes, sentence
        from attnlab_theory.sandbox import fences
        from attnlab_theory.sandbox.reasons import BrokenAnswer
        from attnlab_theory.sandbox.submission import Submission

        if self.tokens is None:
            inputs, replacing = leaks.random_tokens(self.length, self.width), None
        else:
            inputs = leaks.random_numbers(self.length, self.tokens)
            replacing = leaks.other_numbers(self.tokens)
        refuse_time_limit(self.time_limit)
        start = time.monotonic()
        with Submission(
            self.function, time_limit=self.time_limit, any_framework=True, instances=True, searched=True
        ) as asked:
            absent = asked.missing
            mixer, way = self._handed(asked)
            try:
                found = leaks.leaks(mixer, inputs, replacing)
                cut = prefixes(mixer, inputs)
                spent = time.monotonic() - start
            except leaks.Random:
                # Whatever its mode was, it evaluates.
                raise ValueError(draws(asked.where, "evaluation" * bool(asked.mode))) from None
            except ValueError as error:
                # What ended the child says it better than the detector, which only saw a call fail.
                raise (error.__cause__ if isinstance(error.__cause__, BrokenAnswer) else error) from None
            # Longer sequences take as many calls again, and each of them longer.
            beyond = None if spent > self.time_limit / 3 else self._at_edges(mixer, replacing)
        code = 1 if cut.depends or (beyond and not beyond.clean) else leaks.exit_code(found)
        if self.json:
            told = leaks.as_json(found) | {
                "batch": way.handing.batched,
                "axes": way.handing.axes,
                "mixes": way.mixes,
                "arrays": way.parts,
                "never_passed": [*asked.never_passed(1)],
                "prefixes_tried": int(cut.tried.sum()),
                "depends_on_length": cut.depends,
                "training": asked.mode == "training",
                "edges": None if beyond is None else edges.as_json(beyond),
                "fences": [fence.name for fence in absent],
            }
            print(json.dumps(told, indent=1))
            return code
        if absent:
            exits.say(fences.warning(absent))
        if way.said:
            exits.say(f"{asked.where} was given and judged with {way.said}.")
        exits.say(leaks.picture(found))
        exits.say(sentence(cut))
        if beyond is None:
            exits.say(f"Longer sequences were not tried, as it took {spent:.0f} s so far: raise --time-limit.")
        else:
            exits.say(*edges.sentences(beyond))
        if not way.mixes:
            exits.say(
                f"Each place is by itself: in {way.handing.named} no output moves with an input at another place. "
                "Name other axes with --axes, such as bct where time is last."
            )
        if asked.mode == "training":
            exits.say("The torch module was in training mode. It was judged in evaluation mode, after .eval().")
        if left := asked.never_passed(1):
            exits.say(f"never passed: {', '.join(left)}")
        return code

    def _at_edges(
        self, mixer: "Callable[[np.ndarray], np.ndarray]", replacing: "leaks.Replacing | None"
    ) -> "edges.Edges":
        from attnlab_theory.identities import edges, leaks

        def inputs(n: int) -> "np.ndarray":
            made = leaks.random_tokens(n, self.width) if self.tokens is None else None
            return leaks.random_numbers(n, self.tokens or 0) if made is None else made

        return edges.edges(mixer, inputs, replacing, but=self.length)

    def _handed(self, asked: "Submission") -> "tuple[Callable[[np.ndarray], np.ndarray], Way]":
        """The function in the first order of axes in which its outputs move along time.

        Where they move in none, the first order that it takes counts.

        Raises:
            BrokenAnswer: if there is no such way. The message says what was handed over and what came back.
        """
        from attnlab_theory.identities.time_axis import Found, Order
        from attnlab_theory.sandbox.reasons import BrokenAnswer

        refusals: list[str] = []
        found: dict[Found, Way] = {}
        for parts in range(1, MOST + 1):
            three = False
            for handing, batch in self._handings(asked.channels_first):
                # A norm over the width moves its last axis, too: that axis is time only where no other can be, as
                # in a norm that takes no [batch time width].
                other = handing.order is Order.CT or (handing.order is Order.BCT and three)
                if found and not self.axes and (other or batch == 1 != handing.batched):
                    continue
                what, refusal = self._trial(asked, handing, batch, parts)
                three |= what is not None and handing.batched
                if what is None:
                    refusals += [refusal] * (bool(self.axes) or (batch == 1 and handing.order is not Order.CT))
                elif what is Found.TIME or (what is Found.WIDTH and self.axes):
                    way = Way(handing, parts, True)
                    return functools.partial(_rows, asked, way), way
                else:
                    found.setdefault(what, Way(handing, parts, False))
                    refusals += [refusal] * (what is Found.LENGTH)
            if found:
                break
        if Found.WIDTH in found:
            raise BrokenAnswer(
                f"{asked.where} takes {self._trial_length} of one axis only, and any number of the last. So time "
                f"seems to be the last axis: say --axes bct --width {self._trial_length}"
            )
        if Found.LENGTH in found:
            raise BrokenAnswer(
                f"{asked.where}: {'; '.join(dict.fromkeys(refusals))}: return an output for each position, "
                "or say --axes bct if the last axis is time"
            )
        if Found.BATCH in found:
            raise BrokenAnswer(
                f"{asked.where}: outputs move along the axis of the batch only; if that is time, say --axes tbc"
            )
        if not found:
            raise BrokenAnswer(f"{asked.where}: {'; '.join(dict.fromkeys(refusals))}. {self._remedy(asked)}")
        way = found[Found.NOTHING]
        return functools.partial(_rows, asked, way), way

    @property
    def _trial_length(self) -> int:
        """The length of a trial, which is no width."""
        return self.length + (self.tokens is None and self.length == self.width)

    def _handings(self, channels_first: bool) -> "Iterator[tuple[time_axis.Handing, int]]":
        """Orders of axes, the likeliest first, and how many sequences their trial has."""
        from attnlab_theory.identities.time_axis import Handing, Order, batch_of

        numbers = self.tokens is not None
        orders = [Order(self.axes)] if self.axes else [each for each in Order if not numbers or each.endswith("c")]
        orders.sort(key=lambda order: channels_first and order is not Order.BCT)
        for order in orders:
            handing = Handing(order, numbers)
            yield handing, batch_of(self._trial_length, self.width) if handing.batched else 1
        # Some take a batch of one and no other.
        for order in orders:
            if (handing := Handing(order, numbers)).batched and (self.axes or order is Order.BTC):
                yield handing, 1

    def _trial(
        self, asked: "Submission", handing: "time_axis.Handing", batch: int, parts: int
    ) -> "tuple[time_axis.Found | None, str]":
        """What a trial of one order shows. None if the function does not take it, and what it did instead."""
        import numpy as np

        from attnlab_theory.identities import time_axis
        from attnlab_theory.identities.leaks import SEED
        from attnlab_theory.identities.time_axis import Order
        from attnlab_theory.sandbox.reasons import BrokenAnswer, Reason

        rng = np.random.default_rng(SEED)

        def sequences(b: int, t: int, c: int) -> np.ndarray:
            if self.tokens is not None:
                return rng.integers(0, self.tokens, (b, t))
            return rng.standard_normal((b, t, c)).astype(np.float32)

        t = self._trial_length
        given = handing.array([*sequences(batch, t, self.width)])
        try:
            output = _called(asked, handing, parts, given)
        except BrokenAnswer as error:
            # Who has died or used up the time is not asked again.
            if error.reason not in (Reason.RAISED, Reason.WRONG_SHAPE):
                raise
            return None, f"given {[*given.shape]} it {str(error).removeprefix(f'{asked.where} ')}"
        if not handing.fits(given, output):
            likely = not self.axes and not asked.channels_first and handing.order in (Order.TC, Order.BTC)
            cut = likely and handing.is_cut(given, output)
            return time_axis.Found.LENGTH if cut else None, f"given {[*given.shape]} it gave {[*output.shape]}"
        call = functools.partial(_called, asked, handing, parts)
        return time_axis.tried(call, handing, sequences, (batch, t, self.width)), ""

    def _remedy(self, asked: "Submission") -> str:
        """The wrapper to write, and the options that may help."""
        ids = "" if self.tokens is not None else "; for token numbers say --tokens N"
        return (
            f"Give the width that it takes with --width, and a length with --length{ids}; or write a function of "
            f"[length, width] around it: def one(x): return {asked.function}(x[None])[0]"
        )


def _called(asked: "Submission", handing: "time_axis.Handing", parts: int, given: "np.ndarray") -> "np.ndarray":
    """The outputs, in the type in which they were returned: how far rounding goes depends on it."""
    leading = [size for axis, size in zip(handing.axes, given.shape, strict=True) if axis in "bt"]
    first = asked.call(given, parts=parts, leading=leading)[0]
    outputs = first.array
    if first.kind in ("float32", "float16"):
        outputs = outputs.astype(first.kind)
    # A batch of one that a wrapper made.
    return outputs[0] if not handing.batched and outputs.ndim == 3 and len(outputs) == 1 else outputs


def _rows(asked: "Submission", way: Way, x: "np.ndarray") -> "np.ndarray":
    """The outputs for one sequence, [length numbers]."""
    return way.handing.rows(_called(asked, way.handing, way.parts, way.handing.array([x])))
