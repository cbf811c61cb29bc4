"""What a mask means to a target, and which shape it must have: each query is shown one key or a few."""

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform.attention.cases import Case
from attnlab_theory.conform.attention.conventions import Conventions
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.layouts import has_batch
from attnlab_theory.conform.attention.masks import KEYS_MEAN, MEANINGS, SHAPES, WORDS
from attnlab_theory.conform.attention.padding import follows
from attnlab_theory.conform.attention.probe import probed
from attnlab_theory.conform.attention.profiles import Profile, contradicts
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.finding import Trouble
from attnlab_theory.conform.kinds import Kind


def masked(caller: Caller, kind: Kind, declared: Mapping[str, Any], profile: Profile) -> Profile:
    """What a mask means.

    Args:
        caller: of the target.
        kind: what it promises.
        declared: fields of `Conventions` that are known.
        profile: so far.
    """
    way, lines = profile.way, list(profile.lines)
    takes_bias = kind.wants == "bias" and "bias" not in way.names
    idle = way if "mask" in way.musts else dataclasses.replace(way, mask="")
    way = dataclasses.replace(way, mask="")
    if "mask" not in way.names or takes_bias or declared.get("mask") == "none":
        return Profile(way, lines, profile.failures)
    case = fitted(Case(queries=6, keys=6), kind, way)
    keep = (np.arange(6) <= np.arange(6)[:, None]) & (np.arange(6) % 2 == np.arange(6)[:, None] % 2)
    meanings = [declared["mask"]] if declared.get("mask") else MEANINGS
    shapes = SHAPES if has_batch(way.layout) else SHAPES[:1]
    trouble, unlike, taken = None, None, ""
    for shape, meaning in itertools.product(shapes, meanings):
        if taken not in ("", shape):
            # It takes a mask of another shape, and does something else with it.
            break
        trial = dataclasses.replace(way, mask=meaning, mask_shape=shape)
        seen = probed(caller, trial, case, keep)
        if seen.equals(way.visible(case, keep)):
            way = trial
            break
        trouble = trouble or seen.trouble
        if not seen.trouble:
            unlike, taken = unlike or seen, shape
    name = way.names["mask"]
    if not way.mask and trouble and way.is_causal(case) and way.causal == "asked":
        beside = dataclasses.replace(case, causal=False)
        trials = [dataclasses.replace(way, mask=each) for each in MEANINGS]
        if not all(probed(caller, each, beside, keep).trouble for each in trials):
            lines.append((f"{name} and {way.names['causal']}", f"refused together: {trouble}"))
            return Profile(idle, lines, profile.failures)
    if not way.mask and unlike is None and (of_keys := _of_keys(caller, kind, way)) is not None:
        return Profile(of_keys, lines, profile.failures)
    if not way.mask:
        if unlike is None:
            profile.failures.append(("masks", trouble.of(name) if trouble else f"{name}: "))
        else:
            line = f"{name}: weights do not follow it, whether it is read as {_READ}"
            contradicts(caller, profile, "masks", line, unlike, way.visible(case, keep)[0, 0])
        return Profile(idle, lines, profile.failures)
    mark = " (declared)" if declared.get("mask") else " (guessed)"
    axes = "" if way.mask_shape == "ts" else f", as [{' '.join(way.mask_shape)}]"
    lines.append((name, WORDS[way.mask] + axes + mark))
    if case.batch * case.heads > 1:
        by_head = np.broadcast_to(keep, (case.batch, case.heads, 6, 6))
        way = dataclasses.replace(
            way, by_head=way.mask_shape != "bts" and not probed(caller, way, case, by_head).trouble
        )
        lines.append(("a mask for each head", "taken" if way.by_head else "not taken"))
    return Profile(way, lines, profile.failures)


_READ = "True keeps, True drops, 1 keeps, 1 drops or numbers added"


def _of_keys(caller: Caller, kind: Kind, way: Conventions) -> Conventions | None:
    """A way whose mask is one of keys, [b s], as those of tokenizers; None if it takes none, or has another."""
    if not has_batch(way.layout) or "padding" in way.names or "mask" in way.musts:
        return None
    names = {("padding" if role == "mask" else role): x for role, x in way.names.items()}
    for meaning in KEYS_MEAN:
        trial = dataclasses.replace(way, names=names, padding=meaning)
        if not isinstance(follows(caller, kind, trial, {"padding": "end"}), Trouble):
            return trial
    return None
