"""What homeworks assume about heads, and what theory says about them, judged on the heads of a real model.

Nobody knows what to expect from a trained model. Each statement is about this model alone. Each family of numbers,
one for every head or layer, has its own error rate. All margins were stated before any run.

The slope of the variance and the excess along own means get no verdict. Their null hypotheses are false for
layer-normalised keys, whatever the lengths of keys do (docs/mathematics/heads.md).
"""

import math
from typing import Any, TypeVar, cast

import numpy as np
from jaxtyping import Float

from attnlab_theory.claims import Beyond, Statement
from attnlab_theory.labs.heads.traces import Kept
from attnlab_theory.stats import Interval

T = TypeVar("T", float, Float[np.ndarray, "*m"])

FINE = 1e-9
"""The resolution of a statement that a number lies on one side: only an interval on that side supports it."""

EXPLAINED = 0.1
"""A stretch that explains less of the variance of scores does not matter."""

NORMAL = 0.1
"""Scores whose distribution function is nearer than this to a normal one count as normal."""

CONTEXT = 0.1
"""Neighbours that explain less of the variance of splits do not drive them."""

SHIFTED = 0.25
"""In standard deviations: scores whose mean is nearer to that of their type count as independent of the query."""

SPREAD = 0.25
"""A share of the fitted variance: scores whose variance is nearer to it count as independent of the query, too."""

TOGETHER = 0.1
"""A share of the variance of scores: if two keys of a sentence have less in common, they count as independent."""

RARER = 0.1
"""A share of the variance of weights: if less is lost, rarer types count as predicted as well as commoner ones."""

COLLAPSED = 0.1
"""Tokens collapse if less than this share of their first distance is left after the last layer."""

LEFT = "of the tokens' distance to rank one is left after the last layer."

TOLERATED = 0.1
"""The largest error of a head that survives an approximation."""

JUDGED_FEATURES, JUDGED_KEYS = 256, 9
"""The budgets at which a head survives or not. They cannot be compared: exact attention to 30 keys costs less than
256 features do, and 9 keys are a third of all.
"""

APART = 0.25
"""A prediction is right if it differs by at most this share from the measured number of features."""

LOST = 0.02
"""The accuracy that a model may lose if all of its heads are approximated."""

SPARED = 0.01
"""A head whose absence costs at most this accuracy can be spared."""


BEYOND_LENGTH = "weights explained by theory beyond length, position and word"

CONTROLS = "random weights or shuffled tokens"
"""Models that a statement about a trained model has to exceed: the strongest of them decides."""


def beyond(claim: str) -> str:
    """The name of the number that says how far a model is beyond the controls of a statement."""
    return f"beyond controls: {claim}"


def on_the_side_of(predicted: Interval, values: T) -> T:
    """Numbers that are larger the further a value lies on the side of a prediction."""
    if predicted.high == math.inf:
        return values
    if predicted.low == -math.inf:
        return -values
    return cast("T", -abs(values - predicted.centre))


def from_the_side_of(predicted: Interval, reached: float) -> float:
    """The value with this number `on_the_side_of` a prediction. Of two around the middle it is the upper one."""
    if predicted.high == math.inf:
        return reached
    return -reached if predicted.low == -math.inf else predicted.centre - reached


def _at_home(section: str, *, name: str, **told: Any) -> Statement:
    """A statement whose source is a section of docs/mathematics/heads.md."""
    return Statement(
        name=name,
        source=f"mathematics/heads.md#{section}",
        control=Beyond(CONTROLS, beyond(name)),
        resolution=FINE,
        expect=None,
        of_training=False,
        **told,
    )


