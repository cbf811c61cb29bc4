"""Every mixer of the lab, built from the tokens and weights of a case: the columns of the identities' table.

The layers of models are among them (`layers.py`).

One table of learned numbers (`Tokens.table`) stands in for whatever else a mixer has learned or drawn: projections
of features, sketches, synthesizers' logits.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from attnlab_theory.attention import (
    Rule,
    attention,
    causal_mask,
    differential_attention,
    grouped_query_attention,
    latent_attention,
    mixers,
    normed,
    ntk_frequencies,
    positive_features,
    sigmoid_attention,
    split_heads,
    stick_breaking_attention,
    trigonometric_features,
    yarn_frequencies,
)
from attnlab_theory.attention.mixers import HeadMixer, Mixer, Projections, TwoLayers
from attnlab_theory.identities.cases import Tokens
from attnlab_theory.identities.layers import LAYERS
from attnlab_theory.identities.operators import self_attention_rounding
from attnlab_theory.identities.rounding import epsilon, host, memory_rounding, peak, weight_rounding
from attnlab_theory.identities.subject import Subject

LAYOUT = {"block": 1, "window": 1, "global_blocks": 1}
LINKS = np.array([[-1], [3], [-1], [1]], np.int32)
"""One block per token. The first is global, the second and the last see each other, the third has no link."""


def projections(case: Tokens) -> Projections:
    """The projections of the case's head."""
    return Projections(case.w_q, case.w_k, case.w_v)


def softened(case: Tokens, shrink: float = 8.0) -> Projections:
    """Queries and keys made shorter, so that features of them neither overflow nor vanish in float32.

    Tokens and weights of at most 4 and 1 give |q| <= 16 / shrink in every coordinate: at 8, exponents of at most
    2 * 4 + 8; at 4, the squares of trigonometric features of at most 32.
    """
    return Projections(case.w_q / shrink, case.w_k / shrink, case.w_v)


def _softmax(case: Tokens, causal: bool) -> Mixer:
    return mixers.softmax_mixer(projections(case), scale=case.scale, causal=causal)


def _capped(case: Tokens, causal: bool) -> Mixer:
    return mixers.softmax_mixer(projections(case), scale=case.scale, softcap=2.0, causal=causal)


def _grouped(case: Tokens, causal: bool) -> Mixer:
    """Two heads of queries over one of keys and values: half the width of each, side by side."""
    weights = Projections(case.w_q, case.w_k[:, :2], case.w_v)

    def mix(x: Array, mask: Array | None) -> Array:
        q, k, v = weights.of(x)
        past = causal_mask(len(x)) if causal else None
        heads = grouped_query_attention(split_heads(q, 2), k[None], v[None], past, scale=case.scale)
        return (heads[0] + heads[1]) / 2

    return HeadMixer(name="grouped queries", mix=mix, causal=causal)


def _rotary(case: Tokens, causal: bool) -> Mixer:
    return mixers.rotary_mixer(projections(case), scale=case.scale, causal=causal)


def _stretched(case: Tokens) -> Mixer:
    """One pair of two turns, as slowly as YaRN has it at four times the length."""
    frequencies = yarn_frequencies(2, factor=4.0, original=16)
    return mixers.rotary_mixer(projections(case), scale=case.scale, frequencies=frequencies, causal=True)


def _base_by_length(case: Tokens) -> Mixer:
    """Dynamic NTK as it is published: the base grows with the sequence, once it is longer than three tokens."""

    def mix(x: Array, mask: Array | None) -> Array:
        frequencies = ntk_frequencies(case.x.shape[1], factor=max(1.0, len(x) / 3), base=100.0)
        weights = projections(case)
        return mixers.rotary_mixer(weights, scale=case.scale, frequencies=frequencies, causal=True)(x, mask)

    return HeadMixer(name="base by length", mix=mix, causal=True)


