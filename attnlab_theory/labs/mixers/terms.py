"""The meaning of the words in the tables of this lab's pages, by the name of the run's record."""

from collections.abc import Mapping

from attnlab_theory.labs.terms import ABOVE, ARM, UNIGRAM

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
        **UNIGRAM,
        "teacher-forced loss": "the loss per token of a sentence's first 10 tokens, with all later tokens present: "
        "the mean over 200 test sentences. The test loss is of all tokens of all test sentences",
        "honest loss, filled up with PAD": "the same, but with PAD in place of all tokens after the prefix",
        "honest loss": "the same, but with nothing after the prefix",
        "honest minus teacher-forced loss": "how much this loss rises if PAD replaces the later tokens",
        "two heads, three heads": "the weights of several heads are added up, each head times a number of either "
        "sign",
        "least wanted weight": "the least of the three wanted weights: each of three tokens in a cycle should look "
        "at the next one. The mean over 5 seeds",
        "greatest of the least wanted weights": "the least of the three wanted weights, of the best head of all "
        "seeds",
    },
}
