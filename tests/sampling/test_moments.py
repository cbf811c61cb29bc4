"""Sums over chunks are the sums over all trials; memory stays that of a chunk."""

import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.sampling import moments
from attnlab_theory.seeds import key_for
from tests.tolerances import chunked_mean_atol, host_sum_atol

ROOT = Path(__file__).parents[2]
KEY = key_for(0, "moments")


def two_statistics(key, n):
    uniforms = jax.random.uniform(key, (n,))
    return jnp.stack([uniforms, 3 * uniforms**2])


def all_values(chunks: int, chunk: int) -> np.ndarray:
    values = [two_statistics(jax.random.fold_in(KEY, i), chunk) for i in range(chunks)]
    return np.concatenate([np.asarray(v, np.float64) for v in values], axis=1)


@pytest.mark.slow("nothing inside asks this of the mean; trials that never vary stay inside")
@pytest.mark.parametrize(("trials", "chunk"), [(1, 1), (7, 7), (2100, 7), (100, 64)])
def test_mean_and_variance_are_those_of_all_trials(trials, chunk):
    found = moments(KEY, two_statistics, trials=trials, chunk=chunk)
    chunks = -(-trials // chunk)
    assert found.trials == chunks * chunk
    values = all_values(chunks, chunk)
    tolerance = chunked_mean_atol(chunk, peak=9.0)
    assert np.abs(found.mean - values.mean(axis=1)).max() <= tolerance
    if found.trials > 1:
        variance = values.var(axis=1, ddof=1)
        scale = found.trials / (found.trials - 1)
        assert np.abs(found.variance - variance).max() <= 4 * scale * tolerance
        assert np.abs(found.standard_error - np.sqrt(found.variance / found.trials)).max() == 0


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize("whole", [np.int64, jnp.int32])
def test_sizes_may_be_whole_numbers_of_numpy_and_jax(whole):
    found = moments(KEY, two_statistics, trials=whole(10), chunk=whole(7))
    assert type(found.trials) is int
    assert np.array_equal(found.mean, moments(KEY, two_statistics, trials=10, chunk=7).mean)


@pytest.mark.slow("nothing inside asks this; trials that never vary stay inside")
@pytest.mark.parametrize("shift", [0, 10_000, -8_000_000])
def test_variance_does_not_drown_in_a_mean_however_large(shift):
    """Whole numbers, so that no statistic is rounded: only sums are."""

    def dice(key, n):
        return (shift + jax.random.randint(key, (1, n), 0, 6)).astype(jnp.float32)

    found = moments(KEY, dice, trials=2**15)
    values = np.concatenate([np.asarray(dice(jax.random.fold_in(KEY, i), 4096), np.float64) for i in range(8)], 1)
    assert found.mean[0] == pytest.approx(values.mean(), rel=host_sum_atol(8))
    assert found.variance[0] == pytest.approx(values.var(ddof=1), rel=4 * host_sum_atol(8))


@pytest.mark.slow("nothing inside asks this; keys whose variance leaves float32 stay inside")
@pytest.mark.parametrize("power", [-95, -70, 64, 120])
def test_moments_scale_with_the_statistic(power):
    """By a power of two: the same digits throughout, also where its squares leave float32."""

    def scaled(power):
        return moments(
            KEY, lambda key, n: 2.0**power * (jax.random.uniform(key, (1, n)) - 0.5), trials=64, chunk=16
        )

    here, there = scaled(0), scaled(power)
    assert there.mean[0] == here.mean[0] * 2.0**power
    assert there.variance[0] == here.variance[0] * 4.0**power > 0


def test_the_variance_is_not_negative_where_one_trial_stands_alone():
    """The sums of a long chunk are rounded by more than the share of one trial among them."""

    def alone(key, n):
        return jnp.where(jnp.arange(n) == 0, 0.0, 1.1)[None] + 0 * jax.random.uniform(key, (1, n))

    assert moments(KEY, alone, trials=2**16, chunk=2**16).variance[0] >= 0


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -3e38])
def test_a_statistic_that_leaves_its_type_is_refused(wrong):
    def draw(key, n):
        first = (jnp.arange(n) == 0)[None]
        return jnp.where(first, wrong, 3e38 + 0 * jax.random.uniform(key, (1, n))).astype(jnp.float32)

    with pytest.raises(ValueError, match="statistic 0 is not finite, or differs by more than its type holds"):
        moments(KEY, draw, trials=16, chunk=16)


def test_what_never_varies_has_no_variance():
    found = moments(KEY, lambda key, n: jnp.full((1, n), 0.3), trials=2**15)
    assert found.variance[0] == found.standard_error[0] == 0


def test_more_trials_begin_with_the_same_chunks():
    few = moments(KEY, two_statistics, trials=256 * 8, chunk=8)
    more = moments(KEY, two_statistics, trials=257 * 8, chunk=8)
    last = np.asarray(two_statistics(jax.random.fold_in(KEY, 256), 8), np.float64).sum(axis=1)
    assert np.abs(more.mean * more.trials - few.mean * few.trials - last).max() <= more.trials * chunked_mean_atol(
        8, peak=3.0
    )


@pytest.mark.parametrize("wrong", [{"trials": 0}, {"trials": -5}, {"trials": 10, "chunk": 0}])
@pytest.mark.usefixtures("unchecked_shapes")
def test_no_trials_are_refused(wrong):
    with pytest.raises(ValueError, match=r"(trials|chunk) must be positive, not"):
        moments(KEY, two_statistics, **wrong)


CHILD = """
import os, sys
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={sys.argv[1]}"
import jax
import jax.numpy as jnp
import numpy as np
from attnlab_theory.attention import attention_weights
from attnlab_theory.sampling import many_noisy_keys, moments
from attnlab_theory.seeds import key_for

means = jnp.eye(16, 64)

def weights(key, n):
    keys = many_noisy_keys(key, means, n, variance=0.01, stretch=jnp.zeros(16).at[0].set(0.5))
    return jax.vmap(lambda k: attention_weights(5 * means[:1], k, scale=1.0)[0], out_axes=-1)(keys)

def peak():
    # Not getrusage: what it says of a child began as the peak of the parent.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024

found = moments(key_for(0), weights, trials=2 * 10**5, chunk=128)
before = peak()
if sys.argv[1] == "1":
    moments(key_for(0), weights, trials=4 * 10**5, chunk=128)
print(before, peak(), *found.mean)
"""


def child(devices: int) -> np.ndarray:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(devices)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return np.asarray(done.stdout.split(), np.float64)


@pytest.mark.slow("nothing inside asks this: each number of devices needs a process")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells a process its peak memory")
def test_memory_is_that_of_a_chunk_and_numbers_do_not_depend_on_the_devices():
    """Draws hundreds of thousands of trials in each of two processes."""
    before, peak, *mean = child(devices=1)
    # In full the keys of the second run are 4e5 * 16 * 64 * 4 bytes = 1.5 GiB, those of the first 781 MiB.
    assert before < 512
    # The second run compiles nothing. A call needs 4 MiB, and malloc keeps some of what earlier calls gave back.
    assert peak - before < 32
    assert child(devices=2)[2:].tolist() == mean