def _alibi(case: Tokens, causal: bool) -> Mixer:
    return mixers.alibi_mixer(projections(case), scale=case.scale, slope=0.5, causal=causal)


def _blocked(case: Tokens, causal: bool) -> Mixer:
    return mixers.blocked_mixer(projections(case), scale=case.scale, block=3, causal=causal)


def _sliding(case: Tokens, causal: bool) -> Mixer:
    return mixers.sliding_window_mixer(projections(case), scale=case.scale, window=3, causal=causal)


def _bigbird(case: Tokens, causal: bool) -> Mixer:
    links = jnp.asarray(LINKS)
    return mixers.bigbird_mixer(projections(case), links, scale=case.scale, causal=causal, **LAYOUT)


def _additive(case: Tokens, causal: bool) -> Mixer:
    return mixers.additive_mixer(projections(case), case.table[0], causal=causal)


def _random(case: Tokens, causal: bool) -> Mixer:
    return mixers.random_synthesizer_mixer(case.w_v, case.table, causal=causal)


def _factorised(case: Tokens, causal: bool) -> Mixer:
    return mixers.factorised_synthesizer_mixer(case.w_v, case.table[:, :2], case.table[:, 2:], causal=causal)


def _dense(case: Tokens, causal: bool) -> Mixer:
    layers = TwoLayers(case.w_q, case.table[0], case.w_k, case.table[1])
    return mixers.dense_synthesizer_mixer(case.w_v, layers, causal=causal)


def _positive(case: Tokens, causal: bool) -> Mixer:
    return mixers.feature_mixer(softened(case), case.table / 4, scale=case.scale, causal=causal)


def _linear(case: Tokens, causal: bool) -> Mixer:
    features = functools.partial(positive_features, projection=case.table / 4)
    return mixers.linear_mixer(softened(case), features, scale=case.scale, causal=causal)


def _trigonometric(case: Tokens, causal: bool) -> Mixer:
    weights, name = softened(case, 4.0), "trigonometric features"
    # Far out their waves are all but independent, and negative weights are common.
    features = functools.partial(trigonometric_features, projection=16 * case.table)
    return mixers.linear_mixer(weights, features, scale=case.scale, causal=causal, name=name)


def _linformer(case: Tokens, causal: bool) -> Mixer:
    e, f = case.table[:2] / 2, case.table[2:] / 2
    return mixers.linformer_mixer(projections(case), e, f, scale=case.scale, causal=causal)


def _zero_after(case: Tokens, causal: bool) -> Mixer:
    return mixers.zero_after_softmax_mixer(projections(case), scale=case.scale, causal=causal)


def _cached(case: Tokens) -> Mixer:
    return mixers.cached_mixer(projections(case), scale=case.scale)


def _top_k(case: Tokens, causal: bool) -> Mixer:
    return mixers.top_k_mixer(projections(case), k=2, scale=case.scale, causal=causal)


def latent_case(case: Tokens, x: Array) -> tuple[Array, Array, Array, Array]:
    """Queries of two heads, latent rows of width 3, and the matrices from a row to a head's key and value."""
    q, c = split_heads(x @ case.w_q, 2), (x @ case.w_k)[:, :3]
    to_keys, to_values = (y.reshape(-1)[:12].reshape(2, 2, 3) for y in (case.table, case.w_v))
    return q, c, to_keys, to_values


def _latent(case: Tokens, causal: bool) -> Mixer:
    """Absorbed: no key is made."""

    def mix(x: Array, mask: Array | None) -> Array:
        past = causal_mask(len(x)) if causal else None
        heads = latent_attention(*latent_case(case, x), past, scale=case.scale, absorbed=True)
        return jnp.concatenate(list(heads), axis=1)

    return HeadMixer(name="latent attention", mix=mix, causal=causal)


def _fast_weights(case: Tokens, rule: Rule, chunk: int | None) -> Mixer:
    return mixers.fast_weight_mixer(projections(case), case.table[:2].T, rule=rule, chunk=chunk)


