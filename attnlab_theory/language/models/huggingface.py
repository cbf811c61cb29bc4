"""Files as Hugging Face's transformers writes them: arrays in safetensors files, and a config.json beside them.

Files that are missing, truncated, damaged or of another kind are refused in one line.
"""

import contextlib
import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from attnlab_theory import inputs, refuse

WEIGHTS = "model.safetensors"
INDEX = ".index.json"
"""The end of the name of a file that says which array lies in which of several files."""

OTHERS = ("pytorch_model.bin", "tf_model.h5", "flax_model.msgpack")
"""Other files of arrays that transformers writes, or once wrote."""

OF_TORCH = (".bin", ".pt", ".pth", ".ckpt")
"""Ends of names that files of torch.save have."""

NO_ARRAYS = {
    b"version https://git-lfs": "is a pointer of Git LFS, and not the file itself: run git lfs pull",
    b"{": "holds no arrays: name the folder in which it lies",
}
"""What stands in the place of a safetensors file, by its first bytes, and the remedy."""

Tell = Callable[[str], None]
"""A function that is called with a line if something was read in a way that a user may not expect."""

SHOWN = 4
"""The most names of missing arrays that a message lists. It counts the others."""


def untold(remark: str) -> None:
    """Ignore the line."""


def tell_set_aside(file: Path, names: Sequence[str], tell: Tell) -> None:
    """Say that the arrays of a head on top are left out."""
    if names:
        tell(f"{file}: set aside {listed(names)}: a head that the model was tuned with, and no part of its layers")


def weights_file(path: str | os.PathLike[str]) -> Path:
    """The file itself. For a folder, its `model.safetensors`, or the index of several files.

    Raises:
        ValueError: as `folder_of`, or if the file is of another format, or models lie in folders inside.
    """
    if not Path(path).is_dir():
        refuse_another_format(Path(path))
        return Path(path)
    folder = folder_of(path)
    whole, index = (folder / (WEIGHTS + end) for end in ("", INDEX))
    is_empty = not any(each.exists() for each in (whole, index, folder / "config.json"))
    if is_empty and (inside := sorted(each.parent.name for each in folder.glob("*/config.json"))):
        raise ValueError(f"{folder} holds no model, but folders of models: name {listed(inside)} in it")
    return index if index.is_file() and not whole.is_file() else whole


def folder_of(path: str | os.PathLike[str]) -> Path:
    """The folder in which the files of a model lie, if another one was named.

    A model of sentence-transformers lies in `0_Transformer`, or where its modules.json says. A hub cache,
    `models--OWNER--NAME`, keeps its models in `snapshots/HASH`.

    Args:
        path: of a folder.

    Raises:
        ValueError: if it holds an adapter, a model of another format alone, or several snapshots.
    """
    folder = Path(path)
    if (folder / "adapter_config.json").is_file():
        raise ValueError(_adapter(folder))
    if any((folder / name).is_file() for name in ("config.json", WEIGHTS, WEIGHTS + INDEX, *OTHERS)):
        return folder
    if (inside := folder / _module_path(folder)) != folder and inside.is_dir():
        return folder_of(inside)
    snapshots = folder if folder.name == "snapshots" else folder / "snapshots"
    if snapshots.is_dir():
        return folder_of(_snapshot(snapshots))
    if others := sorted(folder.glob("*.gguf")):
        refuse_another_format(others[0])
    for pattern, what in (
        ("models--*", "a hub cache of several models"),
        ("checkpoint-*", "a run of transformers"),
    ):
        if inside := sorted(each.name for each in folder.glob(pattern) if each.is_dir()):
            raise ValueError(f"{folder} is {what}: name one of {listed(inside)} in it")
    return folder


def _module_path(folder: Path) -> str:
    """The folder of the transformer among the modules of sentence-transformers; empty if there are none."""
    table = folder / "modules.json"
    if not table.is_file():
        return "0_Transformer"
    try:
        modules = json.loads(inputs.content(table, most=inputs.MOST_JSON).decode("utf-8-sig"))
        paths = [str(each["path"]) for each in modules if str(each["type"]).endswith(".Transformer")]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError(
            f"{table} does not list the modules of sentence-transformers: name the folder inside"
        ) from None
    # A name alone: whoever wrote the table does not choose another place of this disk.
    return paths[0] if paths and Path(paths[0]).name == paths[0] else ""


def _snapshot(snapshots: Path) -> Path:
    """The snapshot that a hub cache calls main, or the only one."""
    found = sorted(each for each in snapshots.iterdir() if each.is_dir())
    main = snapshots.parent / "refs" / "main"
    if main.is_file():
        said = main.read_text("utf-8", errors="replace").strip()
        found = [each for each in found if each.name == said] or found
    if len(found) != 1:
        many = f"holds {len(found)} snapshots; name one: {listed(each.name for each in found)}"
        raise ValueError(f"{snapshots} {many if found else 'is empty: download the model again'}")
    return found[0]


