import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.language.text.characters import MASK, MASK_ID, PAD, PAD_ID, Characters

texts = st.text(st.characters(exclude_characters=PAD + MASK), max_size=40)


@given(texts, st.randoms(use_true_random=False))
def test_what_is_encoded_is_decoded_again(text, random):
    characters = Characters.of(text)
    ids = characters.encode(text)
    assert ids.dtype == np.int32
    assert characters.decode(ids) == text
    numbers = [random.randrange(len(characters)) for _ in range(10)]
    assert characters.encode(characters.decode(numbers)).tolist() == numbers


@given(texts)
def test_the_vocabulary_is_pad_mask_and_the_rest_sorted(text):
    characters = Characters.of(text)
    assert characters.symbols == PAD + MASK + "".join(sorted(set(text)))
    assert characters.encode(PAD + MASK).tolist() == [PAD_ID, MASK_ID] == [0, 1]
    assert len(characters) == len(set(text)) + 2


@given(texts, st.characters(exclude_characters=PAD + MASK))
def test_an_unknown_character_is_named(text, stranger):
    characters = Characters.of(text.replace(stranger, ""))
    with pytest.raises(ValueError, match=f"U\\+{ord(stranger):04X}"):
        characters.encode(text + stranger)


def test_an_unknown_character_is_named_with_its_line():
    characters = Characters.of("ab\n")
    with pytest.raises(ValueError, match=r"line 3 of wiki.txt holds 'c' \(U\+0063\), which is not among the 5"):
        characters.encode("a\nb\nac\nd", where="wiki.txt")
    with pytest.raises(ValueError, match=r"^line 2 of the text holds 'c'"):
        characters.encode(f"{PAD}{MASK}\n{PAD}c")
    with pytest.raises(ValueError, match=r"^line 8 of dev.tsv holds '😀' \(U\+1F600\)"):
        characters.encode_lines(["a", "b😀"], where="dev.tsv", first=7)


@pytest.mark.parametrize("mark", [PAD, MASK])
def test_a_text_that_holds_a_mark_is_refused(mark):
    with pytest.raises(ValueError, match=f"line 2 of the text holds '{mark}'"):
        Characters.of(f"fine\nnot {mark}")


@pytest.mark.parametrize("symbols", ["", "ab", MASK + PAD, PAD + MASK + "aa", PAD + "a" + MASK])
def test_a_vocabulary_in_another_order_is_refused(symbols):
    with pytest.raises(ValueError, match="a vocabulary is □⁇"):
        Characters(symbols)


@pytest.mark.parametrize("number", [-1, 4])
def test_a_number_that_no_character_has_is_refused(number):
    with pytest.raises(ValueError, match=f"no character has the number {number}; the vocabulary ends at 3"):
        Characters.of("ab").decode([2, number])
