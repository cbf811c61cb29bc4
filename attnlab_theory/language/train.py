"""Training any model that knows its loss: a generator of states and metrics.

A step is one update from one batch. The batch may be cut into micro-batches. Their summed losses are divided by the
weight of the whole batch, so length-sorted, packed and plain batches have the same gradient. Random numbers depend
on the seed and the step alone, and data on the seed and the epoch alone. So a run that goes on from a saved state
computes the same bits as one that was never stopped.
"""

import dataclasses
import functools
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast, get_args

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Int, PyTree

from attnlab_theory import refuse
from attnlab_theory.axes import PRNGKeyArray
from attnlab_theory.language import meshes
from attnlab_theory.language.models.model import Examples, Model
from attnlab_theory.language.optimizers import AdamW, Optimizer
from attnlab_theory.language.precision import Precision
from attnlab_theory.language.schedules import Schedule
from attnlab_theory.seeds import key_for

Epochs = Callable[[int], Iterable[Examples]]
"""A function of the number of an epoch to its batches. The same number always gives the same batches."""

LONGEST = 1e9
"""The largest Euclidean length of parameters. Longer ones are no model: float32 overflows after two layers."""

Split = Callable[[Any], Sequence[Any]]
"""A function of a batch to micro-batches with the same documents."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Training:
    """How a model is trained."""

    schedule: Schedule
    epochs: int
    optimizer: Optimizer = dataclasses.field(default_factory=AdamW)
    split: Split = lambda batch: (batch,)
    """Cuts a batch into micro-batches. `functools.partial(by_length, rows=8)` reads little PAD."""
    seed: int = 0
    """The seed of dropout."""
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        refuse.not_a_size(epochs=self.epochs)
        if self.precision not in get_args(Precision):
            raise ValueError(f"precision is one of {', '.join(get_args(Precision))}, not {self.precision!r}")


class State(NamedTuple):
    """All that a run needs to go on. The next step reuses the memory of its arrays."""

    model: Any
    """A `Model`."""
    moments: PyTree
    """The memory of the optimizer."""
    step: int = 0
    """How many updates there have been."""
    epoch: int = 0
    batch: int = 0
    """How many batches of this epoch have been read."""
    tokens: int = 0
    """How many places have been read, PAD included. The homework's schedules count these."""


@dataclasses.dataclass(frozen=True)
class Metrics:
    """The numbers of one step."""

    step: int
    """The number of the step, from 1."""
    epoch: int
    loss: float
    """The mean loss over the batch's targets, in nats, before the update and with dropout."""
    rate: float
    gradient: float
    """The Euclidean length of the gradient before clipping."""
    targets: int
    documents: int
    seconds: float
    """Seconds since the end of the step before. Those of the first step are mostly compilation."""


class Diverged(ValueError):
    """The loss or its gradient is no longer a number, or the parameters are too large to be of use."""


def started(model: Model, training: Training) -> State:
    """The state before the first step."""
    # One program: one for each shape would take a tenth of a second to load.
    return State(model, jax.jit(training.optimizer.transformation(model).init)(cast(optax.Params, model)))


def train(
    state: State, epochs: Epochs, training: Training, *, mesh: Mesh | None = None
) -> Iterator[tuple[State, Metrics]]:
    """Go on from a state to the end of the last epoch.

    Args:
        state: from `started`, or a saved one.
        epochs: the data.
        training: the recipe.
        mesh: devices with one axis named "data", over which the rows of every micro-batch are shared out. For a
            mesh over several hosts, each host calls `jax.distributed.initialize` before anything else of jax, and
            gets the same data. Between processors also call
            `jax.config.update("jax_cpu_collectives_implementation", "gloo")`.

    Yields:
        The state after each step, and the numbers of the step. The next step reuses the memory of a yielded state.

    Raises:
        Diverged: if a state holds no numbers. The message has the step and the learning rate.
    """
    everywhere, by_rows = _placements(mesh)
    model, moments = everywhere((state.model, state.moments))
    step, tokens, skipped = state.step, state.tokens, state.batch
    key = key_for(training.seed, "dropout")
    before = time.perf_counter()
    for epoch in range(state.epoch, training.epochs):
        for number, batch in enumerate(itertools.islice(epochs(epoch), skipped, None), skipped + 1):
            rate, targets, weight = training.schedule.rate(step, tokens), batch.targets, batch.weight
            share = np.float32(1 / weight if weight > 0 else 1)
            total: Total | None = None
            for stack in _stacks(training.split(batch), by_rows):
                total = _accumulate(model, total, stack, share, key, np.uint32(step), precision=training.precision)
            gradient, summed = cast(Total, total)
            steepness = _length(gradient)
            model, moments, reached = _update(
                model, moments, gradient, np.float32(rate), optimizer=training.optimizer
            )
            loss, length, reach = (float(x) for x in (summed, steepness, reached))
            step, tokens = step + 1, tokens + batch.places
            if not (math.isfinite(loss + length) and reach <= LONGEST):
                raise Diverged(
                    f"loss {loss:.6g} with a gradient of length {length:.3g}, and parameters of length {reach:.3g} "
                    f"after it, at step {step}, in epoch {epoch}, at learning rate {rate:.3g}: train with a lower "
                    "rate"
                )
            now = time.perf_counter()
            metrics = Metrics(step, epoch, loss, rate, length, targets, batch.documents, now - before)
            before = now
            yield State(model, moments, step, epoch, number, tokens), metrics
        skipped = 0


