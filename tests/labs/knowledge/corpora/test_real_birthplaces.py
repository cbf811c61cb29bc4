"""What the homework's own files are known to hold; skipped where they are not at hand."""

import numpy as np
import pytest

from attnlab_theory.labs.knowledge.corpora.birthplaces import NameDataset, always, read_questions, vocabulary
from attnlab_theory.language.corpora.batches import by_length, in_file_order, pack
from attnlab_theory.language.corpora.corruption import Corruption
from attnlab_theory.language.corpora.span_corruption import CharCorruptionDataset
from attnlab_theory.language.corpora.text_files import read_text
from attnlab_theory.language.text.characters import Characters
from tests.shared_data import shared_data


@pytest.fixture(scope="module")
def folder():
    return shared_data("cs224n_birthplaces")


@pytest.fixture(scope="module")
def wiki(folder):
    return read_text(folder / "wiki.txt")


def test_the_corpus_has_418352_characters_256_unique(wiki):
    assert len(wiki) == 418_352
    characters = Characters.of(wiki)
    assert len(characters) == 256
    assert characters == vocabulary(wiki)
    assert characters.decode(characters.encode(wiki)) == wiki


@pytest.mark.slow("the corpus's size, and an epoch that holds every document, stay inside")
def test_pretraining_has_2938_documents_or_2937_without_the_last_newline(wiki):
    with_newline, without = CharCorruptionDataset(wiki), CharCorruptionDataset(wiki.removesuffix("\n"))
    assert (len(with_newline), len(without)) == (2938, 2937)
    # 22 batches of 128 and one of 122: 23 steps an epoch, as in the homework.
    sizes = [len(batch.x) for batch in in_file_order(with_newline.epoch(0), 128)]
    assert sizes == [128] * 22 + [122]
    assert np.array_equal(without.epoch(0).x, with_newline.epoch(0).x[:-1])


@pytest.mark.parametrize(("year", "width"), [(2021, 127), (2024, 128)])
def test_an_epoch_holds_every_document_packed_or_not(wiki, year, width):
    epoch = CharCorruptionDataset(wiki, how=Corruption(year=year, closing=True)).epoch(7)
    assert epoch.x.shape == (2938, width)
    packed = pack(epoch, width=128, rows=16)
    assert (packed.documents, packed.targets) == (2938, epoch.targets)
    # More than half of a padded epoch is PAD; of packed rows next to nothing.
    assert epoch.targets / epoch.x.size < 0.5
    assert packed.targets / packed.x.size > 0.98
    parts = [part for batch in in_file_order(epoch, 128) for part in by_length(batch, rows=8)]
    assert sum(part.targets for part in parts) == epoch.targets
    assert sum(part.x.size for part in parts) < 0.6 * epoch.x.size


def test_the_questions_are_2000_500_and_437(folder, wiki):
    train, dev, test = (
        read_questions(folder / name)
        for name in ("birth_places_train.tsv", "birth_dev.tsv", "birth_test_inputs.tsv")
    )
    assert [len(train), len(dev), len(test)] == [2000, 500, 437]
    assert [len(set(train.answers)), len(set(dev.answers))] == [500, 247]
    assert test.places is None
    characters = vocabulary(wiki)
    batch = NameDataset(train, characters=characters).epoch()
    assert batch.x.shape == (2000, 127)
    assert characters.decode(batch.x[0]).startswith("Where was Khatchig Mouradian born?⁇Lebanon⁇□")
    assert characters.decode(batch.y[0]).startswith("□" * 33 + "⁇Lebanon⁇□")
    assert [len(part.x) for part in in_file_order(batch, 256)] == [256] * 7 + [208]
    for questions in (dev, test):
        characters.encode_lines(questions.texts)


def test_london_answers_25_of_the_500_development_questions(folder):
    found = always("London", read_questions(folder / "birth_dev.tsv"))
    assert (found.correct, found.total, found.accuracy) == (25, 500, 0.05)
