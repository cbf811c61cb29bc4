"""Settings say what is traced and refuse what they cannot hold."""

import dataclasses
import enum
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.claims import CLAIMS, Setting, Traced
from attnlab_theory.claims.setting import field_types
from attnlab_theory.stats import Interval
from tests.toys import Coin, checked, coin_claim


class Side(enum.StrEnum):
    HEADS = "heads"
    TAILS = "tails"


class Edge(enum.StrEnum):
    HEADS = "heads"


class Tossed(Setting):
    """One field of every kind."""

    n: int
    start: float
    fair: bool
    side: Side
    order: tuple[int, ...]
    chance: Traced[float]
    times: Traced[int]


FIELDS = {"n": 3, "start": 0.5, "fair": True, "side": Side.HEADS, "order": (1, 2), "chance": 0.25, "times": 7}


@pytest.mark.parametrize(
    ("field", "given", "held"),
    [
        ("n", 3.0, 3),
        ("n", np.int32(3), 3),
        ("n", np.float32(3), 3),
        ("start", 1, 1.0),
        ("start", np.float32(0.5), 0.5),
        ("start", math.inf, math.inf),
        ("fair", np.bool_(False), False),
        ("side", "tails", Side.TAILS),
        ("order", [3, 1.0], (3, 1)),
        ("chance", 1, 1.0),
        ("times", 8.0, 8),
    ],
)
def test_a_value_of_another_type_is_converted_where_nothing_is_lost(field, given, held):
    value = getattr(Tossed(**FIELDS | {field: given}), field)
    assert value == held
    assert type(value) is type(held)


WRONG = {
    int: (3.5, True, "3", None, math.nan, math.inf, (3,)),
    float: ("0.5", True, None, math.nan, 2**60 + 1, 1j, np.zeros(1)),
    bool: (1, 0.0, "True", None),
    tuple: (3, "1,2", (1.5,), ("1",)),
    enum.StrEnum: ("haeds", "HEADS", "", 0, None, Edge.HEADS),
}


def test_a_value_that_its_type_cannot_hold_is_refused_in_one_line(subtests):
    for field, wrong in [
        (field, wrong)
        for field, kind in {
            **{"n": int, "times": int, "start": float, "chance": float},
            **{"fair": bool, "order": tuple, "side": enum.StrEnum},
        }.items()
        for wrong in WRONG[kind]
    ]:
        with subtests.test(field=field, wrong=wrong):
            with pytest.raises(ValueError, match=rf"^Tossed\.{field} must be [^\n]*$"):
                Tossed(**FIELDS | {field: wrong})
            with pytest.raises(ValueError, match=rf"^Tossed\.{field} must be"):
                dataclasses.replace(Tossed(**FIELDS), **{field: wrong})


def test_a_misspelt_choice_names_the_nearest():
    with pytest.raises(ValueError, match="must be one of 'heads', 'tails', not 'tials'; did you mean 'tails'"):
        Tossed(**FIELDS | {"side": "tials"})


def test_fields_are_keyword_only_and_frozen():
    with pytest.raises(TypeError, match="positional"):
        Coin(0.5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Coin(chance=0.5).chance = 0.6


@pytest.mark.parametrize(
    "kind", [str, complex, list[int], dict, Traced[float] | None, tuple[str, ...], Traced[bool]]
)
def test_a_field_of_another_type_is_refused_when_the_class_is_made(kind):
    with pytest.raises(TypeError, match=r"Odd\.field: a field of a setting is int"):
        type("Odd", (Setting,), {"__annotations__": {"field": kind}})


def test_traced_fields_alone_are_arguments_of_the_compiled_draw():
    setting = Tossed(**FIELDS)
    assert setting.traced() == {"chance": 0.25, "times": 7.0}
    assert {name for name, _ in setting.static()} == {"n", "start", "fair", "side", "order"}
    assert setting.as_json() == {**FIELDS, "side": "heads"}


def test_three_and_three_point_zero_are_one_compilation():
    traces = []

    def draw(key, tossed):
        traces.append(tossed.times)
        return jnp.asarray(jax.random.uniform(key) < tossed.times / 10, float)

    settings = tuple(Tossed(**FIELDS | {"times": times}) for times in (3, 3.0, 5, 7.0))
    claim = coin_claim(
        draw=draw, settings=settings, hypotheses={}, predict=lambda s: Interval.point(s.times / 10), resolution=0.5
    )
    checked(claim)
    assert len(traces) == 2  # and one trace more, to see that the draw is the same function again
    assert isinstance(traces[0], jax.core.Tracer)


def test_a_setting_that_was_tampered_with_is_refused_when_it_is_judged():
    tampered = Coin(chance=0.5)
    object.__setattr__(tampered, "chance", "half")
    with pytest.raises(ValueError, match=r"coin: Coin\.chance must be a number, not 'half'"):
        checked(coin_claim(), settings=[tampered])
    with pytest.raises(ValueError, match="coin: a setting of this claim is a Coin, not Tossed"):
        checked(coin_claim(), settings=[Tossed(**FIELDS)])


@given(st.floats(0, 1), st.integers(1, 9))
def test_a_setting_comes_back_from_its_json(chance, width):
    coin = Coin(chance=chance, width=width)
    assert coin_claim().at(**coin.as_json()) == coin


def misfits(kind) -> list:
    """Values that a field of this type must refuse."""
    plain = getattr(kind, "__origin__", kind) if "Annotated" in str(kind) else kind
    if isinstance(plain, type) and issubclass(plain, enum.StrEnum):
        first = str(next(iter(plain)))
        return [first[:-1] + "~", first.upper() + "_", 0, None]
    return [None, "3", object(), *([1.5] if plain is int else []), *([True] if plain in (int, float) else [])]


@pytest.mark.slow("one class of settings with the same mistakes stays inside")
def test_every_claim_refuses_misspelt_choices_and_wrong_types_in_one_line(subtests):
    """A second or two: every claim is asked once for each of its fields."""
    for claim in CLAIMS:
        with subtests.test(claim.name):
            given, named = claim.settings[0].as_json(), rf"^{claim.name}: {claim.kind.__name__}"
            assert claim.at(**given) == claim.settings[0]
            for field, kind in field_types(claim.kind).items():
                for wrong in misfits(kind):
                    with pytest.raises(ValueError, match=rf"{named}\.{field} must be [^\n]*$"):
                        claim.at(**{**given, field: wrong})
                with pytest.raises(ValueError, match=rf"{named} has no field '{field}x'"):
                    claim.at(**{**given, f"{field}x": 1})
                with pytest.raises(ValueError, match=rf"{named} lacks a value for {field}"):
                    claim.at(**{name: value for name, value in given.items() if name != field})
