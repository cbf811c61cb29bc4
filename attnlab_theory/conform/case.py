"""One call of a target as a recipe: sizes by role. It prints itself as lines of Python, which are what is run."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from attnlab_theory.conform.operands import OPERANDS


@dataclasses.dataclass(frozen=True)
class Case:
    """Sizes, by the roles of a kind."""

    sizes: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, roles: tuple[str, ...], numbers: tuple[int, ...]) -> "Case":
        """Numbers in the order of the roles."""
        return cls(tuple(zip(roles, numbers, strict=True)))

    def __getitem__(self, role: str) -> int:
        return dict(self.sizes)[role]

    def replaced(self, **sizes: int) -> "Case":
        """The same with other sizes."""
        return Case(tuple((role, sizes.get(role, n)) for role, n in self.sizes))

    def shape(self, axes: str) -> tuple[int, ...]:
        """The lengths of axes: each letter is that of a role, and 1 is one."""
        lengths = {OPERANDS[role].axis: n for role, n in self.sizes} | {"1": 1}
        return tuple(lengths[axis] for axis in axes)

    @property
    def numbers(self) -> int:
        """How large it is, to tell which of two is smaller."""
        return sum(n for _, n in self.sizes)

    def lines(self) -> list[str]:
        """The lines of Python that make the operands, by the names of their roles."""
        roles, numbers = zip(*self.sizes, strict=True)
        return [f"{', '.join(roles)} = {', '.join(map(str, numbers))}"]

    def operands(self) -> dict[str, Any]:
        """What the lines make."""
        made: dict[str, Any] = {}
        exec("\n".join(self.lines()), made)
        return {role: made[role] for role, _ in self.sizes}

    def call(self, names: Mapping[str, str]) -> str:
        """What is handed over, as it is handed over, by the parameter of each role."""
        made = self.operands()
        return ", ".join(f"{name}={made[expression]}" for name, expression in handed(names).items())


def handed(names: Mapping[str, str]) -> dict[str, str]:
    """The expression of each parameter, in the names of a case. What stands for several lengths is the last."""
    return {name: (OPERANDS[role].instead or (role,))[-1] for role, name in names.items()}
