"""Sentences, as they are drawn, read from files, and laid into rows."""

import random
import re

import numpy as np
import pytest

from attnlab_theory.labs import sentences as material
from attnlab_theory.labs.sentences import Sizes, encoded
from attnlab_theory.language.corpora import grammar
from attnlab_theory.language.text.words import Words
from tests.shared_data import shared_data

TEXT = Words(("a", "cat", "runs"))
FEW = Sizes(train=20, validation=5, test=7)


def test_drawn_sentences_follow_from_the_seed_and_belong_to_the_grammar():
    first, again, other = (material.generated(seed, FEW) for seed in (1, 1, 2))
    assert first.train == again.train != other.train
    assert tuple(map(len, (first.train, first.validation, first.test))) == (20, 5, 7)
    assert all(grammar.embedded().log_probability(s.split()) > -np.inf for s in first.test)


def test_the_language_of_pretraining_has_the_same_words_and_other_frequencies():
    one, other = material.generated(0, FEW), material.generated(0, FEW, evened=True)
    assert one.text == other.text
    assert one.grammar.entropy < other.grammar.entropy


def test_evened_choices_are_the_powers_of_their_probabilities():
    language = grammar.Grammar.from_text("S -> 9: a | 1: b")
    assert [choice.probability for choice in language.evened(0.5).rules["S"]] == pytest.approx([0.75, 0.25])
    assert [choice.probability for choice in language.evened(0.0).rules["S"]] == [0.5, 0.5]


def test_rows_begin_with_bos_end_with_eos_and_weigh_one():
    found = encoded(["a cat", "runs"], TEXT, 5)
    a, cat, runs = TEXT.encode(["a", "cat", "runs"])
    assert found.rows.x[:, :3].tolist() == [[TEXT.bos, a, cat], [TEXT.bos, runs, 0]]
    assert found.rows.y[:, :3].tolist() == [[a, cat, TEXT.eos], [runs, TEXT.eos, 0]]
    assert found.rows.weights.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert (found.lengths.tolist(), found.cut, found.rows.weight) == ([3, 2], 0, pytest.approx(2.0))


def test_tokens_may_weigh_the_same_instead():
    assert encoded(["a cat", "runs"], TEXT, 5, mean="tokens").rows.weight == 5


def test_a_sentence_that_does_not_fit_is_cut_and_counted():
    found = encoded(["a cat runs", "a"], TEXT, 3)
    assert (found.cut, found.lengths.tolist()) == (1, [3, 2])
    assert TEXT.eos not in found.rows.y[0]


@pytest.mark.parametrize(("sentences", "told"), [((), "has no sentence"), (("a", " "), "sentence 2 .* no token")])
def test_nothing_to_read_is_refused(sentences, told):
    with pytest.raises(ValueError, match=told):
        encoded(sentences, TEXT, 3)


def test_rare_words_of_a_file_are_unknown(tmp_path):
    for name in ("train", "validation", "test"):
        (tmp_path / name).write_text("a cat  \n\na cat\na dog\n")
    found = material.read(*(tmp_path / name for name in ("train", "validation", "test")), "words", least=2)
    assert (found.text.words, len(found.train)) == (("a", "cat"), 3)


def test_a_tenth_of_a_text_to_learn_first_is_for_validation(tmp_path):
    (tmp_path / "text").write_text("".join(f"a {n}\n" for n in range(20)))
    found = material.read_other(tmp_path / "text", TEXT)
    assert (len(found.train), found.validation) == (18, ("a 18", "a 19"))
    (tmp_path / "short").write_text("a\n")
    with pytest.raises(ValueError, match="1 sentence; pretraining needs at least ten"):
        material.read_other(tmp_path / "short", TEXT)


@pytest.mark.slow("sentences too long for a block, cut and counted, stay inside")
def test_the_homeworks_captions_fit_into_its_block():
    folder = shared_data("coco_captions_thu")
    found = material.read(*(folder / f"{name}.txt" for name in ("train", "dev", "test")), "bpe")
    sample = random.Random(0).sample(found.train, 1000)
    read = encoded(sample, found.text, 35)
    assert read.cut == 0
    assert (len(found.train), len(found.validation), len(found.test)) == (15_000, 5_000, 5_000)
    assert 13.7 < read.lengths.mean() < 14.7


