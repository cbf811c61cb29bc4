"""Two functions that promise the same: the same calls to both. What is a choice and differs is told."""

from collections.abc import Iterator

import numpy as np

from attnlab_theory.conform.attention.apart import is_polite
from attnlab_theory.conform.attention.asking import Answer, call_of
from attnlab_theory.conform.attention.attacks import ATTACKS, COVERED, cases_of
from attnlab_theory.conform.attention.cases import Case, arrays
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.judging import Judge
from attnlab_theory.conform.attention.laws import blind_rows, empty, hidden_nan
from attnlab_theory.conform.attention.paths import difference
from attnlab_theory.conform.attention.profiles import Profile
from attnlab_theory.conform.attention.reference import attend
from attnlab_theory.conform.finding import Verdict
from attnlab_theory.conform.kinds import Kind
from attnlab_theory.conform.suite import CALL, NOTHING, Said, Wrong, failed

TYPES = ("float64", "float16", "bfloat16")

CHOICES = {"blind rows": blind_rows, "hidden NaN": hidden_nan, "empty batch": empty}
"""Laws that only tell, and whose lines may differ."""


class Rival:
    """The other function.

    Args:
        judge: of the target.
        kind: what both promise.
        profile: of the target.
        other: judge of the other one.
        profile_of_other: how that is called, and what is wrong with it.
    """

    def __init__(self, judge: Judge, kind: Kind, profile: Profile, other: Judge, profile_of_other: Profile) -> None:
        self.judge, self.kind, self.profile = judge, kind, profile
        self.other, self.profile_of_other = other, profile_of_other
        self._refused: dict[str, str] = {}

    def compare(self) -> Said:
        """Every call that both can be asked: their answers are as near as both may err."""
        if self.profile_of_other.failures:
            identity, wrong = self.profile_of_other.failures[0]
            return failed(wrong, f"there: {identity}: ")
        worst, tried, others = 0.0, 0, 0
        for name, case in self._cases():
            if not self._same_question(case):
                others += 1
                continue
            tried += 1
            here, there = self.judge.ask(case), self.other.ask(case)
            if here.trouble or there.trouble:
                if bool(here.trouble) != bool(there.trouble):
                    where, trouble = ("here", here.trouble) if here.trouble else ("there", there.trouble)
                    refused = case.kind if case.kind in TYPES else name
                    if refused not in TYPES and not (name in COVERED and is_polite(trouble)):
                        call = call_of(self.judge.way, case)
                        wrong = Wrong(f"only {where}: {trouble}; {CALL}{call}", trouble, call)
                        return failed(wrong, tried=tried, ratio=np.inf)
                    said = "refused" if refused in TYPES else f"{call_of(self.judge.way, case)}: refused"
                    self._refused.setdefault(refused, f"{said} {where}")
                continue
            kind = "float32" if case.kind == "float64" else None
            found = difference(self.judge, case, here, there)
            if found.ratio > 1 and kind and difference(self.judge, case, here, there, kind=kind).ratio <= 1:
                self._refused["float64"] = "computed in float32 on one side"
                continue
            worst = max(worst, found.ratio)
            if found.ratio > 1:
                return self._apart(case, here, there, found.ratio, found.place, tried)
        if not tried:
            return Said(Verdict.NOT_JUDGED, f"none of {others} calls means the same to both", others)
        more = f"; {others} calls mean another thing there" if others else ""
        return Said(Verdict.HOLDS, f"at most {worst:.2g} of both tolerances apart{more}", tried, ratio=worst)

    def differences(self) -> Said:
        """The conventions that differ."""
        told = []
        here, there = (
            {roles.get(name, name): text.removesuffix(" (guessed)") for name, text in profile.lines}
            for profile in (self.profile, self.profile_of_other)
            for roles in [{name: role for role, name in profile.way.names.items()}]
        )
        for name in dict.fromkeys((*here, *there)):
            ours, theirs = here.get(name, "not taken"), there.get(name, "not taken")
            if ours != theirs and name not in ("arguments by name", "dropout"):
                told.append(f"{name}: {ours} here, {theirs} there")
        for name, law in CHOICES.items():
            ours, theirs = law(self.judge, self.kind), law(self.other, self.kind)
            if ours.line != theirs.line and Verdict.NOT_TRIED not in (ours.verdict, theirs.verdict):
                told.append(f"{name}: {ours.line} here, {theirs.line} there")
        told += [f"{name}: {line}" for name, line in self._refused.items()]
        return Said(Verdict.CONVENTION, "; ".join(told), len(CHOICES)) if told else NOTHING

    def _cases(self) -> Iterator[tuple[str, Case]]:
        asked = set()
        for name in ATTACKS:
            ours, theirs = (
                [self._fitted(case) for case in cases_of(name, self.kind, way)]
                for way in (self.judge.way, self.other.way)
            )
            for case in ours:
                if case in theirs and case not in asked:
                    asked.add(case)
                    yield name, case

    def _fitted(self, case: Case) -> Case:
        return fitted(fitted(case, self.kind, self.judge.way), self.kind, self.other.way)

    def _same_question(self, case: Case) -> bool:
        """Whether the conventions of both make the same problem of a call."""
        one, other = (judge.way.problem(arrays(case), case) for judge in (self.judge, self.other))
        same = (
            one.scale == other.scale and one.softcap == other.softcap and np.array_equal(one.visible, other.visible)
        )
        return same and np.array_equal(one.k, other.k, equal_nan=True)

    def _apart(
        self, case: Case, here: Answer, there: Answer, ratio: float, place: tuple[int, ...], tried: int
    ) -> Said:
        right = attend(self.judge.way.problem(arrays(case), case)).output[place]
        many = "" if np.isinf(ratio) else f", {ratio:,.3g} times both tolerances apart"
        said = f"{here.output[place]:.7g} here, {there.output[place]:.7g} there, {right:.7g} is right{many}, at "
        call = call_of(self.judge.way, case)
        said += f"[b h t e] = {[*place]}; {CALL}{call}"
        return failed(Wrong(said, case=call), tried=tried, ratio=ratio)
