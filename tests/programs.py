"""Equal programs are compiled once in a process, whoever traces them, and once on a machine.

jax knows a program by the Python function that it was traced from. A test that draws twenty cases makes twenty
lambdas, and has the same program compiled twenty times. What is compared here is the program itself, as it is given
to XLA, with the options and the devices: an equal one gives the same numbers.

What is not known here jax looks up where it keeps programs (`attnlab_theory/compilation.py`), and compiles at last.
"""

import hashlib
from typing import Any

from jax._src import compiler

_compile = compiler.compile_or_get_cached
_compiled: dict[bytes, Any] = {}


def compile_once() -> None:
    """From now on jax asks here before it compiles."""
    compiler.compile_or_get_cached = _known_or_compiled


def forget() -> None:
    """Keep no compiled program alive."""
    _compiled.clear()


def _known_or_compiled(
    backend: Any, module: Any, devices: Any, options: Any, host_callbacks: Any, *others: Any
) -> Any:
    def compiled() -> Any:
        return _compile(backend, module, devices, options, host_callbacks, *others)

    if host_callbacks:  # Python functions, of which the program says only which of them it calls: the first, say
        return compiled()
    digest = hashlib.sha256(module.operation.get_asm(enable_debug_info=False).encode())
    digest.update(options.SerializeAsString())
    digest.update(repr([device.id for device in devices.flatten()]).encode())
    name = digest.digest()
    if name not in _compiled:
        _compiled[name] = compiled()
    return _compiled[name]
