"""Where a result comes from: code, versions, processor, accelerators and command line."""

import functools
import importlib.metadata
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

NUMERIC_PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "matplotlib")
"""The packages whose versions a result depends on."""


def of_this_process() -> dict[str, Any]:
    """What every result file says about the process that wrote it."""
    return {
        "commit": commit(),
        "versions": {
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in NUMERIC_PACKAGES},
        },
        "processor": processor(),
        **accelerators(),
        "command": shlex.join([_program(Path(sys.argv[0]).name), *sys.argv[1:]]),
    }


def _program(name: str) -> str:
    """The name of the program. `python -m attnlab_theory` is called attnlab."""
    return "attnlab" if name == "__main__.py" else name


@functools.cache
def commit() -> str | None:
    """The commit of the checkout from which this code runs, marked if files have changed. None outside a checkout.

    Git is asked once, because the first result may itself change the checkout.
    """
    try:
        # Installed into another project's checkout, git would describe that one.
        _git("ls-files", "--error-unmatch", Path(__file__).name)
        return _git("describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=Path(__file__).parent, capture_output=True, text=True, timeout=10, check=True
    )
    return done.stdout.strip()


def processor() -> str:
    """The name of the processor, and the number of its cores."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    return f"{model} ({os.cpu_count()} cores)"


def accelerators() -> dict[str, Any]:
    """The accelerators that jax uses: names, number and precision of products. Empty on a processor.

    An accelerator rounds products of float32 unless `JAX_DEFAULT_MATMUL_PRECISION` forbids it.
    """
    import jax

    kinds = [device.device_kind for device in jax.local_devices() if device.platform != "cpu"]
    if not kinds:
        return {}
    # jax declares its options while it runs, where no type checker sees them.
    precision = jax.config.jax_default_matmul_precision  # pyright: ignore[reportAttributeAccessIssue]
    return {
        "accelerators": [f"{kinds.count(kind)} x {kind}" for kind in dict.fromkeys(kinds)],
        "matmul_precision": precision or "default",
    }
