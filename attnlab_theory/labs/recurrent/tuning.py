"""The homework's tuning runs: windows of one text, Adagrad, and a smoothed loss.

Source: AI_2023, RNN assignment: sums of cross-entropy over a window, gradients clipped to [-5, 5], Adagrad with
1e-8 inside the root, smoothed loss 0.999 to 0.001. Two things differ. The gradient here is the right one. And every
window starts from zeros. In the homework only the W-RNN starts so, and the RNN keeps its state.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from attnlab_theory.labs.estimates import Estimates, over_seeds
from attnlab_theory.language.corpora.batches import Batch
from attnlab_theory.language.models.recurrent import Activation, Cell, Recurrent, RecurrentConfig
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval

SMOOTH = 0.999
CLIP = 5.0

POINTS = 60
"""The number of points of a curve."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tuned:
    """One of the homework's settings, and the loss in its report."""

    cell: Cell
    hidden: int
    length: int
    """The tokens of a window."""
    rate: float
    published: float
    """Smoothed loss in nats per character, on another text: novels of 5,887 characters."""
    activation: Activation = Activation.SIGMOID
    """f1 and f2. The homework's are sigmoids."""

    @property
    def name(self) -> str:
        """The name in tables: cell, hidden units / window / learning rate, and an activation that is no sigmoid."""
        own = "" if self.activation is Activation.SIGMOID else f" {self.activation}"
        return f"{self.cell} {self.hidden}/{self.length}/{self.rate:g}{own}"

    @property
    def sizes(self) -> str:
        """The same without the cell, in words."""
        return f"{self.hidden} units, windows of {self.length}, rate {self.rate:g}"


SETTINGS = (
    Tuned(cell="rnn", hidden=160, length=30, rate=1e-2, published=5.63),
    Tuned(cell="rnn", hidden=160, length=30, rate=1e-3, published=6.26),
    Tuned(cell="rnn", hidden=300, length=30, rate=1e-2, published=5.60),
    Tuned(cell="w-rnn", hidden=100, length=25, rate=1e-1, published=6.17),
    Tuned(cell="w-rnn", hidden=200, length=25, rate=1e-1, published=6.19),
    Tuned(cell="w-rnn", hidden=160, length=30, rate=1e-2, published=6.32),
    Tuned(cell="w-rnn", hidden=160, length=30, rate=1e-3, published=6.35),
    Tuned(cell="w-rnn", hidden=160, length=30, rate=1e-4, published=6.99),
)
"""The settings whose losses stand in the report."""


def refuse_short(tokens: int, settings: Sequence[Tuned]) -> None:
    """Refuse a text that is too short for one of the settings.

    Raises:
        ValueError: if the text is shorter than the longest window and its last target.
    """
    size = max(setting.length for setting in settings)
    if tokens <= size:
        raise ValueError(f"a text of {tokens} tokens has no window of {size}: take one of {size + 1} or more")


def curves(
    settings: Sequence[Tuned],
    tokens: Int[np.ndarray, " n"],
    vocabulary: int,
    *,
    windows: int,
    seed: int,
    tell: Callable[[str], None],
) -> list[dict[str, Any]]:
    """The curves of settings on one text, a row for each setting.

    Args:
        settings: networks, windows and learning rates.
        tokens: a text. After its end it begins again.
        vocabulary: how many different tokens there are.
        windows: how many windows each network reads.
        seed: of the first weights.
        tell: called with a line about each setting.

    Raises:
        ValueError: if the text is shorter than the longest window and its last target.
    """
    rows = []
    for setting in settings:
        tell(f"tuning {setting.name}, seed {seed}")
        losses = tuned(setting, tokens, vocabulary, steps=windows, seed=seed)
        steps = np.unique(np.linspace(0, windows - 1, POINTS).astype(int))
        told = {"name": setting.name, "cell": setting.cell, "sizes": setting.sizes, "seed": seed}
        told |= {"activation": str(setting.activation), "published": setting.published}
        rows.append({**told, "steps": (steps + 1).tolist(), "losses": [round(float(x), 5) for x in losses[steps]]})
    return rows


def last_losses(rows: Sequence[Mapping[str, Any]]) -> Estimates:
    """The last smoothed loss of every setting, over seeds."""
    found = []
    for name in dict.fromkeys(row["name"] for row in rows):
        chosen = [row for row in rows if row["name"] == name]
        told = {"setting": name, "published": chosen[0]["published"]}
        values = [row["losses"][-1] for row in chosen]
        found.append(over_seeds("smoothed loss", values, within=Interval.at_least(0.0), **told))
    return Estimates(found)


def tuned(
    setting: Tuned, tokens: Int[np.ndarray, " n"], vocabulary: int, *, steps: int, seed: int
) -> Float[np.ndarray, " steps"]:
    """The smoothed loss after every window, in nats per token.

    Args:
        setting: the network, window and learning rate.
        tokens: a text. After its end it begins again.
        vocabulary: how many different tokens there are.
        steps: how many windows are read.
        seed: of the first weights.

    Raises:
        ValueError: if the text is shorter than the window and its last target.
    """
    refuse_short(len(tokens), (setting,))
    size = setting.length
    starts = (np.arange(steps) * size) % (len(tokens) - size)
    windows = np.stack([tokens[start : start + size + 1] for start in starts]).astype(np.int32)
    config = RecurrentConfig(
        vocabulary=vocabulary,
        hidden=setting.hidden,
        cell=setting.cell,
        first=setting.activation,
        second=setting.activation,
        scale=0.01,
    )
    model = Recurrent(config, key=key_for(seed, "tuning"))
    losses = np.asarray(_losses(model, jnp.asarray(windows), jnp.float32(setting.rate)), np.float64) / size
    smoothed, smooth = np.zeros(steps), float(np.log(vocabulary))
    for step, loss in enumerate(losses):
        smooth = SMOOTH * smooth + (1 - SMOOTH) * loss
        smoothed[step] = smooth
    return smoothed


@functools.partial(jax.jit)
def _losses(model: Recurrent, windows: Int[Array, "steps t"], rate: Float[Array, ""]) -> Float[Array, " steps"]:
    def step(state: tuple[Any, Any], window: Array) -> tuple[tuple[Any, Any], Array]:
        model, squares = state

        def lost(model: Recurrent) -> Array:
            return jnp.sum(model.token_losses(Batch(window[None, :-1], window[None, 1:])))

        loss, gradient = jax.value_and_grad(lost)(model)
        gradient = jax.tree.map(lambda g: jnp.clip(g, -CLIP, CLIP), gradient)
        squares = jax.tree.map(lambda s, g: s + g * g, squares, gradient)
        model = jax.tree.map(lambda x, g, s: x - rate * g / jnp.sqrt(s + 1e-8), model, gradient, squares)
        return (model, squares), loss

    _, losses = lax.scan(step, (model, jax.tree.map(jnp.zeros_like, model)), windows)
    return losses