def _forgetting(case: Tokens) -> Mixer:
    return mixers.forget_gate_mixer(projections(case), case.table[0], scale=case.scale)


def _projected(case: Tokens, w: Array, shrink: float = 1.0) -> tuple[float, float]:
    """The bound of a projected coordinate, and its rounding: a sum of d products."""
    bound = peak(np.abs(host(case.x)) @ np.abs(host(w))) / shrink
    return bound, epsilon(case.x) * (case.x.shape[1] / 2 + 2) * bound


def _capped_rounding(case: Tokens) -> float:
    """The cap shrinks the error of a score, and adds that of a quotient, tanh and a product."""
    return self_attention_rounding(case) + _projected(case, case.w_v)[0] * float(np.expm1(12 * 2 * epsilon(case.x)))


_turned_rounding = functools.partial(self_attention_rounding, scheme="rotary")


def _biased_rounding(case: Tokens) -> float:
    """A bias of at most n/2 is rounded, and so is its sum with a score, by eps of it."""
    more = 2 * epsilon(case.x) * case.x.shape[0]
    return self_attention_rounding(case) + _projected(case, case.w_v)[0] * float(np.expm1(2 * more))


def _additive_rounding(case: Tokens) -> float:
    """A hidden unit errs as its input does, and 4 eps; a score sums m of them."""
    eps, (n, width) = epsilon(case.x), case.x.shape
    errors = _projected(case, case.w_q)[1] + _projected(case, case.w_k)[1]
    score = float(np.sum(np.abs(host(case.table[0])))) * (errors + eps * (width / 2 + 6))
    v, v_error = _projected(case, case.w_v)
    return v * (weight_rounding(score, n, eps) + eps * (n / 2 + 1)) + v_error


def _feature_rounding(case: Tokens) -> float:
    """Exponents w.q - |q|^2/2 and their shifts err by the rounding of q, and by their own. Twice: for q and k."""
    eps, (n, width) = epsilon(case.x), case.x.shape
    exponent = 0.0
    for w in (case.w_q, case.w_k):
        size, error = _projected(case, w, shrink=8.0)
        size, error = (float(case.scale) ** 0.5 * y for y in (size, error + 2 * eps * size))
        steep = width * (peak(case.table) / 4 + size)
        exponent += steep * error + eps * (width + 6) * size * steep
    v, v_error = _projected(case, case.w_v)
    # Products of features are sums of `width` positive terms, numerator and normaliser n of those.
    return v * (weight_rounding(exponent, n, eps) + eps * 2 * (width + n + 2)) + v_error


def _fast_weight_rounding(case: Tokens) -> float:
    """Keys and values are projected, keys cut to length 1, and the logits of the gates are projections, too."""
    eps, (n, width) = epsilon(case.x), case.x.shape
    (q, q_error), (_, k_error), (v, v_error) = (_projected(case, w) for w in (case.w_q, case.w_k, case.w_v))
    gate_error = max(_projected(case, case.table[row, :, None])[1] for row in (0, 1)) / 4 + 6 * eps
    key_error, query = 2 * width**0.5 * k_error + eps * (width / 2 + 4), width**0.5 * q
    answers = memory_rounding(n, width, eps, query=query, value=v, key_error=key_error, gate_error=gate_error)
    return answers + n * (query * v_error + width**0.5 * q_error * v)


def _latent_rounding(case: Tokens) -> float:
    """A score multiplies a query, a matrix and a row, in either order: sums of d, of m and of the tokens' width."""
    eps, (n, width) = epsilon(case.x), case.x.shape
    x, w_q, w_k, table, w_v = (np.abs(host(y)) for y in (case.x, case.w_q, case.w_k, case.table, case.w_v))
    q, c = x @ w_q, (x @ w_k)[:, :3]
    to_keys, to_values = (y.reshape(-1)[:12].reshape(2, 2, 3) for y in (table, w_v))
    heads = ((q[:, 2 * h : 2 * h + 2] @ to_keys[h] @ c.T) for h in range(2))
    score = float(case.scale) * max(float(np.max(head, initial=0.0)) for head in heads)
    value = max(float(np.max(c @ to_values[h].T, initial=0.0)) for h in range(2))
    terms = eps * (width + 5 + 8)
    return value * (weight_rounding(terms * score, n, eps) + terms + eps * (n / 2 + 1))


