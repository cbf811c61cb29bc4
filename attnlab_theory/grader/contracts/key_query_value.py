"""practical4 2e.2: matrices K, Q and V that route three given tokens."""

import dataclasses

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from attnlab_theory.attention import attention, attention_weights
from attnlab_theory.grader.contract import Contract, Measurement
from attnlab_theory.grader.contracts.frames import REFLECTIONS, Draw, Frame, numbers, refuse_unpromised


@dataclasses.dataclass(frozen=True)
class ThreeTokens:
    """Four orthogonal vectors u_a, u_b, u_c, u_d of norm beta."""

    frame: Frame
    beta: int

    def __post_init__(self) -> None:
        refuse_unpromised(
            {
                "10 <= beta <= 100": 10 <= self.beta <= 100,
                "four vectors are given, 4 <= d <= 8": self.frame.n == 4 and self.frame.d <= 8,
            }
        )

    @property
    def arguments(self) -> tuple[np.ndarray | int, ...]:
        """The four vectors."""
        return tuple(self.beta * self.frame.rows)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """K, Q, V."""
        return ((self.frame.d, self.frame.d),) * 3

    def shown(self) -> dict[str, str]:
        """The givens."""
        return {"beta": str(self.beta), "u_a, u_b, u_c, u_d": f"beta times {self.frame.shown()}"}

    def measure(self, answer: tuple[np.ndarray, ...]) -> Measurement:
        """The larger error of c_1 and c_2, relative to beta."""
        ua, ub, uc, ud = self.beta * self.frame.rows
        x = np.stack([ud + ub, ua, uc + ub])
        with np.errstate(over="ignore", invalid="ignore"):
            keys, queries, values = (x @ matrix.T for matrix in answer)
        if not all(np.all(np.isfinite(rows)) for rows in (keys, queries, values)):
            return Measurement(error=np.inf, seen={"K x, Q x, V x": "overflow"})
        q, k, v = jnp.asarray(queries), jnp.asarray(keys), jnp.asarray(values)
        c = np.asarray(attention(q, k, v, scale=1.0))
        weights = np.asarray(attention_weights(q, k, scale=1.0))
        errors = np.linalg.norm(c[:2] - np.stack([ub - uc, ub]), axis=1) / self.beta
        # argmax finds a NaN, which means that the scores overflowed.
        worst = int(np.argmax(errors))
        return Measurement(
            error=float(errors[worst]) if np.isfinite(errors[worst]) else np.inf,
            seen={
                f"weights of c_{worst + 1}": numbers(weights[worst]),
                f"c_{worst + 1} / beta": numbers(c[worst] / self.beta),
                "wanted": numbers((ub - uc if worst == 0 else ub) / self.beta),
            },
        )


@st.composite
def _tokens(draw: Draw) -> ThreeTokens:
    return ThreeTokens(Frame(4, draw(st.integers(4, 8)), draw(REFLECTIONS)), draw(st.integers(10, 100)))


ROUTE = Contract(
    question="practical4/2e.2",
    asks="matrices K, Q, V with c_2 = u_b and c_1 = u_b - u_c, nearly.",
    function="matrices",
    parameters={
        f"{name}: np.ndarray": text
        for name, text in {
            "ua": "u_a, shape (d,)",
            "ub": "u_b",
            "uc": "u_c",
            "ud": "u_d; the four are orthogonal and of one norm beta",
        }.items()
    },
    returns={"K": "keys are K x_i, shape (d, d)", "Q": "queries are Q x_i", "V": "values are V x_i"},
    quantified="all 10 <= beta <= 100, 4 <= d <= 8, all orthogonal u_a, u_b, u_c, u_d of norm beta.",
    measure=(
        "The error is the larger of |c_2 - u_b| and |c_1 - (u_b - u_c)|, divided by beta; c is the softmax "
        "self-attention, scale 1, of x_1 = u_d + u_b, x_2 = u_a, x_3 = u_c + u_b."
    ),
    unit="times beta",
    tolerance=1e-2,
    case=ThreeTokens,
    cases=_tokens,
    hints={
        "wrong": "Write down which token each query must read, then compute the scores of all three keys by hand. "
        "The value matrix may keep one vector and drop another."
    },
    remarks=("The three matrices come back in the order K, Q, V.",),
)

CONTRACTS = (ROUTE,)
