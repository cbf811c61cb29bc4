"""What the sheet says of labs is checked without a run."""

import dataclasses
import re

import pytest

from attnlab_theory.answers import questions
from attnlab_theory.answers.questions import Declared, Entry, refuse_undeclared
from attnlab_theory.claims import Paired, Statement
from attnlab_theory.cli import library, main
from attnlab_theory.stats import Interval

STATED = Statement(
    name="it-helps",
    statement="It helps.",
    source="uw/1",
    quantity="gain",
    where={"arm": ("new", "newer"), "seeds": 3},
    predicted=Interval.at_least(0.0),
    control=Paired("the old"),
)
LABS = {"toys": Declared((STATED,), "Does it help?", "--arms")}
ENTRY = Entry(
    id="uw/1",
    question="Does it?",
    answer="By {it-helps arm=new seeds=3 size=7}.",
    evidence=(),
    findings=("it-helps",),
    lab="toys",
)


def test_every_answer_rests_on_what_a_lab_states():
    asked = questions.entries()
    refuse_undeclared(asked, library.labs())
    assert sum(bool(entry.findings) for entry in asked) > 15


def test_a_setting_that_a_statement_is_about_may_be_quoted():
    refuse_undeclared([ENTRY], LABS)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"lab": "toy"}, "uw/1 rests on a run of 'toy', and no lab is called that"),
        ({"findings": ("it-help",)}, "uw/1 rests on 'it-help', but attnlab toys run has no such claim"),
        (
            {"answer": "By {it-helps arm=old}."},
            "uw/1 quotes 'it-helps' at 'arm=old', but the claim is about other settings",
        ),
        ({"answer": "{it-helps arm=new seeds=4}"}, "at 'arm=new seeds=4', but the claim is about other settings"),
    ],
)
def test_what_no_lab_states_is_refused(change, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        refuse_undeclared([dataclasses.replace(ENTRY, **change)], LABS)


@pytest.mark.slow("help that names every option of a command once stays inside")
def test_each_lab_names_an_option_that_it_has(capsys):
    for name, lab in library.labs().items():
        with pytest.raises(SystemExit):
            main([name, "run", "-h"])
        shown = capsys.readouterr().out
        assert all(f"{option} " in shown for option in lab.option.split(" or "))
