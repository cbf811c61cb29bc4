"""The meaning of the words in the tables of this lab's pages, by the name of the run's record."""

from collections.abc import Mapping

from attnlab_theory.labs.terms import ABOVE, ARM

TERMS: Mapping[str, Mapping[str, str]] = {
    "mixers": {
        "arm": ARM,
        "separate": "attention with projections of its own for queries, keys and values",
        "additive": "additive scores in place of dot products",
        "shared-qk": "one projection for queries and keys",
        "shared-qkv": "one projection for queries, keys and values",
        "zero-before": "scores of later tokens are set to 0 before the softmax: the model looks ahead",
        "zero-after": "weights of later tokens are set to 0 after the softmax: the model looks ahead",
        "loss above the grammar": ABOVE,
        "teacher-forced loss": "the loss with all later tokens present",
        "honest loss": "the loss with nothing after the prefix, or with PAD there",
        "honest minus teacher-forced loss": "how much the loss rises if PAD replaces the later tokens",
        "two heads, three heads": "the weights of several heads are added up, each head times a number of either "
        "sign",
        "least wanted weight": "the smallest weight of three tokens in a cycle, each on the next",
        "greatest of the least wanted weights": "the best head of all seeds",
    },
}
