"""Two recurrent networks of the homework: an RNN, and a W-RNN whose second hidden layer reads the first.

RNN: a_t = f1(U x_t + W a_{t-1} + s1), logits Q a_t + s3. W-RNN: the same a_t, then
b_t = f2(V a_t + R a_{t-1} + T b_{t-1} + s2), logits Q b_t + s3. x_t is the one-hot vector of a token, so U x_t
is a row of a table. Both start from zeros.
"""

import dataclasses
import enum
import functools
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, PyTree

from attnlab_theory import refuse
from attnlab_theory.axes import PRNGKeyArray
from attnlab_theory.language.corpora.batches import Batch
from attnlab_theory.language.text.characters import PAD_ID

Cell = Literal["rnn", "w-rnn"]


class Activation(enum.StrEnum):
    """The homework's choices for f1 and f2."""

    SIGMOID = "sigmoid"
    RELU = "relu"
    TANH = "tanh"
    SWISH = "swish"
    GELU = "gelu"

    @property
    def function(self) -> Callable[[Array], Array]:
        """The activation itself."""
        return FUNCTIONS[self]


FUNCTIONS: Mapping[Activation, Callable[[Array], Array]] = {
    Activation.SIGMOID: jax.nn.sigmoid,
    Activation.RELU: jax.nn.relu,
    Activation.TANH: jnp.tanh,
    Activation.SWISH: jax.nn.swish,
    Activation.GELU: lambda x: jax.nn.gelu(x, approximate=False),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecurrentConfig:
    """The configuration of a recurrent network.

    Raises:
        ValueError: naming the field and its value: a size that is not a positive whole number, or a cell that is
            unknown.
    """

    vocabulary: int
    hidden: int
    """Units of each hidden layer."""
    cell: Cell = "rnn"
    first: Activation = Activation.TANH
    """f1, the activation of the first hidden layer."""
    second: Activation = Activation.TANH
    """f2, the activation of the second hidden layer. The RNN has none."""
    scale: float | None = None
    """The standard deviation of the first weights; the homework's is 0.01. None: 1 / sqrt(number of inputs)."""

    def __post_init__(self) -> None:
        refuse.not_a_size(vocabulary=self.vocabulary, hidden=self.hidden)
        if self.cell not in get_args(Cell):
            raise ValueError(f"a cell is one of {', '.join(get_args(Cell))}, not {self.cell!r}")
        for name in ("first", "second"):
            if getattr(self, name) not in list(Activation):
                raise ValueError(f"{name} is one of {', '.join(Activation)}, not {getattr(self, name)!r}")
        if self.scale is not None:
            refuse.not_positive(scale=self.scale)
            refuse.non_finite(scale=self.scale)

    def as_json(self) -> dict[str, Any]:
        """The fields by name."""
        return dataclasses.asdict(self) | {"first": str(self.first), "second": str(self.second)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "RecurrentConfig":
        """What `as_json` wrote.

        Raises:
            ValueError: naming a field that is unknown, missing or out of range.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        for name in sorted(known ^ set(record)):
            raise ValueError(f"the configuration {'lacks' if name in known else 'has an unknown field'} {name!r}")
        names = {name: Activation(record[name]) for name in ("first", "second")}
        return cls(**{**record, **names})


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def states(f: Callable[[Array], Array], x: Float[Array, "t b h"], w: Float[Array, "h h"]) -> Float[Array, "t b h"]:
    """The states s_t = f(x_t + s_{t-1} w) of a recurrent layer, from s_{-1} = 0.

    Only first derivatives, in reverse mode. Only the gradient of s_t goes back step by step. That of w is one
    product over all places; automatic differentiation would add up one for each step.

    Args:
        f: acts on every number by itself.
        x: the input at every place.
        w: the recurrent weights.
    """
    return _kept_states(f, x, w)[0]


def _kept_states(f: Callable[[Array], Array], x: Array, w: Array) -> tuple[Array, tuple[Array, Array, Array]]:
    def step(state: Array, arriving: Array) -> tuple[Array, tuple[Array, Array]]:
        before = arriving + state @ w
        after = f(before)
        return after, (after, before)

    _, (found, before) = lax.scan(step, jnp.zeros_like(x[0]), x)
    return found, (found, before, w)


def _states_pulled_back(
    f: Callable[[Array], Array], kept: tuple[Array, Array, Array], d_states: Array
) -> tuple[Array, Array]:
    found, before, w = kept
    (slope,) = jax.vjp(f, before)[1](jnp.ones_like(before))

    def step(later: Array, here: tuple[Array, Array]) -> tuple[Array, Array]:
        d_state, slope = here
        d_x = slope * (d_state + later @ w.T)
        return d_x, d_x

    _, d_x = lax.scan(step, jnp.zeros_like(found[0]), (d_states, slope), reverse=True)
    d_w = jnp.tensordot(found[:-1], d_x[1:], axes=((0, 1), (0, 1)))
    return d_x, d_w


states.defvjp(_kept_states, _states_pulled_back)


class Recurrent(eqx.Module):
    """An RNN or a W-RNN."""

    u: Float[Array, "v h"]
    w: Float[Array, "h h"]
    s1: Float[Array, " h"]
    crossed: "Crossed | None"
    """The second hidden layer, which only the W-RNN has."""
    q: Float[Array, "h v"]
    s3: Float[Array, " v"]
    config: RecurrentConfig = eqx.field(static=True)

    def __init__(self, config: RecurrentConfig, *, key: PRNGKeyArray):
        n, h = config.vocabulary, config.hidden
        into, own, out, rest = jax.random.split(key, 4)
        # One-hot inputs have one entry, so that a row of the table is what arrives.
        self.u = _drawn(into, (n, h), config.scale, inputs=1)
        self.w = _drawn(own, (h, h), config.scale, inputs=h)
        self.q = _drawn(out, (h, n), config.scale, inputs=h)
        self.s1, self.s3 = jnp.zeros(h), jnp.zeros(n)
        self.crossed = Crossed(rest, h, config.scale) if config.cell == "w-rnn" else None
        self.config = config

    def hidden(self, inputs: Float[Array, "b t h"]) -> Float[Array, "b t h"]:
        """The input of the output layer at every place.

        Args:
            inputs: U x_t, the rows of the table.
        """
        f1, f2, crossed = self.config.first.function, self.config.second.function, self.crossed
        a: Array = states(f1, jnp.swapaxes(inputs, 0, 1) + self.s1[None, None], self.w)
        if crossed is None:
            return jnp.swapaxes(a, 0, 1)
        # All that b_t takes of a: two products over all places at once.
        before = jnp.concatenate([jnp.zeros_like(a[:1]), a[:-1]])
        arriving = a @ crossed.v + before @ crossed.r + crossed.s2[None, None]
        return jnp.swapaxes(states(f2, arriving, crossed.t), 0, 1)

    def rows(self, tokens: Int[Array, "b t"]) -> Float[Array, "b t v"]:
        """Logits of the token after each place."""
        return self.hidden(self.u[tokens]) @ self.q + self.s3[None, None]

    def token_losses(self, batch: Batch) -> Float[Array, "b t"]:
        """Minus the log-probability of every token of y, target or not, in nats.

        Raises:
            ValueError: if several documents lie in one row, which a recurrent network cannot keep apart.
        """
        if batch.segments is not None:
            raise ValueError(
                "a recurrent network cannot keep apart the documents of a row: take sorted micro-batches"
            )
        logits, y = self.rows(jnp.asarray(batch.x)), jnp.asarray(batch.y)
        # A comparison with every class: the gradient of a gather would be a scatter, one number at a time.
        chosen = y[:, :, None] == jnp.arange(logits.shape[2], dtype=y.dtype)[None, None, :]
        return jax.nn.logsumexp(logits, axis=2) - jnp.sum(jnp.where(chosen, logits, 0), axis=2)

    def summed_loss(self, batch: Batch, key: PRNGKeyArray | None = None) -> Float[Array, ""]:
        """Minus the log-probability of the batch's targets, in nats, weighted and summed. There is no dropout."""
        lost, y = self.token_losses(batch), jnp.asarray(batch.y)
        if batch.weights is None:
            return jnp.sum(jnp.where(y == PAD_ID, 0, lost))
        weights = jnp.asarray(batch.weights).astype(lost.dtype)
        return jnp.sum(jnp.where(weights > 0, weights * lost, 0))

    def decayed(self) -> PyTree[bool]:
        """Weight decay shrinks all but biases."""
        return jax.tree.map(lambda x: x.ndim > 1, self)


class Crossed(eqx.Module):
    """The second hidden layer of a W-RNN."""

    v: Float[Array, "h h"]
    """Takes a_t."""
    r: Float[Array, "h h"]
    """Takes a_{t-1}."""
    t: Float[Array, "h h"]
    """Takes b_{t-1}."""
    s2: Float[Array, " h"]

    def __init__(self, key: PRNGKeyArray, hidden: int, scale: float | None):
        keys = jax.random.split(key, 3)
        self.v, self.r, self.t = (_drawn(each, (hidden, hidden), scale, inputs=3 * hidden) for each in keys)
        self.s2 = jnp.zeros(hidden)


def hidden_for(parameters: int, vocabulary: int, cell: Cell) -> int:
    """The hidden size of the network whose number of parameters is nearest to this one."""
    squares, biases = (1, 1) if cell == "rnn" else (4, 2)
    a, b, c = squares, 2 * vocabulary + biases, vocabulary - parameters
    return max(1, round((-b + (b * b - 4 * a * c) ** 0.5) / (2 * a)))


def _drawn(key: PRNGKeyArray, shape: tuple[int, ...], scale: float | None, *, inputs: int) -> Array:
    return (inputs**-0.5 if scale is None else scale) * jax.random.normal(key, shape)
