"""Draws whose chance is sneaked past their key, each with what becomes of it.

A sneaked draw gives a verdict that nobody can repeat, or refutes what is true. It is refused in one line. What is
the same at every trace is a constant of the problem, and legal.
"""

import functools
import itertools
import random
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.custom_batching import custom_vmap, sequential_vmap
from jax.experimental import io_callback
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir

from attnlab_theory import claims
from attnlab_theory.claims import Verdict, measure
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval, bounded
from attnlab_theory.stats.draws import Blocks, FrozenDraw
from tests.toys import BLOCK, Coin, checked, coin_claim

NUMPYS = np.random.default_rng(0)
COUNTED = itertools.count()
NUMBER = jax.ShapeDtypeStruct((), jnp.float32)


def uniform(key):
    return jax.random.uniform(key)


def far_off(key):
    return 1e4 + jax.random.cauchy(key)


def from_numpy(*_):
    return np.float32(NUMPYS.uniform())


def outside():
    return jax.pure_callback(from_numpy, NUMBER, vmap_method="sequential")


@jax.custom_jvp
def with_a_derivative(x):
    return x + outside()


with_a_derivative.defjvp(lambda point, direction: (point[0], direction[0]))


def printing(key):
    jax.debug.print("drawn")
    return uniform(key)


def remembering(key):
    kept = jax.new_ref(jnp.float32(0))
    kept[...] = uniform(key)
    return kept[...]


def shared_by_all(draw, rule):
    """A draw that says by itself what many keys give: rule(draw, keys)."""
    vectorised = custom_vmap(draw)
    vectorised.def_vmap(lambda size, batched, keys: (rule(draw, keys), True))
    return vectorised


def first_for_all(draw, keys):
    return jnp.broadcast_to(draw(keys[0]), keys.shape)


def half_of_the_first(draw, keys):
    return jax.vmap(lambda key: (draw(key) + draw(keys[0])) / 2)(keys)


def each_its_own(draw, keys):
    return jax.vmap(draw)(keys)


def flipped_at(chance):
    return lambda key: jnp.asarray(uniform(key) < chance, jnp.float32)


COPIES = Primitive("add")  # called like one of jax's own
COPIES.def_abstract_eval(lambda x: x)
mlir.register_lowering(COPIES, mlir.lower_fun(lambda x: x, multiple_results=False))
batching.primitive_batchers[COPIES] = lambda given, at: (jnp.full_like(given[0], given[0].ravel()[0]), at[0])

CALLS = {
    "pure_callback": lambda key: uniform(key) + outside(),
    "io_callback": lambda key: uniform(key) + io_callback(from_numpy, NUMBER),
    "an ordered io_callback": lambda key: uniform(key) + io_callback(from_numpy, NUMBER, ordered=True),
    "a print": printing,
    "a callback in jit": lambda key: jax.jit(lambda x: x + outside())(uniform(key)),
    "a callback in scan": lambda key: jax.lax.scan(lambda x, _: (x + outside(), None), uniform(key), None, 2)[0],
    "a callback in while": lambda key: jax.lax.while_loop(lambda x: x < 1, lambda x: x + outside(), uniform(key)),
    "a callback in cond": lambda key: jax.lax.cond(uniform(key) < 0.5, outside, lambda: jnp.float32(0)),
    "a callback in a custom derivative": lambda key: with_a_derivative(uniform(key)),
    "a reference": remembering,
    "a call of a library": lambda key: jax.ffi.ffi_call("unknown", NUMBER)(uniform(key)),
    "a generator of the device": lambda key: uniform(key) + jax.lax.rng_uniform(0.0, 1.0, ()),
}

CHANGES = {
    "a counter": lambda key: uniform(key) + next(COUNTED),
    "numpy at every trace": lambda key: uniform(key) + from_numpy(),
    "Python at every trace": lambda key: uniform(key) * random.random(),
    "the time": lambda key: uniform(key) + time.time_ns() % 1000,
    "a key of the time": lambda key: uniform(key) + uniform(jax.random.key(time.time_ns() % 2**31)),
}

CONSTANT = {
    "a seeded generator": lambda key: np.random.default_rng(0).uniform(),
    "a fixed key": lambda key: uniform(jax.random.key(3)),
}


@custom_vmap
def scaled(x, by):
    return x * by


@scaled.def_vmap
def _(size, batched, x, by):
    return (x * jnp.full_like(by, by[0]) if batched[1] else x * by), any(batched)


