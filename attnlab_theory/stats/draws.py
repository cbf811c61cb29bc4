"""Draws in blocks of one fixed shape, spread over the devices, the same whatever their number."""

import functools
import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.core import jaxpr_as_fun
from jax.interpreters import partial_eval
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float, PRNGKeyArray

CHUNKS_PER_BLOCK = 8
"""One block is this many chunks: 1, 2, 4 or 8 devices share it evenly."""

HOST_CALL = re.compile("lapack|callback")
"""In a lowered program: a call that leaves XLA for the host."""


OURS = "attnlab_theory."
"""Modules whose draws are traced once: the tests trace them again."""

ADDRESS = re.compile("0x[0-9a-f]+")

_fresh = itertools.count()


class FrozenDraw(ValueError):
    """A draw whose chance does not come from its key."""

    def __init__(self, said: str) -> None:
        super().__init__(
            f"the draw {said}; random numbers of numpy or Python, and those of a fixed key, are constants once "
            "it is compiled: make every one from the key, as in jax.random.uniform(key)"
        )


class TooLarge(ValueError):
    """Whole numbers that the type of the draws does not tell apart."""

    def __init__(self, value: float, kind: np.dtype) -> None:
        super().__init__(
            f"drew the whole number {value:.0f}, beyond the 2**{_digits(kind)} up to which {kind} holds every one: "
            "draw a difference from something near, or a share"
        )


