"""The answer sheet: every question is there, says little, and is carried by evidence that exists."""

import contextlib
import dataclasses
import functools
import io
import json
import math
import re
import signal

import pytest
from rich.console import Console

from attnlab_theory import interrupts
from attnlab_theory.answers import questions, sheet, webpage
from attnlab_theory.book.runs import BESIDE
from attnlab_theory.claims import CLAIMS, Finding, Findings, Verdict
from attnlab_theory.cli import library, main
from attnlab_theory.grader.contracts import CONTRACTS
from attnlab_theory.identities import IDENTITIES
from attnlab_theory.labs.knowledge.measure import measure, verdicts
from attnlab_theory.report import record
from attnlab_theory.stats import Interval
from tests.labs.knowledge.models import PLACES, models

ENTRIES = {entry.id: entry for entry in questions.entries()}
CLAIMS_BY_NAME = {claim.name: claim for claim in CLAIMS}
KNOWN = {*CLAIMS_BY_NAME, *(identity.name for identity in IDENTITIES)}
ABBREVIATIONS = ("e.g.", "i.e.", "etc.", "vs.", "cf.")


WORD = re.compile(r"[(\"`]*[A-Za-z][A-Za-z'’/-]*[.,;:)\"`?!]*")
PLACE = re.compile(r"\([^()]*(?:docs|figures|experiments)/[^()]*\)")
"""Where something lies, in brackets."""


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?])[)\"]*\s+(?=\S)", text.strip())


def words(text: str) -> int:
    """How many words of English there are; formulas and measured numbers are none."""
    plain = PLACE.sub("", questions.PLACEHOLDER.sub("", text))
    return sum(WORD.fullmatch(each) is not None for each in plain.split())


def pretended(name: str, verdict: Verdict | None = None) -> Findings:
    """Findings as a run would make them, their predictions taken for measurements."""
    claim = CLAIMS_BY_NAME[name]
    return Findings(
        Finding(
            experiment="", claim=name, statement="", source="", setting=dataclasses.asdict(setting),
            predicted=claim.predicted_at(setting), measured=claim.predicted_at(setting), draws=1, error_rate=0.0,
            resolution=1.0, bound="", verdict=verdict or claim.expect, expect=claim.expect,
        )
        for setting in claim.settings
    )  # fmt: skip


@functools.cache
def trained(*variants: str) -> Findings:
    """Findings as a training run would make them, of made-up answers; of all three variants by default."""
    recalled = {"none": 0.0, "vanilla": 0.9, "rope": 1.0}
    answers = models({name: recalled[name] for name in variants or recalled}, seeds=8, persons=40, apart=0.025)
    return verdicts(measure(answers, PLACES, shuffles=49)).findings


def text_of(answers) -> str:
    console = Console(file=io.StringIO(), width=100, color_system=None)
    console.print(sheet.sheet_text(answers))
    return console.file.getvalue()


def test_an_answer_has_at_most_five_sentences(subtests):
    for entry in ENTRIES.values():
        with subtests.test(entry.id):
            assert not any(each in entry.answer for each in ABBREVIATIONS), "the count relies on full stops"
            # What somebody else claimed is quoted, in a sentence of theirs.
            own = [entry.submitted[part] for part in ("measured", "right")] if entry.submitted else [entry.answer]
            assert 1 <= sum(len(sentences(text)) for text in own) <= 5


def test_sentences_are_counted():
    assert len(sentences("One. Two? Three (and no more!) It is 0.5 at β = 1e-3. c_1 too.")) == 5
    assert words("Then c_2 misses (by a bit) {copy-weight n=16 beta=8}, at β = 3: u_a's fault.") == 7


def test_no_sentence_of_an_answer_has_more_than_thirty_words():
    long = [
        f"{id}: {sentence}"
        for id, entry in ENTRIES.items()
        for text in ([entry.answer] if entry.submitted is None else entry.submitted.values())
        for sentence in sentences(text)
        if words(sentence) > 30
    ]
    assert not long, "\n".join(["part it: one thought to a sentence", *long])


