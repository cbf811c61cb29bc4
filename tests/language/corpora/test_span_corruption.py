import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab_theory.language.corpora.corruption import Corruption
from attnlab_theory.language.corpora.span_corruption import CharCorruptionDataset, mask_lengths
from attnlab_theory.language.text.characters import MASK, PAD, PAD_ID, Characters

VARIANTS = ["eighths", "twice-a-quarter", "gauss", "half"]

LETTERS = "abcdefmor .,"
VOCABULARY = Characters.of(LETTERS)

lines = st.text(st.sampled_from(LETTERS), max_size=60)
texts = st.lists(lines, min_size=1, max_size=8).map("\n".join)
ways = st.builds(
    Corruption,
    year=st.sampled_from([2021, 2024]),
    mask_lengths=st.sampled_from(VARIANTS),
    closing=st.booleans(),
    truncation=st.sampled_from(["prefix", "window", "none"]),
)


def masked_text(dataset, x, y):
    return dataset.characters.decode([*x, y[-1]])


def parts(text, closing):
    """prefix, suffix and content of a masked text."""
    pieces = text.rstrip(PAD).split(MASK)
    assert len(pieces) == 3 + closing
    assert not closing or pieces[3] == ""
    return pieces[:3]


@settings(max_examples=40)
@given(texts, st.integers(17, 64), ways, st.integers(0, 2**63 - 1), st.integers(0, 10**6))
def test_x_shifted_is_y_and_the_document_is_recovered(text, block_size, how, seed, epoch):
    dataset = CharCorruptionDataset(text, block_size, how=how, seed=seed)
    batch = dataset.epoch(epoch)
    assert batch.x.shape == (len(dataset), block_size - 1 + (how.year == 2024))
    for index, document in enumerate(text.split("\n")):
        x, y = batch.x[index], batch.y[index]
        assert np.array_equal(x[1:], y[:-1])
        prefix, suffix, content = parts(masked_text(dataset, x, y), how.closing)
        kept = prefix + content + suffix
        if how.truncation == "window":
            assert kept in document
        else:
            assert document.startswith(kept)
        assert min(len(document), 4) <= len(kept) <= block_size * 7 // 8
        if how.truncation == "none":
            assert len(kept) == min(len(document), block_size * 7 // 8)
        # Every target is a character of the masked text, and none is padding.
        targets = len(kept) + 1 + how.closing
        assert np.count_nonzero(y) == targets
        assert (x[:targets] != PAD_ID).all()
        assert (y[targets:] == PAD_ID).all()


@settings(max_examples=40)
@given(texts, st.integers(0, 2**63 - 1), st.integers(0, 10**6), ways)
def test_a_document_follows_from_seed_epoch_and_index_alone(text, seed, epoch, how):
    dataset = CharCorruptionDataset(text, 32, how=how, seed=seed, characters=VOCABULARY)
    batch = dataset.epoch(epoch)
    for index in range(len(dataset)):
        x, y = dataset.item(index, epoch=epoch)
        assert np.array_equal(x, batch.x[index])
        assert np.array_equal(y, batch.y[index])
    last = len(dataset) - 1
    others = "\n".join([*["abc" * 20] * last, dataset.documents[last], "more"])
    changed = CharCorruptionDataset(others, 32, how=how, seed=seed, characters=VOCABULARY)
    assert np.array_equal(changed.epoch(epoch).x[last], batch.x[last])


def test_epochs_and_seeds_differ():
    text = "\n".join(["abcdefghij" * 12] * 4)
    seen = {
        CharCorruptionDataset(text, seed=seed).epoch(epoch).x.tobytes()
        for seed in (0, 1, 2**32)
        for epoch in (0, 1)
    }
    assert len(seen) == 6


def test_every_length_and_every_place_of_the_hole_occurs():
    dataset = CharCorruptionDataset("\n".join(["abcdefghij" * 20] * 4000))
    batch = dataset.epoch(0)
    assert set((np.count_nonzero(batch.y, axis=1) - 1).tolist()) == set(range(4, 113))
    cut = [parts(masked_text(dataset, x, y), False) for x, y in zip(batch.x, batch.y, strict=True)]
    assert any(prefix == "" for prefix, _, _ in cut)
    assert any(suffix == "" for _, suffix, _ in cut)


def test_holes_of_every_length_lie_in_every_place():
    dataset = CharCorruptionDataset("\n".join(["abcdefgh"] * 1000))
    batch = dataset.epoch(0)
    cut = [parts(masked_text(dataset, x, y), False) for x, y in zip(batch.x, batch.y, strict=True)]
    whole = {(len(prefix), len(hole)) for prefix, suffix, hole in cut if len(prefix + suffix + hole) == 8}
    assert whole == {(before, hole) for hole in (1, 2, 3) for before in range(8 - hole + 1)}


def test_a_window_begins_anywhere():
    document = "".join(chr(ord("A") + i) for i in range(40))
    dataset = CharCorruptionDataset("\n".join([document] * 2000), 24, how=Corruption(truncation="window"))
    batch = dataset.epoch(0)
    begins = set()
    for x, y in zip(batch.x, batch.y, strict=True):
        prefix, suffix, content = parts(masked_text(dataset, x, y), False)
        begins.add(document.index(prefix + content + suffix))
    assert begins == set(range(37))


GRID = (np.arange(10_000) + 0.5) / 10_000


@pytest.mark.parametrize(
    ("variant", "length", "support"),
    [
        ("eighths", 16, range(2, 7)),
        ("eighths", 112, range(14, 43)),
        ("eighths", 5, range(2)),
        ("twice-a-quarter", 16, range(1, 8)),
        ("twice-a-quarter", 3, [1]),
        ("half", 16, range(1, 9)),
        ("half", 1, [1]),
        *((variant, 0, [0]) for variant in VARIANTS),
    ],
)
def test_the_hole_is_uniform_over_the_lengths_its_variant_names(variant, length, support):
    drawn = mask_lengths(variant, np.full(GRID.shape, length), GRID)
    values, counts = np.unique(drawn, return_counts=True)
    assert values.tolist() == list(support)
    assert np.ptp(counts) <= 1


def test_a_gaussian_hole_has_a_quarter_on_average_and_stays_within_the_document():
    drawn = mask_lengths("gauss", np.full(GRID.shape, 64), GRID)
    # Rounding adds 1/12 to the variance 4; the grid cuts the tails, by less than 1/100.
    assert abs(drawn.mean() - 16) < 1e-9
    assert abs(drawn.var() - (4 + 1 / 12)) < 1e-2
    edges = np.array([0.0, 1 - 2.0**-53])
    assert mask_lengths("gauss", np.array([5, 5]), edges).tolist() == [0, 5]


@pytest.mark.slow("two of four members stay inside", but=2)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_hole_is_a_quarter_of_the_document_on_average(variant):
    # The rounding of both ends moves the mean by less than one character.
    for length in range(4, 113):
        assert abs(mask_lengths(variant, np.full(GRID.shape, length), GRID).mean() - length / 4) < 1


def test_an_empty_last_line_is_a_document_of_two_marks():
    dataset = CharCorruptionDataset("some words\n")
    assert len(dataset) == 2
    x, y = dataset[1]
    assert x[:3].tolist() == [1, 1, 0]
    assert y[:2].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"year": 2022}, "year is one of 2021, 2024, not 2022"),
        ({"mask_lengths": "poisson"}, "mask_lengths is one of .*half, not 'poisson'"),
        ({"truncation": "suffix"}, "truncation is one of prefix, window, none, not 'suffix'"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_unknown_variants_are_refused(how, said):
    with pytest.raises(ValueError, match=said):
        Corruption(**how)


@pytest.mark.parametrize(("block_size", "closing"), [(0, False), (4, False), (8, False), (16, True)])
def test_a_block_without_room_for_the_marks_is_refused(block_size, closing):
    with pytest.raises(ValueError, match=f"block_size {block_size} has no room .* take at least 17"):
        CharCorruptionDataset("some words", block_size, how=Corruption(closing=closing))


def test_a_character_outside_a_given_vocabulary_is_named_with_its_line():
    vocabulary = CharCorruptionDataset("abc").characters
    with pytest.raises(ValueError, match=r"line 2 of the corpus holds 'd' \(U\+0064\)"):
        CharCorruptionDataset("ab\nd", characters=vocabulary)


@pytest.mark.parametrize("index", [-1, 2])
def test_there_is_no_document_beyond_the_last(index):
    with pytest.raises(IndexError, match=f"no document is numbered {index}, only 0 to 1"):
        CharCorruptionDataset("abc\nde")[index]


@pytest.mark.parametrize("epoch", [-1, 1.5])
@pytest.mark.usefixtures("unchecked_shapes")
def test_an_epoch_is_a_whole_number_from_0(epoch):
    with pytest.raises(ValueError, match=f"epoch must .*{epoch}"):
        CharCorruptionDataset("abc").epoch(epoch)
