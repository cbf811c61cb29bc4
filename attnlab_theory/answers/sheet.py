"""The answer sheet: a homework question, a written answer, and the evidence that carries it, judged now.

The prose lies in one TOML file per homework. Its numbers are written as `{claim field=value ...}` and are
filled in from what that claim measured at that setting, so no number on the sheet is older than the run.
"""

import dataclasses
import functools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from attnlab_theory.answers.declarations import Undecidable
from attnlab_theory.answers.questions import PLACEHOLDER, Entry, setting_of
from attnlab_theory.claims import CLAIMS, Finding, Findings, Verdict
from attnlab_theory.identities import IDENTITIES, check_identity
from attnlab_theory.plurals import agree, several
from attnlab_theory.report.table import STYLES, measured_text
from attnlab_theory.seeds import key_for

SUPPORTED, REFUTED, UNDECIDABLE, OPEN = "supported", "refuted", "undecidable-here", "open"
"""The status of an answer.

Either its evidence carries it, or a submitted answer falls and the right one stands beside it, or it is open. Open
means that the evidence is undecided or contradicts the answer. The sheet says which: both are suspects. It is
undecidable here if all that is decided carries it, and the rest is declared as what no run of this size decides.
"""

STATUS_STYLES = {SUPPORTED: "green", REFUTED: "magenta", UNDECIDABLE: "cyan", OPEN: "yellow"}

JudgeClaim = Callable[[str], Findings | None]
"""A function from the name of a claim to its findings; None if nobody judges it. The caller knows the budget."""


class Judged(NamedTuple):
    """The findings of one claim: of the judge or of a lab's run, and of a run of fresh seeds."""

    findings: Findings
    fresh: Findings = Findings()
    """They decide, at the settings that they have."""

    def at(self, fields: str) -> Finding | None:
        """The finding that decides at a setting; None if there is none."""
        return at_setting(self.fresh, fields) or at_setting(self.findings, fields)


Found = Callable[[str], Judged | None]
"""A function from the name of a lab's claim to its findings. It gives None if the claim has not been judged."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evidence:
    """One claim, identity or finding that carries an answer."""

    name: str
    kind: str
    verdict: Verdict | None
    """The verdict at the setting that decides; None if nothing has been judged."""
    as_expected: bool
    quotable: bool = True
    """False if it was judged, but not at every setting that the answer quotes."""
    earlier: tuple[Finding, ...] = ()
    """What an earlier run found at settings at which fresh seeds decide."""
    undecidable: tuple[Undecidable, ...] = ()
    """The declarations that no run of this size decides it. They cover all that is undecided, or there are none."""

    @property
    def decided(self) -> bool:
        """Whether everything that the answer quotes has a verdict other than INCONCLUSIVE."""
        return self.quotable and self.verdict not in (None, Verdict.INCONCLUSIVE)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Answer:
    """One question of the sheet, its evidence judged and its numbers filled in."""

    id: str
    question: str
    answer: str
    evidence: tuple[Evidence, ...]
    lab: str
    """The lab whose run judges the findings among the evidence."""
    option: str = ""
    """The option of that run which names its arms."""
    status: str
    submitted: dict[str, str] | None = None

    @property
    def contradicted(self) -> bool:
        """Whether evidence says the opposite of the answer. Undecided evidence does not."""
        return any(e.decided and not e.as_expected for e in self.evidence)

    def as_json(self) -> dict[str, Any]:
        """The contract's fields. `submitted` and `undecidable` are there only where the answer is so."""
        listed = [_evidence_as_json(e) for e in self.evidence]
        fields = {"id": self.id, "question": self.question, "answer": self.answer}
        more: dict[str, Any] = {} if self.submitted is None else {"submitted": self.submitted}
        if self.status == UNDECIDABLE:
            more["undecidable"] = [each.as_json() for e in self.evidence for each in e.undecidable]
        return {**fields, "evidence": listed, "status": self.status, **more}


