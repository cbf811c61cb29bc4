"""Many heads: a joint calculation, and the rates in the number of heads."""

import math

import numpy as np
import pytest

from attnlab_theory.theory.noisy_keys import many_heads as theory
from attnlab_theory.theory.noisy_keys.stretched_key import head_asking_for
from attnlab_theory.theory.noisy_keys.two_heads import lost_key_probability
from tests.lengths import BETA, N
from tests.tolerances import moment_atol


@pytest.mark.parametrize("stretched", [1, 4])
def test_many_heads_agree_with_a_joint_calculation(stretched):
    # E||c - t||^2 = sum over pairs of heads of inner products, head by head, instead of covariances and bias.
    count, n, beta, variance = 4, 8, 6.0, 0.01
    heads = [head_asking_for(n, beta, variance, wanted, stretched) for wanted in range(count)]
    target = np.where(np.arange(n) < count, 1 / count, 0.0)
    total = target @ target
    for i, one in enumerate(heads):
        total -= 2 * target @ one.first / count
        for j, other in enumerate(heads):
            total += (np.trace(one.second) if i == j else one.first @ other.first) / count**2
    assert abs(theory.many_heads_error(n, beta, variance, count, stretched) - total) <= count**2 * moment_atol(n)


def test_the_rates_in_the_number_of_heads():
    single = theory.many_heads_error(N, BETA, 0.0, 1, 1)
    for count in (2, 4, 8, 16):
        # One stretched key is 1/H^2 of one head, up to what the other heads leak.
        leak = (N - 1) * math.exp(-BETA) / single
        atol = count**2 * moment_atol(N) / single
        assert (
            abs(count**2 * theory.many_heads_error(N, BETA, 0.0, count, 1) / single - 1) <= 4 * count * leak + atol
        )
        # All stretched: variances add to 1/H; the bias makes up for the rest, p^2-small, p the lost share.
        ratio = count * theory.many_heads_error(N, BETA, 0.0, count, count) / single
        assert abs(ratio - 1) <= 2 * lost_key_probability(N, BETA)
