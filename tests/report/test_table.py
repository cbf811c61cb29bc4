"""The table that a run ends with: one line per claim, honest where settings disagree."""

import dataclasses
import io
import math
from pathlib import Path

import pytest
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table

from attnlab_theory.claims import CLAIMS, Finding, Findings, Verdict
from attnlab_theory.claims.claim import ControlFinding, RivalFinding
from attnlab_theory.report.record import read_findings
from attnlab_theory.report.table import (
    by_control,
    claim_text,
    interval_text,
    measured_text,
    notes,
    show,
    style_of,
    tallies,
    verdict_table,
)
from attnlab_theory.stats import Interval, VarianceCheck, VarianceState

FIGURES = Path(__file__).parents[2] / "figures"

FINDING = Finding(
    experiment="copying",
    claim="leak",
    statement="",
    source="",
    setting={"n": 4},
    predicted=Interval.point(0.0),
    measured=Interval(0.0, 0.0),
    draws=1000,
    error_rate=0.0,
    resolution=1.0,
    bound="",
    verdict=Verdict.SUPPORTED,
    expect=Verdict.SUPPORTED,
)


def finding(**changes) -> Finding:
    return dataclasses.replace(FINDING, **changes)


def printed(findings, **options) -> str:
    out = io.StringIO()
    Console(file=out, width=100, **options).print(verdict_table(Findings(findings)))
    return out.getvalue()


def test_a_claims_settings_make_one_line():
    (line,) = tallies([finding(), finding(draws=24)])
    assert (line.settings, line.draws, line.verdict, line.as_expected) == (2, 1024, "SUPPORTED", True)


def test_a_claim_of_two_minds_says_how_its_settings_split():
    (line,) = tallies([finding(), finding(verdict=Verdict.INCONCLUSIVE), finding()])
    assert line.verdict == "2 SUPPORTED, 1 INCONCLUSIVE"
    assert not line.as_expected
    assert style_of(line) == "red"


def test_lines_keep_the_order_of_the_run_and_claims_of_one_name_their_experiments():
    lines = tallies(
        [finding(claim="b"), finding(claim="a"), finding(claim="b"), finding(experiment="x", claim="b")]
    )
    assert [(line.experiment, line.claim) for line in lines] == [("copying", "b"), ("copying", "a"), ("x", "b")]


def test_a_verdict_that_differs_says_what_was_expected():
    text = printed([finding(verdict=Verdict.REFUTED)])
    assert "REFUTED but SUPPORTED was expected" in text
    assert "expected" not in printed([finding()])


def test_a_foil_that_fell_is_called_a_foil():
    assert "REFUTED (a foil)" in printed([finding(verdict=Verdict.REFUTED, expect=Verdict.REFUTED)])


def test_every_experiment_and_claim_is_named_once_with_its_numbers():
    first = finding(predicted=Interval.at_most(7.5), measured=Interval(6.0, 6.5))
    text = printed([first, finding(experiment="other", claim="second"), finding(claim="third")])
    for word in ("copying", "other", "leak", "second", "third", "≤ 7.5", "6.25 ± 0.25"):
        assert word in text


def settings(*middles: float, **changes) -> list[Finding]:
    """Findings of one claim that predicts 3, measured at settings n = 0, 1, ..."""
    every = {"predicted": Interval.point(3.0), **changes}
    return [finding(setting={"n": n}, measured=Interval(x - 0.5, x + 0.5), **every) for n, x in enumerate(middles)]


@pytest.mark.parametrize(
    ("found", "worst"),
    [
        (settings(3.1, 2.7, 3.2), 1),
        (settings(3.0, 3.0), 0),
        (settings(1.0, 2.0, 2.9, predicted=Interval.at_most(3.0)), 2),
        (settings(9.0, 5.0, 7.0, expect=Verdict.REFUTED, verdict=Verdict.REFUTED), 1),
        ([*settings(3.4), *settings(9.0, 3.0, 8.0, verdict=Verdict.REFUTED)], 0),
        ([*settings(9.0, expect=None), *settings(0.0, 3.0, expect=None, verdict=Verdict.INCONCLUSIVE)[1:]], 0),
    ],
    ids=["furthest", "first of equals", "nearest its bound", "a foil nearest support", "refuted", "a conjecture"],
)
def test_the_setting_that_decides_is_the_worst(found, worst):
    (line,) = tallies(found)
    assert line.worst.setting == {"n": worst}
    assert line.worst.as_expected == all(f.as_expected for f in found)


