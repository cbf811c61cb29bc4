"""What the titles of the review lab's figures say."""

import pytest

pytest.importorskip("matplotlib")

from attnlab_theory.labs.estimates import Estimate, Estimates
from attnlab_theory.labs.reviews import figures
from attnlab_theory.stats import Interval


def accuracy(quantity, value, **setting):
    """A measured accuracy."""
    return Estimate(
        quantity=quantity,
        setting=setting,
        value=value,
        interval=Interval(value - 0.05, value + 0.05),
        draws=100,
        bound="",
        error_rate=0.05,
    )


def of_kinds(*values):
    kinds = [(kind, has) for kind in ("negation", "opposition") for has in (False, True)]
    return [
        accuracy("accuracy by kind", value, kind=kind, has=has)
        for (kind, has), value in zip(kinds, values, strict=True)
    ]


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        ((0.9, 0.8, 0.9, 0.9), "80.0% (reviews with negation)"),
        ((0.9, 0.80001, 0.80002, 0.9), "80.0% (reviews with negation and those without opposition)"),
    ],
)
def test_the_lowest_accuracies_are_named_and_all_that_print_alike(kinds, told):
    lengths = [
        accuracy("accuracy by length", value, least=least) for least, value in ((0, 0.9), (8, 0.7), (12, 0.8))
    ]
    title = figures.errors(Estimates([*lengths, *of_kinds(*kinds)])).get_suptitle()
    by_length = "By length, the lowest measured accuracy is 70.0% (reviews of 8 to 11 words)"
    assert title == f"{by_length};\nby kind, it is {told}"