STATEMENTS = (
    _at_home(
        "noisy-lengths",
        name="the-noisy-length-matters",
        statement=f"A noisy key length explains at least {EXPLAINED:g} of the variance of scores within a type, "
        "beyond what all types share.",
        quantity="variance explained by the stretch",
        predicted=Interval.at_least(EXPLAINED),
    ),
    _at_home(
        "normal-scores",
        name="scores-are-normal",
        statement="Scores of a query with keys of one type are normal: the two distribution functions differ by "
        f"at most {NORMAL:g}.",
        quantity="distance from normal",
        predicted=Interval.at_most(NORMAL),
    ),
    _at_home(
        "hedging",
        name="the-layer-hedges",
        statement="The layer hedges: the mean over its heads has at most half of one head's gamble index.",
        quantity="index of the mean less half of the copies'",
        predicted=Interval.at_most(0.0),
    ),
    _at_home(
        "hedging",
        name="neighbours-drive-the-choice",
        statement=f"Neighbouring tokens explain at least {CONTEXT:g} of how two nearly equal keys share weight.",
        quantity="gamble explained by neighbours",
        predicted=Interval.at_least(CONTEXT),
    ),
    _at_home(
        "predicted-weights",
        name="theory-predicts-beyond-length-and-word",
        statement="Theory predicts the weights of frequent words better than the sentence's length, positions "
        "or the word's mean weight do.",
        quantity=BEYOND_LENGTH,
        predicted=Interval.at_least(0.0),
    ),
    _at_home(
        "predicted-weights",
        name="noise-adds-to-the-prediction",
        statement="Theory with noise predicts the weights better than the softmax of the mean scores does.",
        quantity="explained by theory less without noise",
        predicted=Interval.at_least(0.0),
    ),
    _at_home(
        "predicted-weights",
        name="queries-leave-keys-alone",
        statement="A query scores keys of its own sentence like those of others: on average they differ by at most "
        f"{SHIFTED:g} standard deviations.",
        quantity="shift of scores",
        predicted=Interval(-SHIFTED, SHIFTED),
    ),
    _at_home(
        "predicted-weights",
        name="own-scores-vary-as-fitted",
        statement=f"Scores with the sentence's own query have the variance of the fitted law, up to {SPREAD:.0%}.",
        quantity="variance of scores over the fitted",
        predicted=Interval(1 - SPREAD, 1 + SPREAD),
    ),
    _at_home(
        "predicted-weights",
        name="keys-move-alone",
        statement=f"Keys of one sentence vary independently: they share at most {TOGETHER:g} of their variance.",
        quantity="scores that move together",
        predicted=Interval(-TOGETHER, TOGETHER),
    ),
    _at_home(
        "predicted-weights",
        name="rarer-types-do-as-well",
        statement=f"Theory explains the weights of rarer types as well as of commoner ones, up to {RARER:g}.",
        quantity="explained for commoner types less for rarer ones",
        predicted=Interval.at_most(RARER),
    ),
    _at_home(
        "collapse",
        name="the-collapse-accelerates",
        statement="With attention alone, the last layer lowers the logarithm of the distance by more than "
        "earlier layers do.",
        quantity="last step less the earlier ones",
        predicted=Interval.at_most(0.0),
    ),
    *(
        _at_home(
            "collapse",
            name=name,
            statement=statement,
            quantity="share of the distance left",
            where={"kept": str(kept)},
            predicted=predicted,
        )
        for kept, predicted, name, statement in (
            (
                Kept.ATTENTION,
                Interval.at_most(COLLAPSED),
                "attention-alone-collapses",
                f"Without MLPs and skip connections at most {COLLAPSED:.0%} {LEFT}",
            ),
            (
                Kept.NO_MLPS,
                Interval.at_least(COLLAPSED),
                "skip-connections-stop-the-collapse",
                f"With skip connections, but without MLPs, at least {COLLAPSED:.0%} {LEFT}",
            ),
            (
                Kept.NO_SKIPS,
                Interval.at_most(COLLAPSED),
                "mlps-do-not-stop-the-collapse",
                f"With MLPs, but without skip connections, at most {COLLAPSED:.0%} {LEFT}",
            ),
            (
                Kept.ALL,
                Interval.at_least(COLLAPSED),
                "the-model-does-not-collapse",
                f"In the whole model at least {COLLAPSED:.0%} {LEFT}",
            ),
        )
    ),
    _at_home(
        "approximations",
        name="the-head-survives",
        statement=f"With this approximation the head's outputs err by at most {TOLERATED:g} of their size.",
        quantity="relative error",
        where={"budget": (JUDGED_FEATURES, JUDGED_KEYS)},
        predicted=Interval.at_most(TOLERATED),
    ),
    _at_home(
        "approximations",
        name="theory-predicts-the-features",
        statement=f"An error of {TOLERATED:g} takes as many features as theory predicts, up to {APART:.0%}.",
        quantity="features measured over predicted",
        predicted=Interval(1 / (1 + APART), 1 + APART),
    ),
    _at_home(
        "approximations",
        name="the-model-survives",
        statement=f"With this approximation in all heads the model loses at most {LOST:g} of its accuracy.",
        quantity="accuracy gained",
        predicted=Interval.at_least(-LOST),
    ),
    _at_home(
        "ablations",
        name="the-head-is-needed",
        statement="Without the head fewer labels are right.",
        quantity="accuracy lost",
        predicted=Interval.at_least(0.0),
    ),
    _at_home(
        "ablations",
        name="the-model-does-without-the-head",
        statement=f"Without the head the accuracy falls by at most {SPARED:g}.",
        quantity="accuracy lost",
        predicted=Interval.at_most(SPARED),
    ),
    _at_home(
        "ablations",
        name="redundant-heads-stand-in-for-each-other",
        statement="Without both heads the log-odds of the right label fall by more than without each of them, "
        "added up.",
        quantity="log-odds lost beyond the sum",
        predicted=Interval.at_least(0.0),
    ),
)
