import pytest

from attnlab_theory.language.corpora import spaces


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("\u4e00\u540d\u72d7\u5728\u8349\u5730", 1),
        ("\u4e00 \u540d \u72d7 \u5728 \u8349\u5730 \u4e0a \u8dd1", 0),
        ("\u0e2b\u0e21\u0e32\u0e27\u0e34\u0e48\u0e07\u0e1a\u0e19\u0e2b\u0e0d\u0e49\u0e32", 1),
        ("\uc88b\uc740 \uc601\ud654\uc785\ub2c8\ub2e4", 0),
        ("yes", 0),
        ("Donaudampfschifffahrtsgesellschaft", 0),
        ("adogrunsoverthegreenfieldandtwomenrideabicycle", 1),
        ("", 0),
    ],
    ids=ascii,
)
def test_lines_that_hold_several_words_without_spaces_are_counted(line, wanted):
    assert spaces.unspaced([line]) == wanted


def test_who_reads_such_lines_is_told_how_many_there_are_and_how_many_are_one_token():
    joined = "\u4e00\u540d\u72d7\u5728\u8349\u5730"
    told = spaces.remark([joined, f"{joined} {joined}", "yes", "a dog"], "the text", "say more")
    assert told == "the text: 2 of 4 lines have no spaces between words, 2 are one token each; say more"
    assert spaces.remark([joined, "a dog", "a cat"], "the text", "say more") is None


def test_a_few_such_lines_among_others_are_no_news():
    lines = ["a cat runs", "a dog", "\u4e00\u540d\u72d7\u5728\u8349\u5730"]
    assert spaces.remark(lines, "the text", "say more") is None
    assert spaces.remark([], "the text", "say more") is None
    spaces.refuse_unspaced(lines, "the text", "say more")
