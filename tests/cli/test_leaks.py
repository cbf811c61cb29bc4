"""attnlab leaks: functions that want a batch, give weights too or read token numbers, and what is refused."""

import json
import typing

import numpy as np
import pytest

from attnlab_theory.cli import leaks, main
from attnlab_theory.identities import time_axis
from attnlab_theory.sandbox import child, fences

MODELS = """
import numpy as np

TABLE = np.random.default_rng(0).normal(size=(9, 4))


class Layer:
    def __call__(self, x):
        batch, t, width = x.shape
        return np.cumsum(x, axis=1)


batched = Layer()


def with_weights(x):
    return np.cumsum(x, axis=0), np.tri(len(x))


def batched_with_more(x):
    batch, t, width = x.shape
    return np.cumsum(x, axis=1) + x.sum(axis=1, keepdims=True), np.tri(t)[None], np.ones((2, 3))


def of_numbers(ids):
    return np.cumsum(TABLE[ids], axis=0)


def over_length(x):
    return x + np.arange(len(x))[:, None] / len(x)


def in_blocks_of_sixteen(x):
    whole = len(x) - len(x) % 16
    blocks = x[:whole].reshape(-1, 16, x.shape[1]).mean(axis=1)
    return np.concatenate([np.repeat(blocks, 16, axis=0), np.cumsum(x[whole:], axis=0)])


def time_first(x):
    t, b, width = x.shape
    return x + x.sum(axis=0, keepdims=True)


def time_first_backwards(x):
    t, b, width = x.shape
    return np.cumsum(x[::-1], axis=0)[::-1]


def time_first_causal(x):
    t, b, width = x.shape
    return np.cumsum(x, axis=0)


def numbers_time_first(ids):
    t, b = ids.shape
    return np.cumsum(TABLE[ids], axis=0)


KERNEL = np.random.default_rng(1).normal(size=(8, 8, 3))


def convolution(x):
    b, c, t = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (2, 0)))
    return sum(np.einsum("oc,bct->bot", KERNEL[:, :, i], padded[:, :, i : i + t]) for i in range(3))


def looks_ahead(x):
    return convolution(x[:, :, ::-1])[:, :, ::-1]


def one_sequence_of_channels(x):
    return convolution(x[None])[0]


def norm(x):
    return (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True)


def norm_of_eight_channels(x):
    if x.ndim == 3 and x.shape[1] != 8:
        raise ValueError("channels come second")
    rest = tuple(range(1, x.ndim))
    return (x - x.mean(axis=rest, keepdims=True)) / x.std(axis=rest, keepdims=True)


def over_the_batch(x):
    b, t, width = x.shape
    return x - x.mean(axis=0) if b > 1 else x


def one_at_a_time(x):
    assert x.shape[0] == 1
    return np.cumsum(x, axis=1)


def with_more(x, mask=None, sinks=None):
    return np.cumsum(x, axis=0)


POSITIONS = np.random.default_rng(2).normal(size=(40, 8))


def of_forty_positions(x):
    return np.cumsum(x + POSITIONS[: len(x)], axis=0)


def next_ones(x):
    batch, t, width = x.shape
    return x[:, 1:]


def mean_without_last(x):
    return (x + x.mean(axis=1, keepdims=True))[:, :-1]


def without_first(x):
    return x[1:]


def drops(x):
    import os

    return x * (int.from_bytes(os.urandom(4), "big") / 2**32)


def like_a_language_model(ids):
    # Logits of a batch, and no loss.
    batch, t = ids.shape
    return np.cumsum(TABLE[ids], axis=1), None


class Output(dict):
    pass


def with_states(x):
    batch, t, width = x.shape
    y = np.cumsum(x, axis=1)
    return y, (y[:, -1], x[:, -1])


def in_windows(x):
    batch, t, width = x.shape
    return x.reshape(batch, t // 4, 4, width)[:, :, ::-1].reshape(x.shape)


def with_names(x):
    batch, t, width = x.shape
    return Output(loss=None, logits=np.cumsum(x, axis=1), weights=np.tri(t)[None, None])


def with_two_names(x):
    return {"left": np.cumsum(x, axis=0), "right": x}


def with_no_rows(x):
    return {"mean": x.mean(axis=-2).ravel(), 3: 1.5}


class Failing:
    def __init__(self, *widths, **more):
        raise RuntimeError("no")


class Wide:
    def __init__(self, width):
        pass


class Module:
    def forward(self, x):
        return x


def narrow(x):
    return x @ np.ones((3, 3))
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models.py").write_text(MODELS)


def run(capsys, *arguments):
    code = main(["leaks", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_option_names_every_order_of_axes():
    assert set(typing.get_args(leaks.Axes)) == {*time_axis.Order}


@pytest.mark.parametrize("returned", [((1, 2),), (None, {"keys": 3}), ([4.0], (5, 6)), (None,)])
def test_states_beside_outputs_are_dropped(returned):
    outputs, weights = np.ones((2, 3)), np.ones((2, 2))
    assert child._outputs((outputs, *returned), [2]) is outputs
    assert child._outputs((None, outputs, weights, *returned), [2]) == (outputs, weights)


@pytest.mark.parametrize("size", [3, 4])
def test_windows_of_whole_lengths_are_no_axes_the_other_way_round(size):
    rng = np.random.default_rng(0)

    def turned(x):
        return x.reshape(3, -1, size, x.shape[2])[:, :, ::-1].reshape(x.shape)

    handing = time_axis.Handing(time_axis.Order.BTC)
    sizes = (3, 12, 8)
    assert time_axis.tried(turned, handing, lambda *n: rng.normal(size=n), sizes) == time_axis.Found.TIME
    fixed = np.ones((12, 1)) - np.eye(12)
    assert time_axis.tried(lambda x: fixed.T @ x, handing, lambda *n: rng.normal(size=n), sizes) == "width"


@pytest.mark.slow("token numbers, and outputs that come before weights, stay inside")
@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(
    ("name", "options", "wanted", "said"),
    [
        ("batched", [], 0, "models.py::batched was given and judged with a batch of one."),
        ("with_weights", [], 0, "models.py::with_weights was given and judged with the first of 2 arrays."),
        ("batched_with_more", [], 1, "was given and judged with a batch of one and the first of 3 arrays."),
        ("of_numbers", ["--tokens", "9"], 0, "11 of 11 prefixes alone give the outputs that they give within"),
        ("like_a_language_model", ["--tokens", "9"], 0, "was given and judged with a batch of one."),
        ("Layer", [], 0, "models.py::Layer was given and judged with a batch of one."),
        ("with_names", [], 0, "models.py::with_names was given and judged with a batch of one."),
        ("with_states", [], 0, "models.py::with_states was given and judged with a batch of one."),
        ("in_windows", [], 1, "Leak at length 132: output "),
        ("with_weights", [], 0, "No leak at lengths 17, 65 and 130 either, where blocks of 16, 64 and 128 end."),
        ("in_blocks_of_sixteen", [], 1, "Leak at length 17: output "),
        ("over_length", [], 1, "Outputs depend on the length of the whole: "),
        ("time_first", [], 1, "was given and judged with a batch of one and the axes [time batch width]."),
        ("time_first_backwards", [], 1, "and the axes [time batch width]."),
        ("time_first_causal", [], 0, "and the axes [time batch width]."),
        ("numbers_time_first", ["--tokens", "9"], 0, "and the axes [time batch]."),
        ("convolution", [], 0, "and the axes [batch width time]."),
        ("convolution", ["--length", "8"], 0, "and the axes [batch width time]."),
        ("looks_ahead", [], 1, "and the axes [batch width time]."),
        ("one_sequence_of_channels", [], 0, "was given and judged with the axes [width time]."),
        ("norm", [], 0, "Each place is by itself: in [time width] no output moves with an input at another place."),
        ("norm", ["--axes", "bct"], 1, "and the axes [batch width time]."),
        ("norm_of_eight_channels", [], 1, "and the axes [batch width time]."),
        ("one_at_a_time", [], 0, "models.py::one_at_a_time was given and judged with a batch of one."),
        ("with_more", [], 0, "never passed: mask, sinks\n"),
        ("of_forty_positions", [], 0, "No leak at lengths 17 and 40 either, where a block of 16 ends.\n"),
        (
            "of_forty_positions",
            [],
            0,
            "It takes at most 40 positions. Not tried at 65 and 130 positions: the function ",
        ),
    ],
)
def test_functions_are_asked_as_they_want_to_be(capsys, name, options, wanted, said):
    code, out, err = run(capsys, f"models.py::{name}", *options)
    assert (code, err) == (wanted, "")
    assert said in out


@pytest.mark.slow("a movement to infinity in the JSON stays inside")
@pytest.mark.usefixtures("file")
def test_json_says_how_the_function_was_asked(capsys):
    told = json.loads(run(capsys, "models.py::batched_with_more", "--json")[1])
    assert (told["causal"], told["batch"], told["arrays"]) == (False, True, 3)
    assert (told["prefixes_tried"], told["depends_on_length"]) == (11, True)


@pytest.mark.slow("the refusal of functions that are no mixers stays inside")
@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("narrow", "given [12, 8] it raised ValueError: matmul: "),
        ("narrow", "; given [1, 12, 8] it raised ValueError"),
        ("narrow", "Give the width that it takes with --width, and a length with --length; for token numbers say"),
        ("narrow", "or write a function of [length, width] around it: def one(x): return narrow(x[None])[0]"),
        ("of_numbers", "given [12, 8] it raised IndexError: "),
        ("like_a_language_model", "given [12, 8] it raised IndexError: "),
        (
            "Wide",
            "models.py::Wide is a class that must be given width: write model = Wide(width=...) into a file that "
            "imports it, and name that: ::model",
        ),
        (
            "Wide(7)",
            "models.py::Wide(7) is a call: write model = Wide(7) into models.py, and name models.py::model",
        ),
        ("Failing", "is a class, and making an instance without arguments raised RuntimeError: no (line "),
        ("Module", "is a class whose instances cannot be called: it needs a __call__"),
        ("with_two_names", "a dictionary of left [12, 8], right [12, 8], and several of them have a row for each"),
        ("with_no_rows", "returned a dictionary of mean [8], 3 [], and none of them has a row for each position"),
        ("absent", "has no function 'absent'"),
        (
            "drops",
            "models.py::drops draws random numbers: two equal calls differ; switch dropout off, and keep no state",
        ),
    ],
)
def test_what_was_handed_over_and_what_came_back_are_told(capsys, name, said):
    code, out, err = run(capsys, f"models.py::{name}")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


STAND_IN = """
import types


