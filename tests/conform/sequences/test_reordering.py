"""Beam search puts the rows of a cache in another order; and some targets have one cache, which lives in them."""

import pytest

from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.suite import suite_class
from tests.conform.sequences import reordering


def row(of, name):
    kind, target = of
    return suite_class(kind)(Direct(target), kind).row(name)


@pytest.mark.parametrize("name", reordering.RIGHT)
def test_right_rows_in_another_order_hold(name):
    found = row(reordering.RIGHT[name], "reordered cache")
    assert (found.verdict, "of a cache of 4" in found.line) == ("holds", True)


@pytest.mark.parametrize("name", reordering.BUGS)
def test_rows_that_do_not_go_with_their_sequence_fail(name):
    found = row(reordering.BUGS[name], "reordered cache")
    assert (found.verdict, "do not go on as these sequences do" in found.line) == ("fails", True)


def test_a_cache_without_its_rows_in_front_is_not_tried():
    found = row(("decode", reordering.heads_in_front), "reordered cache")
    assert (found.verdict, "does not have the 4 rows in front" in found.line) == ("not judged", True)


@pytest.mark.parametrize("name", reordering.ONE)
def test_a_single_cache_that_lives_in_the_target_is_a_convention(name):
    found = [row(("decode", reordering.ONE[name]), each) for each in ("two caches", "reordered cache")]
    assert "fails" not in {each.verdict for each in found}
    assert (found[0].verdict, "a single cache lives in the target" in found[0].line) == ("convention", True)


@pytest.mark.slow("its two rows that know of it stay inside")
@pytest.mark.parametrize("name", reordering.ONE)
def test_a_single_cache_that_lives_in_the_target_fails_nothing(name):
    suite = suite_class("decode")(Direct(reordering.ONE[name]), "decode")
    assert [each.line for each in suite.rows() if each.verdict == "fails"] == []


@pytest.mark.parametrize("name", reordering.PER_OBJECT)
def test_each_object_has_a_cache_of_its_own(name):
    target, verdict = reordering.PER_OBJECT[name]
    assert row(("decode", target), "two objects").verdict == verdict
