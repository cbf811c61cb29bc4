"""Batches change where tokens lie, never what a causal model reads in front of a target."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab_theory.language.corpora.batches import Batch, by_length, in_file_order, pack, shuffled

WIDTH = 12


def examples_of(documents):
    """Documents as rows: (tokens, how many of the first targets are ignored)."""
    x, y = np.zeros((2, len(documents), WIDTH), np.int32)
    for row, (tokens, ignored) in enumerate(documents):
        x[row, : len(tokens)] = tokens
        y[row, ignored : len(tokens) - 1] = tokens[1 + ignored :]
    return Batch(x, y)


def documents():
    """Documents of 2 to WIDTH tokens, the last of which is a target. A first part may be a question."""
    tokens = st.lists(st.integers(1, 4), min_size=2, max_size=WIDTH)
    one = tokens.flatmap(lambda t: st.tuples(st.just(t), st.integers(0, len(t) - 2)))
    return st.lists(one, min_size=1, max_size=12).map(examples_of)


def lessons(*batches):
    """Every target with all a causal model may look at: its document's tokens so far, with positions."""
    seen = Counter()
    for batch in batches:
        places = np.broadcast_to(np.arange(batch.x.shape[1]), batch.x.shape)
        positions = places if batch.positions is None else batch.positions
        segments = np.ones_like(batch.x) if batch.segments is None else batch.segments
        for row, place in zip(*np.nonzero(batch.y), strict=True):
            visible = (segments[row] == segments[row, place]) & (np.arange(batch.x.shape[1]) <= place)
            context = tuple(zip(positions[row, visible].tolist(), batch.x[row, visible].tolist(), strict=True))
            seen[context, int(batch.y[row, place])] += 1
    return seen


@settings(max_examples=40)
@given(documents(), st.integers(WIDTH, 30), st.integers(1, 4))
def test_packing_keeps_every_lesson_once_and_mixes_none(examples, width, rows):
    packed = pack(examples, width=width, rows=rows)
    assert lessons(packed) == lessons(examples)
    assert packed.documents == len(examples.x)
    assert packed.targets == examples.targets
    assert packed.x.shape[1] == width
    assert len(packed.x) % rows == 0
    for row, segments in enumerate(packed.segments):
        for number in range(1, segments.max() + 1):
            (at,) = np.nonzero(segments == number)
            assert at.tolist() == list(range(at[0], at[-1] + 1))
            assert packed.positions[row, at].tolist() == list(range(len(at)))
        empty = segments == 0
        assert not packed.x[row, empty].any()
        assert not packed.y[row, empty].any()


@settings(max_examples=40)
@given(documents(), st.integers(1, 5), st.integers(1, WIDTH + 3))
def test_micro_batches_by_length_teach_what_the_batch_teaches(examples, rows, step):
    parts = by_length(examples, rows=rows, step=step)
    assert lessons(*parts) == lessons(examples)
    widths = [part.x.shape[1] for part in parts]
    assert widths == sorted(widths, reverse=True)
    assert {len(part.x) for part in parts} == {rows}
    for part in parts:
        assert part.x.shape[1] == WIDTH or part.x.shape[1] % step == 0
        assert part.x.shape[1] < part.lengths.max() + step


@settings(max_examples=40)
@given(documents(), st.integers(1, 5))
def test_batches_in_file_order_are_the_epoch_cut_up(examples, size):
    batches = list(in_file_order(examples, size))
    assert np.array_equal(np.concatenate([batch.x for batch in batches]), examples.x)
    assert np.array_equal(np.concatenate([batch.y for batch in batches]), examples.y)
    assert [len(batch.x) for batch in batches[:-1]] == [size] * (len(batches) - 1)
    assert len(batches[-1].x) == (len(examples.x) - 1) % size + 1
    filled = list(in_file_order(examples, size, fill=True))
    assert {batch.x.shape for batch in filled} == {(size, WIDTH)}
    assert [batch.documents for batch in filled] == [len(batch.x) for batch in batches]
    assert lessons(*filled) == lessons(examples)


@settings(max_examples=40)
@given(documents())
def test_packed_rows_are_cut_into_batches_with_their_segments(examples):
    packed = pack(examples, width=WIDTH, rows=2)
    assert lessons(*in_file_order(packed, 2)) == lessons(examples)
    assert lessons(*by_length(packed, rows=3, step=4)) == lessons(examples)


@settings(max_examples=40)
@given(documents(), st.integers(0, 2**32), st.integers(0, 1000))
def test_shuffling_keeps_the_rows_and_follows_from_seed_and_epoch(examples, seed, epoch):
    once, again = (shuffled(examples, seed=seed, epoch=epoch) for _ in range(2))
    assert np.array_equal(once.x, again.x)
    assert lessons(once) == lessons(examples)


def test_shuffling_differs_between_epochs_and_seeds():
    rows = np.arange(1, 101, dtype=np.int32)[:, None]
    orders = {
        tuple(shuffled(Batch(rows, rows), seed=seed, epoch=epoch).x[:, 0]) for seed in (0, 1) for epoch in (0, 1)
    }
    assert len(orders) == 4


def test_packing_fills_rows_that_fit_exactly():
    lengths = [2, 4, 6, 3, 4, 5]
    packed = pack(examples_of([([1] * (n + 1), 0) for n in lengths]), width=8)
    assert packed.segments.tolist() == [[1] * 2 + [2] * 6, [1] * 4 + [2] * 4, [1] * 3 + [2] * 5]


def test_packing_puts_a_document_where_the_least_room_is_left():
    packed = pack(examples_of([([1] * (n + 1), 0) for n in (6, 5, 2)]), width=8)
    assert packed.segments.tolist() == [[1] * 6 + [2] * 2, [1] * 5 + [0] * 3]


def test_a_document_longer_than_a_row_is_refused():
    with pytest.raises(ValueError, match="document 1 takes 5 places, more than the 4 of a row"):
        pack(examples_of([([1, 2], 0), ([1] * 6, 0)]), width=4)


def test_packing_twice_is_refused():
    packed = pack(examples_of([([1, 2], 0)]), width=4)
    with pytest.raises(ValueError, match="packed already"):
        pack(packed, width=4)


@pytest.mark.parametrize("size", [0, -1, 2.5, True])
@pytest.mark.usefixtures("unchecked_shapes")
def test_sizes_that_are_no_positive_whole_numbers_are_refused(size):
    examples = examples_of([([1, 2], 0)])
    with pytest.raises(ValueError, match=f"must be .*{size}"):
        list(in_file_order(examples, size))
    with pytest.raises(ValueError, match=f"must be .*{size}"):
        by_length(examples, rows=size)
    with pytest.raises(ValueError, match=f"must be .*{size}"):
        pack(examples, width=size)


def test_rows_without_a_target_are_in_no_packed_row_and_no_micro_batch():
    examples = examples_of([([1, 2], 0)]).filled(5)
    assert examples.documents == 1
    assert len(by_length(examples, rows=1)) == 1
    assert pack(examples, width=4).documents == 1
