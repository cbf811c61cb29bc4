"""Steps of every optimizer are those of its formula, and numbers that make none are refused."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from attnlab_theory.language.optimizers import SGD, AdamW, NeverZeroed, RMSprop

SINGLE = 1e-5
"""Relative rounding of a few operations in float32."""


class Pair(eqx.Module):
    """A matrix that decays and a bias that does not."""

    matrix: jax.Array
    bias: jax.Array
    config: None = None

    def summed_loss(self, batch, key=None):
        raise NotImplementedError

    def decayed(self):
        return Pair(True, False)


def steps(optimizer, gradients, model):
    transformation = optimizer.transformation(model)
    moments = transformation.init(model)
    with jax.numpy_dtype_promotion("standard"):
        for gradient in gradients:
            step, moments = transformation.update(gradient, moments, model)
            yield step


def drawn(seed):
    rng = np.random.default_rng(seed)
    return Pair(*(jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in ((2, 3), (3,))))


MODEL, GRADIENTS = drawn(0), [drawn(seed) for seed in (1, 2, 3)]


def by_formula(optimizer, remember, step):
    """The steps of a rule for one number, in float64, with clipping before it and decay after it."""
    memory = [0.0, 0.0]
    for gradient in GRADIENTS:
        g = [np.asarray(x, np.float64) for x in jax.tree.leaves(gradient)]
        g = [x * min(1.0, optimizer.clip / np.sqrt(sum(np.sum(x * x) for x in g))) for x in g]
        memory = [remember(m, x) for m, x in zip(memory, g, strict=True)]
        made = [step(m, x) for m, x in zip(memory, g, strict=True)]
        yield made[0] + optimizer.decay * np.asarray(MODEL.matrix, np.float64), made[1]


@pytest.mark.slow("four of five members stay inside", but=4)
@pytest.mark.parametrize(
    ("optimizer", "remember", "step"),
    [
        (SGD(), lambda m, g: 0, lambda m, g: g),
        (SGD(decay=0.3, clip=0.5), lambda m, g: 0, lambda m, g: g),
        (SGD(momentum=0.8), lambda m, g: 0.8 * m + g, lambda m, g: m),
        (RMSprop(), lambda v, g: 0.99 * v + 0.01 * g * g, lambda v, g: g / (np.sqrt(v) + 1e-8)),
        (
            RMSprop(smoothing=0.5, epsilon=0.1, decay=0.2, clip=2.0),
            lambda v, g: 0.5 * v + 0.5 * g * g,
            lambda v, g: g / (np.sqrt(v) + 0.1),
        ),
    ],
    ids=["SGD", "SGD, decayed and clipped", "SGD with momentum", "RMSprop", "RMSprop, decayed and clipped"],
)
def test_steps_are_those_of_the_formula(optimizer, remember, step):
    for ours, expected in zip(
        steps(optimizer, GRADIENTS, MODEL), by_formula(optimizer, remember, step), strict=True
    ):
        for one, other in zip(jax.tree.leaves(ours), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=SINGLE, atol=SINGLE)


def test_adamw_remembers_under_the_names_that_checkpoints_have():
    """A run that was stopped before there was a choice of optimizers goes on."""
    before = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.scale_by_adam(0.9, 0.95, eps=1e-8),
        optax.add_decayed_weights(0.1, mask=MODEL.decayed()),
    ).init(MODEL)
    names = [
        jax.tree_util.keystr(at) for at, _ in jax.tree.leaves_with_path(AdamW().transformation(MODEL).init(MODEL))
    ]
    assert names == [jax.tree_util.keystr(at) for at, _ in jax.tree.leaves_with_path(before)]
    assert names[0] == "[1].count"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda: SGD(momentum=1.0), "momentum must be at least 0 and less than 1, not 1.0"),
        (lambda: SGD(clip=0.0), "clip"),
        (lambda: SGD(decay=-0.1), "decay must not be negative"),
        (lambda: RMSprop(smoothing=float("nan")), "smoothing .* not nan"),
        (lambda: RMSprop(epsilon=0.0), "epsilon"),
        (lambda: AdamW(betas=(0.9, 1.0)), r"betas must be .* not \(0.9, 1.0\)"),
    ],
)
def test_numbers_that_make_no_optimizer_are_refused(wrong, told):
    with pytest.raises(ValueError, match=told):
        wrong()


def test_gradients_that_nobody_zeroes_add_up():
    """Each step is that of the sum of all gradients so far."""
    plain = SGD()
    found = steps(NeverZeroed(of=plain), GRADIENTS, MODEL)
    sums = [jax.tree.map(lambda *parts: sum(parts), *GRADIENTS[: n + 1]) for n in range(len(GRADIENTS))]
    for step, wanted in zip(found, steps(plain, sums, MODEL), strict=True):
        for a, b in zip(jax.tree.leaves(step), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(a, b, rtol=SINGLE, atol=SINGLE)
