"""A hypothesis holds where its words say so: on its edge, a little inside and a little beyond."""

import ast
import dataclasses
import enum
import itertools
import math
from typing import Any

import pytest

from attnlab_theory.claims import CLAIMS, Claim, Setting

ALSO_CALLED = {
    "L": ("sum_square",),
    "D": ("difference_square",),
    "a": ("variance",),
    "n": ("blocks",),
    "r": ("rank", "random_blocks"),
}
"""Letters of hypotheses and the fields that they stand for where no field has that name."""

WORDS = {
    "rule = sum": "rule == 'sum'",
    "rule = delta": "rule == 'delta'",
    "least squares": "solver == 'least squares'",
    "width <= model": "width <= model_width",
    "rho = 1 or at most 0.99": "rho == 1 or rho <= 0.99",
    "distances <= 4 or >= d^2": "distances <= 4 or distances >= d**2",
    "heads are even": "heads % 2 == 0",
    "the parts fit": "heads * width <= model_width",
    "the last token": "start == stop == n",
    "the middle token": "start == stop == n // 2",
    "d is 64 or 128": "d in (64, 128)",
    "d is a power of two": "d & (d - 1) == 0",
    "c is 448 or a power of two": "factor in (448, 1, 2, 4, 8, 16, 32, 64, 128, 256)",
    "groups of 4 to 256": "4 <= size <= 256",
    "no offset, or one of 8 at least": "offset == 0 or offset >= 8",
    "n <= 4 d": "n <= 4 * d",
    "64 divides t": "t % 64 == 0",
    "1/8 <= a < 1/4: a mean and no variance": "1/8 <= a < 1/4",
    "A = I or -I, V = I": "scores != 'general'",
    "A is orthogonal to B": "angle == math.pi / 2",
    "E[alpha_a^2]": "power_a == 2 and power_b == 0",
    "L > 0 and D > 0: else the variance is zero": "L > 0 and D > 0",
    "Q and K are apart": "kind == 'free'",
    "Q is K": "kind == 'shared'",
    "Sobol points": "coupling == 'quasi-Monte Carlo'",
    "a cache is causal": "causal or name != 'cached'",
    "a global block": "global_blocks > 0",
    "a layer before": "layer > 1",
    "a map without axes of its own": "estimator in ('trigonometric', 'positive', 'hyperbolic')",
    "a mixture of two or three keys": "share >= 0.001 and 1 - share - third >= 0.001 "
    "and (third == 0 or third >= 0.001)",
    "a moment of the list": "(power_a, power_b) in ((1, 0), (2, 0), (1, 1))",
    "a pair of 16 keys": "size == 2 and n == 16",
    "a parameter of generalized features": "estimator == 'generalized exponential' or a == 0",
    "a parameter of generalized or dense features": "estimator in ('generalized exponential', 'dense exponential') "
    "or a == 0",
    "a query for the pair": "on_others == 0",
    "a range for a": "0 <= low_a < high_a <= 1",
    "a range for b": "0 <= low_b < high_b <= 1",
    "a range of shares": "0 <= low < high <= 1",
    "a squared error": "power == 2",
    "a window has a middle": "window % 2 == 1",
    "a window of 3": "window == 3",
    "an answer but zero": "answer != 'zero'",
    "an answer of one query": "answer != 'the key itself'",
    "an estimate": "power == 1",
    "at least three layers": "layers >= 3",
    "attention": "kind == 'attention'",
    "both keys score alike": "answer in ('largest margin', 'largest margin in the maximum norm')",
    "d = 2: errors are integrals over the plane": "d == 2",
    "d is even": "d % 2 == 0",
    "distances below base / 4": "octave <= 9",
    "each key's own": "subtracted == 'largest of each key'",
    "even weights": "kind == 'even'",
    "exact attention, or features without a causal mask": "kind in ('exact', 'features')",
    "features, or the operations of Linformer": "kind == 'features' or kind == 'linformer' and field != 'bytes'",
    "hyperbolic features": "estimator == 'hyperbolic'",
    "hyperbolic: tilt 2": "estimator == 'positive' or tilt == 2",
    "independent projections": "coupling == 'independent'",
    "inputs are independent": "0 <= correlation <= 0.99",
    "n is odd": "n % 2 == 1",
    "no attention": "kind != 'attention'",
    "no key has a maximum of its own": "subtracted != 'largest of each key'",
    "the maximum over all positions": "maximum == 'all positions'",
    "the maximum so far": "maximum == 'positions so far'",
    "no global block": "global_blocks == 0",
    "no positions and no mask": "told in ('nothing', 'learned, still zero')",
    "no random links": "random_blocks == 0",
    "no token is compared": "kind in ('even', 'random') or kind == 'dense' and replaced == 'the others'",
    "nothing but a window": "random_blocks == 0 and not global_blocks",
    "nothing is added": "eps == 0",
    "one head or two": "heads in (1, 2)",
    "one head": "heads == 1",
    "one layer": "layers == 1",
    "orthogonal projections": "coupling == 'orthogonal'",
    "positive features": "estimator == 'positive'",
    "positive or hyperbolic features": "estimator in ('positive', 'hyperbolic')",
    "projections of norm sqrt(d)": "coupling == 'orthogonal, norms sqrt(d)'",
    "random links": "random_blocks > 0",
    "share": "0 < share < 1",
    "tabled": "d in (2, 3, 4, 8)",
    "the extractor alone": "blend == 1",
    "the features are positive": "estimator in ('positive', 'hyperbolic')",
    "the heads divide the width": "heads > 0 and d % heads == 0",
    "the key is shortened": "0 < length < 1",
    "the mean of the two": "answer == 'mean of the first two'",
    "the mean": "order == 1",
    "the projector alone": "blend == 0",
    "the query is zero": "answer == 'zero'",
    "the variance": "order == 2",
    "the width is even": "d % 2 == 0",
    "they fit": "m <= d - n",
    "they meet": "common > 0",
    "trigonometric features": "estimator == 'trigonometric'",
    "two heads": "heads == 2",
    "two layers": "layers == 2",
    "two or three rows": "length in (2, 3)",
}
"""Hypotheses in words, as formulas in the fields of their settings."""

