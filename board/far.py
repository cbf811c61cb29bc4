"""The far side of the pipe: a library's own Python, which has numpy, the library, and nothing of this package.

Run as `python -I far.py HARNESS FOLDER`, with requests on standard input and answers on standard output. A message
is a line of JSON, then the bytes of its arrays. FOLDER is where the adapter's neighbours would be: an empty one.
"""

import importlib.util
import json
import os
import sys
from importlib import metadata
from typing import Any, BinaryIO

import numpy as np


def send(pipe: BinaryIO, message: dict[str, Any], arrays: Any = ()) -> None:
    """Write a message and its arrays."""
    arrays = [np.ascontiguousarray(x) for x in arrays]
    head = message | {"arrays": [[x.dtype.str, [*x.shape]] for x in arrays]}
    pipe.write(json.dumps(head).encode() + b"\n" + b"".join(x.tobytes() for x in arrays))
    pipe.flush()


def receive(pipe: BinaryIO) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Read a message and its arrays.

    Raises:
        EOFError: if the pipe ended.
    """
    line = pipe.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    message = json.loads(line)
    arrays = []
    for kind, shape in message.pop("arrays"):
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        raw = pipe.read(size)
        if len(raw) != size:
            raise EOFError
        arrays.append(np.frombuffer(raw, kind).reshape(shape).copy())
    return message, arrays


def _versions(names: list[str]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = ""
    return found


def main() -> None:
    """Answer until the pipe ends."""
    # What the library prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    spec = importlib.util.spec_from_file_location("harness", sys.argv[1])
    assert spec is not None
    assert spec.loader is not None
    harness: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(harness)
    hosts: dict[str, Any] = {}
    while True:
        try:
            asked, arrays = receive(sys.stdin.buffer)
        except EOFError:
            return
        if "versions" in asked:
            send(answers, {"versions": _versions(asked["versions"]), "python": sys.version.split()[0]})
        elif "load" in asked:
            name = asked["function"]
            try:
                hosts[name] = harness.Host(harness.load(sys.argv[2], asked["load"], "adapter", name))
                send(answers, hosts[name].about() | {"trouble": ""})
            except BaseException as error:
                send(answers, {"trouble": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"})
        else:
            report, came = hosts[asked["function"]].call(asked["plan"], arrays)
            send(answers, report, came)


if __name__ == "__main__":
    main()
