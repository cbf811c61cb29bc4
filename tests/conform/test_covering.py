"""Pairs of features come from a table that is computed, and not from memory."""

import itertools

import pytest

from attnlab_theory.conform.covering import covering

COLUMNS = {
    "causal": (False, True),
    "groups": (1, 2, 4),
    "window": (None, 3),
    "kind": ("float32", "float16", "bfloat16"),
    "sizes": tuple((1, n, n) for n in (1, 2, 7, 17)),
}


def holds(rows, names):
    wanted = itertools.product(*(COLUMNS[name] for name in names))
    return all(
        any(all(row[n] == v for n, v in zip(names, values, strict=True)) for row in rows) for values in wanted
    )


@pytest.mark.parametrize("names", [*itertools.combinations(COLUMNS, 2)])
def test_every_pair_of_values_stands_in_some_row(names):
    assert holds(covering(COLUMNS), names)


def test_every_triple_of_named_columns_stands_in_some_row():
    rows = covering(COLUMNS, triples=("causal", "groups", "window"))
    assert holds(rows, ("causal", "groups", "window"))
    assert not holds(covering(COLUMNS), ("groups", "kind", "sizes"))


def test_a_table_is_far_smaller_than_the_product_and_always_the_same():
    rows = covering(COLUMNS)
    assert len(rows) <= 14
    assert rows == covering(COLUMNS)
    assert covering({"one": (1, 2, 3)}) == [{"one": 1}, {"one": 2}, {"one": 3}]
