"""Rows generated on one device and on all of this process: prints tokens and log-probabilities, in turn."""

import json

import jax
import numpy as np
from jax.sharding import Mesh

from attnlab_theory.language.generate import Stop, greedy
from tests.language.test_generate import LENGTHS, PROMPTS, SOFTMAX, STEPS, TOO_MANY

STOP = 3
ASKED = ((11, STEPS), (11, TOO_MANY), (2, STEPS))
"""Rows and steps: rows are not a multiple of eight devices, or too few for them; a cache takes not all steps."""


def generated(mesh: Mesh | None, rows: int, steps: int) -> dict:
    """What stands behind rows of three kinds, which end at different steps."""
    prompts, lengths = np.resize(PROMPTS, (rows, PROMPTS.shape[1])), np.resize(LENGTHS, rows)
    found = greedy(SOFTMAX, prompts, lengths, steps=steps, stop=Stop(STOP), mesh=mesh)
    return {"tokens": found.tokens.tolist(), "log_probability": found.log_probability.tolist()}


if __name__ == "__main__":
    for asked in ASKED:
        for mesh in (None, Mesh(jax.devices(), ("data",))):
            print(json.dumps(generated(mesh, *asked)), flush=True)
