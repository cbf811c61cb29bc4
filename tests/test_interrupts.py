"""Ctrl-C in a run, wherever it strikes, and Ctrl-C that is remembered."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from attnlab_theory import exits, experiment, files, interrupts
from attnlab_theory.experiment import run
from attnlab_theory.interrupts import patient, remembered
from attnlab_theory.stats import Interval, exact
from attnlab_theory.stats.draws import Blocks
from tests.toy_experiments import draw_figure, files_of, names, options, toy
from tests.toys import Coin, checked, coin_claim


def stop_here(key, coin):
    raise KeyboardInterrupt


INTERRUPTED = coin_claim(name="interrupted", draw=stop_here, bound=lambda coin: exact(0.0))


@pytest.mark.slow("Ctrl-C that is lost between settings or draws stays inside")
def test_interruption_keeps_what_is_finished_and_says_what_was_not_run(tmp_path, capsys):
    """Judges two experiments, and draws the figures of one."""
    experiments = [toy("first"), toy("second", coin_claim(), INTERRUPTED), toy("third")]
    assert run(experiments, options(tmp_path, json=True)) == 130
    said = capsys.readouterr()
    assert said.out == ""
    assert f"1 finished and kept in {tmp_path}; not run: second, third" in said.err
    assert names(tmp_path) == files_of("first")


def lost_interrupt():
    with contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.slow("one that is lost between settings or blocks of draws stays inside")
def test_an_interrupt_that_is_lost_stops_the_run_behind_the_claim_that_is_judged(tmp_path, capsys):
    """Judges a claim, and compiles what it draws."""
    pressed = []

    def predict(coin):
        pressed.append(signal.SIGINT)
        return Interval.point(coin.chance)

    unreached = coin_claim(name="unreached", predict=lambda coin: pytest.fail("goes on"))
    experiments = [toy("first", coin_claim(predict=predict), unreached), toy("second")]
    assert run(experiments, options(tmp_path), pressed) == 130
    assert f"0 finished and kept in {tmp_path}; not run: first, second" in capsys.readouterr().err
    assert names(tmp_path) == set()


def test_an_interrupt_that_is_lost_stops_a_claim_between_two_settings():
    asked = []

    def predict(coin):
        asked.append(coin.chance)
        lost_interrupt()
        return Interval.point(coin.chance)

    with remembered(), pytest.raises(KeyboardInterrupt):
        checked(coin_claim(predict=predict))
    assert asked == [0.25]
    # The signal is kept for the exit code, and stops nothing more.
    assert interrupts.received == [signal.SIGINT]
    assert len(checked(coin_claim())) == 2


def test_an_interrupt_that_is_lost_stops_a_claim_between_two_blocks_of_draws(monkeypatch):
    drawn, block = [], Blocks.__call__

    def counted(self, key, index, points):
        drawn.append(index)
        if index == 2:
            lost_interrupt()
        return block(self, key, index, points)

    monkeypatch.setattr(Blocks, "__call__", counted)
    # Nothing decides it before the last of its sixteen blocks.
    undecided = coin_claim(settings=(Coin(chance=0.5),), resolution=1e-6)
    with remembered(), pytest.raises(KeyboardInterrupt):
        checked(undecided)
    assert drawn == [0, 1, 2]


SLOW = """
import pathlib, time
from attnlab_theory.claims import Claim, Setting
from attnlab_theory.stats import Interval, proportion
class Coin(Setting):
    n: int
def predict(s):
    pathlib.Path("begun").touch()
    time.sleep(120)  # a wait in C, as that for a compiler: no exception reaches this thread
SLOW = Claim(name="slow", statement="It ends.", source="none", predict=predict, draw=lambda key, s: 0.0,
             bound=proportion(), resolution=0.1, settings=(Coin(n=1),))
