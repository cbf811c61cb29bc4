"""One small run with dropout, in a process of its own: prints its losses and what its parameters came to.

`python -m tests.language.parallel_run devices` trains on one device and on all of this process; `python -m
tests.language.parallel_run host PORT NUMBER` is one of two hosts, each with one device and the same data.
"""

import json
import sys

import jax
import numpy as np
from jax.sharding import Mesh

from attnlab_theory.language.corpora.batches import Batch, in_file_order
from attnlab_theory.language.models.gpt import GPT, GPTConfig
from attnlab_theory.language.schedules import Cosine
from attnlab_theory.language.train import Training, started, train

CONFIG = GPTConfig(vocabulary=11, block=8, layers=1, heads=2, width=8)
# Six rows are not a multiple of eight devices: some get nothing but PAD.
ROWS = 6
TRAINING = Training(
    schedule=Cosine(peak=1e-3, steps=4), epochs=2, split=lambda batch: list(in_file_order(batch, ROWS))
)


def epochs(number: int):
    """One batch of two micro-batches, rows of different lengths."""
    rng = np.random.default_rng(number)
    x = rng.integers(1, 11, (2 * ROWS, 9)).astype(np.int32)
    x[np.arange(9) >= rng.integers(3, 10, 2 * ROWS)[:, None]] = 0
    return [Batch(x[:, :-1], x[:, 1:])]


def trained(mesh: Mesh | None) -> dict:
    """Losses, lengths of gradients and parameters, one by one."""
    steps = list(train(started(GPT(CONFIG, key=jax.random.key(0)), TRAINING), epochs, TRAINING, mesh=mesh))
    parameters = [np.asarray(x.addressable_data(0)).ravel() for x in jax.tree.leaves(steps[-1][0].model)]
    return {
        "losses": [metrics.loss for _, metrics in steps],
        "gradients": [metrics.gradient for _, metrics in steps],
        "parameters": np.concatenate(parameters).tolist(),
    }


def main() -> None:
    """The child: one JSON value per run."""
    match sys.argv[1:]:
        case ["devices"]:
            meshes = [None, Mesh(jax.devices(), ("data",))]
        case ["host", port, number]:
            jax.config.update("jax_cpu_collectives_implementation", "gloo")
            jax.distributed.initialize(f"127.0.0.1:{port}", 2, int(number))
            meshes = [Mesh(jax.devices(), ("data",))]
    for mesh in meshes:
        print(json.dumps({"devices": 1 if mesh is None else mesh.size, **trained(mesh)}), flush=True)


if __name__ == "__main__":
    main()
