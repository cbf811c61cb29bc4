"""How XLA compiles, and where compiled programs are kept. Each function only sets the environment.

jax finds a kept program by the program itself, the versions, the processor and the flags. So commands, scripts and
tests that compile with the same flags share what they compile.
"""

import contextlib
import os
import re
import subprocess
import sys
from importlib import metadata, util
from pathlib import Path

IN_HASTE = (
    "--xla_backend_optimization_level=0",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
    # A process for each core: threads of their own would wait for each other.
    "--xla_cpu_multi_thread_eigen=false",
)
"""Flags under which a processor's program is compiled in a fifth of the time. It may run longer."""

DEVICES = "--xla_force_host_platform_device_count"
"""The flag that makes several devices of a processor."""


def keep_programs() -> None:
    """Keep compiled programs between runs, where the user's own environment says nothing else.

    Must be called before jax is imported.
    """
    # Who has neither HOME nor an entry among the users has no place for them.
    with contextlib.suppress(RuntimeError):
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attnlab" / "jax"
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
    # A small program takes 8 kB, and a third of the time that compiling it takes.
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    # Nobody reads where in the source an operation of a program comes from, and writing that down takes time.
    os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")


def compile_in_haste() -> None:
    """Compile in haste: for claims, most of whose programs draw a few thousand numbers once.

    A flag that the environment names stays as it is, and flags of devices go with ours: however many devices share
    the work, a program is compiled alike. Nothing is set where jax may compute on an accelerator. Must be called
    before jax first computes.
    """
    if metadata.entry_points(group="jax_plugins") or util.find_spec("libtpu"):
        return
    named = os.environ.get("XLA_FLAGS", "").split()
    names = {flag.partition("=")[0] for flag in named}
    ours = [flag for flag in IN_HASTE if flag.partition("=")[0] not in names]
    os.environ["XLA_FLAGS"] = " ".join([*ours, *named])


def refuse_unknown_flags() -> None:
    """Refuse flags or values that XLA does not know: it would end the process where it first computes.

    Only XLA knows its flags, so it is asked, in another process, about those that are not ours as they stand.

    Raises:
        ValueError: with what it says.
    """
    named = os.environ.get("XLA_FLAGS", "").split()
    if all(flag in IN_HASTE or re.fullmatch(rf"{DEVICES}=[0-9]{{1,6}}", flag) for flag in named):
        return
    # Not from the folder: a stranger's jax.py may lie there.
    command = [sys.executable, "-P", "-c", "import jax; jax.devices()"]
    asked = subprocess.run(command, capture_output=True, text=True)
    if asked.returncode:
        lines = asked.stderr.strip().splitlines() or ["it ended without a word"]
        # After it may come a list of all flags.
        said = next((line for line in lines if " flag" in line.lower()), lines[-1])
        raise ValueError(f"XLA_FLAGS={' '.join(named)}: XLA refuses it: {said.rpartition('] ')[2]}")
