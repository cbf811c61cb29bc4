"""How often an online softmax rescales (docs/mathematics/precision.md)."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_scores
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, bounded
from attnlab_theory.theory.precision import maxima as theory

MOST_ROWS = 128


class Tile(Setting):
    """So many rows of independent scores, read block by block."""

    blocks: int
    rows: Traced[int]


def _changes(key: PRNGKeyArray, setting: Tile) -> Float[Array, ""]:
    """Blocks after the first in which the running maximum of some row rises; a block is one key."""
    # Orthogonal queries and normal keys: the rows are independent.
    keys = jax.random.normal(key, (setting.blocks, MOST_ROWS))
    scores = attention_scores(jnp.eye(MOST_ROWS), keys, scale=1.0)
    running = jax.lax.cummax(scores, axis=1)
    among = jnp.arange(MOST_ROWS, dtype=float)[:, None] < setting.rows
    rises = jnp.any(among & (running[:, 1:] > running[:, :-1]), axis=0)
    return jnp.sum(rises.astype(scores.dtype))


def _rival(setting: Tile) -> float:
    """Every block for a row; what a row has, for a tile."""
    return float(setting.blocks - 1) if setting.rows == 1 else theory.changes(setting.blocks, 1)


RECORDS = Claim(
    name="records-are-rare-in-a-row-and-common-in-a-tile",
    statement=r"Over $B$ exchangeable blocks the running maximum of some of $R$ independent rows rises in "
    r"$\sum_{b=2}^B(1 - (1 - 1/b)^R)$ blocks on average: 3.7 of 63 for a row, 60.6 for a tile of 128.",
    source="mathematics/precision.md#records-are-rare-in-a-row-and-common-in-a-tile; Milakov and Gimelshein 2018",
    hypotheses=at_least(blocks=2, rows=1) | at_most(blocks=256, rows=MOST_ROWS),
    predict=lambda s: Interval.point(theory.changes(s.blocks, s.rows)),
    draw=_changes,
    bound=lambda s: bounded(0.0, s.blocks - 1 + 0.001),
    resolution=lambda s: 1.0 if s.rows == 1 else 2.0,
    settings=tuple(Tile(blocks=64, rows=rows) for rows in (1, 16, 128)),
    rival=Rival(
        statement=r"A row rescales at every block, and a tile as seldom as a row, $H_B - 1$ times.",
        source="a program that always rescales, and the records of one row taken for those of a tile",
        predict=lambda s: Interval.point(_rival(s)),
    ),
    chunk=32,
)

NINE_TENTHS = foil(
    RECORDS,
    name="skipping-unchanged-maxima-saves-nine-tenths",
    statement="A tile of 128 rows has to rescale in at most a tenth of 63 blocks.",
    source="mathematics/precision.md#records-are-rare-in-a-row-and-common-in-a-tile; Milakov and Gimelshein 2018, "
    "what is true of one row",
    predict=Interval.at_most(6.3),
    settings=RECORDS.settings[-1:],
)


BLOCK = 16


class Lazy(Setting):
    """A row over blocks of 16 scores N(0, spread^2), whose reference moves by more than 2^octaves or not at all."""

    blocks: int
    spread: Traced[float]
    octaves: Traced[float]


def _rescalings(key: PRNGKeyArray, setting: Lazy) -> Float[Array, ""]:
    keys = jax.random.normal(key, (setting.blocks * BLOCK, 1))
    scores = attention_scores(jnp.ones((1, 1)), keys, scale=setting.spread)[0]
    largest = jnp.max(scores.reshape(setting.blocks, BLOCK), axis=1)
    rise = setting.octaves * jnp.log(2.0)

    def read(reference: Array, block: Array) -> tuple[Array, Array]:
        rises = block > reference + rise
        return jnp.where(rises, block, reference), rises.astype(block.dtype)

    return jnp.sum(jax.lax.scan(read, largest[0], largest[1:])[1])


def _rise(setting: Lazy) -> float:
    return setting.octaves * math.log(2)


LAZY = Claim(
    name="a-threshold-makes-rescaling-rare",
    statement=r"A row that ignores rises of its maximum up to a factor $2^8$ rescales 0.28 times over 64 blocks of "
    r"16 scores with spread 3: a recursion over the reference gives the number.",
    source="mathematics/precision.md#records-are-rare-in-a-row-and-common-in-a-tile; Milakov and Gimelshein 2018",
    hypotheses=at_least(blocks=2, spread=0.5, octaves=1) | at_most(blocks=256, spread=8, octaves=16),
    predict=lambda s: Interval.around(theory.rescalings(s.blocks, BLOCK, s.spread, _rise(s)), 1e-3),
    draw=_rescalings,
    bound=lambda s: bounded(0.0, s.blocks - 1 + 0.001),
    resolution=0.25,
    settings=tuple(Lazy(blocks=64, spread=spread, octaves=8.0) for spread in (3.0, 5.0)),
    rival=Rival(
        statement=r"It rescales at every record, $H_B - 1$ times.",
        source="no threshold",
        predict=lambda s: Interval.point(theory.changes(s.blocks, 1)),
    ),
    stated={"spread": 3.0},
    chunk=64,
)

CLAIMS = (RECORDS, NINE_TENTHS, LAZY)
