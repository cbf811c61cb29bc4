"""Equal programs are compiled once in a process, whoever traces them.

jax knows a program by the Python function that it was traced from. A test that draws twenty cases makes twenty
lambdas, and has the same program compiled twenty times. What is compared here is the program itself, as it is given
to XLA, with the options and the devices: an equal one gives the same numbers.
"""

import hashlib
from typing import Any

from jax._src import compiler

_compile = compiler.backend_compile_and_load
_compiled: dict[bytes, Any] = {}


def compile_once() -> None:
    """From now on jax asks here before it compiles."""
    compiler.backend_compile_and_load = _known_or_compiled


def forget() -> None:
    """Keep no compiled program alive."""
    _compiled.clear()


def _known_or_compiled(backend: Any, module: Any, devices: Any, options: Any, host_callbacks: Any) -> Any:
    if host_callbacks:  # Python functions, of which the program says only which of them it calls: the first, say
        return _compile(backend, module, devices, options, host_callbacks)
    digest = hashlib.sha256(module.operation.get_asm(enable_debug_info=False).encode())
    digest.update(options.SerializeAsString())
    digest.update(repr([device.id for device in devices]).encode())
    name = digest.digest()
    if name not in _compiled:
        _compiled[name] = _compile(backend, module, devices, options, host_callbacks)
    return _compiled[name]
