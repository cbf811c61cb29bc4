"""What is said of a run that another cannot go on with."""

from attnlab_theory.language.runs import _differences


def test_differences_are_told_in_the_order_of_their_names():
    names = [f"a{number:02}" for number in range(20)]
    told = list(_differences("", dict.fromkeys(names, 1), dict.fromkeys(reversed(names), 2)))
    assert told == [f"{name} (1, not 2)" for name in names]
