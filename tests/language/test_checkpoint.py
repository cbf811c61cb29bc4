"""Checkpoints: what is written is read bit for bit, and whatever else lies there is refused in one line."""

import dataclasses
import json
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
import safetensors.numpy

from attnlab_theory.language import checkpoint
from attnlab_theory.language.models.mixers import Softmax
from attnlab_theory.language.models.positions import Learned, Rotary
from attnlab_theory.language.schedules import Cosine
from attnlab_theory.language.text import bpe
from attnlab_theory.language.text.bpe import BPE
from attnlab_theory.language.text.characters import MASK, PAD, Characters
from attnlab_theory.language.train import Training, started, train
from tests.language.models import VOCABULARY, config, stirred
from tests.language.test_train import epochs

CHARACTERS = Characters(PAD + MASK + "abcdefghé"[: VOCABULARY - 2])
MODEL = stirred(config(Softmax(), Rotary()))
TRAINING = Training(schedule=Cosine(peak=1e-2, steps=4), epochs=2)
ABOUT = {"recipe": {"rate": 1e-2}, "history": [[1, 3.25]]}


def assert_same(ours, theirs):
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(one, other)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "vanilla.model.params"
    checkpoint.save_model(path, MODEL, CHARACTERS, ABOUT)
    return path


def test_a_model_comes_back_bit_for_bit_with_what_was_said_of_it(saved):
    found = checkpoint.load_model(saved)
    assert_same(found.model, MODEL)
    assert found.model.config == MODEL.config
    assert (found.text, found.about) == (CHARACTERS, ABOUT)
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


@pytest.mark.slow("closed runs that go on from their checkpoints stay inside")
def test_a_run_goes_on_from_its_file_bit_for_bit(tmp_path):
    """Trains a model, and goes on from a file of it."""
    path = tmp_path / "run"
    for state, metrics in train(started(MODEL, TRAINING), epochs, TRAINING):
        if metrics.step == 3:
            checkpoint.save_state(path, state, CHARACTERS, ABOUT)
        last = state
    state, found = checkpoint.load_state(path, TRAINING)
    assert (state.step, state.epoch, state.batch) == (3, 1, 1)
    assert found.about == ABOUT
    [(resumed, _)] = train(state, epochs, TRAINING)
    assert_same(resumed, last)


def test_the_model_of_a_stopped_run_can_be_read(tmp_path):
    state = started(MODEL, TRAINING)
    checkpoint.save_state(tmp_path / "run", state, CHARACTERS, ABOUT)
    assert_same(checkpoint.load_model(tmp_path / "run").model, MODEL)


def test_another_framework_finds_the_arrays_by_name(saved):
    arrays = safetensors.numpy.load_file(saved)
    np.testing.assert_array_equal(arrays["model.tokens"], MODEL.tokens)
    np.testing.assert_array_equal(arrays["model.blocks[0].into.weight"], MODEL.blocks[0].into.weight)


def test_a_disk_that_is_full_leaves_no_part_of_a_checkpoint_and_names_it(tmp_path, monkeypatch):
    def write_half(arrays, path, metadata):
        path.write_bytes(b"half")
        raise safetensors.SafetensorError("No space left on device (os error 28)")

    monkeypatch.setattr("safetensors.numpy.save_file", write_half)
    path = tmp_path / "full.params"
    with pytest.raises(OSError, match="No space left") as full:
        checkpoint.save_model(path, MODEL, CHARACTERS, ABOUT)
    assert full.value.filename == str(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kept", [0.0, 0.001, 0.5, 0.999])
def test_a_truncated_file_is_refused(saved, kept):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(ValueError, match=r"vanilla\.model\.params is not a whole checkpoint"):
        checkpoint.load_model(saved)


def rewritten(path, change_header=lambda header: None, change_arrays=lambda arrays: None):
    with safetensors.safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["attnlab"])
    arrays = safetensors.numpy.load_file(path)
    change_header(header)
    change_arrays(arrays)
    safetensors.numpy.save_file(arrays, path, metadata={"attnlab": json.dumps(header)})


