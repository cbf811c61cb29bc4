"""Statements for a terminal: the formulas of LaTeX in the letters of Unicode."""

import re
from collections.abc import Iterator

LETTERS = {
    **{"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "theta": "θ", "lambda": "λ"},
    **{"mu": "μ", "xi": "ξ", "rho": "ρ", "sigma": "σ", "phi": "φ", "chi": "χ", "Delta": "Δ", "Sigma": "Σ"},
    **{"Phi": "Φ", "nabla": "∇", "sum": "Σ", "prod": "Π", "int": "∫", "infty": "∞", "top": "T", "perp": "⊥"},
    **{"cdot": "·", "to": " → ", "leq": " ≤ ", "le": " ≤ ", "geq": " ≥ ", "ge": " ≥ ", "neq": " ≠ ", "pm": " ± "},
    **{"approx": " ≈ ", "gg": " ≫ ", "ll": " ≪ ", "sim": " ~ ", "ldots": "…", "lVert": "‖", "rVert": "‖", "|": "‖"},
    **{"lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", ",": " ", "{": "{", "}": "}"},
}
"""The Unicode for a command of LaTeX. A command that is missing here is printed as its name, such as ln."""

FONTS = {"mathbb", "mathrm", "text", "operatorname"}

RAISED = str.maketrans("0123456789+-−nT", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻ⁿᵀ")
LOWERED = str.maketrans("0123456789+-−", "₀₁₂₃₄₅₆₇₈₉₊₋₋")

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|.", re.DOTALL)


def plain(text: str) -> str:
    """A statement whose $formulas$ are written without LaTeX.

    Args:
        text: of a claim. What stands between two dollars is a formula.
    """
    parts = text.split("$")
    return "".join(_formula(part) if i % 2 else part for i, part in enumerate(parts))


def _formula(latex: str) -> str:
    text = re.sub(r" {2,}", " ", "".join(_pieces(iter(TOKEN.findall(latex))))).strip()
    return re.sub(r"(?<=[(\[]) | (?=[)\]])", "", text)


def _pieces(tokens: Iterator[str]) -> Iterator[str]:
    for token in tokens:
        if token == "}":
            return
        yield _piece(token, tokens)


def _piece(token: str, tokens: Iterator[str]) -> str:
    if token == "{":
        return _joined(tokens)
    if token == "^":
        return _moved("^", RAISED, _next(tokens))
    if token == "_":
        return _moved("_", LOWERED, _next(tokens))
    name = token.removeprefix("\\")
    if name == token:
        return token
    if name == "frac":
        above, below = _next(tokens), _next(tokens)
        return f"{_grouped(above)}/{_grouped(below)}"
    if name == "binom":
        above, below = _next(tokens), _next(tokens)
        return f"C({above}, {below})"
    if name == "sqrt":
        return f"√{_grouped(_next(tokens))}"
    if name in FONTS:
        return _next(tokens)
    # A function stands apart from what is before it: D tanh(x), not Dtanh(x).
    return LETTERS.get(name) or f" {name}"


def _joined(tokens: Iterator[str]) -> str:
    return "".join(_pieces(tokens))


def _next(tokens: Iterator[str]) -> str:
    """The argument of a command: a group in braces, or the token after it."""
    token = next((token for token in tokens if token != " "), "")
    return _piece(token, tokens).strip()


def _grouped(text: str) -> str:
    return text if len(text) == 1 or text.isdigit() else f"({text})"


def _moved(mark: str, letters: dict[int, int], text: str) -> str:
    moved = text.translate(letters)
    if all(a != b for a, b in zip(text, moved, strict=True)):
        return moved
    if len(text) == 1:
        return mark + text
    return f"{mark}{text} " if text.isalpha() else f"{mark}({text})"