def refuse_another_format(file: Path) -> None:
    """Refuse a file of llama.cpp, and one that holds an adapter.

    Raises:
        ValueError: with the line that makes a model of it.
    """
    if file.suffix.lower() == ".gguf":
        code = (
            f"import transformers as t; f = {str(file.parent)!r}; "
            f"t.AutoModel.from_pretrained(f, gguf_file={file.name!r}).save_pretrained(f)"
        )
        raise ValueError(
            f"{file} is a model of llama.cpp, and its numbers are rounded to a few bits: name the model that it "
            f"was made of, or convert it with python -c {shlex.quote(code)}"
        )
    if file.name.startswith("adapter_model."):
        raise ValueError(_adapter(file.parent))


TASKS = {"CAUSAL_LM": "ForCausalLM", "SEQ_CLS": "ForSequenceClassification", "TOKEN_CLS": "ForTokenClassification"}
"""Ends of the classes by which peft opens an adapter, by the task that the adapter names."""


def _adapter(folder: Path) -> str:
    beside = folder / "adapter_config.json"
    said = json_object(beside) if beside.is_file() else {}
    of = f" of {said['base_model_name_or_path']}" if said.get("base_model_name_or_path") else ""
    kind = f"AutoPeftModel{TASKS.get(str(said.get('task_type')), 'ForFeatureExtraction')}"
    merged = str(folder.with_name(f"{folder.absolute().name}-merged"))
    code = (
        f"from peft import {kind} as A; m = A.from_pretrained({str(folder)!r}); "
        f"m.merge_and_unload().save_pretrained({merged!r})"
    )
    return (
        f"{folder} holds an adapter{of} (LoRA), which changes a model and is none: merge the two with "
        f"python -c {shlex.quote(code)}, and name {merged}"
    )


def plain_name(name: str) -> str:
    """The name of an array without what torch.compile and torch's data parallelism add to it."""
    return name.replace("_orig_mod.", "").removeprefix("module.")


def arrays_of(file: Path, *, reader: str, prefix: str) -> dict[str, np.ndarray]:
    """Arrays by name, without the prefix that some files give to all names of the model.

    Args:
        file: of the arrays, or the index of several such files beside it.
        reader: the name of the function that asks, for the message.
        prefix: such as `transformer.`.

    Raises:
        ValueError: if a file is missing or not whole, or holds a name with and without the prefix.
    """
    if not file.is_file():
        raise ValueError(_missing(file, reader))
    stored = _of_index(file) if file.name.endswith(INDEX) else _loaded(file)
    arrays: dict[str, np.ndarray] = {}
    for name, array in stored.items():
        if ".lora_" in name:
            raise ValueError(_adapter(file.parent))
        if arrays.setdefault(plain_name(name).removeprefix(prefix), array) is not array:
            raise ValueError(f"{file} holds {name!r} with and without {prefix!r}: which one counts?")
    return arrays


def _loaded(file: Path) -> dict[str, np.ndarray]:
    try:
        return load_file(file)
    except (SafetensorError, OSError, TypeError, KeyError) as error:
        with contextlib.suppress(OSError), file.open("rb") as opened:
            begins = opened.read(32)
            if what := next((what for begin, what in NO_ARRAYS.items() if begins.startswith(begin)), ""):
                raise ValueError(f"{file} {what}") from None
            if begins.startswith(b"PK\x03\x04"):
                raise ValueError(
                    f"{file} is an archive: unpack it, or, if it is of torch, {conversion(file)}"
                ) from None
        raise ValueError(f"{file} is not a whole safetensors file: {one_line(error)}") from None
    except AttributeError as error:
        # So the library says of numbers of four and eight bits, for which numpy has no name.
        raise ValueError(
            f"{file} holds numbers of a kind that is not read ({one_line(error)}): save it in float32"
        ) from None


def _of_index(index: Path) -> dict[str, np.ndarray]:
    """The arrays of all files that an index names."""
    places = _places(index)
    files = {name: index.parent / name for name in sorted(set(places.values()))}
    missing = [name for name, file in files.items() if not file.is_file()]
    if missing:
        raise ValueError(f"{index} names files that are not there: {listed(missing)}; put them beside it")
    stored = {name: _loaded(file) for name, file in files.items()}
    lacking = [name for name, place in places.items() if name not in stored[place]]
    if lacking:
        raise ValueError(f"{index} places arrays in files that lack them: {listed(lacking)}")
    return {name: stored[place][name] for name, place in places.items()}


def _places(index: Path) -> dict[str, str]:
    places = json_object(index).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise ValueError(f"{index} must say in its weight_map which array lies in which file")
    for name, place in places.items():
        if not isinstance(place, str) or Path(place).name != place:
            raise ValueError(f"{index}: {name} must lie in a file beside the index, not in {place!r}")
    return places


def _missing(file: Path, reader: str) -> str:
    """The message about a missing file. If there is a file of another kind, it says how to convert that."""
    folder = file.parent
    found = [name for name in OTHERS if (folder / name).is_file()]
    if not found:
        pieces = sorted(folder.glob("pytorch_model*.bin*"))
        if pieces:
            return f"{folder} holds {pieces[0].name}, and {reader} reads safetensors: {_by_transformers(folder)}"
        return _instead(file) or f"no such file: {file}; {reader} needs a local safetensors file"
    if found[0] != OTHERS[0]:
        return f"{folder} holds {found[0]}, and {reader} reads safetensors: {_by_transformers(folder)}"
    return f"{folder} holds {found[0]}, and {reader} reads safetensors: {conversion(folder / found[0])}"


