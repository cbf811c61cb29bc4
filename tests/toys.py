"""Claims about laws whose means are known without any attention, to test the judge and the runner with."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.claims import Claim, Findings, Setting, Traced, check
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval, proportion
from attnlab_theory.stats.draws import CHUNKS_PER_BLOCK

CHUNK = 8
BLOCK = CHUNKS_PER_BLOCK * CHUNK
KEY = key_for(0, "judge")


class Coin(Setting):
    """A coin that shows 1 with the given chance; `width` does nothing but be a shape."""

    chance: Traced[float]
    width: int = 1


def toss(key: PRNGKeyArray, coin: Coin) -> Float[Array, ""]:
    return jnp.asarray(jax.random.uniform(key) < coin.chance, dtype=jnp.float32)


def coin_claim(**changes) -> Claim:
    """The true claim that a coin's mean is its chance, with what is to be otherwise."""
    declared = {
        "name": "coin",
        "statement": "A coin's mean is its chance.",
        "source": "Bernoulli 1713",
        "hypotheses": {"it is a chance": lambda coin: 0 <= coin.chance <= 1},
        "predict": lambda coin: Interval.point(coin.chance),
        "draw": toss,
        "bound": proportion(),
        "resolution": 0.1,
        "settings": (Coin(chance=0.25), Coin(chance=0.5)),
        "chunk": CHUNK,
    }
    return Claim(**declared | changes)


def checked(claim: Claim, *, max_draws: int = BLOCK * 16, error_rate: float = 0.01, **options) -> Findings:
    """The findings with one key, at a false-alarm rate that is quick to reach."""
    return check(claim, key=KEY, error_rate=error_rate, max_draws=max_draws, **options)
