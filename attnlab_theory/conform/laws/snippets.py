"""Snippets that show a law broken: at most 15 lines that need the target and numpy."""

from attnlab_theory.conform import scales
from attnlab_theory.conform.callers import Place
from attnlab_theory.conform.codes import begun, framed
from attnlab_theory.conform.laws.attending import COUNTS, Approximation
from attnlab_theory.conform.laws.dice import Dice
from attnlab_theory.conform.laws.drawing import Drawing
from attnlab_theory.conform.laws.mapping import COUNT, PLACED, FeatureDraw
from attnlab_theory.conform.layouts import LAYOUTS

OF_DROPOUT = ("rate 0", "weights", "factor", "independent", "share", "mean")
"""What `of_dropout` shows; what one or two calls show is shown by these."""

OF_FEATURES = ("kernel", "variance", "independent", "constant values", "approximates", "shrinks")
"""What `of_features` and `of_attention` show."""


def _thrown(dice: Dice) -> str:
    """The argument of a call by seed i."""
    words = {
        "numpy": "np.random.default_rng(i)",
        "torch": "torch.Generator().manual_seed(i)",
        "jax": "jax.random.PRNGKey(i)",
    }
    return f", {dice.name}={words.get(dice.style, 'i')}" if dice.name else ""


def _each(dice: Dice, call: str, draws: int, framework: str) -> str:
    """The line that makes many calls."""
    seeded = "" if dice.name else "np.random.seed(i) or "
    seeded += "torch.manual_seed(i) and " * (framework == "torch" and not dice.name)
    call = call if framework == "numpy" else f"np.asarray({call})"
    return f"draws = np.array([{seeded}{call} for i in range({draws})])"


def of_dropout(place: Place, drawing: Drawing) -> list[str]:
    """Which weights are dropped, and at a rate of 0 the output: with equal scores a row is then 1 / 8."""
    names, width = drawing.names, 8 if drawing.same_width else 4
    flags = f", {names['training']}=True" if "training" in names else ""
    flags += f", {names['evaluating']}=False" if "evaluating" in names else ""
    x = (1 / (scales.factor(drawing.scale, width) * width)) ** 0.5
    framework = drawing.asker.framework
    handed = ", ".join(framed(LAYOUTS[drawing.asker.layout].format(x=name), framework) for name in "qkv")
    call = f"{place.names}({handed}, {names['rate']}=%s{_thrown(drawing.dice)}{flags})"
    words = {"b": "elements", "h": "heads", "t": "queries", "d": "keys"}
    axes = ["calls", *(words[axis] for axis in drawing.asker.layout)]
    return [
        *begun(place, framework),
        f"q = k = np.full((2, 2, 8, {width}), {x:.9g}, 'float32')",
        "v = np.zeros((2, 2, 8, 8), 'float32') + np.eye(8, dtype='float32')",
        _each(drawing.dice, call % 0.5, 200, framework),
        "print('dropped', np.mean(draws < 1 / 32), 'where 0.5 is right')",
        "print('kept weights are times', 8 * np.median(draws[draws > 1 / 32]), 'where 2 is right')",
        f"for n, of in enumerate({axes}):",
        "    print(of, 'beside each other agree in', 1 - np.diff(draws == 0, axis=n).mean(), 'where 0.5 is right')",
        "i = 0",
        f"print('at rate 0', 8 * np.asarray({call % 0.0}).flat[0], 'where 1 is right')",
    ]


def of_features(place: Place, drawing: FeatureDraw) -> list[str]:
    """The mean of products of features, beside the kernel."""
    names, layout, framework = drawing.names, drawing.asker.layout, drawing.asker.framework
    width = PLACED.shape[-1]
    fixed = f", {names['count']}={COUNT}" if "count" in names else ""
    if "projection" in names:
        turned = ".T" if drawing.turned else ""
        drawn = f"np.random.default_rng(i).standard_normal(({COUNT}, {width})){turned}.astype('float32')"
        fixed += f", {names['projection']}={framed(drawn, framework)}"
    else:
        fixed += _thrown(drawing.dice)
    query = [f", {names['query']}={flag}" if "query" in names else "" for flag in (True, False)]
    one, other = (framed(LAYOUTS[layout].format(x=f"{x}[None, None]"), framework) for x in "qk")
    calls = [f"{place.names}({x}{fixed}{flag})" for x, flag in zip((one, other), query, strict=True)]
    scale = scales.factor(drawing.scale, width)
    right = {"softmax": "{s} * (q * k).sum(-1)", "gaussian": "-{s} * ((q - k) ** 2).sum(-1) / 2"}[drawing.kernel]
    return [
        *begun(place, framework),
        f"q = np.array({PLACED[:, 0].tolist()}, 'float32')",
        f"k = np.array({PLACED[:, 1].tolist()}, 'float32')",
        _each(drawing.dice, f"({calls[0]} * {calls[1]}).sum(-1).reshape(-1)", 1000, framework),
        "print('means', draws.mean(0), 'standard errors', draws.std(0) / 1000**0.5)",
        f"print('kernel', np.exp({right.format(s=scale)}))",
    ]


def of_attention(place: Place, target: Approximation) -> list[str]:
    """The mean of attention by features, beside softmax attention."""
    names, layout, framework = target.names, target.asker.layout, target.asker.framework
    fixed = f", {names['count']}={COUNTS[-1]}" if "count" in names else ""
    handed = ", ".join(framed(LAYOUTS[layout].format(x=f"{x}[None, None]"), framework) for x in "qkv")
    call = f"{place.names}({handed}{fixed}{_thrown(target.dice)})"
    hidden = " + np.triu(np.full((6, 6), -np.inf), 1)" if target.causal else ""
    return [
        *begun(place, framework),
        "r = np.random.default_rng(0)",
        "q, k, v = (x * r.standard_normal((6, 4)).astype('float32') for x in np.float32([0.3, 0.3, 1]))",
        _each(target.dice, f"{call}.reshape(6, 4)", 500, framework),
        f"weights = np.exp(q @ k.T * {target.factor(4):g}{hidden})",
        "right = weights @ v / weights.sum(-1, keepdims=True)",
        "print('off by', np.abs(draws.mean(0) - right).max(), 'error of a draw', (draws - right).std())",
        "print('the first two draws', draws[:2, 0])",
    ]
