"""Extra peak memory of one piece of work, measured in a process of its own.

In the parent:  `extra_peak("benchmarks.blocked_attention:memory_case", who="ours", length=4096)`  -> MiB.
In the child:   `memory_case(who=..., length=...)` builds the inputs, compiles and warms up on something small. It
                returns a callable without arguments. The answer is the peak resident memory of its first call,
                minus what was resident before. The output counts: somebody has to hold it.
"""

import ctypes
import gc
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def extra_peak(case: str, *, devices: int = 1, **arguments: object) -> float:
    """MiB that one call of `case(**arguments)()` needs on top of its inputs, in a fresh process.

    Args:
        case: "module:function".
        devices: that jax makes of the processor.
        arguments: passed to the function, through JSON.

    Raises:
        RuntimeError: if the child fails, with the last line of what it said.
    """
    command = [sys.executable, "-m", "benchmarks.memory", case, json.dumps(arguments)]
    # Every large block is mapped when asked for and unmapped when freed, so that none is handed on unseen.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
    if devices > 1:
        count = f"--xla_force_host_platform_device_count={devices}"
        environment["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {count}".strip()
    child = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if child.returncode:
        lines = child.stderr.strip().splitlines() or [f"exit status {child.returncode}"]
        raise RuntimeError(f"memory of {case} {arguments}: {lines[-1]}")
    return json.loads(child.stdout.splitlines()[-1])


def _status(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"this system does not tell {field}: memory is measured on Linux only")


def _forget() -> None:
    # What preparation left behind must not serve the work unseen: garbage, and freed memory that the
    # allocator keeps (a compiler leaves hundreds of MiB).
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    # Without this the peak would be that of the compiler, which is often larger than that of the work.
    Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    """The child: prepare, forget the peak so far, run once, print the growth in MiB."""
    case, arguments = sys.argv[1:]
    module, _, function = case.partition(":")
    work = getattr(importlib.import_module(module), function)(**json.loads(arguments))
    _forget()
    before = _status("VmRSS")
    kept = work()
    print(json.dumps(max(0.0, _status("VmHWM") - before)))
    del kept


if __name__ == "__main__":
    main()
