"""What linear biases promise: a slope for each head, and rows in proportion to the distance."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from attnlab_theory.conform.finding import ANOTHER_ANSWER, NOT_FINITE, Verdict
from attnlab_theory.conform.positions.alibi_judging import FUTURES, Biases, Size, published
from attnlab_theory.conform.positions.calling import Shown
from attnlab_theory.conform.suite import NOTHING, Said, failed, refuses

Law = Callable[[Biases], Said]

POWERS = (1, 2, 4, 8, 16, 32)

OTHERS = (3, 5, 6, 12, 20, 71)
"""Numbers of heads that are no powers of two; Falcon has 71."""


def falling(suite: Biases) -> Said:
    """A row falls in proportion to the distance."""
    if suite.why:
        answer = suite.ask(Size(suite.heads, 6, 6))
        return failed(suite.why, counterexample=Shown(answer.call, None, (), 0.0))
    return Said(Verdict.HOLDS, "past keys lie on a straight line")


def _slopes(suite: Biases, numbers: Sequence[int]) -> Said:
    """The published slopes, or others that each head has for itself."""
    worst, other, tried = 0.0, "", 0
    for heads in numbers:
        size = Size(heads, 33, 33)
        read = suite.read(heads)
        if read is not None and suite.ask(size).trouble is None:
            if not (read > 0).all():
                h = int(np.argmax(read <= 0))
                said = f"head {h} of {heads} adds {-read[h]:.4g} for each token of distance: far keys get no less"
                return Said(Verdict.FAILS, said, tried, suite.judge(size, None)[2])
            if len(np.unique(np.round(read, 9))) < heads:
                return Said(
                    Verdict.FAILS,
                    f"two of {heads} heads have the same slope: {_few(read)}",
                    tried,
                    suite.judge(size, None)[2],
                )
            is_order = np.allclose(np.sort(read), np.sort(published(heads)), rtol=1e-3)
            what = "the published slopes in another order" if is_order else "slopes of its own"
            other = other or f"{heads} heads: {what}, {_few(read)}"
        ratio, why, shown = suite.judge(size, read)
        if why and refuses(why.trouble) and tried:
            other = other or f"{heads} heads are refused: {why}"
            continue
        if why:
            return failed(why, tried=tried + 1, counterexample=shown, ratio=ratio)
        worst, tried = max(worst, ratio), tried + 1
    if other:
        return Said(Verdict.CONVENTION, other, tried)
    names = ", ".join(map(str, numbers))
    return Said(Verdict.HOLDS, f"of {names} heads: largest error {worst:.2g} of its tolerance", tried, ratio=worst)


def _few(slopes: np.ndarray) -> str:
    return ", ".join(f"{x:.4g}" for x in slopes[:4]) + ", ..." * (len(slopes) > 4)


def slopes(suite: Biases) -> Said:
    """The published slopes, where heads are a power of two."""
    if suite.gives == "float64" and _slopes(suite, _numbers(suite, (4,))).verdict is Verdict.FAILS:
        suite.narrow = "float32"
    if "heads" not in suite.names and suite.heads not in POWERS:
        return NOTHING
    said = _slopes(suite, _numbers(suite, POWERS))
    if suite.narrow and said.verdict is Verdict.HOLDS:
        return Said(Verdict.CONVENTION, "computed in float32, given in float64", said.tried)
    return said


def other_heads(suite: Biases) -> Said:
    """The published slopes of other numbers of heads: those of the next lower power first."""
    if "heads" not in suite.names and suite.heads in POWERS:
        return NOTHING
    return _slopes(suite, _numbers(suite, OTHERS))


def _numbers(suite: Biases, numbers: Sequence[int]) -> Sequence[int]:
    return numbers if "heads" in suite.names else (suite.heads,)


def lengths(suite: Biases) -> Said:
    """Every row is straight, at lengths beside the edges of blocks."""
    sizes = (2, 17, 65) if suite.framework == "jax" else (2, 3, 15, 16, 17, 63, 64, 65, 129)
    return suite.all_of([Size(suite.heads, n, n) for n in sizes])


def one_token(suite: Biases) -> Said:
    """One query on one key has a bias that is a number."""
    answer = suite.ask(Size(suite.heads, 1, 1))
    if answer.trouble:
        return failed(suite.trouble(answer))
    if not np.isfinite(answer.bias).all():
        return failed(suite.wrong(f"gave {answer.bias.ravel()[0]:g}", answer.call, NOT_FINITE))
    return Said(Verdict.HOLDS, "a number for each head")


def more_keys(suite: Biases) -> Said:
    """More keys than queries stand in the same order at every size."""
    if not suite.two or suite.one_row:
        return NOTHING
    return suite.all_of([Size(suite.heads, t, s) for t, s in ((1, 6), (2, 9), (7, 9), (16, 33), (1, 130))])


def future(suite: Biases) -> Said:
    """What becomes of keys after the query is told; it has to be one thing at every size."""
    if suite.one_row:
        return Said(Verdict.CONVENTION, "all rows are one: a causal mask has to hide what comes after a query")
    pairs = ((4, 6), (5, 9)) if suite.two else ()
    for t, s in ((9, 9), (33, 33), *pairs):
        answer = suite.ask(Size(suite.heads, t, s))
        if answer.trouble:
            return failed(suite.trouble(answer))
        if np.isnan(answer.bias).any():
            return failed(suite.wrong("NaN", answer.call, NOT_FINITE))
        own = suite.own(Size(suite.heads, t, s))
        found = suite.future_of(answer.bias, own)
        if found != suite.future and (np.arange(s) > own[:, None]).any():
            was, now = (FUTURES.get(each, "no rule that is known") for each in (suite.future, found))
            return failed(suite.wrong(f"keys after the query get {was} once, then {now}", answer.call))
    return Said(Verdict.CONVENTION, FUTURES[suite.future])


def long(suite: Biases) -> Said:
    """Long texts: near keys are told apart as well as at the beginning."""
    heads = 12 if "heads" in suite.names else suite.heads
    if suite.one_row:
        sizes = [Size(heads, n, n) for n in (2048, 16384)]
    elif suite.two:
        sizes = [Size(heads, 2, n) for n in (2048, 16384)] if suite.alignment == "end" else [Size(heads, 300, 300)]
    else:
        sizes = [Size(heads, 300, 300), Size(1, 1200, 1200)] if "heads" in suite.names else [Size(heads, 200, 200)]
    said = suite.all_of(sizes)
    if said.verdict is Verdict.HOLDS:
        return said._replace(line=f"up to {sizes[-1].keys} keys: {said.line}")
    return said


def same_result(suite: Biases) -> Said:
    """The same call gives the same bits, also after other calls."""
    size = Size(suite.heads, 6, 6)
    first = suite.ask(size)
    for other in (size, Size(suite.heads, 40, 40), Size(8 if "heads" in suite.names else suite.heads, 6, 6)):
        suite.ask(other)
        again = suite.ask(size)
        if first.trouble != again.trouble or not np.array_equal(first.bias, again.bias, equal_nan=True):
            return failed(
                suite.wrong("the same call gives another answer after other calls", first.call, ANOTHER_ANSWER)
            )
    return Said(Verdict.HOLDS, "also after another length and number of heads", 3)


def _judged(law: Law) -> Law:
    """A law that has nothing to try where no straight rows were found."""
    return lambda suite: NOTHING if suite.why else law(suite)


LAWS: Mapping[str, Law] = {
    "falling": falling,
    **{
        name: _judged(law)
        for name, law in {
            "slopes": slopes,
            "other heads": other_heads,
            "lengths": lengths,
            "one token": one_token,
            "more keys": more_keys,
            "future": future,
            "long texts": long,
            "same result": same_result,
        }.items()
    },
}
"""In the order in which they are tried."""
