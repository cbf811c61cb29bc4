"""What decoding must keep, whatever is decoded: identities of the kinds `decode` and `model`."""

from collections.abc import Sequence

import numpy as np

from attnlab_theory.conform.finding import Verdict
from attnlab_theory.conform.sequences.caches import NO_OUTPUT, CacheSuite, Fed, Inputs, State
from attnlab_theory.conform.sequences.suite import off
from attnlab_theory.conform.suite import NOTHING, Said, failed, refused

SHORT = 12
"""Tokens of most calls."""

EDGES = (1, 6, 7, 15, 16, 17, 33, 63, 64, 65, 127, 128)
"""Where chunks end in a long sequence."""


ONE = "what is handed back is one place, so a single cache lives in the target"
"""What is said of a target that hands back the same cache for every sequence."""

NO_WHOLE = Said(Verdict.NOT_JUDGED, "it takes one token at a time only: there is no whole to compare with", 0)


def single(suite: CacheSuite) -> Said:
    """Token by token."""
    if suite.stepwise:
        return NO_WHOLE
    said = suite.cut(SHORT, range(1, SHORT))
    return said or Said(Verdict.HOLDS, f"{SHORT} tokens, one after the other", SHORT)


def chunks(suite: CacheSuite) -> Said:
    """In chunks."""
    if not suite.chunked:
        return Said(Verdict.CONVENTION, "a cache takes one token at a time")
    tries = ((5,), (1,), (SHORT - 1,), (3, 4, 9))
    return suite.cut(SHORT, *tries, seed=1) or Said(
        Verdict.HOLDS, "two chunks, and four of several lengths", len(tries)
    )


def prefilled(suite: CacheSuite) -> Said:
    """Several tokens at once, and then one by one."""
    if not suite.chunked:
        return NOTHING
    said = suite.cut(SHORT, range(7, SHORT), range(2, SHORT), seed=2)
    return said or Said(Verdict.HOLDS, "2 and 7 tokens at once, then one by one", 2)


