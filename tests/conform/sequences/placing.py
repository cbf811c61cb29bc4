"""Decoders whose caller says where tokens stand, or asks for the cache."""

import numpy as np

from tests.conform.sequences.decoding import attend


def turned(x, places):
    """Rotary positions; places are [t] or [b t]."""
    half = x.shape[-1] // 2
    angles = np.asarray(places)[..., None] * 10000.0 ** (-np.arange(half) / half)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate((a * cos - b * sin, a * sin + b * cos), -1)


def continued(x, places, cache):
    k, v = turned(x, places), x
    if cache is not None:
        k, v = (np.concatenate(each, 1) for each in zip(cache, (k, v), strict=True))
    return attend(turned(x, places), k, v, k.shape[1] - x.shape[1]), (k, v)


def by_start(x, start_pos=0, cache=None):
    return continued(x, np.arange(x.shape[1]) + start_pos, cache)


def by_required_start(x, start_pos, cache=None):
    return by_start(x, start_pos, cache)


def by_places(x, position_ids=None, past_key_value=None):
    """[b t], as decoders of transformers."""
    places = np.arange(x.shape[1])[None] if position_ids is None else position_ids
    assert places.ndim == 2
    return continued(x, places, past_key_value)


def by_required_places(x, cache_position, past_key_value=None):
    assert cache_position.shape == (x.shape[1],)
    return continued(x, cache_position, past_key_value)


def when_asked(x, layer_past=None, use_cache=False):
    """A cache comes back if it is asked for."""
    past = 0 if layer_past is None else layer_past[0].shape[1]
    out, cache = continued(x, np.arange(x.shape[1]) + past, layer_past)
    return out, cache if use_cache else None


RIGHT = {
    by_start: "is told, of the first one",
    by_required_start: "is told, of the first one",
    by_places: "is told, [b t]",
    by_required_places: "is told, [t]",
    when_asked: "",
}


def keys_begin_again(x, start_pos=0, cache=None):
    """Keys stand where the step begins, whatever the caller says."""
    k, v = turned(x, np.arange(x.shape[1])), x
    if cache is not None:
        k, v = (np.concatenate(each, 1) for each in zip(cache, (k, v), strict=True))
    return attend(turned(x, np.arange(x.shape[1]) + start_pos), k, v, k.shape[1] - x.shape[1]), (k, v)


def off_by_one_later(x, start_pos=0, cache=None):
    """A step after the first stands one place too far."""
    return by_start(x, start_pos + (start_pos > 6), cache)


def forgets_when_asked(x, layer_past=None, use_cache=False):
    """The newest value of a step is lost."""
    out, cache = when_asked(x, layer_past, use_cache)
    if cache is not None and layer_past is not None:
        cache = cache[0], np.concatenate((cache[1][:, :-1], layer_past[1][:, -1:]), 1)
    return out, cache


WRONG = (keys_begin_again, off_by_one_later, forgets_when_asked)
