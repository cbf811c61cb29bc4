"""Caches whose rows are put in another order, and caches of which there is one: right ones, and with bugs."""

from typing import ClassVar

import numpy as np

from tests.conform.sequences import modelling
from tests.conform.sequences.decoding import attend, decode


class Rows:
    """Keys and values as attributes, and a method that puts their rows in another order."""

    bug = ""

    def __init__(self):
        self.k = self.v = None

    def add(self, k, v):
        if self.k is not None:
            k, v = np.concatenate([self.k, k], -2), np.concatenate([self.v, v], -2)
        self.k, self.v = k, v
        return k, v


class Reordering(Rows):
    def reorder_cache(self, rows):
        self.k = self.k[rows]
        if self.bug != "values stay":
            self.v = self.v[rows]
        if self.bug == "clears where no row is wanted":
            self.k, self.v = (
                np.where(np.isin(np.arange(len(x)), rows)[:, None, None, None], x, 0) for x in (self.k, self.v)
            )


class ValuesStay(Reordering):
    bug = "values stay"


class LosesRows(Reordering):
    bug = "clears where no row is wanted"


def by_object(kind):
    """The cache is an object that is changed in place."""

    def target(q, k, v, cache=None):
        cache = kind() if cache is None else cache
        k, v = cache.add(k, v)
        return attend(q, k, v, k.shape[-2] - q.shape[-2]), cache

    return target


def remembers_rows():
    """Beside its cache it keeps, with itself, what was added to the values of each row."""
    kept = {}

    def target(q, k, v, cache=None):
        if cache is None:
            kept["of each row"] = v[..., :1, :] * 0.5
        out, cache = decode()(q, k, v, cache)
        return out + kept["of each row"], cache

    return target


def heads_in_front(q, k, v, cache=None):
    """The arrays of the cache are [h b t d]: indexed in front they are other heads."""
    cache = None if cache is None else tuple(x.swapaxes(0, 1) for x in cache)
    out, cache = decode()(q, k, v, cache)
    return out, tuple(x.swapaxes(0, 1) for x in cache)


class OwnMethod:
    """A method of the target, which gives another cache."""

    bug = ""

    def __call__(self, q, k, v):
        return decode(rotated=False)(q, k, v)[0]

    def init_cache(self):
        return ()

    def step(self, q, k, v, cache):
        return decode(rotated=False)(q, k, v, cache or None)

    def _reorder_cache(self, cache, beam_idx):
        rows = np.sort(beam_idx) if self.bug == "in order" else beam_idx
        return tuple(x[rows] for x in cache)


class InOrder(OwnMethod):
    bug = "in order"


class Inside:
    """Keeps its cache to itself."""

    bug = ""

    def __call__(self, x):
        return attend(x, x, x, 0)

    def reset(self):
        self.kept = None

    def step(self, x):
        self.kept = x if self.kept is None else np.concatenate([self.kept, x], 1)
        return attend(x, self.kept, self.kept, self.kept.shape[1] - x.shape[1])

    def reorder_cache(self, beam_idx):
        rows = beam_idx[::-1] if self.bug == "backwards" else beam_idx
        self.kept = self.kept[rows]


class Backwards(Inside):
    bug = "backwards"


def of_a_model(ids, cache=None):
    """A dictionary of lists of arrays."""
    logits, kept = modelling.run(ids, past=None if cache is None else cache["layers"])
    return logits, {"layers": [list(each) for each in kept], "seen": kept[0][0].shape[1]}


def places_stay(ids, cache=None):
    """Where each row of the prompt began stays with the model."""
    logits, cache = of_a_model(ids, cache)
    if cache["seen"] == ids.shape[1]:
        PROMPT[:] = [ids[:, :1]]
    return logits + np.float32(0.1) * PROMPT[0][..., None], cache


PROMPT: list[np.ndarray] = []

RIGHT = {
    "tuple": ("decode", decode()),
    "object": ("decode", by_object(Rows)),
    "method of the cache": ("decode", by_object(Reordering)),
    "method of the target": ("decode", OwnMethod),
    "inside": ("decode", Inside),
    "model": ("model", of_a_model),
}

BUGS = {
    "values stay": ("decode", by_object(ValuesStay)),
    "rows are cleared": ("decode", by_object(LosesRows)),
    "in order": ("decode", InOrder),
    "backwards": ("decode", Backwards),
    "rows stay with the function": ("decode", remembers_rows()),
    "prompts stay with the model": ("model", places_stay),
}


class Place:
    """One place for keys and values."""

    def __init__(self):
        self.k = np.zeros((8, 2, 200, 16), "f4")
        self.v, self.n = self.k.copy(), 0


class OnePlace:
    """The same cache is handed out for every sequence: it lives in the target, and begins anew."""

    def __init__(self):
        self.place = Place()

    def __call__(self, q, k, v):
        return attend(q, k, v, 0)

    def init_cache(self):
        self.place.n = 0
        return self.place

    def step(self, q, k, v, cache):
        b, _, t, d = q.shape
        if b > 8 or d > 16 or cache.n + t > 200:
            raise ValueError("too much for the cache")
        cache.k[:b, :, cache.n : cache.n + t, :d], cache.v[:b, :, cache.n : cache.n + t, :d] = k, v
        cache.n += t
        k, v = (x[:b, :, : cache.n, :d].astype(q.dtype) for x in (cache.k, cache.v))
        return attend(q, k, v, cache.n - t), cache


def one_place():
    """Views of one array come back; a call without a cache begins anew."""
    place = np.zeros((2, 8, 2, 200, 64))

    def target(q, k, v, cache=None):
        b, h, t, d = q.shape
        past = 0 if cache is None else cache[0].shape[-2]
        place[0, :b, :h, past : past + t, :d], place[1, :b, :h, past : past + t, :d] = k, v
        k, v = place[:, :b, :h, : past + t, :d]
        return attend(q, k.astype(q.dtype), v.astype(q.dtype), past), (k, v)

    return target


ONE = {"object": OnePlace, "views": one_place()}


class OfTheClass(OnePlace):
    """The place belongs to the class, so that two objects share it."""

    shared = Place()

    def __init__(self):
        self.place = self.shared


class BySize(OnePlace):
    """Places are kept by the size of the batch, for all objects."""

    places: ClassVar = {}

    def init_cache(self, batch=2):
        self.place = self.places.setdefault(batch, Place())
        return super().init_cache()


PER_OBJECT = {
    "of the object": (OnePlace, "holds"),
    "of the class": (OfTheClass, "fails"),
    "by size": (BySize, "fails"),
}
"""Whose the single cache is, and what becomes of two objects."""
