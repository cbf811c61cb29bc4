"""What is lost if heads share a key projection (docs/mathematics/shared_keys.md)."""

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from attnlab_theory.attention import attention_scores
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.sampling import orthonormal
from attnlab_theory.stats import Interval, known_variance
from attnlab_theory.theory.shared_keys import groups as theory


class Heads(Setting):
    """Heads with normal key projections of a common part, and query projections with orthonormal rows."""

    heads: int
    width: int
    model_width: int
    correlation: Traced[float]


def _lost_to_the_mean(key: PRNGKeyArray, setting: Heads) -> Scalar:
    for_common, for_own, for_queries = jax.random.split(key, 3)
    shape = (setting.width, setting.model_width)
    own = jax.random.normal(for_own, (setting.heads, *shape))
    keys = jnp.sqrt(setting.correlation) * jax.random.normal(for_common, (1, *shape))
    keys = keys + jnp.sqrt(1 - setting.correlation) * own
    queries = jax.vmap(lambda each: orthonormal(each, *shape))(jax.random.split(for_queries, setting.heads))

    def maps(k):
        """The scores of unit tokens: of each head the matrix between two tokens."""
        return jax.vmap(lambda q, k: attention_scores(q.T, k.T, scale=1.0))(queries, k)

    missed = maps(keys) - maps(jnp.broadcast_to(jnp.mean(keys, axis=0), keys.shape))
    return jnp.sum(missed**2) / keys.size


POOLED = Claim(
    name="mean-pooled-keys",
    statement=r"If $r$ heads share the mean of their key projections, whose entries correlate $c$, their score "
    r"maps lose the share $(1 - c)(1 - 1/r)$ of their squared norm.",
    source="mathematics/shared_keys.md#one-key-for-several-heads; Ainslie et al. 2023",
    hypotheses=at_least(heads=2, width=1, correlation=0)
    | at_most(heads=64, model_width=64, correlation=0.999)
    | {"width <= model": lambda s: s.width <= s.model_width},
    predict=lambda s: Interval.point(theory.mean_key_loss(s.heads, s.correlation)),
    draw=_lost_to_the_mean,
    bound=lambda s: known_variance(theory.mean_key_variance(s.heads, s.correlation, s.width * s.model_width)),
    resolution=lambda s: 0.1 * theory.mean_key_loss(s.heads, s.correlation),
    settings=(
        Heads(heads=4, width=2, model_width=8, correlation=0.5),
        Heads(heads=8, width=2, model_width=8, correlation=0.0),
    ),
    rival=Rival(
        statement="They lose twice as much, as with the first head's keys for all.",
        source="any one of the heads taken for as good as the mean",
        predict=lambda s: Interval.point(theory.first_key_loss(s.heads, s.correlation)),
    ),
    chunk=256,
)

KEEPS_MOST = foil(
    POOLED,
    name="mean-pooling-keeps-most-of-it",
    statement="The mean of eight heads' independent key projections keeps at least half of their score maps.",
    source="mathematics/shared_keys.md#one-key-for-several-heads; Ainslie et al. 2023, mean pooling preserves the "
    "most",
    predict=Interval.at_most(0.5),
    settings=POOLED.settings[1:],
)

CLAIMS = (POOLED, KEEPS_MOST)
