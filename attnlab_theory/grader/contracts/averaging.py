"""practical4 2b, 2c.1 and 2d.1, cs224n 1b.ii, 1c.i and 1d.i: queries that average two values of many."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st
from jaxtyping import Array, Float, PRNGKeyArray, UInt

from attnlab_theory.grader.contract import Contract, Measurement
from attnlab_theory.grader.contracts.frames import REFLECTIONS, Draw, Frame, refuse_unpromised
from attnlab_theory.grader.contracts.worst_values import worst_error
from attnlab_theory.sampling import noisy_keys
from attnlab_theory.seeds import key_for

MOST_KEYS = 64
MOST_WIDTH = 72
NOISE = 1e-3
"""The standard deviation of a score's noise. The keys' variance, (NOISE / |q|)^2, is chosen after the query."""

SHORTEST = 1e-150
"""The least length of a query. A shorter one is wrong, and noise of NOISE / |q| would overflow float64."""

UNIT = "times the largest norm of a value"

SAME_QUERIES = (
    "The two queries are the same, or nearly, so one head does as well. They fail if one key varies in length, as "
    "attnlab check --question practical4/2d.2 shows."
)


@functools.cache
def _noise_key() -> PRNGKeyArray:
    return key_for(0, "practical4/2c.1")


@functools.cache
def _compiled() -> Callable[..., Array]:
    # On a processor LLVM's first level, as in stats/draws.py: at level 0 the normals take more than twice as long.
    options = {"xla_backend_optimization_level": 1} if jax.default_backend() == "cpu" else None
    return jax.jit(_noisy, compiler_options=options)


def _noisy(
    key: PRNGKeyArray, number: UInt[Array, ""], means: Float[Array, "s d"], variance: Float[Array, ""]
) -> Float[Array, "s d"]:
    stretch = jnp.zeros(means.shape[0], means.dtype)
    return noisy_keys(jax.random.fold_in(key, number), means, variance=variance, stretch=stretch)


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two of n orthonormal keys, and the seed of the noise of the keys. Without a seed there is no noise."""

    frame: Frame
    a: int
    b: int
    heads: int = 1
    noise: int | None = None

    def __post_init__(self) -> None:
        n, d = self.frame.n, self.frame.d
        refuse_unpromised(
            {
                f"2 <= n <= {MOST_KEYS}": 2 <= n <= MOST_KEYS,
                f"n <= d <= n + {MOST_WIDTH - MOST_KEYS}": n <= d <= n + MOST_WIDTH - MOST_KEYS,
                "a and b are two of the keys": 0 <= self.a < n and 0 <= self.b < n and self.a != self.b,
                "the noise has a seed of 32 bits": self.noise is None or 0 <= self.noise < 2**32,
            }
        )

    @property
    def arguments(self) -> tuple[np.ndarray | int, ...]:
        """The frame and the two indices."""
        return self.frame.rows, self.a, self.b

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """One query per head."""
        return ((self.frame.d,),) * self.heads

    def shown(self) -> dict[str, str]:
        """The givens."""
        name = "keys" if self.noise is None else "means"
        seed = {} if self.noise is None else {"noise": f"seed {self.noise}"}
        return {
            "n, d": f"{self.frame.n}, {self.frame.d}",
            "a, b": f"{self.a}, {self.b}",
            name: self.frame.shown(),
            **seed,
        }

    def measure(self, answer: tuple[np.ndarray, ...]) -> Measurement:
        """The output's distance from the mean of the two values, for the worst values of norm at most 1."""
        # Padding with masked keys, and with zero coordinates, changes no weight and keeps one shape
        # for all n, so the operator is compiled once.
        queries, keys = np.zeros((self.heads, MOST_WIDTH)), np.zeros((MOST_KEYS, MOST_WIDTH))
        queries[:, : self.frame.d], keys[: self.frame.n, : self.frame.d] = answer, self.frame.rows
        wanted = np.zeros(MOST_KEYS)
        wanted[[self.a, self.b]] = 0.5
        with np.errstate(over="ignore"):
            norm = np.linalg.norm(queries, axis=1).max()
        if self.noise is not None and np.any(queries):
            norm = max(norm, SHORTEST)
            variance = np.float64((NOISE / norm) ** 2)
            keys = np.asarray(_compiled()(_noise_key(), np.uint32(self.noise), keys, variance))
        measured = worst_error(queries, keys, wanted[None], present=self.frame.n, average_heads=True)
        # Queries that differ by less than a hundredth of the longer one do not hedge.
        alike = self.heads == 2 and np.linalg.norm(queries[0] - queries[1]) <= norm / 100
        return dataclasses.replace(measured, remark=SAME_QUERIES if alike else "")


def _described(fields: dict[str, Any], heads: int, noisy: bool) -> Pair:
    """A case by its fields. The question says how many heads there are, and whether there is noise."""
    pair = Pair(**fields)
    refuse_unpromised(
        {f"heads are {heads}": pair.heads == heads, "noise is asked for": noisy == (pair.noise is not None)}
    )
    return pair


