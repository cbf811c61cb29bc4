"""A call of a function of queries, keys, values and what else it takes, for suites that are not attention's own."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.calls import Kept, call
from attnlab_theory.conform.finding import Trouble, misshapen
from attnlab_theory.conform.layouts import laid_out, taken_in

SEEDS = ("seed", "rng", "key", "generator", "random_state", "prng_key", "rng_key", "dropout_rng", "dropout_key")
"""What parameters are called that bring randomness."""

ADAPTER = "write an adapter: attnlab conform --template numpy"


class Answer(NamedTuple):
    """What came back."""

    trouble: Trouble | None = None
    """What went wrong; then there is nothing else."""
    output: np.ndarray = np.zeros((0, 0, 0, 0))
    """[b h t e], in float64."""
    second: np.ndarray | None = None
    """The array beside it, as it is."""
    kind: str = ""
    """The type of the output."""
    changed: Sequence[int] = ()
    """Which arrays were written into: by place first, then by name."""
    kept: Sequence[Kept] = ()
    """What was to be kept for a later call."""


class Asker:
    """Makes calls of one target, and notes what it does beside answering.

    Args:
        caller: of the target.
        framework: whose arrays it takes.
        layout: the order of its axes.
    """

    def __init__(self, caller: Caller, framework: str = "numpy", layout: str = "bhtd") -> None:
        self.caller, self.framework, self.layout = caller, framework, layout
        self.calls = 0
        self.printed = ""
        self.changed = ""
        """The first call that wrote into its inputs, in words."""
        self.kinds: dict[str, str] = {}
        """The type of the outputs, by that of the inputs."""
        self.met: set[str] | None = None
        """The types narrower than float64 that were met, while calls are watched."""

    def ask(
        self,
        *given: np.ndarray,
        named: Mapping[str, np.ndarray | Kept] | None = None,
        plain: Mapping[str, Any] | None = None,
        random: Mapping[str, Sequence[Any]] | None = None,
        kind: str = "float32",
        keep: Sequence[int] = (),
        strided: bool = False,
        layout: str | None = None,
        framework: str | None = None,
        shape: Sequence[int] | None = None,
    ) -> Answer:
        """Make one call.

        Args:
            given: queries, keys and values [b h t d], by place.
            named: arrays and kept objects as the target takes them.
            plain: numbers and flags.
            random: generators, as `calls.call` has them.
            kind: the type of the numbers, to which `given` has been rounded.
            keep: places among what is returned of objects to keep.
            strided: whether arrays are every second row of larger ones.
            layout: another than that of the target.
            framework: another than that of the target.
            shape: [b h t e] of the output; by default the queries' with the width of the values. A negative
                width is any.
        """
        layout, named = layout or self.layout, dict(named or {})
        self.calls += 1
        reply = call(
            self.caller,
            *(laid_out(x, layout) for x in given),
            named=named,
            plain=plain,
            random=random,
            framework=framework or self.framework,
            kind=kind,
            keep=keep,
            strided=strided,
            watched=self.met is not None,
        )
        if self.met is not None:
            self.met |= {*reply.narrow}
        if reply.trouble:
            return Answer(reply.trouble)
        came = reply.arrays
        right = tuple(shape) if shape is not None else (*given[0].shape[:-1], given[-1].shape[-1])
        right = (*right[:-1], came[0].shape[-1]) if right[-1] < 0 and came[0].ndim else right
        expected = laid_out(np.broadcast_to(0.0, right), layout).shape
        if came[0].shape != expected:
            return Answer(misshapen(came[0].shape, expected))
        self.printed = self.printed or reply.printed
        self.kinds.setdefault(kind, reply.kind)
        if reply.changed and not self.changed:
            names = [*"qkv"[: len(given)], *(name for name, x in named.items() if not isinstance(x, Kept))]
            self.changed = ", ".join(names[i] for i in reply.changed)
        return Answer(
            output=taken_in(came[0], layout),
            second=came[1] if len(came) > 1 else None,
            kind=reply.kind,
            changed=reply.changed,
            kept=reply.kept,
        )

    def notes(self) -> list[str]:
        """What is neither right nor wrong, and was seen on the way."""
        found = [f"gives {got} for {given}" for given, got in self.kinds.items() if got != given]
        return found + [f"prints while it is called: {self.printed!r}"] * bool(self.printed)


def shapes(given: Sequence[np.ndarray], layout: str) -> str:
    """Queries, keys and values in words, as they are handed over."""
    return ", ".join(f"{name} {[*laid_out(x, layout).shape]}" for name, x in zip("qkv", given, strict=False))


def parameters_of(caller: Caller, least: int) -> tuple[list[str], list[str]]:
    """The parameters after the first few, and those of them that must be given.

    Args:
        caller: of the target.
        least: how many stand first, by place.

    Raises:
        ValueError: if there are fewer.
    """
    known = caller.about()["parameters"]
    if known is None:
        return [], []
    places = [each for each in known if each[1] in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")]
    if len(places) < least and not any(each[1] == "VAR_POSITIONAL" for each in known):
        called = ", ".join("qkv"[:least]) if least > 1 else "x"
        had = ", ".join(each[0] for each in places) or "nothing"
        raise ValueError(f"{caller.name}: it takes {had}, but is called as f({called}); {ADAPTER}")
    rest = [*places[least:], *(each for each in known if each[1] == "KEYWORD_ONLY")]
    return [each[0] for each in rest], [each[0] for each in rest if each[2]]


def named(names: Sequence[str], known: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The parameters whose names say what they are for, by role."""
    found: dict[str, str] = {}
    for name in names:
        for role, words in known.items():
            if name.lower() in words:
                found.setdefault(role, name)
    return found


def refuse_unknown(caller: Caller, required: Sequence[str], found: Mapping[str, str]) -> None:
    """Refuse a target that must be given what no convention knows.

    Raises:
        ValueError: if there is such a parameter.
    """
    if unknown := [name for name in required if name not in found.values()]:
        raise ValueError(
            f"{caller.name}: it must be given {', '.join(unknown)}, which no convention knows; {ADAPTER}"
        )
