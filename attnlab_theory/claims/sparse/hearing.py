"""How many blocks a block has heard of, layer by layer (docs/mathematics/sparse.md).

For few blocks, pairs are counted over the real mask. For thousands of blocks the mask would be too large. There one
block is followed over random links with the mask's distribution, in time and memory linear in the number of blocks.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from attnlab_theory.attention import bigbird_mask
from attnlab_theory.claims.claim import Claim, Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval, bounded
from attnlab_theory.theory.sparse import bigbird, hearing


class Depth(Setting):
    """A number of layers of a window, with or without random links, over a number of blocks."""

    blocks: int
    window: int
    random_blocks: int
    layers: int


DEPTHS = (1, 2, 3, 4, 5, 6)

A_LAYER = at_least(blocks=2, window=3, layers=1) | {"a window has a middle": lambda s: s.window % 2 == 1}

MASKED = 128
"""Blocks up to which the whole mask is made, and all pairs are counted."""


def _share_heard(key: PRNGKeyArray, s: Depth) -> Float[Array, ""]:
    if s.blocks <= MASKED:
        return _share_of_pairs(key, s.blocks, s.window, s.random_blocks, jnp.int32(s.layers))
    return heard_by_one(key, s.blocks, s.random_blocks, s.layers)[-1] / s.blocks


@functools.partial(jax.jit, static_argnums=(1, 2, 3))
def _share_of_pairs(
    key: PRNGKeyArray, blocks: int, window: int, random_blocks: int, layers: Int[Array, ""]
) -> Float[Array, ""]:
    """The share of all pairs of blocks that the power of the mask connects."""
    mask = bigbird_mask(key, blocks, block=1, window=window, global_blocks=0, random_blocks=random_blocks)
    sees = mask.astype(jnp.float32)
    heard = lax.fori_loop(1, layers, lambda _, heard: (heard @ sees > 0).astype(jnp.float32), sees)
    return jnp.mean(heard)


def links_beyond_the_window(key: PRNGKeyArray, blocks: int, random_blocks: int) -> Int[Array, "n links"]:
    """For every block, some others outside its window of 3, all choices equally likely, as `bigbird_links` draws
    them.

    The i-th choice is a place among the blocks that are left. Then it is moved past the choices before it and past
    the window.
    """
    row = jnp.arange(blocks, dtype=jnp.int32)
    first = jnp.maximum(row - 1, 0)
    width = jnp.minimum(row + 1, blocks - 1) - first + 1
    places: list[Array] = []
    for i, key_of_link in enumerate(jax.random.split(key, random_blocks)):
        left = (blocks - width - i).astype(jnp.float32)
        place = jnp.floor(left * jax.random.uniform(key_of_link, (blocks,))).astype(jnp.int32)
        for earlier in jnp.sort(jnp.stack(places), axis=0) if places else ():
            place = place + (place >= earlier).astype(jnp.int32)
        places.append(place)
    chosen = jnp.stack(places, axis=1)
    return jnp.where(chosen < first[:, None], chosen, chosen + width[:, None])


def one_layer_further(heard: Bool[Array, " n"], links: Int[Array, "n links"]) -> Bool[Array, " n"]:
    """Which blocks one block has heard of after one more layer of a window of 3 and these links."""
    further = heard.at[1:].max(heard[:-1]).at[:-1].max(heard[1:])
    for link in links.T:
        further = further.at[link].max(heard)
    return further


def heard_by_one(key: PRNGKeyArray, blocks: int, random_blocks: int, layers: int) -> Float[Array, " l"]:
    """How many blocks a uniformly drawn block has heard of after 0, 1, 2, ..., `layers` layers."""
    for_links, for_block = jax.random.split(key)
    links = links_beyond_the_window(for_links, blocks, random_blocks)
    heard = jnp.arange(blocks, dtype=jnp.int32) == jax.random.randint(for_block, (), 0, blocks)
    numbers = [jnp.ones(())]
    for _ in range(layers):
        heard = one_layer_further(heard, links)
        numbers.append(jnp.sum(heard.astype(jnp.float32)))
    return jnp.stack(numbers)


HEARD_BY_WINDOW = exact_claim(
    name="window-heard",
    statement=r"After $l$ layers a window of $w$ blocks has become one of $2 l \lfloor w/2 \rfloor + 1$.",
    source="mathematics/sparse.md#how-many-blocks-have-been-heard-of; Zaheer et al. 2020, section 2; "
    "practical4/3g.2",
    hypotheses=A_LAYER
    | {
        "nothing but a window": lambda s: s.random_blocks == 0,
        f"blocks <= {MASKED}": lambda s: s.blocks <= MASKED,
    },
    predict=lambda s: Interval.point(bigbird.window_heard(s.blocks, s.window, s.layers)),
    draw=_share_heard,
    # A mean of zeros and ones in float32.
    rounding=1e-6,
    settings=tuple(Depth(blocks=64, window=3, random_blocks=0, layers=layers) for layers in DEPTHS),
    rival=Rival[Depth](
        statement=r"A share of $(2 l \lfloor w/2 \rfloor + 1)/n$ is connected.",
        source="the ends of the sequence left out",
        predict=lambda s: Interval.point((2 * s.layers * (s.window // 2) + 1) / s.blocks),
    ),
)

LINKED = A_LAYER | {
    "random links": lambda s: s.random_blocks > 0,
    "a window of 3": lambda s: s.window == 3,
    "n >= r + 3": lambda s: s.blocks >= s.random_blocks + 3,
}


def _share_in_a_tree(s: Depth) -> float:
    """The share that the branching law alone gives. No block has heard of a larger share."""
    return hearing.most_heard(s.random_blocks, s.layers) / s.blocks


HEARD_BY_LINKS = Claim(
    name="random-heard",
    statement="With a window of 3 and $r$ random links a row, the number of blocks that a block has heard of "
    "after $l$ layers is what the branching law counts, minus what repeats or lies over an end.",
    source="mathematics/sparse.md#how-many-blocks-have-been-heard-of; Zaheer et al. 2020, section 2; "
    "practical4/3g.2",
    hypotheses=LINKED,
    predict=lambda s: Interval(*hearing.share_heard(s.blocks, s.random_blocks, s.layers)),
    draw=_share_heard,
    bound=lambda s: bounded(0.0, 1.0001 * _share_in_a_tree(s)),
    resolution=lambda s: 0.45 * (_share_in_a_tree(s) - hearing.share_heard(s.blocks, s.random_blocks, s.layers)[1]),
    settings=tuple(
        Depth(blocks=blocks, window=3, random_blocks=links, layers=layers)
        for blocks, links, layers in (
            (64, 1, 2),
            (64, 1, 3),
            (64, 2, 2),
            (1500, 1, 6),
            (4096, 2, 5),
        )
    ),
    rival=Rival[Depth](
        statement="They are as many as the law counts: a random graph is a tree, seen from one of its blocks.",
        source="what holds of any number of layers while the blocks grow without end, said of these",
        predict=lambda s: Interval.point(_share_in_a_tree(s)),
    ),
    chunk=32,
)

MEETINGS_BY_CHANCE = foil(
    HEARD_BY_LINKS,
    name="blocks-below-two-that-met-meet-by-chance",
    statement="Two blocks of the branching law are the same with probability $1/(n-3-r)$ at most. So repeats "
    r"take off at most $\frac{1}{2}N_l(N_l-1)/(n-3-r)$, and the ends at most $l N_l/n$.",
    source="mathematics/sparse.md#how-many-blocks-have-been-heard-of, as this page had it, with the certainty "
    "left out that blocks below two that met have met",
    predict=lambda s: Interval.at_least(
        hearing.share_heard_if_all_meet_by_chance(s.blocks, s.random_blocks, s.layers)
    ),
    settings=HEARD_BY_LINKS.settings[-2:],
    # Finer than the 0.0017 by which it is wrong.
    resolution=0.001,
    stream=HEARD_BY_LINKS,
)


class Growth(Setting):
    """The step from the layer before to `layer`, over blocks with a window of 3 and random links."""

    blocks: int
    random_blocks: int
    layer: int


def _growth(key: PRNGKeyArray, s: Growth) -> Float[Array, ""]:
    """How many new blocks one block hears of in this layer, over how many in the layer before."""
    *_, before, last, now = heard_by_one(key, s.blocks, s.random_blocks, s.layer)
    return (now - last) / (last - before)


GROWTH = Claim(
    name="random-heard-grows-by-the-branching-rate",
    statement=r"While few blocks are known, the number of new ones grows by $\lambda = "
    r"\frac{1}{2}(1+r+\sqrt{(1-r)^2+8r})$ a layer, up to what repeats and the first layers change.",
    source="mathematics/sparse.md#how-many-blocks-have-been-heard-of; Zaheer et al. 2020, section 2; "
    "practical4/3g.2",
    hypotheses=at_least(blocks=2)
    | {
        "random links": lambda s: s.random_blocks > 0,
        "a layer before": lambda s: s.layer > 1,
        "n > N: somebody is left to hear of": lambda s: hearing.most_heard(s.random_blocks, s.layer - 1) < s.blocks,
    },
    predict=lambda s: Interval(*hearing.growth(s.blocks, s.random_blocks, s.layer)),
    draw=_growth,
    # A block that is reached by a link leads to r + 2 others at most. Until all are known, each layer adds a block.
    bound=lambda s: bounded(0.0, 1.0001 * (s.random_blocks + 2)),
    resolution=0.15,
    settings=tuple(Growth(blocks=4096, random_blocks=r, layer=layer) for r, layer in ((1, 3), (2, 3))),
    rival=Rival[Growth](
        statement="It grows by $r + 1$: of the $r + 2$ neighbours of a block one is where it was heard from.",
        source="the bound of Moore for graphs of one degree, with links that are walked in one direction only",
        predict=lambda s: Interval.point(s.random_blocks + 1.0),
    ),
    chunk=32,
)

CLAIMS = (HEARD_BY_WINDOW, HEARD_BY_LINKS, MEETINGS_BY_CHANCE, GROWTH)
