"""A reading whose queries and keys are given, and layers on which the lab's verdicts must come out right."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.heads.claims import STATEMENTS, beyond
from attnlab_theory.labs.heads.families import ERROR_RATE
from attnlab_theory.labs.heads.traces import Tokens, Trace
from attnlab_theory.stats import Interval
from attnlab_theory.stats.groups import bands
from tests.circles import EXPLORING


@dataclasses.dataclass
class Given:
    """Sentences [n t] of types, and [n layers h t d] of queries and keys: arrays, or lists if t differs."""

    kinds: Sequence[np.ndarray]
    q: Sequence[np.ndarray]
    k: Sequence[np.ndarray]
    causal: bool = False

    def __post_init__(self):
        self.layers, self.heads = self.k[0].shape[:2]
        self.tokens = [Tokens(ids=row, special=np.zeros(len(row), bool)) for row in self.kinds]

    def traces(self, numbers):
        for n in numbers:
            yield Trace(tokens=self.tokens[n], q=self.q[n], k=self.k[n], v=self.k[n], causal=self.causal)

    def name_of(self, token):
        return f"type {token}"


def in_layers(x, heads):
    """Heads [n h t d], cut into layers of `heads` each."""
    x = np.asarray(x)
    return x.reshape(len(x), -1, heads, *x.shape[2:])


def beyond_controls(estimates):
    """The numbers, each of which lies beyond those of all controls: the model's own number decides."""
    away = {"value": 1.0, "interval": Interval(0.5, 1.5)}
    found = (
        dataclasses.replace(each, quantity=beyond(stated.name), **away)
        for stated in STATEMENTS
        for each in estimates
        if stated.asks(each)
    )
    return Estimates([*estimates, *found])


def wrong_at_most(trials, error_rate, false_alarm=1e-6):
    """The number of wrong verdicts that `trials` with this error rate exceed with probability `false_alarm`."""
    import scipy.stats

    return int(scipy.stats.binom.isf(false_alarm, trials, error_rate))


LAYERS = 200 if EXPLORING else 100
FALSE_ALARM = 5e-8
"""The error rate of each comparison with a binomial limit. There are fewer than twenty in a file."""

LIMIT = wrong_at_most(LAYERS, ERROR_RATE, FALSE_ALARM)


def families(replicates, intervals=bands):
    """Intervals for replicates [r layers ...]: each layer is a family of its own."""
    return [intervals(replicates[:, layer], ERROR_RATE, draws=1000) for layer in range(replicates.shape[1])]


def missing(found, truth):
    """In how many layers an interval misses the truth: one number for all, or one for each head of each layer."""
    low, high = (np.stack([getattr(each, end) for each in found]) for end in ("low", "high"))
    return int(np.sum(np.any((low > truth) | (high < truth), axis=1)))
