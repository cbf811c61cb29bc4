"""The race track works on a toy. Nothing here depends on how fast anything is."""

import json
import math
import types

import numpy as np
import pytest

from benchmarks import machine, memory, ratios, run, table
from benchmarks.ratios import Benchmark, Race, Row, Spread, Target, memory_row, raced

ONES = np.ones(1000)
LACKS_AVX512 = machine.lacks_avx512


@pytest.fixture(autouse=True)
def any_processor(monkeypatch):
    """How fast this machine multiplies, and with what, is no matter of the tests."""
    monkeypatch.setattr(machine, "SIZE", 64)
    monkeypatch.setattr(machine, "lacks_avx512", lambda: False)


def toy(quick: bool) -> list[Row]:
    race = raced(ours=lambda: ONES.sum(), peers={"python": lambda: sum(ONES)}, rounds=3, pause=0)
    return [
        race.time_row("sum", "1,000", target=Target(1, 2), flops=1000),
        race.rate_row("sum", "1,000", work=1000, unit="numbers/s"),
        memory_row("sum", "1,000", ours=0.0, peer=1.0, peer_name="python", target=Target(0.25, 1)),
    ]


TOY = Benchmark("toy", ("numpy",), toy)
OTHER = Benchmark("other", (), toy)
PEERLESS = Benchmark("peerless", ("no_such_module",), toy)


def known_race() -> Race:
    return Race(np.array([1.0, 2.0, 1.0]), {"slow": np.array([9.0, 9.0, 9.0]), "good": np.array([2.0, 5.0, 3.0])})


def test_ratio_is_the_median_of_paired_ratios_against_the_best_peer():
    race = known_race()
    assert race.best_peer == "good"
    assert race.ratio == Spread(2.25, 2.5, 2.75)
    assert race.time_row("x", "1").ours == 1000.0
    rate = race.rate_row("x", "1", work=6, unit="things/s")
    assert (rate.ours, rate.peer) == (6.0, 2.0)


@pytest.mark.parametrize(("ratio", "verdict"), [(0.9, "missed"), (1.0, "met"), (1.9, "met"), (2.0, "aim met")])
def test_verdict_is_judged_by_the_median(ratio, verdict):
    row = memory_row("x", "1", ours=1.0, peer=ratio, peer_name="p", target=Target(1, 2))
    assert row.verdict == verdict


@pytest.mark.parametrize(("rate", "verdict"), [(20.0, "missed"), (30.0, "met"), (50.0, "aim met")])
def test_rate_reached_makes_up_for_a_ratio_missed(rate, verdict):
    race = Race(np.array([1.0]), {"p": np.array([2.0])})
    row = race.rate_row("x", "1", work=rate, unit="1/s", target=Target(3, 5), or_rate=Target(30, 50))
    assert row.verdict == verdict
    assert "3× · 5× or 30 · 50 1/s" in table.line(run.as_json(row, 1.0))


def test_short_work_is_repeated_and_its_mean_time_counts_but_for_the_first_run(monkeypatch):
    now, calls = [0.0], []

    def work(name, seconds):
        waking = 1 / 64 if calls[-1:] != [name] else 0.0
        calls.append(name)
        now[0] += seconds + waking

    monkeypatch.setattr(ratios, "time", types.SimpleNamespace(perf_counter=lambda: now[0], sleep=lambda _: None))
    race = raced(ours=lambda: work("o", 1 / 32), peers={"p": lambda: work("p", 0.5)}, rounds=2, least=0.1)
    # A warm-up, a run to see how long it takes, and two turns: the first of ours does not count.
    assert "".join(calls) == "op" + "op" + "oooop" + "poooo"
    assert race.ours.tolist() == [1 / 32] * 2
    assert race.peers["p"].tolist() == [0.5 + 1 / 64, 0.5]


def test_race_takes_turns():
    calls = []
    race = raced(ours=lambda: calls.append("o"), peers={"p": lambda: calls.append("p")}, rounds=3, pause=0, least=0)
    assert "".join(calls) == "op" + "op" + "po" + "op"
    assert race.ours.shape == race.peers["p"].shape == (3,)


