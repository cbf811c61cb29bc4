"""Checkpoints: one safetensors file with the arrays, and a JSON text in its header that describes them.

The file is renamed into place when it is whole. So the last checkpoint can be read, whenever a run is killed.
Reading it executes no code, and other frameworks can read the arrays.
"""

import dataclasses
import errno
import hashlib
import json
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy
from jaxtyping import Array, PyTree

from attnlab_theory import files, refuse
from attnlab_theory.language.models.model import KINDS, Config, Kind, Model, kind_name
from attnlab_theory.language.text.vocabulary import Vocabulary, vocabulary_from_json
from attnlab_theory.language.train import State, Training, started

VERSION = 2
"""The version of the layout described here. Version 1 had GPTs only. A file of any other version is refused."""

KEY = "attnlab"
"""The key of the JSON text among the file's metadata."""

FIELDS = {"kind": str, "model": str, "config": dict, "text": dict, "about": dict}
"""The fields of that text, besides the version."""

KINDS_OF_FILES = ("model", "state")
"""What a file may hold: a model, or all that a run needs to go on."""

ABOUT = {"origin": (dict, str), "losses": (list, float), "validated": (list, float), "watched": (list, dict)}
"""Fields that may be missing, with their types, and what the lists among them hold."""

PROGRESS = ("step", "epoch", "batch", "tokens")
"""The further parts of a run that can go on."""


_UNKNOWN = object()
"""The checksum of a file that has none."""


@dataclasses.dataclass(frozen=True)
class Saved:
    """A model, what it reads, and what was said about it."""

    model: Any
    """A `Model`."""
    text: Any
    """The `Vocabulary` that it reads."""
    about: dict[str, Any]
    """What the writer noted: the recipe, the history, …."""


def save_model(
    path: Path, model: Model, text: Vocabulary, about: Mapping[str, Any], *, kinds: Mapping[str, Kind] = KINDS
) -> None:
    """Write a model whole or not at all.

    Raises:
        OSError: if the folder is missing or cannot be written.
        ValueError: if the model is of none of the `kinds`.
    """
    _write(path, "model", kind_name(model, kinds), model, text, about, {"model": model})


def save_state(
    path: Path, state: State, text: Vocabulary, about: Mapping[str, Any], *, kinds: Mapping[str, Kind] = KINDS
) -> None:
    """Write all that a run needs to go on, whole or not at all.

    Raises:
        OSError: if the folder is missing or cannot be written.
        ValueError: if the model is of none of the `kinds`.
    """
    progress = {name: getattr(state, name) for name in PROGRESS}
    parts = {"model": state.model, "moments": state.moments}
    name, model = kind_name(state.model, kinds), state.model
    _write(path, "state", name, model, text, {"progress": progress, **about}, parts)


def load_model(path: Path, *, kinds: Mapping[str, Kind] = KINDS) -> Saved:
    """The model of a file that `save_model` or `save_state` wrote.

    Args:
        path: of the file.
        kinds: the models that may be in it, by their names.

    Raises:
        ValueError: if the file is missing, truncated, no checkpoint of ours or of another version, or if its arrays
            do not fit the model that it describes.
    """
    header, arrays = _read(path)
    model = _filled(path, "model", _empty(path, header, kinds, arrays), arrays)
    return Saved(model, _text(path, header, kinds, model.config), dict(header["about"]))


def load_state(path: Path, training: Training, *, kinds: Mapping[str, Kind] = KINDS) -> tuple[State, Saved]:
    """The state of a file that `save_state` wrote.

    Raises:
        ValueError: if the file is missing, truncated, holds no state or is of another version, or if its arrays do
            not fit the model and the optimizer.
    """
    header, arrays = _read(path)
    if header["kind"] != "state":
        raise ValueError(f"{path} holds a model, not a run that can go on; name the file of the stopped run")
    empty = _empty(path, header, kinds, arrays)
    moments = eqx.filter_eval_shape(lambda model: started(model, training).moments, empty)
    about = dict(header["about"])
    progress = about.pop("progress", None)
    if not isinstance(progress, dict) or [type(progress.get(name)) for name in PROGRESS] != [int] * len(PROGRESS):
        raise ValueError(f"{path} does not say how far its run has come, its header is damaged; train again")
    model = _filled(path, "model", empty, arrays)
    state = State(model, _filled(path, "moments", moments, arrays), **progress)
    return state, Saved(model, _text(path, header, kinds, model.config), about)


def _write(
    path: Path,
    kind: str,
    name: str,
    model: Model,
    text: Vocabulary,
    about: Mapping[str, Any],
    parts: Mapping[str, PyTree],
) -> None:
    header = {
        "version": VERSION,
        "kind": kind,
        "model": name,
        "config": model.config.as_json(),
        "text": text.as_json(),
        "about": about,
    }
    arrays = {name: np.asarray(x) for part, tree in parts.items() for name, x in _named(part, tree)}
    told = json.dumps({**header, "checksum": _checksum(arrays)}, ensure_ascii=False, allow_nan=False)
    with files.replacing(path) as temporary:
        try:
            safetensors.numpy.save_file(arrays, temporary, metadata={KEY: told})
        except safetensors.SafetensorError as error:
            raise OSError(errno.EIO, str(error), str(path)) from None  # so it says that a disk is full


def _named(part: str, tree: PyTree) -> list[tuple[str, Any]]:
    leaves = jax.tree.leaves_with_path(tree)
    return [(part + jax.tree_util.keystr(at), x) for at, x in leaves]


