"""What features do to recall: powers of a product, and features that are never negative
(docs/mathematics/memory.md)."""

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from attnlab_theory.attention.fast_weights import Rule, fast_weight_attention, power_features
from attnlab_theory.attention.linear import linear_attention
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least
from attnlab_theory.claims.memory.sums import CHUNK, unit_keys
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval, bounded, known_variance
from attnlab_theory.theory.memory import features as theory


class Powers(Setting):
    """n unit keys of width d with orthonormal values, in a sum with the kernel (q . k)^power."""

    n: int
    d: int
    power: int


def _error_of_powers(key: PRNGKeyArray, setting: Powers) -> Scalar:
    n, values = setting.n, jnp.eye(setting.n)
    phi = power_features(unit_keys(key, n, setting.d), setting.power)
    asked = jnp.broadcast_to(phi[0], phi.shape)
    answers = fast_weight_attention(asked, phi, values, rule=Rule.SUM, chunk=n)
    return jnp.sum((answers[-1] - values[0]) ** 2)


POWERS = Claim(
    name="power-features",
    statement=r"A memory with the kernel $(q\cdot k)^p$ recalls one of $n$ random unit keys with the mean error "
    r"$(n - 1)(2p - 1)!!/(d(d + 2)\ldots(d + 2p - 2))$.",
    source="mathematics/memory.md#a-state-of-size-d; Kacham et al. 2024",
    hypotheses=at_least(n=2, d=2, power=1) | {"d^power <= 4096": lambda s: s.d**s.power <= 4096},
    predict=lambda s: Interval.point(theory.power_error(s.n, s.d, s.power)),
    draw=_error_of_powers,
    bound=lambda s: known_variance(theory.power_variance(s.n, s.d, s.power)),
    resolution=lambda s: 0.4 * (theory.power_error(s.n, s.d, s.power) - _of_isotropic(s)),
    settings=(Powers(n=33, d=8, power=2), Powers(n=33, d=4, power=3)),
    rival=Rival(
        statement=r"The mean error is $(n - 1)/D$ with $D = \binom{d + p - 1}{p}$, the width of the state.",
        source="features taken for isotropic keys of their width",
        predict=lambda s: Interval.point(_of_isotropic(s)),
    ),
    chunk=CHUNK,
)


def _of_isotropic(setting: Powers) -> float:
    return (setting.n - 1) / theory.state_width(setting.d, setting.power)


STATE_SIZE = foil(
    POWERS,
    name="a-state-of-size-D-recalls-like-keys-of-width-D",
    statement=r"A memory with a state of width $D$ recalls as well as one with keys of width $D$: the mean error "
    r"is at most $(n - 1)/D$.",
    source="mathematics/memory.md#a-state-of-size-d; Nejati 2025, recall governed by the size of the state",
    predict=lambda s: Interval.at_most(_of_isotropic(s)),
    settings=POWERS.settings,
)


class PositiveFeatures(Setting):
    """n standard normal keys of width d, the first of which asks for itself with features elu(x) + 1."""

    n: int
    d: int


def _self_weight(key: PRNGKeyArray, setting: PositiveFeatures) -> Scalar:
    phi = jax.nn.elu(jax.random.normal(key, (setting.n, setting.d))) + 1
    first = jnp.zeros((setting.n, 1)).at[0, 0].set(1.0)
    return linear_attention(phi[:1], phi, first)[0, 0]


POSITIVE = Claim(
    name="positive-features-cannot-point",
    statement=r"Linear attention with the features elu + 1 gives a standard normal key that asks for itself among "
    r"$n$ the mean weight of an integral over its coordinates. It tends to $1.46/(n + 0.46)$ as the width grows, "
    "so no width makes it point.",
    source="mathematics/memory.md#positive-features-cannot-point; Katharopoulos et al. 2020",
    hypotheses=at_least(n=2, d=1),
    predict=lambda s: Interval.point(theory.positive_self_weight(s.n, s.d)),
    draw=_self_weight,
    bound=bounded(0.0, 1.0001),
    resolution=lambda s: 0.4 * abs(theory.positive_self_weight(s.n, s.d) - theory.wide_self_weight(s.n)),
    settings=(PositiveFeatures(n=16, d=2), PositiveFeatures(n=16, d=4)),
    rival=Rival(
        statement="The mean weight is that at any large width.",
        source="sums of coordinates replaced by their means",
        predict=lambda s: Interval.point(theory.wide_self_weight(s.n)),
    ),
)

WIDTH_POINTS = foil(
    POSITIVE,
    name="width-finds-the-key",
    statement="Enough features make linear attention point: at width 256 a key that asks for itself among 16 gets "
    "half of the weight.",
    source="mathematics/memory.md#positive-features-cannot-point; Katharopoulos et al. 2020, their features at any "
    "width",
    predict=Interval.at_least(0.5),
    resolution=0.05,
    settings=(PositiveFeatures(n=16, d=256),),
    chunk=128,
)

CLAIMS = (POWERS, STATE_SIZE, POSITIVE, WIDTH_POINTS)
