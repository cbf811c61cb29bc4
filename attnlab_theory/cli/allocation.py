"""How this process asks the system for memory."""

import ctypes
import os

_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8
"""Numbers of glibc's `mallopt`."""


def keep_freed_memory() -> None:
    """Have freed memory serve the next program, instead of going back to the system.

    XLA takes its arrays and temporaries anew for every program. The system hands out large ones as fresh pages and
    clears each: a third of a training step with 99M parameters. Kept, they raise the peak by about a quarter.
    It is for large models alone. In small ones threads wait for the one heap: a tenth of a step with 3M parameters.
    Nothing happens where the C library is not glibc, or where a variable MALLOC_... or GLIBC_TUNABLES already says
    how memory is to be taken.
    """
    if any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is None:
        return
    # One heap: those of threads take every large block from the system, whatever is asked for here.
    for option, value in ((_ARENA_MAX, 1), (_MMAP_MAX, 0), (_TRIM_THRESHOLD, -1)):
        mallopt(option, value)
