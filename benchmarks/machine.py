"""The machine a ratio was measured on: a ratio against torch says as much about torch's matrix product there."""

import os
import platform
import subprocess
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

SIZE = 1024
RUNS = 15
INFORMATION = Path("/proc/cpuinfo")
"""What Linux says of the processor."""


def processor() -> str:
    """The processor's name, as the system tells it, and how many cores this process may use."""
    name = platform.processor() or platform.machine()
    names = _told("model name")
    return f"{names[0] if names else name}, {cores()} cores"


def lacks_avx512() -> bool:
    """Whether the system says which instructions the processor has, and AVX-512 is not among them."""
    flags = _told("flags")
    return bool(flags) and "avx512f" not in flags[0].split()


def commit() -> str | None:
    """The commit that is measured, with a + if a source file differs from it. None outside a git checkout."""
    root = Path(__file__).parent

    def said(*words: str) -> str:
        return subprocess.run(("git", *words), cwd=root, check=True, capture_output=True, text=True).stdout.strip()

    try:
        changed = said("status", "--porcelain", "--untracked-files=no", "--", "../*.py")
        return said("rev-parse", "--short=7", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


INTEL = " on Intel with AVX-512"
ZEN_4 = " on AMD Zen 4"
WITHOUT_AVX512 = " without AVX-512"
KINDS = (INTEL, ZEN_4, "", WITHOUT_AVX512)
"""What stands after the name of a benchmark: the kind of processor that it ran on. Nothing is there for AMD's Zen 5
and for any other processor with AVX-512."""

FAMILIES = {
    WITHOUT_AVX512: "without AVX-512",
    INTEL: "Intel, AVX-512",
    ZEN_4: "AMD Zen 4",
    "": "AMD Zen 5, others with AVX-512",
}
"""The heading of each kind's column in a table, the most common kind first."""


def kind() -> str:
    """The kind of this processor, one of `KINDS`. It decides how fast the matrix products of jax and of torch are.

    Zen 4 has AVX-512, but computes 256 bits at a time.
    """
    if lacks_avx512():
        return WITHOUT_AVX512
    if "GenuineIntel" in _told("vendor_id"):
        return INTEL
    return ZEN_4 if "AuthenticAMD" in _told("vendor_id") and "25" in _told("cpu family") else ""


def _told(field: str) -> list[str]:
    """What the system says of every core; nothing if it is not Linux."""
    lines = INFORMATION.read_text().splitlines() if INFORMATION.exists() else []
    return [line.split(":", 1)[1].strip() for line in lines if line.startswith(field)]


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def versions() -> dict[str, str]:
    """Versions of everything that multiplies matrices here."""
    found = {"python": platform.python_version()}
    for package in ("jax", "numpy", "scipy", "torch"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def matrix_products() -> dict[str, float]:
    """GF/s of a float32 matrix product of side 1,024 in every library that is here: the best of 15 runs."""
    import jax
    import numpy as np

    x = np.random.default_rng(0).standard_normal((SIZE, SIZE), dtype=np.float32)
    product = jax.jit(lambda a: a @ a)
    x_jax = jax.numpy.asarray(x)
    found = {"numpy": _rate(lambda: x @ x), "jax": _rate(lambda: product(x_jax).block_until_ready())}
    try:
        import torch
    except ModuleNotFoundError:
        return found
    torch.set_num_threads(cores())
    x_torch = torch.from_numpy(x)
    return found | {"torch": _rate(lambda: x_torch @ x_torch)}


def _rate(product: Callable[[], object]) -> float:
    product()
    best = float("inf")
    for _ in range(RUNS):
        time.sleep(0.003)
        start = time.perf_counter()
        product()
        best = min(best, time.perf_counter() - start)
    return 2 * SIZE**3 / best / 1e9