def of_its_lab(entry):
    """Findings of a small run of the knowledge lab, or those of another lab's committed run."""
    return trained() if entry.lab == "knowledge" else committed(entry.lab)


@functools.cache
def committed(lab):
    names = (lab, *BESIDE.get(lab, ()))
    found = [record.read_findings(library.trained(lab) / f"{name}.json") for name in names]
    return Findings(finding for each in found for finding in each)


@pytest.mark.slow("that every answer rests on what a lab states stays inside")
def test_every_piece_of_evidence_exists(subtests):
    """Some seconds: a small run of the knowledge lab is made up and judged."""
    for entry in ENTRIES.values():
        with subtests.test(entry.id):
            both = [*entry.evidence, *entry.findings]
            assert both
            assert len(set(both)) == len(both)
            assert set(entry.evidence) <= KNOWN
            assert set(entry.findings) <= {finding.claim for finding in of_its_lab(entry)}


@pytest.mark.slow("numbers that are filled in from findings stay inside")
def test_every_number_in_braces_is_one_finding_of_the_evidence(subtests):
    """Some seconds: claims predict at each of their settings."""
    for entry in ENTRIES.values():
        with subtests.test(entry.id):
            for text in (entry.answer, *(entry.submitted or {}).values()):
                for name, fields, *_ in questions.PLACEHOLDER.findall(text):
                    assert name in (*entry.evidence, *entry.findings)
                    assert sheet.at_setting(
                        of_its_lab(entry).of(name) if name in entry.findings else pretended(name), fields
                    )
                left = questions.PLACEHOLDER.sub("", text)
                # What looks like a placeholder and is none would be printed as it stands.
                # LaTeX-like index braces may.
                assert not re.search(r"(?<![_^])\{", left), left


def test_every_question_that_the_sheet_owes_is_there():
    owed = {
        "cs224n": "1a.i 1a.ii 1a.iii 1a.iv 1b.i 1b.ii 1c.i 1c.ii 1d.i 1d.ii 2 rnn",
        "practical4": "2a 2b 2c.1 2c.2 2d.1 2d.2 2e.1 2e.2 3a 3b 3c 3d 3e 3f 3g.1 3g.2 3g.3 3h.1 3h.2 3h.3 3h.4 "
        "4a 4b 4c",
        "uw": "1.2.1 1.2.2 1.2.3 1.3.1 1.3.2 1.3.3 2.2.1 2.2.2 2.2.3 3.q1 3.q2 3.q3 3.q4 3.q5",
        "ann-hw3": "1.1 1.2 1.3 2 3 4 5.1 5.2.1 5.2.2 5.2.3 5.3 bonus",
        "blog": "single two variance multi permutation sinusoidal learned rotary results",
    }
    assert [e.id for e in questions.entries()] == [
        f"{homework}/{q}" for homework in owed for q in owed[homework].split()
    ]
    assert set(CONTRACTS) <= set(ENTRIES)
    fallen = {"cs224n/rnn", "uw/1.3.1", "uw/1.3.2", "uw/2.2.1", "ann-hw3/5.1", "ann-hw3/5.2.2", "ann-hw3/5.2.3"}
    assert {e.id for e in ENTRIES.values() if e.submitted} == fallen


def test_a_homework_or_a_question_is_chosen():
    assert [e.id for e in questions.chosen("blog/rotary")] == ["blog/rotary"]
    assert {e.id.split("/")[0] for e in questions.chosen("uw")} == {"uw"}
    assert questions.chosen() == questions.entries()


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("cs224", "cs224n"),
        ("blog/rotory", "blog/rotary"),
        ("2b", "practical4/2b"),
        ("q2b", "practical4/2b"),
        ("Question 2b", "practical4/2b"),
        ("cs224n/1.3.i", "cs224n/1c.i"),
        ("practical4/2.4.1", "practical4/2d.1"),
        ("1d.i", "cs224n/1d.i"),
        ("1.3.i", "cs224n/1c.i or uw/1.3.1"),
    ],
)
def test_an_unknown_question_gets_the_nearest(wrong, near):
    with pytest.raises(ValueError, match=f"has no '{wrong}'; the nearest is {near}$"):
        questions.chosen(wrong)


