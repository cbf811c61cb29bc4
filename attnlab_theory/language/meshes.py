"""Meshes of devices, over which the rows of a batch are shared out."""

import jax
from jax.sharding import Mesh


def of_this_process() -> Mesh | None:
    """All devices of this process, or None if there is only one, or `jax.default_device` names the one to use."""
    # jax declares its options while it runs, where no type checker sees them.
    chosen = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    if jax.local_device_count() == 1 or chosen is not None:
        return None
    return Mesh(jax.local_devices(), ("data",))


def of_rows(mesh: Mesh, *, at_most: int | None = None) -> Mesh:
    """The same mesh with an automatic axis: the compiler decides where intermediate arrays lie.

    Args:
        mesh: with one axis, named "data".
        at_most: the most devices; further ones are left out.

    Raises:
        ValueError: if the mesh has other axes.
    """
    if mesh.axis_names != ("data",):
        raise ValueError(f'the mesh must have one axis, "data", not {mesh.axis_names}')
    return Mesh(mesh.devices[:at_most], mesh.axis_names)
