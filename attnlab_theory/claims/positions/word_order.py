"""Self-attention knows nothing of word order without positions or a mask (docs/mathematics/positions.md)."""

import dataclasses
import enum
import functools
from typing import assert_never

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.setting import Setting
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


class Told(enum.StrEnum):
    """What tells the mixer where words stand."""

    NOTHING = "nothing"
    ZERO = "learned, still zero"
    LEARNED = "learned"
    SINUSOIDAL = "sinusoidal"
    ROTARY = "rotary"
    CAUSAL = "causal mask"


class PermutedWord(Setting):
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
    match told:
        case Told.ZERO:
            return symmetry.learned_at_zero(case)
        case Told.LEARNED | Told.SINUSOIDAL | Told.ROTARY:
            return full_pass(case, told.value, causal=False)
        case Told.NOTHING | Told.CAUSAL:
            return full_pass(case, "none", causal=told is Told.CAUSAL)
        case _:
            assert_never(told)


@functools.partial(jax.jit, static_argnames="told")
def _moved(case: Tokens, told: Told) -> Float[Array, " t"]:
    """How far each word's output moves when the sentence is permuted around it, in the permuted order."""
    permuted = dataclasses.replace(case, x=case.x[case.order])
    return jnp.linalg.norm(_mixed(permuted, told) - _mixed(case, told)[case.order], axis=1)


def _rounding(setting: PermutedWord) -> float:
    """Absolute error of the distance between two outputs of self-attention, in float32.

    Tokens have length 1; with a learned position at most 2, with a sinusoidal one 1 + sqrt(d/2) = 3. Orthogonal
    projections keep the length, and err by a relative sqrt(d) (d/2 + 1) eps. Angles of six positions add 70 eps. A
    score has the errors of query, key and its own sum. The weights err as in softmax_rtol, in both outputs.
    """
    eps = float(np.finfo(np.float32).eps)
    length = {Told.LEARNED: 2.0, Told.SINUSOIDAL: 3.0}.get(setting.told, 1.0)
    error = eps * (WIDTH**0.5 * (WIDTH / 2 + 1) + (70 if setting.told in (Told.SINUSOIDAL, Told.ROTARY) else 0))
    score = SCALE * length**2 * (2 * error + eps * (WIDTH / 2 + 3))
    return float(2 * length * (np.expm1(2 * score) + 16 * eps + error))


A_WORD = {"0 <= word < 6": lambda s: 0 <= s.word < len(SENTENCE)}

ORDER_IS_LOST = Claim(
    name="order-is-lost",
    statement="Without positions and mask, 'on the mat sat the cat' gets the outputs of 'the cat sat on the mat', "
    "permuted as its words are.",
    source="mathematics/positions.md#word-order-is-lost-without-positions; blog/permutation",
    hypotheses=A_WORD | {"no positions and no mask": lambda s: s.told in (Told.NOTHING, Told.ZERO)},
    predict=Interval.point(0.0),
    draw=lambda key, s: _moved(_sentence(key), told=s.told)[s.word],
    bound=lambda s: exact(_rounding(s)),
    resolution=lambda s: 2.5 * _rounding(s),
    settings=tuple(PermutedWord(told=told, word=word) for told in (Told.NOTHING, Told.ZERO) for word in range(6)),
    rival=Rival(
        statement="A trace of the order is left: a word moves by a hundredth of its length or more.",
        source="the smallest effect that would matter: a tenth of what rotary positions do on average",
        predict=Interval.at_least(0.01),
    ),
    stream="the cat sat on the mat",
)

ORDER_IS_LOST_ANYWAY = foil(
    ORDER_IS_LOST,
    name="order-is-lost-with-positions",
    statement="With positions too, 'on the mat sat the cat' gets the permuted outputs.",
    source="mathematics/positions.md#word-order-is-lost-without-positions; blog/permutation",
    hypotheses=A_WORD,
    settings=tuple(
        PermutedWord(told=told, word=word)
        for told in (Told.LEARNED, Told.SINUSOIDAL, Told.ROTARY)
        for word in range(6)
    ),
)

ORDER_IS_LOST_UNDER_A_MASK = foil(
    ORDER_IS_LOST,
    name="order-is-lost-under-a-mask",
    statement="A masked decoder without positions loses the order of the words too.",
    source="mathematics/positions.md#word-order-is-lost-without-positions; Vaswani et al. 2017, section 3.5, said "
    "of a model whose decoder has a causal mask; blog/permutation",
    hypotheses=A_WORD,
    settings=tuple(PermutedWord(told=Told.CAUSAL, word=word) for word in range(6)),
)

CLAIMS = (ORDER_IS_LOST, ORDER_IS_LOST_ANYWAY, ORDER_IS_LOST_UNDER_A_MASK)