def answered(
    entries: Iterable[Entry],
    judge_claim: JudgeClaim | None = None,
    *,
    recorded: Findings | None = None,
    fresh: Findings | None = None,
    undecidable: Sequence[Undecidable] = (),
    options: Mapping[str, str] | None = None,
    own: Collection[str] = (),
    tried: Mapping[str, Sequence[Evidence]] | None = None,
    tried_before: Mapping[str, Verdict] | None = None,
    seed: int = 0,
) -> Iterator[Answer]:
    """Answer some questions, one after the other: judge each claim and identity once, and fill in the numbers.

    After Ctrl-C the answers that came before it are kept.

    Args:
        entries: questions of the sheet.
        judge_claim: judges a claim by name. Without it claims stay unjudged and their answers open.
        recorded: what training runs have found. An answer stays open if its finding is missing here.
        fresh: what runs of fresh seeds have found of the statements that they decide.
        undecidable: the declarations that no run of this size decides a statement.
        options: for each lab, the option of `attnlab LAB run` that names its arms.
        own: names of claims that are not the lab's, and that `judge_claim` judges, too.
        tried: further evidence for each question, by its id.
        tried_before: verdicts of identities by name. None: they are tried now.
        seed: draws the cases on which identities are tried.

    Raises:
        ValueError: if evidence names no claim or identity, or `judge_claim` cannot judge.
    """
    claims = functools.cache(judge_claim) if judge_claim else None
    verdicts = functools.cache(functools.partial(_judged, findings=claims, own=own, before=tried_before, seed=seed))
    runs, later = _by_name(recorded or ()), _by_name(fresh or ())

    def found(lab: str, name: str) -> Judged | None:
        if (lab, name) in runs or (lab, name) in later:
            return Judged(*(Findings(each.get((lab, name), ())) for each in (runs, later)))
        judged = claims(name) if claims and (_is_claim(name) or name in own) else None
        return None if judged is None else Judged(judged)

    def answer(entry: Entry) -> Answer:
        here = functools.partial(found, entry.lab)
        trained = (_trained(entry, name, here(name), undecidable) for name in entry.findings)
        option = (options or {}).get(entry.lab, "")
        further = (tried or {}).get(entry.id, ())
        return _answer(entry, (*map(verdicts, entry.evidence), *trained, *further), here, option)

    return map(answer, entries)


def exit_code(answers: Sequence[Answer]) -> int:
    """1 if an answer is open, else 0. What no run of this size decides is not open."""
    return 1 if any(answer.status == OPEN for answer in answers) else 0


def status_text(answer: Answer) -> str:
    """The status of an answer, for people."""
    return "the submitted answer is refuted" if answer.status == REFUTED else answer.status


def reason(answers: Sequence[Answer]) -> str:
    """How many answers have which status, and why the exit code is what it is, in one line."""
    counts = {status: [a.id for a in answers if a.status == status] for status in STATUS_STYLES}
    number = len(answers)
    words = [several(number, "answer")]
    words.append(f"{len(counts[SUPPORTED])} supported")
    if refuted := len(counts[REFUTED]):
        words.append(f"{refuted} where a submitted answer is refuted and the right one is shown")
    if undecidable := len(counts[UNDECIDABLE]):
        words.append(f"{undecidable} that no run of this size decides")
    if left := counts[OPEN]:
        words.append(f"{len(left)} open, so the exit code is 1: {', '.join(left)}")
    return f"{words[0]}: {'; '.join(words[1:])}"


def sheet_text(answers: Sequence[Answer]) -> RenderableType:
    """The sheet for the terminal."""
    return Group(*(part for answer in answers for part in _answer_text(answer)))


def _evidence_as_json(evidence: Evidence) -> dict[str, Any]:
    """Name, kind and verdict; `earlier` only where fresh seeds decide."""
    fields = {"name": evidence.name, "kind": evidence.kind, "verdict": evidence.verdict and str(evidence.verdict)}
    return fields | ({"earlier": [str(f.verdict) for f in evidence.earlier]} if evidence.earlier else {})


def _by_name(findings: Iterable[Finding]) -> dict[tuple[str, str], list[Finding]]:
    found: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        found.setdefault((finding.experiment, finding.claim), []).append(finding)
    return found


def _judged(
    name: str,
    *,
    findings: JudgeClaim | None,
    own: Collection[str],
    before: Mapping[str, Verdict] | None,
    seed: int,
) -> Evidence:
    identities = {identity.name: identity for identity in IDENTITIES}
    if name in identities and before is not None:
        verdict, expected = before.get(name), Verdict.REFUTED if identities[name].broken else Verdict.SUPPORTED
        return Evidence(name=name, kind="identity", verdict=verdict, as_expected=verdict in (None, expected))
    if name in identities:
        trial = check_identity(identities[name], key_for(seed, "answers", name))
        verdict = Verdict.SUPPORTED if trial.holds else Verdict.REFUTED
        return Evidence(name=name, kind="identity", verdict=verdict, as_expected=trial.as_expected)
    if not (_is_claim(name) or name in own):
        raise ValueError(f"the answer sheet names '{name}' as evidence, but no claim or identity is called that")
    return _evidence(name, "claim", None if findings is None else findings(name))


def _is_claim(name: str) -> bool:
    return any(claim.name == name for claim in CLAIMS)


def _evidence(name: str, kind: str, found: Findings | None) -> Evidence:
    if found is None:
        return Evidence(name=name, kind=kind, verdict=None, as_expected=True)
    # What came out otherwise than expected is the one to hear of; then what is undecided, of a conjecture, too.
    order = sorted(found, key=lambda f: (not _contradicts(f), f.verdict != Verdict.INCONCLUSIVE))
    return Evidence(name=name, kind=kind, verdict=order[0].verdict, as_expected=all(f.as_expected for f in found))


