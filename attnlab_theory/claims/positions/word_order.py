"""What self-attention knows of word order: nothing, unless it is told (claims F.1)."""

import dataclasses
import functools
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.claims.claim import Claim, Verdict
from attnlab_theory.identities import symmetry
from attnlab_theory.identities.cases import Tokens
from attnlab_theory.identities.operators import full_pass
from attnlab_theory.sampling import orthonormal
from attnlab_theory.stats import Interval, exact

SENTENCE = ("the", "cat", "sat", "on", "the", "mat")
ORDER = (3, 4, 5, 2, 0, 1)
"""on the mat sat the cat: the blog's example, a permutation of the same words."""

WIDTH = 8
SCALE = 2.0

Told = Literal["nothing", "learned, still zero", "learned", "sinusoidal", "rotary", "causal mask"]


@dataclasses.dataclass(frozen=True)
class Word:
    """Word number `word` of the permuted sentence, and what tells the mixer where words stand."""

    told: Told
    word: int


@jax.jit
def _sentence(key: PRNGKeyArray) -> Tokens:
    """One random unit vector per distinct word, unit learned positions, and orthogonal projections."""
    words = sorted(set(SENTENCE))
    keys = jax.random.split(key, 5)
    vectors = orthonormal(keys[0], len(words), WIDTH)
    return Tokens(
        x=vectors[jnp.array([words.index(word) for word in SENTENCE])],
        w_q=orthonormal(keys[1], WIDTH, WIDTH),
        w_k=orthonormal(keys[2], WIDTH, WIDTH),
        w_v=orthonormal(keys[3], WIDTH, WIDTH),
        scale=SCALE,
        order=jnp.array(ORDER),
        table=orthonormal(keys[4], len(SENTENCE), WIDTH),
    )


def _mixed(case: Tokens, told: Told) -> Float[Array, "t v"]:
    if told == "learned, still zero":
        return symmetry.learned_at_zero(case)
    if told in ("learned", "sinusoidal", "rotary"):
        return full_pass(case, told, causal=False)
    return full_pass(case, "none", causal=told == "causal mask")


@functools.partial(jax.jit, static_argnames="told")
def _moved(case: Tokens, told: Told) -> Float[Array, " t"]:
    """How far each word's output moves when the sentence is permuted around it, in the permuted order."""
    permuted = dataclasses.replace(case, x=case.x[case.order])
    return jnp.linalg.norm(_mixed(permuted, told) - _mixed(case, told)[case.order], axis=1)


def _rounding(setting: Word) -> float:
    """Absolute error of the distance between two outputs of self-attention, in float32.

    Tokens have length 1, with a learned position at most 2, with a sinusoidal one 1 + sqrt(d/2) = 3; orthogonal
    projections keep that, and err by sqrt(d) (d/2 + 1) eps of it, angles of six positions by 70 eps more. A
    score pays for both of its sides and for its own sum; the weights pay as in softmax_rtol, twice.
    """
    eps = float(np.finfo(np.float32).eps)
    length = {"learned": 2.0, "sinusoidal": 3.0}.get(setting.told, 1.0)
    error = eps * (WIDTH**0.5 * (WIDTH / 2 + 1) + (70 if setting.told in ("sinusoidal", "rotary") else 0))
    score = SCALE * length**2 * (2 * error + eps * (WIDTH / 2 + 3))
    return float(2 * length * (np.expm1(2 * score) + 16 * eps + error))


ORDER_IS_LOST = Claim(
    name="order-is-lost",
    statement="Without positions and mask, 'on the mat sat the cat' gets the outputs of 'the cat sat on the mat', "
    "permuted as its words are.",
    source="claims F.1; blog/permutation",
    hypotheses={},
    predict=lambda s: Interval.point(0.0),
    draw=lambda key, s: _moved(_sentence(key), told=s.told)[s.word],
    bound=lambda s: exact(_rounding(s)),
    resolution=lambda s: 2.5 * _rounding(s),
    settings=tuple(Word(told, word) for told in ("nothing", "learned, still zero") for word in range(6)),
    stream="the cat sat on the mat",
)

ORDER_IS_LOST_ANYWAY = dataclasses.replace(
    ORDER_IS_LOST,
    name="order-is-lost-with-positions",
    statement="With positions or a causal mask too, 'on the mat sat the cat' gets the permuted outputs.",
    source="claims F.1, A.3 (foil)",
    settings=tuple(
        Word(told, word) for told in ("learned", "sinusoidal", "rotary", "causal mask") for word in range(6)
    ),
    expect=Verdict.REFUTED,
)

CLAIMS = (ORDER_IS_LOST, ORDER_IS_LOST_ANYWAY)
