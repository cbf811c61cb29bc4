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
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting
from attnlab_theory.sampling import orthonormal
from attnlab_theory.stats import Interval
from attnlab_theory.theory.limits import lipschitz as theory

EPS = float(np.finfo(np.float64).eps)


def dot_product_mixer(x: Float[Array, "t d"]) -> Float[Array, "t d"]:
    """Self-attention whose queries, keys and values are the tokens."""
    return attention(x, x, x, scale=1.0)


def distance_mixer(x: Float[Array, "t d"]) -> Float[Array, "t d"]:
    """Self-attention with scores -|x_i - x_j|^2: queries and keys are tied.

    -|x_i - x_j|^2 = (2 x_i, 1) . (x_j, -|x_j|^2), up to a constant for each query. So the real operator has these
    scores if queries and keys get one more coordinate.
    """
    return _by_distances(x, x)


def _by_distances(x: Float[Array, "t d"], values: Float[Array, "t v"]) -> Float[Array, "t v"]:
    squares = jnp.sum(x**2, axis=1, keepdims=True)
    queries = jnp.concatenate([2 * x, jnp.ones_like(squares)], axis=1)
    return attention(queries, jnp.concatenate([x, -squares], axis=1), values, scale=1.0)


@functools.partial(jax.jit, static_argnums=0)
def _block_norms(mixer: Callable[[Array], Array], x: Float[Array, "t d"]) -> Float[Array, "t s"]:
    """Norms of the Jacobian's blocks: of every output token with respect to every input token."""
    blocks = jnp.transpose(jax.jacrev(mixer)(x), (0, 2, 1, 3))
    return jnp.linalg.norm(blocks, ord=2, axis=(2, 3))


class TokensAroundZero(Setting):
    """Tokens of width one: one at zero, and n - 1 others, half of them at +size and half at -size."""

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


ODD = at_least(n=3) | {"n is odd": lambda s: s.n % 2 == 1}
AT_A_DISTANCE = ODD | at_least(size=0)
AROUND_ZERO = tuple(TokensAroundZero(n=9, size=size) for size in (0.5, 1.0, 1.5, 2.0, 4.0, 8.0, 16.0))

DOT_PRODUCT = exact_claim(
    name="dot-product-attention-is-not-lipschitz",
    statement=r"With a token at zero and $n - 1$ at $\pm c$, the slope of dot-product self-attention is "
    r"$c^2(n - 1)/n + 1/n$: no constant bounds it.",
    source="mathematics/limits.md#attention-by-dot-products-has-no-lipschitz-constant; Kim et al. 2021, theorem "
    "3.1",
    hypotheses=AT_A_DISTANCE,
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


def _slopes_in_the_row_of_zero(key: PRNGKeyArray, setting: TokensAroundZero) -> Scalar:
    """The sum of the block norms in its row: its output's largest speed if no token moves faster than one."""
    del key
    return float(np.sum(_slopes(distance_mixer, _tokens(setting))[0]))


DISTANCE = exact_claim(
    name="attention-by-distances-is-lipschitz",
    statement=r"With scores $-|x_i - x_j|^2$, a token at zero and $n - 1$ at $\pm c$, its slopes add up to "
    r"$p + (1 - p)(2c^2 + |1 - 2c^2|)$, $p = 1/(1 + (n - 1)e^{-c^2})$: one again, however far the others are.",
    source="mathematics/limits.md#attention-by-distances-has-a-lipschitz-constant; Kim et al. 2021, theorem 3.2",
    hypotheses=AT_A_DISTANCE | at_most(size=20),
    predict=lambda s: Interval.point(theory.distance_slope(s.n, s.size)),
    draw=_slopes_in_the_row_of_zero,
    rounding=_slope_rounding,
    # Tokens further apart see themselves alone: the slope is one.
    settings=AROUND_ZERO[:5],
    rival=Rival[TokensAroundZero](
        statement=r"They add up to $p + 2(1 - p)c^2$.",
        source="the token's own movement alone, the others held where they are",
        predict=lambda s: Interval.point(theory.own_distance_slope(s.n, s.size)),
    ),
)


class CloudOfTokens(Setting):
    """n random tokens of width d and standard deviation `size`. `trial` is the number of the draw."""

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
    # In a wider cloud rounding hides the constant.
    hypotheses=at_least(n=2, d=1, trial=0, size=0) | at_most(size=10),
    predict=lambda s: Interval.at_most(theory.distance_constant(s.n)),
    draw=_steepest_in_cloud,
    rounding=_cloud_rounding,
    settings=tuple(
        CloudOfTokens(n=16, d=3, size=size, trial=trial) for size in (0.1, 0.5, 1.0, 2.0) for trial in range(2)
    ),
    rival=NO_STEEPER_THAN_ONE,
)


class OffsetTokens(Setting):
    """A token at zero, the others half at (1, offset) and half at (-1, -offset). Scores see the first axis only."""

    n: int
    offset: float


def _seen(x: Float[Array, "t d"]) -> Float[Array, "t 1"]:
    return x[:, :1]