def _checksum(arrays: Mapping[str, np.ndarray]) -> int:
    """The checksum of all arrays by their names. It shows whether a disk or a copy has changed them."""
    total = 0
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total = zlib.crc32(f"{name}:{array.dtype}:{array.shape}:".encode(), total)
        total = zlib.crc32(array.reshape(-1).view(np.uint8).data, total) if array.size else total
    return total


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    if not Path(path).is_file():
        raise ValueError(f"there is no checkpoint {path}")
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in sorted(file.keys())}
    except (safetensors.SafetensorError, OSError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is not a whole checkpoint of attnlab: {error}") from None
    if KEY not in metadata:
        raise ValueError(f"{path} is a safetensors file of somebody else's: it does not say how attnlab wrote it")
    header = _header(path, metadata[KEY])
    # Files of older versions have none.
    if header.get("checksum", _UNKNOWN) not in (_UNKNOWN, _checksum(arrays)):
        raise ValueError(
            f"{path} is damaged: its numbers are not those that were written; copy it again, or train again"
        )
    return header, arrays


def _header(path: Path, text: str) -> dict[str, Any]:
    """The header of a file, every field of the right type."""
    try:
        header = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} does not say what it holds, its header is damaged: {error}") from None
    if not isinstance(header, dict):
        raise ValueError(f"{path} does not say what it holds, its header is damaged: no fields; train again")
    if type(header.get("version")) is not int:
        raise ValueError(
            f"{path} has version {header.get('version')!r:.60}, which is not a whole number; train again"
        )
    if header["version"] == 1:
        header |= {"version": VERSION, "model": "GPT"}
        header["text"] = {"kind": "characters", "symbols": header.pop("characters", None)}
    if header["version"] != VERSION:
        raise ValueError(f"{path} has version {header['version']}, this attnlab reads {VERSION}; train again")
    for name, kind in FIELDS.items():
        if not isinstance(header.get(name), kind):
            raise ValueError(f"{path} does not say its {name}, its header is damaged; train again")
    if header["kind"] not in KINDS_OF_FILES:
        raise ValueError(f"{path} holds a {header['kind']!r:.60}, which is none of {', '.join(KINDS_OF_FILES)}")
    for name, (kind, of) in ABOUT.items():
        value = header["about"].get(name, kind())
        if not isinstance(value, kind) or not all(isinstance(each, of) for each in value):
            raise ValueError(f"{path} does not say its {name}, its header is damaged; train again")
    return header


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")


def _empty(path: Path, header: Mapping[str, Any], kinds: Mapping[str, Kind], arrays: Collection[str]) -> Any:
    """The model's shapes, without numbers."""
    kind = kinds.get(header["model"])
    if kind is None:
        raise ValueError(f"{path} holds a {header['model']!r}, which is none of {', '.join(kinds)}")
    try:
        config = kind.config(header["config"])
        # Else a damaged number of layers would be built one after the other, and missed in the file afterwards.
        layers = getattr(getattr(config, "encoder", config), "layers", 1)
        if layers > len(arrays):
            raise ValueError(f"{layers} layers need as many arrays, and the file has {len(arrays)}")
        return kind.empty(config)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise ValueError(f"{path} describes no model of this attnlab: {error}") from None


def _filled(path: Path, part: str, empty: PyTree, arrays: Mapping[str, np.ndarray]) -> PyTree:
    """The tree with the file's arrays in it."""
    leaves: list[Array] = []
    for name, wanted in _named(part, empty):
        found = arrays.get(name)
        if found is None or found.shape != wanted.shape or found.dtype != wanted.dtype:
            there = "lacks it" if found is None else f"has {found.dtype}{list(found.shape)}"
            raise ValueError(f"{path}: {name} must be {wanted.dtype}{list(wanted.shape)}, but the file {there}")
        if np.issubdtype(found.dtype, np.floating):
            refuse.non_finite(**{name: found})
        leaves.append(jnp.asarray(found))
    return jax.tree.unflatten(jax.tree.structure(empty), leaves)


def _text(path: Path, header: Mapping[str, Any], kinds: Mapping[str, Kind], config: Config) -> Vocabulary:
    try:
        text = vocabulary_from_json(header["text"], kinds[header["model"]].vocabularies)
    except ValueError as error:
        if isinstance(error.__cause__, ImportError):
            raise ValueError(
                f"{path} needs a package that is not installed: {error.__cause__.name}; install attnlab[bpe]"
            ) from None
        raise ValueError(f"{path} is damaged: {error}") from None
    if len(text) != config.vocabulary:
        raise ValueError(f"{path} has {len(text)} tokens for a vocabulary of {config.vocabulary}")
    return text


def fingerprint(*texts: str) -> str:
    """A short hash of texts, by which a resumed run knows that it reads what it read before."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(f"{len(text)}:{text}".encode())
    return digest.hexdigest()[:16]


def fingerprint_of_model(model: Model) -> str:
    """A short hash of a model's parameters."""
    digest = hashlib.sha256()
    for name, x in _named("model", model):
        digest.update(f"{name}:{x.shape}:{x.dtype}:".encode() + np.asarray(x).tobytes())
    return digest.hexdigest()[:16]


def refuse_other(path: Path, wanted: Config, found: Config) -> None:
    """Refuse a checkpoint of another configuration.

    Raises:
        ValueError: naming the first field that differs, and both values.
    """
    ours, theirs = wanted.as_json(), found.as_json()
    for name in dict.fromkeys((*ours, *theirs)):
        if ours.get(name) != theirs.get(name):
            has, asked = getattr(found, name, None), getattr(wanted, name, None)
            raise ValueError(
                f"{path} holds a model with {name} {has}, but {asked} is asked for; "
                "name the variant that the file was trained as"
            )
