"""Generation for many prompts in one compiled program. The next token is the likeliest one, or drawn.

The context is that of the homework, the last `block` tokens. While the context is the whole row, keys and values
are kept, and each token costs one step over the cache. Once the context would slide, or if the mixer keeps nothing,
every token costs a whole pass. Both choose the same tokens, unless rounding decides between two candidates. A drawn
token depends on the key, the number of its row and its place, and on no other row.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, Int, PRNGKeyArray

from attnlab_theory.language import meshes
from attnlab_theory.language.decode import Greedy, Law, Sampling, drawn
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.models.layers import at_least_single
from attnlab_theory.language.prompts import Stop, checked, segments, slot_of
from attnlab_theory.seeds import key_for

MODELS_OWN = Sampling()
"""Temperature 1, nothing cut."""

Choose = Callable[[Array, Array], tuple[Array, Array]]
"""A function of the number of a column and its logits, to tokens and their log-probabilities."""


class Continuation(NamedTuple):
    """What was generated after every prompt.

    After the end of a row there are only stop tokens, with log-probability 0. So a sum over the columns is that of
    the row.
    """

    tokens: Int[np.ndarray, "n steps"]
    log_probability: Float[np.ndarray, "n steps"]
    """The log-probability of each token, given all before it."""


def greedy(
    model: GPT,
    prompts: Int[Array | np.ndarray, "n t"],
    lengths: Int[Array | np.ndarray, " n"],
    *,
    steps: int,
    stop: Stop | None = None,
    mesh: Mesh | None = None,
) -> Continuation:
    """The likeliest token after each prompt, `steps` times. Of equally likely ones the lowest number.

    Args:
        model: with any mixer and any positions.
        prompts: tokens. Rows are filled up to equal lengths at the right end, with anything.
        lengths: of the prompts, each at least 1.
        steps: tokens to generate.
        stop: what ends a row. Generation ends with the last row. None: all steps are taken.
        mesh: devices of this process with one axis named "data", over which the rows are shared out. Each device
            reads all weights, and ends with its last row.

    Returns:
        Tokens and their log-probabilities. Those of a row do not depend on the other rows.

    Raises:
        ValueError: if there is no prompt, a length is not one of 1 to t, or a token is not in the vocabulary. Also
            if steps or stop are out of range, the mesh has other axes, or the model's logits are no numbers.
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
        key: a PRNG key. Row i gets the same random numbers whatever the other rows are.
        model: with any mixer and any positions.
        prompts: tokens. Rows are filled up to equal lengths at the right end, with anything.
        lengths: of the prompts, each at least 1.
        sampling: the law from which tokens are drawn; by default the model's own.
        steps: tokens to generate.
        stop: what ends a row. None: all steps are taken.
        mesh: devices of this process with one axis named "data", over which the rows are shared out.

    Returns:
        Tokens and their log-probabilities under the model itself, before temperature and cuts.

    Raises:
        ValueError: if there is no prompt, a length is not one of 1 to t, or a token is not in the vocabulary. Also
            if steps or stop are out of range, the mesh has other axes, or the model's logits are no numbers.
    """
    return _generated(model, prompts, lengths, key, sampling, steps=steps, stop=stop, mesh=mesh)


def greedy_uncached(
    model: GPT,
    prompts: Int[Array | np.ndarray, "n t"],
    lengths: Int[Array | np.ndarray, " n"],
    *,
    steps: int,
    stop: Stop | None = None,
) -> Continuation:
    """The tokens of `greedy`, by a pass over the last `block` tokens for every new one, as in the homework.

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
    """The tokens of `sample`, by a pass over the last `block` tokens for every new one."""
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
    prompts, lengths = checked(model, prompts, lengths, steps, stop)
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
    """Generate over a cache. Its slots hold the t tokens of the filled-up prompts, then the new ones."""
    t = prompts.shape[1]
    logits, cache = model.prefill_rows(prompts, lengths)
    choose = functools.partial(_next_token, told, key, rows)
    first = _chosen(_nothing(prompts.shape[0], steps, stop), jnp.int32(0), logits, stop, choose)
    carry = (jnp.int32(1), first, cache)
    for end in segments(steps - 1):
        number, run, cache = carry
        capacity = t + end

        def step(carry, capacity=capacity):
            number, run, cache = carry
            slot = slot_of(lengths, t, number - 1, capacity)
            token = lax.dynamic_index_in_dim(run.tokens, number - 1, axis=1, keepdims=False)
            logits, cache = model.step_rows(token, slot, cache)
            return number + 1, _chosen(run, number, logits, stop, choose), cache

        grown = tuple(layer.in_slots(capacity) for layer in cache if layer is not None)
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
    """The run with the next tokens in column `number`. A NaN among the logits shows in token or probability."""
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


def _host(run: _Run) -> Continuation:
    """The run as numpy arrays. Refused if its logits are no numbers."""
    found = Continuation(np.asarray(run.tokens), np.asarray(run.log_probability))
    wrong = np.argwhere(np.isnan(found.log_probability))
    if wrong.size:
        row, column = wrong[0]
        raise ValueError(f"the logits of token {column} after prompt {row} are NaN: look for NaN in the weights")
    return found
