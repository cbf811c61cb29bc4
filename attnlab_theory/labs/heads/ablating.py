"""The answers of a classifier without each head, and without pairs of the heads that it seems to need least.

The output of a head that is left out is replaced by its mean over all tokens of the data. The layers before it are
run once for all heads.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from attnlab_theory.labs.heads.answers import Rows, in_rows, odds_of
from attnlab_theory.labs.heads.encoder import EncoderReading
from attnlab_theory.labs.heads.results import Tell
from attnlab_theory.language.models.classifier import Classifier
from attnlab_theory.language.models.encoder import Encoder
from attnlab_theory.language.models.tape import Replacement, tape
from attnlab_theory.plurals import several
from attnlab_theory.stats.groups import refuse_too_few

Head = tuple[int, int]
"""Layer and head, from 0."""

REDUNDANT = 6
"""How many heads are left out in pairs."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ablated:
    """The log-odds of label 1 of every sentence, with all heads and without some."""

    whole: Float[np.ndarray, " n"]
    single: Float[np.ndarray, "layers h n"]
    """The log-odds without each head."""
    pairs: dict[tuple[Head, Head], Float[np.ndarray, " n"]]
    """The log-odds without both heads of a pair."""
    chosen_by: Bool[np.ndarray, " n"]
    """The sentences that chose the pairs. The others judge them."""


def ablated(
    reading: EncoderReading,
    pairs: Sequence[tuple[Head, Head]] = (),
    *,
    seed: int = 0,
    tell: Tell = lambda _: None,
) -> Ablated:
    """The answers of a classifier without each head, then without pairs of the heads that move its log-odds least.

    Args:
        reading: of a classifier.
        pairs: those to leave out instead, for a control of another model.
        seed: of the half of the sentences that chooses the pairs.
        tell: called with a line about what is being done.

    Raises:
        ValueError: if too few sentences judge for an interval.
    """
    layers, h = reading.layers, reading.heads
    count = len(reading.tokens)
    refuse_too_few(count - count // 2)
    tell(f"mean outputs of {several(layers * h, 'head')}")
    instead = mean_outputs(reading)
    whole, single = np.zeros(count), np.zeros((layers, h, count))
    chosen_by = np.random.default_rng(seed).permutation(count) < count // 2
    each = [((layer, head),) for layer in range(layers) for head in range(h)]
    done = 0
    for rows in _rows(reading):
        found = _without(reading, rows, instead, [(), *each])
        whole[rows.numbers], single[:, :, rows.numbers] = found[0], found[1:].reshape(layers, h, -1)
        done += len(rows.numbers)
        tell(f"without each head: {done} of {several(count, 'sentence')}")
    least = least_moving(whole[chosen_by], single[:, :, chosen_by])
    pairs = list(pairs) or list(itertools.combinations(least, 2))
    odds = np.zeros((len(pairs), count))
    for rows in _rows(reading):
        odds[:, rows.numbers] = _without(reading, rows, instead, pairs)
    tell(f"without {several(len(pairs), 'pair')} of heads")
    return Ablated(whole=whole, single=single, pairs=dict(zip(pairs, odds, strict=True)), chosen_by=chosen_by)


def least_moving(
    whole: Float[np.ndarray, " n"], single: Float[np.ndarray, "layers h n"], *, most: int = REDUNDANT
) -> list[Head]:
    """The heads without which the log-odds move least on average, in the order of the model."""
    moved = np.mean(np.abs(single - whole), axis=2)
    places = np.argsort(moved, axis=None, kind="stable")[:most]
    return sorted(divmod(int(place), single.shape[1]) for place in places)


def mean_outputs(reading: EncoderReading) -> Float[np.ndarray, "layers h d"]:
    """The mean output of every head over all tokens, with marks and without padding."""
    total, count = 0.0, 0
    for rows in _rows(reading):
        # Rows that only fill up are no data.
        mask = np.asarray(rows.mask) & (np.arange(len(rows.mask)) < len(rows.numbers))[:, None]
        total = total + np.asarray(_summed_outputs(reading.model, rows.tokens, rows.mask, jnp.asarray(mask)))
        count += int(np.sum(mask))
    return np.asarray(total) / count


def _rows(reading: EncoderReading) -> Iterator[Rows]:
    return in_rows(reading.tokens, longest=reading.model.config.block)


def _without(
    reading: EncoderReading, rows: Rows, instead: np.ndarray, sets: Sequence[Sequence[Head]]
) -> Float[np.ndarray, "sets n"]:
    """The log-odds of some sentences without each set of heads."""
    assert reading.classifier is not None, "only classifiers are asked for labels"
    states = _states(reading.model, rows.tokens, rows.mask)
    constants, found = jnp.asarray(instead, jnp.float32), []
    for heads in sets:
        kept = np.ones(instead.shape[:2], bool)
        for head in heads:
            kept[head] = False
        first = min((layer for layer, _ in heads), default=0)
        odds = _odds_from(
            reading.classifier, first, states[first], rows.tokens, rows.mask, jnp.asarray(kept), constants
        )
        found.append(np.asarray(odds)[: len(rows.numbers)])
    return np.stack(found)


@eqx.filter_jit
def _states(model: Encoder, tokens: Array, mask: Array) -> list[Array]:
    """The input of every layer."""
    return tape(model.walk(tokens, mask), keep=["layers.*.reads"]).layers("reads")


@eqx.filter_jit
def _summed_outputs(model: Encoder, tokens: Array, mask: Array, counted: Array) -> Float[Array, "layers h d"]:
    means = tape(model.walk(tokens, mask), keep=["layers.*.means"]).layers("means")
    return jnp.stack([jnp.sum(jnp.where(counted[:, None, :, None], each, 0), axis=(0, 2)) for each in means])


@eqx.filter_jit
def _odds_from(
    model: Classifier, first: int, x: Float[Array, "b t c"], tokens: Array, mask: Array, kept: Array, instead: Array
) -> Float[Array, " b"]:
    """The log-odds from the input of layer `first`, with heads of this and later layers left out."""
    # The compiler drops the layers before: nothing reads what they give.
    replace = {f"layers.{first}.reads": lambda _: x, **without_heads(kept, instead)}
    return odds_of(model, tape(model.encoder.walk(tokens, mask), replace=replace).end, mask)


def without_heads(kept: Bool[Array, "layers h"], instead: Float[Array, "layers h d"]) -> dict[str, Replacement]:
    """Replacements for a tape: `instead` is the output of the heads that are not kept."""

    def without(layer: int, means: Float[Array, "b h t d"]) -> Float[Array, "b h t d"]:
        return jnp.where(
            kept[layer][None, :, None, None], means, instead[layer][None, :, None, :].astype(means.dtype)
        )

    return {f"layers.{layer}.means": functools.partial(without, layer) for layer in range(len(kept))}