Total = tuple[PyTree, Array]
"""A gradient and a loss, summed over the micro-batches so far."""


class Stack(NamedTuple):
    """Micro-batches of one shape, stacked. Those from `filled` on are PAD alone."""

    micros: Examples
    first: int | Int[Array, ""]
    """The number of the first among all micro-batches of the batch."""
    filled: int | Int[Array, ""]


def _stacks(parts: Sequence[Any], laid: Callable[[Any], Any]) -> Iterator[Stack]:
    """Neighbouring micro-batches of one shape, stacked. All stacks are equally high, so few shapes are compiled."""
    height = 1 << (len(parts) - 1).bit_length()
    first = 0
    for _, alike in itertools.groupby(parts, lambda part: jax.tree.map(np.shape, part)):
        micros = list(alike)
        filling = [jax.tree.map(np.zeros_like, micros[0])] * (height - len(micros))
        yield Stack(laid(jax.tree.map(lambda *xs: np.stack(xs), *micros, *filling)), first, len(micros))
        first += len(micros)


@functools.partial(jax.jit, static_argnames="precision", donate_argnames="total")
def _accumulate(
    model: Model,
    total: Total | None,
    stack: Stack,
    share: Array,
    key: PRNGKeyArray,
    step: Array,
    *,
    precision: Precision,
) -> Total:
    """Add the micro-batches' parts of the batch's mean loss, and their gradients, to the sums so far.

    It is a loop inside one program, which takes its memory from the system once. A program for each micro-batch
    would get fresh pages each time, which cost a quarter of the step.
    """
    of_step = jax.random.fold_in(key, step)

    def one(number: Array | int) -> Total:
        micro = jax.tree.map(lambda x: lax.dynamic_index_in_dim(x, number, keepdims=False), stack.micros)

        def loss(model: Model) -> Array:
            narrow = jax.tree.map(lambda x: x.astype(precision), model) if precision != "float32" else model
            return share * narrow.summed_loss(micro, jax.random.fold_in(of_step, stack.first + number))

        more, gradient = jax.value_and_grad(loss)(model)
        return gradient, more

    if total is None and jax.tree.leaves(stack.micros)[0].shape[0] == 1:
        return one(0)
    nothing = jax.tree.map(jnp.zeros_like, model), jnp.zeros((), jax.tree.leaves(model)[0].dtype)
    first = nothing if total is None else total
    return lax.fori_loop(0, stack.filled, lambda number, total: jax.tree.map(jnp.add, total, one(number)), first)


@functools.partial(jax.jit, static_argnames="optimizer", donate_argnames=("model", "moments"))
def _update(
    model: Model, moments: PyTree, gradient: PyTree, rate: Array, *, optimizer: Optimizer
) -> tuple[Model, PyTree, Array]:
    """The next model and moments, and the length of the next parameters."""
    # optax raises a float to the power of a whole number; our tests, or a strict caller, forbid that.
    with jax.numpy_dtype_promotion("standard"):
        steps, moments = optimizer.transformation(model).update(gradient, moments, cast(optax.Params, model))
    model = jax.tree.map(lambda x, step: x - rate.astype(x.dtype) * step, model, steps)
    return model, moments, _length(model)


@jax.jit
def _length(tree: PyTree) -> Array:
    """The Euclidean length of a tree. For a gradient it is a program of its own, or its squares would be stored."""
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in jax.tree.leaves(tree)))


def _placements(mesh: Mesh | None) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Two functions: one copies a tree to all devices, the other shares the rows of stacks out among them."""
    if mesh is None:
        return jax.jit(functools.partial(jax.tree.map, jnp.copy)), lambda batch: batch
    mesh = meshes.of_rows(mesh)
    whole, rows = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec(None, "data"))

    def placed(sharding: NamedSharding, x: Any) -> Array:
        # From a callback every host takes what its own devices hold.
        return jax.make_array_from_callback(np.shape(x), sharding, lambda index: np.asarray(x)[index])

    def shared_out(micros: Any) -> Any:
        missing = -jax.tree.leaves(micros)[0].shape[1] % mesh.size
        filled = jax.tree.map(lambda x: np.pad(x, ((0, 0), (0, missing), *[(0, 0)] * (x.ndim - 2))), micros)
        return jax.tree.map(functools.partial(placed, rows), filled)

    return functools.partial(jax.tree.map, functools.partial(placed, whole)), shared_out
