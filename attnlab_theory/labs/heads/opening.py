"""From the name of a model to its heads before a text: the one place that knows which kinds of models there are."""

from collections.abc import Sequence
from pathlib import Path

from attnlab_theory.labs.heads import encoder, gpt
from attnlab_theory.labs.heads.encoder import EncoderReading
from attnlab_theory.labs.heads.gpt import GPTReading
from attnlab_theory.labs.heads.parts import OF_LABELS, PartName
from attnlab_theory.labs.heads.texts import Text
from attnlab_theory.language import pretrained
from attnlab_theory.language.checkpoint import load_model
from attnlab_theory.language.models import huggingface
from attnlab_theory.language.models.classifier import Classifier
from attnlab_theory.language.models.gpt import GPT, load_gpt2
from attnlab_theory.language.models.huggingface import Tell, untold
from attnlab_theory.language.models.kinds import model_type
from attnlab_theory.language.text.bpe import BPE
from attnlab_theory.language.text.own_tokens import OwnTokens
from attnlab_theory.language.text.vocabulary import OfSentences

AnyReading = EncoderReading | GPTReading

MINILM = "minilm"
"""The name of the encoder that a package carries. A file of this name is called ./minilm."""


def opened(model: Path, sentences: Sequence[str], *, tell: Tell = untold) -> AnyReading:
    """A model with sentences before it.

    Args:
        model: `minilm` for the encoder that a package carries; a checkpoint of a GPT or of a classifier that a lab
            wrote; or a folder with the files of GPT-2, BERT, RoBERTa or DistilBERT as transformers writes them.
        sentences: what it reads.
        tell: is told, in one line each, what was read otherwise than somebody may think: a head that is set
            aside, a table that a folder lacks, sentences that are cut.

    Raises:
        ValueError: if there is no such model, it is of a kind whose heads nobody can read yet, or as its loader.
    """
    reading = _read(model, sentences, tell)
    if reading.cut:
        longest = max(len(tokens.ids) for tokens in reading.tokens)
        tell(f"{reading.cut} of {len(sentences)} sentences are longer than {model} takes, {longest} tokens: cut")
    return reading


def _read(model: Path, sentences: Sequence[str], tell: Tell) -> AnyReading:
    if str(model) == MINILM:
        return encoder.reading(*pretrained.minilm(), sentences)
    folder = model.parent if _is_file_of_folder(model) else model
    if folder.is_dir():
        if model_type(folder) == "gpt2":
            return _gpt2(folder, sentences, tell)
        return encoder.reading(*pretrained.load_folder(folder, tell=tell), sentences)
    saved = load_model(model)
    if isinstance(saved.model, GPT):
        return gpt.reading(saved.model, saved.text, sentences)
    if isinstance(saved.model, Classifier) and isinstance(saved.text, OfSentences):
        return encoder.reading(saved.model, saved.text, sentences)
    raise ValueError(
        f"{model} holds a {type(saved.model).__name__} that reads {saved.text.as_json()['kind']}: "
        "the lab reads the heads of GPTs, and of classifiers of sentences"
    )


def _is_file_of_folder(model: Path) -> bool:
    """Whether this is a file of a model's folder, which was named in the folder's place."""
    names = (huggingface.WEIGHTS, huggingface.WEIGHTS + huggingface.INDEX, *huggingface.OTHERS)
    return model.name in names and (model.parent / "config.json").is_file()


def _gpt2(folder: Path, sentences: Sequence[str], tell: Tell) -> GPTReading:
    """A folder of GPT-2's files, with the tokens that lie in it; GPT-2's own where none do, and it has as many."""
    found = load_gpt2(folder, tell=tell)
    text = OwnTokens.of_folder(folder)
    known = found.config.vocabulary
    if text is None and (folder / "vocab.txt").is_file():
        text = pretrained.wordpiece(folder, tell)
    if text is None:
        text = BPE()
        if known != len(text):
            raise ValueError(
                f"{folder} knows {known:,} tokens, and GPT-2's vocabulary has {len(text):,}: put the "
                "tokenizer.json of the model beside it, or its vocab.json and merges.txt"
            )
        tell(f"{folder} has no table of tokens: texts are read with GPT-2's own vocabulary")
    if len(text) > known:
        raise ValueError(
            f"{folder} knows {known:,} tokens, and the table beside it has {len(text):,}: "
            "they are of different models"
        )
    return gpt.reading(found, text, sentences)


def refuse_without_labels(parts: Sequence[PartName], model: Path, reading: AnyReading, text: Text) -> None:
    """Refuse parts that ask how often labels are right, where the text has none or the model gives none.

    Raises:
        ValueError: naming the part and the remedy.
    """
    for part in (part for part in parts if part in OF_LABELS):
        asks = f"{part} ask how often labels are right"
        if text.labels is None:
            raise ValueError(
                f"{asks}, and {text.source} is read without any: write each line as LABEL text and say --labelled"
            )
        if not isinstance(reading, EncoderReading) or reading.classifier is None:
            raise ValueError(f"{asks}, and {model} gives none: name a classifier that reviews train wrote")
        if reading.classifier.config.classes != 2:
            raise ValueError(f"{asks}, 0 or 1, and {model} has {reading.classifier.config.classes} classes")
