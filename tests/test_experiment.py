"""What a run writes, says and returns, on toy experiments."""

import dataclasses
import json
import re
import shutil
import subprocess
import threading
import types

import jax
import pytest

from attnlab_theory import experiment, files
from attnlab_theory.claims import Verdict
from attnlab_theory.experiment import Experiment, findings_of, judge_claim, run
from attnlab_theory.report import provenance
from attnlab_theory.stats import Interval
from tests.toy_experiments import SUFFIXES, draw_figure, files_of, names, options, toy
from tests.toys import Coin, coin_claim

FINDING_KEYS = [
    "experiment", "claim", "statement", "source", "setting", "predicted", "measured", "draws",
    "error_rate", "resolution", "bound", "verdict", "expect", "variance", "rival",
]  # fmt: skip
RUN_KEYS = ["seed", "budget", "commit", "versions", "processor", "command", "seconds", "family_error_rate"]

UNDECIDED = coin_claim(name="undecided", resolution=lambda coin: 1e-6)


@pytest.mark.slow("one claim that is run alone, with its figure, stays inside")
def test_a_run_writes_findings_provenance_and_both_figures(tmp_path, capsys):
    assert run([toy("coins")], options(tmp_path / "deep" / "lab")) == 0
    written = names(tmp_path / "deep" / "lab")
    assert written == files_of("coins")
    findings = json.loads((tmp_path / "deep" / "lab" / "coins.json").read_text())
    assert [list(finding) for finding in findings] == [FINDING_KEYS] * 2
    about = json.loads((tmp_path / "deep" / "lab" / "coins.run.json").read_text())
    assert set(RUN_KEYS) <= set(about)
    assert (about["seed"], about["budget"], about["family_error_rate"]) == (0, "quick", 1e-6)
    assert set(provenance.NUMERIC_PACKAGES) | {"python"} == set(about["versions"])
    said = capsys.readouterr()
    assert said.out.startswith(
        "coins: Is a coin's mean its chance?\n\ncoin  SUPPORTED\n  A coin's mean is its chance.\n"
    )
    assert said.out.count("coin  SUPPORTED") == 1
    stem = tmp_path / "deep" / "lab" / "coins"
    assert said.out.endswith(f"Figure: {stem}.png\nData:   {stem}.json\n")
    assert said.err == "judging: 1 claim\n"


@pytest.mark.slow("the verdict that one experiment prints stays inside")
def test_several_experiments_end_with_a_table_of_every_claim(tmp_path, capsys):
    assert run([toy("first"), toy("second")], options(tmp_path)) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["claim", "settings", "predicted", "measured", "verdict"]
    assert [line[0] for line in lines[1:5]] == ["first", "coin", "second", "coin"]
    assert lines[2][1] == "2"
    assert lines[2][-1] == "SUPPORTED"


@pytest.mark.slow("one claim that is run alone stays inside")
def test_one_claim_alone_has_the_numbers_of_the_whole_run_and_files_of_its_own(tmp_path):
    whole = toy("coins", coin_claim(), coin_claim(name="other"))
    alone = experiment.part(whole, whole.claims[1])
    assert run([whole, alone], options(tmp_path)) == 0
    assert names(tmp_path) == files_of("coins", "coins.other")
    found = json.loads((tmp_path / "coins.json").read_text("utf-8"))
    assert json.loads((tmp_path / "coins.other.json").read_text("utf-8")) == found[2:]


@pytest.fixture
def unasked():
    """As in a process that has not asked for its commit yet, and none the wiser afterwards."""
    provenance.commit.cache_clear()
    yield
    provenance.commit.cache_clear()


