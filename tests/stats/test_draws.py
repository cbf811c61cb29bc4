"""Blocks of draws are a function of key, number and points: not of history, neighbours or devices."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.seeds import key_for
from attnlab_theory.stats.draws import CHUNKS_PER_BLOCK, Blocks
from tests.devices import environment

CHUNK = 4
KEY = key_for(0, "test")


def noise_plus_shift(key, point):
    return jax.random.normal(key) + point["shift"]


def points(*shifts):
    return {"shift": jnp.asarray(shifts)}


def test_a_block_holds_one_row_per_draw_and_one_column_per_point():
    block = Blocks(noise_plus_shift, CHUNK)
    assert block(KEY, 0, points(0.0, 1.0, 2.0)).shape == (CHUNKS_PER_BLOCK * CHUNK, 3)
    assert block(KEY, 5, points(0.0)).shape == (CHUNKS_PER_BLOCK * CHUNK, 1)


def test_a_block_does_not_depend_on_what_was_drawn_before():
    early, late = Blocks(noise_plus_shift, CHUNK), Blocks(noise_plus_shift, CHUNK)
    for index in range(3):
        late(KEY, index, points(0.0))
    np.testing.assert_array_equal(early(KEY, 3, points(0.0)), late(KEY, 3, points(0.0)))


def test_no_draw_comes_twice():
    block = Blocks(lambda key, point: jax.random.uniform(key, dtype=jnp.float32), CHUNK)
    drawn = np.concatenate([block(KEY, index, points(0.0)) for index in range(8)])
    # 256 numbers of 23 random bits: two of them agree by chance once in 250 keys, and not under this one.
    assert len(np.unique(drawn)) == drawn.size


def test_another_key_gives_other_draws():
    block = Blocks(noise_plus_shift, CHUNK)
    assert not np.any(block(KEY, 0, points(0.0)) == block(key_for(1, "test"), 0, points(0.0)))


def test_all_points_see_the_same_random_keys():
    drawn = Blocks(lambda key, point: jax.random.normal(key) * point["shift"], CHUNK)(
        KEY, 0, points(1.0, 2.0, -4.0)
    )
    np.testing.assert_array_equal(drawn[:, 0] * 2, drawn[:, 1])
    np.testing.assert_array_equal(drawn[:, 0] * -4, drawn[:, 2])


def test_a_point_does_not_see_its_neighbours():
    # Whole numbers: another number of points is another program, which may round differently.
    block = Blocks(lambda key, point: jax.random.randint(key, (), 0, 1024) + point["shift"].astype(int), CHUNK)
    np.testing.assert_array_equal(block(KEY, 2, points(5.0, 3.0))[:, :1], block(KEY, 2, points(5.0)))


def test_every_chunk_has_the_key_of_its_number():
    block = Blocks(lambda key, point: jax.random.normal(key), CHUNK)
    drawn = block(KEY, 1, points(0.0))[:, 0]
    for chunk in range(CHUNKS_PER_BLOCK):
        keys = jax.random.split(jax.random.fold_in(KEY, CHUNKS_PER_BLOCK + chunk), CHUNK)
        np.testing.assert_array_equal(drawn[chunk * CHUNK :][:CHUNK], jax.vmap(jax.random.normal)(keys))


PROGRAM = """
import jax
from attnlab_theory.attention import attention
from attnlab_theory.claims import Claim, Setting, Traced, check
from attnlab_theory.report import record
from attnlab_theory.sampling import noisy_keys, orthonormal
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval, bounded
import jax.numpy as jnp

class Attended(Setting):
    n: int
    beta: Traced[float]

def draw(key, setting):
    frame, noise = jax.random.split(key)
    means = orthonormal(frame, setting.n, setting.n)
    keys = noisy_keys(noise, means, variance=0.01, stretch=jnp.full(setting.n, 0.5))
    return attention(setting.beta * means[:1], keys, jnp.eye(setting.n), scale=1.0)[0, 0]

claim = Claim(name="c", statement="", source="", hypotheses={}, predict=lambda s: Interval.point(0.5), draw=draw,
    bound=bounded(0.0, 1.0), resolution=0.02, chunk=64,
    settings=tuple(Attended(n=8, beta=beta) for beta in (0.5, 2.0, 2.1)))
findings = check(claim, key=key_for(0, "c"), error_rate=1e-3, max_draws=2**13)
print(len(jax.devices()), record.to_text([record.as_json(f) for f in findings]))
"""


@pytest.fixture(scope="module")
def findings_on():
    """The findings of one process that believes in `devices` processors; all start at once."""
    running = {}
    for devices in (1, 2, 8):
        running[devices] = subprocess.Popen(
            [sys.executable, "-c", PROGRAM], env=environment(devices), stdout=subprocess.PIPE, text=True
        )
    said = {}
    for devices, process in running.items():
        out, _ = process.communicate(timeout=240)
        assert process.returncode == 0
        seen, said[devices] = out.split(" ", 1)
        assert int(seen) == devices
    return said


@pytest.mark.slow("nothing inside asks this of devices; draws that depend on no history stay inside")
@pytest.mark.parametrize("devices", [2, 8])
def test_findings_are_the_same_bytes_however_many_devices_share_the_work(findings_on, devices):
    """Starts a process for each number of devices, which judges a claim."""
    assert findings_on[devices] == findings_on[1]


FACTORISED = """
import jax, jax.numpy as jnp
from attnlab_theory.stats.draws import Blocks

def draw(key, point):
    return jnp.linalg.svd(jax.random.normal(key, (6, 12)) + point["shift"])[1][0]

block = Blocks(draw, 128)
drawn = [block(jax.random.key(0), i, {"shift": jnp.arange(5.0)}) for i in range(8)]
print(len(jax.devices()), sum(float(values.sum()) for values in drawn))
"""


@pytest.mark.slow("nothing inside asks this: each number of devices needs a process")
def test_draws_that_call_lapack_do_not_hang_on_two_devices():
    """Starts two processes, one after the other, each of which imports jax."""
    # XLA's processor devices share one pool of threads; a LAPACK call on each of them used to wait for the other.
    said = {}
    for devices in (1, 2):
        # Not those of the tests: what threads there are is what this is about.
        flags = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}
        out = subprocess.run(
            [sys.executable, "-c", FACTORISED], env=os.environ | flags, capture_output=True, text=True, timeout=120
        ).stdout
        seen, said[devices] = out.split(" ", 1)
        assert int(seen) == devices
    assert said[1] == said[2]
