"""Generation: the next token, likeliest or drawn, again and again, for many prompts in one compiled program.

The context is what the homework's is, the last `block` tokens. As long as it is the whole row, keys and values are
kept and each token costs one step over the cache; where it would slide, or the mixer keeps nothing, every token
costs a whole pass. Both choose the same tokens, unless two candidates are as close as rounding. A drawn token
depends on the key, the number of its row and its place, and on no other row.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from attnlab_theory import refuse
from attnlab_theory.language import meshes
from attnlab_theory.language.decode import Beam, Greedy, Law, Sampling, drawn
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.models.layers import at_least_single
from attnlab_theory.language.models.mixing import Slot, in_slots
from attnlab_theory.seeds import key_for

MODELS_OWN = Sampling()
"""Temperature 1, nothing cut."""

Choose = Callable[[Array, Array], tuple[Array, Array]]
"""From the number of a column and its logits to tokens and their log-probabilities."""

SEGMENT = 32
"""Tokens after which the cache grows: a step looks at all of its slots, so it should not have them too early."""


@dataclasses.dataclass(frozen=True)
class Stop:
    """What ends a row: a token, once it has been generated so many times. The prompt's own do not count."""

    token: int
    times: int = 1


class Continuation(NamedTuple):
    """What was generated behind every prompt.

    Behind a row's end there is only the stop token, with log-probability 0: a sum over a row is that of the row.
    """

    tokens: Int[np.ndarray, "n steps"]
    log_probability: Float[np.ndarray, "n steps"]
    """Of each token, given all before it."""


def greedy(
    model: GPT,
    prompts: Int[Array | np.ndarray, "n t"],
    lengths: Int[Array | np.ndarray, " n"],
    *,
    steps: int,
    stop: Stop | None = None,
    mesh: Mesh | None = None,
) -> Continuation:
    """The likeliest token after each prompt, `steps` times; of equally likely ones that of the lowest number.

    Args:
        model: with any mixer and any positions.
        prompts: tokens, filled up to equal lengths at the right end, with anything.
        lengths: of the prompts, each at least 1.
        steps: tokens to generate.
        stop: what ends a row; generation itself ends with the last row. None: all steps are taken.
        mesh: of this process's devices with one axis named "data", over which the rows are shared out. Each reads
            all weights, and ends with its last row.

    Returns:
        Tokens and their log-probabilities; a row's do not depend on the other rows.

    Raises:
        ValueError: if there is no prompt, a length is not one of 1 to t, a token is not in the vocabulary, steps
            or stop are out of range, the mesh has other axes, or the model's logits are no numbers.
    """
    return _generated(model, prompts, lengths, key_for(0), Greedy(), steps=steps, stop=stop, mesh=mesh)


def sample(
    key: PRNGKeyArray,
    model: GPT,
    prompts: Int[Array | np.ndarray, "n t"],
    lengths: Int[Array | np.ndarray, " n"],
    *,
    sampling: Sampling = MODELS_OWN,
    steps: int,
    stop: Stop | None = None,
    mesh: Mesh | None = None,
) -> Continuation:
    """Tokens drawn after each prompt, `steps` times.

    Args:
        key: row i sees the same random numbers whatever the other rows are.
        sampling: the law that tokens are drawn from; by default the model's own.

    Returns:
        Tokens and their log-probabilities under the model itself, before temperature and cuts.

    Args, raises: otherwise as `greedy`.
    """
    return _generated(model, prompts, lengths, key, sampling, steps=steps, stop=stop, mesh=mesh)


class Beams(NamedTuple):
    """The continuations that a beam has kept behind every prompt, best first."""

    tokens: Int[np.ndarray, "n width steps"]
    log_probability: Float[np.ndarray, "n width steps"]
    """Of each token, given all before it; 0 behind the end."""
    score: Float[np.ndarray, "n width"]
    """The summed log-probabilities over the length to the power of the penalty."""