def test_a_number_that_means_no_question_gets_no_other_one():
    with pytest.raises(ValueError, match=r"has no 'uw/9\.9\.9'; attnlab answers --list lists its questions$"):
        questions.chosen("uw/9.9.9")


def test_numbers_are_filled_in_from_the_findings():
    (answer,) = sheet.answered(questions.chosen("blog/two"), pretended)
    # (n - 2) / (2 e^beta + n - 2) at n = 16 and beta = 8.
    assert f"{14 / (2 * math.exp(8) + 14):.4g} of the way" in answer.answer
    assert answer.status == "supported"
    assert sheet.exit_code([answer]) == 0


@pytest.mark.slow("answers that are open without a training run stay inside")
def test_without_a_judge_claims_are_open_and_identities_judged():
    """Tries identities on drawn cases."""
    (answer,) = sheet.answered(questions.chosen("cs224n/1a.iv"))
    verdicts = {e.kind: e.verdict for e in answer.evidence}
    assert verdicts == {"claim": None, "identity": Verdict.SUPPORTED}
    assert answer.status == "open"
    assert "not judged" in text_of([answer])
    (answer,) = sheet.answered(questions.chosen("blog/two"))
    assert "(not measured; attnlab answers measures it)" in answer.answer


@pytest.mark.slow("the verdicts of a training run at quoted settings stay inside")
def test_findings_of_a_training_run_carry_an_answer_and_fill_in_its_numbers():
    (answer,) = sheet.answered(questions.chosen("practical4/3c"), recorded=trained())
    assert [(e.name, e.kind, e.verdict) for e in answer.evidence] == [
        ("untrained-is-ignorant", "finding", Verdict.SUPPORTED)
    ]
    assert answer.status == "supported"
    assert sheet.measured_text(trained().of("untrained-is-ignorant")[0].measured) in answer.answer


@pytest.mark.slow("Ctrl-C that strikes while a claim is judged stays inside")
def test_answers_stop_behind_a_claim_in_which_ctrl_c_was_lost(monkeypatch, capsys):
    """Judges a claim, and compiles what it draws."""
    monkeypatch.setattr(interrupts, "received", [])
    monkeypatch.setattr(interrupts, "remembered", lambda: contextlib.nullcontext([signal.SIGINT]))
    assert main(["answers", "cs224n/1a.ii"]) == 130
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.endswith("attnlab: interrupted; 0 of 1 question answered\n")


def test_without_a_training_run_its_answers_are_open_and_say_what_to_do():
    (answer,) = sheet.answered(questions.chosen("practical4/3c"), pretended)
    assert answer.status == "open"
    assert "(not measured; attnlab knowledge run measures it)" in answer.answer
    assert "not judged  (attnlab knowledge run judges it)" in text_of([answer])


def test_where_a_variant_was_not_trained_what_is_quoted_of_it_is_open():
    told = {"recorded": trained("none", "rope"), "options": {"knowledge": "--variants"}}
    (answer,) = sheet.answered(questions.chosen("practical4/3f"), pretended, **told)
    assert answer.status == "open"
    assert "(not measured; attnlab knowledge run with more --variants measures it)" in answer.answer
    assert "attnlab knowledge run with more --variants judges the rest" in " ".join(text_of([answer]).split())
    assert sheet.exit_code([answer]) == 1