def again_and_again(draw, keys):
    return jnp.tile(each_its_own(draw, keys[:512]), -(-len(keys) // 512))[: len(keys)]


def spoofed():
    vectorised = custom_vmap(uniform)

    def rule(size, batched, keys):
        return jnp.zeros(size), True

    rule.__module__ = "jax._src.custom_batching"
    vectorised.def_vmap(rule)
    return vectorised


BRINGS = {
    "a coin": shared_by_all(flipped_at(0.5), first_for_all),
    "a rare coin": shared_by_all(flipped_at(0.1), first_for_all),
    "a number": shared_by_all(uniform, first_for_all),
    "a number of heavy tails": shared_by_all(far_off, first_for_all),
    "half of a number": shared_by_all(uniform, half_of_the_first),
    "512 numbers again and again": shared_by_all(uniform, again_and_again),
    "a bit more": shared_by_all(uniform, lambda draw, keys: each_its_own(draw, keys) + 0.03),
    "one in 64 is 0": shared_by_all(
        uniform, lambda draw, keys: each_its_own(draw, keys) * (jnp.arange(len(keys)) % 64 != 1)
    ),
    "a right rule": shared_by_all(uniform, each_its_own),
    "a loop over the keys": sequential_vmap(uniform),
    "a rule that calls itself jax's": spoofed(),
    "a rule for points": lambda key: scaled(uniform(key), 1.0),
    "a rule in a loop": lambda key: jax.lax.fori_loop(0, 2, lambda i, x: scaled(x, 0.5), uniform(key)),
    "a rule that calls out": shared_by_all(uniform, lambda draw, keys: each_its_own(draw, keys) + outside()),
    "an operation of one's own": lambda key: COPIES.bind(uniform(key)),
}


def judged(draw, points=(0.0,)):
    """The draw as a block is made of it and looked at."""
    block = Blocks(draw, 64)
    block(key_for(0, "sneaked"), 0, jnp.asarray(points))
    block.refuse_frozen()


def refused(draw) -> str:
    with pytest.raises(FrozenDraw) as found:
        judged(lambda key, point: draw(key))
    assert "\n" not in str(found.value)
    return str(found.value)


@pytest.mark.parametrize("draw", CALLS.values(), ids=CALLS)
def test_a_draw_that_calls_out_of_its_program_is_refused_before_anything_is_called(draw, capfd):
    before = NUMPYS.bit_generator.state
    assert "calls out of its program (" in refused(draw)
    assert (NUMPYS.bit_generator.state, capfd.readouterr().out) == (before, "")


@pytest.mark.parametrize("draw", CHANGES.values(), ids=CHANGES)
def test_a_draw_that_changes_from_trace_to_trace_is_refused(draw):
    assert "is another function every time that it is traced" in refused(draw)


@pytest.mark.parametrize("draw", CONSTANT.values(), ids=CONSTANT)
def test_a_draw_without_its_key_is_refused(draw):
    assert "gives the same number for every key" in refused(draw)


@pytest.mark.parametrize("draw", BRINGS.values(), ids=BRINGS)
def test_a_draw_that_brings_a_batching_rule_is_refused_before_anything_is_called(draw):
    before = NUMPYS.bit_generator.state
    said = refused(draw)
    assert "brings a batching rule of its own (" in said
    assert said.endswith("leave it out, and write the draw with plain jax operations, such as jax.lax.map")
    assert NUMPYS.bit_generator.state == before


def test_a_rule_that_is_used_within_one_draw_is_legal():
    judged(lambda key, point: jnp.sum(jax.vmap(scaled)(jax.random.uniform(key, 3), jnp.ones(3))))


def test_a_draw_that_is_all_rounding_is_legal():
    """A loop within the draw is jax's own."""

    def lost(key, point):
        x = jax.random.uniform(key, 50)
        return jnp.sum(jax.lax.map(jnp.negative, x[::-1])) + jnp.sum(x)

    judged(lost)


def test_a_draw_that_calls_itself_ours_is_looked_at_like_any_other():
    """Names can be written by anybody: of the draw, or by `functools.wraps`."""
    ours = claims.selecting.CLAIMS[0].draw

    def named(key, coin):
        return uniform(key) + from_numpy()

    @functools.wraps(ours)
    def wrapped(key, coin):
        return uniform(key) + from_numpy()

    named.__module__ = ours.__module__
    for draw in (named, wrapped):
        with pytest.raises(ValueError, match="another function every time"):
            checked(coin_claim(draw=draw, bound=bounded(0.0, 2.0)))


CACHED = from_numpy()


@pytest.mark.parametrize(
    ("draw", "constant"),
    [
        (lambda key: (uniform(key) + np.random.default_rng(5).uniform()) / 2, np.random.default_rng(5).uniform()),
        (lambda key: (uniform(key) + CACHED) / 2, float(CACHED)),
    ],
    ids=["seeded", "cached"],
)
def test_numbers_that_are_the_same_at_every_trace_are_constants_of_the_problem(draw, constant):
    claim = coin_claim(
        draw=lambda key, coin: draw(key),
        predict=Interval.point((0.5 + constant) / 2),
        bound=bounded(0.0, 1.0),
        settings=(Coin(chance=0.5),),
    )
    assert checked(claim, max_draws=64 * BLOCK)[0].verdict == Verdict.SUPPORTED


@pytest.mark.parametrize("draw", [CALLS["pure_callback"], BRINGS["a coin"]], ids=["calls", "copies"])
def test_claims_and_measurements_refuse_sneaked_draws(draw):
    with pytest.raises(ValueError, match=r"coin: the draw (calls|brings) "):
        checked(coin_claim(draw=lambda key, coin: draw(key), bound=bounded(0.0, 2.0)))
    with pytest.raises(ValueError, match=r"the draw (calls|brings) "):
        measure(draw, width=0.5, bound=bounded(0.0, 2.0), chunk=64)
