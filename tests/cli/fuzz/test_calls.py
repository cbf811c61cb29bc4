"""Every command does its work. An option with a bad value gets one line, exit code 2 and no file.

The same calls in every run. `ATTNLAB_EXPLORE=1` makes all of them, and draws new ones.
"""

import contextlib
import dataclasses
import functools
import io
import os
import pickle
import random
import signal
import socket
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from attnlab_theory import exits, inputs
from attnlab_theory.cli import main
from attnlab_theory.labs import sentences
from attnlab_theory.labs.heads.commands import Heads
from attnlab_theory.labs.recurrent import tuning
from attnlab_theory.language import runs
from attnlab_theory.language.checkpoint import save_model
from attnlab_theory.language.models.classifier import Classifier, ClassifierConfig
from attnlab_theory.language.models.encoder_config import EncoderConfig
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.models.mixers import Softmax
from attnlab_theory.language.models.positions import Learned
from attnlab_theory.language.text.words import Words
from attnlab_theory.seeds import key_for
from tests.circles import EXPLORING
from tests.cli.every_option import EVERY
from tests.cli.fuzz.calls import GOOD, NEGATIVE, WORKING, WORKING_ELSEWHERE, call, calls_of, drawn
from tests.language.models import config

EACH = None if EXPLORING else 1
"""Bad values of each option."""

NEW = 20
"""Calls of each command that are drawn at random where somebody explores."""

PATIENCE = 30.0
"""Seconds of the processor that a refusal may take."""

TEXT = "a cat runs\na dog runs\na cat sits\nthe dog sits\n" * 8


ANSWER = """
def mean(keys):
    return keys.mean(axis=0)

def running_sum(x):
    return x.cumsum(axis=-2)
"""


class Reached(BaseException):
    """A call came so far that it would begin to train, to generate or to measure: nothing was wrong with it."""