@pytest.mark.parametrize(
    ("header", "arrays", "said"),
    [
        (lambda h: h.update(version=3), lambda a: None, "version 3"),
        (lambda h: h.update(version=2.0), lambda a: None, "version 2.0, which is not a whole number"),
        (lambda h: h.update(version=True), lambda a: None, "version True, which is not a whole number"),
        (lambda h: h.update(kind="x"), lambda a: None, "holds a 'x', which is none of model, state"),
        (lambda h: h["config"].update(layers=10**12), lambda a: None, "1000000000000 layers need as many arrays"),
        (lambda h: h["config"].update(width=10**20), lambda a: None, r"model\.tokens must be .*10{20}\]"),
        (lambda h: h["config"].update(tied="yes"), lambda a: None, "tied must be True or False, not 'yes'"),
        (
            lambda h: h["config"].update(epsilon=np.inf),
            lambda a: None,
            "header is damaged: Infinity is not a number",
        ),
        (lambda h: h["config"].update(epsilon=1e300), lambda a: None, "epsilon must be at most 1, not 1e"),
        (
            lambda h: h["config"]["mixer"].update(shared=1),
            lambda a: None,
            "mixer Softmax has shared 1, which is no b",
        ),
        (
            lambda h: h["config"]["positions"].update(base="x"),
            lambda a: None,
            "Rotary has base 'x', which is no flo",
        ),
        (lambda h: h["about"].update(origin=[]), lambda a: None, "does not say its origin"),
        (lambda h: h["about"].update(losses=["x"]), lambda a: None, "does not say its losses"),
        (lambda h: None, lambda a: a["model.tokens"].__setitem__((0, 0), 0.125), "damaged: its numbers are not th"),
        (lambda h: h.update(checksum=None), lambda a: None, "damaged: its numbers are not those"),
        (lambda h: h.update(model="RNN"), lambda a: None, "holds a 'RNN', which is none of GPT"),
        (
            lambda h: h["text"].update(kind="runes"),
            lambda a: None,
            "of kind 'runes' is none of characters",
        ),
        (lambda h: h["text"].pop("symbols"), lambda a: None, "characters have a text of symbols, not None"),
        (lambda h: h.pop("about"), lambda a: None, "does not say its about, its header is damaged"),
        (lambda h: h.update(text=5), lambda a: None, "does not say its text"),
        (lambda h: h.pop("config"), lambda a: None, "does not say its config"),
        (lambda h: h["config"].update(layers=2), lambda a: None, r"blocks\[1\].* the file lacks it"),
        (lambda h: h["config"].update(width=12), lambda a: None, r"model\.tokens must be .*12"),
        (lambda h: h["config"].update(colour=1), lambda a: None, "no model of this attnlab: .*colour"),
        (lambda h: h["text"].update(symbols="abc"), lambda a: None, r"\S+ is damaged: a vocabulary is"),
        (lambda h: h["text"].update(symbols=PAD + MASK), lambda a: None, "2 tokens for a vocabulary of 11"),
        (lambda h: h.pop("checksum"), lambda a: a.pop("model.tokens"), "model.tokens"),
        (lambda h: h.pop("checksum"), lambda a: a["model.tokens"].fill(np.nan), "model.tokens .*nan"),
    ],
)
def test_a_file_that_does_not_fit_itself_is_refused(saved, header, arrays, said):
    rewritten(saved, header, arrays)
    with pytest.raises(ValueError, match=said):
        checkpoint.load_model(saved)


def test_a_file_of_the_first_version_is_read_as_the_gpt_that_it_holds(saved):
    def older(header):
        header.update(version=1, characters=header.pop("text")["symbols"])
        del header["model"]

    rewritten(saved, older)
    found = checkpoint.load_model(saved)
    assert_same(found.model, MODEL)
    assert (found.text, found.about) == (CHARACTERS, ABOUT)


def test_a_file_without_a_checksum_is_read_as_before_there_were_any(saved):
    rewritten(saved, lambda header: header.pop("checksum"))
    assert_same(checkpoint.load_model(saved).model, MODEL)


@pytest.mark.parametrize("text", ["[1]", "{", '"model"', "null", "[" * 100_000, "9" * 5000], ids=lambda t: t[:8])
def test_a_damaged_header_is_refused(saved, text):
    safetensors.numpy.save_file(safetensors.numpy.load_file(saved), saved, metadata={"attnlab": text})
    with pytest.raises(ValueError, match=r"vanilla\.model\.params does not say .*, its header is damaged"):
        checkpoint.load_model(saved)


def test_a_run_that_does_not_say_how_far_it_came_is_refused(tmp_path):
    path = tmp_path / "state"
    checkpoint.save_state(path, started(MODEL, TRAINING), CHARACTERS, {})
    rewritten(path, lambda header: header["about"]["progress"].pop("step"))
    with pytest.raises(ValueError, match="does not say how far its run has come"):
        checkpoint.load_state(path, TRAINING)


def test_files_of_others_are_refused(saved, tmp_path):
    safetensors.numpy.save_file({"x": np.zeros(3)}, tmp_path / "theirs")
    with pytest.raises(ValueError, match="somebody else's"):
        checkpoint.load_model(tmp_path / "theirs")
    with pytest.raises(ValueError, match=r"there is no checkpoint .*nowhere"):
        checkpoint.load_model(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="holds a model, not a run"):
        checkpoint.load_state(saved, TRAINING)


def test_a_checkpoint_of_another_variant_is_refused_by_its_first_difference(saved):
    found = checkpoint.load_model(saved).model.config
    checkpoint.refuse_other(saved, MODEL.config, found)
    with pytest.raises(ValueError, match=r"positions Rotary\(.*\), but Learned\(\) is asked for"):
        checkpoint.refuse_other(saved, dataclasses.replace(MODEL.config, positions=Learned()), found)


def test_fingerprints_tell_texts_apart_and_where_they_are_cut():
    prints = {checkpoint.fingerprint(*texts) for texts in [("ab",), ("a", "b"), ("b", "a"), ("ab", "")]}
    assert len(prints) == 4
    assert checkpoint.fingerprint("ab") == checkpoint.fingerprint("ab")


def test_a_file_that_needs_a_package_is_not_called_damaged(monkeypatch):
    header = {"model": "GPT", "text": BPE().as_json()}
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    bpe._tokenizer.cache_clear()
    said = r"model needs a package that is not installed: tokenizers; install attnlab\[bpe\]"
    with pytest.raises(ValueError, match=said):
        checkpoint._text(Path("model"), header, checkpoint.KINDS, MODEL.config)
    monkeypatch.undo()
    bpe._tokenizer.cache_clear()
