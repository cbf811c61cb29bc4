"""Draws in blocks of one fixed shape, spread over the devices, the same whatever their number."""

import functools
import itertools
import math
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Primitive, jaxpr_as_fun
from jax.interpreters import partial_eval
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.stats.bounds import spacing

CHUNKS_PER_BLOCK = 8
"""One block is this many chunks: 1, 2, 4 or 8 devices share it evenly."""

HOST_CALL = "lapack"
"""In a lowered program: a call that leaves XLA for the host. Callbacks leave it, too, and are refused."""

STATEFUL = re.compile("callback|debug_print|rng_uniform|ffi_call")
"""Operations whose result need not be a function of their arguments. Of some of them jax notes no effect."""

ROUNDED_TO = (jnp.float64, jnp.float32, jnp.float16, jnp.bfloat16, jnp.float8_e4m3fn, jnp.float8_e5m2)
"""Types to which `jax.lax.reduce_precision` rounds, the finest first."""

OURS = "attnlab_theory."
"""Modules whose draws are traced once: the tests trace them again."""

ADDRESS = re.compile("0x[0-9a-f]+")

_fresh = itertools.count()


CONSTANTS = (
    "random numbers of numpy or Python, and those of a fixed key, are constants once it is compiled: make every "
    "one from the key, as in jax.random.uniform(key)"
)
OUTSIDE = (
    "what happens there need not be a function of the key: leave out callbacks, prints and references, those to a "
    "jax.new_ref of its own as well, and compute everything in jax from the key"
)
RULES = (
    "such a rule need not give every key the draw that it has alone: leave it out, and write the draw with plain "
    "jax operations, such as jax.lax.map"
)


class FrozenDraw(ValueError):
    """A draw whose chance does not come from its key."""

    def __init__(self, said: str, remedy: str = CONSTANTS) -> None:
        super().__init__(f"the draw {said}; {remedy}")


class NotReal(ValueError):
    """A draw that is no real number."""

    def __init__(self, kind: np.dtype) -> None:
        super().__init__(f"drew a {kind}, not a real number: take its real part, its imaginary part or its size")


class TooLarge(ValueError):
    """Whole numbers that the type of the draws does not tell apart."""

    def __init__(self, value: float, kind: np.dtype) -> None:
        super().__init__(
            f"drew the whole number {value:.0f}, beyond the 2**{_digits(kind)} up to which {kind} holds every one: "
            "draw a difference from something near, or a share"
        )


