"""Where the numbers of a cache are: caches of one place are one."""

import numpy as np
import pytest

from attnlab_theory.conform.memory import place


class Tensor:
    """What torch shows of a tensor."""

    def __init__(self, start):
        self.data_ptr = lambda: start


BUFFER, OTHER, SHARED = np.zeros((2, 8)), np.zeros((2, 8)), object()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (BUFFER, BUFFER[:, :3]),
        (BUFFER[:, 2:5], BUFFER[:, 4:]),  # a window that moves over one buffer
        ((BUFFER, 3), (BUFFER[:, :2], 4)),
        ([Tensor(8), Tensor(16)], [Tensor(8), Tensor(16)]),
        (SHARED, SHARED),
    ],
)
def test_caches_of_one_place_are_one(one, other):
    assert place(one) == place(other) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (BUFFER, OTHER),
        ((BUFFER, BUFFER), (BUFFER, OTHER)),
        ((BUFFER,), (BUFFER, BUFFER)),
        (Tensor(8), Tensor(16)),
        ({"k": BUFFER}, {"k": BUFFER}),
    ],
)
def test_caches_of_two_places_are_two(one, other):
    assert place(one) != place(other)


@pytest.mark.parametrize("cache", [None, 3, "kept", (), (1, 2.0), Tensor(0), np.zeros(0), (BUFFER, Tensor(0))])
def test_what_has_no_numbers_has_no_place(cache):
    assert place(cache) is None
