r"""Attention by a feature map: features of queries times sums over keys, over the same sums without values.

Axes: b batch, h heads, t queries, s keys, d width, f features, e width of values.

Tolerance. Let u be half of the type's eps, u' that of the type of the sums, n the number of keys and f that of
features. A map states the error of each feature in units u. elu(x) + 1 adds 1 to a number near -1, so its error is
absolute: 6 u, however small the feature is. Weights A_ts = sum_f phi(q)_f phi(k)_f then err by
E_ts = sum_f (dq_f |phi(k)_f| + |phi(q)_f| dk_f) u. The product of two errors is less than a hundredth of that, and
is added.

N_te = sum over s and f of phi(q)_f phi(k)_sf v_se is a sum of n f products of three numbers. A program may sum over
keys first (the state), over features first, or in blocks. No number passes through more than n + f sums and 8
products, stores and rescalings. So (Higham, section 3.1) N errs by at most
dN = sum_s (E_ts + (n + f + 8) u' |A|_ts) |v_se|, where |A| has absolute values inside. The normaliser D is the same
with v = 1: dD. A store of what is added to it loses at most the smallest number of its type.

The quotient N / D errs by (dN + |N / D| dD) / (|D| - dD) + 4 u |N / D|. Where D is not larger than dD nothing is
known, and nothing is judged. Nor is it where this exceeds the range of the values that are seen; if nothing is
divided, the sum of all absolute terms stands for that. Nor is it where a sum may exceed the largest number of its
type, for no program can hold it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.finding import NOT_TRIED, Finding, Verdict
from attnlab_theory.conform.identities import RightAt, future, prefixes
from attnlab_theory.conform.judge import Judge, answered
from attnlab_theory.conform.kind import Chosen, Kind, Right, Stage
from attnlab_theory.conform.kinds import attending
from attnlab_theory.conform.kinds.softmax.tolerances import span
from attnlab_theory.conform.rounding import HALF_EPS, LARGEST, SUBNORMAL, TINY

SIZES = {"float64": (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7), "float32": (1e-1, 1e-2, 1e-3)}
"""Features of this size show what is added to the normaliser; smaller ones are lost in elu(x) + 1."""

MOST_ADDED = 1e-3
"""What is added to a normaliser of normal queries and keys, and is a convention, is at most this."""

NEAR_ONE = 0.01
"""How far from one the mean of values of one may be; what moves it further is no guard against a division by 0."""

Mapped = tuple[np.ndarray, np.ndarray]
"""Features [b h t f], and the largest error of each, in units u of its type."""


def _elu(x: np.ndarray, _: np.ndarray) -> Mapped:
    # expm1 errs by 2 u of at most 1, the sum with 1 by another; the rounding of x itself by |x| exp(x) u <= u.
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))), 6 + 3 * np.maximum(x, 0)


def _relu(x: np.ndarray, _: np.ndarray) -> Mapped:
    return np.maximum(x, 0.0), 3 * np.maximum(x, 0.0)


def _exp(x: np.ndarray, _: np.ndarray) -> Mapped:
    features = np.exp(x)
    return features, features * (6 + 2 * np.abs(x))


def _identity(x: np.ndarray, _: np.ndarray) -> Mapped:
    return x, 3 * np.abs(x)


def _softmax(axis: int) -> Callable[[np.ndarray, np.ndarray], Mapped]:
    def mapped(x: np.ndarray, seen: np.ndarray) -> Mapped:
        x = np.where(seen, x, -np.inf) if axis == -2 else x
        top = x.max(axis, keepdims=True, initial=-1e300)
        raised = np.exp(x - top)
        features = raised / raised.sum(axis, keepdims=True)
        size = np.where(np.isfinite(x), np.abs(x), 0.0)
        return features, features * (2 * (size + np.abs(top)) + x.shape[axis] + 12)

    return mapped


ALIKE = {"elu": _elu, "relu": _relu, "exp": _exp, "identity": _identity, "softmax": _softmax(-1)}
FEATURES = {name: (each, each) for name, each in ALIKE.items()} | {"efficient": (_softmax(-1), _softmax(-2))}
"""How features are made of queries and of keys [b h t d], given True [b 1 t 1] where there is something to see.
`say` has the formulas and their sources."""

WITH_FEATURE = {"elu": np.log, "exp": np.log, "relu": float, "identity": float}
"""The number whose feature is a given one. Of the other maps the scale multiplies features, and not queries."""


@np.errstate(all="ignore")
def right(case: Case, chosen: Chosen, made: Mapping[str, np.ndarray]) -> Right:
    """Sum over s of (phi(q) . phi(k_s)) v_s, over the sum of the same without v, [b h t e].

    It is NaN where the normaliser is 0, or so small that nobody knows what keeps it from 0.

    Source: Katharopoulos et al. 2020, "Transformers are RNNs", eqs. (4) to (9).
    """
    q, k, v = (np.asarray(made[name], np.float64) for name in "qkv")
    (of_q, of_k), scale = FEATURES[chosen["features"]], scales.factor(chosen["scale"], q.shape[-1])
    keep = made.get("mask", np.ones((k.shape[0], k.shape[2]), bool))
    seen = np.broadcast_to(keep[:, None, None, :], (q.shape[0], 1, q.shape[2], k.shape[2]))
    if case["causal"]:
        seen = seen & np.tri(q.shape[2], k.shape[2], k.shape[2] - q.shape[2], dtype=bool)
    is_before = chosen["features"] in WITH_FEATURE
    (a, da), (c, dc) = (
        of_q(q * scale if is_before else q, np.ones((1, 1, 1, 1), bool)),
        of_k(k, keep[:, None, :, None]),
    )
    if not is_before:
        a, da = a * scale, (da + a) * scale
    if floor := chosen["floor"]:
        (a, da), (c, dc) = ((x + floor, error + x + floor) for x, error in ((a, da), (c, dc)))

    def products(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(seen, np.einsum("bhtf,bhsf->bhts", x, y), 0.0)

    weights, total = products(a, c), np.ones((*q.shape[:3], 1))
    added, at_least, is_divided = chosen.get("added", 0.0), chosen.get("at least", 0.0), chosen["normaliser"]
    if is_divided:
        total = weights.sum(-1, keepdims=True) + added
        total = np.maximum(total, at_least) if at_least else total
    output = np.einsum("bhts,bhse->bhte", weights, v) / total
    # |A| and E of this module's docstring, and the largest number that a state of sums over keys may hold.
    size, missed = products(abs(a), abs(c)), products(da, abs(c) + dc * 1e-2) + products(abs(a), dc)
    whole, terms = np.einsum("bhts,bhse->bhte", size, abs(v)), k.shape[2] + k.shape[3] + 8
    state = np.einsum("bhsf,bhse->bhfe", abs(c), np.maximum(abs(v), 1.0)).max(initial=0.0)
    most, largest = (
        span(seen, v) if is_divided else whole,
        np.maximum(np.maximum(whole, size.sum(-1)[..., None]), state),
    )

    def error(kind: str, accumulate: str) -> np.ndarray:
        u, lost = HALF_EPS[kind], terms * k.shape[3] * TINY[kind]
        weights = missed * u + terms * HALF_EPS[accumulate] * size
        numerator, out = np.einsum("bhts,bhse->bhte", weights + lost, abs(v)), np.nan_to_num(abs(output))
        if not is_divided:
            return numerator + 4 * u * out
        guard = added + at_least
        normaliser = weights.sum(-1, keepdims=True) + lost + 2 * u * guard + SUBNORMAL[kind] * bool(guard)
        room = abs(total) - normaliser
        return np.where(room > 0, (numerator + out * normaliser) / room, np.inf) + 4 * u * out

    @np.errstate(all="ignore")
    def within(kind: str, accumulate: str) -> np.ndarray:
        one = error(kind, accumulate)
        is_loose = ~np.isfinite(one) | ((one >= most) & (most > 0)) | (largest > LARGEST[kind] / 8)
        # The reference computes in float64, so its own bound is added.
        return np.where(is_loose, np.nan, one + error("float64", "float64"))

    is_known = np.isfinite(output) & (total != 0) & (abs(total) >= chosen.get("least", 0.0))
    return Right(np.where(is_known, output, np.nan), within, {"normaliser": total})


def promised(case: Case, chosen: Chosen) -> bool:
    """Other lengths of keys than of queries only where nothing is hidden and the target takes them."""
    if case["causal"] and chosen["features"] == "efficient":
        return False
    return case["queries"] == case["keys"] or not (case["causal"] or chosen.get("more keys"))


def guard(judge: Judge) -> dict[str, Any]:
    """What keeps the normaliser from 0: with values of one the output is D / (D + eps), or D over the larger."""
    chosen, found = judge.convention.chosen, {"added": 0.0, "at least": 0.0, "least": 0.0}
    level = WITH_FEATURE.get(chosen["features"])
    if not chosen["normaliser"] or level is None:
        return found
    fine = [case for case in judge.cases([{"type": "float64"}]) if judge.ask(case).kind == "float64"][:1]
    kind = "float64" if fine and not judge.is_narrow(fine[0]) else "float32"
    seen: list[tuple[float, float]] = []
    for size in SIZES[kind]:
        x, scale = float(level(size)), scales.factor(chosen["scale"], judge.kind.usual["width"])
        edits = (f"q, k = np.full_like(q, {x / scale!r}), np.full_like(k, {x!r})",)
        spec = {"batch": 1, "heads": 1, "length": 5, "type": kind, "values": "constant", "edits": edits}
        case = judge.cases([spec])[0]
        answer = judge.ask(case)
        if answer.trouble:
            return found
        exact = judge.expected(case).about["normaliser"][0, 0, :, 0]
        seen += zip(exact.tolist(), answer.numbers[0, 0, :, 0].tolist(), strict=True)
    sizes, outputs = (np.array(each) for each in zip(*seen, strict=True))
    noise = 1e-6 if kind == "float64" else 3e-3
    off = np.abs(outputs - 1) >= noise
    if not np.isfinite(outputs).all() or not off.any():
        return found | {"least": float(sizes.min())}
    divided = sizes[off] / np.where(outputs[off] == 0, 1e-300, outputs[off])
    for name, each in (("added", divided - sizes[off]), ("at least", divided)):
        one = float(f"{np.median(each):.2g}")
        fits = sizes / (sizes + one) if name == "added" else sizes / np.maximum(sizes, one)
        if np.allclose(fits, outputs, rtol=5 * noise, atol=0) and 0 < one <= MOST_ADDED:
            return found | {name: one}
    worst = int(np.argmax(np.abs(outputs - 1)))
    judge.contradict("constant values", "normaliser", given=outputs[worst], size=sizes[worst])
    return found


def more_keys(judge: Judge) -> dict[str, Any]:
    """Whether more keys than queries are refused."""
    if judge.convention.chosen["causal"] == "always":
        return {}
    return {"more keys": judge.ask(judge.cases([{"queries": 4, "keys": 7}])[0]).trouble}


def constant_values(judge: Judge) -> Finding:
    """Values of one give one, for the output is a mean; what is added moves it by less than a hundredth."""
    if not judge.convention.chosen["normaliser"]:
        return NOT_TRIED
    specs = [{"length": n, "values": "constant", "seed": seed} for n in (1, 6, 64) for seed in range(3)]
    cases = [case for spec in specs for case in judge.cases([spec])]
    for tried, case in enumerate(cases, 1):
        answer, normaliser = answered(judge.ask(case), case, tried), judge.expected(case).about["normaliser"]
        is_sure = ~np.isnan(judge.within(case, case.type)) & (np.abs(normaliser) > 0.1)
        ones = np.where(is_sure, 1.0, np.nan)
        outcome = judge.compared(case, answer, answer.numbers, ones, lambda _, x=ones: NEAR_ONE * x)
        if outcome.fails:
            return judge.failed(outcome, shrinks=False, tried=tried)
    return Finding(verdict=Verdict.HOLDS, tried=len(cases))


def blind(judge: Judge) -> Finding:
    """A row whose normaliser is 0: zeros, NaN or an error is told."""
    chosen = judge.convention.chosen
    if not chosen["normaliser"] or chosen["features"] not in ("relu", "identity"):
        return NOT_TRIED
    answer = judge.ask(judge.cases([{"edits": ("q = 0 * q",)}])[0])
    value = np.nan if answer.trouble else answer.numbers.flat[0]
    fact = "" if answer.trouble else "blind row"
    return Finding(verdict=Verdict.CONVENTION, trouble=answer.trouble, fact=fact, about={"value": value})


LENGTHS, COMPILED = (2, 5, 16, 17, 33, 64, 65, 130), (5, 17, 130)

REPLACED = [dict.fromkeys("qkv", "4 * {x}"), dict.fromkeys("qkv", "{x} + 1e3")]
"""What becomes of later tokens, of which earlier ones know nothing."""

COLUMNS = {
    "sizes": [{}, {"length": 17}, {"width": 7}, {"length": 17, "width": 7}],
    "types": [{}, {"type": "float64"}],
    "padding": [{}, {"mask": "padded"}],
    "memory": [{}, {"memory": "rows"}],
    "values": [{}, {"values": "large"}, {"values": "offset"}],
}
"""What is set beside each other. A flag that hides the future is tried both ways with each of them."""

LINEAR = Kind(
    operands=("q", "k", "v", "mask", "causal"),
    placed=("q", "k", "v"),
    gives="bhte",
    usual={"batch": 2, "heads": 2, "length": 6, "width": 4, "value_width": 3},
    few=4,
    promised=promised,
    near=0.008,
    declare="features",
    stages=(
        Stage(
            forms={"same width": (False, True), "layout": ("bhtd", "bthd", "btd", "td")},
            # What may be added to features: Performer's kernels add 1e-3.
            choices={"floor": (0.0, 1e-6, 1e-4, 1e-3), "features": (*FEATURES,), "normaliser": (True, False)}
            | {"scale": ("one", "rsqrt"), "causal": ("never", "always")},
            trials=({"heads": 3, "length": 5, "seed": 4},),
        ),
        Stage(needs="mask", trials=({"mask": "padded", "seed": 3},), identity="padding"),
    ),
    right=right,
    reads=(guard, more_keys),
    columns=COLUMNS,
    compiled={"sizes": COLUMNS["sizes"][:2]},
    laws=attending.laws(
        {
            "dominant key": RightAt({"values": "dominant", "seed": seed} for seed in range(2)),
            "small features": RightAt({"values": "low", "seed": seed} for seed in range(3)),
            "non-contiguous": RightAt([{"memory": "rows"}, {"memory": "rows", "values": "large", "seed": 1}]),
            "future": future(LENGTHS, COMPILED, REPLACED, batch=1, causal=True),
            "prefixes": prefixes(LENGTHS, COMPILED, batch=1, causal=True),
            "constant values": constant_values,
            "blind rows": blind,
        },
        without=("weights", "masks", "scale"),
    ),
)
