"""What a target may promise: the kinds of `--as`."""

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kind:
    """One promise."""

    promise: str
    """In one line."""
    suite: str
    """Who judges it: a module of this folder's parent, and a class or a declaration in it."""


KINDS: Mapping[str, Kind] = {
    "softmax": Kind(
        promise="every query sees every key, but for what a mask hides", suite="kinds.softmax.declaration:SOFTMAX"
    ),
    "causal": Kind(promise="no query sees what comes after it", suite="kinds.softmax.declaration:CAUSAL"),
    "multi-head": Kind(
        promise="several heads in one call, and none sees another",
        suite="kinds.softmax.declaration:MULTI_HEAD",
    ),
    "grouped-query": Kind(
        promise="several heads of queries share keys and values",
        suite="kinds.softmax.declaration:GROUPED_QUERY",
    ),
    "sliding-window": Kind(
        promise="a query sees its neighbours only", suite="kinds.softmax.declaration:SLIDING_WINDOW"
    ),
    "softcap": Kind(
        promise="scores are bounded by cap * tanh(score / cap), before the mask",
        suite="kinds.softmax.declaration:SOFTCAP",
    ),
    "bias": Kind(
        promise="numbers are added to the scores, after the scale",
        suite="kinds.softmax.declaration:BIAS",
    ),
    "mixer": Kind(promise="a sequence to a sequence, one output for each token", suite="kinds.mixer:MIXER"),
    "decode": Kind(promise="token by token with a cache gives what the whole gives", suite="kinds.decode:DECODE"),
    "model": Kind(
        promise="token ids to logits, and no logit depends on what comes after it",
        suite="kinds.model:MODEL",
    ),
    "onnx": Kind(promise="the answers of ONNX's own test vectors", suite="vectors.suite:OnnxSuite"),
    "linear": Kind(
        promise="features of q times sums over keys, by a stated feature map", suite="kinds.linear:LINEAR"
    ),
    "recurrent": Kind(
        promise="whole, in parts with a state and in chunks: one answer", suite="kinds.recurrence:RECURRENCE"
    ),
    "sigmoid": Kind(
        promise="each key is weighed by a sigmoid of its score, and nothing is divided by a sum",
        suite="kinds.logistic:SIGMOID",
    ),
    "stick-breaking": Kind(
        promise="each past key takes its share of what later ones leave", suite="kinds.sticks:STICK_BREAKING"
    ),
    "differential": Kind(
        promise="one softmax map minus lambda times another, over the same values",
        suite="kinds.difference:DIFFERENTIAL",
    ),
    "top-k": Kind(promise="softmax over the keys of the k largest scores", suite="kinds.best_keys:TOP_K"),
    "paged": Kind(promise="attention over the pages of a cache that a table names", suite="kinds.page_table:PAGED"),
    "latent": Kind(
        promise="keys and values from one narrow row for each token; absorbed matrices change nothing",
        suite="kinds.absorption:LATENT",
    ),
    "rotary": Kind(promise="pairs of channels turn with the position", suite="kinds.rotary:ROTARY"),
    "sinusoidal": Kind(
        promise="a vector of sines and cosines for each position", suite="kinds.sinusoidal:SINUSOIDAL"
    ),
    "alibi": Kind(promise="a bias in proportion to the distance", suite="kinds.alibi:ALIBI"),
    "dropout": Kind(promise="weights are dropped at a rate, and their mean stays", suite="kinds.dropout:DROPOUT"),
    "random-features": Kind(
        promise="products of features are the kernel on average", suite="kinds.random_features:RANDOM_FEATURES"
    ),
}
