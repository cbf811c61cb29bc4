"""Several heads: each is attention by itself, equal heads are one, and their order is that of the columns."""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array

from attnlab_theory.attention import (
    attention,
    averaged_heads,
    causal_mask,
    grouped_query_attention,
    multi_head_attention,
    split_heads,
)
from attnlab_theory.attention.heads import GroupOrder
from attnlab_theory.identities import cases
from attnlab_theory.identities.cases import Attending, Tokens
from attnlab_theory.identities.identity import Identity
from attnlab_theory.identities.operators import (
    AVERAGED,
    SOFTMAX,
    heads_pass,
    queries_keys_values,
    self_attention_rounding,
)
from attnlab_theory.identities.rounding import gap

Pass = Callable[..., Array]
"""A function of (tokens and projections, heads=, causal=) to the heads' outputs, side by side."""


def side_by_side(heads: int, mix: Pass = heads_pass) -> Identity[Tokens]:
    """Heads together give what attention over the columns of each gives."""

    def in_turn(case: Tokens) -> Array:
        n = case.x.shape[0]
        parts = (jnp.split(x, heads, axis=1) for x in queries_keys_values(case, "none", range(n)))
        alone = [attention(q, k, v, causal_mask(n), scale=case.scale) for q, k, v in zip(*parts, strict=True)]
        return jnp.concatenate(alone, axis=1)

    together, one_by_one = jax.jit(lambda case: mix(case, heads=heads, causal=True)), jax.jit(in_turn)
    return Identity(
        family="heads-are-attention",
        subject=f"{heads} heads",
        statement="Multi-head attention is the attention of each head on its own columns, side by side.",
        source="mathematics/identities.md#several-heads; Vaswani et al. 2017, section 3.2.2",
        cases=cases.tokens,
        residual=lambda case: gap(together(case), one_by_one(case)),
        # A head's scores sum fewer products than those that the rounding is derived for.
        tolerance=lambda case: 2 * self_attention_rounding(case),
    )


def mean_of_heads(mix: Callable[..., Array] = averaged_heads) -> Identity[Attending]:
    """Averaged heads give the mean of as many single attentions."""
    averaged = jax.jit(lambda case: mix(case.q, case.k, case.v, scale=case.scale))

    def by_hand(case: Attending) -> Array:
        alone = [attention(q[None, :], case.k, case.v, scale=case.scale)[0] for q in case.q]
        return jnp.mean(jnp.stack(alone), axis=0)

    one_by_one = jax.jit(by_hand)
    return Identity(
        family="heads-are-attention",
        subject=AVERAGED.name,
        statement="Averaged heads give the mean of the outputs that each query gets alone.",
        source="mathematics/identities.md#several-heads; cs224n/1d.i",
        cases=cases.attending,
        residual=lambda case: gap(averaged(case), one_by_one(case)),
        tolerance=lambda case: 2 * AVERAGED.rounding(case),
    )


ALIKE = 3
"""Heads that are one and the same."""


def identical(mix: Callable[..., Array] = multi_head_attention) -> Identity[Attending]:
    """The same head several times, side by side."""

    def copies(case: Attending) -> Array:
        q, k, v = (jnp.stack([x] * ALIKE) for x in (case.q, case.k, case.v))
        return mix(q, k, v, case.mask, scale=case.scale)

    def once(case: Attending) -> Array:
        return jnp.stack([attention(case.q, case.k, case.v, case.mask, scale=case.scale)] * ALIKE)

    several, one = jax.jit(copies), jax.jit(once)
    return Identity(
        family="identical-heads",
        subject="side by side",
        statement="Heads that are all alike give copies of the output of one.",
        source="mathematics/identities.md#several-heads; cs224n/1d.i",
        cases=cases.attending,
        residual=lambda case: gap(several(case), one(case)),
        tolerance=lambda case: 2 * SOFTMAX.rounding(case),
    )


