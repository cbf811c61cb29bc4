"""How this process asks the system for memory."""

import ctypes
import os

_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8
"""Numbers of glibc's `mallopt`."""


def keep_freed_memory() -> None:
    """Keep freed memory for the next program, instead of giving it back to the system.

    XLA asks for new arrays and temporaries in every program. The system gives large ones fresh pages, and clears
    each page. That takes a third of a training step with 99M parameters. Memory that is kept raises the peak by
    about a quarter. This is for large models alone. In small ones threads wait for the one heap, which takes a
    tenth of a step with 3M parameters. Nothing happens if the C library is not glibc. Nor does it if a variable
    MALLOC_... or GLIBC_TUNABLES already says how memory is taken.
    """
    if any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is None:
        return
    # One heap: those of threads take every large block from the system, whatever is asked for here.
    for option, value in ((_ARENA_MAX, 1), (_MMAP_MAX, 0), (_TRIM_THRESHOLD, -1)):
        mallopt(option, value)
