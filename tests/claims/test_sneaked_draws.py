"""Draws whose chance is sneaked past their key, each with what becomes of it.

A sneaked draw gives a verdict that nobody can repeat, or refutes what is true. It is refused in one line. What is
the same at every trace is a constant of the problem, and legal.
"""

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

from attnlab_theory.claims import Verdict, measure
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval, bounded
from attnlab_theory.stats.draws import Blocks, FrozenDraw, _strangers
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
    "a callback in the rule of custom_vmap": shared_by_all(
        uniform, lambda draw, keys: jax.vmap(draw)(keys) + outside()
    ),
    "a reference": remembering,
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

COPIED = {
    "a coin": shared_by_all(flipped_at(0.5), first_for_all),
    "a rare coin": shared_by_all(flipped_at(0.1), first_for_all),
    "a number": shared_by_all(uniform, first_for_all),
    "a number of heavy tails": shared_by_all(far_off, first_for_all),
    "half of a number": shared_by_all(uniform, half_of_the_first),
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


@pytest.mark.parametrize("draw", COPIED.values(), ids=COPIED)
def test_a_draw_that_gives_many_keys_what_none_gives_alone_is_refused(draw):
    said = refused(draw)
    assert " among many keys and " in said
    assert said.endswith(
        "for the same key alone; " + "a rule of custom_vmap must give every key the draw that it "
        "has alone: mend the rule, or leave it out"
    )


def test_a_draw_that_is_copied_from_point_to_point_is_refused():
    @custom_vmap
    def scaled(x, by):
        return x * by

    @scaled.def_vmap
    def _(size, batched, x, by):
        return (x * jnp.full_like(by, by[0]) if batched[1] else x * by), any(batched)

    with pytest.raises(FrozenDraw, match="among many keys"):
        judged(lambda key, point: scaled(uniform(key), point), points=(1.0, 2.0))


@pytest.mark.parametrize("draw", [flipped_at(0.5), uniform, far_off], ids=["coin", "uniform", "far"])
def test_a_right_rule_of_custom_vmap_is_legal(draw):
    judged(lambda key, point: shared_by_all(draw, each_its_own)(key))


def test_rows_may_differ_by_rounding_and_a_few_comparisons_may_turn_over():
    alone = np.random.default_rng(0).normal(size=(256, 1)).astype(np.float32)
    coins = (alone > 0).astype(np.float32)
    turned = coins.copy()
    turned[:4] = 1 - turned[:4]
    for together, by_itself in ((1.0001 * alone + 0.05, alone), (turned, coins)):
        assert _strangers(together, by_itself, alone.dtype) is None
    turned[4] = 1 - turned[4]
    for together, by_itself in ((alone[::-1], alone), (alone + 1, alone), (turned, coins)):
        assert _strangers(together, by_itself, alone.dtype) is not None


def test_a_draw_that_is_all_rounding_is_legal():
    """Two programs round differently, and it is no copy for that. A loop over keys is jax's own rule."""

    @sequential_vmap
    def backwards(x):
        return jnp.sum(x[::-1])

    def lost(key, point):
        x = jax.random.uniform(key, 50)
        return backwards(x) - jnp.sum(x)

    judged(lost)


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


@pytest.mark.parametrize("draw", [CALLS["pure_callback"], COPIED["a coin"]], ids=["calls", "copies"])
def test_claims_and_measurements_refuse_sneaked_draws(draw):
    with pytest.raises(ValueError, match=r"coin: the draw (calls|gives) "):
        checked(coin_claim(draw=lambda key, coin: draw(key), bound=bounded(0.0, 2.0)))
    with pytest.raises(ValueError, match=r"the draw (calls|gives) "):
        measure(draw, width=0.5, bound=bounded(0.0, 2.0), chunk=64)
