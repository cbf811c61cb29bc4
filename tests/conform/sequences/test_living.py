"""A cache that lives in the target is judged, and not accused of being one."""

import pytest

from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.suite import suite_class
from tests.conform.sequences import living


def judged(of):
    kind, target = of
    suite = suite_class(kind)(Direct(target), kind)
    return suite, {row.name: row for row in suite.rows()}


@pytest.mark.slow("bugs of such caches stay inside")
@pytest.mark.parametrize("name", living.RIGHT)
def test_a_right_cache_that_lives_in_the_target_fails_nothing(name):
    suite, rows = judged(living.RIGHT[name])
    assert [row.line for row in rows.values() if row.verdict == "fails"] == []
    assert rows["token by token"].verdict == rows["prefill, then steps"].verdict == "holds"
    assert ", begun by " in dict(suite.profile)["cache"]


@pytest.mark.parametrize("name", living.BUGS)
def test_a_bug_of_a_cache_that_lives_in_the_target_is_found(name):
    kind, target = living.BUGS[name]
    assert suite_class(kind)(Direct(target), kind).row("token by token").verdict == "fails"


def test_a_function_without_a_cache_is_refused():
    with pytest.raises(ValueError, match="no parameter for a cache, and a token does not look back at an earlier"):
        suite_class("decode")(Direct(living.places_without_a_cache), "decode")


def test_an_offset_alone_is_no_cache():
    suite, rows = judged(("model", living.only_places))
    assert dict(suite.profile)["cache"] == "none"
    assert [row.line for row in rows.values() if row.verdict == "fails"] == []
    assert "token by token" not in rows
