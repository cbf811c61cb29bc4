"""The law of products without a variance, against simulation and against the law that they break."""

import math

import numpy as np
import pytest

from attnlab_theory.theory.features import infinite_variance as theory

DRAWS = 20_000


def simulated(length: float, a: float, m: int, tolerance: float) -> float:
    g = np.random.default_rng(m).normal(size=(DRAWS, m))
    products = math.sqrt(1 - 4 * a) * np.exp(2 * a * g**2 + math.sqrt((1 - 4 * a) * length) * g - length / 2)
    return float(np.mean(np.abs(np.mean(products, axis=1) - 1) > tolerance))


@pytest.mark.slow("two of twelve members stay inside", but=2)
@pytest.mark.parametrize("m", [8, 16, 128])
@pytest.mark.parametrize(("length", "a"), [(0.5, -0.1), (0.5, 0.15), (2.0, 0.2), (0.5, 0.24)])
def test_chances_meet_a_simulation(length, a, m):
    chance = theory.chance_of_error(length, a, m, 0.1)
    assert abs(simulated(length, a, m, 0.1) - chance) < 5 * 0.5 / math.sqrt(DRAWS)


def test_with_a_variance_errors_fall_as_the_root_law_says_and_without_one_they_do_not():
    with_variance, without = (
        (theory.chance_of_error(0.5, a, 4096, 0.1), theory.chance_if_root_law(0.5, a, 4096, 0.1, start=1024))
        for a in (-0.1, 0.2)
    )
    assert with_variance[0] == pytest.approx(with_variance[1], abs=1e-3)
    assert without[0] > without[1] + 0.1


def test_too_few_projections_are_refused():
    with pytest.raises(ValueError, match="m is at least 8, not 7"):
        theory.chance_of_error(0.5, 0.2, 7, 0.1)


def test_no_projection_moves_the_root_law_from_its_start():
    assert theory.chance_if_root_law(0.5, 0.2, 64, 0.1, start=64) == pytest.approx(
        theory.chance_of_error(0.5, 0.2, 64, 0.1)
    )
