"""Rows of different lengths in one cache: by a mask, or by the number of positions that each row has filled.

With a mask the shorter row is padded before its tokens, which the mask hides in every step. With lengths it is
padded after its first tokens, and the next token takes the place of the padding. Either way each row must give what
it gives alone. What a mask or a length means exactly is a convention, so several meanings are tried.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from attnlab_theory.conform.finding import Trouble, Verdict
from attnlab_theory.conform.masks import WORDS, said
from attnlab_theory.conform.sequences.cached_layer import CachedLayerSuite
from attnlab_theory.conform.sequences.caches import Inputs
from attnlab_theory.conform.sequences.forms import MASKS
from attnlab_theory.conform.sequences.suite import off
from attnlab_theory.conform.suite import Said, failed, refused

TRIED = ("bool-keep", "bool-drop", "additive")
"""What a mask may mean, where nobody said so."""

PADDING = ("key_padding_mask", "padding_mask", "pad_mask", "key_mask", "kv_mask")
"""What a mask of keys is called."""

FILLED = ("cache_lengths", "cache_lens", "cache_seqlens", "cache_seq_lens")
"""What the numbers of filled positions are called, where they say that they are those of the cache."""

LENGTHS = (
    *FILLED,
    "lengths",
    "seq_lens",
    "seq_lengths",
    "seqlens",
    "valid_lengths",
    "kv_lengths",
    "kv_lens",
    "key_lengths",
)
"""What they may be called. Others may hide keys alone, and leave the padding in its place: a convention."""

TOKENS, BEGUN, PADDED = 9, 6, 3
"""Tokens of each row; those of the first call; those of them that are padding in the first row."""

Named = Callable[[int, int, int], Mapping[str, np.ndarray]]


class Way(NamedTuple):
    """How a target is told which positions are filled."""

    words: str
    named: Named
    """What is handed over with the tokens from one to another, where some are padding in the first row."""
    real: Sequence[int]
    """The tokens of the first row that are no padding."""
    sure: bool = True
    """Whether the name says enough to fail a target that does something else."""


def unequal(suite: CachedLayerSuite, seed: int = 15) -> Said:
    """A row that is shorter than another one in the same cache gives what it gives alone."""
    ways = [*_ways(suite)]
    if not ways or suite.form.flat or suite.layout == "td":
        return Said(Verdict.NOT_JUDGED, "not tried: it takes neither lengths nor a mask of keys for each row", 0)
    if suite.places:
        line = f"not tried: tokens of one row stand elsewhere, and {suite.form.position} would have to say so"
        return Said(Verdict.NOT_JUDGED, line, 0)
    x = suite.draw(2, TOKENS, seed)
    plain, trouble = _fed(suite, x, lambda *_: {})
    if plain is None:
        return failed(trouble, tried=1)
    trouble, wrong, tried = None, None, 0
    for way in ways:
        full, more = _fed(suite, x, lambda first, last, way=way: way.named(first, last, 0))
        if full is None or suite.near(full, plain, x).fails:
            trouble = trouble or more
            continue
        tried += 1
        said = _judged(suite, x, way, seed)
        if said.verdict is Verdict.HOLDS and suite.chunked:
            several = _judged(suite, x, way, seed, (BEGUN, BEGUN + 2))
            # Who refuses several tokens beside a cache with padding says so elsewhere, or is not asked for them.
            said = several if several.verdict is Verdict.FAILS else said
        if said.verdict is Verdict.HOLDS:
            return said._replace(tried=tried)
        if said.verdict is Verdict.FAILS and not way.sure:
            said = said._replace(
                verdict=Verdict.CONVENTION, line=f"{said.line}; the padding may keep its place in the cache"
            )
        if wrong is None or wrong.verdict is Verdict.FAILS:
            wrong = said
    if wrong is None:
        why = trouble or "what it takes is neither a mask of keys nor lengths that are known"
        return Said(Verdict.NOT_JUDGED, f"not tried: {why}", 0, trouble=trouble)
    return wrong._replace(tried=tried)


def _judged(suite: CachedLayerSuite, x: Inputs, way: Way, seed: int, ends: Sequence[int] = ()) -> Said:
    """Both rows beside what each gives alone, with two kinds of padding, and the calls cut at some ends."""
    padding = [t for t in range(TOKENS) if t not in way.real]
    outputs = []
    for other in (seed + 1, seed + 2):
        y, noise = tuple(each.copy() for each in x), suite.draw(2, TOKENS, other)
        for each, new in zip(y, noise, strict=True):
            each[0][..., padding, :] = 4 * new[0][..., padding, :]
        came, trouble = _fed(suite, y, lambda first, last: way.named(first, last, PADDED), ends)
        if came is None:
            return refused(trouble, f"{way.words}: rows of different lengths are refused: ", 1)
        outputs.append(came)
    line = f"one of two rows has {PADDED} positions less ({way.words}{', two tokens in a later call' * bool(ends)})"
    moves = suite.near(outputs[1][:1][..., way.real, :], outputs[0][:1][..., way.real, :], x)
    if moves.fails:
        return Said(Verdict.FAILS, f"{line}, and moves with what is not there: {off(moves)}", 1, ratio=moves.ratio)
    for row, real in ((1, range(TOKENS)), (0, way.real)):
        one = tuple(each[row : row + 1][..., real, :] for each in x)
        cuts = range(1, len(real)) if not suite.chunked else range(len(real) - TOKENS + BEGUN, len(real))
        alone = suite.run(one, cuts)
        if alone.trouble:
            return failed(alone.trouble, tried=1)
        verdict = suite.near(outputs[0][row : row + 1][..., real, :], alone.output, one)
        if verdict.fails and row == 0 and real[0]:
            return Said(
                Verdict.CONVENTION,
                f"{way.words}: positions count the padding: outputs move by {verdict.error:.2g}",
                1,
            )
        if verdict.fails:
            which = "the longer" if row else "the shorter"
            return Said(
                Verdict.FAILS, f"{line}: {which} is not what it is alone: {off(verdict)}", 1, ratio=verdict.ratio
            )
    return Said(Verdict.HOLDS, f"rows with {TOKENS} and {len(way.real)} positions, {way.words}", 1)


def _fed(
    suite: CachedLayerSuite,
    x: Inputs,
    named: Callable[[int, int], Mapping[str, np.ndarray]],
    ends: Sequence[int] = (),
) -> tuple[np.ndarray | None, Trouble | None]:
    """Some tokens at once, if that can be done, and then one by one; or calls that end elsewhere."""
    state, trouble = suite.begin(2, suite.long)
    cuts = ends or range(BEGUN if suite.chunked else 1, TOKENS)
    outputs = []
    for first, last in zip((0, *cuts), (*cuts, TOKENS), strict=True):
        if trouble:
            return None, trouble
        fed = suite.feed(suite.part(x, first, last), first, state, more=named(first, last))
        state, trouble = fed.state, fed.trouble
        outputs.append(fed.output)
    return (None, trouble) if trouble else (np.concatenate(outputs, -2), None)


def _ways(suite: CachedLayerSuite) -> Iterator[Way]:
    """What a target may mean by the parameters that it has."""
    about = suite.about
    parameters = about["methods"][suite.form.method] if suite.form.method else about["parameters"]
    names = [name for name, *_ in parameters or ()]
    before, within = range(PADDED, TOKENS), [*range(BEGUN - PADDED), *range(BEGUN, TOKENS)]
    heads = "h" in suite.layout
    for name in names:
        if name.lower() in (*MASKS, *PADDING) and suite.declared.get("mask") != "none":
            meanings = [suite.declared["mask"]] if suite.declared.get("mask") else TRIED
            shapes = {"b t s": True, "b s": False, "b t": False}
            shapes = {"b 1 t s": True, "b 1 1 s": False, **shapes} if heads else shapes
            for shape, causal in shapes.items():
                if causal or not suite.masks:
                    for meaning in meanings:
                        yield Way(f"{name} [{shape}], {WORDS[meaning]}", _mask(name, shape, meaning), before)
        if name.lower() in LENGTHS:
            for kind in ("with the new tokens", "before the new tokens", "of the new tokens"):
                yield Way(f"{name} {kind}", _lengths(name, kind), within, name.lower() in FILLED)


def _mask(name: str, shape: str, meaning: str) -> Named:
    def named(first: int, last: int, padded: int) -> Mapping[str, np.ndarray]:
        keep = np.ones((2, last), bool)
        keep[0, :padded] = False
        grid = keep[:, None] & np.tri(last - first, last, first, dtype=bool)
        made = {"b t s": grid, "b s": keep, "b t": keep[:, first:], "b 1 t s": grid[:, None]}
        return {name: said(made.get(shape, keep[:, None, None]), meaning, np.dtype("float32"))}

    return named


def _lengths(name: str, kind: str) -> Named:
    def named(first: int, last: int, padded: int) -> Mapping[str, np.ndarray]:
        # Of the first call the padding comes last; of the steps after it nothing is padding.
        old = first - padded if first >= BEGUN else min(first, BEGUN - padded)
        filled = last - padded if last > BEGUN else min(last, BEGUN - padded)
        both = {
            "with the new tokens": (filled, last),
            "before the new tokens": (old, first),
            "of the new tokens": (filled - old, last - first),
        }
        return {name: np.array(both[kind])}

    return named
