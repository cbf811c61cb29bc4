"""What layers cost, by algebra: operations and bytes of their matrix products (claims G.8, H.4, I.1-I.3).

A multiplication and an addition count two. T is the length in tokens, d the width of the model; a layer is four
projections (queries, keys, values, output), the mixing of tokens (scores, and the weighted mean of the values) and
an MLP of inner width 4d. Heads divide the width and change no count.
"""

import math

FLOAT = 4
"""Bytes of a number."""


def projections(t: int, d: int) -> int:
    """Operations of the four d by d projections of T tokens: 8 T d^2."""
    return 8 * t * d**2


def mixing(t: int, d: int, *, sources: int | None = None) -> int:
    """Operations of scores and of weighted means: 4 T^2 d, or 4 T S d with S sources."""
    return 4 * t * (t if sources is None else sources) * d


def mlp(t: int, d: int) -> int:
    """Operations of an MLP of inner width 4d: 16 T d^2."""
    return 16 * t * d**2


def layer(t: int, d: int) -> int:
    """Operations of one pass through one layer: 24 T d^2 + 4 T^2 d."""
    return projections(t, d) + mixing(t, d) + mlp(t, d)


MIXING_OVERTAKES = {"projections": 2, "mlp": 4, "all else": 6}
"""Lengths in widths at which 4 T^2 d reaches 8 T d^2, 16 T d^2 and their sum."""

MODULE_OVERTAKES_MLP = 2
"""4 T^2 d + 8 T d^2 = 16 T d^2 at T = 2 d."""


def crossing(d: int, rival: str, *, cached: bool = False) -> int:
    """The first length at which mixing costs as much as a rival, in tokens.

    Args:
        d: width.
        rival: "projections", "mlp", "all else"; or "module" for the mixing with the projections against the MLP.
        cached: generating T tokens with a cache, where the sum 2 T (T + 1) d takes the place of 4 T^2 d: the
            same equations with (T + 1) / 2 for T.

    Source: claims I.1 and I.2.
    """
    widths = MODULE_OVERTAKES_MLP if rival == "module" else MIXING_OVERTAKES[rival]
    return 2 * widths * d - 1 if cached else widths * d


def readout(t: int, d: int, vocabulary: int) -> int:
    """Operations of T rows of logits: 2 T d V."""
    return 2 * t * d * vocabulary


def generation(t: int, d: int, *, layers: int = 1, batch: int = 1, vocabulary: int = 0) -> int:
    """Operations of generating T tokens with a cache that grows: B (layers (2 T (T + 1) d + 24 T d^2) + 2 T d V).

    Token i mixes i sources: 4 i d; the sum over i is 2 T (T + 1) d.

    Source: claims I.2; ann-hw3 5.2.2.
    """
    per_layer = 2 * t * (t + 1) * d + projections(t, d) + mlp(t, d)
    return batch * (layers * per_layer + readout(t, d, vocabulary))


def generation_padded(t: int, d: int, capacity: int) -> int:
    """The same for one layer, with a cache of fixed capacity: every step mixes all of it, 4 capacity d."""
    return t * 4 * capacity * d + projections(t, d) + mlp(t, d)


def generation_uncached(t: int, d: int) -> int:
    """The same for one layer, with a full pass for every token: sums of 24 i d^2 and of 4 i^2 d over i."""
    return 12 * t * (t + 1) * d**2 + 2 * t * (t + 1) * (2 * t + 1) * d // 3


def recurrent(t: int, d: int) -> int:
    """Operations of a recurrent layer with square input and recurrent matrices: 4 T d^2, in T steps."""
    return 4 * t * d**2


def chain(kind: str, t: int) -> int:
    """Matrix products that wait for one another: every step of recurrence, or scores and the mean of the values."""
    return t if kind == "recurrent" else 2


def mixing_traffic(t: int, d: int, heads: int = 1) -> int:
    """Bytes that the products of exact attention read and write, the weights of every head included.

    Scores read q and k and write T^2; the mean reads T^2 and v and writes T d.
    """
    return FLOAT * (4 * t * d + 2 * heads * t**2)