def _slope_with_offset(mixer: Callable[[Array], Array], setting: OffsetTokens) -> Scalar:
    signs = np.array([0.0] + [1.0, -1.0] * (setting.n // 2))
    return float(_slopes(mixer, signs[:, None] * np.array([1.0, setting.offset]))[0, 0])


def _slope_of_all_values(key: PRNGKeyArray, setting: OffsetTokens) -> Scalar:
    del key
    return _slope_with_offset(lambda x: _by_distances(_seen(x), x), setting)


def _slope_of_seen_values(key: PRNGKeyArray, setting: OffsetTokens) -> Scalar:
    del key
    return _slope_with_offset(lambda x: _by_distances(_seen(x), _seen(x)), setting)


def _offset_rounding(setting: OffsetTokens) -> float:
    return 64 * EPS * setting.n * (1 + setting.offset)


OFF_THE_AXIS = ODD | at_least(offset=0)
OFFSETS = (1.0, 10.0, 100.0, 1000.0)

TIED_ONLY = exact_claim(
    name="tied-projections-alone-are-not-lipschitz",
    statement=r"With scores $-|W(x_i - x_j)|^2$, $W = \mathrm{diag}(1, 0)$, and the tokens as values, the slope of "
    r"self-attention grows in proportion to what the tokens differ by along the axis that $W$ ignores.",
    source="mathematics/limits.md#tied-projections-are-not-enough",
    hypotheses=OFF_THE_AXIS,
    predict=lambda s: Interval.point(theory.offset_slope(s.n, s.offset)),
    draw=_slope_of_all_values,
    rounding=_offset_rounding,
    settings=tuple(OffsetTokens(n=9, offset=offset) for offset in OFFSETS),
    rival=Rival[OffsetTokens](
        statement="The slope does not depend on what the scores ignore.",
        source="the claim without the offset",
        predict=lambda s: Interval.point(theory.offset_slope(s.n, 0.0)),
    ),
)

TIED_IS_ENOUGH = foil(
    TIED_ONLY,
    name="tied-projections-are-enough",
    statement=r"Tied projections $W_Q = W_K = W$ with scores $-|W(x_i - x_j)|^2$ make self-attention Lipschitz, "
    r"with the constant of $W = I$ times $\lVert W\rVert$.",
    source="mathematics/limits.md#tied-projections-are-not-enough; Kim et al. 2021, read without its tied values",
    predict=lambda s: Interval.at_most(theory.distance_constant(s.n)),
    settings=TIED_ONLY.settings[1:],
)

TIED_VALUES = exact_claim(
    name="tied-values-make-attention-by-distances-lipschitz",
    statement="If the values are made from $Wx$ too, the slope does not depend on the offset along the axis that "
    r"$W$ ignores. It is $1 + \alpha$ at every offset, where $\alpha$ is the weight of all other tokens.",
    source="mathematics/limits.md#tied-projections-are-not-enough; Kim et al. 2021, theorem 3.2",
    hypotheses=OFF_THE_AXIS,
    predict=lambda s: Interval.point(theory.offset_slope(s.n, 0.0)),
    draw=_slope_of_seen_values,
    rounding=_offset_rounding,
    settings=TIED_ONLY.settings,
    rival=Rival[OffsetTokens](
        statement="The slope grows with the offset as before: what the values are made from changes nothing.",
        source="tied queries and keys taken for all that counts",
        predict=lambda s: Interval.point(theory.offset_slope(s.n, s.offset)),
    ),
)


class ProjectedCloud(Setting):
    """n normal tokens of width d, and W and U with singular values that fall evenly from `gain` to 0."""

    n: int
    d: int
    gain: float
    trial: int


def _steepest_projected(key: PRNGKeyArray, setting: ProjectedCloud) -> Scalar:
    for_tokens, *for_maps = jax.random.split(jax.random.fold_in(key, setting.trial), 5)
    x = np.asarray(jax.random.normal(for_tokens, (setting.n, setting.d)), dtype=np.float64)
    gains = np.linspace(setting.gain, 0.0, setting.d)
    turns = [np.asarray(orthonormal(each, setting.d, setting.d), dtype=np.float64) for each in for_maps]
    w, u = (turns[i] @ (gains[:, None] * turns[i + 1]) for i in (0, 2))
    return float(np.max(np.sum(_slopes(lambda x: _by_distances(x @ w, x @ w @ u), x), axis=1)))


PROJECTED = exact_claim(
    name="tied-values-make-attention-by-distances-lipschitz-anywhere",
    statement=r"With scores $-|W(x_i - x_j)|^2$ and values $UWx_j$ no random tokens are found where self-attention "
    r"is steeper than $\lVert U\rVert\lVert W\rVert(4W_0((n - 1)/e) + 1)$.",
    source="mathematics/limits.md#tied-projections-are-not-enough; Kim et al. 2021, theorem 3.2",
    hypotheses=at_least(n=2, d=1, trial=0) | more_than(gain=0),
    predict=lambda s: Interval.at_most(s.gain**2 * theory.distance_constant(s.n)),
    draw=_steepest_projected,
    # The rotations in W and U are orthogonal in float32, so their norms are `gain` up to a few d eps of float32.
    rounding=lambda s: 64 * float(np.finfo(np.float32).eps) * s.d * s.gain**2 * theory.distance_constant(s.n),
    settings=tuple(
        ProjectedCloud(n=16, d=3, gain=gain, trial=trial) for gain in (0.5, 1.0, 2.0) for trial in range(2)
    ),
    rival=Rival[ProjectedCloud](
        statement=r"The slope is at most $\lVert U\rVert\lVert W\rVert$ times a half.",
        source="weights that add up to one, their own movement left out, and gains that are one half on average",
        predict=lambda s: Interval.at_most(s.gain**2 / 2),
    ),
)

CLAIMS = (DOT_PRODUCT, CONSTANT, DISTANCE, ANYWHERE, TIED_ONLY, TIED_IS_ENOUGH, TIED_VALUES, PROJECTED)