@pytest.mark.slow("the commit of this code and of no other project stays inside")
@pytest.mark.usefixtures("unasked")
def test_results_that_a_run_writes_into_its_checkout_do_not_mark_its_own_commit_as_changed(tmp_path, monkeypatch):
    """Judges two claims, and paints a figure of each."""
    said = iter(["c0ffee", "c0ffee-dirty"])

    def git(command, **how):
        return subprocess.CompletedProcess(command, 0, stdout=next(said) if "describe" in command else "")

    monkeypatch.setattr(subprocess, "run", git)
    run([toy("first"), toy("second")], options(tmp_path))
    records = [json.loads((tmp_path / f"{name}.run.json").read_text()) for name in ("first", "second")]
    assert [record["commit"] for record in records] == ["c0ffee", "c0ffee"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git makes the checkout")
@pytest.mark.usefixtures("unasked")
def test_a_commit_is_that_of_this_code_and_of_no_project_into_which_it_is_installed(tmp_path, monkeypatch):
    def git(*arguments):
        who = ["-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "commit.gpgsign=no"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    installed = tmp_path / "provenance.py"
    installed.touch()
    monkeypatch.setattr(provenance, "__file__", str(installed))
    git("init")
    git("commit", "--allow-empty", "--message", "Somebody else's")
    assert provenance.commit() is None
    git("add", "provenance.py")
    git("commit", "--message", "Ours")
    provenance.commit.cache_clear()
    assert re.fullmatch("[0-9a-f]{12}", provenance.commit() or "")


def test_a_result_names_the_accelerators_that_it_was_computed_on(monkeypatch):
    assert "accelerators" not in provenance.of_this_process()
    devices = [types.SimpleNamespace(platform="gpu", device_kind="Some GPU") for _ in range(2)]
    monkeypatch.setattr(jax, "local_devices", lambda: devices)
    told = provenance.of_this_process()
    assert (told["accelerators"], told["matmul_precision"]) == (["2 x Some GPU"], "default")
    with jax.default_matmul_precision("float32"):
        assert provenance.of_this_process()["matmul_precision"] == "float32"


@pytest.mark.slow("the same bytes of a run that is judged again stay inside")
def test_the_same_seed_writes_the_same_bytes(tmp_path):
    """Judges an experiment three times and draws its figures each time."""
    for folder in ("one", "two"):
        run([toy("coins")], options(tmp_path / folder))
    for suffix in (".json", ".svg", ".png"):
        one, two = ((tmp_path / folder / f"coins{suffix}").read_bytes() for folder in ("one", "two"))
        assert one == two
    run([toy("coins")], options(tmp_path / "other", seed=1))
    assert (tmp_path / "other" / "coins.json").read_bytes() != (tmp_path / "one" / "coins.json").read_bytes()


@pytest.mark.slow("equal findings of a setting beside others stay inside")
def test_findings_do_not_depend_on_what_else_is_run(tmp_path):
    """Judges toy experiments several times, and draws figures of three."""
    first = toy("first", coin_claim(name="a", settings=(Coin(chance=0.3),)))
    second = toy("second", coin_claim(name="b"))
    run([second], options(tmp_path / "alone"))
    run([first, second], options(tmp_path / "together"))
    alone, together = ((tmp_path / folder / "second.json").read_bytes() for folder in ("alone", "together"))
    assert alone == together
    whole = findings_of(second, seed=0, budget="quick")
    assert judge_claim(second, second.claims[0], seed=0, budget="quick") == whole


@pytest.mark.slow("equal findings of a setting beside others stay inside")
def test_a_claim_more_moves_no_other_claims_draws():
    def measured(*claims):
        found = findings_of(toy("coins", *claims, error_rate=1e-6 * len(claims)), seed=0, budget="quick")
        return [(finding.setting, finding.measured) for finding in found.of("coin")]

    assert measured(coin_claim()) == measured(coin_claim(name="other"), coin_claim())


def test_claims_of_one_stream_see_the_same_draws():
    claims = (coin_claim(stream="tosses"), coin_claim(name="again", stream="tosses"), coin_claim(name="alone"))
    found = findings_of(toy("coins", *claims), seed=0, budget="quick")
    first, again, alone = ([f.measured for f in found.of(claim.name)] for claim in claims)
    assert first == again != alone


def test_the_error_budget_is_split_over_claims_and_settings():
    three = tuple(Coin(chance=chance) for chance in (0.1, 0.2, 0.3))
    claims = (coin_claim(), coin_claim(name="three", settings=three))
    found = findings_of(toy("coins", *claims, error_rate=1e-3), seed=0, budget="quick")
    assert len(found) == 5
    assert all(finding.error_rate == 1e-3 / 5 for finding in found)


def test_a_bigger_budget_allows_more_draws():
    quick, full = (findings_of(toy("coins", UNDECIDED), seed=0, budget=budget) for budget in ("quick", "full"))
    assert {f.draws for f in quick} == {2**12}
    assert {f.draws for f in full} == {2**13}


@pytest.mark.slow("the JSON of one claim of the lab stays inside")
def test_json_is_one_value_with_the_contracts_keys_and_nothing_else(tmp_path, capsys):
    """Judges two claims, and paints a figure of each."""
    assert run([toy("coins"), toy("more")], options(tmp_path, json=True)) == 0
    said = capsys.readouterr()
    value = json.loads(said.out)
    assert list(value) == ["findings", "run"]
    assert list(value["run"]) == RUN_KEYS
    assert [list(finding) for finding in value["findings"]] == [FINDING_KEYS] * 4
    assert value["run"]["family_error_rate"] == 2e-6
    assert value["findings"][:2] == json.loads((tmp_path / "coins.json").read_text())


@pytest.mark.slow("the exit code of one claim that is run alone stays inside")
@pytest.mark.parametrize(
    ("claim", "code"),
    [
        (coin_claim(), 0),
        (coin_claim(predict=lambda coin: Interval.point(0.9), expect=Verdict.REFUTED), 0),
        (coin_claim(predict=lambda coin: Interval.point(0.9)), 1),
        (coin_claim(expect=Verdict.REFUTED), 1),
        (UNDECIDED, 1),
    ],
    ids=["supported", "a foil falls", "refuted", "a foil stands", "inconclusive"],
)
def test_the_exit_code_says_whether_every_verdict_is_as_expected(tmp_path, claim, code):
    """Judges two claims, and paints a figure of each."""
    # The good experiment comes last: one that is not as expected counts wherever it stands.
    assert run([toy("coins", claim), toy("good")], options(tmp_path)) == code


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_folder_that_cannot_be_written_is_refused_in_one_line(tmp_path, capsys, below):
    (tmp_path / "file").write_text("mine")
    out = tmp_path / "file" / below
    assert run([toy("coins")], options(out)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert f"cannot write into {out}" in said.err
    assert "--out" in said.err
    assert names(tmp_path) == {"file"}
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.slow("a folder that cannot be written stays inside")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_cannot_be_replaced_is_refused_and_leaves_no_other(tmp_path, capsys, suffix):
    """Refuses before any claim is judged."""
    (tmp_path / f"coins{suffix}").mkdir()
    assert run([toy("good"), toy("coins")], options(tmp_path)) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert f"{tmp_path / f'coins{suffix}'} is a folder; " in said
    assert names(tmp_path) == {f"coins{suffix}"}


@pytest.mark.slow("a folder that cannot be written stays inside")
def test_what_was_finished_before_a_file_could_not_be_replaced_is_kept(tmp_path, monkeypatch):
    """Judges two claims, and paints a figure of each. The folder seems to have come while they were judged."""
    monkeypatch.setattr(files, "refuse_unwritable", lambda *_, **__: None)
    (tmp_path / "coins.json").mkdir()
    assert run([toy("good"), toy("coins")], options(tmp_path)) == 2
    assert files_of("good") <= names(tmp_path)


def test_two_runs_do_not_write_into_one_folder(tmp_path, capsys):
    with files.held(tmp_path):
        assert run([toy("coins")], options(tmp_path)) == 2
    assert "another run is writing into " in capsys.readouterr().err
    assert names(tmp_path) == set()


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_that_is_no_seed_is_refused_before_anything_is_made(tmp_path, capsys, seed):
    assert run([toy("coins")], options(tmp_path / "lab", seed=seed)) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert f"--seed: seed must be between 0 and 2**63 - 1, not {seed}" in said.err
    assert names(tmp_path) == set()


@pytest.mark.slow("lines of a table in the order of the run stay inside")
def test_experiments_are_judged_side_by_side_and_written_in_the_order_asked_for(tmp_path, capsys):
    meet = threading.Barrier(2, timeout=20)

    def predict(coin):
        meet.wait()
        return Interval.point(coin.chance)

    alone = coin_claim(settings=(Coin(chance=0.5),), predict=predict)
    assert run([toy("late", alone), toy("early", alone)], options(tmp_path, json=True)) == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [finding["experiment"] for finding in found] == ["late", "early"]


@pytest.mark.slow("a claim whose prediction ends the process stays inside")
@pytest.mark.parametrize(
    ("claim", "said"),
    [
        (coin_claim(settings=(Coin(chance=1.5),)), "coin: the hypothesis 'it is a chance' does not hold at Coin"),
        (coin_claim(draw=lambda key, coin: coin.chance + 0.125), "the bound's assumption is broken"),
        (coin_claim(chunk=2**20), "lower the chunk"),
    ],
    ids=["hypothesis", "bound", "draws"],
)
def test_a_claim_that_cannot_be_judged_is_one_line_and_exit_code_2(tmp_path, capsys, claim, said):
    assert run([toy("first"), toy("coins", claim), toy("last")], options(tmp_path, json=True)) == 2
    spoken = capsys.readouterr()
    assert spoken.out == ""
    assert spoken.err.count("\n") == 1
    assert said in spoken.err
    assert "not run: coins, last" in spoken.err
    assert names(tmp_path) == files_of("first")


def test_a_mistake_in_a_figure_keeps_its_traceback(tmp_path):
    def broken(findings):
        raise ValueError("ours")

    with pytest.raises(ValueError, match="ours"):
        run([toy("coins", draw_figure=broken)], options(tmp_path))
    assert names(tmp_path) == set()


@pytest.mark.slow("a mistake in drawing a figure stays inside")
def test_a_figure_is_given_findings_and_nothing_else(tmp_path):
    given = []

    def draw(*arguments):
        given.append(arguments)
        return draw_figure(*arguments)

    run([toy("coins", draw_figure=draw)], options(tmp_path))
    assert given == [(findings_of(toy("coins"), seed=0, budget="quick"),)]


def test_an_experiment_can_only_be_declared_by_name():
    with pytest.raises(TypeError):
        Experiment(*("coins", "?", (), draw_figure))
    assert dataclasses.is_dataclass(Experiment)