def test_a_vocabulary_may_be_a_file_of_words(tmp_path):
    paths = [tmp_path / name for name in ("train", "validation", "test")]
    for path in paths:
        path.write_text("a cat runs\n" * 3)
    (tmp_path / "words").write_text("cat\ndog\n")
    found = material.read(*paths, "words", words=tmp_path / "words")
    assert found.text == Words(("cat", "dog"))
    with pytest.raises(ValueError, match="lists words, and --unit bpe"):
        material.read(*paths, "bpe", words=tmp_path / "words")
    (tmp_path / "words").write_text("cat 3\n")
    with pytest.raises(ValueError, match="one word a line: 'cat 3' cannot be a word"):
        material.read(*paths, "words", words=tmp_path / "words")


@pytest.mark.parametrize("read", [material.read_lines, material.read_sentences])
@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1000.jpg#0\tA dog .\n1000.jpg#1\tA brown dog .\n", "begins with the name of a picture and a number, as"),
        ("36979.jpg#3\t Two men .\n\n36979.jpg#4 A man .", "keep the captions alone: cut -f2 captions"),
        ("image,caption\n1000.jpg,A dog .\n", "is a table with the heading 'image,caption'; keep the column"),
        ("image_name| comment_number| comment\n1.jpg| 0| Two men .\n", "is a table with the heading 'image_name|"),
        ("filename\tcaption\n1.png\tTwo men .\n", "is a table with the heading"),
        (
            '"image_name"| comment_number| comment\n1.jpg| 0| Two men .\n',
            'is a table with the heading \'"image_name"|',
        ),
        ("f\0i\0n\0e\0\n\0", "is no text in UTF-8: line 1 holds the byte 0x00, as UTF-16 has"),
        ("caption,image\nA dog .,1000.jpg\n", "is a table with the heading 'caption,image'"),
        ("1000.jpg#0 A dog .\n1000.jpg#1 A cat .\n", "keep the captions alone: cut -d' ' -f2- captions"),
        ('{"id": 1, "caption": "A dog"}\n{"id": 2, "caption": "A cat"}\n', "is JSON; write its sentences"),
        ('{"images": [], "annotations": [{"caption": "A dog"}]}', "is JSON of captions, as COCO has; write them"),
        (
            "1000.jpg,A dog .\n1001.PNG,A cat .\n",
            "each line begins with the name of a picture, as '1000.jpg'; keep the captions alone: cut -d',' -f2-",
        ),
        ("caption\turl\nA dog .\thttp://a\n", "is a table with the heading"),
        (",image,caption_number,caption\n0,1.jpg,0,A dog .\n", "is a table with the heading ',image,"),
        ("A dog .\t3\nA cat .\t4\n", "has columns, parted by tabs; keep the one with the sentences: cut -f1"),
        ("1. A dog .\n2. A cat .\n", "numbers its lines; keep the sentences alone: cut -d' ' -f2- "),
        ("1\n00:00:01,000 --> 00:00:02,000\nA dog .\n", "has times, as subtitles have"),
        ('"A dog ."\n"A cat ."\n', "has each line in quotation marks; take them away"),
        ("A dog . ||| A hound .\nA cat . ||| A kitten .\n", "has several sentences in a line, parted by |||"),
        (
            '[\n{"caption": "A dog"},\n{"caption": "A cat"}]\n',
            "is JSON; write its sentences into a file, one a line",
        ),
    ],
)
def test_names_of_pictures_headings_and_json_are_no_sentences(tmp_path, read, text, what):
    (tmp_path / "captions").write_text(text)
    with pytest.raises(ValueError, match=re.escape(what)) as error:
        read(tmp_path / "captions")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "image of a dog\n1000.jpg,A dog\n",
        "a dog #1\nthe file a.jpg#0 is open\n",
        "{ a set }\n",
        "[laughs] hello\n",
        "path , or no path\na b\n",
        "the image,caption pair\n",
        "image, the one I like\n1. a dog\n",
        "{}\na set\n",
        "1 2 3\n2 3 4\n",
        '"A dog ."\nA cat .\n',
        "a dog --> a cat\na a\n",
        "1. A dog .\n",
        "1000.jpg#0\tA dog .\nand a sentence\n",
    ],
)
def test_sentences_that_only_look_like_tables_are_read(tmp_path, text):
    (tmp_path / "captions").write_text(text)
    assert material.read_lines(tmp_path / "captions") == tuple(map(str.strip, text.splitlines()))