class Module:
    training = True

    def eval(self):
        self.training = False
        return self

    def __call__(self, x):
        return self.forward(x)


nn = types.SimpleNamespace(Module=Module)


def from_numpy(array):
    return array
"""

ALWAYS = """
class Always(torch.nn.Module):
    def forward(self, x):
        return x * (int.from_bytes(os.urandom(4), "big") / 2**32)


always = Always().eval()
"""

NORMS = """
import torch


class Instance(torch.nn.Module):
    __module__ = "torch.nn.modules.instancenorm"

    def forward(self, x):
        return x - x.mean(axis=-1, keepdims=True)


class Each(torch.nn.Module):
    __module__ = "torch.nn.modules.batchnorm"

    def forward(self, x):
        return 2 * x


instance, each = Instance(), Each()
"""

DROPPING = """
import os

import torch


class Dropping(torch.nn.Module):
    def forward(self, x):
        return x.cumsum(0) * (int.from_bytes(os.urandom(4), "big") if self.training else 1.0)


made = Dropping()
evaluated = Dropping().eval()
"""


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize("name", ["next_ones", "mean_without_last", "without_first"])
def test_outputs_of_another_number_are_no_other_order_of_axes(capsys, name):
    code, out, err = run(capsys, f"models.py::{name}")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "] it gave [" in err
    assert "return an output for each position, or say --axes bct" in err


@pytest.mark.slow("the axes that a trial finds without options stay inside")
@pytest.mark.usefixtures("file")
def test_time_that_is_another_axis_is_named_and_refused(capsys):
    code, out, err = run(capsys, "models.py::convolution", "--length", "8", "--width", "12")
    assert (code, out) == (2, "")
    assert "models.py::convolution takes 8 of one axis only, and any number of the last." in err
    assert "say --axes bct --width 8" in err
    code, out, err = run(capsys, "models.py::over_the_batch", "--axes", "btc")
    assert (code, out) == (2, "")
    assert "outputs move along the axis of the batch only; if that is time, say --axes tbc" in err


@pytest.mark.slow("conform's remedy for a module in training mode stays inside")
@pytest.mark.parametrize(("name", "says"), [("Dropping", True), ("made", True), ("evaluated", False)])
def test_a_module_in_training_mode_is_judged_in_evaluation_mode(capsys, tmp_path, monkeypatch, name, says):
    monkeypatch.chdir(tmp_path)
    # Beside the file, where its process finds it instead of torch.
    (tmp_path / "torch.py").write_text(STAND_IN)
    (tmp_path / "dropping.py").write_text(DROPPING)
    code, out, err = run(capsys, f"dropping.py::{name}")
    assert (code, err) == (0, "")
    assert ("was in training mode. It was judged in evaluation mode, after .eval()." in out) == says
    assert json.loads(run(capsys, f"dropping.py::{name}", "--json")[1])["training"] == says


@pytest.mark.slow("a function that draws random numbers stays inside")
def test_a_module_that_drops_in_evaluation_mode_is_not_told_to_call_eval(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "torch.py").write_text(STAND_IN)
    (tmp_path / "dropping.py").write_text(DROPPING + ALWAYS)
    code, out, err = run(capsys, "dropping.py::always")
    assert (code, out) == (2, "")
    assert "dropping.py::always draws random numbers in evaluation mode: two equal calls differ" in err
    assert ".eval()" not in err


@pytest.mark.slow("a norm that refuses channels at the end stays with the other functions, slow too")
def test_a_norm_of_torch_reads_channels_before_time(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "torch.py").write_text(STAND_IN)
    (tmp_path / "norms.py").write_text(NORMS)
    for name, wanted in (("instance", 1), ("Instance", 1), ("each", 0)):
        code, out, err = run(capsys, f"norms.py::{name}")
        assert (code, err) == (wanted, "")
        assert f"norms.py::{name} was given and judged with a batch of one and the axes [batch width time]." in out


@pytest.mark.usefixtures("file")
def test_a_fence_that_is_missing_is_named(capsys, monkeypatch):
    monkeypatch.setattr(fences, "MEANS", fences.MEANS - {"network", "bubblewrap"})
    assert run(capsys, "models.py::batched_with_more")[1].startswith(
        "no fence 'network': it can open connections\n"
    )
    assert "network" in json.loads(run(capsys, "models.py::batched_with_more", "--json")[1])["fences"]
