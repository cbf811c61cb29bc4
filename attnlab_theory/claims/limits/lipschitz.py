"""Dot-product self-attention is not Lipschitz; with distances for scores it is (docs/mathematics/limits.md)."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Rival, exact_claim, foil
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval
from attnlab_theory.theory.limits import lipschitz as theory

EPS = float(np.finfo(np.float64).eps)


def dot_product_mixer(x: Float[Array, "t d"]) -> Float[Array, "t d"]:
    """Self-attention whose queries, keys and values are the tokens."""
    return attention(x, x, x, scale=1.0)


def distance_mixer(x: Float[Array, "t d"]) -> Float[Array, "t d"]:
    """The same with scores -|x_i - x_j|^2: queries and keys tied, in the metric that their projection defines.

    -|x_i - x_j|^2 = (2 x_i, 1) . (x_j, -|x_j|^2), up to a constant for each query: one more coordinate makes
    the scores of the real operator distances.
    """
    squares = jnp.sum(x**2, axis=1, keepdims=True)
    queries = jnp.concatenate([2 * x, jnp.ones_like(squares)], axis=1)
    return attention(queries, jnp.concatenate([x, -squares], axis=1), x, scale=1.0)


@functools.partial(jax.jit, static_argnums=0)
def _block_norms(mixer: Callable[[Array], Array], x: Float[Array, "t d"]) -> Float[Array, "t s"]:
    """Norms of the Jacobian's blocks, of every output token in every input token."""
    blocks = jnp.transpose(jax.jacrev(mixer)(x), (0, 2, 1, 3))
    return jnp.linalg.norm(blocks, ord=2, axis=(2, 3))


class TokensAroundZero(Setting):
    """A token at zero and n - 1 others at +-size in equal numbers, of width one."""

    n: int
    size: float


def _tokens(setting: TokensAroundZero) -> Float[np.ndarray, "t 1"]:
    signs = np.array([0.0] + [1.0, -1.0] * (setting.n // 2))
    return setting.size * signs[:, None]


def _slopes(mixer: Callable[[Array], Array], x: np.ndarray) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(_block_norms(mixer, jnp.asarray(x)))


def _slope_at_zero(key: PRNGKeyArray, setting: TokensAroundZero) -> Scalar:
    del key
    return float(_slopes(dot_product_mixer, _tokens(setting))[0, 0])


def _slope_rounding(setting: TokensAroundZero) -> float:
    return 64 * EPS * setting.n * (1 + setting.size**4)


ODD = {"n is odd": lambda s: s.n % 2 == 1}
AROUND_ZERO = tuple(TokensAroundZero(n=9, size=size) for size in (0.5, 1.0, 1.5, 2.0, 4.0, 8.0, 16.0))

DOT_PRODUCT = exact_claim(
    name="dot-product-attention-is-not-lipschitz",
    statement=r"With a token at zero and $n - 1$ at $\pm c$, the slope of dot-product self-attention is "
    r"$c^2(n - 1)/n + 1/n$: no constant bounds it.",
    source="mathematics/limits.md#attention-by-dot-products-has-no-lipschitz-constant; Kim et al. 2021, theorem "
    "3.1",
    hypotheses=ODD,
    predict=lambda s: Interval.point(theory.dot_product_slope(s.n, s.size, 1.0)),
    draw=_slope_at_zero,
    rounding=_slope_rounding,
    settings=AROUND_ZERO,
    rival=Rival[TokensAroundZero](
        statement=r"It is $c^2(n - 1)/n$.",
        source="the token's own weight left out",
        predict=lambda s: Interval.point(theory.dot_product_slope(s.n, s.size, 1.0) - 1 / s.n),
    ),
)

CONSTANT = foil(
    DOT_PRODUCT,
    name="dot-product-attention-has-a-constant",
    statement=r"The constant that bounds attention by distances bounds dot-product attention too.",
    source="mathematics/limits.md#attention-by-dot-products-has-no-lipschitz-constant, argued from weights that "
    "add up to one",
    predict=lambda s: Interval.at_most(theory.distance_constant(s.n)),
    settings=AROUND_ZERO[-3:],
)


NO_STEEPER_THAN_ONE = Rival(
    statement="The slope is at most one.",
    source="weights that add up to one, their own movement left out",
    predict=Interval.at_most(1.0),
)


def _steepest(key: PRNGKeyArray, setting: TokensAroundZero) -> Scalar:
    """The largest sum of a row's block norms, which bounds the Lipschitz constant at this point."""
    del key
    return float(np.max(np.sum(_slopes(distance_mixer, _tokens(setting)), axis=1)))


DISTANCE = exact_claim(
    name="attention-by-distances-is-lipschitz",
    statement=r"With scores $-|x_i - x_j|^2$ the slope of self-attention, in the norm $\max_i|x_i|$, is at most "
    r"$4W_0((n - 1)/e) + 1$ wherever the tokens are.",
    source="mathematics/limits.md#attention-by-distances-has-a-lipschitz-constant; Kim et al. 2021, theorem 3.2",
    hypotheses={"n > 1": lambda s: s.n > 1},
    predict=lambda s: Interval.at_most(theory.distance_constant(s.n)),
    draw=_steepest,
    rounding=_slope_rounding,
    # Tokens further apart see themselves alone: the slope is one.
    settings=AROUND_ZERO[:5],
    rival=NO_STEEPER_THAN_ONE,
)


class CloudOfTokens(Setting):
    """n random tokens of width d and deviation `size`. `trial` names the draw."""

    n: int
    d: int
    size: float
    trial: int


def _steepest_in_cloud(key: PRNGKeyArray, setting: CloudOfTokens) -> Scalar:
    drawn = jax.random.normal(jax.random.fold_in(key, setting.trial), (setting.n, setting.d))
    x = setting.size * np.asarray(drawn, dtype=np.float64)
    return float(np.max(np.sum(_slopes(distance_mixer, x), axis=1)))


def _cloud_rounding(setting: CloudOfTokens) -> float:
    # Squared distances of normal tokens stay below 64 d times their variance.
    return 64 * EPS * setting.n * (1 + (64 * setting.d * setting.size**2) ** 2)


ANYWHERE = exact_claim(
    name="attention-by-distances-is-lipschitz-anywhere",
    statement=r"No random tokens are found where attention by distances is steeper than $4W_0((n - 1)/e) + 1$.",
    source="mathematics/limits.md#attention-by-distances-has-a-lipschitz-constant; Kim et al. 2021, theorem 3.2",
    hypotheses={"n > 1": lambda s: s.n > 1},
    predict=lambda s: Interval.at_most(theory.distance_constant(s.n)),
    draw=_steepest_in_cloud,
    rounding=_cloud_rounding,
    settings=tuple(
        CloudOfTokens(n=16, d=3, size=size, trial=trial) for size in (0.1, 0.5, 1.0, 2.0) for trial in range(2)
    ),
    rival=NO_STEEPER_THAN_ONE,
)

CLAIMS = (DOT_PRODUCT, CONSTANT, DISTANCE, ANYWHERE)