def _trained(entry: Entry, name: str, found: Judged | None, declared: Sequence[Undecidable]) -> Evidence:
    """A finding as evidence, at the settings that the answer quotes.

    A run judges only the arms that it trained. A verdict that is not as expected counts against the answer at any
    setting and of any run. What a run left undecided, fresh seeds decide.
    """
    if found is None:
        return _evidence(name, "finding", None)
    quoted = [fields for claim, fields, *_ in PLACEHOLDER.findall(entry.answer) if claim == name]
    at = [found.at(fields) for fields in quoted]
    before = [at_setting(found.findings, fields) for fields in quoted if at_setting(found.fresh, fields)]
    again = [f.setting for f in found.fresh]
    every = (*found.fresh, *(f for f in found.findings if _contradicts(f) or f.setting not in again))
    told = Findings(f for f in every if not quoted or f in at or _contradicts(f))
    evidence = _evidence(name, "finding", told or Findings(every))
    undecided = [f for f in told if f.verdict == Verdict.INCONCLUSIVE]
    reasons = [[each for each in declared if each.covers(entry.lab, f)] for f in undecided]
    # Only what is undecided may be declared undecidable. A contradiction, or a missing number, stays what it is.
    only_undecided = evidence.verdict == Verdict.INCONCLUSIVE and all(at) and all(reasons)
    return dataclasses.replace(
        evidence,
        quotable=all(at),
        earlier=tuple(f for f in before if f is not None),
        undecidable=tuple(dict.fromkeys(each for some in reasons for each in some)) if only_undecided else (),
    )


def _contradicts(finding: Finding) -> bool:
    return finding.verdict != Verdict.INCONCLUSIVE and not finding.as_expected


def _answer(entry: Entry, evidence: tuple[Evidence, ...], found: Found, option: str) -> Answer:
    open_ones = [e for e in evidence if not (e.decided and e.as_expected)]
    status = REFUTED if entry.submitted else SUPPORTED
    if not evidence:
        status = OPEN
    elif open_ones:
        status = UNDECIDABLE if all(e.undecidable for e in open_ones) else OPEN
    submitted = entry.submitted
    return Answer(
        id=entry.id,
        question=entry.question,
        answer=_filled(entry.answer, found, entry.lab, option),
        evidence=evidence,
        lab=entry.lab,
        option=option,
        status=status,
        submitted=None
        if submitted is None
        else {label: _filled(t, found, entry.lab, option) for label, t in submitted.items()},
    )


def _filled(text: str, found: Found, lab: str, option: str) -> str:
    def number(match: re.Match[str]) -> str:
        findings = found(match[1])
        finding = None if findings is None else findings.at(match[2])
        if finding is not None:
            return measured_text(finding.measured)
        # A hole would be read over. Whoever wants the number is told how to get it.
        command = "attnlab answers" if _is_claim(match[1]) else f"attnlab {lab} run"
        return f"(not measured; {command}{_with_more(option) if findings else ''} measures it)"

    return PLACEHOLDER.sub(number, text)


def at_setting(found: Findings, fields: str) -> Finding | None:
    """The finding whose setting has the given fields, written `name=value name='two words'`; None if none has.

    Raises:
        ValueError: if several have.
    """
    wanted = setting_of(fields)
    matching = [f for f in found if wanted.items() <= f.setting.items()]
    if len(matching) > 1:
        raise ValueError(f"{found[0].claim} has {len(matching)} findings at '{fields.strip()}', not one")
    return matching[0] if matching else None


def _answer_text(answer: Answer) -> Iterable[RenderableType]:
    against = ("  (its evidence contradicts it)" if answer.contradicted else "", "red")
    yield Text.assemble((answer.id, "bold"), "  ", (status_text(answer), STATUS_STYLES[answer.status]), against)
    yield Padding(Text(answer.question, style="italic"), (0, 0, 0, 2))
    for label, text in (answer.submitted or {"": answer.answer}).items():
        yield Padding(Text(f"{label}: {text}" if label else text), (0, 0, 0, 2))
    for e in answer.evidence:
        verdict = ("not judged", "dim") if e.verdict is None else (str(e.verdict), STYLES[e.verdict])
        foil = "  (a foil: it must be)" if e.verdict == Verdict.REFUTED and e.kind != "finding" else ""
        note = foil if e.as_expected else "  (not as expected)"
        command = f"attnlab {answer.lab} run"
        remedy = f"  ({command} judges it)" if e.kind == "finding" and e.verdict is None else ""
        remedy = remedy if e.quotable else f"  ({command}{_with_more(answer.option)} judges the rest)"
        note = "" if e.undecidable else note
        yield Padding(Text.assemble(f"{e.kind} {e.name}  ", verdict, note, remedy), (0, 0, 0, 4))
        for each in e.earlier:
            yield Padding(Text(f"before, with {several(each.draws, 'seed')}: {each.verdict}"), (0, 0, 0, 6))
        for each in e.undecidable:
            chance = "" if each.chance is None else f" with probability {each.chance:.2f}"
            there = agree(each.seeds, "there is", "there are")
            told = f"{each.runs} training runs would decide{chance}; {there} {each.seeds}. {each.why}"
            yield Padding(Text(f"{each.setting}: {told}"), (0, 0, 0, 6))
    yield Text()


def _with_more(option: str) -> str:
    return f" with more {option}" if option else ""