def beam(
    model: GPT,
    prompts: Int[Array | np.ndarray, "n t"],
    lengths: Int[Array | np.ndarray, " n"],
    *,
    search: Beam,
    steps: int,
    stop: Stop | None = None,
) -> Beams:
    """The best continuations that a beam search finds.

    Args:
        search: how many are kept, and how they are ordered. Of equally good ones, that of the better beginning
            comes first, then that of the lower token.
        stop: what ends a continuation: a token, the first time that it comes. None: all steps are taken.

    Returns:
        All that are kept at the end. A prompt's do not depend on the other prompts.

    Raises:
        ValueError: as `greedy`; if the beam is wider than the vocabulary, the stop token must come several times,
            the model keeps no keys and values, or prompt and steps are longer than its block.

    Args: otherwise as `greedy`.
    """
    prompts, lengths = _checked(model, prompts, lengths, steps, stop)
    vocabulary, block = model.config.vocabulary, model.config.block
    if search.width > vocabulary:
        raise ValueError(
            f"a beam of {search.width} is wider than the vocabulary of {vocabulary}: take a narrower one"
        )
    if stop is not None and stop.times > 1:
        raise ValueError(f"a beam ends with the first stop token, not after {stop.times}")
    if not model.config.mixer.scored:
        raise ValueError(f"beam search needs keys and values to keep, and {model.config.mixer.name} has none")
    if prompts.shape[1] + steps - 1 > block:
        raise ValueError(
            f"a prompt of {prompts.shape[1]} tokens and {steps} steps do not fit into a block of {block}: beam "
            "search keeps the whole row"
        )
    found = _over_beams(
        model,
        prompts,
        lengths,
        jnp.asarray(search.length_penalty, float),
        width=search.width,
        steps=steps,
        stop=stop,
    )
    tokens, log_probability, score = (np.asarray(each) for each in found)
    if np.any(np.isnan(score)):
        row = int(np.argwhere(np.isnan(score))[0][0])
        raise ValueError(f"the logits after prompt {row} are NaN: look for NaN in the weights")
    return Beams(tokens, log_probability, score)


def greedy_uncached(
    model: GPT,
    prompts: Int[Array | np.ndarray, "n t"],
    lengths: Int[Array | np.ndarray, " n"],
    *,
    steps: int,
    stop: Stop | None = None,
) -> Continuation:
    """As `greedy`, with a pass over the last `block` tokens for every new one, as in the homework.

    Source: Stanford CS224n, assignment 5 of 2021 (assignment 4 from 2024), `utils.sample`.
    """
    return _generated(model, prompts, lengths, key_for(0), Greedy(), steps=steps, stop=stop, cached=False)


def sample_uncached(
    key: PRNGKeyArray,
    model: GPT,
    prompts: Int[Array | np.ndarray, "n t"],
    lengths: Int[Array | np.ndarray, " n"],
    *,
    sampling: Sampling = MODELS_OWN,
    steps: int,
    stop: Stop | None = None,
) -> Continuation:
    """As `sample`, with a pass over the last `block` tokens for every new one."""
    return _generated(model, prompts, lengths, key, sampling, steps=steps, stop=stop, cached=False)


def _generated(
    model: GPT,
    prompts: Array | np.ndarray,
    lengths: Array | np.ndarray,
    key: PRNGKeyArray,
    choosing: Sampling | Greedy,
    *,
    steps: int,
    stop: Stop | None,
    mesh: Mesh | None = None,
    cached: bool = True,
) -> Continuation:
    prompts, lengths = _checked(model, prompts, lengths, steps, stop)
    cacheable = cached and model.config.mixer.scored and prompts.shape[1] + steps - 1 <= model.config.block
    program = _over_cache if cacheable else _over_whole_passes
    if mesh is not None:
        mesh = meshes.of_rows(mesh, at_most=len(prompts))
        model = jax.device_put(model, NamedSharding(mesh, PartitionSpec()))
        program = _shared_out(program, mesh)
    rows = jnp.arange(len(prompts), dtype=jnp.uint32)
    told = choosing.law() if isinstance(choosing, Sampling) else choosing
    return _host(program(model, prompts, lengths, key, rows, told, steps=steps, stop=stop))


class _Run(NamedTuple):
    """What has been generated so far."""

    tokens: Int[Array, "n steps"]
    log_probability: Float[Array, "n steps"]
    missing: Int[Array, " n"]
    """How often the stop token must still come."""


