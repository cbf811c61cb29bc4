"""How the types of numbers round, by their names."""

HALF_EPS = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""u, by the name of a type: half of the distance from 1 to the next number."""

TINY = {"float64": 2.0**-1022, "float32": 2.0**-126, "float16": 2.0**-14, "bfloat16": 2.0**-126}
"""The smallest normal number of a type."""

SUBNORMAL = {"float64": 5e-324, "float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}
"""The smallest number of a type."""

LARGEST = {"float64": 1.7e308, "float32": 3.4e38, "float16": 65504.0, "bfloat16": 3.3e38}
"""The largest number of a type, from below."""


NEAR = {"float64": 1e-3, "float32": 1e-3, "float16": 1e-2, "bfloat16": 5e-2}
"""How far an output may be from one of a few outcomes that it is. Values are of the size of 1."""


def coarser(one: str, other: str) -> str:
    """The type of the two that rounds more."""
    return max(one, other, key=lambda kind: HALF_EPS[kind])
