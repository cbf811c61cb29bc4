"""Bugs in shared and fused projections."""

import jax.numpy as jnp

from attnlab_theory.attention import attention_scores
from attnlab_theory.identities import shared_projection
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

BUGS = (ONE_SIDE, FUSED)