"""


@pytest.mark.slow("the exit code of a command that a signal ends stays inside")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_ends_soon_after_a_signal_whatever_its_claim_waits_for(number, code, tmp_path):
    """Starts a process, which imports jax before its claim begins."""
    (tmp_path / "mine.py").write_text(SLOW)
    program = "import sys; from attnlab_theory.cli import main; sys.exit(main(['run', 'mine.py']))"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
    ) as process:
        try:
            while not (tmp_path / "begun").exists() and process.poll() is None:
                time.sleep(0.05)
            sent = time.monotonic()
            process.send_signal(number)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == code
    # Two seconds on a machine with nothing else to do.
    assert time.monotonic() - sent < 20
    assert said.endswith("attnlab: interrupted; 0 finished and kept in lab; not run: mine\n")
    assert names(tmp_path / "lab") == set()


@pytest.mark.slow("Ctrl-C that is lost between settings or draws stays inside")
def test_ctrl_c_keeps_what_is_finished_and_stops_the_judges_too(tmp_path, capsys, monkeypatch):
    """Judges claims of two experiments, paints a figure, and waits for Ctrl-C."""
    drawing, left = threading.Event(), threading.Event()

    class Judges(ThreadPoolExecutor):
        def shutdown(self, *arguments, **options):
            left.set()
            super().shutdown(*arguments, **options)

    def draw(findings):
        drawing.set()
        # In short waits: a signal that comes just before a wait is not seen until its end.
        struck = any(left.wait(0.05) for _ in range(1200))
        assert struck or pytest.fail("Ctrl-C does not strike the thread that draws")

    def predict(coin):
        assert drawing.wait(60)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        assert left.wait(60)
        return Interval.point(coin.chance)

    monkeypatch.setattr(experiment, "ThreadPoolExecutor", Judges)
    reached = []
    unreached = coin_claim(name="unreached", predict=reached.append)
    judged = toy("judged", coin_claim(settings=(Coin(chance=0.5),), predict=predict), unreached)
    assert run([toy("first"), toy("drawn", draw_figure=draw), judged], options(tmp_path)) == 130
    assert f"1 finished and kept in {tmp_path}; not run: drawn, judged" in capsys.readouterr().err
    assert names(tmp_path) == files_of("first")
    assert not reached


@pytest.mark.slow("one that is lost between settings or blocks of draws stays inside")
def test_an_interrupt_that_is_lost_while_drawing_stops_the_run_behind_the_experiment(tmp_path, capsys):
    def draw(findings):
        lost_interrupt()
        return draw_figure(findings)

    with remembered() as pressed:
        assert run([toy("first", draw_figure=draw), toy("second")], options(tmp_path), pressed) == 130
    assert "1 finished and kept" in capsys.readouterr().err
    assert names(tmp_path) == files_of("first")


def test_interrupts_are_remembered_inside_the_block_alone():
    before = signal.getsignal(signal.SIGINT)
    with remembered() as pressed:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert pressed == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is before
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with remembered() as pressed:
            signal.raise_signal(signal.SIGINT)
        assert pressed == []
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("happens", "expected"), [(lost_interrupt, KeyboardInterrupt), (list, ImportError)])
def test_an_interrupt_that_an_import_turns_into_another_error_is_one_again(happens, expected):
    def fail():
        with remembered():
            happens()
            raise ImportError("while initializing the extension")

    with pytest.raises(expected):
        fail()


def test_an_interrupt_that_is_lost_in_a_callback_is_raised_again():
    def collected(phase, info):
        gc.callbacks.remove(collected)
        signal.raise_signal(signal.SIGINT)

    def collect():
        with remembered():
            gc.callbacks.append(collected)
            gc.collect()
            # In short waits: a signal that comes just before a wait is not seen until its end.
            for _ in range(1200):
                threading.Event().wait(0.05)

    with pytest.raises(KeyboardInterrupt):
        collect()


def test_a_block_in_another_shares_its_list():
    with remembered() as outer, remembered() as inner:
        lost_interrupt()
        assert outer is inner
        assert list(outer) == [signal.SIGINT]
        outer.clear()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_command_with_its_code(number, code, capsys):
    assert exits.exit_code(lambda: signal.raise_signal(number) or 0) == code
    assert capsys.readouterr().err == "attnlab: interrupted\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_step_is_finished_after_the_first_signal_and_not_after_the_second(number, code):
    said, steps = [], []

    def command():
        with patient(said.append) as pressed:
            for step in range(3):
                signal.raise_signal(number)
                steps.append(step)
        return 130 if pressed else 0

    assert exits.exit_code(command) == code
    assert steps == [0]
    assert len(said) == 1


@pytest.mark.slow("that files of one result appear together stays inside")
def test_interruption_while_drawing_leaves_nothing_of_that_experiment(tmp_path, monkeypatch):
    save = Figure.savefig

    def interrupted_at_the_last_file(figure, path, **how):
        save(figure, path, **how)
        if how["format"] == "png":
            raise KeyboardInterrupt

    monkeypatch.setattr(Figure, "savefig", interrupted_at_the_last_file)
    assert run([toy("coins")], options(tmp_path)) == 130
    assert names(tmp_path) == set()


def test_a_training_in_the_background_of_a_script_ignores_ctrl_c_on():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with patient(pytest.fail) as pressed:
            signal.raise_signal(signal.SIGINT)
        assert not pressed
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_command_that_leaves_work_behind_leaves_no_temporary_file(tmp_path, monkeypatch):
    waits, ended = Future(), []
    monkeypatch.setattr(exits, "_leave", ended.append)
    monkeypatch.setattr(interrupts, "_left_behind", [waits])

    def writes_when_interrupted():
        files._new_file(tmp_path / "found.json")
        raise KeyboardInterrupt

    assert exits.exit_code(writes_when_interrupted) == 130
    assert ended == [130]
    assert list(tmp_path.iterdir()) == []
