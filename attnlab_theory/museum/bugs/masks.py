"""Bugs in masks, and other ways to see the future."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

from attnlab_theory.attention import (
    attention,
    attention_scores,
    blocked_attention,
    causal_mask,
    top_k_mask,
    zero_after_softmax,
)
from attnlab_theory.attention.caching import cached_attention
from attnlab_theory.identities import agreement, causality, mixers, rows
from attnlab_theory.identities.agreement import by_chunks
from attnlab_theory.identities.causality import detached_maximum
from attnlab_theory.identities.derivatives import hidden_score_slope
from attnlab_theory.identities.operators import (
    CAPPED,
    GROUPED,
    HEADS,
    SCHEMES,
    SOFTMAX,
    ZERO_AFTER_SOFTMAX,
    decoded,
    full_pass,
    queries_keys_values,
)
from attnlab_theory.identities.zoo import SUBJECTS
from attnlab_theory.museum import exhibit
from attnlab_theory.museum.bug import FOLKLORE, Bug
from attnlab_theory.museum.planting import masked, planted, planted_in_mixer


def masked_after(case):
    q, k, v = queries_keys_values(case, "none", range(case.x.shape[0]))
    return zero_after_softmax(q, k, v, causal_mask(case.x.shape[0]), scale=case.scale)


ZERO_AFTER = Bug(
    name="zero-after-softmax",
    story="The mask sets weights to zero after the softmax instead of scores to minus infinity before it. The "
    "normaliser has seen the future, and rows sum to less than one.",
    where="https://github.com/huggingface/pytorch-image-models/pull/2236",
    code=(zero_after_softmax,),
    checks=(
        rows.probabilities(ZERO_AFTER_SOFTMAX),
        rows.in_hull(ZERO_AFTER_SOFTMAX),
        rows.hidden_is_absent(ZERO_AFTER_SOFTMAX),
        causality.causal("zero-after-softmax", masked_after),
    ),
    exhibit=lambda: exhibit.weights(attention, zero_after_softmax),
)


def means_the_opposite(mix):
    def wrong(q, k, v, mask=None, *, scale):
        flipped = None if mask is None else ~mask | jnp.eye(*mask.shape, dtype=bool)
        return mix(q, k, v, flipped, scale=scale)

    return wrong


INVERTED = Bug(
    name="mask-inverted",
    story="True means 'may look' to one library and 'hide' to the other: queries see exactly what they must not.",
    where="https://github.com/lucidrains/x-transformers/issues/160",
    code=(means_the_opposite,),
    checks=(
        rows.hidden_is_absent(planted(means_the_opposite, SOFTMAX)),
        rows.in_hull(planted(means_the_opposite, SOFTMAX)),
        hidden_score_slope(planted(means_the_opposite, ZERO_AFTER_SOFTMAX)),
    ),
    exhibit=lambda: exhibit.weights(attention, means_the_opposite(attention)),
)


def sees_one_ahead(case, scheme):
    n = case.x.shape[0]
    q, k, v = queries_keys_values(case, scheme, range(n))
    return attention(q, k, v, jnp.tril(jnp.ones((n, n), bool), 1), scale=case.scale)


OFF_BY_ONE = Bug(
    name="mask-off-by-one",
    story="The triangle of the causal mask starts one diagonal too far: every position sees the one after it, "
    "which is what it has to predict.",
    where="https://github.com/RVC-Boss/GPT-SoVITS/issues/965",
    code=(sees_one_ahead,),
    checks=tuple(
        causality.causal(f"softmax, positions {s}", functools.partial(sees_one_ahead, scheme=s)) for s in SCHEMES
    ),
    exhibit=lambda: exhibit.moved(masked, functools.partial(sees_one_ahead, scheme="none")),
)


def upper_left(queries, keys):
    return jnp.tril(jnp.ones((queries, keys), bool))


UPPER_LEFT = Bug(
    name="mask-of-the-upper-left",
    story="The second chunk of a prompt has fewer queries than keys, and its causal triangle is cut from the upper "
    "left corner. The first new token sees key 0 alone, though it stands after all that the cache holds.",
    where="https://github.com/Dao-AILab/flash-attention/issues/282",
    code=(upper_left,),
    checks=(agreement.chunked(upper_left),),
    exhibit=lambda: exhibit.weights(by_chunks(causal_mask), by_chunks(upper_left)),
)


def hides_with_a_number(q, k, v, mask=None, *, scale):
    scores = scale * q @ k.T
    if mask is not None:
        scores = scores + jnp.where(mask, 0.0, -1e4).astype(q.dtype)
    return jax.nn.softmax(scores, axis=1) @ v


def hides_the_future_with_a_number(case):
    n = case.x.shape[0]
    q, k, v = queries_keys_values(case, "none", range(n))
    return hides_with_a_number(q, k, v, causal_mask(n), scale=case.scale)


FINITE = Bug(
    name="mask-of-ten-thousand",
    story="Hidden scores are lowered by 10,000 instead of to minus infinity. Ordinary inputs never show it; a "
    "large score still wins.",
    where="https://github.com/huggingface/transformers/issues/10484",
    code=(hides_with_a_number,),
    checks=(
        causality.causal("softmax, positions none", hides_the_future_with_a_number),
        rows.hidden_is_absent(dataclasses.replace(SOFTMAX, mix=hides_with_a_number)),
    ),
    exhibit=lambda: exhibit.moved(masked, hides_the_future_with_a_number),
)


def mask_gets_lost(case):
    q, k, v = queries_keys_values(case, "none", range(case.x.shape[0]))
    return attention(q, k, v, scale=case.scale)


def causal_gets_lost(case):
    q, k, v = queries_keys_values(case, "none", range(case.x.shape[0]))
    return blocked_attention(q, k, v, scale=case.scale, block=3, causal=False)


SKIPPED = Bug(
    name="causal-mask-skipped",
    story="A branch applies the causal mask only if another mask was passed. Losses become wonderful.",
    where="https://github.com/facebookresearch/xformers/issues/103",
    code=(mask_gets_lost, causal_gets_lost),
    checks=(
        causality.causal("without a mask", mask_gets_lost),
        causality.causal("blocked", causal_gets_lost),
    ),
    exhibit=lambda: exhibit.moved(masked, mask_gets_lost),
)


def centred_over_time(mix):
    def wrong(case):
        return mix(dataclasses.replace(case, x=case.x - case.x.mean(axis=0, keepdims=True)))

    return wrong


def centred_before_mixing(mix):
    def wrong(x, mask):
        return mix(x - x.mean(axis=0, keepdims=True), mask)

    return wrong


def _cached(case):
    return cached_attention(*queries_keys_values(case, "rotary", range(case.x.shape[0])), scale=case.scale)


CENTRED = Bug(
    name="normalised-over-time",
    story="A normalisation takes its mean over the whole sequence. Every later layer is causal, and the "
    "model is not.",
    where="https://github.com/espnet/espnet/issues/5900",
    code=(centred_over_time,),
    checks=(
        *(
            causality.causal(f"decoding, positions {s}", centred_over_time(functools.partial(decoded, scheme=s)))
            for s in SCHEMES
        ),
        *(
            causality.causal(
                f"softmax, positions {s}", centred_over_time(functools.partial(full_pass, scheme=s, causal=True))
            )
            for s in SCHEMES[:1]
        ),
        causality.causal("cached", centred_over_time(_cached)),
        *(mixers.past_only(planted_in_mixer(centred_before_mixing, s)) for s in SUBJECTS if s.causal),
        *(mixers.prefix_is_within(planted_in_mixer(centred_before_mixing, s)) for s in SUBJECTS if s.prefixes),
    ),
    exhibit=lambda: exhibit.moved(masked, centred_over_time(masked)),
)


def maximum_of_its_own(case):
    scores = case.x @ case.w_k
    features = jnp.exp(scores - jax.lax.cummax(scores, axis=0).max(axis=1, keepdims=True))
    return jnp.cumsum(features * (case.x @ case.w_v), axis=0) / (jnp.cumsum(features, axis=0) + 0.01)


FUTURE_MAXIMUM = Bug(
    name="maximum-over-future-positions",
    story="Causal linear attention divides by a maximum over all positions, for stability. In exact arithmetic it "
    "would cancel, but an eps stands beside it; its gradient is stopped, so that no Jacobian shows the leak.",
    where="https://github.com/lucidrains/performer-pytorch/issues/82",
    code=(detached_maximum,),
    checks=(causality.causal("detached maximum", detached_maximum),),
    exhibit=lambda: exhibit.moved(maximum_of_its_own, detached_maximum),
)


def zero_times_whatever_is_hidden(mix):
    def wrong(q, k, v, mask=None, *, scale):
        return mix(q, k, v, mask, scale=scale) + 0.0 * v.sum()

    return wrong


def _poisoned(mix):
    keys = exhibit.normal(31, 6, 4)
    values = exhibit.normal(32, 6, 4).at[-1].set(jnp.nan)
    # Compiled: outside of a program, attention refuses NaN.
    outputs = jax.jit(functools.partial(mix, scale=0.5))(keys, keys, values, causal_mask(6))
    return np.nan_to_num(np.asarray(outputs))


HIDDEN_NAN = Bug(
    name="hidden-nan-spreads",
    story="A hidden key has weight zero, and zero times NaN is NaN: one NaN in the padding reaches every output.",
    where=FOLKLORE,
    code=(zero_times_whatever_is_hidden,),
    checks=tuple(
        rows.hidden_is_harmless(planted(zero_times_whatever_is_hidden, operator))
        for operator in (SOFTMAX, HEADS, GROUPED, CAPPED)
    ),
    exhibit=lambda: exhibit.Exhibit(
        title="Outputs of six causal tokens whose last value is NaN; NaN is drawn as 0",
        rows="token",
        columns="coordinate",
        right=_poisoned(attention),
        wrong=_poisoned(zero_times_whatever_is_hidden(attention)),
    ),
)


def bias_before_the_scale(q, k, v, mask=None, *, scale, bias):
    return attention(q, k, v, mask, scale=scale, bias=scale * bias)


def _biased(mix):
    keys, bias = exhibit.normal(33, 6, 4), 4.0 * jnp.eye(6)
    return mix(keys, keys, jnp.eye(6), scale=0.25, bias=bias)


SCALED_BIAS = Bug(
    name="bias-before-the-scale",
    story="A bias is added to the products before they are scaled. It works, and it counts for less.",
    where=FOLKLORE,
    code=(bias_before_the_scale,),
    checks=(rows.bias_as_keys(bias_before_the_scale),),
    exhibit=lambda: exhibit.Exhibit(
        title="Weights of six tokens with a bias of 4 for each token's own key",
        rows="query",
        columns="key",
        right=_biased(attention),
        wrong=_biased(bias_before_the_scale),
    ),
)


def chosen_before_the_mask(case):
    q, k, v = queries_keys_values(case, "none", range(case.x.shape[0]))
    past, scores = causal_mask(len(case.x)), attention_scores(q, k, scale=case.scale)
    itself = jnp.eye(len(case.x), dtype=bool)
    return attention(q, k, v, (top_k_mask(scores, 2) & past) | itself, scale=case.scale)


def _of_two(case):
    q, k, v = queries_keys_values(case, "none", range(case.x.shape[0]))
    past, scores = causal_mask(len(case.x)), attention_scores(q, k, scale=case.scale)
    return attention(q, k, v, top_k_mask(scores, 2, past), scale=case.scale)


CHOSEN_FIRST = Bug(
    name="top-k-before-the-mask",
    story="The k best keys are chosen among all, and the causal mask is applied to what was chosen. A later key "
    "with a large score takes a place, so that an earlier one is not read: the choice has seen the future.",
    where=FOLKLORE,
    code=(chosen_before_the_mask,),
    checks=(causality.causal("top-k, causal", chosen_before_the_mask),),
    exhibit=lambda: exhibit.moved(_of_two, chosen_before_the_mask),
)

BUGS = (
    CHOSEN_FIRST,
    ZERO_AFTER,
    INVERTED,
    OFF_BY_ONE,
    UPPER_LEFT,
    FINITE,
    SKIPPED,
    CENTRED,
    FUTURE_MAXIMUM,
    HIDDEN_NAN,
    SCALED_BIAS,
)
