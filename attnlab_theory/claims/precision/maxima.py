"""How often an online softmax rescales (docs/mathematics/precision.md)."""

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

CLAIMS = (RECORDS, NINE_TENTHS)
