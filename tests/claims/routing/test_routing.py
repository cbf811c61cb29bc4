"""Inputs sent in a cycle are sent to the next."""

import pytest

from attnlab_theory.claims.routing.routing import CELLS


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_heavy_weight_of_a_row_is_that_of_the_next_input(n):
    for row in range(1, n + 1):
        cells = [CELLS.at(n=n, row=row, column=column, tolerance=1e-3) for column in range(1, n + 1)]
        predicted = [CELLS.predicted_at(cell).low for cell in cells]
        assert [weight > 0.99 for weight in predicted] == [column == row % n for column in range(n)]
