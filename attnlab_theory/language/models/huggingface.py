"""Files as Hugging Face's transformers writes them: arrays in a safetensors file, and a config.json beside it.

What is read here is refused in one line where it is missing, truncated, damaged or not what was meant.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from attnlab_theory import inputs, refuse


def weights_file(path: str | os.PathLike[str]) -> Path:
    """The file itself, or the `model.safetensors` of a folder."""
    return Path(path) / "model.safetensors" if Path(path).is_dir() else Path(path)


def arrays_of(file: Path, *, reader: str, prefix: str) -> dict[str, np.ndarray]:
    """Arrays by name, without the prefix that some files give to all names of the model.

    Args:
        file: of the arrays.
        reader: the name of the function that asks, for the message.
        prefix: as `transformer.`.

    Raises:
        ValueError: if the file is missing or not whole, or holds a name with and without the prefix.
    """
    if not file.is_file():
        raise ValueError(f"no such file: {file}; {reader} needs a local safetensors file")
    try:
        stored = load_file(file)
    except (SafetensorError, OSError, TypeError, KeyError) as error:
        raise ValueError(f"{file} is no whole safetensors file: {one_line(error)}") from None
    except AttributeError as error:
        # So the library says of numbers of four and eight bits, for which numpy has no name.
        raise ValueError(
            f"{file} holds numbers of a kind that is not read ({one_line(error)}): save it in float32"
        ) from None
    arrays: dict[str, np.ndarray] = {}
    for name, array in stored.items():
        if arrays.setdefault(name.removeprefix(prefix), array) is not array:
            raise ValueError(f"{file} holds {name!r} with and without {prefix!r}: which one counts?")
    return arrays


def refuse_no_numbers(file: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse arrays that hold anything but finite floating-point numbers.

    Raises:
        ValueError: naming the array.
    """
    for name, array in arrays.items():
        if not np.issubdtype(array.dtype, np.floating) and array.dtype.name != "bfloat16":
            raise ValueError(f"{file}: {name} must hold floating-point numbers, not {array.dtype}")
        refuse.non_finite(**{name: array.astype(np.float32)})


def refuse_shapes(file: Path, arrays: Mapping[str, np.ndarray], expected: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse a file that lacks an array, or has one of another shape.

    Raises:
        ValueError: naming the first of them, and both shapes.
    """
    for name, shape in expected.items():
        if name not in arrays:
            raise ValueError(f"{file} lacks {name!r}: it is not whole")
        if arrays[name].shape != shape:
            raise ValueError(f"{file}: {name} must have shape {shape}, not {arrays[name].shape}")


def json_object(file: Path) -> dict[str, Any]:
    """The fields of a JSON file.

    Raises:
        ValueError: if the file is missing, no JSON, or no object.
    """
    if not file.exists():
        raise ValueError(f"no such file: {file}")
    try:
        fields = json.loads(inputs.content(file, most=inputs.MOST_JSON).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is no JSON: {one_line(error)}") from None
    if not isinstance(fields, dict):
        raise ValueError(f"{file} must hold a JSON object, not {type(fields).__name__}")
    return fields


def config_of(
    file: Path,
    *,
    required: Mapping[str, tuple[Any, ...]],
    numbers: Iterable[str],
    activation: str,
    gelus: Mapping[str, str],
) -> dict[str, Any]:
    """The fields of a config.json, without those that are null.

    Args:
        file: the config.json.
        required: fields that change what is computed, and the values that are understood; absent is the first.
        numbers: fields that are one number each.
        activation: the field that names the activation; absent is the first of `gelus`.
        gelus: the activations that are understood.

    Raises:
        ValueError: as `json_object`, or naming a field and its value.
    """
    config = {field: value for field, value in json_object(file).items() if value is not None}
    for field, understood in required.items():
        if config.get(field, understood[0]) not in understood:
            listed = " or ".join(map(repr, understood))
            raise ValueError(f"{file}: {field} is {config[field]!r}, but only {listed} can be loaded")
    for field in numbers:
        if not isinstance(config.get(field, 0), int | float):
            raise ValueError(f"{file}: {field} must be a number, not {config[field]!r}")
    named = config.get(activation, next(iter(gelus)))
    if not isinstance(named, str) or named not in gelus:
        raise ValueError(f"{file}: {activation} is {named!r}, not one of {', '.join(gelus)}")
    return config


def one_line(error: Exception) -> str:
    """What an error says, without line breaks."""
    return " ".join(str(error).split())
