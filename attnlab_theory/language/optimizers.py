"""Optimizers: AdamW, stochastic gradient descent and RMSprop, each with clipped gradients.

A step has learning rate one and goes uphill. The memory of an optimizer is a pytree, which a checkpoint keeps.
"""

import dataclasses
import math
from collections.abc import Sequence

import optax

from attnlab_theory import refuse
from attnlab_theory.language.models.model import Model


@dataclasses.dataclass(frozen=True, kw_only=True)
class AdamW:
    """Adam with decoupled weight decay; the homework's numbers by default.

    Raises:
        ValueError: naming a number that makes no optimizer.

    Source: Loshchilov and Hutter 2019; Stanford CS224n, assignment 5, `TrainerConfig`.
    """

    betas: tuple[float, float] = (0.9, 0.95)
    epsilon: float = 1e-8
    decay: float = 0.1
    """The weight decay of all parameters but biases (`Model.decayed`), times the learning rate."""
    clip: float = 1.0
    """The longest gradient, over all parameters. A longer one is scaled down. Infinite for no limit."""

    def __post_init__(self) -> None:
        refuse.not_positive(epsilon=self.epsilon, clip=self.clip)
        _refuse_not_below_one("betas", self.betas)
        refuse.negative(decay=self.decay)

    def transformation(self, model: Model) -> optax.GradientTransformation:
        """The optimizer, which makes steps of gradients."""
        return _chained([optax.scale_by_adam(*self.betas, eps=self.epsilon)], model, self.clip, self.decay)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SGD:
    """Stochastic gradient descent, by default without momentum and without weight decay, as torch's.

    Raises:
        ValueError: naming a number that makes no optimizer.

    Source: Robbins and Monro 1951; Polyak 1964 for the momentum.
    """

    momentum: float = 0.0
    """The share of the last step in the next."""
    decay: float = 0.0
    """The weight decay of all parameters but biases, times the learning rate."""
    clip: float = math.inf
    """The longest gradient, over all parameters. A longer one is scaled down. Infinite for no limit."""

    def __post_init__(self) -> None:
        refuse.not_positive(clip=self.clip)
        _refuse_not_below_one("momentum", [self.momentum])
        refuse.negative(decay=self.decay)

    def transformation(self, model: Model) -> optax.GradientTransformation:
        """The optimizer, which makes steps of gradients."""
        step = optax.trace(self.momentum) if self.momentum else optax.identity()
        return _chained([step], model, self.clip, self.decay)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RMSprop:
    """Gradients over the root of their mean squares, by default with torch's numbers.

    Raises:
        ValueError: naming a number that makes no optimizer.

    Source: Tieleman and Hinton 2012, lecture 6.5; epsilon stands outside of the root, as in torch.
    """

    smoothing: float = 0.99
    """The weight of the past in the running mean of squares."""
    epsilon: float = 1e-8
    decay: float = 0.0
    """The weight decay of all parameters but biases, times the learning rate."""
    clip: float = math.inf
    """The longest gradient, over all parameters. A longer one is scaled down. Infinite for no limit."""

    def __post_init__(self) -> None:
        refuse.not_positive(epsilon=self.epsilon, clip=self.clip)
        _refuse_not_below_one("smoothing", [self.smoothing])
        refuse.negative(decay=self.decay)

    def transformation(self, model: Model) -> optax.GradientTransformation:
        """The optimizer, which makes steps of gradients."""
        steps = [optax.scale_by_rms(self.smoothing, eps=self.epsilon, eps_in_sqrt=False)]
        return _chained(steps, model, self.clip, self.decay)


@dataclasses.dataclass(frozen=True, kw_only=True)
class NeverZeroed:
    """A mistake: nobody zeroes the gradients, so every step uses the sum of all gradients so far."""

    of: AdamW | SGD | RMSprop

    def transformation(self, model: Model) -> optax.GradientTransformation:
        """The optimizer, which makes steps of gradients."""
        return optax.chain(optax.trace(1.0), self.of.transformation(model))


Optimizer = AdamW | SGD | RMSprop | NeverZeroed
"""Any optimizer: a value that can be compared and hashed, because each has its own compiled step."""


def _chained(
    steps: Sequence[optax.GradientTransformation], model: Model, clip: float, decay: float
) -> optax.GradientTransformation:
    """Clipping, then the steps, then the decay."""
    before = [optax.clip_by_global_norm(clip)] if math.isfinite(clip) else []
    after = [optax.add_decayed_weights(decay, mask=model.decayed())] if decay else []
    return optax.chain(*before, *steps, *after)


def _refuse_not_below_one(name: str, numbers: Sequence[float]) -> None:
    for number in numbers:
        if not 0 <= number < 1:
            said = numbers[0] if len(numbers) == 1 else numbers
            raise ValueError(f"{name} must be at least 0 and less than 1, not {said}")
