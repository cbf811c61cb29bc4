"""A parameter that no call hands over is named, in one line and as data; what is handed over somewhere is not."""

import pytest

from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.report import notes_of
from attnlab_theory.conform.suite import suite_class
from tests.conform.laws import dropout_code, feature_code
from tests.conform.positions import right
from tests.conform.sequences import decoding, mixing, modelling


def clipped(x, positions, interpolation=1.0, max_position=None):
    del interpolation, max_position
    return right.interleaved(x, positions)


def both_ways(x, positions, offset=0):
    """Where it is told positions, nobody hands over an offset."""
    return right.interleaved(x, positions + offset)


def padded(length, width, padding_idx=None):
    del padding_idx
    return right.paper(length, width)


def scaled(length, width, *, scale=1.0):
    return right.paper(length, width) * scale


def masked(x, mask=None):
    del mask
    return mixing.running_mean(x)


def packed(x, *, cu_seqlens=None, segment_ids=None):
    del cu_seqlens, segment_ids
    return mixing.running_mean(x)


def sunk(q, k, v, cache=None, sinks=None):
    del sinks
    return decoding.decode()(q, k, v, cache)


class Paged(decoding.Ring):
    def init_cache(self, batch, max_len, page_size=16):
        del page_size
        return super().init_cache(batch, max_len)

    def step(self, x, cache, block_table=None):
        del block_table
        return super().step(x, cache)


def embedded(ids, inputs_embeds=None, labels=None):
    del inputs_embeds, labels
    return modelling.plain(ids)


def typed(input_ids, token_type_ids=None, **more):
    del token_type_ids, more
    return modelling.plain(input_ids)


def chunked(x, seed=0, block_size=64):
    del block_size
    return feature_code.positive(x, seed)


def attends(q, k, v, seed, key_padding_mask=None):
    del key_padding_mask
    return feature_code.attention(q, k, v, seed, 128)


def dropped(q, k, v, p=0.0, seed=0, bias=None):
    del bias
    return dropout_code.by_seed(q, k, v, p, seed)


def rescaled(q, k, v, p=0.0, seed=0, *, window=None, sinks=None):
    del window, sinks
    return dropout_code.by_seed(q, k, v, p, seed)


@pytest.mark.parametrize(
    ("kind", "target", "rows", "left"),
    [
        ("rotary", clipped, ("rotation",), ("interpolation", "max_position")),
        ("rotary", both_ways, ("rotation", "offset"), ("offset",)),
        ("sinusoidal", padded, ("table",), ("padding_idx",)),
        ("sinusoidal", scaled, ("table",), ("scale",)),
        ("mixer", masked, ("empty batch",), ("mask",)),
        ("mixer", packed, ("empty batch",), ("cu_seqlens", "segment_ids")),
        ("decode", sunk, ("token by token",), ("sinks",)),
        ("decode", Paged, ("token by token",), ("page_size", "block_table")),
        ("model", embedded, ("elements apart",), ("inputs_embeds", "labels")),
        ("model", typed, ("elements apart",), ("token_type_ids",)),
        ("random-features", chunked, ("seeds",), ("block_size",)),
        ("random-features", attends, ("seeds",), ("key_padding_mask",)),
        ("dropout", dropped, ("seeds",), ("bias",)),
        ("dropout", rescaled, ("seeds",), ("window", "sinks")),
    ],
)
def test_a_parameter_that_is_never_passed_is_named(kind, target, rows, left):
    suite = suite_class(kind)(Direct(target), kind)
    list(suite.rows(rows))
    assert suite.never_passed == [*left]
    assert notes_of(suite).count(f"never passed: {', '.join(left)}") == 1


@pytest.mark.parametrize(
    ("kind", "target", "rows"),
    [
        ("rotary", right.halves, ("base",)),
        ("rotary", right.complex_numbers, ("offset",)),
        ("sinusoidal", right.in_float32, ("base",)),
        ("decode", decoding.onnx, ("token by token",)),
        ("random-features", feature_code.attention, ("future",)),
        ("dropout", dropout_code.by_generator, ("evaluation",)),
    ],
)
def test_what_some_row_hands_over_is_not_named(kind, target, rows):
    suite = suite_class(kind)(Direct(target), kind)
    list(suite.rows(rows))
    assert (suite.never_passed, [each for each in notes_of(suite) if "never" in each]) == ([], [])
