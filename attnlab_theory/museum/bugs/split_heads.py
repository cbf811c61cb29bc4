"""Bugs in the axis of heads."""

import dataclasses
import functools

import jax
import jax.numpy as jnp

from attnlab_theory.attention import (
    attention,
    averaged_heads,
    causal_mask,
    grouped_query_attention,
    merge_heads,
    multi_head_attention,
)
from attnlab_theory.identities import agreement, causality, mixers, several_heads, symmetry
from attnlab_theory.identities.operators import OPERATORS, heads_pass, queries_keys_values
from attnlab_theory.identities.zoo import SUBJECTS
from attnlab_theory.museum import exhibit
from attnlab_theory.museum.bug import FOLKLORE, Bug
from attnlab_theory.museum.planting import masked, planted_in_mixer, without_positions


def maps_all_but_the_queries(mix):
    mapped = jax.vmap(mix, in_axes=(None, 0, 0))
    return lambda q, k, v: mapped(q[0], k, v)


UNMAPPED = Bug(
    name="queries-not-mapped",
    story="Under vmap one argument is broadcast where it should be mapped: every member of the batch gets the "
    "queries of the first.",
    where="https://github.com/pytorch/pytorch/issues/151558",
    code=(maps_all_but_the_queries,),
    checks=tuple(agreement.vectorised(op, maps_all_but_the_queries) for op in OPERATORS),
    exhibit=lambda: exhibit.weights(_second(jax.vmap), _second(maps_all_but_the_queries)),
)


def _second(together):
    """The second member of a batch of two, of which the first has queries and keys exchanged."""

    def mix(q, k, v, mask=None, *, scale):
        attend = together(lambda q, k, v: attention(q, k, v, mask, scale=scale))
        return attend(jnp.stack((k, q)), jnp.stack((q, k)), jnp.stack((v, v)))[1]

    return mix


def cuts_heads_with_a_reshape(case, *, heads, causal):
    n = case.x.shape[0]
    q, k, v = (x.reshape(heads, n, -1) for x in queries_keys_values(case, "none", range(n)))
    return merge_heads(multi_head_attention(q, k, v, causal_mask(n) if causal else None, scale=case.scale))


def reshaped_for_transposed(mix):
    def wrong(case):
        t, d = case.x.shape
        return mix(dataclasses.replace(case, x=case.x.reshape(d, t).T))

    return wrong


def reshaped_before_mixing(mix):
    def wrong(x, mask):
        return mix(x.reshape(x.shape[1], x.shape[0]).T, mask)

    return wrong


RESHAPED = Bug(
    name="reshape-for-transpose",
    story="Heads are cut with a reshape where a transpose was due. Shapes fit; every head is fed with pieces of "
    "several tokens, and the past with the future.",
    where="https://github.com/reczoo/FuxiCTR/issues/30",
    code=(cuts_heads_with_a_reshape, reshaped_for_transposed),
    checks=(
        several_heads.side_by_side(2, cuts_heads_with_a_reshape),
        several_heads.side_by_side(4, cuts_heads_with_a_reshape),
        several_heads.permuted(cuts_heads_with_a_reshape),
        causality.causal("heads", functools.partial(cuts_heads_with_a_reshape, heads=2, causal=True)),
        symmetry.permuted_tokens(
            "heads, no positions, no mask", functools.partial(cuts_heads_with_a_reshape, heads=2, causal=False)
        ),
        symmetry.permuted_tokens("no positions, no mask", reshaped_for_transposed(without_positions)),
        symmetry.permuted_tokens(
            "learned positions, still zero", reshaped_for_transposed(symmetry.learned_at_zero)
        ),
        *(mixers.permuted_rows(planted_in_mixer(reshaped_before_mixing, s)) for s in SUBJECTS if s.permutes),
    ),
    exhibit=lambda: exhibit.moved(
        functools.partial(heads_pass, heads=2, causal=True),
        functools.partial(cuts_heads_with_a_reshape, heads=2, causal=True),
    ),
)


def masks_all_heads_but_one(q, k, v, mask, *, scale):
    outputs = multi_head_attention(q, k, v, mask, scale=scale)
    return outputs.at[0].set(attention(q[0], k[0], v[0], scale=scale))


