"""How far BigBird sees, layer by layer, and what one layer of it cannot do (docs/mathematics/sparse.md)."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from attnlab_theory.attention import attention, bigbird_attention, bigbird_links, bigbird_mask
from attnlab_theory.claims.claim import Claim, Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, bounded
from attnlab_theory.theory.sparse import bigbird as theory
from attnlab_theory.theory.sparse import hearing


class BlockGraph(Setting):
    """Blocks, and which of them a block sees: a window, global blocks, further links."""

    blocks: int
    window: int
    global_blocks: int
    random_blocks: int


def _sees(key: PRNGKeyArray, s: BlockGraph) -> Bool[Array, "blocks blocks"]:
    return bigbird_mask(
        key,
        s.blocks,
        block=1,
        window=s.window,
        global_blocks=s.global_blocks,
        random_blocks=s.random_blocks,
    )


def _further(heard: Bool[Array, "n n"], sees: Bool[Array, "n n"]) -> Bool[Array, "n n"]:
    """Which blocks each block has heard of after one more layer."""
    return heard.astype(jnp.float32) @ sees.astype(jnp.float32) > 0


@functools.partial(jax.jit, static_argnums=1)
def _layers(key: PRNGKeyArray, s: BlockGraph) -> Float[Array, ""]:
    """Layers until every block has heard of every other: the least power of the mask that has no zero.

    A window alone connects all blocks in the end, so the loop ends.
    """
    sees = _sees(key, s)

    def deeper(state: tuple[Array, Array]) -> tuple[Array, Array]:
        heard, layers = state
        return _further(heard, sees), layers + 1

    return jax.lax.while_loop(lambda state: ~jnp.all(state[0]), deeper, (sees, jnp.float32(1)))[1]


HYPOTHESES = at_least(blocks=2, window=3, global_blocks=0, random_blocks=0) | {
    "a window has a middle": lambda s: s.window % 2 == 1,
    "global_blocks <= blocks": lambda s: s.global_blocks <= s.blocks,
}
BLOCKS = (8, 16, 32, 64, 128)

WHOLE = 0.1
"""A measured interval of this radius holds one whole number."""

WINDOW_ALONE = exact_claim(
    name="window-layers",
    statement=r"A window of $w$ blocks alone connects $n$ blocks in $\lceil (n-1)/\lfloor w/2 \rfloor \rceil$ "
    "layers.",
    source="mathematics/sparse.md#layers-until-all-blocks-are-connected; Zaheer et al. 2020, section 2; "
    "practical4/3g.2",
    hypotheses=HYPOTHESES | {"nothing but a window": lambda s: not (s.global_blocks or s.random_blocks)},
    predict=lambda s: Interval.point(float(theory.window_layers(s.blocks, s.window))),
    draw=_layers,
    rounding=WHOLE,
    settings=tuple(
        BlockGraph(blocks=blocks, window=window, global_blocks=0, random_blocks=0)
        for blocks, window in (*((blocks, 3) for blocks in BLOCKS), (32, 5), (64, 9))
    ),
    rival=Rival[BlockGraph](
        statement=r"It takes $\lceil (n-1)/(w-1) \rceil$ layers.",
        source="a window that moves by all of its neighbours, not by those on one side",
        predict=lambda s: Interval.point(float(theory.window_layers(s.blocks, 2 * s.window - 1))),
    ),
)

ONE_GLOBAL = exact_claim(
    name="global-layers",
    statement="One global block connects every pair of blocks in two layers, however many blocks there are.",
    source="mathematics/sparse.md#layers-until-all-blocks-are-connected; Zaheer et al. 2020, section 3; "
    "practical4/3g.2",
    hypotheses=HYPOTHESES
    | {"a global block": lambda s: s.global_blocks > 0, "no random links": lambda s: s.random_blocks == 0},
    predict=lambda s: Interval.point(float(theory.global_layers(s.blocks, s.window, s.global_blocks))),
    draw=_layers,
    rounding=WHOLE,
    settings=tuple(BlockGraph(blocks=blocks, window=3, global_blocks=1, random_blocks=0) for blocks in BLOCKS),
    rival=Rival(
        statement="It connects them in one layer.",
        source="the way from the global block left out",
        predict=Interval.point(1.0),
    ),
)

MOST_COUNTED = 12
"""With random links, layers are counted up to this number. A lower bound on this count is one on the full count
too."""


def _layers_counted(key: PRNGKeyArray, s: BlockGraph) -> Float[Array, ""]:
    return jnp.minimum(_layers(key, s), MOST_COUNTED)


def _layers_with_links(s: BlockGraph) -> Interval:
    """From what the branching law needs up to what is known to be enough, where that is more than the window."""
    fewest = float(min(MOST_COUNTED, hearing.fewest_layers(s.blocks, s.random_blocks)))
    most = theory.most_layers(s.blocks, s.random_blocks)
    return Interval(fewest, most) if most < s.blocks - 1 else Interval.at_least(fewest)


RANDOM_LINKS = Claim(
    name="random-layers",
    statement="With a window of 3 and $r$ random links a row, $n$ blocks take no fewer layers than the branching "
    "law needs to reach $n$ of them. How many more they take is said only where two layers show nearly every pair: "
    "none.",
    source="mathematics/sparse.md#layers-until-all-blocks-are-connected; Zaheer et al. 2020, section 2; Bollobás "
    "and Chung 1988, for logarithmic diameters; practical4/3g.2",
    hypotheses=HYPOTHESES
    | {
        "random links": lambda s: s.random_blocks > 0,
        "no global block": lambda s: not s.global_blocks,
        "a window of 3": lambda s: s.window == 3,
        "n >= r + 3": lambda s: s.blocks >= s.random_blocks + 3,
    },
    predict=_layers_with_links,
    draw=_layers_counted,
    bound=bounded(1.0, float(MOST_COUNTED)),
    resolution=0.25,
    settings=(
        *(BlockGraph(blocks=blocks, window=3, global_blocks=0, random_blocks=2) for blocks in BLOCKS[1:]),
        # With so many links, two layers are enough.
        BlockGraph(blocks=16, window=3, global_blocks=0, random_blocks=11),
    ),
    rival=Rival[BlockGraph](
        statement="They take half as many layers as through the window alone, at least.",
        source="growth with n in the place of growth with ln n",
        predict=lambda s: Interval.at_least(min(float(MOST_COUNTED), theory.window_layers(s.blocks, s.window) / 2)),
    ),
    chunk=128,
)

NO_GLOBAL = foil(
    ONE_GLOBAL,
    name="two-layers-without-a-global-block",
    statement="A window and two random links connect every pair of blocks in two layers.",
    source="mathematics/sparse.md#layers-until-all-blocks-are-connected; Zaheer et al. 2020, section 3, with the "
    "global block removed; practical4/3g.2",
    hypotheses=HYPOTHESES
    | {
        "blocks >= random_blocks + window + global_blocks": lambda s: (
            s.blocks >= s.random_blocks + s.window + s.global_blocks
        )
    },
    predict=Interval.point(2.0),
    settings=RANDOM_LINKS.settings[2:4],
    stream=RANDOM_LINKS,
)

LINKS_DO_NOT_HELP = foil(
    RANDOM_LINKS,
    name="random-links-do-not-help",
    statement="With random links the blocks take as many layers as with the window alone.",
    source="mathematics/sparse.md#layers-until-all-blocks-are-connected; Zaheer et al. 2020, section 2; "
    "practical4/3g.2",
    predict=lambda s: Interval.at_least(float(min(MOST_COUNTED, theory.window_layers(s.blocks, s.window)))),
    settings=RANDOM_LINKS.settings[1:4],
    stream=RANDOM_LINKS,
    chunk=32,
)


class FurthestTask(Setting):
    """Unit vectors in blocks. After one layer, each row should hold the vector furthest from its own."""

    blocks: int
    block: int
    d: int
    window: int
    global_blocks: int
    random_blocks: Traced[int]


MOST_LINKS = 8
"""Random links that are drawn for every row. All but `random_blocks` of them are masked."""

STRENGTH = 1e4
"""The length of the queries -x. Two vectors are mixed only if their scores differ by less than a thousandth, and
then the further one weighs more."""


def _named_right(x: Float[Array, "n d"], outputs: Float[Array, "n d"]) -> Float[Array, ""]:
    """The share of rows whose output is nearest to the vector furthest from theirs."""
    nearest = jnp.argmax(outputs @ x.T, axis=1)
    return jnp.mean((nearest == jnp.argmin(x @ x.T, axis=1)).astype(jnp.float32))


def _unit_vectors(key: PRNGKeyArray, s: FurthestTask) -> Float[Array, "n d"]:
    x = jax.random.normal(key, (s.blocks * s.block, s.d))
    return x / jnp.linalg.norm(x, axis=1, keepdims=True)


def _right_in_one_sparse_layer(key: PRNGKeyArray, s: FurthestTask) -> Float[Array, ""]:
    for_links, for_vectors = jax.random.split(key)
    x = _unit_vectors(for_vectors, s)
    layout: dict[str, Any] = {"block": s.block, "window": s.window, "global_blocks": s.global_blocks}
    links = bigbird_links(for_links, x.shape[0], random_blocks=MOST_LINKS, **layout)
    links = jnp.where(jnp.arange(float(MOST_LINKS))[None, :] < s.random_blocks, links, -1)
    return _named_right(x, bigbird_attention(-x, x, x, links, scale=STRENGTH, **layout))


def _right_in_one_dense_layer(key: PRNGKeyArray, s: FurthestTask) -> Float[Array, ""]:
    x = _unit_vectors(key, s)
    return _named_right(x, attention(-x, x, x, scale=STRENGTH))


def _visible(s: FurthestTask) -> float:
    return theory.visible_share(
        s.blocks, s.block, window=s.window, global_blocks=s.global_blocks, random_blocks=s.random_blocks
    )


def _own_share(s: FurthestTask) -> float:
    """By how much the visible share of pairs grows if a vector and itself count as a pair."""
    return (1 - _visible(s)) / (s.blocks * s.block)


LAYOUTS = tuple(
    FurthestTask(blocks=16, block=1, d=8, window=3, global_blocks=global_blocks, random_blocks=links)
    for global_blocks in (0, 2)
    for links in (0, 2, 4, 6)
)

IN_BLOCKS = at_least(blocks=2, block=1, d=4, window=1, global_blocks=0, random_blocks=0) | {
    "a window has a middle": lambda s: s.window % 2 == 1,
}

FURTHEST = Claim(
    name="furthest-by-one-sparse-layer",
    statement="One sparse layer finds the unit vector that is furthest from the row's own if the row's mask shows "
    "it. The share of such rows is the share of pairs of different vectors that the mask shows.",
    source="mathematics/sparse.md#the-furthest-vector; Zaheer et al. 2020, proposition 1; practical4/3g.3",
    hypotheses=IN_BLOCKS
    | {
        f"0 <= random_blocks <= {MOST_LINKS}": lambda s: 0 <= s.random_blocks <= MOST_LINKS,
        f"blocks >= {MOST_LINKS} + window + global_blocks": lambda s: (
            s.blocks >= MOST_LINKS + s.window + s.global_blocks
        ),
    },
    predict=lambda s: Interval.point(_visible(s)),
    draw=_right_in_one_sparse_layer,
    bound=bounded(0.0, 1.0),
    resolution=lambda s: 0.45 * _own_share(s),
    settings=LAYOUTS,
    rival=Rival[FurthestTask](
        statement="It finds it in the share of all pairs, a vector and itself included, that the mask shows.",
        source="the vector itself, which is never the furthest, left in",
        predict=lambda s: Interval.point(_visible(s) + _own_share(s)),
    ),
    chunk=128,
)

FURTHEST_DENSE = Claim(
    name="furthest-by-one-dense-layer",
    statement="One dense layer finds the unit vector that is furthest from the row's own in at least 99.9 % of "
    "rows.",
    source="mathematics/sparse.md#the-furthest-vector; Zaheer et al. 2020, proposition 1; practical4/3g.3",
    hypotheses=IN_BLOCKS,
    # Ties of float32 scores, some eps wide, are rarer than 1e-3 a row.
    predict=Interval(0.999, 1.0),
    draw=_right_in_one_dense_layer,
    bound=bounded(0.0, 1.0),
    resolution=0.002,
    settings=tuple(dataclasses.replace(LAYOUTS[0], blocks=blocks) for blocks in (8, 16, 32)),
    rival=Rival(
        statement="It misses one row in a hundred: a softmax mixes the two furthest where they are about as far.",
        source="weights taken for a mean of several vectors however large the scores are",
        predict=Interval.at_most(0.99),
    ),
    chunk=128,
)

FURTHEST_FOIL = foil(
    FURTHEST,
    name="bigbird-is-dense-attention",
    statement="In one layer BigBird finds the furthest unit vector in every row, as dense attention does.",
    source='mathematics/sparse.md#the-furthest-vector; Zaheer et al. 2020, proposition 1; practical4/3g.3, "as '
    'powerful" read layer by layer',
    predict=Interval(0.999, 1.0),
    settings=LAYOUTS[4:],
    stream=FURTHEST,
)


class FurthestInDepth(Setting):
    """n unit vectors of width d. Each row should find the vector furthest from its own, in `layers` layers of a
    window of 3."""

    n: int
    d: int
    layers: Traced[int]


def _from_neighbour(x: Float[Array, "n d"], step: int) -> Float[Array, "n d"]:
    """One head of a sparse layer: every row fetches what its neighbour holds; at an end, its own."""
    n = x.shape[0]
    places = jnp.eye(n, dtype=x.dtype)
    asked = jnp.clip(jnp.arange(n, dtype=jnp.int32) + step, 0, n - 1)
    nobody = jnp.zeros((n, 0), jnp.int32)
    return bigbird_attention(places[asked], places, x, nobody, scale=STRENGTH, block=1, window=3, global_blocks=0)


def _furthest_of(x: Float[Array, " d"], seen: Float[Array, "k d"]) -> Float[Array, " d"]:
    return attention(-x[None], seen, seen, scale=STRENGTH)[0]


def _right_in_depth(key: PRNGKeyArray, s: FurthestInDepth) -> Float[Array, ""]:
    """Vectors are handed on to both neighbours. Every row keeps the furthest it has seen."""
    x = jax.random.normal(key, (s.n, s.d))
    x = x / jnp.linalg.norm(x, axis=1, keepdims=True)

    def layer(held: tuple[Array, Array, Array], _: None) -> tuple[tuple[Array, Array, Array], Array]:
        from_left, from_right, furthest = held
        from_left, from_right = _from_neighbour(from_left, -1), _from_neighbour(from_right, 1)
        seen = jnp.stack([furthest, from_left, from_right], axis=1)
        furthest = jax.vmap(_furthest_of)(x, seen)
        return (from_left, from_right, furthest), _named_right(x, furthest)

    shares = jax.lax.scan(layer, (x, x, x), length=s.n - 1)[1]
    return shares[jnp.asarray(s.layers).astype(jnp.int32) - 1]


def _passed_by(s: FurthestInDepth, steps: int) -> float:
    """The share of pairs of different places that are at most so many steps apart."""
    return theory.visible_share(s.n, 1, window=2 * min(steps, s.n - 1) + 1, global_blocks=0, random_blocks=0)


FURTHEST_IN_DEPTH = Claim(
    name="furthest-in-depth",
    statement="With a window of 3 that hands vectors on, $l$ layers find the furthest vector in the rows "
    "within $l$ places of it: in all rows after $n - 1$ layers.",
    source="mathematics/sparse.md#the-furthest-vector-in-depth; Zaheer et al. 2020, proposition 1; practical4/3g.3",
    hypotheses=at_least(d=4) | {"1 <= layers < n": lambda s: 1 <= s.layers < s.n},
    predict=lambda s: Interval.point(_passed_by(s, int(s.layers))),
    draw=_right_in_depth,
    bound=bounded(0.0, 1.0),
    resolution=lambda s: 0.45 * (_passed_by(s, 2 * int(s.layers)) - _passed_by(s, int(s.layers))),
    settings=tuple(FurthestInDepth(n=16, d=8, layers=layers) for layers in (1, 2, 4, 8, 14)),
    rival=Rival[FurthestInDepth](
        statement=r"It has them within $2l$ places.",
        source="a window that moves by both of its neighbours, not by one on each side",
        predict=lambda s: Interval.point(_passed_by(s, 2 * int(s.layers))),
    ),
    chunk=128,
)


def _right_with_a_global_block(key: PRNGKeyArray, s: FurthestInDepth) -> Float[Array, ""]:
    """Two layers, and after each a row holds the furthest vector that it was shown."""
    x = jax.random.normal(key, (s.n, s.d))
    x = x / jnp.linalg.norm(x, axis=1, keepdims=True)
    nobody = jnp.zeros((s.n, 0), jnp.int32)
    held = x
    for _ in range(2):
        held = bigbird_attention(-x, held, held, nobody, scale=STRENGTH, block=1, window=3, global_blocks=1)
    return _named_right(x, held)


REACH_IS_POWER = foil(
    FURTHEST_IN_DEPTH,
    name="whatever-is-heard-is-used",
    statement="Two layers with a global block connect every pair, so they find the furthest vector in every row.",
    source="mathematics/sparse.md#the-furthest-vector-in-depth; Zaheer et al. 2020, read as if reach were power; "
    "practical4/3g.3",
    hypotheses=at_least(n=3, d=4) | {"two layers": lambda s: s.layers == 2},
    predict=Interval(0.999, 1.0),
    draw=_right_with_a_global_block,
    resolution=0.01,
    settings=tuple(FurthestInDepth(n=n, d=8, layers=2) for n in (8, 16, 32)),
)

CLAIMS = (
    WINDOW_ALONE,
    ONE_GLOBAL,
    NO_GLOBAL,
    RANDOM_LINKS,
    LINKS_DO_NOT_HELP,
    FURTHEST,
    FURTHEST_DENSE,
    FURTHEST_FOIL,
    FURTHEST_IN_DEPTH,
    REACH_IS_POWER,
)