def _forgetting_rounding(case: Tokens) -> float:
    """A bias sums n log gates, each wrong by its logit's error and 4 eps, and adds eps of the sum to a score."""
    eps, n = epsilon(case.x), case.x.shape[0]
    size, error = _projected(case, case.table[0, :, None])
    error = n * (error + eps * (n + 6) * (size + 1))
    return self_attention_rounding(case) + _projected(case, case.w_v)[0] * float(np.expm1(4 * error))


def _of_head(name: str, attend: Callable[..., Array], case: Tokens, causal: bool) -> Mixer:
    """A mixer of the case's head: `attend` of queries, keys, values and a mask."""

    def mix(x: Array, mask: Array | None) -> Array:
        return attend(*projections(case).of(x), causal_mask(len(x)) if causal else None, scale=case.scale)

    return HeadMixer(name=name, mix=mix, causal=causal)


def _sunk(case: Tokens, causal: bool) -> Mixer:
    return _of_head("sink", functools.partial(attention, sink=0.5), case, causal)


def _sigmoid(case: Tokens, causal: bool) -> Mixer:
    return _of_head("sigmoid", functools.partial(sigmoid_attention, shift=-1.0), case, causal)


def _differential(case: Tokens, causal: bool) -> Mixer:
    def attend(q: Array, k: Array, v: Array, mask: Array | None, **given: Any) -> Array:
        return differential_attention(q, -q, k, v, mask, lam=0.5, **given)

    return _of_head("differential", attend, case, causal)


def _query_norm(case: Tokens, causal: bool) -> Mixer:
    def attend(q: Array, k: Array, v: Array, mask: Array | None, **given: Any) -> Array:
        return attention(normed(q), normed(k), v, mask, **given)

    return _of_head("normed queries and keys", attend, case, causal)


def _stick(case: Tokens) -> Mixer:
    def attend(q: Array, k: Array, v: Array, mask: Array | None, **given: Any) -> Array:
        return stick_breaking_attention(q, k, v, **given)

    return _of_head("stick-breaking", attend, case, True)


def _sums_rounding(case: Tokens) -> float:
    """Weights of no normaliser: four of them, and logarithms of four shares, each as the weights of softmax."""
    return 4 * len(case.x) * self_attention_rounding(case)


def _free(name: str, build: Callable[[Tokens, bool], Mixer], **kept: Any) -> Subject:
    return Subject(name=name, build=lambda case: build(case, False), **kept)


def _causal(name: str, build: Callable[[Tokens, bool], Mixer], **kept: Any) -> Subject:
    return Subject(name=name, build=lambda case: build(case, True), **kept)


def _both(
    name: str,
    build: Callable[[Tokens, bool], Mixer],
    *,
    permutes: bool | None = False,
    prefixes: bool | None = None,
    **kept: Any,
) -> tuple[Subject, Subject]:
    """A mixer without and with a causal mask. With one, none permutes: softmax shows it for all (`symmetry`)."""
    free = _free(name, build, permutes=permutes, **kept)
    return free, _causal(f"{name}, causal", build, causal=True, prefixes=prefixes, **kept)


PAST_BLOCKS = (129,)
"""One more than the block that slides, and than two chunks of linear attention."""

UNBOUND: dict[str, Any] = {"sums_to_one": False, "in_hull": False}