def largest_array(kind: str, t: int, d: int, *, heads: int = 1, block: int = 1) -> int:
    """Bytes of the largest array on the way from q, k, v (or x) to the output.

    Args:
        kind: "plain" holds the weights of all heads, h T^2; "blocked" one tile of T by block (whole rows) or the
            output, T d; "recurrent" the states of all steps, T d.
    """
    if kind == "plain":
        return FLOAT * max(heads * t**2, t * d)
    return FLOAT * t * max(block, d) if kind == "blocked" else FLOAT * t * d


def feature_mixing(t: int, d: int, m: int, *, chunk: int = 0) -> int:
    """Operations of feature attention with m features: 4 T d m to make them, 4 T m (d + 1) for the two sums.

    The values have one more column, whose outputs are the normalisers. Causal (chunk > 0): each chunk of positions
    also has its own weights, 2 T chunk m, and their mean, 2 T chunk (d + 1).

    Source: claims G.8; Katharopoulos et al. 2020, section 3.
    """
    return 4 * t * d * m + 4 * t * m * (d + 1) + 2 * t * chunk * (m + d + 1)


def linformer_mixing(t: int, d: int, m: int) -> int:
    """Operations of Linformer: 4 T m d for two sketches, 4 T m d for attention over them."""
    return 8 * t * m * d


def bigbird_mixing(t: int, d: int, *, block: int, near: int, global_blocks: int) -> int:
    """Operations of BigBird in both directions.

    Global rows see everything; each other block of queries sees the global blocks and `near` blocks more, of its
    window and its random links, places that no block fills included.

    Source: claims H.4; Zaheer et al. 2020, appendix D.
    """
    whole = global_blocks * block
    return mixing(whole, d, sources=t) + mixing(t - whole, d, sources=(global_blocks + near) * block)


def feature_traffic(t: int, d: int, m: int) -> int:
    """Bytes that the products of feature attention read and write, in both directions: twice x, projection and
    features, and for each of the two sums what goes in and what comes out.
    """
    features = t * d + m * d + t * m
    sums = t * (d + 1) + t * m + (d + 1) * m
    return FLOAT * (2 * features + 2 * sums)


def feature_crossing(d: int, m: int) -> int:
    """The first length at which exact attention costs no fewer operations: 4 T^2 d = 4 T m (2 d + 1)."""
    return -(-m * (2 * d + 1) // d)


def feature_traffic_crossing(d: int, m: int) -> int:
    """The same for bytes: the root of T^2 - (2 m + 1) T - m (2 d + 1) = 0, rounded up."""
    middle = (2 * m + 1) / 2
    return math.ceil(middle + math.sqrt(middle**2 + m * (2 * d + 1)))


def linformer_crossing(m: int) -> int:
    """The same for Linformer: 4 T^2 d = 8 T m d at T = 2 m."""
    return 2 * m


def blocked_causal_mixing(t: int, d: int, block: int) -> int:
    """Operations of causal attention by blocks of queries that meet keys up to their own end: 2 T (T + block) d.

    Block i of n meets i blocks of keys, n (n + 1) / 2 tiles in all; without blocks, half of what is computed is
    hidden.
    """
    return 2 * t * (t + block) * d


def sliding_mixing(t: int, d: int, *, window: int, least_block: int) -> int:
    """Operations of a sliding window: blocks of queries, each meeting as many keys and window - 1 more."""
    size = min(t, max(least_block, window - 1))
    return mixing(-(-t // size) * size, d, sources=size + window - 1)


def additive_mixing(t: int, d: int, m: int) -> int:
    """Operations in matrix products of additive attention with m hidden units: 4 T d m to them, 2 T^2 d to mix.

    The T^2 m hidden units themselves are elementwise.
    """
    return 4 * t * d * m + mixing(t, d) // 2


def synthesizer_mixing(t: int, d: int, m: int, kind: str) -> int:
    """Operations of a synthesizer: 2 T^2 d to mix, and its logits.

    Args:
        kind: "random" reads them from a table, "factorised" multiplies two of rank m, "dense" has a network with m
            hidden units.
    """
    logits = {"random": 0, "factorised": 2 * t**2 * m, "dense": 2 * t * d * m + 2 * t**2 * m}
    return mixing(t, d) // 2 + logits[kind]
