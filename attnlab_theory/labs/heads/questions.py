"""The titles of the grids of figures: what is shown of every head, as data."""

from attnlab_theory.labs.heads.claims import EXPLAINED, NORMAL
from attnlab_theory.labs.heads.traces import Kept

PREMISES = (
    (
        "slope of the variance",
        None,
        "How much does variance rise with the squared\nmean score? (colour: slope; not judged)",
    ),
    (
        "variance explained by the stretch",
        "the-noisy-length-matters",
        f"Does a noisy key length explain {EXPLAINED:.0%} of\nthe variance? (colour: what it explains)",
    ),
    (
        "variance along own mean beyond that along others'",
        None,
        "How much more do keys of one word vary along\nits mean key than along others'? (not judged)",
    ),
    (
        "variance explained along own mean",
        None,
        "What share of the variance of a word's keys lies\nalong its mean key? (not judged)",
    ),
    (
        "distance from normal",
        "scores-are-normal",
        f"Are scores at most {NORMAL:g} from normal?\n(colour: distance)",
    ),
    (
        "gamble index",
        None,
        "How often does all weight go to one of two equal\nkeys? (1: always, 0: shared; not judged)",
    ),
    (
        "weights explained by theory",
        "theory-beats-the-mean-weight",
        "Does theory predict weights better than\ntheir mean? (colour: share explained)",
    ),
    (
        "explained by theory less without noise",
        "noise-adds-to-the-prediction",
        "Does noise in the keys improve the prediction?\n(colour: share explained in addition)",
    ),
    (
        "scores that move together",
        "keys-move-alone",
        "Are keys of a sentence independent?\n(colour: covariance of their scores)",
    ),
)
"""Grids: what is shown, the claim whose verdicts stand in the cells, and the title, a question."""

HABITS = {
    "share of keys": "share of the keys that a head uses",
    "weight on first": "weight on the first token",
    "weight on separators": "weight on separators",
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
