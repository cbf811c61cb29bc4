"""A decoder is told where its tokens stand, and asked for its cache, if it wants that."""

import pytest

from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.suite import suite_class
from tests.conform.sequences.placing import RIGHT, WRONG


def name_of(target):
    return getattr(target, "__name__", "")


@pytest.mark.slow("one of five members stays inside", but=1)
@pytest.mark.parametrize(("target", "told"), RIGHT.items(), ids=name_of)
def test_right_decoders_hold_and_what_they_are_told_is_said(target, told):
    suite = suite_class("decode")(Direct(target), "decode")
    assert dict(suite.profile).get("where tokens stand", "") == told
    assert [row.line for row in suite.rows() if row.verdict == "fails"] == []


@pytest.mark.slow("a static cache that loses a key stays inside")
@pytest.mark.parametrize("target", WRONG, ids=name_of)
def test_wrong_ones_fail_whatever_they_are_told(target):
    rows = {row.name: row for row in suite_class("decode")(Direct(target), "decode").rows()}
    assert rows["token by token"].verdict == "fails"
