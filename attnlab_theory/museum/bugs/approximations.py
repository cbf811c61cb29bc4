"""Bugs in approximate attention."""

import dataclasses

import jax.numpy as jnp

from attnlab_theory.attention import attention, bigbird_attention
from attnlab_theory.attention.mixers import HeadMixer, softmax_mixer
from attnlab_theory.identities import causality, dense, mixers
from attnlab_theory.identities.operators import queries_keys_values
from attnlab_theory.identities.zoo import SUBJECTS, projections
from attnlab_theory.museum import exhibit
from attnlab_theory.museum.bug import Bug
from attnlab_theory.museum.planting import masked

SUBJECT = {subject.name: subject for subject in SUBJECTS}


def linformer_under_a_mask(case):
    n, m = case.x.shape[0], 2
    q, k, v = queries_keys_values(case, "none", range(n))
    e = jnp.cos(1.0 + jnp.arange(m * n, dtype=k.dtype)).reshape(m, n)
    visible = jnp.arange(m)[None, :] <= jnp.arange(n)[:, None]
    return attention(q, e @ k, e @ v, visible, scale=case.scale)


LINFORMER = Bug(
    name="linformer-used-causally",
    story="Linformer mixes the positions before the softmax sees them. A triangular mask over the mixtures hides "
    "nothing: each of them holds the whole future.",
    where="https://github.com/tatp22/linformer-pytorch/issues/16; https://github.com/lucidrains/linformer/issues/4",
    code=(linformer_under_a_mask,),
    checks=(
        causality.causal("Linformer under a mask", linformer_under_a_mask),
        mixers.past_only(SUBJECT["Linformer, used causally"]),
    ),
    exhibit=lambda: exhibit.moved(masked, linformer_under_a_mask),
)


class NeverSwitchesBack:
    def __init__(self, full, sparse):
        self.full, self.sparse, self.too_short = full, sparse, False

    def __call__(self, x):
        if len(x) < 3:
            self.too_short = True
        return self.full(x) if self.too_short else self.sparse(x)


def _after_a_short_input(case):
    sparse = SUBJECT["BigBird"].build(case)
    model = NeverSwitchesBack(softmax_mixer(projections(case), scale=case.scale), sparse)
    model(case.x[:2])
    return HeadMixer(name=sparse.name, mix=lambda x, mask: model(x), causal=False)


STICKY = Bug(
    name="bigbird-never-switches-back",
    story="Inputs too short for the sparse pattern switch the model to full attention, and nothing switches it "
    "back: what a long input gets depends on who came before.",
    where="https://github.com/huggingface/transformers/issues/20031",
    code=(NeverSwitchesBack,),
    checks=(
        dense.equals_definition(
            dataclasses.replace(SUBJECT["BigBird"], build=_after_a_short_input), dense.bigbird, False
        ),
        mixers.rows_sum_to_one(dataclasses.replace(SUBJECT["BigBird"], build=_after_a_short_input)),
    ),
    exhibit=lambda: _twenty(),
)


def _twenty() -> exhibit.Exhibit:
    links = jnp.array([[-1], [4], [6], [8], [7], [9], [3], [2], [5], [4]])

    def sparse(x):
        return bigbird_attention(x, x, jnp.eye(20), links, scale=0.25, block=2, window=3, global_blocks=1)

    model = NeverSwitchesBack(lambda x: attention(x, x, jnp.eye(len(x)), scale=0.25), sparse)
    x = exhibit.normal(1, 20, 4)
    before = model(x)
    model(x[:2])
    return exhibit.Exhibit(
        title="Weights of twenty tokens over each other, before and after an input of two",
        rows="query",
        columns="key",
        right=before,
        wrong=model(x),
    )


BUGS = (LINFORMER, STICKY)
