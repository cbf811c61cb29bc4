"""practical4 2d.2 and cs224n 1d.ii: two queries that survive a key of uncertain length."""

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from hypothesis import strategies as st
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention
from attnlab_theory.grader.contract import Contract, Measurement
from attnlab_theory.grader.contracts.averaging import NOISE, SHORTEST
from attnlab_theory.grader.contracts.frames import REFLECTIONS, Draw, Frame, refuse_unpromised
from attnlab_theory.sampling import hashed_normal, noisy_keys
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import bounded
from attnlab_theory.theory.noisy_keys.one_head import one_head_error
from attnlab_theory.theory.noisy_keys.stretched_key import STRETCH

FEWEST, MOST_KEYS, MOST_EXTRA = 8, 16, 4
MOST_WIDTH = MOST_KEYS + MOST_EXTRA
SHARE = 0.4
"""The error of a right answer is at most this share of the least error that a single query beta (mu_a + mu_b) has.
"""

DRAWS = 2**13
ERROR_RATE = 1e-8
"""The error rate of one case. All cases of a judgement together err at most once in a million."""


@functools.cache
def best_single_query(n: int) -> tuple[float, float]:
    """The beta of the single query beta (mu_a + mu_b) with the least expected squared error, and that error."""

    def error(log_beta: float) -> float:
        beta = float(np.exp(log_beta))
        return one_head_error(n, beta, (NOISE / (beta * np.sqrt(2))) ** 2)

    # One minimum, near beta = 2: weaker queries average all keys, stronger ones toss a coin.
    found = scipy.optimize.minimize_scalar(error, bounds=(np.log(0.5), np.log(10)), options={"xatol": 1e-4})
    return float(np.exp(found.x)), float(found.fun)


@functools.cache
def _compiled() -> Callable[..., Array]:
    # On a processor LLVM's first level, as in stats/draws.py: at level 0 the draws take four times as long.
    options = {"xla_backend_optimization_level": 1} if jax.default_backend() == "cpu" else None
    return jax.jit(_squared_errors, static_argnames="draws", compiler_options=options)


def _squared_errors(
    key: PRNGKeyArray,
    queries: Float[Array, "2 d"],
    means: Float[Array, "s d"],
    stretch: Float[Array, " s"],
    wanted: Float[Array, " s"],
    variance: Float[Array, ""],
    draws: int,
) -> Float[Array, " draws"]:
    present = jnp.any(means != 0, axis=1)
    values = jnp.eye(means.shape[0])

    def error(key: PRNGKeyArray) -> Float[Array, ""]:
        keys = noisy_keys(key, means, variance=variance, stretch=stretch, normal=hashed_normal)
        mask = jnp.broadcast_to(present, (queries.shape[0], present.shape[0]))
        c = jnp.mean(attention(queries, keys, values, mask, scale=1.0), axis=0)
        return jnp.sum((c - wanted) ** 2)

    return jax.lax.map(error, jax.random.split(key, draws), batch_size=1024)


