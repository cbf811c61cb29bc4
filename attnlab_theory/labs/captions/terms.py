"""The meaning of the words in the tables of this lab's pages, by the name of the run's record."""

from collections.abc import Mapping

from attnlab_theory.labs.terms import ABOVE, ARM, UNIGRAM

TERMS: Mapping[str, Mapping[str, str]] = {
    "captions": {
        "arm": ARM,
        "scratch": "the preset, trained from random weights in one order",
        "shuffled": "another order in every epoch",
        "pretrained": "the model has learned another text first",
        "heads-1, heads-6, heads-8": "so many heads in place of 12",
        "permuted": "features are permuted before they are cut into heads",
        "dropped-heads": "whole heads are dropped while training",
        "against": "the arm, or the decoding, that is subtracted",
        "perplexity of sentences": "exp of the mean over sentences of each sentence's mean loss, as in the "
        "homework",
        "perplexity of tokens": "exp of the mean loss over all tokens",
        "best epoch": "the epoch with the lowest validation loss",
        "validation loss minus training loss": "the gap: both are losses of the finished model",
        "training loss minus that of the best epoch": "the training loss of the last epoch minus that of the best "
        "one",
        "loss above the grammar": ABOVE,
        **UNIGRAM,
        "change of epochs": "the arm's best epoch minus that of the other",
        "change of gap": "the arm's gap minus that of the other",
        "decoding": "the way to draw the next token: random, the likeliest k (top_k), or the likeliest that hold a "
        "share p of the probability (top_p); -t is the temperature",
        "forward": "forward BLEU: each generated sentence is compared with all real ones",
        "backward": "backward BLEU: each real sentence is compared with all generated ones",
        "harmonic": "the harmonic mean of both",
        "openings": "how many different pairs of first two tokens the sentences have",
        "commonest opening": "the share of sentences that begin with the commonest first two tokens of the same "
        "text",
        "distinct": "the share of sentences that differ from all before them",
        "repeating": "the share of sentences in which three tokens in a row come twice",
        "entropy": "of the grammar: in nats per caption. Of a head: its weights' entropy, divided by that of equal "
        "weights",
        "log-probability by derivation minus by parsing": "the largest difference between the two ways to compute "
        "the log-probability of a caption",
        "worth of a head": "the rise of the loss without the head, in nats per token",
    },
}