class Hangs(BaseException):
    """A call did not end."""


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    """A folder with good files, and with bad ones."""
    at = tmp_path_factory.mktemp("at")
    (at / "text.txt").write_text(TEXT)
    (at / "asked.tsv").write_text("Where was a cat born?\tRome\nWhere was a dog born?\tParis\n")
    (at / "answered.txt").write_text("Rome\nRome\n")
    (at / "answer.py").write_text(ANSWER)
    np.save(at / "x.npy", np.eye(2))
    words = Words(tuple(dict.fromkeys(TEXT.split())))
    save_model(
        at / "model",
        GPT(dataclasses.replace(config(Softmax(), Learned()), vocabulary=len(words)), key=key_for(0)),
        words,
        {},
    )
    encoder = EncoderConfig(vocabulary=len(words), block=16, layers=1, heads=2, width=8, types=1)
    save_model(at / "classifier", Classifier(ClassifierConfig(encoder=encoder), key=key_for(0)), words, {})
    for name in ("run", "other"):
        (at / name).mkdir()
    whole, matrix = (at / "model").read_bytes(), (at / "x.npy").read_bytes()
    bad = {
        "empty": b"",
        "noise": random.Random(0).randbytes(5000),
        "zeros": bytes(5000),
        "deep.json": b"[" * 100_000,
        "damaged.npy": matrix[:-1],
        "pickle.npy": pickle.dumps([1, 2]),
        "damaged.model": whole[: len(whole) // 2],
    }
    for name, content in bad.items():
        (at / name).write_bytes(content)
    with zipfile.ZipFile(at / "archive.npz", "w") as archive:
        archive.writestr("x.npy", matrix)
    safetensors.numpy.save_file({"x": np.zeros(3)}, at / "foreign.model")
    with (at / "sparse").open("wb") as file:
        file.truncate(10 * 2**30)
    os.mkfifo(at / "pipe")
    (at / "loop").symlink_to(at / "loop")
    return at


GENERATED = functools.cache(sentences.generated)


@pytest.fixture(autouse=True)
def _no_work(monkeypatch, tmp_path):
    def reach(*_, **__):
        raise Reached

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(inputs, "UNWRITTEN", 0.05)
    monkeypatch.setattr(sentences, "generated", GENERATED)
    monkeypatch.setattr(runs, "standing", reach)
    monkeypatch.setattr(tuning, "curves", reach)
    monkeypatch.setattr(Heads, "_found", reach)


@contextlib.contextmanager
def patience():
    def ring(number, frame):
        raise Hangs

    before = [signal.signal(each, ring) for each in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    signal.setitimer(signal.ITIMER_REAL, 8 * PATIENCE)
    try:
        yield
    finally:
        for each, timer, handler in zip(
            (signal.SIGPROF, signal.SIGALRM), (signal.ITIMER_PROF, signal.ITIMER_REAL), before, strict=True
        ):
            signal.setitimer(timer, 0)
            signal.signal(each, handler)


def wrong(one, at):
    """What is wrong with how a call ended; nothing, if it ended as it should."""
    before = {path: path.lstat().st_mtime_ns for path in at.rglob("*") if not path.is_dir()}
    out, err = io.StringIO(), io.StringIO()
    try:
        with patience(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(list(one.words))
    except Reached:
        code = 0
    except (Exception, Hangs, SystemExit) as error:
        return f"{type(error).__name__}: {error}"[:300]
    if code not in (0, 1, 2, 3):
        return f"exit code {code}"
    negative = one.bad.startswith("-") and one.option.name in NEGATIVE
    if code != 2 and {int, float} & set(one.option.kinds) and not (negative or one.new):
        return f"taken for a number, exit code {code}"
    if code == 2:
        said = err.getvalue().splitlines()
        if out.getvalue() or not said or not said[-1].startswith("attnlab: ") or "Traceback" in err.getvalue():
            return f"no line: {out.getvalue()[:100]!r} {err.getvalue()[-200:]!r}"
        if exits.UNSEEN.search(said[-1]) or len(said[-1]) > 3000:
            return f"an unclear line: {said[-1][:200]!r}"
        after = {path: path.lstat().st_mtime_ns for path in at.rglob("*") if not path.is_dir()}
        if after != before:
            return f"left behind: {sorted(map(str, after.keys() - before.keys()))}"
    return ""


_asked: list[str] = []
"""What was asked of sockets while somebody listens. A hook of the interpreter cannot be taken away."""

ASKED = (
    "socket.bind",
    "socket.connect",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.sendto",
    "socket.listen",
)


@functools.cache
def listen():
    def heard(event, given):
        if event in ASKED and not isinstance(given[-1], str | bytes):
            _asked.append(f"{event}{given[1:]}")

    sys.addaudithook(heard)


def test_every_command_has_a_good_call():
    assert GOOD.keys() == {option.words for option in EVERY}


def test_whoever_asks_for_a_socket_of_the_internet_is_heard():
    listen()
    _asked.clear()
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
    assert len(_asked) == 1
    socket.getaddrinfo("localhost", 0)
    assert len(_asked) == 2


def test_calls_that_work_are_of_commands_and_those_elsewhere_of_files():
    assert not WORKING.keys() & WORKING_ELSEWHERE.keys()
    assert WORKING.keys() | WORKING_ELSEWHERE.keys() <= GOOD.keys()
    assert all((Path(__file__).parents[2] / file).exists() for file in WORKING_ELSEWHERE.values())


@pytest.mark.slow("one bad call of every command stays inside")
def test_one_good_call_of_every_command_does_its_work(subtests, at):
    """Calls thirty commands, of which some judge a claim or make a model. None asks for a socket."""
    listen()
    for words in [words for words in GOOD if words not in WORKING_ELSEWHERE]:
        rest = WORKING.get(words, GOOD[words]).replace("{at}", str(at))
        with subtests.test(" ".join(words)), patience():
            _asked.clear()
            try:
                code = main([*words, *rest.split()])
            except Reached:
                code = 0
            assert _asked == []
            # The answer of the homework is wrong, and is told so.
            assert code == (words == ("check",))


def test_one_bad_call_of_every_command_gets_one_line_and_leaves_nothing_behind(at):
    """The fixture makes two models, and every command is called."""
    first = [next(calls_of(words, at, each=1), None) for words in GOOD]
    found = [f"{one}: {said}" for one in first if one and (said := wrong(one, at))]
    assert not found, "\n".join(found)


@pytest.mark.slow("one bad call of every command stays inside")
@pytest.mark.parametrize("words", GOOD, ids=" ".join)
def test_a_bad_call_gets_one_line_and_leaves_nothing_behind(at, words):
    """A bad value of every option. A value that is taken for a good one makes the command do its work."""
    every = list(calls_of(words, at, each=EACH))
    if EXPLORING:
        rng = random.Random()
        own = [option for option in EVERY if option.words == words]
        every += [call(option, drawn(rng, option), at)._replace(new=True) for option in rng.choices(own, k=NEW)]
    found = [f"{one}: {said}" for one in every if (said := wrong(one, at))]
    assert not found, "\n".join(found)
