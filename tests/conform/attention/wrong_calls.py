"""Attention with bugs that show in calls that are seldom tried."""

import numpy as np

from tests.conform.right import plain


def grouped(bug):
    def target(q, k, v):
        h, n = q.shape[1], k.shape[1]
        if bug == "divided by the groups":
            shared = np.minimum(np.arange(h) // n, n - 1)
        elif bug == "repeated as often as there are groups":
            shared = np.repeat(np.arange(n), n if n > 1 else h)[:h]
        else:
            shared = np.arange(h) // (h // n)
        if bug == "one head of queries where keys have one" and n == 1:
            q = np.repeat(q[:, :1], h, 1)
        return plain(q, k[:, shared], v[:, shared])

    return target


def early(bug):
    """The last query sees the last key."""

    def target(q, k, v):
        t, s = q.shape[-2], k.shape[-2]
        seen = np.tri(t, s, s - t, dtype=bool)
        if bug == "reads all before the first key":
            seen |= ~seen.any(-1, keepdims=True)
        if bug == "one key to all before the first":
            seen[:, :1] |= ~seen.any(-1, keepdims=True)
        return plain(q, k, v, seen)

    return target


MADE = {
    early: {
        "reads all before the first key": ("causal", "early queries"),
        "one key to all before the first": ("causal", "early queries"),
    },
    grouped: {
        "divided by the groups": ("grouped-query", "groupings"),
        "repeated as often as there are groups": ("grouped-query", "groupings"),
        "one head of queries where keys have one": ("grouped-query", "groupings"),
    },
}
"""Who makes the bugs, what they are, the kind they are judged as, and the identity that finds each."""
