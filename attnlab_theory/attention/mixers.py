"""Whole mixers, from a sequence to a sequence. Identities, leaks and costs are tested on them.

`mixer(x [t d]) -> [t v]` has its weights inside. It says whether it claims to be causal, and whether it can use a
mask. A mixer that cannot use a mask refuses it. `Mixer` is the protocol. `HeadMixer` is one head of self-attention,
or of what replaces it; a `MixingLayer` of a language model is a mixer of several heads.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from attnlab_theory import refuse
from attnlab_theory.attention.additive import additive_attention
from attnlab_theory.attention.alibi import alibi_attention
from attnlab_theory.attention.blocked import blocked_attention
from attnlab_theory.attention.caching import cached_attention
from attnlab_theory.attention.fast_weights import Rule, fast_weight_attention
from attnlab_theory.attention.forgetting import forget_gate_attention
from attnlab_theory.attention.linear import feature_attention, linear_attention, share_scale
from attnlab_theory.attention.masks import causal_mask, top_k_mask
from attnlab_theory.attention.positions import rotary
from attnlab_theory.attention.sketches import linformer_attention
from attnlab_theory.attention.softmax import attention, attention_scores
from attnlab_theory.attention.sparse import bigbird_attention, sliding_window_attention
from attnlab_theory.attention.synthesizers import (
    dense_logits,
    factorised_logits,
    random_logits,
    synthesizer_attention,
)
from attnlab_theory.attention.variants import zero_after_softmax
from attnlab_theory.axes import Scalar

Mask = Bool[Array, "t t"] | None
Mix = Callable[[Array, Array | None], Array]


class Projections(NamedTuple):
    """The weights of one head: queries, keys and values are x w_q, x w_k and x w_v.

    Example:
        The queries are twice the tokens, the keys are the tokens, the values have one column.

        >>> weights = Projections(2 * jnp.eye(2), jnp.eye(2), jnp.ones((2, 1)))
        >>> q, k, v = weights.of(jnp.eye(3, 2))
        >>> print(q)
        [[2. 0.]
         [0. 2.]
         [0. 0.]]
        >>> print(v)
        [[1.]
         [1.]
         [0.]]
    """

    w_q: Float[Array, "d m"]
    w_k: Float[Array, "d m"]
    w_v: Float[Array, "d v"]

    def of(self, x: Float[Array, "t d"]) -> tuple[Array, Array, Array]:
        """Queries, keys and values of the tokens."""
        return x @ self.w_q, x @ self.w_k, x @ self.w_v


class TwoLayers(NamedTuple):
    """The dense synthesizer's network: relu(x w_1 + b_1) w_2 + b_2, one output per position.

    Example:
        Weights for tokens of width 2, a hidden layer of width 2 and three positions.

        >>> layers = TwoLayers(jnp.eye(2), jnp.zeros(2), jnp.eye(2, 3), jnp.zeros(3))
        >>> print(dense_logits(jnp.eye(3, 2), *layers))
        [[1. 0. 0.]
         [0. 1. 0.]
         [0. 0. 0.]]
    """

    w_1: Float[Array, "d m"]
    b_1: Float[Array, " m"]
    w_2: Float[Array, "m n"]
    b_2: Float[Array, " n"]


@runtime_checkable
class Mixer(Protocol):
    """A function of tokens [t d] to tokens [t v], and what it promises.

    Example:
        Every builder of this file returns one, and says what it promises.

        >>> mixer = softmax_mixer(Projections(jnp.eye(2), jnp.eye(2), jnp.eye(2)), scale=1.0, causal=True)
        >>> isinstance(mixer, Mixer), mixer.name, mixer.causal, mixer.masked
        (True, 'softmax, causal', True, True)
    """

    @property
    def name(self) -> str:
        """The name of the mixer in messages."""
        ...

    @property
    def causal(self) -> bool:
        """Whether the mixer claims that no output depends on a later token."""
        ...

    @property
    def masked(self) -> bool:
        """Whether the mixer can use a mask."""
        ...

    def __call__(self, x: Float[Array, "t d"], mask: Mask = None) -> Float[Array, "t v"]:
        """Mix the tokens; a mask is refused unless `masked`."""
        ...


def refuse_mask(mixer: Mixer, mask: Mask) -> None:
    """Refuse a mask that the mixer would ignore.

    Args:
        mixer: any mixer.
        mask: True where a query may look, or None.

    Raises:
        ValueError: if there is a mask, and the mixer cannot honour one.

    Example:
        A window is not a mask, and this mixer takes none.

        >>> mixer = sliding_window_mixer(Projections(jnp.eye(2), jnp.eye(2), jnp.eye(2)), scale=1.0, window=1)
        >>> refuse_mask(mixer, None)
        >>> refuse_mask(mixer, jnp.ones((3, 3), bool))
        Traceback (most recent call last):
            ...
        ValueError: sliding window cannot honour a mask: leave it out, or choose a mixer that is `masked`
    """
    if mask is not None and not mixer.masked:
        raise ValueError(f"{mixer.name} cannot honour a mask: leave it out, or choose a mixer that is `masked`")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class HeadMixer:
    """A `Mixer` of one head.

    Example:
        A mixer of one's own: every token gets the mean of all tokens.

        >>> mean = HeadMixer(name="mean", mix=lambda x, mask: jnp.ones((3, 3)) @ x / 3, causal=False)
        >>> print(mean(jnp.array([[3.0, 0], [0, 6], [0, 0]])))
        [[1. 2.]
         [1. 2.]
         [1. 2.]]
    """

    name: str
    mix: Mix
    """A function of the tokens and a mask; the mask is None unless `masked`."""
    causal: bool
    masked: bool = False

    def __call__(self, x: Float[Array, "t d"], mask: Mask = None) -> Float[Array, "t v"]:
        """Mix the tokens.

        Raises:
            ValueError: if a mask is given to a mixer that cannot honour it, or if `mix` refuses the tokens.
        """
        refuse.wrong_rank(2, x=x)
        refuse_mask(self, mask)
        return self.mix(x, mask)


def softmax_mixer(
    weights: Projections, *, scale: Scalar, softcap: Scalar | None = None, causal: bool = False
) -> Mixer:
    """Plain `attention`.

    Args:
        weights: what makes queries, keys and values of the tokens.
        scale: inverse temperature, dimensionless.
        causal: no output depends on a later token.

    Example:
        A score of one doubles a weight: the first token gets 1/2 of itself and 1/4 of the second.

        >>> same = Projections(jnp.eye(2), jnp.eye(2), jnp.eye(2))
        >>> print(np.asarray(softmax_mixer(same, scale=np.log(2))(jnp.eye(3, 2))).round(2))
        [[0.5  0.25]
         [0.25 0.5 ]
         [0.33 0.33]]
    """

    def mix(x: Array, mask: Array | None) -> Array:
        return attention(*weights.of(x), mask, scale=scale, softcap=softcap)

    return _masked("softmax", mix, causal)


def top_k_mixer(weights: Projections, *, k: int, scale: Scalar, causal: bool = False) -> Mixer:
    """Softmax attention to the k keys of the largest scores, by `top_k_mask`.

    Args:
        weights: what makes queries, keys and values of the tokens.
        k: how many keys a query reads.
        scale: inverse temperature, dimensionless.
        causal: no output depends on a later token.

    Example:
        Each token reads the one most like it among all, which is itself.

        >>> same = Projections(jnp.eye(2), jnp.eye(2), jnp.eye(2))
        >>> print(top_k_mixer(same, k=1, scale=1.0)(jnp.array([[3.0, 0], [0, 2]])))
        [[3. 0.]
         [0. 2.]]
    """

    def mix(x: Array, mask: Array | None) -> Array:
        q, keys, v = weights.of(x)
        read = top_k_mask(attention_scores(q, keys, scale=scale), k, mask)
        return attention(q, keys, v, read, scale=scale)

    return _masked("top-k", mix, causal)


def rotary_mixer(
    weights: Projections, *, scale: Scalar, frequencies: np.ndarray | None = None, causal: bool = False
) -> Mixer:
    """Attention with queries and keys turned by their positions.

    Args:
        weights: what makes queries, keys and values of the tokens.
        scale: inverse temperature, dimensionless.
        causal: no output depends on a later token.

    Example:
        All queries and keys are e1, so a score is the cosine of the distance. The value 6 of the first token counts
        less the further away it is.

        >>> first, second = jnp.array([[1.0, 0], [0, 0]]), jnp.array([[0.0], [1.0]])
        >>> x = jnp.array([[1.0, 6], [1, 0], [1, 0]])
        >>> print(np.asarray(rotary_mixer(Projections(first, first, second), scale=1.0)(x)).round(2))
        [[3.2 ]
         [1.67]
         [0.78]]
    """

    def mix(x: Array, mask: Array | None) -> Array:
        q, k, v = weights.of(x)
        at = jnp.arange(x.shape[0])
        q, k = (rotary(y, at, frequencies=frequencies) for y in (q, k))
        return attention(q, k, v, mask, scale=scale)

    return _masked("rotary", mix, causal)


def alibi_mixer(weights: Projections, *, scale: Scalar, slope: Scalar, causal: bool = False) -> Mixer:
    """`alibi_attention` of one head.

    Args:
        weights: what makes queries, keys and values of the tokens.
        scale: inverse temperature, dimensionless.
        slope: what the head takes from the score for each token of distance.
        causal: no output depends on a later token.

    Example:
        Queries of 0 leave the distance: at slope log 2 the first token gives the tokens 4, 2, 1 parts of 7.

        >>> weights = Projections(jnp.zeros((2, 2)), jnp.eye(2), jnp.eye(2))
        >>> x = jnp.array([[7.0, 0], [0, 0], [0, 0]])
        >>> print(np.asarray(alibi_mixer(weights, scale=1.0, slope=np.log(2))(x)).round(2))
        [[4.   0.  ]
         [1.75 0.  ]
         [1.   0.  ]]
    """

    def mix(x: Array, mask: Array | None) -> Array:
        return alibi_attention(*weights.of(x), mask, scale=scale, slope=slope)

    return _masked("ALiBi", mix, causal)


def additive_mixer(weights: Projections, w_out: Float[Array, " m"], *, causal: bool = False) -> Mixer:
    """`additive_attention`: w_q and w_k lead into the hidden layer.

    Args:
        weights: w_q and w_k lead tokens into the hidden layer, w_v makes the values.
        w_out: weights from the hidden layer to one score.
        causal: no output depends on a later token.

    Example:
        A w_out of 0 scores every pair alike, and every token gets the mean.

        >>> same = Projections(jnp.eye(2), jnp.eye(2), jnp.eye(2))
        >>> x = jnp.array([[3.0, 0], [0, 6], [0, 0]])
        >>> print(np.asarray(additive_mixer(same, jnp.zeros(2))(x)).round(2))
        [[1. 2.]
         [1. 2.]
         [1. 2.]]
    """

    def mix(x: Array, mask: Array | None) -> Array:
        return additive_attention(x, x, x @ weights.w_v, weights.w_q, weights.w_k, w_out, mask)

    return _masked("additive", mix, causal)


def random_synthesizer_mixer(
    w_v: Float[Array, "d v"], table: Float[Array, "n n"], *, causal: bool = False
) -> Mixer:
    """Weights from a table.

    Args:
        w_v: what makes values of the tokens.
        table: a logit for each output and source position.
        causal: no output depends on a later token.

    Example:
        The table holds log 2 on its diagonal: a token gets 1/2 of itself and 1/4 of each other, whatever they are.

        >>> mixer = random_synthesizer_mixer(jnp.eye(2), np.log(2) * jnp.eye(3))
        >>> print(np.asarray(mixer(jnp.array([[4.0, 0], [0, 8], [0, 0]]))).round(2))
        [[2. 2.]
         [1. 4.]
         [1. 2.]]
    """

    def mix(x: Array, mask: Array | None) -> Array:
        return synthesizer_attention(random_logits(table, x.shape[0]), x @ w_v, mask)

    return _masked("random synthesizer", mix, causal)


def factorised_synthesizer_mixer(
    w_v: Float[Array, "d v"], left: Float[Array, "n m"], right: Float[Array, "n m"], *, causal: bool = False
) -> Mixer:
    """Weights from a table of low rank.

    Args:
        w_v: what makes values of the tokens.
        left: the factor of the output positions, one row each.
        right: the factor of the source positions, one row each.
        causal: no output depends on a later token.

    Example:
        A factor of 0 makes a table of 0, and every token gets the mean.

        >>> mixer = factorised_synthesizer_mixer(jnp.eye(2), jnp.zeros((3, 1)), jnp.ones((3, 1)))
        >>> print(np.asarray(mixer(jnp.array([[3.0, 0], [0, 6], [0, 0]]))).round(2))
        [[1. 2.]
         [1. 2.]
         [1. 2.]]
    """

    def mix(x: Array, mask: Array | None) -> Array:
        return synthesizer_attention(factorised_logits(left, right, x.shape[0]), x @ w_v, mask)

    return _masked("factorised synthesizer", mix, causal)


def dense_synthesizer_mixer(w_v: Float[Array, "d v"], layers: TwoLayers, *, causal: bool = False) -> Mixer:
    """Weights from each token by itself.

    Args:
        w_v: what makes values of the tokens.
        layers: the network from a token to one logit per position.
        causal: no output depends on a later token.

    Example:
        The last bias is large at position 1, so every token gets the token there.

        >>> layers = TwoLayers(jnp.eye(2), jnp.zeros(2), jnp.zeros((2, 3)), jnp.array([0.0, 1000, 0]))
        >>> print(dense_synthesizer_mixer(jnp.eye(2), layers)(jnp.array([[3.0, 0], [0, 6], [0, 0]])))
        [[0. 6.]
         [0. 6.]
         [0. 6.]]
    """

    def mix(x: Array, mask: Array | None) -> Array:
        return synthesizer_attention(dense_logits(x, *layers), x @ w_v, mask)

    return _masked("dense synthesizer", mix, causal)


def zero_after_softmax_mixer(weights: Projections, *, scale: Scalar, causal: bool = False) -> Mixer:
    """A mistake: the mask is applied after the softmax. The mixer claims to be causal, and is not.

    Args:
        weights: what makes queries, keys and values of the tokens.
        scale: inverse temperature, dimensionless.
        causal: whether it claims that no output depends on a later token.

    Example:
        Queries of 0 and equal tokens: a causal mean would return ones. The first token sees one of three and gets
        1/3.

        >>> weights = Projections(jnp.zeros((2, 2)), jnp.eye(2), jnp.eye(2))
        >>> print(np.asarray(zero_after_softmax_mixer(weights, scale=1.0, causal=True)(jnp.ones((3, 2)))).round(2))
        [[0.33 0.33]
         [0.67 0.67]
         [1.   1.  ]]
    """

    def mix(x: Array, mask: Array | None) -> Array:
        everything = jnp.ones((x.shape[0], x.shape[0]), bool)
        return zero_after_softmax(*weights.of(x), everything if mask is None else mask, scale=scale)

    return _masked("zero-after-softmax", mix, causal)


def blocked_mixer(weights: Projections, *, scale: Scalar, block: int, causal: bool = False) -> Mixer:
    """`blocked_attention`.

    Args:
        weights: what makes queries, keys and values of the tokens.
        scale: inverse temperature, dimensionless.
        block: queries per block and keys per tile.
        causal: no output depends on a later token.

    Example:
        The same numbers as from `softmax_mixer`, two tokens at a time.

        >>> same = Projections(jnp.eye(2), jnp.eye(2), jnp.eye(2))
        >>> print(np.asarray(blocked_mixer(same, scale=np.log(2), block=2)(jnp.eye(3, 2))).round(2))
        [[0.5  0.25]
         [0.25 0.5 ]
         [0.33 0.33]]
    """
    return _unmasked(
        "blocked", lambda x: blocked_attention(*weights.of(x), scale=scale, block=block, causal=causal), causal
    )


def sliding_window_mixer(weights: Projections, *, scale: Scalar, window: int, causal: bool = False) -> Mixer:
    """`sliding_window_attention`.

    Args:
        weights: what makes queries, keys and values of the tokens.
        scale: inverse temperature, dimensionless.
        window: positions a query sees, itself included.
        causal: no output depends on a later token.

    Example:
        A window of 1 is the token itself.

        >>> same = Projections(jnp.eye(2), jnp.eye(2), jnp.eye(2))
        >>> print(sliding_window_mixer(same, scale=1.0, window=1, causal=True)(jnp.eye(3, 2)))
        [[1. 0.]
         [0. 1.]
         [0. 0.]]
    """
    return _unmasked(
        "sliding window",
        lambda x: sliding_window_attention(*weights.of(x), scale=scale, window=window, causal=causal),
        causal,
    )


def bigbird_mixer(
    weights: Projections,
    links: Int[Array, "blocks links"],
    *,
    scale: Scalar,
    block: int,
    window: int,
    global_blocks: int,
    causal: bool = False,
) -> Mixer:
    """`bigbird_attention`, for sequences of the length that the links were drawn for.

    Args:
        weights: what makes queries, keys and values of the tokens.
        links: further blocks that each block of queries sees; -1 for none.
        scale: inverse temperature, dimensionless.
        block: positions per block; must divide the length.
        window: blocks in the window, odd.
        global_blocks: this many blocks at the start see everything and are seen by everything.
        causal: no output depends on a later token.

    Example:
        Queries of 0 take the mean of what they see. Token 0 sees itself and, by its link, token 2. The others see
        themselves.

        >>> weights = Projections(jnp.zeros((2, 2)), jnp.eye(2), jnp.eye(2))
        >>> layout = {"block": 1, "window": 1, "global_blocks": 0}
        >>> mixer = bigbird_mixer(weights, jnp.array([[2], [-1], [-1]]), scale=1.0, **layout)
        >>> print(mixer(jnp.array([[2.0, 0], [0, 4], [0, 6]])))
        [[1. 3.]
         [0. 4.]
         [0. 6.]]
    """
    layout = {"block": block, "window": window, "global_blocks": global_blocks}
    return _unmasked(
        "BigBird",
        lambda x: bigbird_attention(*weights.of(x), links, scale=scale, causal=causal, **layout),
        causal,
    )


def linformer_mixer(
    weights: Projections, e: Float[Array, "m n"], f: Float[Array, "m n"], *, scale: Scalar, causal: bool = False
) -> Mixer:
    """`linformer_attention`. It has no causal form: with `causal` it computes the same and leaks, as an example.

    Args:
        weights: what makes queries, keys and values of the tokens.
        e: projection of the keys along the sequence.
        f: projection of the values; may be `e`.
        scale: inverse temperature, dimensionless.
        causal: whether it claims to be causal. This does not change what it computes.

    Example:
        Queries of 0 give half of the first token, and half of the sum of the others.

        >>> weights = Projections(jnp.zeros((2, 2)), jnp.eye(2), jnp.eye(2))
        >>> e = jnp.array([[1.0, 0, 0], [0, 1, 1]])
        >>> print(linformer_mixer(weights, e, e, scale=1.0)(jnp.array([[2.0, 0], [0, 4], [0, 6]])))
        [[1. 5.]
         [1. 5.]
         [1. 5.]]
    """
    return _unmasked("Linformer", lambda x: linformer_attention(*weights.of(x), e, f, scale=scale), causal)


def linear_mixer(
    weights: Projections,
    features: Callable[[Array], Array],
    *,
    scale: Scalar,
    causal: bool = False,
    name: str = "linear",
) -> Mixer:
    """`linear_attention` with any feature map. Queries and keys are multiplied by sqrt(scale) each; nothing is
    shifted.

    Args:
        weights: what makes queries, keys and values of the tokens.
        features: from rows of queries or keys to rows of features.
        scale: inverse temperature, dimensionless.
        causal: no output depends on a later token.
        name: the name of the mixer in messages.

    Example:
        A feature that is 1 everywhere weighs every token alike.

        >>> same = Projections(jnp.eye(2), jnp.eye(2), jnp.eye(2))
        >>> mixer = linear_mixer(same, lambda x: jnp.ones((x.shape[0], 1)), scale=1.0)
        >>> print(np.asarray(mixer(jnp.array([[3.0, 0], [0, 6], [0, 0]]))).round(2))
        [[1. 2.]
         [1. 2.]
         [1. 2.]]
    """

    def mix(x: Array) -> Array:
        q, k, v = weights.of(x)
        q, k = share_scale(q, k, scale)
        return linear_attention(features(q), features(k), v, causal=causal)

    refuse.not_positive(scale=scale)
    refuse.non_finite(scale=scale)
    return _unmasked(name, mix, causal)


def feature_mixer(
    weights: Projections, projection: Float[Array, "n m"], *, scale: Scalar, causal: bool = False
) -> Mixer:
    """`feature_attention`: positive features, with shifts that cancel.

    Args:
        weights: what makes queries, keys and values of the tokens.
        projection: rows of law N(0, I), independent or coupled.
        scale: inverse temperature, dimensionless.
        causal: no output depends on a later token.

    Example:
        A projection of 0 weighs keys by exp(-|k|^2/2), and these three have one length: every token gets the mean.

        >>> same = Projections(jnp.eye(2), jnp.eye(2), jnp.eye(2))
        >>> mixer = feature_mixer(same, jnp.zeros((1, 2)), scale=1.0)
        >>> print(np.asarray(mixer(jnp.array([[3.0, 0], [0, 3], [-3, 0]]))).round(2))
        [[0. 1.]
         [0. 1.]
         [0. 1.]]
    """
    return _unmasked(
        "positive features",
        lambda x: feature_attention(*weights.of(x), projection, scale=scale, causal=causal),
        causal,
    )


def fast_weight_mixer(
    weights: Projections, w_gates: Float[Array, "d 2"], *, rule: Rule, chunk: int | None = None
) -> Mixer:
    """`fast_weight_attention`, whose decays and steps are sigmoids of the tokens. Keys are no longer than one.

    Args:
        weights: what makes queries, keys and values of the tokens.
        w_gates: from a token to the logits of its decay and of its step.
        rule: how values are written.
        chunk: positions for each step; None is the recurrence.

    Example:
        Gates of 1/2, and three tokens of one key: by the delta rule each answer is halfway to the value.

        >>> weights = Projections(jnp.array([[1.0], [0]]), jnp.array([[1.0], [0]]), jnp.array([[0.0], [1]]))
        >>> mixer = fast_weight_mixer(weights, jnp.zeros((2, 2)), rule=Rule.DELTA)
        >>> print(mixer(jnp.array([[1.0, 8], [1, 8], [1, 0]])).T)
        [[4.   5.   1.25]]
    """

    def mix(x: Array) -> Array:
        q, k, v = weights.of(x)
        k = k / jnp.maximum(1, jnp.linalg.norm(k, axis=1, keepdims=True))
        decay, beta = jax.nn.sigmoid(x @ w_gates).T
        return fast_weight_attention(q, k, v, rule=rule, decay=decay, beta=beta, chunk=chunk)

    return _unmasked(f"fast weights by {rule}", mix, True)


def forget_gate_mixer(weights: Projections, w_gate: Float[Array, " d"], *, scale: Scalar) -> Mixer:
    """`forget_gate_attention`, whose gates are sigmoids of the tokens.

    Args:
        weights: what makes queries, keys and values of the tokens.
        w_gate: from a token to the logit of its gate.
        scale: inverse temperature, dimensionless.

    Example:
        Queries and gates of 0: each gate is 1/2, and the first token has 1, 1/3 and 1/7 of the weight.

        >>> weights = Projections(jnp.zeros((2, 2)), jnp.eye(2), jnp.eye(2))
        >>> mixer = forget_gate_mixer(weights, jnp.zeros(2), scale=1.0)
        >>> print(np.asarray(mixer(jnp.array([[6.0, 0], [0, 0], [0, 0]]))).round(2)[:, 0])
        [6.   2.   0.86]
    """

    def mix(x: Array) -> Array:
        return forget_gate_attention(*weights.of(x), jax.nn.log_sigmoid(x @ w_gate), scale=scale)

    return _unmasked("forget gates", mix, True)


def cached_mixer(weights: Projections, *, scale: Scalar) -> Mixer:
    """`cached_attention`: one token after the other, as in generation.

    Args:
        weights: what makes queries, keys and values of the tokens.
        scale: inverse temperature, dimensionless.

    Example:
        Queries of 0 take the mean of what they have seen so far.

        >>> weights = Projections(jnp.zeros((2, 2)), jnp.eye(2), jnp.eye(2))
        >>> print(np.asarray(cached_mixer(weights, scale=1.0)(jnp.array([[6.0, 0], [0, 0], [0, 0]]))).round(2))
        [[6. 0.]
         [3. 0.]
         [2. 0.]]
    """
    return _unmasked("cached", lambda x: cached_attention(*weights.of(x), scale=scale), True)


def _masked(name: str, mix: Mix, causal: bool) -> Mixer:
    """A mixer that takes a mask. If it is causal, the causal mask is applied as well."""
    under = functools.partial(_of_the_past, mix) if causal else mix
    return HeadMixer(name=_named(name, causal), mix=under, causal=causal, masked=True)


def _of_the_past(mix: Mix, x: Array, mask: Array | None) -> Array:
    past = causal_mask(x.shape[0])
    return mix(x, past if mask is None else past & mask)


def _unmasked(name: str, mix: Callable[[Array], Array], causal: bool) -> Mixer:
    return HeadMixer(name=_named(name, causal), mix=lambda x, mask: mix(x), causal=causal)


def _named(name: str, causal: bool) -> str:
    return f"{name}, causal" if causal else name