def identical_on_average(mix: Callable[..., Array] = averaged_heads) -> Identity[Attending]:
    """The same query several times, averaged."""

    def copies(case: Attending) -> Array:
        return jnp.stack([mix(jnp.stack([q] * ALIKE), case.k, case.v, scale=case.scale) for q in case.q])

    several, one = jax.jit(copies), jax.jit(lambda case: attention(case.q, case.k, case.v, scale=case.scale))
    return Identity(
        family="identical-heads",
        subject=AVERAGED.name,
        statement="Averaging heads that are all alike changes nothing.",
        source="mathematics/identities.md#several-heads; cs224n/1d.i",
        cases=cases.attending,
        residual=lambda case: gap(several(case), one(case)),
        tolerance=lambda case: 2 * AVERAGED.rounding(case),
    )


def permuted(mix: Pass = heads_pass) -> Identity[Tokens]:
    """Four heads of one column each, in another order."""

    def reordered(case: Tokens) -> Tokens:
        w_q, w_k, w_v = (w[:, case.order] for w in (case.w_q, case.w_k, case.w_v))
        return dataclasses.replace(case, w_q=w_q, w_k=w_k, w_v=w_v)

    compiled = jax.jit(lambda case: mix(case, heads=cases.WIDTH, causal=True))
    return Identity(
        family="permuted-heads",
        subject="side by side",
        statement="Permuting the heads permutes the blocks of columns of the output in the same way.",
        source="mathematics/identities.md#several-heads; Vaswani et al. 2017, section 3.2.2",
        cases=cases.tokens,
        residual=lambda case: gap(compiled(reordered(case)), compiled(case)[:, case.order]),
        tolerance=lambda case: 2 * self_attention_rounding(case),
    )


def permuted_on_average(mix: Callable[..., Array] = averaged_heads) -> Identity[Attending]:
    """Averaged heads, in another order."""
    compiled = jax.jit(lambda case: mix(case.q, case.k, case.v, scale=case.scale))
    return Identity(
        family="permuted-heads",
        subject=AVERAGED.name,
        statement="Averaged heads may be permuted.",
        source="mathematics/identities.md#several-heads; cs224n/1d.i",
        cases=cases.attending,
        residual=lambda case: gap(compiled(dataclasses.replace(case, q=case.q[case.order])), compiled(case)),
        tolerance=lambda case: 2 * AVERAGED.rounding(case),
    )


SHARED_BY: dict[GroupOrder, tuple[int, ...]] = {"consecutive": (0, 0, 1, 1), "strided": (0, 1, 0, 1)}
"""Whose keys each of four heads looks at, of two groups."""


def grouped(order: GroupOrder, mix: Callable[..., Array] = grouped_query_attention) -> Identity[Attending]:
    """Shared keys and values, against as many copies of them as there are heads."""

    def parts(case: Attending) -> tuple[Array, Array, Array]:
        return split_heads(case.q, 4), split_heads(case.k[:, :2], 2), split_heads(case.v[:, :2], 2)

    def repeated(case: Attending) -> Array:
        q, k, v = parts(case)
        of = jnp.asarray(SHARED_BY[order])
        return multi_head_attention(q, k[of], v[of], case.mask, scale=case.scale)

    shared = jax.jit(lambda case: mix(*parts(case), case.mask, scale=case.scale, order=order))
    copied = jax.jit(repeated)
    return Identity(
        family="groups-are-copies",
        subject=f"2 groups, {order}",
        statement="Heads of queries that share keys and values see what copies of those would show them.",
        source="mathematics/identities.md#several-heads; Ainslie et al. 2023, section 2.2",
        cases=cases.attending,
        residual=lambda case: gap(shared(case), copied(case)),
        tolerance=lambda case: 2 * SOFTMAX.rounding(case),
    )


IDENTITIES = (
    grouped("consecutive"),
    grouped("strided"),
    side_by_side(2),
    side_by_side(4),
    mean_of_heads(),
    identical(),
    identical_on_average(),
    permuted(),
    permuted_on_average(),
)