@dataclasses.dataclass(frozen=True)
class StretchedPair:
    """Two of n orthonormal means, the first of uncertain length, and the seed of the noise."""

    frame: Frame
    a: int
    b: int
    noise: int

    def __post_init__(self) -> None:
        n, d = self.frame.n, self.frame.d
        refuse_unpromised(
            {
                f"{FEWEST} <= n <= {MOST_KEYS}": FEWEST <= n <= MOST_KEYS,
                f"n <= d <= n + {MOST_EXTRA}": n <= d <= n + MOST_EXTRA,
                "a and b are two of the keys": 0 <= self.a < n and 0 <= self.b < n and self.a != self.b,
                "the noise has a seed of 32 bits": 0 <= self.noise < 2**32,
            }
        )

    @property
    def arguments(self) -> tuple[np.ndarray | int, ...]:
        """The frame and the two indices."""
        return self.frame.rows, self.a, self.b

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """One query per head."""
        return ((self.frame.d,),) * 2

    def shown(self) -> dict[str, str]:
        """The givens."""
        return {
            "n, d": f"{self.frame.n}, {self.frame.d}",
            "a, b": f"{self.a}, {self.b}",
            "means": self.frame.shown(),
            "noise": f"{DRAWS:,} draws, seed {self.noise}",
        }

    def measure(self, answer: tuple[np.ndarray, ...]) -> Measurement:
        """The expected squared error divided by that of the best single query: an interval by draws."""
        n, d = self.frame.n, self.frame.d
        # Padding keeps one shape, so the program is compiled once; a mean of zeros is masked.
        queries, means = np.zeros((2, MOST_WIDTH)), np.zeros((MOST_KEYS, MOST_WIDTH))
        queries[:, :d], means[:n, :d] = answer, self.frame.rows
        stretch, wanted = np.zeros(MOST_KEYS), np.zeros(MOST_KEYS)
        stretch[self.a], wanted[[self.a, self.b]] = STRETCH, 0.5
        with np.errstate(over="ignore"):
            norm = max(float(np.linalg.norm(queries, axis=1).max()), SHORTEST)
        key = key_for(self.noise, "practical4/2d.2")
        variance = jnp.asarray((NOISE / norm) ** 2)
        errors = np.asarray(_compiled()(key, *map(jnp.asarray, (queries, means, stretch, wanted)), variance, DRAWS))
        beta, least = best_single_query(n)
        if not np.all(np.isfinite(errors)):
            return Measurement(error=np.inf, seen={"scores": "overflow"})
        # The squared distance of two points of the simplex is at most 2.
        found = bounded(0.0, 2.0001).interval(errors, ERROR_RATE)
        low, high = found.low / least, found.high / least
        undecided = low <= SHARE < high
        return Measurement(
            error=SHARE if undecided else low if low > SHARE else high,
            seen={
                "expected squared error": f"{found.low:.4g} to {found.high:.4g}",
                "of the best single query": f"{least:.4g}, at beta = {beta:.3g}",
            },
            undecided=undecided,
        )


@st.composite
def _pairs(draw: Draw) -> StretchedPair:
    n = draw(st.integers(FEWEST, MOST_KEYS))
    a, b = draw(st.lists(st.integers(0, n - 1), min_size=2, max_size=2, unique=True))
    frame = Frame(n, n + draw(st.integers(0, MOST_EXTRA)), draw(REFLECTIONS))
    return StretchedPair(frame, a, b, draw(st.integers(0, 2**32 - 1)))


HEDGE = Contract(
    question="practical4/2d.2",
    asks="two queries whose outputs average to the average of two values though one key varies in length.",
    function="queries",
    parameters={
        "means: np.ndarray": "the keys' means, n orthonormal rows of width d, shape (n, d)",
        "a: int": "row of the key that varies in length, from 0",
        "b: int": "row of the other wanted key",
    },
    returns={"q1": "the first head's query, shape (d,)", "q2": "the second's, shape (d,)"},
    quantified=(
        f"all {FEWEST} <= n <= {MOST_KEYS}, n <= d <= n + {MOST_EXTRA}, all pairs a != b, all orthonormal means, "
        "orthonormal values. Every n is tried, with at least one pair and one d."
    ),
    measure=(
        "The error is E|(c_1 + c_2)/2 - (v_a + v_b)/2|^2 over the noise, divided by the least error of one query "
        "beta (mu_a + mu_b) over all beta. It is measured by an interval from "
        f"{DRAWS:,} draws of the keys (error rate {ERROR_RATE:g} a case); if the interval contains the tolerance, "
        "the verdict is INCONCLUSIVE."
    ),
    unit="times the squared error of the best single query",
    tolerance=SHARE,
    case=StretchedPair,
    cases=_pairs,
    examples=11,
    besides=tuple(
        StretchedPair(Frame(n, n + n % (MOST_EXTRA + 1), ((1, 2, 3),)), n - 1, n // 2 - 1, n)
        for n in range(FEWEST, MOST_KEYS + 1)
    ),
    hints={
        "wrong": "A head that scores the varying key against another one gambles on its length. Look at the "
        "outputs of each head for a long and for a short key."
    },
    remarks=(
        "Keys are drawn after the queries: key i from N(mu_i, s^2 I), s = 1e-3 / |q|, |q| the larger norm of the "
        f"two. Key a has the further variance {STRETCH:g} along mu_a.",
    ),
)

CONTRACTS = (HEDGE, dataclasses.replace(HEDGE, question="cs224n/1d.ii"))