def _heads_pass(case, *, heads, causal):
    n = case.x.shape[0]
    q, k, v = (jnp.stack(jnp.split(x, heads, axis=1)) for x in queries_keys_values(case, "none", range(n)))
    return merge_heads(masks_all_heads_but_one(q, k, v, causal_mask(n), scale=case.scale))


MASK_BY_HEAD = Bug(
    name="mask-for-the-wrong-heads",
    story="The mask is repeated along another axis than the heads, or in another order: some heads get none.",
    where="https://github.com/lsdefine/attention-is-all-you-need-keras/issues/36; "
    "https://github.com/ml-explore/mlx-lm/pull/1903",
    code=(masks_all_heads_but_one,),
    checks=(
        several_heads.identical(masks_all_heads_but_one),
        causality.causal("heads", functools.partial(_heads_pass, heads=2, causal=True)),
        several_heads.side_by_side(2, _heads_pass),
    ),
    exhibit=lambda: exhibit.moved(masked, functools.partial(_heads_pass, heads=2, causal=True)),
)


def heads_are_summed(q, k, v, *, scale):
    return len(q) * averaged_heads(q, k, v, scale=scale)


SUMMED = Bug(
    name="heads-summed",
    story="Heads are added up where their mean was meant. A following normalisation hides it.",
    where=FOLKLORE,
    code=(heads_are_summed,),
    checks=(
        several_heads.identical_on_average(heads_are_summed),
        several_heads.mean_of_heads(heads_are_summed),
        several_heads.permuted_on_average(heads_are_summed),
    ),
    exhibit=lambda: _averages(heads_are_summed),
)


def padding_counts_as_a_head(q, k, v, *, scale):
    return averaged_heads(jnp.concatenate([q, q[-1:]]), k, v, scale=scale)


PADDED = Bug(
    name="padding-counts-as-a-head",
    story="The heads are padded to a number that hardware likes, with a copy of the last, and the mean is taken "
    "over all. Where heads are alike nothing shows.",
    where=FOLKLORE,
    code=(padding_counts_as_a_head,),
    checks=(
        several_heads.permuted_on_average(padding_counts_as_a_head),
        several_heads.mean_of_heads(padding_counts_as_a_head),
        several_heads.identical_on_average(padding_counts_as_a_head),
    ),
    exhibit=lambda: _averages(padding_counts_as_a_head),
)


def _averages(wrong) -> exhibit.Exhibit:
    q, k = exhibit.normal(31, 4, 4), exhibit.normal(32, 6, 4)

    def weights(mix):
        # Of one more head each time: rows show what every head adds.
        return jnp.stack([mix(q[:heads], k, jnp.eye(6), scale=1.0) for heads in (1, 2, 3, 4)])

    return exhibit.Exhibit(
        title="Mean weights over six keys, of the first 1, 2, 3, 4 heads",
        rows="heads - 1",
        columns="key",
        right=weights(averaged_heads),
        wrong=weights(wrong),
    )


def groups_in_the_other_order(q, k, v, mask=None, *, scale, order="consecutive"):
    other = "strided" if order == "consecutive" else "consecutive"
    return grouped_query_attention(q, k, v, mask, scale=scale, order=other)


def _of_groups(mix):
    q, k = exhibit.normal(34, 4, 1, 4), exhibit.normal(35, 2, 6, 4)
    return mix(q, k, jnp.broadcast_to(jnp.eye(6), (2, 6, 6)), scale=1.0).reshape(4, 6)


GROUPS = Bug(
    name="groups-in-another-order",
    story="Heads of queries share keys. Some code gives neighbouring heads the same keys, other code deals them "
    "out in turn. Weights of one read by the other run, and every shape fits.",
    where=FOLKLORE,
    code=(groups_in_the_other_order,),
    checks=tuple(several_heads.grouped(order, groups_in_the_other_order) for order in several_heads.SHARED_BY),
    exhibit=lambda: exhibit.Exhibit(
        title="Weights of four heads, of one query, over six keys of two groups",
        rows="head",
        columns="key",
        right=_of_groups(grouped_query_attention),
        wrong=_of_groups(groups_in_the_other_order),
    ),
)

BUGS = (UNMAPPED, RESHAPED, MASK_BY_HEAD, SUMMED, PADDED, GROUPS)
