"""Snippets that show a law broken: at most 15 lines that need the target and numpy."""

from attnlab_theory.conform import scales
from attnlab_theory.conform.attention.cases import Case
from attnlab_theory.conform.attention.layouts import LAYOUTS
from attnlab_theory.conform.callers import Place
from attnlab_theory.conform.laws.attending import COUNTS, Approximation
from attnlab_theory.conform.laws.dice import Dice
from attnlab_theory.conform.laws.drawing import Drawing
from attnlab_theory.conform.laws.mapping import COUNT, PLACED, FeatureDraw


def _begun(place: Place) -> list[str]:
    return [
        "import sys",
        "import numpy as np",
        f"sys.path.insert(0, {place.folder!r})",
        f"from {place.module} import {place.names.partition('.')[0]}",
    ]


def _thrown(dice: Dice) -> str:
    """The argument of a call by seed i."""
    if not dice.name:
        return ""
    return f", {dice.name}={'np.random.default_rng(i)' if dice.style == 'numpy' else 'i'}"


def _each(dice: Dice, call: str, draws: int) -> str:
    """The line that makes many calls."""
    seeded = "" if dice.name else "np.random.seed(i) or "
    return f"draws = np.array([{seeded}{call} for i in range({draws})])"


def of_dropout(place: Place, drawing: Drawing) -> list[str]:
    """Which weights are dropped, and at a rate of 0 the output: with equal scores a row is then 1 / 8."""
    names, width = drawing.names, 8 if drawing.way.same_width else 4
    flags = f", {names['training']}=True" if "training" in names else ""
    flags += f", {names['evaluating']}=False" if "evaluating" in names else ""
    x = (1 / (drawing.way.factor(Case(width=width)) * width)) ** 0.5
    handed = ", ".join(LAYOUTS[drawing.asker.layout].format(x=name) for name in "qkv")
    call = f"{place.names}({handed}, {names['rate']}=%s{_thrown(drawing.dice)}{flags})"
    return [
        *_begun(place),
        f"q = k = np.full((2, 2, 8, {width}), {x:.9g}, 'float32')",
        "v = np.zeros((2, 2, 8, 8), 'float32') + np.eye(8, dtype='float32')",
        _each(drawing.dice, call % 0.5, 200),
        "print('dropped', np.mean(draws < 1 / 32), 'where 0.5 is right')",
        "print('kept weights are times', 8 * np.median(draws[draws > 1 / 32]), 'where 2 is right')",
        "print('as a call before', np.mean((draws[1:] == 0) == (draws[:-1] == 0)), 'where 0.5 is right')",
        "i = 0",
        f"print('at rate 0', 8 * {call % 0.0}.flat[0], 'where 1 is right')",
    ]


def of_features(place: Place, drawing: FeatureDraw) -> list[str]:
    """The mean of products of features, beside the kernel."""
    names, layout = drawing.names, drawing.asker.layout
    width = PLACED.shape[-1]
    fixed = f", {names['count']}={COUNT}" if "count" in names else ""
    if "projection" in names:
        turned = ".T" if drawing.turned else ""
        drawn = f"np.random.default_rng(i).standard_normal(({COUNT}, {width})){turned}.astype('float32')"
        fixed += f", {names['projection']}={drawn}"
    else:
        fixed += _thrown(drawing.dice)
    query = [f", {names['query']}={flag}" if "query" in names else "" for flag in (True, False)]
    one, other = (LAYOUTS[layout].format(x=f"{x}[None, None]") for x in "qk")
    calls = [f"{place.names}({x}{fixed}{flag})" for x, flag in zip((one, other), query, strict=True)]
    scale = scales.factor(drawing.scale, width)
    right = {"softmax": "{s} * (q * k).sum(-1)", "gaussian": "-{s} * ((q - k) ** 2).sum(-1) / 2"}[drawing.kernel]
    return [
        *_begun(place),
        f"q = np.array({PLACED[:, 0].tolist()}, 'float32')",
        f"k = np.array({PLACED[:, 1].tolist()}, 'float32')",
        _each(drawing.dice, f"({calls[0]} * {calls[1]}).sum(-1).ravel()", 1000),
        "print('means', draws.mean(0), 'standard errors', draws.std(0) / 1000**0.5)",
        f"print('kernel', np.exp({right.format(s=scale)}))",
    ]


def of_attention(place: Place, target: Approximation) -> list[str]:
    """The mean of attention by features, beside softmax attention."""
    names, layout = target.names, target.asker.layout
    fixed = f", {names['count']}={COUNTS[-1]}" if "count" in names else ""
    handed = ", ".join(LAYOUTS[layout].format(x=f"{x}[None, None]") for x in "qkv")
    call = f"{place.names}({handed}{fixed}{_thrown(target.dice)})"
    hidden = " + np.triu(np.full((6, 6), -np.inf), 1)" if target.causal else ""
    return [
        *_begun(place),
        "r = np.random.default_rng(0)",
        "q, k, v = (x * r.standard_normal((6, 4)).astype('float32') for x in np.float32([0.3, 0.3, 1]))",
        _each(target.dice, f"{call}.reshape(6, 4)", 500),
        f"weights = np.exp(q @ k.T * {target.factor(4):g}{hidden})",
        "right = weights @ v / weights.sum(-1, keepdims=True)",
        "print('off by', np.abs(draws.mean(0) - right).max(), 'error of a draw', (draws - right).std())",
        "print('the first two draws', draws[:2, 0])",
    ]
