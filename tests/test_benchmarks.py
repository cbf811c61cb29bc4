"""The race track works on a toy. Nothing here depends on how fast anything is."""

import contextlib
import json
import math
import re
import signal
import subprocess
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks import children, machine, memory, parts, ratios, run, table
from benchmarks.ratios import Benchmark, Race, Row, Spread, Target, memory_row, raced

ONES = np.ones(1000)
HERE = {"processor": "p", "commit": "abcdef0", "matrix_products": {"numpy": 1.0}, "versions": {}}
LACKS_AVX512, KIND = machine.lacks_avx512, machine.kind


@pytest.fixture(autouse=True)
def any_processor(monkeypatch):
    """How fast this machine multiplies, and with what, is no matter of the tests."""
    monkeypatch.setattr(machine, "SIZE", 64)
    monkeypatch.setattr(machine, "lacks_avx512", lambda: False)
    monkeypatch.setattr(machine, "kind", lambda: "")


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


@pytest.mark.slow("how the kind of a processor is recognised stays inside")
def test_results_are_written_and_say_what_machine(tmp_path, capsys):
    """Measures matrix products by numpy, jax and torch, and runs two races."""
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
    assert {path.name for path in tmp_path.iterdir()} == {"results.json", "RESULTS.md"}


@pytest.mark.slow("names of races that are refused stay inside")
def test_only_keeps_the_results_of_the_others(tmp_path):
    """Every run begins by timing large matrix products."""
    run.run(run.Options(out=tmp_path), [TOY, OTHER])
    before = json.loads((tmp_path / "results.json").read_text())
    run.run(run.Options(only=("toy",), quick=True, out=tmp_path), [TOY, OTHER])
    after = json.loads((tmp_path / "results.json").read_text())
    assert after["other"] == before["other"]
    assert after["toy"]["quick"]


def stopping(how):
    """A benchmark that Ctrl-C stops, in one of the ways in which that reaches us."""

    def measure(quick: bool) -> list[Row]:
        how()
        return toy(quick)

    return Benchmark("stopped", (), measure)


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def press_in_an_import() -> None:
    try:
        press()
    except KeyboardInterrupt:
        raise ImportError from None


def press_in_a_callback() -> None:
    with contextlib.suppress(KeyboardInterrupt):
        press()


@pytest.mark.slow("the exit code of a command that Ctrl-C ends stays inside")
@pytest.mark.parametrize("how", [press, press_in_an_import])
def test_a_run_stopped_in_its_second_race_keeps_the_first(tmp_path, capsys, how):
    assert run.run(run.Options(out=tmp_path), [TOY, stopping(how), OTHER]) == 130
    results = json.loads((tmp_path / "results.json").read_text())
    assert list(results) == ["toy"]
    assert (tmp_path / "RESULTS.md").read_text() == table.markdown(results)
    assert {path.name for path in tmp_path.iterdir()} == {"results.json", "RESULTS.md"}
    out, err = capsys.readouterr()
    *_, last = err.splitlines()
    assert (out, last) == ("", f"interrupted: {tmp_path / 'results.json'} keeps toy; not run: stopped, other")


@pytest.mark.slow("a Ctrl-C that is lost between draws stays inside")
def test_a_race_that_lost_the_ctrl_c_is_kept_and_no_other_begins(tmp_path, capsys):
    """Measures matrix products by numpy, jax and torch, and runs two races."""
    assert run.run(run.Options(out=tmp_path), [TOY, stopping(press_in_a_callback), OTHER]) == 130
    assert list(json.loads((tmp_path / "results.json").read_text())) == ["toy", "stopped"]
    assert capsys.readouterr().err.endswith("keeps toy, stopped; not run: other\n")


@pytest.mark.slow("a bad request that writes no file stays inside")
def test_a_run_stopped_in_its_first_race_changes_no_file(tmp_path, capsys):
    """Measures matrix products by numpy, jax and torch in each of three runs."""
    assert run.run(run.Options(out=tmp_path), [stopping(press), TOY]) == 130
    assert list(tmp_path.iterdir()) == []
    run.run(run.Options(out=tmp_path), [TOY, OTHER])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert run.run(run.Options(out=tmp_path), [stopping(press), TOY, OTHER]) == 130
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert capsys.readouterr().err.endswith("keeps no new results; not run: stopped, toy, other\n")


