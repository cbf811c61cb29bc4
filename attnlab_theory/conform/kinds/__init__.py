"""What a target may promise: the kinds of `--as`."""

from collections.abc import Mapping
from typing import NamedTuple


class Kind(NamedTuple):
    """One promise."""

    promise: str
    """In one line."""
    suite: str
    """Who judges it: a module of this folder's parent, and a class or a declaration in it."""


KINDS: Mapping[str, Kind] = {
    "softmax": Kind("every query sees every key, but for what a mask hides", "kinds.softmax.declaration:SOFTMAX"),
    "causal": Kind("no query sees what comes after it", "kinds.softmax.declaration:CAUSAL"),
    "multi-head": Kind("several heads in one call, and none sees another", "kinds.softmax.declaration:MULTI_HEAD"),
    "grouped-query": Kind(
        "several heads of queries share keys and values", "kinds.softmax.declaration:GROUPED_QUERY"
    ),
    "sliding-window": Kind("a query sees its neighbours only", "kinds.softmax.declaration:SLIDING_WINDOW"),
    "softcap": Kind(
        "scores are bounded by cap * tanh(score / cap), before the mask", "kinds.softmax.declaration:SOFTCAP"
    ),
    "bias": Kind("numbers are added to the scores, after the scale", "kinds.softmax.declaration:BIAS"),
    "mixer": Kind("a sequence to a sequence, one output for each token", "kinds.mixer:MIXER"),
    "decode": Kind("token by token with a cache gives what the whole gives", "kinds.decode:DECODE"),
    "model": Kind("token ids to logits, and no logit depends on what comes after it", "kinds.model:MODEL"),
    "onnx": Kind("the answers of ONNX's own test vectors", "vectors.suite:OnnxSuite"),
    "linear": Kind("features of q times sums over keys, by a stated feature map", "kinds.linear:LINEAR"),
    "recurrent": Kind("whole, in parts with a state and in chunks: one answer", "kinds.recurrence:RECURRENCE"),
    "sigmoid": Kind(
        "each key is weighed by a sigmoid of its score, and nothing is divided by a sum", "kinds.logistic:SIGMOID"
    ),
    "stick-breaking": Kind("each past key takes its share of what later ones leave", "kinds.sticks:STICK_BREAKING"),
    "differential": Kind(
        "one softmax map minus lambda times another, over the same values", "kinds.difference:DIFFERENTIAL"
    ),
    "top-k": Kind("softmax over the keys of the k largest scores", "kinds.best_keys:TOP_K"),
    "paged": Kind("attention over the pages of a cache that a table names", "kinds.page_table:PAGED"),
    "latent": Kind(
        "keys and values from one narrow row for each token; absorbed matrices change nothing",
        "kinds.absorption:LATENT",
    ),
    "rotary": Kind("pairs of channels turn with the position", "kinds.rotary:ROTARY"),
    "sinusoidal": Kind("a vector of sines and cosines for each position", "kinds.sinusoidal:SINUSOIDAL"),
    "alibi": Kind("a bias in proportion to the distance", "kinds.alibi:ALIBI"),
    "dropout": Kind("weights are dropped at a rate, and their mean stays", "kinds.dropout:DROPOUT"),
    "random-features": Kind(
        "products of features are the kernel on average", "kinds.random_features:RANDOM_FEATURES"
    ),
}