@pytest.mark.parametrize(
    ("variant", "verdict", "status", "code"),
    [
        ("rope", Verdict.INCONCLUSIVE, "supported", 0),
        ("rope", Verdict.REFUTED, "open", 1),
        ("vanilla", Verdict.INCONCLUSIVE, "open", 1),
    ],
)
def test_findings_are_asked_at_the_settings_that_an_answer_quotes(variant, verdict, status, code):
    """practical4/3e quotes vanilla alone. What is left undecided elsewhere is not its word; what falls is."""
    found = Findings(
        dataclasses.replace(f, verdict=verdict) if f.setting.get("variant") == variant else f for f in trained()
    )
    (answer,) = sheet.answered(questions.chosen("practical4/3e"), recorded=found)
    shown = Verdict.SUPPORTED if status == "supported" else verdict
    assert [(e.verdict, answer.status) for e in answer.evidence] == [(shown, status)]
    assert sheet.exit_code([answer]) == code
    assert answer.contradicted == (verdict == Verdict.REFUTED)


def test_a_conjecture_that_one_setting_leaves_undecided_is_open():
    """No verdict is expected of it. The answer speaks of all three settings, and one is in doubt."""

    def found(*verdicts):
        of_one = next(f for f in committed("captions") if f.claim == "number-of-heads-stays-within-the-margin")
        heads = zip(("heads-1", "heads-6", "heads-8"), verdicts, strict=True)
        heads = (dataclasses.replace(of_one, setting={"arm": arm}, verdict=verdict) for arm, verdict in heads)
        permuted = (f for f in committed("captions") if f.claim == "permuted-features-stay-within-the-margin")
        return Findings((*heads, *permuted))

    for found_to_be, status, code in (
        ((Verdict.SUPPORTED, Verdict.INCONCLUSIVE, Verdict.SUPPORTED), "open", 1),
        ((Verdict.SUPPORTED, Verdict.SUPPORTED, Verdict.SUPPORTED), "supported", 0),
    ):
        (answer,) = sheet.answered(questions.chosen("ann-hw3/bonus"), recorded=found(*found_to_be))
        assert answer.status == status
        assert sheet.exit_code([answer]) == code


@pytest.mark.slow("numbers that are filled in from findings stay inside")
def test_no_answer_prints_a_hole():
    """Tries every identity on which an answer rests."""
    trained_on = [entry for entry in questions.entries() if entry.findings]
    assert trained_on
    for asked, recorded in ((questions.chosen(), None), (trained_on, trained())):
        for answer in sheet.answered(asked, recorded=recorded):
            # Between two numbers it is an interval.
            assert "…" not in re.sub(r"\d … \d", "", answer.answer)


def test_a_setting_is_found_by_its_fields_alone():
    found = pretended("average-error")
    assert sheet.at_setting(found, "n=64 size=2 beta=8") in found
    assert sheet.at_setting(found, "n=64 size=2 beta=7") is None
    assert sheet.at_setting(found, "unknown=64") is None
    with pytest.raises(ValueError, match=r"average-error has \d+ findings at 'n=64', not one"):
        sheet.at_setting(found, " n=64")


