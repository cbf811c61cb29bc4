"""A small language model in numpy, and a word for what is wrong with it."""

from types import SimpleNamespace

import numpy as np

from tests.conform.sequences.decoding import rotary, softmax

VOCABULARY, WIDTH = 31, 8
r = np.random.default_rng(0)
EMBEDDING = r.standard_normal((VOCABULARY, WIDTH)).astype("f4")
LAYERS = [[r.standard_normal((WIDTH, WIDTH)).astype("f4") / 3 for _ in range(4)] for _ in range(2)]
OUT = r.standard_normal((WIDTH, VOCABULARY)).astype("f4")
PLACES = r.standard_normal((200, WIDTH)).astype("f4")
LEFT: list = []
SEEN: list = []


def run(ids, mask=None, positions=None, past=None, bug="", learned=False):
    """Logits [b t v], and the keys and values of each layer."""
    b, t = ids.shape
    old = 0 if past is None else past[0][0].shape[1]
    if bug == "positions begin again in a step":
        old = 0
    at = np.broadcast_to(old + np.arange(t), (b, t)) if positions is None else positions
    if bug == "positions are ignored" or (bug == "a later turn counts the padding" and past is not None and t > 1):
        at = np.broadcast_to(old + np.arange(t), (b, t))
    if bug == "cache off by one position" and past is not None:
        at = at + 1
    x = EMBEDDING[ids]
    if learned:
        x = x + PLACES[at]
    if bug == "shifted token is lost":
        x = x + np.concatenate([0 * x[:, :1], x[:, :-1]], 1)
    if bug == "rows are normalised together":
        x = x - x.mean(0, keepdims=True) * np.float32(0.1)
    kept = []
    for layer, (wq, wk, wv, wo) in enumerate(LAYERS):
        q, k, v = x @ wq, x @ wk, x @ wv
        if not learned:
            q, k = (np.stack([rotary(row, p) for row, p in zip(y, at, strict=True)]) for y in (q, k))
        if past is not None:
            old_k, old_v = past[layer]
            if bug == "a full cache overwrites its last place" and old_k.shape[1] >= 20:
                old_k, old_v = old_k[:, :19], old_v[:, :19]
            if bug == "breaks after six" and old_k.shape[1] == 7:
                old_v = old_v[:, ::-1]
            k, v = np.concatenate([old_k, k], 1), np.concatenate([old_v, v], 1)
        kept.append((k, v))
        s = k.shape[1]
        seen = np.tri(t, s, s - t, dtype=bool)
        if bug == "leaks when long" and s > 16:
            seen = np.tri(t, s, s - t + 1, dtype=bool)
        if bug == "sees everything":
            seen = np.ones_like(seen)
        if bug == "chunks see their own end" and past is not None:
            seen = np.ones_like(seen)
        seen = np.broadcast_to(seen, (b, t, s))
        if bug == "a later turn sees the padding" and past is not None and t > 1:
            mask = None
        if mask is not None and bug != "mask is ignored":
            rows = mask[:1] if bug == "mask of the first row" else mask
            seen = seen & (rows[:, None, -s:] > 0 if bug != "mask hides queries" else rows[:, -t:, None] > 0)
        scores = np.where(seen, q @ k.swapaxes(1, 2) / np.float32(WIDTH**0.5), np.float32(-1e9))
        x = x + np.tanh(softmax(scores) @ v @ wo)
    if bug == "remembers":
        LEFT.append(float(x[0, -1, 0]))
        x = x + np.float32(0.01 * LEFT[max(len(LEFT) - 2, 0)])
    if bug == "by the length":
        x = x * np.float32(1 + 0.01 * t)
    if bug == "half precision when long" and t > 32:
        x = x.astype(np.float16).astype("f4") + np.float32(1e-2)
    return x @ OUT, kept


def plain(ids):
    """[b t] -> [b t v]."""
    return run(ids)[0]


def learned(ids):
    """With learned positions, and no more than 40 of them."""
    if ids.shape[1] > 40:
        raise ValueError(f"at most 40 tokens, not {ids.shape[1]}")
    return run(ids, learned=True)[0]


def one_sequence(ids):
    """[t] -> [t v]."""
    if ids.ndim != 1:
        raise ValueError("one sequence")
    return run(ids[None])[0][0]


def pair(ids, cache=None):
    """(logits, cache)."""
    return run(ids, past=cache)


def library(bug=""):
    """As a model of a well-known library: an object with logits and past_key_values comes back."""

    def forward(
        input_ids=None, attention_mask=None, position_ids=None, past_key_values=None, use_cache=None, **kwargs
    ):
        past = past_key_values
        if bug == "caches are shared" and past is not None:
            past = SEEN[-1]
        logits, kept = run(input_ids, attention_mask, position_ids, past, bug, bug == "positions are ignored")
        SEEN[:] = [kept]
        return SimpleNamespace(logits=logits, past_key_values=kept if use_cache else None)

    return forward


def in_place(ids, state=None):
    """The cache is a dictionary that each call changes."""
    state = {} if state is None else state
    logits, state["past"] = run(ids, past=state.get("past"))
    return {"logits": logits, "state": state}


def no_mask_in_steps(input_ids, attention_mask=None, past_key_values=None, use_cache=False):
    """A mask of a step hides the step itself, unless there is none, as in models that carry a state."""
    past = past_key_values
    if past is None:
        mask, at = attention_mask, None
        if mask is not None:
            at = np.maximum(mask.cumsum(1) - 1, 0)
        logits, kept = run(input_ids, mask, at)
        return SimpleNamespace(logits=logits, past_key_values=(kept, mask))
    kept, mask = past
    if attention_mask is not None:
        input_ids = input_ids * 0
    old = kept[0][0].shape[1]
    mask = np.ones((len(input_ids), old), int) if mask is None else mask
    mask = np.concatenate([mask, np.ones_like(input_ids)], 1)
    at = np.maximum(mask.cumsum(1) - 1, 0)[:, old:]
    logits, kept = run(input_ids, mask, at, kept)
    return SimpleNamespace(logits=logits, past_key_values=(kept, mask))


def mixes_the_batch_in_a_step(ids, state=None):
    """A step of several rows gives a row for each pair of rows."""
    logits, kept = run(ids, past=state)
    if state is not None and ids.shape[1] == 1:
        logits = logits + 0 * logits[None, :, 0]
    return logits, kept


RIGHT = {
    "plain": plain,
    "learned": learned,
    "one sequence": one_sequence,
    "pair": pair,
    "library": library(),
    "in place": in_place,
    "no mask in steps": no_mask_in_steps,
}

BUGS = {
    "positions begin again in a step": "token by token",
    "cache off by one position": "token by token",
    "shifted token is lost": "token by token",
    "rows are normalised together": "elements apart",
    "a full cache overwrites its last place": "many tokens",
    "breaks after six": "prefill, then steps",
    "leaks when long": "causality",
    "sees everything": "causality",
    "chunks see their own end": "chunks",
    "mask is ignored": "padding left",
    "mask of the first row": "padding left",
    "mask hides queries": "padding left",
    "positions are ignored": "padding left",
    "remembers": "same result",
    "by the length": "prefixes",
    "half precision when long": "prefixes",
    "caches are shared": "two caches",
    "a later turn sees the padding": "padding in a cache",
    "a later turn counts the padding": "padding in a cache",
}
"""What is wrong with `library`, and the identity that must find it."""
