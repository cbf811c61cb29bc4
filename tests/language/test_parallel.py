"""Rows shared out over devices, in one process and in two, train the model that one device trains.

They are generated as on one device, too.

Dropout's bits are a hash of a number's place in the whole micro-batch, wherever that place is computed: the same
are dropped. What may differ is the order in which the devices' parts of a gradient are added up.
"""

import functools
import json
import math
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.devices import environment
from tests.language.models import TOKENS, VOCABULARY, logits, rounding
from tests.language.parallel_rows import ASKED, STOP
from tests.language.parallel_run import TRAINING
from tests.language.test_generate import SOFTMAX
from tests.tolerances import log_probability_atol

ROOT = Path(__file__).parents[2]
EPSILON = float(np.finfo(np.float32).eps)


def child(module: str, *arguments: str, devices: int) -> subprocess.Popen:
    """A run in a process of its own that sees so many devices."""
    return subprocess.Popen(
        [sys.executable, "-m", f"tests.language.{module}", *arguments],
        cwd=ROOT,
        env=environment(devices, "--xla_backend_optimization_level=0") | {"JAX_PLATFORMS": "cpu"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def told(process: subprocess.Popen) -> list[dict]:
    """What a child printed, once it has ended well."""
    try:
        said, complaint = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, complaint
    return [json.loads(line) for line in said.splitlines() if line.startswith("{")]


@functools.cache
def on_devices() -> list[dict]:
    return told(child("parallel_run", "devices", devices=8))


@functools.cache
def on_hosts() -> list[dict]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    hosts = [child("parallel_run", "host", str(port), str(number), devices=1) for number in range(2)]
    return [run for host in hosts for run in told(host)]


def assert_same_training(ours: dict, alone: dict) -> None:
    """Equal but for the order of sums.

    A sum of n terms in another order differs by at most n eps of the terms' absolute sum. Losses are means of some
    fifty positive terms, and gradients sums over as many tokens that do not all cancel. Adam divides a gradient by
    its own size: where it is next to nothing, rounding may turn the step round, by twice the rate.
    """
    rates = sum(TRAINING.schedule.rate(step, 0) for step in range(len(alone["losses"])))
    np.testing.assert_allclose(ours["losses"], alone["losses"], rtol=100 * EPSILON)
    np.testing.assert_allclose(ours["gradients"], alone["gradients"], rtol=1000 * EPSILON)
    moved = np.abs(np.subtract(ours["parameters"], alone["parameters"]))
    assert moved.max() <= 2 * rates
    assert np.median(moved) <= 1e-4 * rates


@pytest.mark.slow("nothing inside asks this of eight devices; a mesh of one stays inside")
def test_eight_devices_train_what_one_trains():
    """Starts a process with eight devices, which trains on one of them and on all."""
    alone, together = on_devices()
    assert (alone["devices"], together["devices"]) == (1, 8)
    assert_same_training(together, alone)


@pytest.mark.slow("nothing inside asks this of two hosts; a mesh of one device stays inside")
def test_two_hosts_train_what_one_trains_and_agree_to_the_bit():
    """Starts two processes that train together, beside the one with eight devices."""
    one, other = on_hosts()
    assert one["devices"] == 2
    assert one == other
    assert_same_training(one, on_devices()[0])


@pytest.mark.slow("nothing inside asks this of several devices; a mesh of one stays inside")
def test_rows_shared_out_over_devices_get_the_same_tokens():
    """Starts a process with eight devices, which generates on one of them and on all."""
    runs = told(child("parallel_rows", devices=8))
    atol = log_probability_atol(VOCABULARY, rounding(lambda m: logits(m, TOKENS), SOFTMAX))
    for (rows, steps), alone, shared in zip(ASKED, runs[::2], runs[1::2], strict=True):
        tokens = np.array(alone["tokens"])
        assert tokens.shape == (rows, steps)
        assert (alone["devices"], alone["rows of each"]) == ([1], [rows])
        assert (shared["devices"], shared["rows of each"]) == ([min(rows, 8)], [math.ceil(rows / 8)])
        assert len({np.count_nonzero(row == STOP) for row in tokens}) > 1
        assert shared["tokens"] == alone["tokens"]
        apart = np.subtract(shared["log_probability"], alone["log_probability"])
        assert np.max(np.abs(apart)) <= atol
