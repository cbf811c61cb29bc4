"""From the name of a model to a reading of a text by its heads. Only this file knows the kinds of models."""

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
from attnlab_theory.plurals import several, some_of

AnyReading = EncoderReading | GPTReading

MINILM = "minilm"
"""The name of the encoder that a package carries. A file of this name is called ./minilm."""


def opened(model: Path, sentences: Sequence[str], *, tell: Tell = untold) -> AnyReading:
    """A model that reads sentences.

    Args:
        model: `minilm`, the encoder of a package. Or a checkpoint of a GPT or of a classifier, by a lab. Or a
            folder with files of GPT-2, BERT, RoBERTa or DistilBERT, by transformers.
        sentences: what it reads.
        tell: called with a line if something was read in a way that a user may not expect. Such are a head that is
            left out, a table that a folder lacks, and sentences that are cut.

    Raises:
        ValueError: if there is no such model, its files are damaged, or heads of its kind cannot be read yet.
    """
    reading = _read(model, sentences, tell)
    if reading.cut:
        longest = max(len(tokens.ids) for tokens in reading.tokens)
        said = some_of(reading.cut, len(sentences), "sentence", "is", "are")
        tell(f"{said} longer than {model} takes, {several(longest, 'token')}: cut")
    return reading


def _read(model: Path, sentences: Sequence[str], tell: Tell) -> AnyReading:
    if str(model) == MINILM:
        return encoder.reading(*pretrained.minilm(), sentences)
    huggingface.refuse_another_format(model)
    folder = model.parent if _is_file_of_folder(model) else model
    if folder.is_dir():
        folder = huggingface.folder_of(folder)
        if model_type(folder) == "gpt2":
            return _gpt2(folder, sentences, tell)
        return encoder.reading(*pretrained.load_folder(folder, tell=tell), sentences)
    if told := huggingface.of_hub(model):
        raise ValueError(f"there is no checkpoint {model}; {told}")
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
    """Whether this is a file in a model's folder, named instead of the folder."""
    names = ("config.json", huggingface.WEIGHTS, huggingface.WEIGHTS + huggingface.INDEX, *huggingface.OTHERS)
    return model.name in names and (model.parent / "config.json").is_file()


def _gpt2(folder: Path, sentences: Sequence[str], tell: Tell) -> GPTReading:
    """A folder of GPT-2's files, with its own tokens. Without any, GPT-2's tokens if their number fits."""
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
    """Refuse parts that measure accuracy, if the text or the model has no labels.

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
