"""Bugs in memories of fast weights."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from attnlab_theory.attention import Rule, fast_weight_attention
from attnlab_theory.attention.mixers import HeadMixer
from attnlab_theory.identities import dense
from attnlab_theory.identities.zoo import SUBJECTS, projections
from attnlab_theory.museum import exhibit
from attnlab_theory.museum.bug import Bug

SUBJECT = next(subject for subject in SUBJECTS if subject.name == "fast weights, causal")


def divided_decays(q, k, v, decay, beta):
    since = jnp.cumprod(decay)[:, None]
    weights = jnp.tril((q * since) @ (k / since).T)
    return weights @ (beta[:, None] * v)


def _planted(case):
    def mix(x, mask):
        q, k, v = projections(case).of(x)
        k = k / jnp.maximum(1, jnp.linalg.norm(k, axis=1, keepdims=True))
        return divided_decays(q, k, v, *jax.nn.sigmoid(x @ case.table[:2].T).T)

    return HeadMixer(name=SUBJECT.name, mix=mix, causal=True)


PLANTED = dataclasses.replace(SUBJECT, build=_planted)

DIVIDED = Bug(
    name="decays-are-divided",
    story="The parallel form of a memory with decays is written as one product of matrices: queries times all "
    "decays up to them, keys divided by all decays up to them. In exact arithmetic that is right. In float32 a "
    "quotient is infinite from so many positions on as the decays take to reach 1e-39: 843 at a decay of 0.9.",
    where="https://arxiv.org/abs/2312.06635, which warns of it and computes in chunks",
    code=(divided_decays,),
    checks=(dense.equals_definition(PLANTED, dense.fast_weights, True),),
    exhibit=lambda: _of_ones(),
)


def _of_ones() -> exhibit.Exhibit:
    """All numbers are one, but for the decay of 1/2: an output is a geometric sum, which is soon 2."""
    ones = jnp.ones((160, 1))
    half = jnp.full(160, 0.5)
    return exhibit.Exhibit(
        title="Outputs of a memory with a decay of 1/2, all queries, keys and values one",
        rows="output",
        columns="position",
        right=np.asarray(fast_weight_attention(ones, ones, ones, rule=Rule.SUM, decay=half))[:, 0],
        wrong=np.nan_to_num(
            np.asarray(divided_decays(ones, ones, ones, half, ones[:, 0]))[:, 0], posinf=0, neginf=0
        ),
        over=np.arange(160.0),
    )


BUGS = (DIVIDED,)
