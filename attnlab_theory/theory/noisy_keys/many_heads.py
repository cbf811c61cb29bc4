"""As many heads as keys to average (docs/mathematics/noisy_keys.md).

The problem is that of theory/noisy_keys/stretched_key.py: head h asks beta mu_h, and some keys are stretched.
"""

import functools

from attnlab_theory.theory.noisy_keys import moments
from attnlab_theory.theory.noisy_keys.stretched_key import head_asking_for, mean_of_first


@functools.cache
def many_heads_error(n: int, beta: float, variance: float, heads: int, stretched: int) -> float:
    """E||c - mean of the first `heads` values||^2, with a head for each value.

    The first `stretched` keys are stretched. Every head's moments are one-dimensional integrals.

    Source: docs/mathematics/noisy_keys.md.
    """
    asked = [head_asking_for(n, beta, variance, wanted, stretched) for wanted in range(heads)]
    return moments.mean_of_heads_squared_error(asked, mean_of_first(n, heads))