def test_race_refuses_to_run_alone():
    with pytest.raises(ValueError, match="needs a peer"):
        raced(ours=lambda: None, peers={}, rounds=3)
    with pytest.raises(ValueError, match="needs a peer and a round"):
        raced(ours=lambda: None, peers={"p": lambda: None}, rounds=0)


def test_results_are_written_and_say_what_machine(tmp_path, capsys):
    assert run.run(run.Options(quick=True, out=tmp_path), [TOY, OTHER]) == 0
    results = json.loads((tmp_path / "results.json").read_text())
    assert list(results) == ["toy", "other"]
    machine = results["toy"]["machine"]
    assert machine["processor"]
    assert min(machine["matrix_products"].values()) > 0
    first, _, memory_line = results["toy"]["rows"]
    best = max(machine["matrix_products"].values()) * 1e9
    assert math.isclose(first["share"], 1000 / (first["ours"] / 1e3) / best)
    assert memory_line["verdict"] == "aim met"
    written = (tmp_path / "RESULTS.md").read_text()
    assert written == table.markdown(results) == capsys.readouterr().out
    assert [path.suffix for path in tmp_path.iterdir()].count(".part") == 0


def test_only_keeps_the_results_of_the_others(tmp_path):
    run.run(run.Options(out=tmp_path), [TOY, OTHER])
    before = json.loads((tmp_path / "results.json").read_text())
    run.run(run.Options(only=("toy",), quick=True, out=tmp_path), [TOY, OTHER])
    after = json.loads((tmp_path / "results.json").read_text())
    assert after["other"] == before["other"]
    assert after["toy"]["quick"]


def test_processors_with_and_without_avx512_stand_side_by_side(tmp_path, monkeypatch):
    run.run(run.Options(out=tmp_path), [TOY, OTHER])
    run.run(run.Options(only=("toy",), isa="avx2", out=tmp_path), [TOY, OTHER])
    monkeypatch.setattr(machine, "lacks_avx512", lambda: True)
    for isa in ("best", "avx2"):
        run.run(run.Options(only=("toy",), isa=isa, out=tmp_path), [TOY, OTHER])
    results = json.loads((tmp_path / "results.json").read_text())
    assert list(results) == ["toy", "toy without AVX-512", "toy --isa avx2", "other"]


@pytest.mark.parametrize(
    ("flags", "lacks"), [("flags : avx avx2", True), ("flags : avx2 avx512f", False), ("model name : ARM", False)]
)
def test_a_processor_says_whether_it_has_avx512(flags, lacks, tmp_path, monkeypatch):
    (tmp_path / "cpuinfo").write_text(f"processor : 0\n{flags}\n")
    monkeypatch.setattr(machine, "INFORMATION", tmp_path / "cpuinfo")
    assert LACKS_AVX512() is lacks


@pytest.mark.parametrize(
    ("only", "says"),
    [(("tyo",), "Did you mean toy?"), (("peerless",), "no_such_module: install them with pip install '.[peers]'")],
)
def test_bad_request_gets_one_line_and_exit_code_2(only, says, tmp_path, capsys):
    assert run.run(run.Options(only=only, out=tmp_path), [TOY, PEERLESS]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_unwritable_folder_is_refused_before_anything_is_measured(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert run.run(run.Options(out=tmp_path / "file"), [TOY]) == 2
    assert "cannot write to" in capsys.readouterr().err


def hold_megabytes(count: int):
    return lambda: np.ones(count * 2**17)


def test_extra_memory_counts_what_the_work_allocates():
    found = memory.extra_peak("tests.test_benchmarks:hold_megabytes", count=64)
    # Besides the array itself there are only the interpreter's own pages.
    assert 64 <= found < 66


def test_extra_memory_reports_a_failing_child():
    with pytest.raises(RuntimeError, match="hold_megabytes"):
        memory.extra_peak("tests.test_benchmarks:hold_megabytes", wrong=1)