@pytest.mark.slow("that files of one result appear together stays inside")
def test_a_race_is_written_before_the_next_begins_whatever_becomes_of_that(tmp_path):
    def fail():
        assert list(json.loads((tmp_path / "results.json").read_text())) == ["toy"]
        raise RuntimeError("no memory")

    with pytest.raises(RuntimeError, match="no memory"):
        run.run(run.Options(out=tmp_path), [TOY, stopping(fail)])
    assert (tmp_path / "RESULTS.md").read_text().startswith("### toy")


@pytest.mark.slow("that files of one result appear together stays inside")
def test_ctrl_c_between_the_two_files_leaves_them_alike(tmp_path, monkeypatch):
    written = run.files.write_text
    monkeypatch.setattr(run.files, "write_text", lambda path, text: (press_once(), written(path, text)))
    presses = iter([False, True])

    def press_once():
        if next(presses, False):
            press()

    assert run.run(run.Options(out=tmp_path), [TOY, OTHER]) == 130
    results = json.loads((tmp_path / "results.json").read_text())
    assert list(results) == ["toy"]
    assert (tmp_path / "RESULTS.md").read_text() == table.markdown(results)


@pytest.mark.slow("the exit code of a command that Ctrl-C ends stays inside")
def test_a_child_that_ctrl_c_stops_says_nothing(capfd):
    """Starts a process, which imports jax."""
    with pytest.raises(subprocess.CalledProcessError) as stopped:
        children.told("tests.test_benchmarks:press")
    assert stopped.value.returncode == -signal.SIGINT
    assert capfd.readouterr().err == ""


@pytest.mark.slow("how the kind of a processor is recognised stays inside")
def test_every_kind_of_processor_has_results_of_its_own(tmp_path, monkeypatch):
    """Every run begins by timing large matrix products."""
    run.run(run.Options(out=tmp_path), [TOY, OTHER])
    run.run(run.Options(only=("toy",), isa="avx2", out=tmp_path), [TOY, OTHER])
    monkeypatch.setattr(machine, "kind", lambda: machine.ZEN_4)
    run.run(run.Options(only=("toy",), out=tmp_path), [TOY, OTHER])
    monkeypatch.setattr(machine, "lacks_avx512", lambda: True)
    monkeypatch.setattr(machine, "kind", lambda: machine.WITHOUT_AVX512)
    for isa in ("best", "avx2"):
        run.run(run.Options(only=("toy",), isa=isa, out=tmp_path), [TOY, OTHER])
    results = json.loads((tmp_path / "results.json").read_text())
    assert list(results) == ["toy on AMD Zen 4", "toy", "toy without AVX-512", "toy --isa avx2", "other"]


def results_of_two_families(tmp_path, monkeypatch) -> dict:
    """A toy on two families of processors, and another benchmark on one."""
    monkeypatch.setattr(machine, "commit", lambda: "abcdef0")
    run.run(run.Options(out=tmp_path), [TOY, OTHER])
    monkeypatch.setattr(machine, "kind", lambda: machine.WITHOUT_AVX512)
    monkeypatch.setattr(machine, "commit", lambda: None)
    run.run(run.Options(only=("toy",), out=tmp_path), [TOY, OTHER])
    return json.loads((tmp_path / "results.json").read_text())


@pytest.mark.slow("a page of two families with made-up numbers stays inside")
def test_families_of_processors_stand_side_by_side_with_their_commits(tmp_path, monkeypatch):
    """Every run begins by timing large matrix products."""
    results = results_of_two_families(tmp_path, monkeypatch)
    written = (tmp_path / "RESULTS.md").read_text()
    assert written == table.page(results)
    assert written.endswith(table.markdown(results))
    first, _ = written.split("\n### toy\n", 1)
    head, _, commits, *races = [line for line in first.splitlines() if line.startswith("|")]
    assert head == "| what | size | peer | without AVX-512 | AMD Zen 5, others with AVX-512 |"
    assert commits == "| **`toy`**, commit |  |  | unknown | abcdef0 |"
    # The toy's races have one name and one size: their order tells them apart.
    assert len(races) == len(results["toy"]["rows"])
    assert "other" not in first.split(commits)[1]
    for line in races:
        what, _, _, without, others = (cell.strip() for cell in line.strip("|").split("|"))
        assert what == "sum"
        assert without != "–" != others


