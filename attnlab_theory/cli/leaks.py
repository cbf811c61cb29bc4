"""attnlab leaks: the outputs of somebody's function that change with later inputs."""

import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, NamedTuple

import tyro

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from attnlab_theory.grader.submission import Submission
    from attnlab_theory.identities import edges, leaks

MOST = 3
"""Arrays that a function may return, of which the first is judged."""


class Way(NamedTuple):
    """How a function gets its tokens and gives its outputs."""

    batch: bool
    """Whether tokens and outputs have an axis for a batch of one."""
    parts: int
    """How many arrays it returns. The outputs come first."""

    @property
    def said(self) -> str:
        """What a person should know of it: a batch of one, several arrays. Empty if there is neither."""
        said = ["a batch of one"] * self.batch + [f"the first of {self.parts} arrays"] * (self.parts > 1)
        return " and ".join(said)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Leaks:
    """Find the outputs of your function that change when future inputs change.

    It also calls the function with the first part of the input only. This shows whether an output depends on the
    input's whole length. Then it tries lengths of 17, 65 and 130, just above the usual block sizes.

    A class is called without arguments, and the instance is the function. A function that wants a batch gets a
    batch of one. If it returns several arrays, the first one counts. If it returns a dictionary, the array with a
    row for each position counts.
    """

    function: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE.py::FUNCTION")]
    """A file, and a function in it, in numpy, jax or torch. It maps [length width] to [length anything]."""
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
        from attnlab_theory.grader.reasons import BrokenAnswer
        from attnlab_theory.grader.submission import Submission, split
        from attnlab_theory.identities import edges, leaks
        from attnlab_theory.identities.prefixes import prefixes, sentence

        if self.tokens is None:
            inputs, replacing = leaks.random_tokens(self.length, self.width), None
        else:
            inputs = leaks.random_numbers(self.length, self.tokens)
            replacing = leaks.other_numbers(self.tokens)
        refuse_time_limit(self.time_limit)
        path, _ = split(self.function)
        start = time.monotonic()
        with Submission(self.function, time_limit=self.time_limit, any_framework=True, instances=True) as asked:
            mixer, way = self._handed(asked, inputs)
            try:
                found = leaks.leaks(mixer, inputs, replacing)
                cut = prefixes(mixer, inputs)
                spent = time.monotonic() - start
            except ValueError as error:
                # What ended the child says it better than the detector, which only saw a call fail.
                raise (error.__cause__ if isinstance(error.__cause__, BrokenAnswer) else error) from None
            # Longer sequences take as many calls again, and each of them longer.
            beyond = None if spent > self.time_limit / 3 else self._at_edges(mixer, replacing)
        code = 1 if cut.depends or (beyond and not beyond.clean) else leaks.exit_code(found)
        if self.json:
            told = leaks.as_json(found) | {
                "batch": way.batch,
                "arrays": way.parts,
                "prefixes_tried": int(cut.tried.sum()),
                "depends_on_length": cut.depends,
                "training": asked.is_training,
                "edges": None if beyond is None else edges.as_json(beyond),
            }
            print(json.dumps(told, indent=1))
            return code
        if way.said:
            print(f"{self.function} was given and judged with {way.said}.")
        print(leaks.picture(found))
        print(sentence(cut))
        if beyond is None:
            print(f"Longer sequences were not tried, as it took {spent:.0f} s so far: raise --time-limit.")
        else:
            print(*edges.sentences(beyond), sep="\n")
        if asked.is_training or (code and _may_be_training(path)):
            print(
                "A torch module in training mode drops numbers at random and normalises over batches: call its "
                ".eval() first."
            )
        return code

    def _at_edges(
        self, mixer: "Callable[[np.ndarray], np.ndarray]", replacing: "leaks.Replacing | None"
    ) -> "edges.Edges":
        from attnlab_theory.identities import edges, leaks

        def inputs(n: int) -> "np.ndarray":
            made = leaks.random_tokens(n, self.width) if self.tokens is None else None
            return leaks.random_numbers(n, self.tokens or 0) if made is None else made

        return edges.edges(mixer, inputs, replacing, but=self.length)

    def _handed(
        self, asked: "Submission", inputs: "np.ndarray"
    ) -> "tuple[Callable[[np.ndarray], np.ndarray], Way]":
        """The function in the first way in which it gives one row for each position.

        Raises:
            BrokenAnswer: if there is no such way. The message says what was handed over and what came back.
        """
        from attnlab_theory.grader.reasons import BrokenAnswer

        said: list[str] = []
        for way in _ways():
            try:
                outputs = _called(asked, way, inputs)
            except BrokenAnswer as error:
                text = str(error).removeprefix(f"{asked.where} ")
                # Who has died or used up the time is not asked again.
                if not text.startswith(("raised ", "returned ", "must return ")):
                    raise
                if way.parts == 1:
                    said.append(f"{_shape(inputs, way)} {text}")
                continue
            if outputs.ndim == 2 and len(outputs) == len(inputs):
                return lambda x, way=way: _called(asked, way, x), way
            said.append(f"{_shape(inputs, way)} gave {[*outputs.shape]}")
        raise BrokenAnswer(f"{asked.where}: {'; '.join(dict.fromkeys(said))}. {self._remedy(asked)}")

    def _remedy(self, asked: "Submission") -> str:
        """The wrapper to write, and the options that may help."""
        ids = "" if self.tokens is not None else "; for token numbers say --tokens N"
        return (
            f"Give the width that it takes with --width, and a length with --length{ids}; or write a function of "
            f"[length, width] around it: def one(x): return {asked.function}(x[None])[0]"
        )


def _ways() -> "Iterator[Way]":
    for parts in range(1, MOST + 1):
        for batch in (False, True):
            yield Way(batch, parts)


def _shape(inputs: "np.ndarray", way: Way) -> str:
    return f"given {[1, *inputs.shape] if way.batch else [*inputs.shape]} it"


def _called(asked: "Submission", way: Way, x: "np.ndarray") -> "np.ndarray":
    """The outputs, in the type in which they were returned: how far rounding goes depends on it."""
    first = asked.call(x[None] if way.batch else x, parts=way.parts, positions=len(x))[0]
    outputs = first.array
    if first.kind in ("float32", "float16"):
        outputs = outputs.astype(first.kind)
    # A batch of one, asked for or made by a wrapper.
    return outputs[0] if outputs.ndim == 3 and len(outputs) == 1 else outputs


def _may_be_training(path: "Path") -> bool:
    """Whether the file has torch and never puts a module into evaluation mode."""
    text = path.read_text("utf-8", errors="replace")
    return "torch" in text and ".eval()" not in text