@functools.partial(jax.jit, static_argnames=("steps", "stop"))
def _over_cache(
    model: GPT,
    prompts: Array,
    lengths: Array,
    key: PRNGKeyArray,
    rows: Array,
    told: Law | Greedy,
    *,
    steps: int,
    stop: Stop | None,
) -> _Run:
    """Slots hold the t tokens of the filled-up prompts, then what is generated: the same slots in all rows."""
    t = prompts.shape[1]
    logits, cache = model.prefill_rows(prompts, lengths)
    choose = functools.partial(_next_token, told, key, rows)
    first = _chosen(_nothing(prompts.shape[0], steps, stop), jnp.int32(0), logits, stop, choose)
    carry = (jnp.int32(1), first, cache)
    for end in _segments(steps - 1):
        number, run, cache = carry
        capacity = t + end

        def step(carry, capacity=capacity):
            number, run, cache = carry
            slot = _slot(lengths, t, number - 1, capacity)
            token = lax.dynamic_index_in_dim(run.tokens, number - 1, axis=1, keepdims=False)
            logits, cache = model.step_rows(token, slot, cache)
            return number + 1, _chosen(run, number, logits, stop, choose), cache

        grown = tuple(in_slots(layer, capacity) for layer in cache if layer is not None)
        carry = lax.while_loop(functools.partial(_goes_on, end + 1), step, (number, run, grown))
    return carry[1]


@functools.partial(jax.jit, static_argnames=("steps", "stop"))
def _over_whole_passes(
    model: GPT,
    prompts: Array,
    lengths: Array,
    key: PRNGKeyArray,
    rows: Array,
    told: Law | Greedy,
    *,
    steps: int,
    stop: Stop | None,
) -> _Run:
    n, t = prompts.shape
    choose = functools.partial(_next_token, told, key, rows)
    width = min(model.config.block, t + steps - 1)
    first = (jnp.int32(0), _nothing(n, steps, stop), jnp.pad(prompts, ((0, 0), (0, steps))))

    def step(carry):
        number, run, texts = carry
        known = lengths + number
        start = jnp.maximum(known - width, 0)
        context = jax.vmap(lambda row, at: lax.dynamic_slice_in_dim(row, at, width))(texts, start)
        run = _chosen(run, number, model.prefill_rows(context, known - start)[0], stop, choose)
        token = lax.dynamic_index_in_dim(run.tokens, number, axis=1, keepdims=True)
        texts = jax.vmap(lambda row, new, at: lax.dynamic_update_slice_in_dim(row, new, at, 0))(texts, token, known)
        return number + 1, run, texts

    return lax.while_loop(functools.partial(_goes_on, steps), step, first)[1]


class _Kept(NamedTuple):
    """The continuations of all prompts so far."""

    tokens: Int[Array, "n w steps"]
    log_probability: Float[Array, "n w steps"]
    total: Float[Array, "n w"]
    length: Int[Array, "n w"]
    ended: Bool[Array, "n w"]


@functools.partial(jax.jit, static_argnames=("width", "steps", "stop"))
def _over_beams(
    model: GPT,
    prompts: Array,
    lengths: Array,
    penalty: Float[Array, ""],
    *,
    width: int,
    steps: int,
    stop: Stop | None,
) -> tuple[Array, Array, Array]:
    """Every prompt takes `width` rows of one batch; after each token rows are taken over with their caches."""
    n, t = prompts.shape
    logits, cache = model.prefill_rows(prompts, lengths)
    end = -1 if stop is None else stop.token
    kept = _Kept(
        jnp.full((n, width, steps), max(end, 0), jnp.int32),
        jnp.zeros((n, width, steps)),
        # Of equal beginnings only the first is one.
        jnp.where(jnp.arange(width)[None, :] == 0, jnp.zeros((n, width)), -jnp.inf),
        jnp.zeros((n, width), jnp.int32),
        jnp.zeros((n, width), bool),
    )
    every = jnp.repeat(jnp.arange(n), width)
    wide = jnp.repeat(at_least_single(logits), width, axis=0)
    kept, _ = _extended(kept, jnp.int32(0), wide, end, penalty)
    carry = (jnp.int32(1), kept, jax.tree.map(lambda x: x[every], cache))
    own = jnp.repeat(lengths, width)
    for last in _segments(steps - 1):
        number, kept, cache = carry
        capacity = t + last

        def step(carry, capacity=capacity):
            number, kept, cache = carry
            token = lax.dynamic_index_in_dim(kept.tokens, number - 1, axis=2, keepdims=False).reshape(-1)
            logits, cache = model.step_rows(token, _slot(own, t, number - 1, capacity), cache)
            kept, parent = _extended(kept, number, at_least_single(logits), end, penalty)
            rows = (jnp.arange(n, dtype=parent.dtype)[:, None] * width + parent).reshape(-1)
            return number + 1, kept, jax.tree.map(lambda x: x[rows], cache)

        def goes_on(carry, last=last):
            return (carry[0] < last + 1) & ~jnp.all(carry[1].ended)

        grown = tuple(in_slots(layer, capacity) for layer in cache if layer is not None)
        carry = lax.while_loop(goes_on, step, (number, kept, grown))
    kept = carry[1]
    return kept.tokens, kept.log_probability, _scores(kept.total, kept.length, penalty)


