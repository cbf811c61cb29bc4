"""The largest arrays of short and of long rows."""

from attnlab_theory.theory.cost import recurrence
from attnlab_theory.theory.cost.recurrence import LayerKind


def test_one_head_of_short_rows_holds_its_output_and_long_rows_their_weights():
    assert recurrence.largest_array(LayerKind.PLAIN, 8, 64) == 4 * 8 * 64
    assert recurrence.largest_array(LayerKind.PLAIN, 128, 64, heads=4) == 4 * 4 * 128**2
    assert recurrence.largest_array(LayerKind.BLOCKED, 128, 64, heads=4, block=32) == recurrence.largest_array(
        LayerKind.RECURRENT, 128, 64
    )


def test_only_recurrence_waits_longer_and_costs_less_as_rows_grow():
    assert [recurrence.chain(kind, 40) for kind in LayerKind] == [2, 2, 40]
    assert recurrence.products(LayerKind.RECURRENT, 40, 8) < recurrence.products(LayerKind.PLAIN, 40, 8)
    assert recurrence.products(LayerKind.BLOCKED, 8, 8) == recurrence.products(LayerKind.RECURRENT, 8, 8)