class TooCoarse(ValueError):
    """Draws whose type does not tell apart what is to be told apart."""

    def __init__(self, draws: np.ndarray, kind: np.dtype, moved: float, wanted: float) -> None:
        most = float(np.max(np.abs(draws)))
        super().__init__(
            f"drew numbers up to {most:.8g} in {kind}, which are {float(spacing(np.array(most), kind)):.3g} apart "
            f"there: rounding may move their mean by {moved:.3g}, and {wanted:.3g} is to be resolved; draw a "
            "difference from something near, or in a finer type"
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
        self.kind: np.dtype = np.dtype(float)
        """The type to which the draw's numbers are rounded, known after the first block: the coarsest floating type
        of its program. `int` if they are whole, and no type of the program is coarser than that of the block."""

    def __call__(self, key: PRNGKeyArray, index: int, points: Any) -> Float[np.ndarray, "block points"]:
        """One block of the stream, numbered `index`, at all points.

        Raises:
            NotOneNumber: if a draw gives an array.
            NotReal: if it gives a complex number.
            TooLarge: if it gives a whole number that a float does not hold.
            FrozenDraw: if its program calls out or brings a batching rule, before anything is called.
        """
        indices = jnp.arange(CHUNKS_PER_BLOCK, dtype=jnp.uint32) + jnp.uint32(index * CHUNKS_PER_BLOCK)
        if self._compiled is None:
            self._compiled = self._prepared(key, indices, points)
        values = np.asarray(self._compiled(key, indices, points))
        if self.kind.kind == "i" and (most := np.max(np.abs(values))) >= 2.0 ** _digits(values.dtype):
            raise TooLarge(most, values.dtype)
        return values.reshape(CHUNKS_PER_BLOCK * self._chunk, -1)

    def refuse_frozen(self) -> None:
        """Refuse a draw whose chance does not come from its key; after a block, whose own faults come first.

        Equal draws are no sign: a true claim may be about a constant. What is looked at is the traced program. Its
        key must be used. Two traces must be one program: unseeded numbers of numpy or Python differ between them.

        Raises:
            FrozenDraw: if the draw is refused.
        """
        if self._frozen:
            raise self._frozen

    def _prepared(self, key: PRNGKeyArray, indices: Array, points: Any) -> Callable[..., Array]:
        """The block's program, compiled; notes what `refuse_frozen` and the first block have to know."""
        point = jax.tree.map(lambda values: values[0], points)
        traced = jax.make_jaxpr(self._number)(key, point)
        _refuse_calls(traced.jaxpr)
        self._frozen = _frozen(self._number, traced, key, point, again=not _is_ours(self._draw))
        finest = traced.out_avals[0].dtype
        coarsest = min(_floats(traced.jaxpr), key=_digits, default=finest)
        if _digits(coarsest) < _digits(finest):
            self.kind = coarsest  # a cast to a finer type, or to whole numbers, does not bring digits back
        return _compiled(_in_chunks(_as_traced(traced), self._chunk), key, indices, points)

    def _number(self, key: PRNGKeyArray, point: Any) -> Array:
        drawn = jnp.asarray(self._draw(key, point))
        if not any(jnp.issubdtype(drawn.dtype, each) for each in (jnp.floating, jnp.integer, jnp.bool_)):
            raise NotReal(drawn.dtype)
        self.kind = drawn.dtype if jnp.issubdtype(drawn.dtype, jnp.floating) else np.dtype(int)
        value = drawn.astype(jax.dtypes.canonicalize_dtype(float))
        if value.shape:
            raise NotOneNumber(value.shape)
        return value


def _digits(kind: np.dtype) -> int:
    return jnp.finfo(kind).nmant + 1


def _in_chunks(number: Callable[[PRNGKeyArray, Any], Array], chunk: int) -> Callable[..., Array]:
    """A draw at one point, as chunks of draws at all points."""
    at_all_points = jax.vmap(jax.vmap(number, in_axes=(None, 0)), in_axes=(0, None))

    def one_chunk(key: PRNGKeyArray, index: Array, points: Any) -> Array:
        return at_all_points(_keys(key, index, chunk), points)

    def some_chunks(key: PRNGKeyArray, indices: Array, points: Any) -> Array:
        return jax.lax.map(lambda index: one_chunk(key, index, points), indices)

    return some_chunks


def _keys(key: PRNGKeyArray, index: Array, chunk: int) -> Array:
    return jax.random.split(jax.random.fold_in(key, index), chunk)


def _refuse_calls(jaxpr: Jaxpr) -> None:
    """Refuse a program that runs Python, or reads or writes anything but its arguments and results.

    Refuse it, too, if somebody else than jax says how an operation is done for many keys at once.

    Raises:
        FrozenDraw: if it does.
    """
    called = {each.primitive.name for each in _operations(jaxpr) if STATEFUL.search(each.primitive.name)}
    if called := called or {type(effect).__name__ for effect in jaxpr.effects}:
        raise FrozenDraw(f"calls out of its program ({min(called)})", OUTSIDE)
    primitives = {each.primitive for each in _operations(jaxpr)}
    if foreign := [each.name for each in primitives if each.name == "custom_vmap_call" or not _is_of_jax(each)]:
        raise FrozenDraw(f"brings a batching rule of its own ({min(foreign)})", RULES)


@functools.cache
def _is_of_jax(primitive: Primitive) -> bool:
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("jax.")]
    return any(each is primitive for module in modules for each in list(vars(module).values()))


def _operations(jaxpr: Jaxpr) -> Iterator[JaxprEqn]:
    """All operations of a program, and of the programs inside of it."""
    left, seen = [jaxpr], set()
    while left:
        program = left.pop()
        if id(program) in seen:
            continue
        seen.add(id(program))
        for operation in program.eqns:
            yield operation
            inside = jax.tree.leaves(list(operation.params.values()))
            left += [each.jaxpr for each in inside if isinstance(each, ClosedJaxpr)]
            left += [each for each in inside if isinstance(each, Jaxpr)]


def _floats(jaxpr: Jaxpr) -> Iterator[np.dtype]:
    """The floating types to which the numbers of a program are rounded."""
    for operation in _operations(jaxpr):
        kinds = {getattr(each.aval, "dtype", np.dtype(bool)) for each in (*operation.invars, *operation.outvars)}
        yield from (kind for kind in kinds if jnp.issubdtype(kind, jnp.floating))
        if operation.primitive.name == "reduce_precision":
            bits = operation.params["mantissa_bits"]
            yield np.dtype(next((kind for kind in ROUNDED_TO if jnp.finfo(kind).nmant <= bits), ROUNDED_TO[-1]))


def _is_ours(draw: Callable) -> bool:
    """Whether a module of ours holds the draw that `check` or `measure` wrapped: anybody may write our names."""
    inner = getattr(draw, "__wrapped__", draw)
    module = str(getattr(inner, "__module__", ""))
    held = vars(sys.modules.get(module, object)).get(getattr(inner, "__qualname__", ""))
    return module.startswith(OURS) and held is inner


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
    if on_processor and share > 1 and HOST_CALL in jax.jit(some_chunks).lower(*arguments).as_text():
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
