"""Small models with weights far from their first ones, and how far rounding may take their outputs."""

import functools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from attnlab_theory.language.models.gpt import GPT, GPTConfig
from attnlab_theory.language.models.mixers import (
    Additive,
    DenseSynthesizer,
    Features,
    LayerChoice,
    RandomSynthesizer,
    Softmax,
)
from attnlab_theory.language.models.positions import Alibi, Learned, NoPositions, Rotary, Sinusoidal
from tests.tolerances import model_atol

BLOCK = 8
VOCABULARY = 11
TOKENS = jnp.array([3, 1, 4, 1, 5, 9, 2, 6])
SCHEMES = (Learned(), Sinusoidal(), Rotary(), NoPositions(), Alibi())
SCORED = (Softmax(), Softmax(shared=True), Additive(hidden=3), RandomSynthesizer(), DenseSynthesizer())
PAIRS = (*((Softmax(), scheme) for scheme in SCHEMES), *((mixer, Learned()) for mixer in SCORED[1:]))
"""Softmax attention with every scheme, and the other mixers that have scores. One layer: what one can get wrong."""


def config(mixer: LayerChoice, positions: NoPositions, **others) -> GPTConfig:
    others = {"attention_dropout": 0.1 if mixer.scored else 0.0} | others
    sizes = {"vocabulary": VOCABULARY, "block": BLOCK, "layers": 1, "heads": 2, "width": 8}
    return GPTConfig(mixer=mixer, positions=positions, **(sizes | others))


def stirred(cfg, kind: type = GPT):
    """A model whose every number matters: nothing is zero, one or small."""
    rng = np.random.default_rng(1)
    empty = eqx.filter_eval_shape(lambda key: kind(cfg, key=key), jax.random.key(0))
    return jax.tree.map(lambda x: jnp.asarray(0.5 * rng.standard_normal(x.shape), x.dtype), empty)


def lively(cfg: GPTConfig) -> GPT:
    """A model whose choices depend on all that it sees: large matrices and tables, small biases, gains near one."""
    rng = np.random.default_rng(2)

    def drawn(x):
        noise = rng.standard_normal(x.shape)
        return jnp.asarray(noise if x.ndim > 1 else np.asarray(x) + 0.1 * noise, x.dtype)

    return jax.tree.map(drawn, GPT(cfg, key=jax.random.key(0)))


def name_of(value) -> str:
    """For test ids."""
    return getattr(value, "name", str(value)) + " shared" * getattr(value, "shared", False)


def rounding(run: Callable, model, dtype=np.float32) -> float:
    """How far rounding may take `run(model)`, a function to arrays."""
    leaves, structure = jax.tree.flatten(model)
    rng = np.random.default_rng(2)
    # By numpy, here and in `gap`: jax would compile a program for every shape.
    nudged = [jnp.asarray(np.asarray(x) * (1 + 2**-12 * rng.choice([-1, 1], x.shape)), x.dtype) for x in leaves]
    moved = gap(run(model), run(jax.tree.unflatten(structure, nudged)))
    return model_atol(model.config.hidden_width, moved, dtype)


def gap(one, other) -> float:
    """The largest difference between two trees of arrays."""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return max(float(np.max(np.abs(np.asarray(a) - np.asarray(b)))) for a, b in pairs)


compiled = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
"""`jit` for functions that run a few times: most of a test's time is compilation."""


@compiled
def logits(model: GPT, tokens, segments=None, positions=None, key=None):
    return model(tokens, segments=segments, positions=positions, key=key)


FEATURES = Features(features=16)