def _scores(
    total: Float[Array, "..."], length: Int[Array, "..."], penalty: Float[Array, ""]
) -> Float[Array, "..."]:
    return total / jnp.maximum(length, 1).astype(total.dtype) ** penalty.astype(total.dtype)


def _extended(
    kept: _Kept, number: Array, wide: Float[Array, "r c"], end: int, penalty: Float[Array, ""]
) -> tuple[_Kept, Int[Array, "n w"]]:
    """The best continuations by one token more, and which one each of them continues."""
    n, width = kept.total.shape
    count = wide.shape[1]
    law = jax.nn.log_softmax(wide, axis=1).reshape(n, width, count).astype(kept.total.dtype)
    # What has ended goes on in one way only, which adds nothing.
    still = jnp.where(jnp.arange(count)[None, None, :] == max(end, 0), 0.0, -jnp.inf).astype(law.dtype)
    law = jnp.where(kept.ended[:, :, None], still, law)
    length = kept.length + (~kept.ended).astype(jnp.int32)
    totals = kept.total[:, :, None] + law
    scores = _scores(totals, jnp.broadcast_to(length[:, :, None], totals.shape), penalty)
    _, best = lax.top_k(scores.reshape(n, -1), width)
    parent, token = (best // count).astype(jnp.int32), (best % count).astype(jnp.int32)
    added = jnp.take_along_axis(law.reshape(n, -1), best, axis=1)

    def taken(x: Array) -> Array:
        return jnp.take_along_axis(x, parent.reshape(n, width, *[1] * (x.ndim - 2)), axis=1)

    tokens, log_probability, total, length, ended = *(taken(x) for x in kept[:3]), taken(length), taken(kept.ended)
    longer = _Kept(
        lax.dynamic_update_slice_in_dim(tokens, token[:, :, None], number, axis=2),
        lax.dynamic_update_slice_in_dim(log_probability, added[:, :, None], number, axis=2),
        total + added,
        length,
        ended | (token == end),
    )
    return longer, parent


@functools.cache
def _shared_out(program: Callable[..., _Run], mesh: Mesh) -> Callable[..., _Run]:
    """The program with a loop of its own on every device, over its share of the rows."""

    @functools.partial(jax.jit, static_argnames=("steps", "stop"))
    def run(
        model: GPT,
        prompts: Array,
        lengths: Array,
        key: PRNGKeyArray,
        numbers: Array,
        told: Law | Greedy,
        *,
        steps: int,
        stop: Stop | None,
    ) -> _Run:
        n, missing = len(prompts), -len(prompts) % mesh.size
        # Filled up with the last row: a copy takes no longer than the row itself.
        prompts = jnp.pad(prompts, ((0, missing), (0, 0)), mode="edge")
        lengths, numbers = (jnp.pad(each, (0, missing), mode="edge") for each in (lengths, numbers))
        whole, rows = PartitionSpec(), PartitionSpec("data")
        alone = functools.partial(program, steps=steps, stop=stop)
        shared = jax.shard_map(
            alone, mesh=mesh, in_specs=(whole, rows, rows, whole, rows, whole), out_specs=rows, check_vma=False
        )
        return jax.tree.map(lambda x: x[:n], shared(model, prompts, lengths, key, numbers, told))

    return run


def _segments(total: int) -> Sequence[int]:
    """Where one loop ends and the next, over a longer cache, begins."""
    return [*range(SEGMENT, total, SEGMENT), total] if total else []


def _slot(lengths: Array, t: int, generated: Array, capacity: int) -> Slot:
    """Of the token that was generated as number `generated`, from 0."""
    slots = jnp.arange(capacity, dtype=jnp.int32)[None]
    own = lengths[:, None]
    keys = jnp.where(slots < t, slots, own + slots - t)
    seen = (slots < own) | ((slots >= t) & (slots <= t + generated))
    return Slot(t + generated, own + generated, keys, seen[:, None])


def _nothing(n: int, steps: int, stop: Stop | None) -> _Run:
    missing = jnp.full(n, 1 if stop is None else stop.times, jnp.int32)
    tokens = jnp.full((n, steps), 0 if stop is None else stop.token, jnp.int32)
    return _Run(tokens, jnp.zeros((n, steps)), missing)


def _goes_on(end: int, carry: tuple) -> Array:
    number, run, *_ = carry
    return (number < end) & jnp.any(run.missing > 0)


def _next_token(
    told: Law | Greedy, key: PRNGKeyArray, rows: Array, number: Array, wide: Float[Array, "n c"]
) -> tuple[Int[Array, " n"], Float[Array, " n"]]:
    """The tokens of column `number` and their log-probabilities under the model."""
    if isinstance(told, Greedy):
        top = jnp.max(wide, axis=1, keepdims=True)
        # Not argmax: two plain reductions, so that NaN chooses a number beyond the vocabulary.
        candidates = jnp.where(wide == top, lax.broadcasted_iota(jnp.int32, wide.shape, 1), wide.shape[1])
        return jnp.min(candidates, axis=1), -jnp.log(jnp.sum(jnp.exp(wide - top), axis=1))
    own = jax.vmap(lambda row: jax.random.fold_in(jax.random.fold_in(key, row), number))(rows)
    token = drawn(jax.vmap(jax.random.uniform)(own), wide, told)
    given = jnp.take_along_axis(wide, token[:, None], axis=1, mode="fill", fill_value=jnp.nan)[:, 0]
    return token, given - jax.nn.logsumexp(wide, axis=1)


def _chosen(run: _Run, number: Array, logits: Float[Array, "n c"], stop: Stop | None, choose: Choose) -> _Run:
    """The run with the next tokens in column `number`; NaN chooses what is no token, or has its probability."""
    token, log_probability = choose(number, at_least_single(logits))
    log_probability = log_probability.astype(run.log_probability.dtype)
    missing = run.missing
    if stop is not None:
        token = jnp.where(missing > 0, token, stop.token)
        log_probability = jnp.where(missing > 0, log_probability, 0)
        missing = missing - ((missing > 0) & (token == stop.token)).astype(jnp.int32)
    return _Run(
        lax.dynamic_update_slice_in_dim(run.tokens, token[:, None], number, axis=1),
        lax.dynamic_update_slice_in_dim(run.log_probability, log_probability[:, None], number, axis=1),
        missing,
    )


def _checked(
    model: GPT, prompts: Array | np.ndarray, lengths: Array | np.ndarray, steps: int, stop: Stop | None
) -> tuple[Array, Array]:
    """Prompts without superfluous columns and zeros behind their ends, and lengths."""
    refuse.wrong_rank(2, prompts=prompts)
    refuse.wrong_rank(1, lengths=lengths)
    refuse.different_axes("rows", prompts=len(prompts), lengths=len(lengths))
    refuse.not_a_size(steps=steps)
    rows, sizes, vocabulary = np.asarray(prompts), np.asarray(lengths), model.config.vocabulary
    if not rows.size:
        raise ValueError(f"prompts must hold a token, but have shape {rows.shape}")
    for name, array in (("prompts", rows), ("lengths", sizes)):
        if not np.issubdtype(array.dtype, np.integer):
            raise ValueError(f"{name} must hold whole numbers, not {array.dtype}")
    wrong = np.flatnonzero((sizes < 1) | (sizes > rows.shape[1]))
    if wrong.size:
        raise ValueError(
            f"the length of prompt {wrong[0]} must be from 1 to {rows.shape[1]}, not {sizes[wrong[0]]}"
        )
    if stop is not None:
        refuse.not_whole(stop=stop.token)
        refuse.not_a_size(times=stop.times)
        if not 0 <= stop.token < vocabulary:
            raise ValueError(f"stop token {stop.token} is outside the vocabulary: 0 to {vocabulary - 1}")
    rows = np.where(np.arange(rows.shape[1])[None] < sizes[:, None], rows, 0)[:, : sizes.max()]
    wrong = np.argwhere((rows < 0) | (rows >= vocabulary))
    if wrong.size:
        row, column = wrong[0]
        raise ValueError(
            f"token {rows[row, column]} of prompt {row} is outside the vocabulary: 0 to {vocabulary - 1}"
        )
    return jnp.asarray(rows, jnp.int32), jnp.asarray(sizes, jnp.int32)


def _host(run: _Run) -> Continuation:
    """The run as numpy arrays, if it has numbers."""
    found = Continuation(np.asarray(run.tokens), np.asarray(run.log_probability))
    wrong = np.argwhere(np.isnan(found.log_probability))
    if wrong.size:
        row, column = wrong[0]
        raise ValueError(f"the logits of token {column} after prompt {row} are NaN: look for NaN in the weights")
    return found