class NotOneNumber(ValueError):
    """A draw that gives an array."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__(f"drew an array of shape {shape}, not one number")


class Blocks:
    """Compiled draws in blocks: `(key, index, points) -> draws`.

    Every chunk folds its own number into the key. So block i of a stream has the same numbers, whatever was drawn
    before and however many devices share the work. All points (a pytree with a leading axis) see the same random
    keys: points that differ in beta share their sampled keys. Another number of points is another program, which
    sees the same keys but may round differently.

    Args:
        draw: one draw at one point; jax-traceable.
        chunk: draws per device step, which bounds the memory.

    Example:
        Two draws in each of 8 chunks make a block of 16 rows, at two points. Both points see the same random keys,
        so the draws of the second are ten times those of the first.

        >>> blocks = Blocks(lambda key, point: point * jax.random.uniform(key), chunk=2)
        >>> values = blocks(jax.random.key(0), 0, jnp.array([1.0, 10.0]))
        >>> values.shape, bool(np.allclose(values[:, 1], 10 * values[:, 0]))
        ((16, 2), True)

        The next block is other numbers, and a draw without a key is refused.

        >>> bool(np.any(blocks(jax.random.key(0), 1, jnp.array([1.0, 10.0])) == values))
        False
        >>> frozen = Blocks(lambda key, point: point, chunk=2)
        >>> values = frozen(jax.random.key(0), 0, jnp.array([1.0, 10.0]))
        >>> frozen.refuse_frozen()
        Traceback (most recent call last):
            ...
        attnlab_theory.stats.draws.FrozenDraw: the draw gives the same number for every key; ...
    """

    def __init__(self, draw: Callable[[PRNGKeyArray, Any], float | Float[Array, ""]], chunk: int) -> None:
        self._draw, self._chunk = draw, chunk
        self._compiled: Callable[..., Array] | None = None
        self._frozen: FrozenDraw | None = None
        self._is_whole = False

    def __call__(self, key: PRNGKeyArray, index: int, points: Any) -> Float[np.ndarray, "block points"]:
        """One block of the stream, numbered `index`, at all points.

        Raises:
            NotOneNumber: if a draw gives an array.
            TooLarge: if it gives a whole number that a float does not hold.
        """
        indices = jnp.arange(CHUNKS_PER_BLOCK, dtype=jnp.uint32) + jnp.uint32(index * CHUNKS_PER_BLOCK)
        if self._compiled is None:
            point = jax.tree.map(lambda values: values[0], points)
            traced = jax.make_jaxpr(self._number)(key, point)
            self._frozen = _frozen(self._number, traced, key, point, again=not _is_ours(self._draw))
            some_chunks = _in_chunks(_as_traced(traced), self._chunk)
            self._compiled = _compiled(some_chunks, key, indices, points)
        values = np.asarray(self._compiled(key, indices, points))
        if self._is_whole and (most := np.max(np.abs(values))) >= 2.0 ** _digits(values.dtype):
            raise TooLarge(most, values.dtype)
        return values.reshape(CHUNKS_PER_BLOCK * self._chunk, -1)

    def refuse_frozen(self) -> None:
        """Refuse a draw whose chance does not come from its key; after a block, whose own faults come first.

        Equal draws are no sign: a true claim may be about a constant. What is looked at is the traced program. Its
        key must be used. Two traces must be one program: numbers of numpy or Python differ between them.

        Raises:
            FrozenDraw: if the draw is refused.
        """
        if self._frozen:
            raise self._frozen

    def _number(self, key: PRNGKeyArray, point: Any) -> Array:
        drawn = jnp.asarray(self._draw(key, point))
        self._is_whole = jnp.issubdtype(drawn.dtype, jnp.integer)
        value = drawn.astype(jax.dtypes.canonicalize_dtype(float))
        if value.shape:
            raise NotOneNumber(value.shape)
        return value


def _digits(kind: np.dtype) -> int:
    return np.finfo(kind).nmant + 1


def _in_chunks(number: Callable[[PRNGKeyArray, Any], Array], chunk: int) -> Callable[..., Array]:
    """A draw at one point, as chunks of draws at all points."""
    at_all_points = jax.vmap(jax.vmap(number, in_axes=(None, 0)), in_axes=(0, None))

    def one_chunk(key: PRNGKeyArray, index: Array, points: Any) -> Array:
        return at_all_points(jax.random.split(jax.random.fold_in(key, index), chunk), points)

    def some_chunks(key: PRNGKeyArray, indices: Array, points: Any) -> Array:
        return jax.lax.map(lambda index: one_chunk(key, index, points), indices)

    return some_chunks


def _is_ours(draw: Callable) -> bool:
    return getattr(draw, "__module__", "").startswith(OURS)


def _as_traced(traced: Any) -> Callable[[PRNGKeyArray, Any], Array]:
    """A traced draw as a function again."""
    program = jaxpr_as_fun(traced)

    def draw(key: PRNGKeyArray, point: Any) -> Array:
        (value,) = program(key, *jax.tree.leaves(point))
        return jnp.asarray(value)  # a constant comes back as it was written down

    return draw


def _frozen(
    draw: Callable[[PRNGKeyArray, Any], Array], traced: Any, key: PRNGKeyArray, point: Any, *, again: bool
) -> FrozenDraw | None:
    """Why a traced draw is refused, or None.

    Args:
        draw: one draw at one point.
        traced: its program.
        key: any.
        point: any.
        again: whether to trace a second time, without what jax remembers of functions that it has traced.
    """
    _, used = partial_eval.dce_jaxpr(traced.jaxpr, [True] * len(traced.jaxpr.outvars))
    if not used[0]:
        return FrozenDraw("gives the same number for every key")
    if not again:
        return None
    with set_xla_metadata(attnlab_fresh=str(next(_fresh))):
        once_more = jax.make_jaxpr(draw)(key, point)
    if _text(traced) == _text(once_more) and _same_constants(traced.consts, once_more.consts):
        return None
    return FrozenDraw("is another function every time that it is traced")


def _text(traced: Any) -> str:
    return ADDRESS.sub("", str(traced))


def _same_constants(ours: list[Any], theirs: list[Any]) -> bool:
    pairs = [(_plain(a), _plain(b)) for a, b in zip(ours, theirs, strict=False)]
    return len(ours) == len(theirs) and all(a.tobytes() == b.tobytes() for a, b in pairs)


def _plain(constant: Any) -> np.ndarray:
    is_key = jnp.issubdtype(constant.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(constant) if is_key else constant)


def _compiled(some_chunks: Callable[..., Array], *arguments: Any) -> Callable[..., Array]:
    """The chunks compiled, each device of this machine taking its share of them."""
    devices = jax.devices()
    on_processor = devices[0].platform == "cpu"
    share = math.gcd(CHUNKS_PER_BLOCK, len(devices))
    # Programs of two processor devices that call LAPACK or Python wait for each other's threads, and hang.
    if on_processor and share > 1 and HOST_CALL.search(jax.jit(some_chunks).lower(*arguments).as_text()):
        share = 1
    mesh = Mesh(np.array(devices[:share]), ("chunk",))
    here, split = PartitionSpec(), PartitionSpec("chunk")
    return jax.jit(
        jax.shard_map(some_chunks, mesh=mesh, in_specs=(here, split, here), out_specs=split, check_vma=False),
        compiler_options=_options() if on_processor else None,
    )


@functools.cache
def _options() -> dict[str, Any]:
    """How a processor's program is compiled: a quick run is mostly compilation.

    LLVM's first level runs as fast as its third; level 0 is three times slower to run. XLA's older emitters of
    loops compile in six tenths of the time of the newer ones and run as fast. A version that has none says so.
    """
    options: dict[str, Any] = {"xla_backend_optimization_level": 1}
    older = {**options, "xla_cpu_use_fusion_emitters": False}
    try:
        jax.jit(lambda: 0.0, compiler_options=older)()
    except RuntimeError:
        return options
    return older
