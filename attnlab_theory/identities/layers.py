"""The layers that the labs train, beside the operators that they are made of.

A layer is a mixer of several heads between two projections. Each of its heads is a mixer of one head. Biases of the
layer are one more row of a head's weights, for one more coordinate of the tokens, which is always one.
"""

import dataclasses
import functools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab_theory.attention import alibi_slopes, merge_heads, mixers
from attnlab_theory.attention.mixers import Mixer, Projections, TwoLayers
from attnlab_theory.identities import cases
from attnlab_theory.identities.cases import LENGTH, WIDTH, Tokens
from attnlab_theory.identities.identity import Identity
from attnlab_theory.identities.rounding import epsilon, gap, host, peak, weight_rounding
from attnlab_theory.identities.subject import Subject
from attnlab_theory.language.models import mixers as choices
from attnlab_theory.language.models.encoder import BidirectionalLayer
from attnlab_theory.language.models.mixing import MixingLayer, Shape
from attnlab_theory.language.models.positions import Alibi, NoPositions, Rotary

HEADS, HEAD_WIDTH = 2, 2
SCALE = HEAD_WIDTH**-0.5
SOFTER = 8.0
"""Queries and keys are divided by this before features are taken of them; `zoo.softened` says why."""

OUT = np.array([[1, 0, 0.5, 0], [0, 1, -0.5, 0], [0, 0, 1, 0.25], [0, 0, 0, 0.75]])
"""The last projection. Its columns sum to one, so that equal values still come out as they went in."""
STRETCH = 2.0
"""The largest sum of sizes in a column of OUT."""

Weights = dict[str, Array]
"""The weights of a layer, by the path of each array."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Layer:
    """A mixing layer, its weights from those of a case, and its heads."""

    name: str
    choice: choices.LayerChoice | None
    """The choice of a GPT's configuration; None for the layer of the encoder."""
    weights: Callable[[Tokens], Weights]
    """All weights but those of the last projection, `out`."""
    head: Callable[[Tokens, int], Mixer]
    """The operator of one head. Its tokens end with a coordinate of one, which carries the biases."""
    score_error: Callable[[Tokens], float]
    """What rounding may make of a score."""
    positions: NoPositions = dataclasses.field(default_factory=NoPositions)

    def of(self, case: Tokens) -> MixingLayer:
        """The layer with the weights of the case."""
        shape = Shape(width=WIDTH, heads=HEADS, block=LENGTH, dropout=0.0, positions=self.positions)
        made = BidirectionalLayer if self.choice is None else self.choice.layer
        layer = eqx.filter_eval_shape(made, jax.random.key(0), shape)
        out = jnp.asarray(OUT, case.x.dtype), jnp.zeros(WIDTH, case.x.dtype)
        weights = {**self.weights(case), "out.weight": out[0], "out.bias": out[1]}
        paths, structure = jax.tree.flatten_with_path(layer)
        return jax.tree.unflatten(structure, [weights[jax.tree_util.keystr(at)[1:]] for at, _ in paths])

    @functools.cached_property
    def subject(self) -> Subject:
        """The layer as a mixer, and the identities that it keeps. Outputs of two heads lie in no hull of values."""
        sees_all = self.choice is None
        return Subject(
            name=self.name,
            build=self.of,
            in_hull=None,
            permutes=True if sees_all else None,
            causal=None if sees_all else True,
            prefixes=None if sees_all else True,
            rounding=self.rounding,
        )

    def heads(self, case: Tokens) -> Float[Array, "t d"]:
        """What the operators of all heads give, side by side and through the last projection."""
        x = with_ones(case.x)
        outputs = jnp.stack([self.head(case, number)(x) for number in range(HEADS)])
        return merge_heads(outputs) @ jnp.asarray(OUT, x.dtype)

    def rounding(self, case: Tokens) -> float:
        """Absolute error of an output: of the weights, a sum of n values, the values, and the last projection."""
        eps, n = epsilon(case.x), LENGTH
        v, v_error = projected(case, case.w_v)
        head = v * (weight_rounding(self.score_error(case), n, eps) + eps * (n / 2 + 1)) + v_error
        return STRETCH * (head + eps * (WIDTH / 2 + 1) * v)


def with_ones(x: Float[Array, "t d"]) -> Float[Array, "t e"]:
    """The tokens with a one after their coordinates, which carries biases."""
    return jnp.concatenate([x, jnp.ones_like(x[:, :1])], axis=1)


def biases(case: Tokens) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
    """The biases of queries and of keys. Values have none, so that values equal to one stay equal to one."""
    return case.table[2], case.table[3]


