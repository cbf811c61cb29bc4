"""One layer of the GPT: what mixes the tokens, and what transforms each of them."""

import equinox as eqx
import jax
from jaxtyping import Array, Float

from attnlab_theory.axes import PRNGKeyArray
from attnlab_theory.language.models.config import Gelu, GPTConfig
from attnlab_theory.language.models.layers import LayerNorm, Linear, dropout, keys_of
from attnlab_theory.language.models.mixing import Kept, MixingLayer, Slot
from attnlab_theory.language.models.tape import Offer, Walk
from attnlab_theory.language.models.weighing import Place


class Block(eqx.Module):
    """Normalise, mix and add; normalise, transform each token and add."""

    ln_1: LayerNorm
    mixing: MixingLayer
    ln_2: LayerNorm
    into: Linear
    back: Linear
    rate: float = eqx.field(static=True)
    gelu: Gelu = eqx.field(static=True)

    def __init__(self, config: GPTConfig, key: PRNGKeyArray):
        mixing, into, back = jax.random.split(key, 3)
        self.ln_1 = LayerNorm(config.width, epsilon=config.epsilon)
        self.mixing = config.mixer.layer(mixing, config.shape)
        self.ln_2 = LayerNorm(config.width, epsilon=config.epsilon)
        self.into = Linear(into, config.width, config.hidden_width)
        self.back = Linear(back, config.hidden_width, config.width)
        self.rate, self.gelu = config.residual_dropout, config.gelu

    def walk(
        self, x: Float[Array, "b t c"], where: Place, key: PRNGKeyArray | None
    ) -> Walk[tuple[Float[Array, "b t c"], Kept | None]]:
        """The next layer's tokens, and what a cache would keep. The names of places are those of `tape`."""
        weights, mixed, transformed = keys_of(key, 3)
        x = yield Offer("reads", x)
        more, kept = yield from self.mixing.walk(self.ln_1(x), where, weights)
        more = yield Offer("mixed", more)
        skip = yield Offer("skip_1", x)
        x = yield Offer("between", skip + dropout(mixed, more, self.rate))
        more = yield Offer("transformed", self.transformed(x))
        skip = yield Offer("skip_2", x)
        x = yield Offer("out", skip + dropout(transformed, more, self.rate))
        return x, kept

    def step(self, x: Float[Array, "b 1 c"], slot: Slot, kept: Kept) -> tuple[Float[Array, "b 1 c"], Kept]:
        """The next layer's token of every row, and the longer cache."""
        more, kept = self.mixing.step(self.ln_1(x), slot, kept)
        x = x + more
        return x + self.transformed(x), kept

    def transformed(self, x: Float[Array, "b t c"]) -> Float[Array, "b t c"]:
        """The output of the second half of the layer, which is added to each token."""
        x = self.into(self.ln_2(x))
        return self.back.of_gelu(x) if self.gelu == "exact" else self.back(jax.nn.gelu(x))