COMPUTED: dict[str, list[tuple[dict[str, Any], bool]]] = {
    "(1 - skip) / window to the layers >= 1e-30": [({"layers": 33}, True), ({"layers": 34}, False)],
    "halvings > digits": [({"halvings": 9}, True), ({"halvings": 8}, False)],
    "as many steps as twice the number": [({"steps": 512}, True), ({"steps": 511}, False)],
    "d^power <= 4096": [({"d": 64, "power": 2}, True), ({"d": 65, "power": 2}, False)],
    "latent^2 >= 2 d": [({"latent": 4, "d": 8}, True), ({"latent": 3, "d": 8}, False)],
    "some pair never turned": [({"length": 4096}, True), ({"length": 10**7}, False)],
    "the sink leads": [({"n": 1, "w": 0.5}, True), ({"n": 1, "w": 0.49}, False)],
    "no power is near a tie": [({"n": 1000, "w": 0.5}, True), ({"n": 1024, "w": 0.5}, False)],
    "2^-9 or less": [({"halvings": 9}, True), ({"halvings": 8}, False)],
    "steps of 1.5 standard deviations at most": [
        ({"offset": 9.0, "levels": 10}, True),
        ({"offset": 9.01, "levels": 10}, False),
    ],
    "trigonometric features: D <= 30": [
        ({"estimator": "trigonometric", "difference_square": 30.0}, True),
        ({"estimator": "trigonometric", "difference_square": 31.0}, False),
    ],
    "blocks fit": [({"kind": "blocked", "t": 65}, False), ({"kind": "blocked", "t": 64}, True)],
    "below eight times the size": [({"field": "bytes", "size": 1}, False), ({"field": "bytes", "size": 64}, True)],
    "blocks and chunks fit": [({"kind": "linformer", "size": 0}, False), ({"kind": "linformer", "size": 1}, True)],
    "12 steps are enough to settle": [
        ({"gain": 2.0, "drive": 0.2}, True),
        ({"gain": 2.0, "drive": 0.001}, False),
    ],
    "members are numbers of keys": [({"members": members}, False) for members in ((), (0, 9), (2, 0), (0, 0))],
    "no rows read each other": [({"routes": (1, 0, 0)}, False), ({"routes": (0, 0, 1)}, True)],
    "places are the members'": [({"members": (3,)}, False), ({"places": ()}, False)],
    "scores spread by 300 at most": [
        ({"beta": 30.0, "variance": 49.0}, True),
        ({"beta": 30.0, "variance": 51.0}, False),
    ],
    "no score spreads by more than 300": [
        ({"variance": 1.0, "on_a": 300.0, "on_b": 0.0, "on_others": 0.0}, True),
        ({"variance": 1.0, "on_a": 301.0, "on_b": 0.0, "on_others": 0.0}, False),
        ({"n": 18, "variance": 1.0, "on_a": 0.0, "on_b": 0.0, "on_others": 75.5}, False),
    ],
    "300 turns are enough": [({"n": 16, "d": 1, "trial": 1}, True), ({"n": 16, "d": 1, "trial": 2}, False)],
    "the best query was sought": [({"variance": 0.1}, True), ({"variance": 0.11}, False)],
    "two heads' best is known": [({"variance": 2e-6}, True), ({"variance": 3e-6}, False)],
    "a strength of the figure": [({"strength": 3.0}, True), ({"strength": 2.0}, False)],
    "at capacity": [({"n": 4}, True), ({"n": 5}, False)],
    "beyond 0.138 d": [({"n": 2, "d": 8}, True), ({"n": 1, "d": 8}, False)],
    "n > N: somebody is left to hear of": [({"blocks": 12}, True), ({"blocks": 11}, False)],
    "only a stretched key is missed": [
        ({"beta": 25.0, "variance": 1e-4}, True),
        ({"beta": 24.999, "variance": 1e-4}, False),
    ],
    "r as promised": [({"r": 188}, False), ({"r": 190}, False)],
    "so many that a layer is nearly cubic": [({"layers": 3}, False)],
    "the diagonal dominates the row": [({"key": key}, True) for key in range(4)],
    "the rank is the degree's": [({"rank": 2}, False), ({"rank": 4}, False)],
    "the subset is a face": [({"members": (1,)}, False), ({"members": (0, 1)}, False)],
    "the subset is not a face": [({"members": (0,)}, False)],
    "e^beta >= 20 n": [({"beta": math.log(320) + 1e-9}, True), ({"beta": math.log(320) - 1e-9}, False)],
    "beta sqrt(2a) <= 0.1": [
        ({"beta": 0.1, "variance": 0.5}, True),
        ({"beta": 0.10001, "variance": 0.5}, False),
    ],
}
"""Hypotheses that compute: where they hold and where not, changed from the first setting of their claim."""

