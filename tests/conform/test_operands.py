"""The table of operands: what cases are drawn by."""

import collections

from attnlab_theory.conform.operands import OPERANDS


def test_no_two_sizes_have_one_axis():
    """The one of two that a case has not would make the other's arrays empty."""
    roles = collections.defaultdict(list)
    for role, operand in OPERANDS.items():
        if operand.axis:
            roles[operand.axis].append(role)
    assert {axis: names for axis, names in roles.items() if len(names) > 1} == {}