@st.composite
def _pairs(draw: Draw, heads: int, noisy: bool) -> Pair:
    n = draw(st.integers(2, MOST_KEYS))
    a, b = draw(st.lists(st.integers(0, n - 1), min_size=2, max_size=2, unique=True))
    frame = Frame(n, n + draw(st.integers(0, MOST_WIDTH - MOST_KEYS)), draw(REFLECTIONS))
    return Pair(frame, a, b, heads, draw(st.integers(0, 2**32 - 1)) if noisy else None)


def _every_size(heads: int, noisy: bool) -> tuple[Pair, ...]:
    """One case for each promised n and d. Draws favour small numbers and would leave out most sizes."""
    found = []
    for n in range(2, MOST_KEYS + 1):
        for d in range(n, n + MOST_WIDTH - MOST_KEYS + 1):
            a = 7 * d % n
            b = (a + 1 + 5 * d % (n - 1)) % n
            found.append(Pair(Frame(n, d, ((1, 2, 3),)), a, b, heads, 100 * n + d if noisy else None))
    return tuple(found)


_VALUES = "all values of norm at most 1 (the error is taken at the worst of them, which are known exactly)"
_SIZES = f"all 2 <= n <= {MOST_KEYS}, n <= d <= n + {MOST_WIDTH - MOST_KEYS}, all pairs a != b, all orthonormal"
_SAMPLE = (
    "Every n and d is tried with at least one pair (a, b). So an answer that is wrong for one n and d is caught. "
    "An answer that is wrong for only one pair of one n and d is missed with a chance of about 1 - 1/(n(n - 1))."
)
_MEASURE = "The error is |c - (v_a + v_b)/2|, c being the output of softmax attention with scale 1"
_NOISE = (
    "The noise is chosen after the query, because under any fixed variance a large enough query fails: "
    "key i is drawn from N(mu_i, s^2 I) with s = 1e-3 / |q|"
)

BOTH = (
    "Look at the weights: are the two wanted ones equal, and is nothing left for the others? Weights are "
    "exponentials, so it is the differences of scores that count, also among 64 keys."
)

AVERAGE = Contract(
    question="practical4/2b",
    asks="a query whose output is the average of two values.",
    function="query",
    parameters={
        "keys: np.ndarray": "n orthonormal rows of width d, shape (n, d)",
        "a: int": "row of the first key, from 0",
        "b: int": "row of the second",
    },
    returns={"q": "the query, shape (d,)"},
    quantified=f"{_SIZES} keys, {_VALUES}.",
    measure=f"{_MEASURE}.",
    unit=UNIT,
    tolerance=1e-2,
    case=lambda **fields: _described(fields, heads=1, noisy=False),
    cases=lambda: _pairs(heads=1, noisy=False),
    besides=_every_size(heads=1, noisy=False),
    hints={"wrong": BOTH},
    remarks=(_SAMPLE,),
)

NOISY = Contract(
    question="practical4/2c.1",
    asks="a query whose output is the average of two values though the keys are slightly noisy.",
    function="query",
    parameters={
        "means: np.ndarray": "the keys' means, n orthonormal rows of width d, shape (n, d)",
        "a: int": "row of the first mean, from 0",
        "b: int": "row of the second",
    },
    returns={"q": "the query, shape (d,)"},
    quantified=f"{_SIZES} means, {_VALUES}; the noise is one draw per case.",
    measure=f"{_MEASURE} and noisy keys.",
    unit=UNIT,
    tolerance=1e-2,
    case=lambda **fields: _described(fields, heads=1, noisy=True),
    cases=lambda: _pairs(heads=1, noisy=True),
    besides=_every_size(heads=1, noisy=True),
    hints={"wrong": f"{BOTH} The noise is small against the means."},
    remarks=(f"{_NOISE}.", _SAMPLE),
)

TWO_HEADS = Contract(
    question="practical4/2d.1",
    asks="two queries whose outputs average to the average of two values, the keys slightly noisy.",
    function="queries",
    parameters=NOISY.parameters,
    returns={"q1": "the first head's query, shape (d,)", "q2": "the second's, shape (d,)"},
    quantified=NOISY.quantified,
    measure="The error is |(c_1 + c_2)/2 - (v_a + v_b)/2|, c_1 and c_2 the outputs of softmax attention, scale 1.",
    unit=UNIT,
    tolerance=1e-2,
    case=lambda **fields: _described(fields, heads=2, noisy=True),
    cases=lambda: _pairs(heads=2, noisy=True),
    besides=_every_size(heads=2, noisy=True),
    hints={
        "wrong": "The two outputs are averaged. Look at the weights of each head: what should each of them return?"
    },
    remarks=(
        f"{_NOISE}, |q| the larger norm of the two.",
        _SAMPLE,
        "q1 = q2 is accepted where it is right, with a remark: practical4/2d.2 tells such queries apart.",
    ),
)

CONTRACTS = (
    AVERAGE,
    NOISY,
    TWO_HEADS,
    *(
        dataclasses.replace(contract, question=f"cs224n/{part}")
        for part, contract in (("1b.ii", AVERAGE), ("1c.i", NOISY), ("1d.i", TWO_HEADS))
    ),
)
"""The last three have the same contracts as the first three, under other names."""
