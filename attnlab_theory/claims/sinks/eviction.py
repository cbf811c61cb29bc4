"""What becomes of the output when a key is dropped (docs/mathematics/sinks.md)."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval
from attnlab_theory.theory.sinks import eviction as theory

EPS = float(np.finfo(np.float32).eps)


class OneAhead(Setting):
    """n keys, of which one has this score and all others the score 0."""

    n: int
    score: float


@jax.jit
def _outputs(values: Float[Array, "n d"], score: Scalar) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
    """The output with the first key and without it."""
    keys = jnp.zeros((values.shape[0], 1)).at[0, 0].set(score)
    whole = attention(jnp.ones((1, 1)), keys, values, scale=1.0)
    return whole[0], attention(jnp.ones((1, 1)), keys[1:], values[1:], scale=1.0)[0]


def _movement(key: PRNGKeyArray, setting: OneAhead) -> Float[Array, ""]:
    del key
    whole, rest = _outputs(jnp.eye(setting.n), setting.score)
    return jnp.linalg.norm(rest - whole) / jnp.linalg.norm(whole - jnp.eye(setting.n)[0])


def _weight(setting: OneAhead) -> float:
    return theory.weight(setting.n, setting.score)


def _rounding(setting: OneAhead) -> float:
    """Weights err relatively, by their own rounding and that of the score. 1 - w errs absolutely, by that of w."""
    relative = EPS * (2 * setting.n + 2 * abs(setting.score) + 8)
    return 2 * relative * theory.movement(_weight(setting)) / (1 - _weight(setting))


DROPPED = exact_claim(
    name="evicting-a-sink",
    statement=r"Without a key of weight $w$ the output moves by $w/(1 - w)$ times its distance from that key's "
    r"value.",
    source="mathematics/sinks.md#a-token-that-is-dropped-counts-by-its-odds; Xiao et al. 2023",
    hypotheses=at_least(n=2, score=0.5) | at_most(n=1024, score=8),
    predict=lambda s: Interval.point(theory.movement(_weight(s))),
    draw=_movement,
    rounding=_rounding,
    settings=tuple(OneAhead(n=64, score=score) for score in (1.0, 4.143, 6.341)),
    rival=Rival(
        statement=r"It moves by $1/(n - 1)$ times the distance.",
        source="one token taken for one of n that weigh the same",
        predict=lambda s: Interval.point(1 / (s.n - 1)),
    ),
)

ONE_OF_N = foil(
    DROPPED,
    name="one-token-of-n-is-one-nth-of-the-output",
    statement="Dropping one of 64 tokens moves the output by at most a tenth of its distance from the token's "
    "value.",
    source="mathematics/sinks.md#a-token-that-is-dropped-counts-by-its-odds, windows that drop the oldest token as "
    "if all weighed the same",
    predict=Interval.at_most(0.1),
    settings=DROPPED.settings[1:],
)

CLAIMS = (DROPPED, ONE_OF_N)
