"""Putting a bug into right code, under the right code's name."""

import dataclasses
from collections.abc import Callable

from jaxtyping import Array

from attnlab_theory.attention.mixers import HeadMixer, Mixer
from attnlab_theory.identities.cases import Tokens
from attnlab_theory.identities.operators import Operator, full_pass
from attnlab_theory.identities.subject import Subject

Wrap = Callable[[Callable[..., Array]], Callable[..., Array]]
"""Right code to wrong code."""


def planted(bug: Wrap, operator: Operator) -> Operator:
    """The operator with its outputs computed wrongly."""
    return dataclasses.replace(operator, mix=bug(operator.mix))


def planted_in_weights(bug: Wrap, operator: Operator) -> Operator:
    """The operator with its weights computed wrongly."""
    assert operator.weights is not None
    return dataclasses.replace(operator, weights=bug(operator.weights))


def planted_in_mixer(bug: Wrap, subject: Subject) -> Subject:
    """The mixer with its function of (tokens, mask) computed wrongly."""

    def build(case: Tokens) -> Mixer:
        mixer = subject.build(case)
        return HeadMixer(name=mixer.name, mix=bug(mixer), causal=mixer.causal, masked=mixer.masked)

    return dataclasses.replace(subject, build=build)


def without_positions(case: Tokens) -> Array:
    """Self-attention with neither positions nor mask."""
    return full_pass(case, "none", causal=False)


def masked(case: Tokens) -> Array:
    """Causal self-attention without positions: what most leaks are planted in."""
    return full_pass(case, "none", causal=True)
