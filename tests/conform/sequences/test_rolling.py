"""More tokens than a window holds: a cache that keeps a window goes on rightly, and one that does not is found."""

import pytest

from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.suite import suite_class
from tests.conform.sequences import rolling


@pytest.mark.parametrize("name", rolling.RIGHT)
def test_a_right_window_holds_whatever_its_length(name):
    row = suite_class("decode")(Direct(rolling.RIGHT[name]), "decode").row("many tokens")
    assert (row.verdict, row.tried) == ("holds", 3)


@pytest.mark.parametrize("name", rolling.BUGS)
def test_a_window_that_is_wrong_at_its_edge_fails(name):
    assert suite_class("decode")(Direct(rolling.BUGS[name]), "decode").row("many tokens").verdict == "fails"


def test_a_cache_that_takes_fewer_tokens_is_not_accused():
    def short(q, k, v, cache=None):
        if k.shape[-2] + (0 if cache is None else cache[0].shape[-2]) > 200:
            raise ValueError("at most 200 tokens")
        return rolling.rolling(1000)(q, k, v, cache)

    row = suite_class("decode")(Direct(short), "decode").row("many tokens")
    assert (row.verdict, row.tried) == ("holds", 2)
