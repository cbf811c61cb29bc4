"""What each batch element has of its own: a mask [b 1 t s], a mask of keys [b s], a number of keys [b], a bias."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform.attention.asking import ask
from attnlab_theory.conform.attention.cases import Case, arrays
from attnlab_theory.conform.attention.conventions import Conventions
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.layouts import has_batch
from attnlab_theory.conform.attention.masks import KEYS_MEAN, WORDS
from attnlab_theory.conform.attention.reference import attend
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.finding import Trouble
from attnlab_theory.conform.kinds import Kind
from attnlab_theory.conform.recording import remembered, saw

UNLIKE = "weights do not follow it"

FIELDS = {"padding": {"padding": "end"}, "lengths": {"lengths": True}}


def padded(
    caller: Caller, kind: Kind, way: Conventions, failures: list[tuple[str, Trouble | str]]
) -> tuple[Conventions, list[tuple[str, str]]]:
    """Find out what of that a target takes, and what its mask of keys means.

    Args:
        caller: of the target.
        kind: what it promises.
        way: to call it, but for this.
        failures: what no meaning explains is added here.

    Returns:
        The way, and lines of the profile.

    Raises:
        ValueError: if what must be given cannot be understood beside a hidden future.
    """
    lines: list[tuple[str, str]] = []
    if not has_batch(way.layout):
        return way, lines
    if way.mask:
        taken = follows(caller, kind, way, {"mask": "element end"})
        way = dataclasses.replace(way, by_element=not isinstance(taken, Trouble))
    if "bias" in way.names and kind.wants != "bias":
        plain, whole = (dataclasses.replace(way, whole_bias=each) for each in (False, True))
        wrong, right = (follows(caller, kind, each, {"bias": True}) for each in (plain, whole))
        if wrong is not None and right is None:
            way = whole
    if "bias" in way.names or kind.wants == "bias":
        taken = follows(caller, kind, way, {"bias": True, "bias_by_element": True})
        way = dataclasses.replace(way, bias_by_element=not isinstance(taken, Trouble))
        lines.append(("a bias for each batch element", "taken" if way.bias_by_element else "not taken"))
    for role, more in FIELDS.items():
        if role not in way.names:
            continue
        name, found = way.names[role], None
        for meaning in KEYS_MEAN if role == "padding" else ("",):
            trial = dataclasses.replace(way, padding=meaning or way.padding)
            found = follows(caller, kind, trial, more)
            if found is None:
                way = trial
                words = {**WORDS, "bool-drop": "True hides", "": "keys that count"}
                lines.append((name, words[meaning] + " (guessed)"))
                break
        else:
            said = f"refused: {found}" if isinstance(found, Trouble) else UNLIKE
            beside = kind.causal or kind.wants == "window"
            if role in way.musts and beside:
                raise ValueError(f"{caller.name} must be given {name}, beside a hidden future: {said}")
            if role not in way.musts:
                names = {each: x for each, x in way.names.items() if each != role}
                way = dataclasses.replace(way, names=names)
            if beside:
                lines.append((name, f"not judged beside a hidden future: {said}"))
            else:
                wrong = found.of(f"{name}: refused") if isinstance(found, Trouble) else f"{name}: {said}"
                failures.append(("padding by element", wrong))
                if not isinstance(wrong, Trouble):
                    remembered(caller, "padding by element")
    return way, lines


def follows(caller: Caller, kind: Kind, way: Conventions, more: Mapping[str, Any]) -> Trouble | np.ndarray | None:
    """None if the answer is about right; else the trouble, or how far each entry is off.

    Args:
        caller: of the target.
        kind: what it promises.
        way: to call it.
        more: fields of the case.
    """
    case = fitted(dataclasses.replace(Case(batch=3, queries=8, keys=8), **more), kind, way)
    answer = ask(caller, way, case)
    if answer.trouble:
        return answer.trouble
    right = attend(way.problem(arrays(case), case)).output
    near = np.isclose(answer.output, right, atol=1e-2, equal_nan=True) | np.isnan(right)
    if near.all():
        return None
    gap = np.where(near, 0.0, 1 + np.abs(answer.output - right))
    saw(caller, answer.output, right, gap)
    return gap
