"""The cost of a program, and how costs add up."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Cost:
    """What a program does, in whole numbers that depend on shapes only, not on the machine or the compiler.

    The costs of two steps add up. A whole number times a cost is the cost of that many equal steps.
    """

    matrix_products: int = 0
    """Floating-point operations of products and convolutions: a multiplication and an addition count two."""
    elementwise: int = 0
    """Floating-point operations of everything else: one per element written, or per element reduced."""
    bytes: int = 0
    """Read and written by matrix products, every operand and result once: the traffic when all else is fused."""
    largest: int = 0
    """Bytes of the largest array that any step computes: what the arguments hold is not counted."""

    @property
    def flops(self) -> int:
        """All floating-point operations."""
        return self.matrix_products + self.elementwise

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.matrix_products + other.matrix_products,
            self.elementwise + other.elementwise,
            self.bytes + other.bytes,
            max(self.largest, other.largest),
        )

    def __rmul__(self, times: int) -> "Cost":
        if not times:
            return Cost()
        return Cost(times * self.matrix_products, times * self.elementwise, times * self.bytes, self.largest)

    def dearest(self, other: "Cost") -> "Cost":
        """The larger of the two in every field: what either of them costs at most."""
        mine, others = dataclasses.astuple(self), dataclasses.astuple(other)
        return Cost(*(max(pair) for pair in zip(mine, others, strict=True)))