def of_head(w: Float[Array, "d d"], bias: Array | float, number: int) -> Float[Array, "e m"]:
    """The columns of one head, and its bias as one more row."""
    own = slice(number * HEAD_WIDTH, (number + 1) * HEAD_WIDTH)
    return jnp.concatenate([w, jnp.broadcast_to(jnp.asarray(bias, w.dtype), (1, WIDTH))])[:, own]


def projections(case: Tokens, number: int, *, shared: bool = False, shrink: float = 1.0) -> Projections:
    """The projections of one head."""
    b_q, b_k = biases(case)
    w_q, w_k = of_head(case.w_q, b_q, number) / shrink, of_head(case.w_k, b_k, number) / shrink
    return Projections(w_q, w_q if shared else w_k, of_head(case.w_v, 0.0, number))


def stacked(*stacks: tuple[Array, Array | None]) -> Weights:
    """The weights of the projection into stacks of heads."""
    bias = [jnp.zeros(WIDTH, w.dtype) if b is None else b for w, b in stacks]
    return {"inputs.weight": jnp.concatenate([w for w, _ in stacks], axis=1), "inputs.bias": jnp.concatenate(bias)}


def queries_keys_values(case: Tokens, *, shrink: float = 1.0) -> Weights:
    """The weights of a layer that projects queries, keys and values apart."""
    b_q, b_k = biases(case)
    return stacked((case.w_q / shrink, b_q / shrink), (case.w_k / shrink, b_k / shrink), (case.w_v, None))


def projected(case: Tokens, w: Array, bias: Array | None = None, shrink: float = 1.0) -> tuple[float, float]:
    """The bound of a projected coordinate, and its rounding: a sum of d products and a bias."""
    most = np.abs(host(case.x)) @ np.abs(host(w)) + (0 if bias is None else np.abs(host(bias)))
    bound = peak(most) / shrink
    return bound, epsilon(case.x) * (WIDTH / 2 + 3) * bound


def _inner_products(case: Tokens, *, shared: bool = False, turned: bool = False) -> float:
    """The rounding of a score. A rotation costs 70 eps, and stretches a coordinate by at most sqrt(2)."""
    b_q, b_k = biases(case)
    q, q_error = projected(case, case.w_q, b_q)
    k, k_error = (q, q_error) if shared else projected(case, case.w_k, b_k)
    eps, stretch = epsilon(case.x), 2 if turned else 1
    errors = q_error * k + q * k_error + (2 * 70 * eps * q * k if turned else 0)
    return SCALE * HEAD_WIDTH * stretch * (errors + eps * (HEAD_WIDTH / 2 + 3) * q * k)


def _biased(case: Tokens) -> float:
    """A bias of at most the whole length times the largest slope is rounded and added."""
    eps, slope = epsilon(case.x), float(np.max(alibi_slopes(HEADS)))
    b_q, b_k = biases(case)
    score = SCALE * HEAD_WIDTH * projected(case, case.w_q, b_q)[0] * projected(case, case.w_k, b_k)[0]
    return _inner_products(case) + eps * (2 * slope * LENGTH + score)


def _hidden(case: Tokens) -> float:
    """A unit errs as its input does, and 4 eps for tanh; a score sums HEAD_WIDTH of them."""
    b_q, b_k = biases(case)
    errors = projected(case, case.w_q, b_q)[1] + projected(case, case.w_k, b_k)[1]
    return float(np.sum(np.abs(host(case.table[0])))) * (errors + epsilon(case.x) * (HEAD_WIDTH / 2 + 6))


def _two_layers(case: Tokens) -> float:
    """A hidden unit errs as its input does; a score sums HEAD_WIDTH products and a bias."""
    unit, error = projected(case, case.w_q, biases(case)[0])
    most = float(np.max(np.sum(np.abs(host(case.w_k[:HEAD_WIDTH])), axis=0)))
    return most * error + epsilon(case.x) * (HEAD_WIDTH / 2 + 2) * (most * unit + peak(case.table[1]))


def _exponents(case: Tokens) -> float:
    """Exponents w.q - |q|^2 / 2 of queries and keys, and their shifts; then sums of WIDTH positive products."""
    eps, error = epsilon(case.x), 0.0
    for w, bias in zip((case.w_q, case.w_k), biases(case), strict=True):
        size, own = (SCALE**0.5 * y for y in projected(case, w, bias, SOFTER))
        steep = HEAD_WIDTH * (peak(case.table) / 4 + size)
        error += steep * (own + 2 * eps * size) + eps * (HEAD_WIDTH + 6) * size * steep
    return error + eps * (WIDTH + LENGTH + 2)


def _additive_weights(case: Tokens) -> Weights:
    """The hidden layer has the columns of all heads' queries, then those of their keys."""
    hidden = {"hidden.weight": jnp.concatenate([case.w_q, case.w_k], axis=1)}
    hidden["hidden.bias"] = jnp.concatenate(biases(case))
    return stacked((case.w_v, None)) | hidden | {"w_out": case.table[0].reshape(HEADS, HEAD_WIDTH)}