def test_the_number_of_devices_is_no_other_race(tmp_path):
    def entry(*sizes):
        rows = [memory_row("m", size, ours=1.0, peer=2.0, peer_name="p") for size in sizes]
        return {"quick": False, "machine": HERE, "rows": [run.as_json(row, 1.0) for row in rows]}

    both = {"toy": entry("8, heads over 2 devices"), "toy without AVX-512": entry("8")}
    assert "| m | 8 | p | 2 | 2 |" in table.page(both)
    with_both = {"toy": entry("8", "8, heads over 2 devices"), "toy without AVX-512": entry("8")}
    assert "| m | 8, heads over 2 devices | p | – | 2 |" in table.page(with_both)


def test_a_commit_is_told_and_nothing_outside_a_checkout(monkeypatch):
    assert re.fullmatch(r"[0-9a-f]{7,}\+?", machine.commit() or "0000000")
    monkeypatch.setattr(machine.subprocess, "run", failing)
    assert machine.commit() is None


def failing(*_, **__):
    raise FileNotFoundError("git")


@pytest.mark.parametrize(
    ("flags", "lacks"), [("flags : avx avx2", True), ("flags : avx2 avx512f", False), ("model name : ARM", False)]
)
def test_a_processor_says_whether_it_has_avx512(flags, lacks, tmp_path, monkeypatch):
    (tmp_path / "cpuinfo").write_text(f"processor : 0\n{flags}\n")
    monkeypatch.setattr(machine, "INFORMATION", tmp_path / "cpuinfo")
    assert LACKS_AVX512() is lacks


@pytest.mark.parametrize(
    ("vendor", "family", "flags", "kind"),
    [
        ("GenuineIntel", 6, "avx2 avx512f", machine.INTEL),
        ("GenuineIntel", 6, "avx2", machine.WITHOUT_AVX512),
        ("AuthenticAMD", 25, "avx2 avx512f", machine.ZEN_4),
        ("AuthenticAMD", 25, "avx2", machine.WITHOUT_AVX512),
        ("AuthenticAMD", 26, "avx2 avx512f", ""),
    ],
)
def test_the_kind_of_a_processor_follows_from_what_the_system_says(
    vendor, family, flags, kind, tmp_path, monkeypatch
):
    core = f"vendor_id\t: {vendor}\ncpu family\t: {family}\nflags\t\t: fpu {flags}\n\n"
    (tmp_path / "cpuinfo").write_text(2 * core)
    monkeypatch.setattr(machine, "INFORMATION", tmp_path / "cpuinfo")
    monkeypatch.setattr(machine, "lacks_avx512", LACKS_AVX512)
    assert KIND() == kind


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


@pytest.mark.slow("nothing inside asks this: a process must import jax")
def test_extra_memory_counts_what_the_work_allocates():
    """Starts a process, which imports jax."""
    found = memory.extra_peak("tests.test_benchmarks:hold_megabytes", count=64)
    # Besides the array itself there are only the interpreter's own pages.
    assert 64 <= found < 66


@pytest.mark.slow("nothing inside asks this: a process must import jax")
def test_extra_memory_reports_a_failing_child():
    """Starts a process, which imports jax."""
    with pytest.raises(RuntimeError, match="hold_megabytes"):
        memory.extra_peak("tests.test_benchmarks:hold_megabytes", wrong=1)


@pytest.mark.slow("nothing inside asks this: jax must be profiled at work")
def test_shares_of_a_profile_are_those_of_its_parts():
    product, powers = jax.jit(jnp.matmul), jax.jit(lambda x: jnp.exp(x) * 2)
    x = jnp.ones((256, 256))
    mostly = parts.shares(lambda: jax.block_until_ready(product(x, x)), 8)
    none = parts.shares(lambda: jax.block_until_ready(powers(x)), 8)
    products = next(kind for kind in parts.KINDS if kind.startswith("matrix products"))
    assert math.isclose(sum(mostly.values()), 1)
    assert mostly[products] > 0  # other threads may be waited for
    assert none.get(products, 0) == 0
