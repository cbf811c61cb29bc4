"""No output moves with what comes after it. Some mixers break that, and are shown."""

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from attnlab_theory.attention import blocked_attention, causal_mask, zero_after_softmax
from attnlab_theory.attention.caching import cached_attention
from attnlab_theory.identities import cases
from attnlab_theory.identities.cases import Tokens
from attnlab_theory.identities.identity import Identity
from attnlab_theory.identities.leaks import EDGES, leaks
from attnlab_theory.identities.operators import (
    DECODED,
    SCHEMES,
    decoded,
    decoded_case,
    full_pass,
    heads_pass,
    queries_keys_values,
    with_tokens,
)

Mix = Callable[[Tokens], Array]


def causal(
    subject: str,
    mix: Mix,
    *,
    broken: bool = False,
    lengths: tuple[int, ...] = (),
    longer: Callable[[Tokens, int], Tokens] = with_tokens,
) -> Identity[Tokens]:
    """Replacing later tokens changes no earlier output, bit for bit.

    Args:
        subject: what is tried.
        mix: of a case to its outputs.
        broken: whether it must leak.
        lengths: at which it is tried too, with the tokens replaced that follow on an edge of a block.
        longer: from a case and a length to the case with so many tokens.
    """
    mixed = jax.jit(lambda case, x: mix(dataclasses.replace(case, x=x)))

    def moved(case: Tokens, cuts: tuple[int, ...] | None) -> float:
        return leaks(lambda x: mixed(case, x), np.asarray(case.x), cuts=cuts).worst[1]

    def residual(case: Tokens) -> float:
        beyond = (moved(longer(case, n), tuple(cut for cut in EDGES if cut < n)) for n in lengths)
        return max(moved(case, None), *beyond, 0.0)

    return Identity(
        family="causal",
        subject=subject,
        statement="No output changes by a single bit when later inputs are replaced, whatever by.",
        source="mathematics/identities.md#causality",
        cases=cases.tokens,
        residual=residual,
        tolerance=lambda case: 0.0,
        broken=broken,
        lengths=(cases.LENGTH, *lengths) if lengths else (),
    )


def detached_maximum(case: Tokens) -> Array:
    """Causal linear attention, stabilised by a maximum over all positions that no gradient passes through.

    In exact arithmetic the maximum would cancel in the quotient, were it not for the eps that is added. So earlier
    outputs move, though the derivative towards the future is zero.
    """
    scores = case.x @ case.w_k
    features = jnp.exp(scores - jax.lax.stop_gradient(jnp.max(scores)))
    return jnp.cumsum(features * (case.x @ case.w_v), axis=0) / (jnp.cumsum(features, axis=0) + 0.01)


def _zero_after(case: Tokens) -> Array:
    q, k, v = queries_keys_values(case, "none", range(case.x.shape[0]))
    return zero_after_softmax(q, k, v, causal_mask(case.x.shape[0]), scale=case.scale)


def _cached(case: Tokens) -> Array:
    return cached_attention(*queries_keys_values(case, "rotary", range(case.x.shape[0])), scale=case.scale)


def _blocked(case: Tokens, *, block: int) -> Array:
    q, k, v = queries_keys_values(case, "none", range(case.x.shape[0]))
    return blocked_attention(q, k, v, scale=case.scale, block=block, causal=True)


IDENTITIES = (
    *(causal(f"softmax, positions {s}", functools.partial(full_pass, scheme=s, causal=True)) for s in SCHEMES),
    *(
        causal(f"decoding, positions {s}", functools.partial(decoded, scheme=s), lengths=more, longer=decoded_case)
        for s, more in zip(SCHEMES, ((), (), (), (DECODED,)), strict=True)
    ),
    causal("cached", _cached, lengths=(DECODED,)),
    causal("blocked", functools.partial(_blocked, block=3), lengths=(DECODED,)),
    causal("heads", functools.partial(heads_pass, heads=2, causal=True)),
    causal("without a mask", functools.partial(full_pass, scheme="none", causal=False), broken=True),
    causal("zero-after-softmax", _zero_after, broken=True),
    causal("detached maximum", detached_maximum, broken=True),
)
