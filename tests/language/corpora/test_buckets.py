"""Buckets hold every row once, in few shapes, with the gradient of the whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.language.corpora.buckets import WIDTHS, alike, in_buckets, in_order, lengths_of, micro_batches
from attnlab_theory.language.corpora.labelled_batches import LabelledBatch


def rows_of(lengths, width=40):
    """Rows whose tokens tell their number."""
    mask = np.arange(width) < np.array(lengths)[:, None]
    numbers = np.arange(1, len(lengths) + 1, dtype=np.int32)
    tokens = np.where(mask, numbers[:, None], np.int32(0))
    return LabelledBatch(tokens, mask, numbers - 1, np.ones(len(lengths), np.float32))


LENGTHS = st.lists(st.integers(1, 40), min_size=1, max_size=30)


@given(LENGTHS, st.integers(1, 7))
def test_every_row_is_in_one_bucket_with_all_its_tokens(lengths, rows):
    whole = rows_of(lengths)
    seen = []
    for bucket in in_buckets(whole, rows=rows):
        width = bucket.batch.tokens.shape[1]
        assert bucket.batch.tokens.shape[0] == rows
        assert width in (*WIDTHS, 40)
        assert lengths_of(bucket.batch)[: len(bucket.rows)].tolist() == [lengths[row] for row in bucket.rows]
        assert (bucket.batch.labels[: len(bucket.rows)] == bucket.rows).all()
        assert not bucket.batch.weights[len(bucket.rows) :].any()
        seen += bucket.rows.tolist()
    assert sorted(seen) == list(range(len(lengths)))


@given(LENGTHS)
def test_a_bucket_is_at_most_half_as_wide_again_as_its_longest_row(lengths):
    for bucket in in_buckets(rows_of(lengths), rows=1):
        width = bucket.batch.tokens.shape[1]
        assert width == WIDTHS[0] or width < 1.5 * lengths[bucket.rows[0]]


def test_micro_batches_weigh_what_the_batch_weighs():
    whole = rows_of([3, 9, 20, 40, 1])
    parts = micro_batches(whole, rows=2)
    assert sum(part.weight for part in parts) == whole.weight
    assert sum(int(part.mask.sum()) for part in parts) == int(whole.mask.sum())


def test_an_epoch_has_every_row_once_in_an_order_that_follows_from_seed_and_epoch():
    whole = rows_of(range(1, 11))

    def order(shuffled):
        return [label for batch in in_order(whole, 4, shuffled=shuffled) for label in batch.labels.tolist()]

    assert order(None) == list(range(10))
    assert order((0, 1)) == order((0, 1)) != order((0, 2))
    assert sorted(order((3, 0))) == list(range(10))
    assert [len(batch.labels) for batch in in_order(whole, 4)] == [4, 4, 2]


@given(LENGTHS, st.integers(1, 4), st.integers(0, 9))
def test_batches_of_alike_lengths_have_every_row_once(lengths, size, epoch):
    whole = rows_of(lengths)
    seen = [batch.labels.tolist() for batch in alike(whole, size, shuffled=(0, epoch))]
    assert sorted(label for batch in seen for label in batch) == list(range(len(lengths)))
    assert all(len(batch) == size for batch in seen[:-1])
    assert seen == [batch.labels.tolist() for batch in alike(whole, size, shuffled=(0, epoch))]


def test_batches_of_alike_lengths_come_in_random_order_and_waste_less():
    rng = np.random.default_rng(0)
    whole = rows_of(rng.integers(1, 41, 600))

    def longest(batches):
        return [int(lengths_of(batch).max()) for batch in batches]

    found, usual = longest(alike(whole, 4, shuffled=(0, 0))), longest(in_order(whole, 4, shuffled=(0, 0)))
    assert sum(found) < 0.8 * sum(usual)
    assert found not in (sorted(found), sorted(found, reverse=True))
    assert longest(alike(whole, 4, shuffled=(0, 1))) != found


def test_a_size_that_is_none_is_refused():
    with pytest.raises(ValueError, match="rows"):
        in_buckets(rows_of([1]), rows=0)
    with pytest.raises(ValueError, match="size"):
        in_order(rows_of([1]), 0)
    with pytest.raises(ValueError, match="size"):
        alike(rows_of([1]), 0, shuffled=(0, 0))
