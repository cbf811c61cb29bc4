"""Mixing layers of models broken in one place each."""

import dataclasses

import jax.numpy as jnp

from attnlab_theory.identities import layers, mixers
from attnlab_theory.language.models.mixers import Softmax, SoftmaxLayer
from attnlab_theory.language.models.mixing import Parts


class ScaledByTheWholeWidth(SoftmaxLayer):
    def scores(self, q, k, pairs):
        return super().scores(q, k, pairs) * self.shape.heads**-0.5


class HeadsMergedAsTheyLie(SoftmaxLayer):
    def merged(self, x):
        return self.out(x.reshape(x.shape[0], x.shape[2], -1))


class KeysAndValuesSwapped(SoftmaxLayer):
    def parts(self, x, at):
        q, k, v = super().parts(x, at)
        return Parts(q, v, k)


class SeesAllTokens(SoftmaxLayer):
    def mixed(self, parts, place, key):
        return super().mixed(parts, place._replace(mask=jnp.ones_like(place.mask)), key)


def of(kind):
    """The softmax layer's weights in another layer, under the softmax layer's name."""

    @dataclasses.dataclass(frozen=True)
    class Choice(Softmax):
        def layer(self, key, shape):
            return kind(key, shape, stacks=3)

    return dataclasses.replace(layers.LAYERS[0], choice=Choice())


LAYERS = (
    *(
        layers.computes_its_heads(layers.LAYERS[0], of(kind).subject)
        for kind in (ScaledByTheWholeWidth, HeadsMergedAsTheyLie, KeysAndValuesSwapped, SeesAllTokens)
    ),
    mixers.past_only(of(HeadsMergedAsTheyLie).subject),
    mixers.past_only(of(SeesAllTokens).subject),
)