def test_a_claim_is_told_by_its_statement_its_worst_setting_and_its_numbers(capsys):
    (line,) = tallies(settings(3.1, 2.7, statement=r"It is $\frac{6}{2}$, as $\beta \to 0$."))
    show(claim_text(line))
    assert capsys.readouterr().out.splitlines() == [
        "leak  SUPPORTED",
        "  It is 6/2, as β → 0.",
        "  worst of 2 settings: n=1",
        "  predicted 3, measured 2.70 ± 0.50 (1,000 draws)",
    ]


def test_the_setting_that_the_sentence_names_is_told_before_a_worse_one(capsys):
    named, worse = settings(3.1, 2.5)
    named = dataclasses.replace(named, stated=True)
    (line,) = tallies([named, worse])
    show(claim_text(line))
    assert capsys.readouterr().out.splitlines()[2:] == [
        "  as stated, one of 2 settings: n=0",
        "  predicted 3, measured 3.10 ± 0.50 (1,000 draws)",
    ]
    (line,) = tallies([named, dataclasses.replace(worse, verdict=Verdict.REFUTED)])
    assert line.worst.setting == {"n": 1}


def test_a_claim_that_compares_tells_both_sides(capsys):
    (line,) = tallies([finding(predicted=Interval.at_most(0.04), compared=("one head", 0.40801))])
    show(claim_text(line))
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "  predicted ≤ 0.04, measured 0 (1,000 draws)",
        "  to compare: 0.408 for one head",
    ]


def test_the_lab_tells_the_settings_that_its_sentences_name_and_both_sides():
    """Reads what was committed of every claim that names a setting or compares."""
    claims = {claim.name: claim for claim in CLAIMS if claim.stated or claim.compared}
    kept = (path for path in FIGURES.glob("*.json") if not path.name.endswith(".run.json"))
    lines = {tally.claim: tally for path in kept for tally in tallies(read_findings(path))}
    assert len(claims.keys() & lines.keys()) > 15
    for name in claims.keys() & lines.keys():
        claim, worst = claims[name], lines[name].worst
        assert {key: worst.setting[key] for key in claim.stated} == claim.stated, name
        output = io.StringIO()
        Console(file=output, width=200).print(claim_text(lines[name]))
        assert ("  as stated, one of" in output.getvalue()) == bool(claim.stated), name
        assert bool(worst.compared) == bool(claim.compared)
        if worst.compared:
            what, number = worst.compared
            assert f"  to compare: {number:.4g} for {what}  " in output.getvalue()


def test_long_statements_are_indented_in_every_line(capsys):
    (line,) = tallies([finding(statement="word " * 40, draws=1)])
    show(claim_text(line))
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == "leak  SUPPORTED"
    assert all(each.startswith("  ") for each in rest)
    assert rest[-2:] == ["  setting: n=4", "  predicted 0, measured 0 (one computation)"]


def test_names_are_printed_as_they_are_and_not_read_as_markup():
    text = printed([finding(claim="x[red]y[/]", experiment="[bold]")])
    assert "x[red]y[/]" in text
    assert "[bold]" in text


def test_without_a_terminal_there_are_no_colours():
    assert "\x1b" not in printed([finding()])
    assert "\x1b" in printed([finding()], force_terminal=True, color_system="standard")


@pytest.mark.parametrize("around", [lambda table: table, Group, lambda table: Group("before", Padding(table, 1))])
@pytest.mark.parametrize("no_wrap", [True, False])
def test_a_file_gets_every_column_in_full(capsys, no_wrap, around):
    table = Table()
    for name in ("one", "two", "three"):
        table.add_column(name * 10, no_wrap=no_wrap)
    table.add_row("x" * 70, "y" * 70, "z" * 70)
    show(around(table))
    out = capsys.readouterr().out
    for word in ("x" * 70, "y" * 70, "z" * 70, "three" * 10):
        assert word in out


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (Interval.point(0.123456), "0.1235"),
        (Interval.at_most(2.0), "≤ 2"),
        (Interval.at_least(-1.5), "≥ -1.5"),
        (Interval(0.1, 0.2), "0.1 … 0.2"),
        (Interval(-math.inf, math.inf), "anything"),
    ],
)
def test_an_interval_is_written_for_people(interval, text):
    assert interval_text(interval) == text


