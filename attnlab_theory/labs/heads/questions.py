"""The titles of the grids of figures: what is shown of every head, as data."""

from attnlab_theory.labs.heads.claims import EXPLAINED, NORMAL, TOGETHER
from attnlab_theory.labs.heads.traces import Kept

PREMISES = (
    (
        "slope of the variance",
        None,
        "How much does the variance of a word's scores rise\nwith their squared mean? (slope; no verdict)",
    ),
    (
        "variance explained by the stretch",
        "the-noisy-length-matters",
        f"Does noise in the norm of keys explain {EXPLAINED:.0%} of the variance of\n"
        "scores, beyond what all words share? (colour: that share)",
    ),
    (
        "variance along own mean beyond that along others'",
        None,
        "How much more do a word's keys vary along their mean\n"
        "than along other words' means? (relative; no verdict)",
    ),
    (
        "variance explained along own mean",
        None,
        "How much of the variance of a word's scores comes from\n"
        "its keys' component along their mean? (share; no verdict)",
    ),
    (
        "distance from normal",
        "scores-are-normal",
        f"Are a word's scores normal, up to {NORMAL:g}? (colour:\nlargest difference of distribution functions)",
    ),
    (
        "gamble index",
        None,
        "Does one of two nearly equal keys get all the weight?\n"
        "(gamble index, 1: always, 0: they share alike; no verdict)",
    ),
    (
        "weights explained by theory beyond length, position and word",
        "theory-predicts-beyond-length-and-word",
        "Do normally distributed keys predict weights better\n"
        "than length, position and word do? (colour: gain of R²)",
    ),
    (
        "explained by theory less without noise",
        "noise-adds-to-the-prediction",
        "Does the spread of a word's keys help to predict\nattention weights? (colour: gain of R²)",
    ),
    (
        "scores that move together",
        "keys-move-alone",
        f"Do keys of one sentence vary independently, up to {TOGETHER:g}?\n"
        "(colour: covariance of two standardised scores)",
    ),
)
"""Grids: what is shown, the claim whose verdicts stand in the cells, and the title, a question."""

HABITS = {
    "share of keys": "exp(entropy of the weights) / number of keys",
    "weight on first": "weight on the first token",
    "weight on separators": "weight on [SEP] and the like",
    "weight on self": "weight on the token itself",
    "weight on previous": "weight on the token before",
    "weight on next": "weight on the token after",
    "weight on same word": "weight on the same word elsewhere",
}
"""The titles of habits."""

LEFT = {Kept.ALL: "the whole model"}
"""The parts of a model that stay, if their name alone does not tell."""


def unit(approximation: str) -> str:
    """What the budget of an approximation counts."""
    return "features" if "features" in approximation else "keys"