SUBJECTS: tuple[Subject, ...] = (
    *_both("softmax mixer", _softmax, permutes=True, prefixes=True),
    *_both("softcap mixer", _capped, permutes=True, prefixes=True, rounding=_capped_rounding),
    *_both("grouped queries", _grouped, permutes=True, prefixes=True),
    *_both("blocked mixer", _blocked, permutes=True, prefixes=True),
    Subject(name="cached mixer", build=_cached, causal=True, prefixes=True),
    *_both("rotary mixer", _rotary, prefixes=True, rounding=_turned_rounding),
    Subject(
        name="rotary mixer, stretched and partial",
        build=_stretched,
        causal=True,
        prefixes=True,
        rounding=_turned_rounding,
    ),
    Subject(
        name="rotary mixer, base by length",
        build=_base_by_length,
        causal=True,
        prefixes=False,
        rounding=_turned_rounding,
    ),
    # Without a mask they are sums over all tokens, as the softmax mixer shows.
    _causal("sink, causal", _sunk, causal=True, prefixes=True, **UNBOUND),
    _causal("sigmoid, causal", _sigmoid, causal=True, prefixes=True, rounding=_sums_rounding, **UNBOUND),
    _causal("differential, causal", _differential, causal=True, prefixes=True, rounding=_sums_rounding, **UNBOUND),
    # The norm of a query near 0 magnifies its rounding without limit: no tolerance for rows that are permuted.
    _causal("normed queries and keys", _query_norm, causal=True),
    Subject(name="stick-breaking", build=_stick, causal=True, prefixes=True, rounding=_sums_rounding, **UNBOUND),
    *_both("ALiBi mixer", _alibi, prefixes=True, rounding=_biased_rounding),
    *_both("sliding window", _sliding, prefixes=True, lengths=PAST_BLOCKS),
    *_both("BigBird", _bigbird),
    *_both("additive", _additive, permutes=True, prefixes=True, rounding=_additive_rounding),
    *_both("random synthesizer", _random),
    *_both("factorised synthesizer", _factorised),
    *_both("dense synthesizer", _dense),
    *_both("positive features", _positive, permutes=True, prefixes=True, rounding=_feature_rounding),
    *_both(
        "linear attention", _linear, permutes=True, prefixes=True, rounding=_feature_rounding, lengths=PAST_BLOCKS
    ),
    *_both("trigonometric features", _trigonometric, permutes=None, sums_to_one=None, in_hull=False),
    _free("Linformer", _linformer, permutes=False, **UNBOUND),
    _causal("Linformer, used causally", _linformer, causal=False, **UNBOUND),
    _causal("zero-after-softmax mixer", _zero_after, causal=False, prefixes=False, **UNBOUND),
    Subject(
        name="fast weights, causal",
        build=lambda case: _fast_weights(case, Rule.SUM, 3),
        causal=True,
        prefixes=True,
        lengths=PAST_BLOCKS,
        rounding=_fast_weight_rounding,
        sums_to_one=None,
        in_hull=None,
    ),
    *(
        Subject(
            name=f"{name}, causal",
            build=functools.partial(_fast_weights, rule=Rule.DELTA, chunk=chunk),
            causal=True,
            prefixes=True,
            lengths=(17,) if chunk else (),
            rounding=_fast_weight_rounding,
            sums_to_one=None,
            in_hull=None,
        )
        for name, chunk in (("delta rule", None), ("delta rule in chunks", 3))
    ),
    # Equal scores are ranked by position, and rounding may part them in a longer sequence.
    _causal("top-k, causal", _top_k, causal=True),
    # Its values are made of latent rows: with equal values of a case they are not equal.
    *_both("latent attention", _latent, permutes=True, sums_to_one=None, in_hull=None, rounding=_latent_rounding),
    Subject(
        name="forget gates, causal",
        build=_forgetting,
        causal=True,
        prefixes=True,
        rounding=_forgetting_rounding,
    ),
    *(layer.subject for layer in LAYERS),
)
"""Every mixer, and what it keeps. Explicit: no discovery."""
