"""One head with Q = K, no mask and no positions: what its symmetric scores can route, and what they cannot."""

import itertools
import math
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from attnlab_theory.attention import attention_scores
from attnlab_theory.identities import cases
from attnlab_theory.identities.cases import Tokens
from attnlab_theory.identities.identity import Identity
from attnlab_theory.identities.rounding import host, score_rounding

ScoresOf = Callable[..., Array]
"""A function of (queries, keys, scale=) to scores."""


def positive_semidefinite(subject: str, scores_of: ScoresOf, *, shared: bool = True) -> Identity[Tokens]:
    """Shared projections make a Gram matrix."""

    def residual(case: Tokens) -> float:
        q, k = _projected(case, shared)
        scores = host(scores_of(q, k, scale=case.scale))
        if not np.all(np.isfinite(scores)):
            return math.nan  # of which no eigenvalues are worked out
        return float(max(np.max(np.abs(scores - scores.T)), -np.linalg.eigvalsh((scores + scores.T) / 2)[0]))

    return Identity(
        family="scores-semidefinite",
        subject=subject,
        statement="With Q = K the scores are symmetric and positive semidefinite.",
        source="mathematics/identities.md#one-head-with-shared-keys-and-queries",
        cases=cases.tokens,
        residual=residual,
        # Weyl: an eigenvalue moves by at most the norm of the error, n times its largest entry.
        tolerance=lambda case: case.x.shape[0] * _rounding(case, shared),
        broken=not shared,
    )


def no_three_cycle(subject: str, scores_of: ScoresOf, *, shared: bool = True) -> Identity[Tokens]:
    """Three tokens cannot attend in a circle: S12 > S13 = S31 > S32 = S23 > S21 = S12 is a contradiction."""

    def residual(case: Tokens) -> float:
        q, k = _projected(case, shared)
        s = host(scores_of(q, k, scale=case.scale))
        a, b, c = np.array(list(itertools.permutations(range(len(s)), 3))).T
        # The least of the three margins by which a prefers b to c, b prefers c to a, and c prefers a to b.
        return float(np.max(np.min([s[a, b] - s[a, c], s[b, c] - s[b, a], s[c, a] - s[c, b]], axis=0)))

    return Identity(
        family="no-three-cycle",
        subject=subject,
        statement=r"With Q = K no three tokens look at each other in a circle, $1 \to 2 \to 3 \to 1$.",
        source="mathematics/identities.md#one-head-with-shared-keys-and-queries",
        cases=cases.tokens,
        residual=residual,
        tolerance=lambda case: 2 * _rounding(case, shared),
        broken=not shared,
    )


CHAIN = np.array([[2.0, 0.0, 0.0, 0.0], [0.9, 0.5, 0.0, 0.0], [3.0, -3.0, 0.0, 0.0]])
"""Tokens 1, 2, 3 whose products are largest at 2 -> 1 and 1 -> 3: a long token attracts."""


def possible_chain(subject: str, scores_of: ScoresOf) -> Identity[Tokens]:
    """Symmetry forbids circles, not chains. This is a chain, in every orthonormal frame."""

    def residual(case: Tokens) -> float:
        frame = np.linalg.qr(host(case.w_k))[0]
        keys = jnp.asarray(CHAIN @ frame.T, case.x.dtype)
        s = host(scores_of(keys, keys, scale=case.scale)) / float(case.scale)
        margins = (s[1, 0] - s[1, 1], s[1, 0] - s[1, 2], s[0, 2] - s[0, 0], s[0, 2] - s[0, 1])
        return -float(np.min(margins))

    def tolerance(case: Tokens) -> float:
        """The least exact margin is 0.6 (token 2 prefers 1 to 3). If half of it remains, there is a chain."""
        return -0.3

    return Identity(
        family="possible-chain",
        subject=subject,
        statement=r"With Q = K a chain of strict row maxima $2 \to 1 \to 3$ is possible.",
        source="mathematics/identities.md#one-head-with-shared-keys-and-queries",
        cases=cases.tokens,
        residual=residual,
        tolerance=tolerance,
    )


def _projected(case: Tokens, shared: bool) -> tuple[Array, Array]:
    keys = case.x @ case.w_k
    return (keys if shared else case.x @ case.w_q), keys


def _rounding(case: Tokens, shared: bool) -> float:
    return score_rounding(*_projected(case, shared), case.scale)


IDENTITIES = (
    positive_semidefinite("shared Q = K", attention_scores),
    positive_semidefinite("separate Q, K", attention_scores, shared=False),
    no_three_cycle("shared Q = K", attention_scores),
    no_three_cycle("separate Q, K", attention_scores, shared=False),
    possible_chain("shared Q = K", attention_scores),
)
