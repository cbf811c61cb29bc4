"""The gradient of a loss by an earlier input, by distance."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.models.recurrent import Recurrent
from attnlab_theory.language.models.tape import tape
from attnlab_theory.language.models.weighing import place


def gradient_norms(model: Any, tokens: Int[np.ndarray, "n t"]) -> Float[np.ndarray, "n s"]:
    """The norms of the gradient of the last target's loss by the vector of each token, the nearest first.

    Args:
        model: a `GPT` or a `Recurrent`.
        tokens: rows without PAD. The last token is the target.
    """
    found = np.asarray(_norms(model, jnp.asarray(tokens)), np.float64)
    return found[:, ::-1]


@eqx.filter_jit
def _norms(model: GPT | Recurrent, tokens: Int[Array, "n t"]) -> Float[Array, "n s"]:
    x, y = tokens[:, :-1], tokens[:, -1]

    def lost(vectors: Float[Array, "n s c"]) -> Float[Array, ""]:
        logits = _last_logits(model, vectors)
        chosen = y[:, None] == jnp.arange(logits.shape[1], dtype=y.dtype)[None, :]
        return -jnp.sum(jnp.where(chosen, jax.nn.log_softmax(logits, axis=1), 0))

    vectors = (
        model.u[x]
        if isinstance(model, Recurrent)
        else model.embedded(x, place(x.shape[0], x.shape[1], None, None).at)
    )
    # Rows do not see each other: the gradient of the sum is that of each row's own loss.
    return jnp.linalg.norm(jax.grad(lost)(vectors), axis=2)


def _last_logits(model: GPT | Recurrent, vectors: Float[Array, "n s c"]) -> Float[Array, "n v"]:
    if isinstance(model, Recurrent):
        return model.hidden(vectors)[:, -1] @ model.q + model.s3[None]
    last, _ = tape(model.walk_from(vectors, place(vectors.shape[0], vectors.shape[1], None, None))).end
    final = model.ln_f(last)[:, -1]
    return final @ (model.tokens.T if model.head is None else model.head.weight)
