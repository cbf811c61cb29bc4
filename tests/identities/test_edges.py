"""Lengths that overrun blocks: what is causal for twelve positions and no more."""

import json

import numpy as np
import pytest

from attnlab_theory.identities.edges import LENGTHS, as_json, edges, sentences
from attnlab_theory.identities.leaks import leaks, other_numbers, random_numbers, random_tokens


def tokens(n):
    return random_tokens(n, 3)


def in_blocks_of(size):
    """Every full block is averaged as a whole; what is left over is summed up to each position."""

    def mix(x):
        whole = len(x) - len(x) % size
        blocks = x[:whole].reshape(-1, size, x.shape[1]).mean(axis=1)
        return np.concatenate([np.repeat(blocks, size, axis=0), np.cumsum(x[whole:], axis=0)])

    return mix


def stretched_beyond(most):
    """Positions that shrink once there are more of them than the model was trained on."""

    def mix(x):
        return x + np.arange(len(x))[:, None] / max(len(x), most)

    return mix


@pytest.mark.parametrize(("size", "where"), [(16, [17, 65, 130]), (64, [65, 130]), (128, [130])])
def test_a_leak_inside_blocks_shows_where_a_block_is_full(size, where):
    assert leaks(in_blocks_of(size), tokens(12)).causal
    found = edges(in_blocks_of(size), tokens)
    assert not found.clean
    assert [n for n, each in found.leaks.items() if not each.clean] == where
    assert as_json(found)["leaks_at"] == where
    assert sentences(found)[0].startswith(f"Leak at length {where[0]}: output ")


def test_what_depends_on_a_length_past_a_block_is_found_by_prefixes_of_whole_blocks():
    found = edges(stretched_beyond(64), tokens)
    assert all(each.causal for each in found.leaks.values())
    assert not found.clean
    assert "of the first 64 positions alone they differ by" in sentences(found)[-1]
    assert edges(stretched_beyond(200), tokens).clean


def test_what_was_tried_is_said():
    found = edges(lambda x: np.cumsum(x, axis=0), tokens)
    assert found.clean
    assert sentences(found) == ["No leak at lengths 17, 65 and 130 either, where blocks of 16, 64 and 128 end."]
    assert json.loads(json.dumps(as_json(found)))["lengths"] == list(LENGTHS)
    assert list(edges(lambda x: x, tokens, but=65).leaks) == [17, 130]


def test_lengths_that_a_function_does_not_take_are_named():
    found = edges(lambda x: x + np.zeros((17, 1)), tokens)
    assert found.clean
    assert list(found.leaks) == [17]
    assert sentences(found)[-1].startswith(
        "It takes at most 17 positions. Not tried at 65 and 130 positions: the function fails on tokens of shape ("
    )
    assert sentences(found)[0] == "No leak at length 17 either, where a block of 16 ends."


def test_the_longest_length_that_a_function_takes_is_found_and_tried():
    places = np.zeros((40, 1))
    found = edges(lambda x: x + places[: len(x)] + np.zeros((len(x), 1)), tokens)
    assert (found.longest, sorted(found.leaks)) == (40, [17, 40])


@pytest.mark.parametrize(("size", "most", "lengths"), [(3, 200, [24, 72, 132]), (4, 90, [24, 72])])
def test_lengths_of_whole_windows_are_tried_where_others_are_refused(size, most, lengths):
    def windows(x):
        return x.reshape(-1, size, x.shape[1]).cumsum(1).reshape(x.shape) + np.zeros((most, 1))[: len(x)]

    found = edges(windows, tokens, but=12)
    assert (sorted(found.leaks), found.longest, found.clean) == (lengths, None, True)
    assert sentences(found)[-1].startswith("Not tried at 17, 65 and 130 positions: ")


def convolved(x, padded):
    """A long convolution by Fourier transforms; unpadded it wraps around."""
    size = (1 + padded) * len(x)
    decay = np.fft.rfft(0.9 ** np.arange(len(x)), size)[:, None]
    return np.fft.irfft(np.fft.rfft(x, size, axis=0) * decay, size, axis=0)[: len(x)].astype(x.dtype)


def test_a_transform_moves_by_rounding_at_every_length_and_leaks_where_it_wraps_around():
    found = edges(lambda x: convolved(x, padded=True), tokens)
    assert found.clean
    for n, each in found.leaks.items():
        # Derived: a sum of as many products as there are positions, twice.
        assert each.rounding == 2 * n * float(np.finfo(np.float32).eps)
        assert each.relative <= each.rounding
    assert not found.leaks[130].causal
    wrapped = edges(lambda x: convolved(x, padded=False), tokens)
    assert as_json(wrapped)["leaks_at"] == list(LENGTHS)


def test_numbers_of_tokens_are_tried_at_the_same_lengths():
    table = np.random.default_rng(0).normal(size=(7, 3))
    found = edges(lambda ids: in_blocks_of(16)(table[ids]), lambda n: random_numbers(n, 7), other_numbers(7))
    assert not found.clean
    assert np.array_equal(random_numbers(130, 7)[:17], random_numbers(17, 7))
