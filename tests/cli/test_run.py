"""`attnlab run`: whole experiments, and single claims of them."""

import json

import pytest

from attnlab_theory.cli import library, main


def test_one_claim_of_an_experiment_is_run_alone(tmp_path, capsys):
    """Judges a claim of the lab and draws its figures."""
    name = "two_heads_hedge::head-2-is-untouched"
    assert main(["run", name, "--json", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {(f["experiment"], f["claim"]) for f in found} == {("two_heads_hedge", "head-2-is-untouched")}
    assert (tmp_path / "two_heads_hedge.head-2-is-untouched.png").is_file()


def test_experiments_and_claims_of_them_are_chosen_together():
    chosen = library.chosen(["copying", "two_heads_hedge::two-heads-error", "two_heads_hedge::one-head-error"])
    assert {e.name for e in chosen} == {
        "copying",
        "two_heads_hedge.two-heads-error",
        "two_heads_hedge.one-head-error",
    }
    assert len(library.chosen([])) == len(library.experiments())


def test_another_machine_finds_the_same_claim():
    whole = library.by_name()["two_heads_hedge"]
    there = library.with_sources({}, ["two_heads_hedge::two-heads-error"])
    assert there["two_heads_hedge.two-heads-error"].part_of == whole
    assert there.keys() - library.by_name().keys() == {"two_heads_hedge.two-heads-error"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "two_heads_hedge::two-heads-eror",
            "no claim of two_heads_hedge is called 'two-heads-eror'; did you mean two-",
        ),
        ("two_heads_hedge::", "no claim of two_heads_hedge is called ''; attnlab list names them"),
        ("two_heads::two-heads-error", "no experiment is called 'two_heads'; did you mean two_heads_hedge?"),
    ],
)
def test_a_claim_that_is_not_there_is_refused_with_the_nearest(capsys, name, said):
    assert main(["run", name]) == 2
    assert capsys.readouterr().err.startswith(f"attnlab: {said}")
