"""Caches that live in the target, which is told where a token stands: right ones, and with bugs."""

import numpy as np

from tests.conform.sequences import modelling
from tests.conform.sequences.decoding import attend
from tests.conform.sequences.placing import turned


class Static:
    """Keys and values for 700 tokens lie in the object; `start_pos` says where the new ones stand."""

    bug = ""

    def __init__(self):
        self.k, self.v = np.zeros((2, 8, 700, 8))

    def __call__(self, x, start_pos):
        b, t, d = x.shape
        if b > 8 or start_pos + t > 700 or d != 8:
            raise ValueError("more than the cache holds")
        first = start_pos - (self.bug == "written one too early" and start_pos > 6)
        places = np.arange(start_pos, start_pos + t) * (self.bug != "keys do not turn in a step" or start_pos == 0)
        self.k[:b, first : first + t], self.v[:b, first : first + t] = turned(x, places), x
        k, v = (y[:b, : start_pos + t].astype(x.dtype) for y in (self.k, self.v))
        return attend(turned(x, np.arange(start_pos, start_pos + t)), k, v, start_pos)


class TooEarly(Static):
    bug = "written one too early"


class KeysStay(Static):
    bug = "keys do not turn in a step"


class Growing:
    """`offset` has a default: a call without it begins anew."""

    kept = None

    def __call__(self, x, offset=0):
        self.kept = x if offset == 0 else np.concatenate([self.kept[:, :offset], x], 1)
        return attend(x, self.kept, self.kept, offset)


class Model:
    """As the published code of Llama: logits of tokens, and where the first one stands."""

    bug = ""

    def __init__(self):
        self.kept = None

    def __call__(self, tokens, start_pos):
        past = None
        if start_pos:
            past = [tuple(x[: len(tokens), :start_pos] for x in layer) for layer in self.kept]
            if self.bug == "the newest of a step is lost" and past[0][0].shape[1] > 3:
                past = [(k, np.concatenate([v[:, :-1], v[:, -2:-1]], 1)) for k, v in past]
        logits, self.kept = modelling.run(tokens, past=past)
        return logits


class ModelLoses(Model):
    bug = "the newest of a step is lost"


class Asked:
    """A layer that caches where it is asked, and is made empty by a method."""

    bug = ""

    def __init__(self):
        self.kept = None

    def reset_cache(self):
        self.kept = None

    def __call__(self, x, use_cache=False):
        if not use_cache:
            return attend(x, x, x, 0)
        self.kept = x if self.kept is None else np.concatenate([self.kept, x], 1)
        if self.bug == "forgets after eight":
            self.kept = self.kept[:, -max(8, x.shape[1]) :]
        return attend(x, self.kept, self.kept, self.kept.shape[1] - x.shape[1])


class Forgets(Asked):
    bug = "forgets after eight"


class AskedModel:
    """A model that does so."""

    bug = ""

    def __init__(self):
        self.kept = None

    def reset_kv_cache(self):
        self.kept = None

    def __call__(self, in_idx, use_cache=False):
        logits, kept = modelling.run(in_idx, past=self.kept if use_cache else None, bug=self.bug)
        if use_cache:
            self.kept = kept
        return logits


class AlwaysModel(AskedModel):
    """It always goes on, until it is made empty."""

    def __call__(self, tokens):
        return super().__call__(tokens, True)


class ModelBeginsAgain(AskedModel):
    bug = "positions begin again in a step"


class Streaming:
    """It always goes on, in an array of its own, until it is made empty; another width is refused."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.kept = None

    def __call__(self, x):
        past = np.zeros((len(x), 0, x.shape[2]), x.dtype) if self.kept is None else self.kept
        keys = np.concatenate([past, x], 1)
        out = attend(x, keys, keys, past.shape[1])
        self.kept = keys
        return out


class ByLayer:
    """Queries, keys and values; the keys and values of each layer lie in a dictionary of the object."""

    def __init__(self):
        self.layers = {}

    def __call__(self, q, k, v, start_pos=0):
        if start_pos:
            k, v = (
                np.concatenate([x[:, :, :start_pos], y], 2) for x, y in zip(self.layers["0"], (k, v), strict=True)
            )
        self.layers["0"] = k, v
        x = q @ k.swapaxes(-1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
        x = np.where(np.tri(*x.shape[-2:], x.shape[-1] - x.shape[-2], dtype=bool), x, -np.inf).astype(q.dtype)
        raised = np.exp(x - x.max(-1, keepdims=True))
        return raised / raised.sum(-1, keepdims=True) @ v


def only_places(ids, offset=0):
    """No cache: the offset is where the first token stands, and nothing else."""
    x = modelling.EMBEDDING[ids] + modelling.PLACES[np.arange(ids.shape[1]) + offset]
    return np.cumsum(x, 1) / np.arange(1, ids.shape[1] + 1, dtype=x.dtype)[:, None] @ modelling.OUT


def places_without_a_cache(x, position_ids=None):
    """Attention of what is handed over, and of nothing else."""
    places = np.arange(x.shape[1]) if position_ids is None else position_ids
    return attend(turned(x, places), turned(x, places), x, 0)


RIGHT = {"static": ("decode", Static), "growing": ("decode", Growing), "model": ("model", Model)}
RIGHT |= {"asked": ("decode", Asked), "asked model": ("model", AskedModel), "always": ("model", AlwaysModel)}
RIGHT |= {"streaming": ("decode", Streaming), "by layer": ("decode", ByLayer)}
BUGS = {
    "written one too early": ("decode", TooEarly),
    "keys do not turn in a step": ("decode", KeysStay),
    "the newest of a step is lost": ("model", ModelLoses),
    "forgets after eight": ("decode", Forgets),
    "positions begin again": ("model", ModelBeginsAgain),
}