def lasting(suite: CacheSuite) -> Said:
    """A long sequence: what breaks after six tokens, or at the edge of a block, or when a cache is full."""
    if suite.stepwise:
        return NO_WHOLE
    tokens = suite.long
    x = suite.draw(1, tokens, 3)
    right, trouble = suite.whole(x)
    while right is None and tokens > SHORT:
        tokens = max(tokens // 2, SHORT)
        x = suite.draw(1, tokens, 3)
        right, _ = suite.whole(x)
    if right is None:
        return failed(trouble, f"{tokens} tokens at once: ")
    limit = f"; {suite.long} tokens at once are refused: {trouble}" if trouble else ""
    ways: list[Sequence[int]] = [range(1, tokens)]
    if suite.chunked:
        ways.append([n for n in EDGES if n < tokens])
    for cuts in ways:
        fed = suite.run(x, cuts)
        if fed.trouble and fed.at:
            if (wrong := suite.judge(fed._replace(trouble=None), right, x, cuts, 3)) is not None:
                return wrong
            return refused(fed.trouble, f"full after {fed.at} tokens, and says so: ", len(ways))
        if (said := suite.judge(fed, right, x, cuts, 3)) is not None:
            return said
    said, far = _far(suite) if not limit else (None, "")
    return said or Said(Verdict.HOLDS, f"{tokens} tokens{far}{limit}", len(ways) + bool(far))


def _far(suite: CacheSuite) -> tuple[Said | None, str]:
    """A failure of few calls with more tokens than most windows hide, or none; and what to say if it was tried."""
    if not suite.chunked or suite.framework == "jax":
        return None, ""
    x, seed = suite.draw(2, suite.far, 17), 17
    right, _ = suite.whole(x)
    cuts = (suite.far - 61, suite.far - 60, suite.far - 59, suite.far - 9)
    fed = suite.run(x, cuts) if right is not None else None
    if right is None or fed is None or fed.trouble:
        # It takes fewer tokens, as a table of positions does.
        return None, ""
    return suite.judge(fed, right, x, cuts, seed), f", and {suite.far} of them in few calls"


def full(suite: CacheSuite) -> Said:
    """A cache that was made for few tokens refuses more, or answers rightly."""
    if not suite.capacity:
        return NOTHING
    size, tokens = 6, 9
    x = suite.draw(1, tokens, 4)
    right, trouble = suite.whole(x)
    if right is None:
        return failed(trouble, f"{tokens} tokens at once: ")
    refused = None
    for cuts in (range(1, tokens), (4,)) if suite.chunked else (range(1, tokens),):
        fed = suite.run(x, cuts, capacity=size)
        n = fed.output.shape[-2]
        if n and (verdict := suite.near(fed.output, right[..., :n, :], x)).fails:
            first = suite.first_wrong(fed.output, right[..., :n, :], x)
            line = f"a cache for {size} tokens is fed {tokens}: token {first} is {off(verdict)}; it has to refuse"
            return Said(Verdict.FAILS, line, 2, None, verdict.ratio)
        if fed.trouble and fed.at + (len(cuts) == 1) * 4 < size:
            return failed(fed.trouble, f"a cache for {size} tokens refuses token {fed.at}: ", 2)
        refused = refused or fed.trouble
    return Said(Verdict.HOLDS, f"refused: {refused}" if refused else "it grows", 2, trouble=refused)


def separate(suite: CacheSuite) -> Said:
    """Two sequences with two caches, fed in turn, do not mix."""
    if not suite.explicit:
        return NOTHING
    xs = [suite.draw(2, 6, seed) for seed in (5, 6)]
    states: list[State] = []
    for _ in xs:
        state, trouble = suite.begin(2, suite.long)
        if trouble:
            return failed(trouble)
        states.append(state)
    outputs: list[list[np.ndarray]] = [[], []]
    for t in range(6):
        for i, x in enumerate(xs):
            fed = suite.feed(suite.part(x, t, t + 1), t, states[i])
            if fed.trouble:
                return failed(fed.trouble, f"two caches in turn, token {t}: ", 12)
            states[i] = fed.state
            outputs[i].append(fed.output)
    for x, output in zip(xs, outputs, strict=True):
        right, trouble = suite.whole(x)
        if right is None:
            return failed(trouble, "6 tokens at once: ", 12)
        if (verdict := suite.near(np.concatenate(output, -2), right, x)).fails:
            alone = suite.run(x, range(1, 6))
            if alone.trouble:
                return failed(alone.trouble, "one sequence alone: ", 12)
            if suite.near(alone.output, right, x).fails:
                return NOTHING
            if suite.is_one:
                return Said(Verdict.CONVENTION, f"{ONE}: two sequences that are fed in turn mix", 12)
            return Said(Verdict.FAILS, f"two sequences with a cache each, fed in turn, mix: {off(verdict)}", 12)
    return Said(Verdict.HOLDS, "two sequences with a cache each, fed in turn", 12)


def branching(suite: CacheSuite) -> Said:
    """Whether an old cache can be used once more, for another continuation."""
    if not suite.explicit:
        return NOTHING
    x, other = suite.draw(2, 8, 7), suite.draw(2, 8, 8)
    begun, trouble = suite.begin(2, suite.long)
    if trouble:
        return NOTHING
    first = suite.feed(suite.part(x, 0, 1), 0, begun)
    for t in range(1, 5):
        first = suite.feed(suite.part(x, t, t + 1), t, first.state) if not first.trouble else first
    if first.trouble:
        return NOTHING
    suite.feed(suite.part(x, 6, 7), 6, suite.feed(suite.part(x, 5, 6), 5, first.state).state)
    again = suite.feed(suite.part(other, 5, 6), 5, first.state)
    mixed = tuple(
        np.concatenate([suite.part((a,), 0, 5)[0], suite.part((b,), 5, 6)[0]], suite.axis)
        for a, b in zip(x, other, strict=True)
    )
    right, _ = suite.whole(mixed)
    if right is None:
        return NOTHING
    if again.trouble:
        return refused(again.trouble, "an old cache cannot be used once more: ")
    if suite.near(again.output, right[..., 5:, :], mixed).fails:
        new = suite.run(mixed, range(1, 6))
        if new.trouble or suite.near(new.output[..., 5:, :], right[..., 5:, :], mixed).fails:
            # A new cache is wrong, too, which another identity tells.
            return NOTHING
        return Said(Verdict.CONVENTION, "a cache is updated in place: an old one cannot be used once more", 1)
    return Said(Verdict.CONVENTION, "an old cache can be used once more", 1)


ROWS = {4: (3, 0, 3, 1), 3: (2, 0, 0)}
"""Rows of two batches in another order, some of them twice, as beam search has them."""


def reordered(suite: CacheSuite) -> Said:
    """Rows of a cache in another order go on as sequences of that order do."""
    if not suite.reorders or suite.draw(2, 1, 0)[0].shape[0] != 2:
        return NOTHING
    said = NOTHING
    # Arrays of a cache may have as many of something else in front as there are rows: hardly so twice.
    for batch, rows in ROWS.items():
        said = _reordered(suite, batch, rows)
        if said.verdict is not Verdict.FAILS:
            return said
    return said


def _reordered(suite: CacheSuite, batch: int, rows: Sequence[int]) -> Said:
    x, new = suite.draw(batch, 7, 15), suite.draw(batch, 7, 16)
    mixed = tuple(
        np.concatenate([suite.part((a[[*rows]],), 0, 5)[0], suite.part((b,), 5, 7)[0]], suite.axis)
        for a, b in zip(x, new, strict=True)
    )
    state, trouble = suite.begin(batch, suite.long)
    for t in range(5):
        fed = suite.feed(suite.part(x, t, t + 1), t, state) if not trouble else Fed(trouble, NO_OUTPUT, state)
        state, trouble = fed.state, fed.trouble
    if trouble:
        return refused(trouble, f"a cache of {batch} rows is refused: ")
    state, trouble = suite.reordered(state, rows, batch)
    if trouble:
        return Said(Verdict.NOT_JUDGED, f"not tried: {trouble}", 0, trouble=trouble)
    outputs = []
    for t in (5, 6):
        fed = suite.feed(suite.part(mixed, t, t + 1), t, state)
        if fed.trouble:
            return failed(fed.trouble, f"rows {[*rows]} of a cache of {batch}: ", 7)
        state = fed.state
        outputs.append(fed.output)
    right, trouble = suite.whole(mixed)
    if right is None:
        return failed(trouble, "7 tokens at once: ", 7)
    verdict = suite.near(np.concatenate(outputs, -2), right[..., 5:, :], mixed)
    if verdict.fails:
        new_one = suite.run(mixed, range(1, 7))
        if new_one.trouble or suite.near(new_one.output, right, mixed).fails:
            return NOTHING
        if suite.is_one:
            return Said(Verdict.CONVENTION, f"{ONE}: its rows cannot be put in another order", 7)
        line = f"rows {[*rows]} of a cache of {batch} do not go on as these sequences do: {off(verdict)}"
        return Said(Verdict.FAILS, line, 7, None, verdict.ratio)
    return Said(Verdict.HOLDS, f"rows {[*rows]} of a cache of {batch}, as beam search has them", 7)


def elements(suite: CacheSuite) -> Said:
    """A batch element decodes alone as it does beside others."""
    x = suite.draw(3, 6, 9)
    alone = tuple(each[:1] for each in x)
    several, one = suite.run(x, range(1, 6)), suite.run(alone, range(1, 6))
    if several.trouble or one.trouble:
        return failed(several.trouble or one.trouble, "decoding 3 elements, then one of them: ", 12)
    if several.output.shape[0] != 3:
        return NOTHING
    verdict = suite.near(several.output[:1], one.output, x)
    if verdict.fails:
        return Said(Verdict.FAILS, f"element 0 decodes otherwise beside two others: {off(verdict)}", 12)
    return Said(Verdict.HOLDS, "decoded alone and beside two others", 12)


def objects(suite: CacheSuite) -> Said:
    """Two objects of a class, fed in turn, have caches of their own."""
    if not suite.about["class"]:
        return NOTHING
    x = suite.draw(2, 6, 10)
    states = []
    for number in (0, 1):
        state, trouble = suite.begin(2, suite.long, number)
        if trouble:
            return failed(trouble, f"object {number}: ")
        states.append(state)
    outputs: list[list[np.ndarray]] = [[], []]
    for t in range(6):
        for number in (0, 1):
            fed = suite.feed(suite.part(x, t, t + 1), t, states[number], number)
            if fed.trouble:
                return failed(fed.trouble, f"object {number}, token {t}: ", 12)
            states[number] = fed.state
            outputs[number].append(fed.output)
    for number in (0, 1):
        right, trouble = suite.whole(x, number)
        if right is None:
            return failed(trouble, f"object {number}: ")
        if (verdict := suite.near(np.concatenate(outputs[number], -2), right, x)).fails:
            return Said(
                Verdict.FAILS, f"two objects of the class, fed in turn: object {number} is {off(verdict)}", 12
            )
    return Said(Verdict.HOLDS, "two objects of the class, fed in turn", 12)


def repeated(suite: CacheSuite) -> Said:
    """Decoding gives the same once more, after other lengths, and after a call that was refused half-way."""
    x = suite.draw(2, 6, 11)
    first = suite.run(x, range(1, 6))
    if first.trouble:
        return failed(first.trouble, tried=6)
    for name, between in (
        ("the same", ()),
        ("9 tokens", suite.draw(1, 9, 12)),
        ("one token", suite.draw(3, 1, 13)),
    ):
        if between:
            suite.run(between, range(1, between[0].shape[suite.axis]))
        again = suite.run(x, range(1, 6))
        if again.trouble or suite.near(again.output, first.output, x).fails:
            wrong = again.trouble or off(suite.near(again.output, first.output, x))
            return failed(wrong, f"the same sequence decodes otherwise after {name}: ", 18)
    return Said(Verdict.HOLDS, "decoded again, also after other lengths", 18)


def interrupted(suite: CacheSuite, bad: Inputs) -> Said:
    """A step that is refused leaves the cache as it was."""
    x = suite.draw(2, 6, 14)
    state, trouble = suite.begin(2, suite.long)
    if trouble:
        return NOTHING
    outputs = []
    for t in range(6):
        if t == 3:
            wrong = suite.feed(bad, t, state)
            if not wrong.trouble:
                return NOTHING
        fed = suite.feed(suite.part(x, t, t + 1), t, state)
        if fed.trouble:
            # It was changed in place, and says so.
            return refused(fed.trouble, "a cache is of no use after a step that was refused: ", 6)
        outputs.append(fed.output)
        state = fed.state
    right, _ = suite.whole(x)
    if right is None:
        return NOTHING
    verdict = suite.near(np.concatenate(outputs, -2), right, x)
    if verdict.fails:
        alone = suite.run(x, range(1, 6))
        if alone.trouble or suite.near(alone.output, right, x).fails:
            return NOTHING
        return Said(Verdict.FAILS, f"a step that was refused has changed the cache: {off(verdict)}", 6)
    return Said(Verdict.HOLDS, "a step that was refused leaves the cache as it was", 6)
