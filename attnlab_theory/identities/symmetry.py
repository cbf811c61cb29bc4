"""Shifting keys and permuting the memory change nothing. Permuting tokens changes the order of outputs only."""

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array

from attnlab_theory.identities import cases
from attnlab_theory.identities.cases import Attending, Tokens
from attnlab_theory.identities.identity import Identity
from attnlab_theory.identities.operators import (
    BLOCKED,
    ROTARY,
    SCHEMES,
    SOFTMAX,
    ZERO_AFTER_SOFTMAX,
    Operator,
    full_pass,
    heads_pass,
    self_attention_rounding,
)
from attnlab_theory.identities.rounding import gap


def shifted_keys(operator: Operator, *, broken: bool = False) -> Identity[Attending]:
    """One vector added to every key adds one number to every score of a query."""

    def residual(case: Attending) -> float:
        shifted = operator.mix(case.q, case.k + case.shift[None, :], case.v, case.mask, scale=case.scale)
        return gap(shifted, operator.mix(case.q, case.k, case.v, case.mask, scale=case.scale))

    def tolerance(case: Attending) -> float:
        """Two attentions, the shifted keys at most |k| + |shift|, whose rounding moves scores by eps more."""
        wide = jnp.abs(case.k) + jnp.abs(case.shift)[None, :]
        return 3 * operator.rounding(dataclasses.replace(case, k=wide))

    return Identity(
        family="shifted-keys",
        subject=operator.name,
        statement=r"Adding one vector to every key changes nothing: softmax$(z + t 1)$ = softmax$(z)$.",
        source="mathematics/identities.md#shifting-all-keys-changes-nothing",
        cases=cases.attending,
        residual=residual,
        tolerance=tolerance,
        broken=broken,
    )


def permuted_memory(operator: Operator, *, broken: bool = False) -> Identity[Attending]:
    """Keys, values and the columns of the mask in another order give the same outputs."""

    def residual(case: Attending) -> float:
        permuted = operator.mix(
            case.q, case.k[case.order], case.v[case.order], case.mask[:, case.order], scale=case.scale
        )
        return gap(permuted, operator.mix(case.q, case.k, case.v, case.mask, scale=case.scale))

    return Identity(
        family="permuted-memory",
        subject=operator.name,
        statement="Permuting the (key, value) pairs leaves the output alone.",
        source="mathematics/identities.md#permuting-the-memory-or-the-tokens",
        cases=cases.attending,
        residual=residual,
        tolerance=lambda case: 2 * operator.rounding(case),
        broken=broken,
    )


def permuted_tokens(
    subject: str,
    mix: Callable[[Tokens], Array],
    *,
    broken: bool = False,
    rounding: Callable[[Tokens], float] = self_attention_rounding,
) -> Identity[Tokens]:
    """Self-attention of tokens in another order gives outputs in that order."""
    compiled = jax.jit(mix)

    def residual(case: Tokens) -> float:
        return gap(compiled(dataclasses.replace(case, x=case.x[case.order])), compiled(case)[case.order])

    return Identity(
        family="permuted-tokens",
        subject=subject,
        statement="Permuting the tokens permutes the outputs of self-attention in the same way.",
        source="mathematics/identities.md#permuting-the-memory-or-the-tokens; blog/permutation",
        cases=cases.tokens,
        residual=residual,
        tolerance=lambda case: 2 * rounding(case),
        broken=broken,
    )


def learned_at_zero(case: Tokens) -> Array:
    """Self-attention with learned positions before training, and no mask."""
    return full_pass(dataclasses.replace(case, table=jnp.zeros_like(case.table)), "learned", causal=False)


IDENTITIES = (
    shifted_keys(SOFTMAX),
    shifted_keys(BLOCKED),
    shifted_keys(ZERO_AFTER_SOFTMAX),
    shifted_keys(ROTARY, broken=True),
    permuted_memory(SOFTMAX),
    permuted_memory(BLOCKED),
    permuted_memory(ZERO_AFTER_SOFTMAX),
    permuted_memory(ROTARY, broken=True),
    permuted_tokens("no positions, no mask", functools.partial(full_pass, scheme="none", causal=False)),
    permuted_tokens("heads, no positions, no mask", functools.partial(heads_pass, heads=2, causal=False)),
    permuted_tokens("learned positions, still zero", learned_at_zero),
    permuted_tokens("causal mask", functools.partial(full_pass, scheme="none", causal=True), broken=True),
    *(
        permuted_tokens(f"{s} positions", functools.partial(full_pass, scheme=s, causal=False), broken=True)
        for s in SCHEMES[1:]
    ),
)