RIVAL = RivalFinding(statement="", source="", predicted=Interval.point(3.0), verdict=Verdict.REFUTED)
WIDE = {"measured": Interval(-1.0, 1.0), "resolution": 0.5, "verdict": Verdict.INCONCLUSIVE}
STRAINED = VarianceCheck(assumed=1.0, sample=7.0, state=VarianceState.STRAINED)


def test_a_verdict_that_is_as_expected_and_has_refuted_its_rival_needs_no_note():
    assert notes(Findings([finding(rival=RIVAL)])) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (WIDE, "wider than the resolution, 0.5. Allow more draws (--budget full)"),
        ({**WIDE, "variance": STRAINED}, "The draws vary more than the bound assumes: 7 against 1."),
        ({"verdict": Verdict.INCONCLUSIVE}, "do not refute the rival, which says 3."),
        ({"verdict": Verdict.REFUTED, "bound": "odd: none"}, "what the bound assumes (odd: none)"),
        ({"expect": Verdict.REFUTED}, "The foil may be true"),
    ],
)
def test_a_verdict_in_doubt_says_setting_numbers_and_remedy(changes, said):
    (note,) = notes(Findings([finding(rival=RIVAL, **changes)]))
    assert note.startswith("leak at n = 4: ")
    assert "Predicted 0, measured " in note
    assert "1,000 draws" in note
    assert said in note


def test_more_doubts_than_anybody_reads_are_counted():
    told = notes(Findings([finding(rival=RIVAL, verdict=Verdict.REFUTED)] * 12))
    assert len(told) == 11
    assert told[-1].startswith("2 more verdicts")


@pytest.mark.parametrize(
    ("number", "verdict", "said"),
    [
        (None, Verdict.INCONCLUSIVE, "nobody measured the control, chance"),
        (Interval(-1.0, 1.0), Verdict.INCONCLUSIVE, "the control, chance, may do as well"),
        (Interval(-2.0, -1.0), Verdict.REFUTED, "the control, chance, does better"),
    ],
)
def test_a_control_that_decides_is_told(number, verdict, said):
    control = ControlFinding(what="chance", number=number, is_difference=True, verdict=verdict)
    decided = finding(rival=RIVAL, verdict=verdict, control=control)
    assert by_control(decided) == said
    (note,) = notes(Findings([decided]))
    assert note.endswith(f"{said[0].upper()}{said[1:]}.")


def test_a_control_that_is_beaten_or_did_not_decide_is_not_told():
    beaten = ControlFinding(what="chance", number=None, is_difference=True, verdict=Verdict.SUPPORTED)
    unknown = dataclasses.replace(beaten, verdict=Verdict.INCONCLUSIVE)
    for control in (None, beaten, unknown):
        for more in ({}, WIDE, {"measured": Interval(2.0, 2.5), "verdict": Verdict.REFUTED}):
            assert by_control(finding(rival=RIVAL, control=control, **more)) == ""


def test_a_claim_without_a_rival_and_a_rival_that_cannot_be_are_told():
    impossible = dataclasses.replace(RIVAL, is_possible=False)
    foil = finding(claim="bent", expect=Verdict.REFUTED, verdict=Verdict.REFUTED)
    alone, beyond = notes(Findings([finding(), finding(claim="far", rival=impossible), foil]))
    assert alone.startswith("No rival named: leak. ")
    assert beyond.endswith("alone excludes the rival of: far.")


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (Interval(0.7745, 1.0), "0.7745 … 1"),
        (Interval(0.0, 0.07719), "0 … 0.07719"),
        (Interval(-1.0, -0.2), "-1 … -0.2"),
        (Interval(0.4, 0.6), "0.50 ± 0.10"),
        (Interval(0.0, 0.0), "0"),
        (Interval(1.0, 1.0), "1"),
    ],
)
def test_an_interval_that_may_have_been_cut_is_printed_by_its_ends(interval, text):
    assert measured_text(interval) == text
