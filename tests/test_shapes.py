"""The tests check every shape that the package names, and nothing else at run time."""

import dataclasses
from collections.abc import Callable
from typing import Annotated

import beartype
import equinox
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float, PRNGKeyArray, PyTree, TypeCheckError

from attnlab_theory import exits
from attnlab_theory.attention import attention_weights
from attnlab_theory.axes import Scalar
from tests.shapes import names_a_shape, where_named

checked = where_named(typechecker=beartype.beartype)
Row = Float[np.ndarray, " t"]


def test_a_shape_is_found_wherever_it_stands(subtests):
    for annotation in [
        Row,
        Float[Array, "t d"] | None,
        PRNGKeyArray,
        Scalar,
        PyTree[Float[Array, "..."]],
        tuple[int, dict[str, Row]],
        Callable[[int, Row], int],
        Callable[..., Row],
        Annotated[Row, "sorted"],
        "Row",
    ]:
        with subtests.test(annotation=annotation):
            assert names_a_shape(annotation)


def test_other_types_name_no_shape(subtests):
    for annotation in [int, str | None, list[str], Callable[[int], str], Array, np.ndarray, None]:
        with subtests.test(annotation=annotation):
            assert not names_a_shape(annotation)


def test_a_wrong_shape_is_refused_by_the_operators():
    with pytest.raises(TypeCheckError):
        attention_weights(jnp.ones((1, 4)), jnp.ones((4, 5)), scale=1.0)


def test_a_function_that_names_none_is_what_a_user_calls():
    assert not hasattr(exits.exit_code, "__wrapped__")


@dataclasses.dataclass
class Rows:
    row: Row


@dataclasses.dataclass
class Named(Rows):
    name: str


class Weight(equinox.Module):
    row: Float[Array, " t"]


@pytest.mark.parametrize(
    ("kind", "others"),
    [(Rows, ()), (Named, ("a",)), (Weight, ())],
)
def test_a_field_of_a_wrong_shape_is_refused_and_so_is_an_inherited_one(kind, others):
    checked(kind)(jnp.ones(1) if kind is Weight else np.ones(1), *others)
    with pytest.raises(TypeCheckError):
        checked(kind)(jnp.ones((1, 1)) if kind is Weight else np.ones((1, 1)), *others)


def test_two_axes_of_one_name_are_one_length():
    def zipped(first: Row, second: Row) -> None:
        """Two rows."""

    checked(zipped)(np.ones(2), np.ones(2))
    with pytest.raises(TypeCheckError):
        checked(zipped)(np.ones(2), np.ones(3))
