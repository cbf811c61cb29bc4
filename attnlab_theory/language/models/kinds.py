"""Which kind of model a folder of Hugging Face's transformers holds, even if its config.json does not say it."""

from pathlib import Path

from safetensors import SafetensorError, safe_open

from attnlab_theory.language.models import huggingface

READ = ("gpt2", "bert", "roberta", "distilbert")
"""The kinds that are read here, by the names that config.json gives them."""

CLASSES = {"GPT2": "gpt2", "DistilBert": "distilbert", "Roberta": "roberta", "Bert": "bert"}
"""How the names of classes in the field `architectures` begin."""

BARE = {"h.0.": "gpt2", "transformer.h.0.": "gpt2", "transformer.layer.0.": "distilbert"}
"""The beginnings of array names that have no name of a model before them."""


def model_type(path: Path) -> str:
    """The kind of the model in a folder, or of a file of arrays with its config.json beside it.

    The config.json says it. If an old one does not, the name of a class decides, or the names of the arrays, or the
    tables of tokens beside them.

    Raises:
        ValueError: if config.json is missing or names a kind that is not read, or nothing decides.
    """
    file = huggingface.weights_file(path)
    beside = file.parent / "config.json"
    config = huggingface.json_object(beside)
    said = config.get("model_type")
    if said is None:
        said = _of_classes(config.get("architectures")) or _of_names(file) or _of_tables(file.parent)
    if said not in READ:
        known = ", ".join(map(repr, READ[:-1])) + f" or {READ[-1]!r}"
        raise ValueError(f"{beside}: model_type is {said!r}, but only {known} can be loaded")
    return said


def _of_classes(names: object) -> str | None:
    first = str(names[0]) if isinstance(names, list) and names else ""
    return next((kind for begin, kind in CLASSES.items() if first.startswith(begin)), None)


def _of_names(file: Path) -> str | None:
    try:
        if file.name.endswith(huggingface.INDEX):
            names = list(huggingface.json_object(file).get("weight_map") or ())
        else:
            with safe_open(file, framework="numpy") as arrays:
                names = list(arrays.keys())
    except (SafetensorError, OSError, ValueError):
        return None
    names = list(map(huggingface.plain_name, names))
    begins = BARE | {f"{kind}.": kind for kind in READ}
    return next((kind for begin, kind in begins.items() if any(name.startswith(begin) for name in names)), None)


def _of_tables(folder: Path) -> str | None:
    if (folder / "vocab.txt").is_file():
        return "bert"
    return "roberta" if (folder / "vocab.json").is_file() else None
