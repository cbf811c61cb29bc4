"""The command about this machine: doctor."""

import dataclasses
import json
import platform
import time
from typing import Any

PACKAGES = ("attnlab", "jax", "jaxlib", "numpy", "scipy", "matplotlib", "hypothesis", "tyro", "rich")
COMPILATIONS_PER_CLAIM = 4
"""The time to compile, draw and judge one claim, divided by the time to compile a small sampler. It is the seconds
of a whole run, divided by its number of claims and by `compile_seconds`, on the machine of the committed results.
"""

EXTRAS = {"book": "sphinx", "test": "pytest", "peers": "torch"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Doctor:
    """Show versions, devices, precision, and how long a run of all claims takes here."""

    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Look at the machine and print what was found."""
        found = examine()
        if self.json:
            print(json.dumps(found, indent=1))
            return 0
        for name, value in found.items():
            text = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
            print(f"{name.replace('_', ' '):<22}{text}")
        return 0


def examine() -> dict[str, Any]:
    """What `attnlab doctor` says, as plain values; seconds are estimates made from one small measurement."""
    import jax
    import jax.numpy as jnp

    from attnlab_theory.cli import library

    compile_seconds, normals_per_second = _speed()
    claims = sum(len(e.claims) for e in library.experiments())
    return {
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
        "extras": {extra: _version(package) for extra, package in EXTRAS.items()},
        "devices": ", ".join(f"{d.platform}:{d.id} {d.device_kind}" for d in jax.devices()),
        "precision": f"operators {jnp.zeros(()).dtype}, theory float64",
        "normals_per_second": f"{normals_per_second:.3g}",
        "compile_seconds": f"{compile_seconds:.2f} for one small sampler",
        # Verdicts fall long before the caps on draws, so a run is mostly compilation, at either budget.
        "seconds_about": dict.fromkeys(("quick", "full"), round(claims * COMPILATIONS_PER_CLAIM * compile_seconds)),
    }


def _version(package: str) -> str:
    import importlib.metadata

    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _speed() -> tuple[float, float]:
    """Seconds to compile a small sampler, and normals per second of the compiled one."""
    import jax

    # A program that an earlier run compiled would take no time, and say nothing of the next.
    jax.config.update("jax_enable_compilation_cache", False)
    n = 2**20

    @jax.jit
    def total(key):
        return jax.random.normal(key, (n,)).sum()

    key = jax.random.key(0)
    begin = time.perf_counter()
    total(key).block_until_ready()
    compiled = time.perf_counter()
    for _ in range(8):
        total(key).block_until_ready()
    return compiled - begin, 8 * n / (time.perf_counter() - compiled)
