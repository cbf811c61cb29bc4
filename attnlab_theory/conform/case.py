"""One call of a target as a recipe: sizes by role, switches, a seed. Its lines of Python are what is run."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.operands import OPERANDS, VALUES


@dataclasses.dataclass(frozen=True)
class Case:
    """Sizes by the roles of a kind, and what is drawn of them."""

    sizes: tuple[tuple[str, int], ...]
    switches: tuple[tuple[str, Any], ...] = ()
    """By name: `type` of the numbers, `values`, `memory`, `parts`, `rows`, `object`, and what is said of a role.
    Of the batch the first `rows` are handed over, of a class the object of that number is asked."""
    arrays: tuple[tuple[str, str], ...] = ()
    """The roles of the arrays that are drawn, and their axes."""
    edits: tuple[str, ...] = ()
    """Lines of numpy that change the arrays."""
    seed: int = 0

    @classmethod
    def of(cls, roles: tuple[str, ...], numbers: tuple[int, ...]) -> "Case":
        """Numbers in the order of the roles."""
        return cls(tuple(zip(roles, numbers, strict=True)))

    def __getitem__(self, name: str) -> Any:
        """A size or a switch; None where neither has the name."""
        return self._found.get(name)

    @functools.cached_property
    def _found(self) -> dict[str, Any]:
        return {**dict(self.switches), **dict(self.sizes)}

    def replaced(self, **changes: Any) -> "Case":
        """The same with other sizes, switches, seed or edits. A switch of None is taken away."""
        for role in [each for each in changes if each in OPERANDS and OPERANDS[each].instead]:
            length, ends = changes.pop(role), {*OPERANDS[role].instead} & {*dict(self.sizes)}
            changes = dict.fromkeys(ends, length) | changes
        sizes = {role: changes.pop(role, n) for role, n in self.sizes}
        seed, edits = changes.pop("seed", self.seed), changes.pop("edits", self.edits)
        switches = {name: x for name, x in {**dict(self.switches), **changes}.items() if x is not None}
        return Case(tuple(sizes.items()), tuple(sorted(switches.items())), self.arrays, tuple(edits), seed)

    @property
    def type(self) -> str:
        """That of the numbers."""
        return self["type"] or "float32"

    def shape(self, axes: str) -> tuple[Any, ...]:
        """The lengths of axes of what is given back: each letter is that of a role, and 1 is one.

        A letter of which the case has no length stays: any length is right.
        """
        lengths: dict[str, int] = self.lengths
        if self["parts"]:
            lengths |= dict.fromkeys("ts", sum(self["parts"]))
        lengths |= {"b": self["rows"]} if self["rows"] else {}
        return tuple(lengths.get(axis, axis) for axis in axes)

    @property
    def lengths(self) -> dict[str, int]:
        """The length of each axis. Where heads share no keys, there are as many of these."""
        found = {OPERANDS[role].axis: n for role, n in self.sizes} | {"1": 1}
        return {"g": found["h"]} | found if "h" in found else found

    @property
    def is_typed(self) -> bool:
        """Whether arrays are handed over whose type is that of the case."""
        return any(not OPERANDS[role].type for role, _ in self.arrays)

    def _recipe(self, role: str) -> str:
        """The numpy of an array; numbers that a case has in the place of a word are written out."""
        word, operand = self[role] or "", OPERANDS[role]
        if isinstance(word, str):
            return operand.drawn[word]
        return operand.literal.replace("{numbers}", str([*word]))

    @property
    def numbers(self) -> int:
        """How large it is, to tell which of two is smaller."""
        return sum(n for _, n in self.sizes)

    @property
    def change(self) -> str:
        """The line of numpy that changes several arrays together; empty where none does."""
        half = self.type in ("float16", "bfloat16")
        tiny = {"float64": "1e-309", "float16": "1e-7"}.get(self.type, "1e-40")
        more = {"loud": 4 if half else 20, "louder": 20 if half else 100, "offset": 256 if half else 1e4}
        more |= {"tiny": tiny, "huge": 6e4 if half else 7e4}
        return VALUES[self["values"]].format(**more, **self.lengths) if self["values"] else ""

    @property
    def stretches(self) -> dict[str, Any]:
        """How many keys at an end are hidden, as `operands` has it: of each batch element, and of all."""
        n, batch = self.lengths.get("s", 0), self.lengths.get("b")
        start = 3 * n // 5 if n > 192 else n // 3
        hidden = n // 4 if n <= 64 else start if batch == 1 else n // 3
        return {"hidden": f"((np.arange({batch}) + 1) % 3 * {hidden})", "start": start}

    def lines(self) -> list[str]:
        """The lines of Python that make the operands, by the names of their roles."""
        if not self.arrays:
            roles, numbers = zip(*self.sizes, strict=True)
            return [f"{', '.join(roles)} = {', '.join(map(str, numbers))}"]
        lengths = self.lengths
        words = {**self.stretches, "type": storage(self.type), "draw": self["draw"] or 0, **lengths}
        drawn = dict[str, list[tuple[str, str]]]()
        for role, axes in self.arrays:
            recipe = self._recipe(role) + _typed(role, self.type)
            shape = str(tuple(lengths[axis] for axis in axes))
            drawn.setdefault(recipe, []).append((word(role), shape))
        found = [f"r = np.random.RandomState({self.seed})"] * any("r." in recipe for recipe in drawn)
        for recipe, each in drawn.items():
            names, shapes = (", ".join(x) for x in zip(*each, strict=True))
            many = len(each) > 1
            code = recipe.format(n="n" if many else shapes, **words)
            found.append(f"{names} = ({code} for n in ({shapes}))" if many else f"{names} = {code}")
        found += [self.change] * bool(self["values"])
        if self["memory"] == "expanded":
            axis = 0 if lengths["b"] > 1 else 1
            found.append(f"q, k, v = (np.repeat(x[{':, ' * axis}:1], x.shape[{axis}], {axis}) for x in (q, k, v))")
        found += self.edits
        if self["rows"]:
            names = [word(role) for role, axes in self.arrays if "b" in axes]
            found += [f"{name} = {name}[:{self['rows']}]" for name in names]
        return found

    def drawn(self, **names: Any) -> dict[str, Any]:
        """What the lines make, by what some names in them stand for."""
        made: dict[str, Any] = {"np": np, **names}
        with np.errstate(all="ignore"):
            exec(compiled("\n".join(self.lines()), "exec"), made)
        return made

    def operands(self, **names: Any) -> dict[str, Any]:
        """The same by roles. Of arrays the tokens of all parts, rounded to their type."""
        made = self.drawn(**names)
        if not self.arrays:
            return {role: made[role] for role, _ in self.sizes}
        found, tokens = {}, slice(sum(self["parts"]) if self["parts"] else None)
        cut = dict.fromkeys("ts", tokens)
        for role, axes in self.arrays:
            x = made[word(role)][tuple(cut.get(axis, slice(None)) for axis in axes)]
            found[word(role)] = rounded(x, self.type) if x.dtype.kind == "f" else x
        return found


class Recipe(NamedTuple):
    """How the arrays of one call are made."""

    case: Case
    begin: int
    """The tokens from here to there are handed over, as a and b in the codes."""
    end: int
    codes: Sequence[str | None]
    """Numpy of each array, in the names of the case; of those that it does not make, none."""

    def arrays(self) -> list[Any]:
        """What the codes make."""
        names = {**self.case.drawn(), "a": self.begin, "b": self.end}
        made = [None if code is None else np.asarray(eval(compiled(code), names)) for code in self.codes]
        return [rounded(x, self.case.type) if x is not None and x.dtype.kind == "f" else x for x in made]


@functools.lru_cache(256)
def compiled(lines: str, mode: str = "eval") -> Any:
    """The code of some lines, or of an expression: many calls share it."""
    return compile(lines, "<case>", mode)


def word(role: str) -> str:
    """The name of an array in the lines of a case."""
    return role.replace(" ", "_")


def _typed(role: str, kind: str) -> str:
    """What makes numbers of a type; a mask has none."""
    own = OPERANDS[role].type or storage(kind)
    return "" if OPERANDS[role].meanings else f".astype('{own}')"


def storage(kind: str) -> str:
    """The type of numpy in which a type is handed over: numpy has no bfloat16."""
    return "float32" if kind == "bfloat16" else kind


def rounded(x: np.ndarray, kind: str) -> np.ndarray:
    """The nearest bfloat16, in float32, where that is the type; else the array itself."""
    if kind != "bfloat16":
        return x
    # A single number has no axis, and stays so.
    bits = np.ascontiguousarray(x).view(np.uint32).reshape(np.shape(x))
    even = ((bits >> np.uint32(16)) & np.uint32(1)) + np.uint32(0x7FFF)
    near = ((bits + even) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isfinite(x), near, x)
