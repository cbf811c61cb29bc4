"""ONNX's test vectors, as its wheel makes them when its modules are imported. Nothing is downloaded."""

import functools
import importlib
import warnings
from typing import Any, NamedTuple

import numpy as np

MODULES = ("attention", "rotaryembedding", "linear_attention", "flexattention")
NODES = "onnx.backend.test.case.node"


class Vector(NamedTuple):
    """One call and its answers."""

    name: str
    operator: str
    inputs: dict[str, np.ndarray]
    attributes: dict[str, Any]
    outputs: dict[str, np.ndarray]
    rtol: float
    """How far an answer may be, in parts of the expected one."""
    atol: float
    """And beside that."""


@functools.cache
def vectors() -> tuple[Vector, ...]:
    """All of them, without those that say the same as a graph of primitive operators.

    Raises:
        ValueError: if onnx is not installed, or too old to have them.
    """
    try:
        onnx, nodes = importlib.import_module("onnx"), importlib.import_module(NODES)
        with warnings.catch_warnings():
            # Its reference divides by zero and overflows on the way, and says so.
            warnings.simplefilter("ignore")
            for module in MODULES:
                importlib.import_module(f"{NODES}.{module}")
    except ImportError as error:
        raise ValueError(
            f"the vectors are made by onnx 1.23 or later ({error}): pip install 'attnlab[conformance]'"
        ) from None
    found = {}
    for case in nodes._NodeTestCases:
        (node, *more), (given, wanted) = case.model.graph.node, case.data_sets[0]
        if more or "_expanded" in case.name:
            continue
        found[case.name] = Vector(
            name=case.name.removeprefix("test_"),
            operator=node.op_type,
            inputs=dict(zip(filter(None, node.input), given, strict=True)),
            attributes={a.name: onnx.helper.get_attribute_value(a) for a in node.attribute},
            outputs=dict(zip(filter(None, node.output), wanted, strict=True)),
            rtol=case.rtol,
            atol=case.atol,
        )
    return tuple(found.values())


def by_head(x: np.ndarray, heads: int | None) -> np.ndarray:
    """[batch head position width], as it is or cut from [batch position width]."""
    return x if x.ndim == 4 else x.reshape(*x.shape[:2], heads or 1, -1).swapaxes(1, 2)
