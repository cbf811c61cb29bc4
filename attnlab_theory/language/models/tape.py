"""Look inside a model: keep values of its forward pass by name, or put others in their place.

The `walk` of a model is a generator. It offers each value under the name of its place, such as `layers.3.weights`,
and goes on with what it gets back. Training takes no notice of the places. A `tape` keeps or replaces values
there. Nothing is written to the model, so tapes can be compiled, differentiated and mapped. Layers count from 0.

| place in a layer | holds | shape |
|---|---|---|
| `reads` | what the layer reads | b t c |
| `q`, `k`, `v` | queries, keys and values, if the mixer scores pairs | b h t d |
| `weights` | the weights of attention; rows sum to one | b h t t, or 1 h t t if all rows agree |
| `means` | what each head hands on | b h t d |
| `mixed` | what all heads add to the tokens | b t c |
| `skip_1` | what it is added to | b t c |
| `between` | the tokens between the two halves of the layer | b t c |
| `transformed` | what the feed-forward network adds | b t c |
| `skip_2` | what it is added to | b t c |
| `out` | what the next layer reads | b t c |

Source: the hooks of TransformerLens (Nanda and Bloom 2022), here without state.
"""

import re
from collections.abc import Callable, Collection, Generator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import jax.numpy as jnp
from jaxtyping import Array

T = TypeVar("T")


class Offer(NamedTuple):
    """A value of the walk, and the name of its place."""

    place: str
    value: Any
    aside: bool = False
    """Whether the forward pass itself does not need the value. Then `value` is a function that computes it, and the
    walk gets None back unless the value is replaced."""


Walk = Generator[Offer, Any, T]
"""A forward pass that stops at named places. It can be walked once."""

Replacement = Callable[[Array], Array]
"""A function of the value at a place, to a value of the same shape and type."""


class Tape(NamedTuple, Generic[T]):
    """The result of a walk."""

    end: T
    """The return value of the forward pass."""
    kept: dict[str, Any]
    """The values that were asked for, by place."""

    def layers(self, place: str) -> list[Any]:
        """The kept values at one place of every layer, the first layer first."""
        # By number, not as they were met: `jit` sorts names, and layers.10 before layers.2.
        found = {int(name.split(".")[1]): value for name, value in self.kept.items() if _is_of(name, place)}
        return [found[layer] for layer in sorted(found)]


def tape(walk: Walk[T], keep: Collection[str] = (), replace: Mapping[str, Replacement] | None = None) -> Tape[T]:
    """Walk to the end, keep the values at some places and replace those at others.

    Args:
        walk: of a model, or of one of its layers.
        keep: names of places. `layers.*.weights` stands for every layer. A replaced value is kept as replaced.
        replace: functions that replace the value at a place. The name of one layer goes before that of all.

    Raises:
        ValueError: naming a place that is not on the walk, or whose new value has another shape or type.
    """
    replace = replace or {}
    kept, passed, answer = {}, set[str](), None
    while True:
        try:
            place, value, aside = walk.send(answer)
        except StopIteration as finished:
            end = finished.value
            break
        names = (place, _in_every_layer(place))
        passed.update(names)
        change = next((replace[name] for name in names if name in replace), None)
        wanted = any(name in keep for name in names)
        if aside and (wanted or change):
            value = value()
        if change:
            value = _fitting(place, value, change(value))
        if wanted:
            kept[place] = value
        answer = None if aside and not change else value
    for name in {*keep, *replace} - passed:
        places = ", ".join(sorted(_in_every_layer(each) for each in passed if "*" in each)) or "none"
        raise ValueError(f"the walk has no place {name}: its places in every layer are {places}")
    return Tape(end, kept)


def within(part: str, walk: Walk[T]) -> Walk[T]:
    """The same walk, with the name of a part of the model before every name of a place."""
    answer = None
    while True:
        try:
            offer = walk.send(answer)
        except StopIteration as finished:
            return finished.value
        answer = yield offer._replace(place=f"{part}.{offer.place}")


def _in_every_layer(place: str) -> str:
    return re.sub(r"^layers\.\d+\.", "layers.*.", place)


def _is_of(name: str, place: str) -> bool:
    return _in_every_layer(name) == f"layers.*.{place}"


def _fitting(place: str, value: Array, other: Array) -> Array:
    if jnp.shape(other) != value.shape or jnp.result_type(other) != value.dtype:
        raise ValueError(
            f"at {place} stands {value.dtype} of shape {value.shape}: "
            f"it cannot be replaced by {jnp.result_type(other)} of {jnp.shape(other)}"
        )
    return other
