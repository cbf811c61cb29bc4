"""Adapters to fill in: for each kind and framework about ten lines."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Body(NamedTuple):
    """How an adapter of a kind is called."""

    given: str
    """Its parameters."""
    means: str
    """Their shapes, and what is given back."""
    module: bool = False
    """Whether such things are modules, in torch."""


ATTENTION = Body(
    "q, k, v, mask=None",
    "q [b h t d], k [b h s d], v [b h s e], mask [t s] or [b h t s], True keeps; gives [b h t e].",
)

PROJECTS = """\
    module = Module(q.shape[-1]).to(q.dtype).eval()
    for x in module.parameters():  # Identity projections: units on the diagonal of each matrix, and no bias.
        d = x.shape[-1]
        x.data = torch.eye(d).repeat(len(x) // d, 1).to(x) if x.ndim == 2 else torch.zeros_like(x)
    return module(q, k, v, mask)"""
"""What a module of torch is made for, and how it is called, where it attends."""

BODIES: Mapping[str, Body] = {
    "mixer": Body("x", "x [b t d]; gives [b t e].", module=True),
    "decode": Body(
        "q, k, v, cache=None",
        "q, k, v [b h t d] of new tokens, the cache before; gives [b h t e], new cache.\n\n"
        "    A cache that changes in place: let mine be an object with init_cache() and step(q, k, v, cache).",
        True,
    ),
    "model": Body("ids", "ids [b t], whole numbers; gives logits [b t vocabulary].", module=True),
    "rotary": Body("x, positions", "x [b h t d], positions [t], whole numbers; gives x, turned."),
    "sinusoidal": Body("length, width", "Whole numbers; gives [t d]."),
    "alibi": Body("heads, length", "Whole numbers; gives [h t s], which is added to the scores."),
    "linear": Body("q, k, v, causal=False", "q [b h t d], k [b h s d], v [b h s e]; gives [b h t e]."),
    "sigmoid": Body("q, k, v, causal=False", "q [b h t d], k [b h s d], v [b h s e]; gives [b h t e]."),
    "stick-breaking": Body("q, k, v, mask=None", "q [b h t d], k [b h s d], v [b h s e]; gives [b h t e]."),
    "differential": Body(
        "q1, k1, q2, k2, v, lam", "q1, q2 [b h t d], k1, k2 [b h s d], v [b h s e], lam a number; gives [b h t e]."
    ),
    "top-k": Body("q, k, v, top_k", "q [b h t d], k [b h s d], v [b h s e], a whole number; gives [b h t e]."),
    "paged": Body(
        "q, k_pages, v_pages, block_table, lengths",
        "q [b t h d], pages [p z g d], table [b m], lengths [b] of keys, q the last; gives [b t h e].",
    ),
    "latent": Body(
        "q, q_rope, c, k_rope, w_uk, w_uv",
        "q [b h t d], q_rope [b h t x], c [b s r], k_rope [b s x], w_uk [h d r], w_uv [h e r]; gives [b h t e].",
    ),
    "recurrent": Body(
        "q, k, v, state=None", "q, k [b h t d], v [b h t e], the state before; gives [b h t e], state."
    ),
    "dropout": Body("q, k, v, p, seed", "q [b h t d], k [b h s d], v [b h s e], the rate p; gives [b h t e]."),
    "random-features": Body("x, seed", "x [n d] and a whole number; gives the features [n m] of its rows."),
}


def template(framework: str, kind: str = "") -> str:
    """An adapter to fill in for numpy, torch or jax, by a name of `--as`; without one for causal attention."""
    attends, body = kind not in BODIES, BODIES.get(kind, ATTENTION)
    handed = ", ".join(each.partition("=")[0] for each in body.given.split(", "))
    module = framework == "torch" and (attends or body.module)
    lines = [
        f'"""An adapter: attnlab conform adapter.py::mine --as {kind or "causal"}"""',
        "",
        {"numpy": "import numpy as np", "torch": "import torch", "jax": "import jax"}[framework],
        "",
        f"from PACKAGE import {'Module' if module else 'FUNCTION'}",
        *(["", "FUNCTION = Module().eval()"] if module and not attends else []),
        "",
        "",
        *["@jax.jit"] * (attends and framework == "jax"),
        f"def mine({body.given}):",
        f'    """{body.means}"""',
        PROJECTS if module and attends else f"    return FUNCTION({handed})",
    ]
    return "\n".join(lines) + "\n"


def advice(kind: str = "", uses: Sequence[str] = ()) -> str:
    """The remedy for a target that can be called in no way: by its kind and frameworks, where these are known."""
    return f"write an adapter: {command(kind, next(iter(uses), 'numpy'))}"


def command(kind: str, framework: str) -> str:
    """What prints an adapter."""
    return f"attnlab conform --template {framework}" + f" --as {kind}" * bool(kind)