EACH = {
    (claim.kind, label, holds.__code__): (claim, label)
    for claim in CLAIMS
    for label, holds in claim.hypotheses.items()
}
"""Every hypothesis once, with the first of the claims that have it."""


def formula(label: str) -> ast.Expression:
    """A hypothesis as an expression of Python in the fields."""
    return ast.parse(WORDS.get(label, label.replace(" = ", " == ").replace(", ", " and ")), mode="eval")


def named(setting: Setting, tree: ast.AST) -> dict[str, str]:
    """Names of a formula and the fields that they stand for."""
    fields, found = setting.fields(), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in ("math", "True", "False"):
            known = [name for name in (node.id, *ALSO_CALLED.get(node.id, ())) if name in fields]
            if known:
                found[node.id] = known[0]
    return found


def value(tree: ast.AST, setting: Setting, fields: dict[str, str]) -> Any:
    names = {"math": math} | {name: getattr(setting, field) for name, field in fields.items()}
    # Some formulas name fields that settings of another kind do not have: these have none of what they count.
    absent = {n.id: 0 for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id not in names}
    expression = tree if isinstance(tree, ast.Expression) else ast.Expression(tree)  # pyright: ignore
    return eval(compile(expression, "hypothesis", "eval"), absent | names)


def near(number: float, kind: type) -> list[float]:
    if kind is int:
        return [math.floor(number) - 1, math.floor(number), math.floor(number) + 1]
    return [number, math.nextafter(number, -math.inf), math.nextafter(number, math.inf)]


def at_the_edges(setting: Setting, tree: ast.Expression, fields: dict[str, str]) -> list[Setting]:
    """Settings with one field moved to where a comparison turns, or to each of its choices."""
    moved: list[tuple[str, Any]] = []
    for field in set(fields.values()):
        now = getattr(setting, field)
        if isinstance(now, enum.Enum):
            moved += [(field, choice) for choice in type(now)]
        elif isinstance(now, bool):
            moved += [(field, not now)]
        else:
            moved += [(field, number) for number in near(now, type(now))]
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for one, other in [*itertools.pairwise(sides), *itertools.pairwise(sides[::-1])]:
                if isinstance(one, ast.Name) and one.id in fields:
                    field, edge = fields[one.id], value(other, setting, fields)
                    if isinstance(edge, int | float):
                        moved += [(field, number) for number in near(edge, type(getattr(setting, field)))]
                    elif isinstance(edge, tuple) and isinstance(edge[0], int):
                        moved += [(field, number) for each in edge for number in near(each, int)]
    found = [setting]
    for field, number in moved:
        found.append(dataclasses.replace(setting, **{field: number}))  # pyright: ignore
    return found


def check_its_words(claim: Claim, label: str) -> None:
    tree, holds = formula(label), claim.hypotheses[label]
    fields = named(claim.settings[0], tree)
    told = set()
    for setting in claim.settings[:1] + claim.settings[-1:]:
        for moved in at_the_edges(setting, tree, fields):
            said = bool(value(tree, moved, fields))
            assert bool(holds(moved)) == said, moved
            told.add(said)
    assert told == {False, True}


def check_what_is_computed(claim: Claim, label: str) -> None:
    assert all(claim.hypotheses[label](setting) for setting in claim.settings)
    for fields, holds in COMPUTED[label]:
        moved = dataclasses.replace(claim.settings[0], **fields)
        assert bool(claim.hypotheses[label](moved)) == holds, moved


@pytest.mark.slow("that no word is without a hypothesis of a claim stays inside")
def test_a_hypothesis_holds_where_its_words_say_so(subtests):
    """Moves settings of every claim to each edge of its hypotheses."""
    for claim, label in EACH.values():
        with subtests.test(f"{claim.name}: {label}"):
            (check_what_is_computed if label in COMPUTED else check_its_words)(claim, label)


def test_words_and_exceptions_are_those_of_claims():
    assert {label for _, label in EACH.values()} >= {*WORDS, *COMPUTED}