def test_a_training_run_is_read_from_the_folder_that_is_named(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(library, "trained", lambda lab: tmp_path / "nowhere")
    assert main(["answers", "practical4/3c", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["status"] == "open"
    folder = tmp_path / "run"
    folder.mkdir()
    assert main(["answers", "practical4/3c", "--findings", str(folder)]) == 2
    assert "run holds no knowledge.json" in capsys.readouterr().err
    (folder / "knowledge.json").write_text(record.to_text([record.as_json(f) for f in trained()]))
    assert main(["answers", "practical4/3c", "--findings", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["status"] == "supported"


def test_evidence_that_fails_opens_the_answer_and_is_said_to_contradict_it():
    def judge(name: str) -> Findings:
        return pretended(name, Verdict.REFUTED if name == "average-share" else None)

    (answer,) = sheet.answered(questions.chosen("blog/two"), judge)
    assert answer.status == "open"
    assert sheet.exit_code([answer]) == 1
    assert "claim average-share  REFUTED  (not as expected)" in text_of([answer])
    assert text_of([answer]).startswith("blog/two  open  (its evidence contradicts it)")


def test_inconclusive_evidence_leaves_the_answer_open():
    def judge(name: str) -> Findings:
        found = pretended(name)
        return Findings((dataclasses.replace(found[0], verdict=Verdict.INCONCLUSIVE), *found[1:]))

    (answer,) = sheet.answered(questions.chosen("blog/two"), judge)
    assert {e.verdict for e in answer.evidence} == {Verdict.INCONCLUSIVE}
    assert answer.status == "open"
    assert "contradicts" not in text_of([answer])
    assert sheet.exit_code([answer]) == 1


def test_claims_are_judged_once_for_the_whole_sheet():
    asked = []

    def judge(name: str) -> Findings:
        asked.append(name)
        return pretended(name)

    list(sheet.answered(questions.chosen("blog/two") + questions.chosen("cs224n/1b.ii"), judge))
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_ctrl_c_keeps_the_questions_that_are_answered(options, monkeypatch, capsys):
    judged = []

    def judge(experiment, claim, **how):
        judged.append(claim.name)
        if claim.name == "average-error":
            signal.raise_signal(signal.SIGINT)
        return pretended(claim.name)

    monkeypatch.setattr("attnlab_theory.experiment.judge_claim", judge)
    assert main(["answers", "blog", *options]) == 130
    out, err = capsys.readouterr()
    asked = len(questions.chosen("blog"))
    assert err.endswith(f"attnlab: interrupted; 1 of {asked} questions answered\n")
    assert judged[-1] == "average-error"
    if options:
        assert [answer["id"] for answer in json.loads(out)] == ["blog/single"]
    else:
        assert out.startswith("blog/single  supported")
        assert "blog/two" not in out


@pytest.mark.slow("five of seven members stay inside", but=5)
@pytest.mark.parametrize("entry", [e for e in ENTRIES.values() if e.submitted], ids=lambda e: e.id)
def test_a_submitted_answer_that_falls_is_shown_with_what_is_right(entry):
    """Tries the identities on which an answer rests, and compiles their operators."""
    found = of_its_lab(entry) if entry.findings else Findings()
    (answer,) = sheet.answered([entry], pretended, recorded=found)
    assert answer.status == "refuted"
    fallen = {name for name, claim in CLAIMS_BY_NAME.items() if claim.expect == Verdict.REFUTED}
    fallen |= {finding.claim for finding in found if finding.verdict == Verdict.REFUTED}
    assert fallen & {*entry.evidence, *entry.findings}
    assert list(answer.as_json()["submitted"]) == ["claimed", "measured", "right"]
    shown = " ".join(text_of([answer]).split())
    for label, text in answer.submitted.items():
        assert f"{label}: {text}" in shown
        assert text in answer.answer


@pytest.mark.slow("the JSON of answers that somebody submitted stays inside")
def test_json_has_the_contracts_fields():
    """Tries an identity on drawn cases."""
    answers = list(sheet.answered(questions.chosen("blog/learned"), pretended))
    (value,) = json.loads(json.dumps([answer.as_json() for answer in answers]))
    assert list(value) == ["id", "question", "answer", "evidence", "status"]
    assert value["evidence"][0] == {
        "name": "permuted-tokens/learned positions",
        "kind": "identity",
        "verdict": "REFUTED",
    }
    assert value["status"] == "supported"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.4613, 0.4637, "0.4625 ± 0.0012"),
        (0.0244, 0.0246, "0.02450 ± 0.00010"),
        (0.25, 0.25, "0.25"),
        (0.0, 0.0, "0"),
        (-math.inf, 0.05, "≤ 0.05"),
        (11.9, 12.1, "12.00 ± 0.10"),
        (100.0, 180.0, "140 ± 40"),
        (0.002342737, 0.002342738, "0.002343"),
    ],
)
def test_a_measured_number_shows_what_is_known(low, high, text):
    assert sheet.measured_text(Interval(low, high)) == text


def test_ids_are_listed_and_nothing_is_judged(capsys):
    assert main(["answers", "practical4", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    asked = [each for each in questions.entries() if each.id.startswith("practical4/")]
    assert lines == [f"{each.id}  {each.question}" for each in asked]
    assert main(["answers", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed == [{"id": each.id, "question": each.question} for each in questions.entries()]


def test_the_last_line_says_why_the_exit_code_is_what_it_is(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["answers", "uw/3.q4"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == "1 answer: 0 supported; 1 that no run of this size decides"
    of = {
        status: sheet.Answer(id=f"uw/{n}", question="", answer="", evidence=(), lab="", status=status)
        for n, status in enumerate(("supported", "refuted", "undecidable-here", "open"))
    }
    assert sheet.reason([of["supported"], of["supported"]]) == "2 answers: 2 supported"
    assert sheet.reason([*of.values()]) == (
        "4 answers: 1 supported; 1 where a submitted answer is refuted and the right one is shown; "
        "1 that no run of this size decides; 1 open, so the exit code is 1: uw/3"
    )


@pytest.mark.parametrize(
    ("found", "code", "last"),
    [
        (
            {"uw/1": "supported", "uw/2": "refuted"},
            0,
            "2 answers: 1 supported; 1 where a submitted answer is refuted",
        ),
        ({"uw/1": "open", "uw/2": "open"}, 1, "2 answers: 0 supported; 2 open, so the exit code is 1: uw/1, uw/2"),
        ({"uw/1": "undecidable-here", "uw/2": "open"}, 1, "decides; 1 open, so the exit code is 1: uw/2"),
    ],
)
def test_screen_and_page_end_and_begin_with_the_reason(capsys, tmp_path, monkeypatch, found, code, last):
    told = {"question": "What?", "answer": "That.", "evidence": (), "lab": ""}
    answers = [sheet.Answer(id=id, status=status, **told) for id, status in found.items()]
    monkeypatch.setattr("attnlab_theory.answers.sheet.answered", lambda *asked, **how: iter(answers))
    monkeypatch.chdir(tmp_path)
    assert main(["answers", "uw/3.q4", "--html", "sheet.html"]) == code
    line = capsys.readouterr().out.splitlines()[-1]
    assert last in line
    assert f"<p>{line}</p>\n<pre>" in (tmp_path / "sheet.html").read_text("utf-8")


def test_ids_of_one_question_and_of_a_homework_of_ones_own_are_listed(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["answers", "uw/1.2.1", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["uw/1.2.1"]
    main(["homework", "new", "week.toml", "--topic", "heads"])
    capsys.readouterr()
    assert main(["answers", "--homework", "week.toml", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["week/split", "week/merge"]
    assert main(["answers", "--list", "--html", "sheet.html"]) == 2
    assert "--list judges nothing, and --html is a page" in capsys.readouterr().err
    assert not (tmp_path / "sheet.html").exists()


def test_the_page_holds_each_answer_as_text_and_asks_for_nothing(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["answers", "uw/3.q4", "--html", "sheet.html"]) == 0
    capsys.readouterr()
    page = (tmp_path / "sheet.html").read_text("utf-8")
    assert "default-src 'none'" in page
    assert '<h3 id="uw/3.q4">3.q4: undecidable-here</h3>' in page
    assert "<pre>attnlab answers uw/3.q4 --html sheet.html</pre>" in page
    hostile = sheet.Answer(
        id="uw/<b>",
        question="<script>",
        answer="&",
        evidence=(),
        lab="",
        status="refuted",
        submitted={"<i>": "\ud800"},
    )
    shown = webpage.page([hostile], "attnlab '<'")
    assert "<script>" not in shown
    assert "<b>" not in shown
    assert "<i>" not in shown
    assert "&lt;b&gt;: the submitted answer is refuted</h3>" in shown
