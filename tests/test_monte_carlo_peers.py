"""The peers of benchmarks/monte_carlo.py solve the very problem that ours solves."""

import numpy as np
import pytest
import scipy.stats

from attnlab_theory.theory.noisy_keys import moments
from benchmarks import monte_carlo
from benchmarks.monte_carlo_peers import BETA, STRETCH, VARIANCE, N, numpy_keys, numpy_scores, scipy_keys

TRIALS = 2**13
ERROR_RATE = 1e-6 / 4 / (2 * N)


def expected() -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of the weights and of their squares, two rows each."""
    query = BETA * np.eye(N)[:2].sum(axis=0)
    stretch = STRETCH * np.eye(N)[0]
    laws = moments.score_laws(query, np.eye(N), variance=VARIANCE, stretch=stretch)
    powers = np.eye(N, dtype=int)
    rows = [[moments.weight_moment(*laws, (p * row).tolist()) for row in powers] for p in (1, 2, 4)]
    first, second, fourth = map(np.array, rows)
    return np.stack([first, second]), np.stack([second - first**2, fourth - second**2])


def fits(means: np.ndarray, trials: int) -> bool:
    # A large sample of numbers in [0, 1] whose variance is known.
    exact, variances = expected()
    radius = scipy.stats.norm.isf(ERROR_RATE / 2) * np.sqrt(variances / trials)
    return bool((np.abs(means - exact) <= radius).all())


@pytest.mark.slow("exact moments beside a grid over the noise stay inside")
@pytest.mark.parametrize("program", [numpy_keys, numpy_scores, scipy_keys])
def test_peers_find_the_moments_of_the_weights(program):
    assert fits(program(TRIALS, np.random.default_rng(0)), TRIALS)


@pytest.mark.slow("exact moments beside a grid over the noise stay inside")
@pytest.mark.parametrize("program", ["keys", "keys, threefry", "scores"])
def test_ours_find_the_moments_of_the_weights(program):
    """Compiles the program and draws some thousand trials."""
    found = monte_carlo._ours()[program](TRIALS)
    squares = found.variance * (found.trials - 1) / found.trials + found.mean**2
    assert fits(np.stack([found.mean, squares]), found.trials)


@pytest.mark.slow("exact moments beside a grid over the noise stay inside")
def test_other_noise_would_be_seen():
    means, _ = expected()
    assert fits(means, TRIALS)
    assert not fits(means * 1.1, TRIALS)
