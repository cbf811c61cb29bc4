"""Bugs in shared and fused projections, and in keys that are made of shared rows."""

import dataclasses

import jax.numpy as jnp

from attnlab_theory.attention import attention_scores, attention_weights, latent_attention
from attnlab_theory.attention.mixers import HeadMixer
from attnlab_theory.identities import dense, shared_projection
from attnlab_theory.identities.zoo import SUBJECTS, latent_case
from attnlab_theory.museum import exhibit
from attnlab_theory.museum.bug import Bug

SHARED = "shared Q = K"


def _scores(title, wrong) -> exhibit.Exhibit:
    keys = exhibit.normal(21, 6, 4)
    return exhibit.Exhibit(
        title=title,
        rows="query",
        columns="key",
        right=attention_scores(keys, keys, scale=1.0),
        wrong=wrong(keys, keys, scale=1.0),
    )


def only_keys_normalised(q, k, *, scale):
    return attention_scores(q, k / jnp.linalg.norm(k, axis=1, keepdims=True).clip(1e-6), scale=scale)


ONE_SIDE = Bug(
    name="one-side-normalised",
    story="Queries and keys share a projection, and only one side goes through the normalisation. The scores are "
    "no Gram matrix any more; a long token cannot attract.",
    where="https://github.com/pmixer/SASRec.pytorch/issues/33; Reformer does it on purpose, "
    "https://arxiv.org/abs/2001.04451",
    code=(only_keys_normalised,),
    checks=(
        shared_projection.positive_semidefinite(SHARED, only_keys_normalised),
        shared_projection.possible_chain(SHARED, only_keys_normalised),
        shared_projection.no_three_cycle(SHARED, only_keys_normalised),
    ),
    exhibit=lambda: _scores("Scores of six tokens with a shared projection", only_keys_normalised),
)


def columns_in_another_order(q, k, *, scale):
    return attention_scores(q, jnp.roll(k, 1, axis=1), scale=scale)


FUSED = Bug(
    name="fused-projection-misread",
    story="A fused matrix of queries, keys and values is cut in another order than it was stored in: shapes fit, "
    "and columns of queries meet the wrong columns of keys.",
    where="https://github.com/vllm-project/vllm/issues/42803",
    code=(columns_in_another_order,),
    checks=(
        shared_projection.positive_semidefinite(SHARED, columns_in_another_order),
        shared_projection.no_three_cycle(SHARED, columns_in_another_order),
        shared_projection.possible_chain(SHARED, columns_in_another_order),
    ),
    exhibit=lambda: _scores("Scores of six tokens with a shared projection", columns_in_another_order),
)


LATENT = next(subject for subject in SUBJECTS if subject.name == "latent attention")


def scale_of_the_latent_width(q, latents, to_keys, to_values, mask=None):
    scale = latents.shape[1] ** -0.5
    return latent_attention(q, latents, to_keys, to_values, mask, scale=scale, absorbed=True)


def _by_latent_width(case):
    def mix(x, mask):
        return jnp.concatenate(list(scale_of_the_latent_width(*latent_case(case, x))), axis=1)

    return HeadMixer(name=LATENT.name, mix=mix, causal=False)


WIDTH = Bug(
    name="scale-of-the-latent-width",
    story="An engine that keeps latent rows takes their width for the width of a head. Absorbed queries are as "
    "wide as a latent row, so nothing fails, but the scores are divided by the root of another number than in "
    "training.",
    where="https://github.com/vllm-project/vllm/pull/48658; a like one in training, "
    "https://github.com/NVIDIA/Megatron-LM/issues/1501",
    code=(scale_of_the_latent_width,),
    checks=(dense.equals_definition(dataclasses.replace(LATENT, build=_by_latent_width), dense.latent, False),),
    exhibit=lambda: _of_one_head(),
)


def _of_one_head() -> exhibit.Exhibit:
    """A head of width 2 above latent rows of width 8."""
    q, latents, to_keys = exhibit.normal(22, 6, 2), exhibit.normal(23, 6, 8), exhibit.normal(24, 2, 8)
    right, wrong = (attention_weights(q @ to_keys, latents, scale=width**-0.5) for width in (2, 8))
    return exhibit.Exhibit(
        title="Weights of a head of width 2 over six latent rows of width 8",
        rows="query",
        columns="key",
        right=right,
        wrong=wrong,
    )


BUGS = (ONE_SIDE, FUSED, WIDTH)
