"""Rows generated on one device and on all of this process: prints tokens, log-probabilities and shares, in turn."""

import json
from unittest import mock

import jax
import numpy as np
from jax.sharding import Mesh

from attnlab_theory.language import generate
from tests.language.test_generate import LENGTHS, PROMPTS, SOFTMAX, STEPS, TOO_MANY

STOP = 3
ASKED = ((11, STEPS), (11, TOO_MANY), (2, STEPS))
"""Rows and steps: rows are not a multiple of eight devices, or too few for them; a cache takes not all steps."""


def generated(mesh: Mesh | None, rows: int, steps: int) -> dict:
    """The continuations of rows of three kinds, which end at different steps."""
    prompts, lengths = np.resize(PROMPTS, (rows, PROMPTS.shape[1])), np.resize(LENGTHS, rows)
    devices, shares, host, nothing = [], [], generate._host, generate._nothing

    def noted(run):
        devices.append(len(run.tokens.devices()))
        return host(run)

    def begun(rows, *others):
        shares.append(rows)
        return nothing(rows, *others)

    with mock.patch.multiple(generate, _host=noted, _nothing=begun):
        found = generate.greedy(SOFTMAX, prompts, lengths, steps=steps, stop=generate.Stop(STOP), mesh=mesh)
    told = {"tokens": found.tokens.tolist(), "log_probability": found.log_probability.tolist()}
    return told | {"devices": devices, "rows of each": shares}


if __name__ == "__main__":
    for asked in ASKED:
        for mesh in (None, Mesh(jax.devices(), ("data",))):
            print(json.dumps(generated(mesh, *asked)), flush=True)