def _instead(file: Path) -> str:
    """The message about a missing file where something else shows what is meant; empty if nothing does."""
    folder = file.parent
    if file.is_symlink():
        return f"{file} is a link to a file that is gone: download the model again"
    if told := of_hub(file):
        return f"no such file: {file}; {told}"
    # One of several parts holds no whole model.
    if found := [each for each in sorted(folder.glob("*.safetensors")) if "-of-" not in each.name]:
        return f"{folder} has no {file.name}: name the file itself, {listed(each.name for each in found)}"
    if found := sorted(each for end in OF_TORCH for each in folder.glob(f"*{end}")):
        return f"{folder} holds {found[0].name}, and no safetensors: {conversion(found[0])}"
    return ""


def of_hub(path: Path) -> str:
    """What to do about a path that may be a name of the hub, as OWNER/NAME or NAME; empty if it is none."""
    is_name = re.fullmatch(r"([\w-][\w.-]*/)?[\w-][\w.-]*", str(path)) and path.suffix not in (
        ".safetensors",
        ".json",
    )
    if not is_name or path.exists() or (path.parent.exists() and path.parent != Path()):
        return ""
    return f"if it is a name of the hub: hf download {path} --local-dir FOLDER, and name FOLDER"


def conversion(file: Path) -> str:
    """The line of Python that makes `model.safetensors` from a file of torch's. It runs no code of the file.

    Arrays are copied, because torch's files may hold one array under two names.
    """
    code = (
        "import torch; from safetensors.torch import save_file; "
        f"a = torch.load({str(file)!r}, map_location='cpu', weights_only=True); "
        "save_file({n: x.clone().contiguous() for n, x in a.items()}, "
        f"{str(file.with_name(WEIGHTS))!r}, {{'format': 'pt'}})"
    )
    return f"convert it with python -c {shlex.quote(code)}"


def _by_transformers(folder: Path) -> str:
    code = f"import transformers as t; f = {str(folder)!r}; t.AutoModel.from_pretrained(f).save_pretrained(f)"
    return f"convert it with python -c {shlex.quote(code)}"


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
    """Refuse a file that lacks arrays, or has some of another shape.

    Raises:
        ValueError: naming all missing arrays; or else the arrays of another shape, with both shapes.
    """
    missing = [name for name in expected if name not in arrays]
    if missing:
        named = missing if len(missing) <= SHOWN else _by_layer(missing)
        raise ValueError(f"{file} lacks {', '.join(map(repr, named))}: it is not whole")
    wrong = [
        f"{name} must have shape {shape}, not {arrays[name].shape}"
        for name, shape in expected.items()
        if arrays[name].shape != shape
    ]
    if wrong:
        raise ValueError(f"{file}: {listed(wrong)}")


def _by_layer(names: Sequence[str]) -> list[str]:
    """The names. One that several layers have is given once, with a star for the number of the layer."""
    starred = {name: re.sub(r"\.\d+\.", ".*.", name) for name in names}
    several = {star for star, count in Counter(starred.values()).items() if count > 1}
    return list(dict.fromkeys(star if star in several else name for name, star in starred.items()))


def listed(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    named = list(names)
    more = len(named) - SHOWN
    return ", ".join(named[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def json_object(file: Path) -> dict[str, Any]:
    """The fields of a JSON file.

    Raises:
        ValueError: if the file is missing, no JSON, or no object.
    """
    if not file.exists():
        raise ValueError(f"no such file: {file}")
    try:
        fields = json.loads(inputs.content(file, most=inputs.MOST_JSON).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is not JSON: {one_line(error)}") from None
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
        required: fields that change what is computed, and the values that are understood. The first is the default.
        numbers: fields that are one number each.
        activation: the field that names the activation. The default is the first of `gelus`.
        gelus: the activations that are understood.

    Raises:
        ValueError: if the file is missing or no JSON object. Else naming all fields that are not understood, and
            their values.
    """
    config = {field: value for field, value in json_object(file).items() if value is not None}
    wrong = []
    for field, understood in required.items():
        if config.get(field, understood[0]) not in understood:
            either = " or ".join(map(repr, understood))
            wrong.append(f"{field} is {config[field]!r}, but only {either} can be loaded")
    for field in numbers:
        if isinstance(config.get(field, 0), bool) or not isinstance(config.get(field, 0), int | float):
            wrong.append(f"{field} must be a number, not {config[field]!r}")
    named = config.get(activation, next(iter(gelus)))
    if not isinstance(named, str) or named not in gelus:
        wrong.append(f"{activation} is {named!r}, not one of {', '.join(gelus)}")
    if wrong:
        raise ValueError(f"{file}: {'; '.join(wrong)}")
    return config


def one_line(error: Exception) -> str:
    """The message of an error, without line breaks."""
    return " ".join(str(error).split())