def _tables(case: Tokens) -> Float[Array, "h t t"]:
    return jnp.stack([case.table, case.table.T])


def _dense_head(case: Tokens, number: int) -> Mixer:
    w_1 = of_head(case.w_q, biases(case)[0], number)
    network = TwoLayers(w_1, jnp.zeros(HEAD_WIDTH, w_1.dtype), case.w_k[:HEAD_WIDTH], case.table[1])
    return mixers.dense_synthesizer_mixer(of_head(case.w_v, 0.0, number), network, causal=True)


LAYERS: tuple[Layer, ...] = (
    Layer(
        name="softmax layer",
        choice=choices.Softmax(),
        weights=queries_keys_values,
        head=lambda case, h: mixers.softmax_mixer(projections(case, h), scale=SCALE, causal=True),
        score_error=_inner_products,
    ),
    Layer(
        name="softmax layer, shared projection",
        choice=choices.Softmax(shared=True),
        weights=lambda case: stacked((case.w_q, biases(case)[0]), (case.w_v, None)),
        head=lambda case, h: mixers.softmax_mixer(projections(case, h, shared=True), scale=SCALE, causal=True),
        score_error=lambda case: _inner_products(case, shared=True),
    ),
    Layer(
        name="rotary layer",
        choice=choices.Softmax(),
        positions=Rotary(),
        weights=queries_keys_values,
        head=lambda case, h: mixers.rotary_mixer(projections(case, h), scale=SCALE, causal=True),
        score_error=lambda case: _inner_products(case, turned=True),
    ),
    Layer(
        name="ALiBi layer",
        choice=choices.Softmax(),
        positions=Alibi(),
        weights=queries_keys_values,
        head=lambda case, h: mixers.alibi_mixer(
            projections(case, h), scale=SCALE, slope=float(alibi_slopes(HEADS)[h]), causal=True
        ),
        score_error=_biased,
    ),
    Layer(
        name="additive layer",
        choice=choices.Additive(hidden=HEAD_WIDTH),
        weights=_additive_weights,
        head=lambda case, h: mixers.additive_mixer(
            projections(case, h), case.table[0].reshape(HEADS, HEAD_WIDTH)[h], causal=True
        ),
        score_error=_hidden,
    ),
    Layer(
        name="random synthesizer layer",
        choice=choices.RandomSynthesizer(),
        weights=lambda case: stacked((case.w_v, None)) | {"table": _tables(case)},
        head=lambda case, h: mixers.random_synthesizer_mixer(
            of_head(case.w_v, 0.0, h), _tables(case)[h], causal=True
        ),
        score_error=lambda case: 0.0,
    ),
    Layer(
        name="dense synthesizer layer",
        choice=choices.DenseSynthesizer(),
        weights=lambda case: (
            stacked((case.w_q, biases(case)[0]), (case.w_v, None))
            | {"w_2": case.w_k[:HEAD_WIDTH], "b_2": case.table[1]}
        ),
        head=_dense_head,
        score_error=_two_layers,
    ),
    Layer(
        name="positive features layer",
        choice=choices.Features(features=LENGTH),
        weights=lambda case: (
            queries_keys_values(case, shrink=SOFTER) | {"projection": case.table[:, :HEAD_WIDTH] / 4}
        ),
        head=lambda case, h: mixers.feature_mixer(
            projections(case, h, shrink=SOFTER), case.table[:, :HEAD_WIDTH] / 4, scale=SCALE, causal=True
        ),
        score_error=_exponents,
    ),
    Layer(
        name="bidirectional layer",
        choice=None,
        weights=queries_keys_values,
        head=lambda case, h: mixers.softmax_mixer(projections(case, h), scale=SCALE),
        score_error=_inner_products,
    ),
)
"""Every mixing layer of `language`, and what its heads are."""


def computes_its_heads(layer: Layer, subject: Subject) -> Identity[Tokens]:
    """A layer, or a subject that is planted for it, computes what the operators of its heads compute.

    Either side errs by the rounding of the layer: the order of products and sums differs, not their number.
    """
    defined = jax.jit(layer.heads)
    return Identity(
        family="layers-are-operators",
        subject=subject.name,
        statement="A mixing layer of a model computes what the operators of its heads do, side by side.",
        source="mathematics/identities.md#the-same-numbers-by-different-ways",
        cases=cases.tokens,
        residual=lambda case: gap(subject.mix(case), defined(case)),
        tolerance=lambda case: 2 * subject.rounding(case),
    )


IDENTITIES = tuple(computes_its_heads(layer, layer.subject) for layer in LAYERS)
