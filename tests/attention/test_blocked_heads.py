"""Blocked attention in several heads is plain attention in each of them, on one device and on two."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.attention import blocked_multi_head_attention, causal_mask, multi_head_attention
from tests.devices import environment


def heads(h, t, d=3):
    return (jnp.asarray(x, jnp.float32) for x in np.random.default_rng(h + t).standard_normal((3, h, t, d)))


@pytest.mark.parametrize("causal", [False, True])
def test_each_head_is_attention(causal):
    q, k, v = heads(3, 9)
    expected = multi_head_attention(q, k, v, causal_mask(9) if causal else None, scale=0.5)
    got = blocked_multi_head_attention(q, k, v, scale=0.5, block=4, causal=causal)
    np.testing.assert_allclose(got, expected, atol=1e-6)


Q, K, V = heads(2, 5)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"q": Q[0]}, "q must have 3 axes"),
        ({"k": K[:1]}, "heads must agree: q has 2, k has 1, v has 2"),
        ({"v": V[:, :4]}, "source positions must agree: k has 5, v has 4"),
        ({"v": V.at[1, 4, 2].set(jnp.nan)}, r"v must be finite, but holds nan at index \(1, 4, 2\)"),
        ({"q": Q[:, :4], "causal": True}, "positions under a causal mask must agree"),
        ({"scale": -1.0}, "scale must be positive, not -1"),
        ({"block": 0}, "block"),
    ],
)
def test_bad_input_to_any_head_is_refused(changed, message):
    given = {"q": Q, "k": K, "v": V, "scale": 0.5, "block": 4} | changed
    with pytest.raises(ValueError, match=message):
        blocked_multi_head_attention(**given)


ON_TWO_DEVICES = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, PartitionSpec as P
from attnlab_theory.attention import blocked_multi_head_attention, causal_mask, multi_head_attention

first, second = jax.devices()
q, k, v = (jnp.asarray(x, jnp.float32) for x in np.random.default_rng(0).standard_normal((3, 4, 9, 3)))

def blocked(q, k, v, scale=0.5):
    return blocked_multi_head_attention(q, k, v, scale=scale, block=4, causal=True)

def plain(q, k, v, scale=0.5):
    return multi_head_attention(q, k, v, causal_mask(9), scale=scale)

def same(ours, theirs, devices):
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert ours.sharding.device_set == devices, ours.sharding

both = {first, second}
same(blocked(q, k, v), plain(q, k, v), both)
same(jax.jit(blocked)(q, k, v), plain(q, k, v), both)
same(blocked(q[:3], k[:3], v[:3]), plain(q[:3], k[:3], v[:3]), {first})
same(blocked(jax.device_put(q, second), k, v), plain(q, k, v), {second})
with jax.default_device(second):
    same(blocked(q, k, v), plain(q, k, v), {second})
mesh = Mesh(np.array([first, second]), ("rows",))
inside = jax.shard_map(blocked, mesh=mesh, in_specs=P("rows"), out_specs=P("rows"), check_vma=False)
same(inside(q, k, v), plain(q, k, v), both)
for argument in range(3):
    mine, wanted = (
        jax.grad(lambda *x, f=f: jnp.sum(f(*x) ** 2), argument)(q, k, v) for f in (blocked, plain)
    )
    np.testing.assert_allclose(mine, wanted, atol=1e-4)
mine, wanted = (jax.grad(lambda s, f=f: jnp.sum(f(q, k, v, s) ** 2))(0.5) for f in (blocked, plain))
np.testing.assert_allclose(mine, wanted, rtol=1e-5)
"""


@pytest.mark.slow("heads on one device stay inside")
def test_two_devices_share_the_heads_unless_one_is_chosen():
    """Starts a process with two devices, which compiles a program for each way to share the heads."""
    command = [sys.executable, "-c", ON_TWO_DEVICES]
    done = subprocess.run(command, env=environment(2), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_one_device_has_all_heads():
    q, k, v = heads(2, 5)
    assert len(blocked_multi_head_attention(q, k, v, scale=0.5, block=4).sharding.device_set) == 1
    assert jax.local_device_count() == 1
