"""What is lost when few keys are read: by their own scores, an indexer's, or a block's
(docs/mathematics/selection.md)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PRNGKeyArray

from attnlab_theory.attention import attention_scores, attention_weights, top_k_mask
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, bounded, proportion
from attnlab_theory.theory.selection import top_k as theory


class Read(Setting):
    """n keys with scores N(0, sigma^2), of which the k best by index scores are read, of correlation rho."""

    n: int
    k: int
    sigma: Traced[float]
    rho: Traced[float]


def _share_left_out(key: PRNGKeyArray, setting: Read) -> Scalar:
    # The first coordinate of a key is its index score, the second its true one.
    index, noise = jax.random.normal(key, (2, setting.n))
    keys = jnp.stack([index, setting.rho * index + jnp.sqrt(1 - setting.rho**2) * noise], axis=1)
    for_index, for_truth = jnp.eye(2)
    read = top_k_mask(attention_scores(for_index[None], keys, scale=1.0), setting.k)
    weights = attention_weights(for_truth[None], keys, scale=setting.sigma)
    return jnp.sum(jnp.where(read, 0, weights))


READ = (
    at_least(n=2, k=1, sigma=0.1, rho=0.05)
    | at_most(n=4096, sigma=4, rho=1)
    | {"k < n": lambda s: s.k < s.n, "rho = 1 or at most 0.99": lambda s: s.rho == 1 or s.rho <= 0.99}
)


def _left_out(setting: Read) -> Interval:
    return Interval.point(theory.left_out(setting.n, setting.k, setting.sigma, setting.rho))


LEFT_OUT = Claim(
    name="left-out-by-top-k",
    statement=r"Of $n$ scores $N(0, \sigma^2)$ the $k$ heaviest keys leave out a mean weight that is a double "
    r"integral over the $k$-th score and the normaliser: 0.32 at $n = 64$, $k = 6$, $\sigma = 2$.",
    source="mathematics/selection.md#what-the-best-k-leave-out",
    hypotheses=READ | {"rho = 1": lambda s: s.rho == 1},
    predict=_left_out,
    draw=_share_left_out,
    bound=bounded(0.0, 1.0001),
    resolution=0.015,
    settings=(Read(n=64, k=6, sigma=2.0, rho=1.0), Read(n=64, k=13, sigma=3.0, rho=1.0)),
    rival=Rival(
        statement=r"The weight left out is $\Phi(\Phi^{-1}(1 - k/n) - \sigma)$, the limit of many keys.",
        source="the sum of few exponentials replaced by its mean",
        predict=lambda s: Interval.point(theory.left_out_of_many(s.k / s.n, s.sigma)),
    ),
    stated={"k": 6},
)

FIFTH = foil(
    LEFT_OUT,
    name="a-fifth-of-the-keys-is-enough",
    statement="A fifth of the keys, the heaviest, carry nineteen twentieths of the weight.",
    source="mathematics/selection.md#what-the-best-k-leave-out; Zhang et al. 2023, a fifth of the cache is enough",
    predict=Interval.at_most(0.05),
    settings=tuple(Read(n=64, k=13, sigma=sigma, rho=1.0) for sigma in (1.0, 2.0)),
    stated={},
)

INDEXER = Claim(
    name="left-out-by-an-indexer",
    statement=r"If the $k$ keys are chosen by scores that correlate $\rho$ with the true ones, the mean weight "
    r"left out is a triple integral: 0.33 at $\rho = 0.9$, $n = 64$, $k = 8$, $\sigma = 2$.",
    source="mathematics/selection.md#an-indexer-is-a-cooler-head; DeepSeek-AI 2025",
    hypotheses=READ,
    predict=_left_out,
    draw=_share_left_out,
    bound=bounded(0.0, 1.0001),
    resolution=0.03,
    settings=tuple(Read(n=64, k=8, sigma=2.0, rho=rho) for rho in (0.3, 0.5, 0.7, 0.9)),
    rival=Rival(
        statement="As much is left out as by the best keys themselves.",
        source=r"a correlation of one",
        predict=lambda s: Interval.point(theory.left_out(s.n, s.k, s.sigma)),
    ),
    stated={"rho": 0.9},
)

COOLER = Claim(
    name="an-indexer-is-a-cooler-head",
    statement=r"An indexer whose scores correlate $\rho$ with the true ones leaves out, to 0.06, what the best "
    r"keys leave out in a head whose scores spread by $\rho\sigma$.",
    source="mathematics/selection.md#an-indexer-is-a-cooler-head; DeepSeek-AI 2025",
    hypotheses=at_least(rho=0.05)
    | at_most(rho=0.75)
    | {"n = 64, k = 8": lambda s: s.n == 64 and s.k == 8, "sigma = 2": lambda s: s.sigma == 2},
    predict=lambda s: Interval.around(theory.left_out(s.n, s.k, s.rho * s.sigma), 0.06),
    draw=_share_left_out,
    bound=bounded(0.0, 1.0001),
    resolution=0.03,
    settings=INDEXER.settings[:3],
    rival=INDEXER.rival,
    stream=INDEXER,
)

LOSES_NOTHING = foil(
    INDEXER,
    name="a-good-indexer-loses-nothing",
    statement="An indexer that correlates 0.9 with the true scores leaves out less than three tenths of the "
    "weight.",
    source="mathematics/selection.md#an-indexer-is-a-cooler-head; DeepSeek-AI 2025, selection without a loss of "
    "quality read as without a loss of weight",
    predict=Interval.at_most(0.3),
    settings=(Read(n=64, k=8, sigma=2.0, rho=0.9),),
    stated={},
)


class Needle(Setting):
    """One key of true score mu among n - 1 of N(0, 1); the k best by index scores of correlation rho are read."""

    n: int
    k: int
    mu: Traced[float]
    rho: Traced[float]


def _needle_is_read(key: PRNGKeyArray, setting: Needle) -> Bool[Array, ""]:
    for_true, for_noise, for_others = jax.random.split(key, 3)
    noise = jnp.sqrt(1 - setting.rho**2) * jax.random.normal(for_noise, (1,))
    others = setting.rho * jax.random.normal(for_true, (setting.n - 1,))
    others = others + jnp.sqrt(1 - setting.rho**2) * jax.random.normal(for_others, (setting.n - 1,))
    keys = jnp.concatenate([setting.rho * setting.mu + noise, others])[:, None]
    return top_k_mask(attention_scores(jnp.ones((1, 1)), keys, scale=1.0), setting.k)[0, 0]


KEPT = Claim(
    name="an-indexer-keeps-a-needle-by-chance",
    statement=r"A key whose score leads the mean of $n - 1$ others by $\mu$ of their deviations is among the $k$ "
    r"best of an indexer with the chance $\int\varphi(x)\,P(\mathrm{Bin}(n - 1, \Phi(-\rho\mu - \sqrt{1 - "
    r"\rho^2}x)) < k)\,dx$.",
    source="mathematics/selection.md#an-indexer-is-a-cooler-head; DeepSeek-AI 2025",
    hypotheses=at_least(n=2, k=1, rho=0)
    | at_most(n=4096, rho=1, mu=20)
    | more_than(mu=0)
    | {"k < n": lambda s: s.k < s.n},
    predict=lambda s: Interval.point(theory.needle_kept(s.n, s.k, s.mu, s.rho)),
    draw=_needle_is_read,
    bound=proportion(),
    resolution=0.06,
    settings=tuple(Needle(n=256, k=8, mu=3.0, rho=rho) for rho in (0.7, 0.5)),
    rival=Rival(
        statement="The needle is read as surely as by its true score.",
        source="a correlation of one",
        predict=lambda s: Interval.point(theory.needle_kept(s.n, s.k, s.mu, 1.0)),
    ),
    chunk=256,
)


class Blocks(Setting):
    """Blocks of keys, ranked by the mean of their keys; one key scores mu, all others N(0, 1)."""

    blocks: int
    size: int
    k: int
    mu: Traced[float]


def _block_is_read(key: PRNGKeyArray, setting: Blocks) -> Bool[Array, ""]:
    keys = jax.random.normal(key, (setting.blocks, setting.size)).at[0, 0].set(setting.mu)
    means = jnp.mean(keys, axis=1, keepdims=True)
    return top_k_mask(attention_scores(jnp.ones((1, 1)), means, scale=1.0), setting.k)[0, 0]


BLOCK = Claim(
    name="a-mean-of-keys-hides-a-needle",
    statement=r"Blocks of $B$ keys are ranked by the mean of their keys. A key that leads by $\mu$ brings its "
    r"block among the $k$ best as an indexer with $\rho = B^{-1/2}$ would bring it: with the chance 0.28 at $\mu = "
    "4$, $B = 16$, four of 64 blocks.",
    source="mathematics/selection.md#a-mean-of-keys-hides-a-needle; Xiao et al. 2025; Lu et al. 2025",
    hypotheses=at_least(blocks=2, size=1, k=1)
    | at_most(blocks=1024, size=64, mu=20)
    | more_than(mu=0)
    | {"k < blocks": lambda s: s.k < s.blocks},
    predict=lambda s: Interval.point(theory.mean_block_kept(s.blocks, s.size, s.k, s.mu)),
    draw=_block_is_read,
    bound=proportion(),
    resolution=lambda s: min(0.08, 0.4 * (theory.mean_block_kept(s.blocks, s.size, s.k, s.mu) - s.k / s.blocks)),
    settings=tuple(Blocks(blocks=64, size=size, k=k, mu=4.0) for size, k in ((4, 4), (16, 4), (16, 1))),
    rival=Rival(
        statement="The block is found by chance alone.",
        source="the needle taken for lost in the mean",
        predict=lambda s: Interval.point(s.k / s.blocks),
    ),
    stated={"size": 16, "k": 4},
    chunk=256,
)

BLOCKS_LOSE_NOTHING = foil(
    BLOCK,
    name="blocks-lose-nothing-that-matters",
    statement="A key that leads by four deviations, which is nearly always the best of all, is read with its block "
    "nine times in ten.",
    source="mathematics/selection.md#a-mean-of-keys-hides-a-needle; Lu et al. 2025, essential information is not "
    "lost",
    predict=Interval.at_least(0.9),
    settings=(Blocks(blocks=64, size=16, k=4, mu=4.0),),
    stated={},
)

CLAIMS = (LEFT_OUT, FIFTH, INDEXER, COOLER, LOSES_NOTHING, KEPT, BLOCK, BLOCKS_LOSE_NOTHING)
